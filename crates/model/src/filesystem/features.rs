//! Probed features of a filesystem, and the class derived from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Class of the features that a filesystem offers to programs, as probed (S3.4). The system for
/// which it was made and the systems that read it are facts instead ([`crate::FilesystemFacts`]).
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

crate::named_enum! {
    /// A filesystem feature.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Feature {
        /// Two names for one file.
        HardLinks = "hard-links",
        /// Symbolic links.
        Symlinks = "symlinks",
        /// Permission bits that are stored.
        Permissions = "permissions",
        /// Owners that are stored.
        Ownership = "ownership",
        /// Named pipes. They represent all special files, because creating them needs no privilege.
        SpecialFiles = "special-files",
        /// Extended attributes of users.
        Xattrs = "xattrs",
        /// Holes that take no space.
        SparseFiles = "sparse-files",
        /// `A` and `a` are two files.
        CaseSensitive = "case-sensitive",
        /// Names of 255 bytes.
        LongNames = "long-names",
        /// Reads and writes that bypass the page cache.
        DirectIo = "direct-io",
        /// Shared writable memory mappings.
        SharedMmap = "shared-mmap",
        /// Space reserved by `fallocate`.
        Preallocation = "preallocation",
        /// Maximum file size.
        LargestFile = "largest-file",
        /// Access control lists (acl(5)).
        PosixAcls = "posix-acls",
        /// Times before 1970 and after 2038.
        Timestamps = "timestamps",
        /// Names in UTF-8 that stay the same to the byte.
        Utf8Names = "utf8-names",
        /// Maximum size of an extended attribute.
        XattrSize = "xattr-size",
        /// 65,001 names of one file.
        ManyLinks = "many-links",
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
