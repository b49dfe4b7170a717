//! Workload categories: phases with similar demands on a filesystem, classified by operation.

use crate::{Op, Phase, Test};

crate::named_enum! {
    /// Workload category of a phase. The weights of use cases refer to these.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum WorkloadCategory {
        /// Writing large files front to back, appending to, rewriting or copying them.
        StreamWrite = "stream-write",
        /// Reading large files front to back, back to front or with strides.
        StreamRead = "stream-read",
        /// Reads at random offsets of a file.
        RandomRead = "random-read",
        /// Writes at random offsets of a file, or repeatedly at one offset.
        RandomWrite = "random-write",
        /// Writes and file creations that are made durable one by one or in small batches.
        Durable = "durable",
        /// Creating, linking and removing many files and directories.
        ManyFiles = "many-files",
        /// Looking up, listing and changing names and attributes.
        Names = "names",
        /// Writing, copying, reading and removing trees of files of mixed sizes.
        Trees = "trees",
        /// Creating, mounting, unmounting and checking the filesystem. Older reports call it
        /// `upkeep`.
        #[serde(alias = "upkeep")]
        Maintenance = "maintenance",
        /// Space that a filesystem without files leaves for files.
        Space = "space",
    }
}

impl WorkloadCategory {
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
            Self::Maintenance => "mkfs/mount/fsck",
            Self::Space => "space when empty",
        }
    }

    /// Returns the category of a phase of a test. Returns `None` if the phase only probes a feature, does no work,
    /// prepares later phases, or needs a task of an administrator: few filesystems can do each, and the others must not
    /// lack a result for it.
    pub fn of_phase(test: &Test, phase: &Phase) -> Option<Self> {
        let category = phase.op.info().group()?;
        (!phase.is_preparation() && !needs_maintenance(test, phase)).then_some(category)
    }
}

/// Returns true if a phase depends on a task of an administrator.
fn needs_maintenance(test: &Test, phase: &Phase) -> bool {
    let needs = phase.needs.as_deref().unwrap_or_default();
    needs.iter().any(|name| {
        let earlier = test.phases.iter().take_while(|other| other.name != phase.name);
        let mut named = earlier.filter(|other| other.name == *name);
        named.any(|other| matches!(other.op, Op::Maintain(_)) || needs_maintenance(test, other))
    })
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
