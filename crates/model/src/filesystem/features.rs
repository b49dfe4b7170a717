//! Probed features of a filesystem, and the class derived from them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Class of the features that a filesystem offers to programs, as probed (S3.4). The system for
/// which it was made and the systems that read it are facts instead ([`crate::Facts`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PosixClass {
    /// All of POSIX semantics: permissions, owners, hard links, symbolic links and special files.
    Posix,
    /// At least one of these features is missing.
    PartialPosix,
    /// At least one of these features was not probed, and none is known to be missing.
    NotProbed,
    /// A baseline (tmpfs), which stores no data on a disk.
    Baseline,
}

/// A filesystem feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Two names for one file.
    HardLinks,
    /// Symbolic links.
    Symlinks,
    /// Permission bits that are stored.
    Permissions,
    /// Owners that are stored.
    Ownership,
    /// Named pipes. They represent all special files, because creating them needs no privilege.
    SpecialFiles,
    /// Extended attributes of users.
    Xattrs,
    /// Holes that take no space.
    SparseFiles,
    /// `A` and `a` are two files.
    CaseSensitive,
    /// Names of 255 bytes.
    LongNames,
    /// Reads and writes that bypass the page cache.
    DirectIo,
    /// Shared writable memory mappings.
    SharedMmap,
    /// Space reserved by `fallocate`.
    Preallocation,
    /// Maximum file size.
    LargestFile,
}

impl Feature {
    /// Every feature, in the order of the tables.
    pub const ALL: [Self; 13] = [
        Self::HardLinks,
        Self::Symlinks,
        Self::Permissions,
        Self::Ownership,
        Self::SpecialFiles,
        Self::Xattrs,
        Self::SparseFiles,
        Self::CaseSensitive,
        Self::LongNames,
        Self::DirectIo,
        Self::SharedMmap,
        Self::Preallocation,
        Self::LargestFile,
    ];

    /// Returns the name in data files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HardLinks => "hard-links",
            Self::Symlinks => "symlinks",
            Self::Permissions => "permissions",
            Self::Ownership => "ownership",
            Self::SpecialFiles => "special-files",
            Self::Xattrs => "xattrs",
            Self::SparseFiles => "sparse-files",
            Self::CaseSensitive => "case-sensitive",
            Self::LongNames => "long-names",
            Self::DirectIo => "direct-io",
            Self::SharedMmap => "shared-mmap",
            Self::Preallocation => "preallocation",
            Self::LargestFile => "largest-file",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Result of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProbeResult {
    /// It works.
    Yes,
    /// The feature works up to this size.
    UpTo(Bytes),
    /// It does not work. The reason is the name of an errno, or the observed behaviour.
    No(String),
}

/// Features as probed on one mounted filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Features(pub BTreeMap<Feature, ProbeResult>);

impl Features {
    /// Returns true if the probe found the feature working, or `None` if it was not probed.
    pub fn supports(&self, feature: Feature) -> Option<bool> {
        self.0.get(&feature).map(|found| !matches!(found, ProbeResult::No(_)))
    }

    /// Returns true if all features of POSIX semantics were found. Returns `None` if one was not
    /// probed and none is known to be missing.
    fn posix_semantics(&self) -> Option<bool> {
        let needed = [
            Feature::HardLinks,
            Feature::Symlinks,
            Feature::Permissions,
            Feature::Ownership,
            Feature::SpecialFiles,
        ];
        let found = needed.map(|feature| self.supports(feature));
        match found.contains(&Some(false)) {
            true => Some(false),
            false => found.iter().all(Option::is_some).then_some(true),
        }
    }
}

impl PosixClass {
    /// Returns the class according to the probes. A baseline is always `Baseline`.
    pub fn from_features(is_baseline: bool, features: &Features) -> Self {
        match (is_baseline, features.posix_semantics()) {
            (true, _) => Self::Baseline,
            (false, Some(true)) => Self::Posix,
            (false, Some(false)) => Self::PartialPosix,
            (false, None) => Self::NotProbed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_follows_from_the_probes() {
        let mut features = Features::default();
        assert_eq!(PosixClass::from_features(false, &features), PosixClass::NotProbed);
        for feature in Feature::ALL {
            features.0.insert(feature, ProbeResult::Yes);
        }
        assert_eq!(PosixClass::from_features(false, &features), PosixClass::Posix);
        assert_eq!(PosixClass::from_features(true, &features), PosixClass::Baseline);
        for feature in [
            Feature::HardLinks,
            Feature::Symlinks,
            Feature::Permissions,
            Feature::Ownership,
            Feature::SpecialFiles,
        ] {
            let mut without = features.clone();
            without.0.remove(&feature);
            assert_eq!(
                PosixClass::from_features(false, &without),
                PosixClass::NotProbed,
                "{feature}"
            );
            without.0.insert(feature, ProbeResult::No("EPERM".into()));
            assert_eq!(
                PosixClass::from_features(false, &without),
                PosixClass::PartialPosix,
                "{feature}"
            );
        }
        features.0.insert(Feature::Xattrs, ProbeResult::No("ENOTSUP".into()));
        assert_eq!(PosixClass::from_features(false, &features), PosixClass::Posix);
    }

    #[test]
    fn names_are_those_of_the_data_files() {
        for feature in Feature::ALL {
            let json = serde_json::to_string(&feature).unwrap();
            assert_eq!(json, format!("\"{feature}\""));
        }
    }
}
