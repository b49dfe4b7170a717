//! What a filesystem can do, found out by trying, and the class that follows from it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The classes of the studies (S3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Made for Linux.
    Native,
    /// Made for another system, with all that Unix needs: permissions, links, owners.
    ForeignUnix,
    /// Made for another system, without permissions or links.
    Foreign,
    /// No filesystem on a disk, but a floor to compare with (tmpfs).
    Floor,
}

/// A thing that a filesystem can or cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Two names for one file.
    HardLinks,
    /// Symbolic links.
    Symlinks,
    /// Permission bits that stay as set.
    Permissions,
    /// An owner that stays as set.
    Ownership,
    /// Extended attributes of users.
    Xattrs,
    /// Holes that take no space.
    SparseFiles,
    /// `A` and `a` are two files.
    CaseSensitive,
    /// Names of 255 bytes.
    LongNames,
    /// Reads and writes past the page cache.
    DirectIo,
    /// Shared writable memory mappings.
    SharedMmap,
    /// Space reserved by `fallocate`.
    Preallocation,
}

impl Feature {
    /// Every feature, in the order of the tables.
    pub const ALL: [Self; 11] = [
        Self::HardLinks,
        Self::Symlinks,
        Self::Permissions,
        Self::Ownership,
        Self::Xattrs,
        Self::SparseFiles,
        Self::CaseSensitive,
        Self::LongNames,
        Self::DirectIo,
        Self::SharedMmap,
        Self::Preallocation,
    ];

    /// The word in data files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HardLinks => "hard-links",
            Self::Symlinks => "symlinks",
            Self::Permissions => "permissions",
            Self::Ownership => "ownership",
            Self::Xattrs => "xattrs",
            Self::SparseFiles => "sparse-files",
            Self::CaseSensitive => "case-sensitive",
            Self::LongNames => "long-names",
            Self::DirectIo => "direct-io",
            Self::SharedMmap => "shared-mmap",
            Self::Preallocation => "preallocation",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It works.
    Yes,
    /// It does not; the reason is an errno's name or what was seen instead.
    No(String),
}

/// Features as probed on one mounted filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Features(pub BTreeMap<Feature, Support>);

impl Features {
    /// Whether the probe found the feature working; `None` where it was not probed.
    pub fn supports(&self, feature: Feature) -> Option<bool> {
        self.0.get(&feature).map(|s| *s == Support::Yes)
    }

    /// Whether everything that Unix programs take for granted was found.
    pub fn unix_semantics(&self) -> Option<bool> {
        let needed = [
            Feature::HardLinks,
            Feature::Symlinks,
            Feature::Permissions,
            Feature::Ownership,
        ];
        needed
            .into_iter()
            .map(|f| self.supports(f))
            .try_fold(true, |all, one| Some(all && one?))
    }
}

impl Class {
    /// The class that the probes give; what is native or a floor is so by its origin.
    pub fn derive(expected: Self, features: &Features) -> Self {
        match (expected, features.unix_semantics()) {
            (Self::Native | Self::Floor, _) | (_, None) => expected,
            (_, Some(true)) => Self::ForeignUnix,
            (_, Some(false)) => Self::Foreign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_follows_the_probes_and_not_the_catalog() {
        let mut features = Features::default();
        assert_eq!(Class::derive(Class::Foreign, &features), Class::Foreign);
        for feature in Feature::ALL {
            features.0.insert(feature, Support::Yes);
        }
        assert_eq!(Class::derive(Class::Foreign, &features), Class::ForeignUnix);
        features
            .0
            .insert(Feature::HardLinks, Support::No("EPERM".into()));
        assert_eq!(Class::derive(Class::ForeignUnix, &features), Class::Foreign);
        assert_eq!(Class::derive(Class::Native, &features), Class::Native);
    }

    #[test]
    fn names_are_those_of_the_data_files() {
        for feature in Feature::ALL {
            let json = serde_json::to_string(&feature).unwrap();
            assert_eq!(json, format!("\"{feature}\""));
        }
    }
}
