//! Source archives that suite commands unpack and build, with their origin and version.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// An archive in a Debian package, available to commands as `$ARCHIVES/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceArchive {
    /// Name of the archive in commands.
    pub name: String,
    /// The package.
    pub package: String,
    /// Whether it is a source package, whose files apt downloads unchanged. Otherwise the archive
    /// is located in a binary package.
    pub is_source: bool,
    /// File name in a source package, or path in a binary package; `*` matches a version.
    pub file: String,
    /// SHA-256 of the contents in hexadecimal, if only one version is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl SourceArchive {
    /// Returns true if a file name matches the name of the archive.
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

/// A downloaded archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CachedArchive {
    /// Name of the archive in commands.
    pub name: String,
    /// Package and version that contain the archive: `sed 4.9-1`.
    pub version: String,
    /// SHA-256 of the contents (hexadecimal).
    pub sha256: String,
    /// Size of the archive.
    pub size: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_a_version() {
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
