//! Archives of sources that commands of suites unpack and build: where they come from, and which one it was.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// An archive in one of Debian's packages, which commands find as `$ARCHIVES/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceArchive {
    /// The word that commands have for it.
    pub name: String,
    /// The package.
    pub package: String,
    /// Whether that is a source package, whose files apt brings as they are; else the archive lies in a binary one.
    pub is_source: bool,
    /// The archive's name among the files of a source package, or its path in a binary one; `*` stands for a version.
    pub file: String,
    /// What its content must be (SHA-256, hexadecimal), where only one is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl SourceArchive {
    /// Whether a file has the name that the archive has.
    pub fn is_called(&self, file: &str) -> bool {
        match self.file.split_once('*') {
            Some((begins, ends)) => {
                file.len() >= begins.len() + ends.len()
                    && file.starts_with(begins)
                    && file.ends_with(ends)
            }
            None => file == self.file,
        }
    }
}

/// An archive that was brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CachedArchive {
    /// The word that commands have for it.
    pub name: String,
    /// Package and version that it comes from: `sed 4.9-1`.
    pub version: String,
    /// Its content (SHA-256, hexadecimal).
    pub sha256: String,
    /// How large it is.
    pub size: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_version() {
        let archive = |file: &str| SourceArchive {
            name: "sed".into(),
            package: "sed".into(),
            is_source: true,
            file: file.into(),
            sha256: None,
        };
        let versioned = archive("sed_*.orig.tar.xz");
        assert!(versioned.is_called("sed_4.9.orig.tar.xz"));
        assert!(!versioned.is_called("sed_4.9-1.dsc"));
        assert!(!versioned.is_called("sed_.orig"));
        assert!(archive("usr/src/a.tar").is_called("usr/src/a.tar"));
    }
}
