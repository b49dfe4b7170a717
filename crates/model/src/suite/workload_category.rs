//! Workload categories: phases with similar demands on a filesystem, classified by operation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Phase;

/// Workload category of a phase. The weights of use cases refer to these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadCategory {
    /// Writing large files front to back, appending to, rewriting or copying them.
    StreamWrite,
    /// Reading large files front to back, back to front or with strides.
    StreamRead,
    /// Reads at random offsets of a file.
    RandomRead,
    /// Writes at random offsets of a file, or repeatedly at one offset.
    RandomWrite,
    /// Writes and file creations that are made durable one by one or in small batches.
    Durable,
    /// Creating, linking and removing many files and directories.
    ManyFiles,
    /// Looking up, listing and changing names and attributes.
    Names,
    /// Writing, copying, reading and removing trees of files of mixed sizes.
    Trees,
    /// Creating, mounting, unmounting and checking the filesystem. Older reports call it `upkeep`.
    #[serde(alias = "upkeep")]
    Maintenance,
    /// Space available to files.
    Space,
}

impl WorkloadCategory {
    /// Every workload category, in the order of the reports.
    pub const ALL: [Self; 10] = [
        Self::StreamWrite,
        Self::StreamRead,
        Self::RandomRead,
        Self::RandomWrite,
        Self::Durable,
        Self::ManyFiles,
        Self::Names,
        Self::Trees,
        Self::Maintenance,
        Self::Space,
    ];

    /// Each workload category with its name.
    pub const WORDS: [(&'static str, Self); 10] = {
        let mut words = [("", Self::Space); 10];
        let mut at = 0;
        while at < words.len() {
            words[at] = (Self::ALL[at].name(), Self::ALL[at]);
            at += 1;
        }
        words
    };

    /// Returns the name in data files and exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StreamWrite => "stream-write",
            Self::StreamRead => "stream-read",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::Durable => "durable",
            Self::ManyFiles => "many-files",
            Self::Names => "names",
            Self::Trees => "trees",
            Self::Maintenance => "maintenance",
            Self::Space => "space",
        }
    }

    /// Returns the title for captions.
    pub const fn title(self) -> &'static str {
        match self {
            Self::StreamWrite => "large files written",
            Self::StreamRead => "large files read",
            Self::RandomRead => "random reads",
            Self::RandomWrite => "random writes",
            Self::Durable => "durable writes",
            Self::ManyFiles => "many files made and removed",
            Self::Names => "names and attributes",
            Self::Trees => "trees of files",
            Self::Maintenance => "make, mount, check",
            Self::Space => "space left",
        }
    }

    /// Returns the category of a phase, or `None` if the phase only probes a feature or does no
    /// work.
    pub fn of_phase(phase: &Phase) -> Option<Self> {
        phase.op.info().group()
    }
}

impl fmt::Display for WorkloadCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_words_of_exports_and_unique() {
        let names: std::collections::BTreeSet<_> =
            WorkloadCategory::ALL.iter().map(|g| g.name()).collect();
        assert_eq!(names.len(), WorkloadCategory::ALL.len());
        for group in WorkloadCategory::ALL {
            let word = serde_json::to_string(&group).unwrap();
            assert_eq!(word, format!("\"{}\"", group.name()));
        }
    }
}
