//! The operations of phases. Each operation, or family of similar operations, has one file and one
//! line below.
//!
//! The file defines everything specific to an operation: name and keys, requirements and changes,
//! and execution. It also defines rules for repetition, workload category, and valid cache states
//! and ends. `docs/adding-an-operation.md` describes how to add an operation.

mod executor;
pub(crate) mod fs_state;
mod keys;
mod mix_step;
mod printed;
mod work_estimate;

use serde::{Deserialize, Serialize};

use crate::{CacheState, Metric, SyncAtEnd, WorkloadCategory};

pub use create::{EntryKind, SizeDistribution};
pub use disk_fault::DiskFaultKind;
pub use exec::ARCHIVES;
pub use executor::{FileContent, OpExecutor};
pub use fallocate::FallocateMode;
pub use fill::FillWith;
pub use fs_state::{FsChange, FsState, ObjectKind};
pub use generate_tree::TreeSpec;
pub use io::{AccessPattern, FileSharing, IoEngine, IoFlag};
pub use keys::{KeyError, KeySource, OpName};
pub use maintain::MaintenanceTask;
pub use metadata::{MetadataAction, TraversalOrder};
pub use mix::Role;
pub use mix_step::MixStep;
pub use power_cut::{Expectation, FileStep};
pub use printed::PrintedValue;
pub use replay::{ReplaySpeed, TraceStats};
pub use stream::StreamUnit;
pub use volume::VolumeStep;
pub use work_estimate::{OpUnit, WorkEstimate};

/// Generates [`Op`] and the lookup of its descriptor. Each line is a file with its operations.
macro_rules! operations {
    ($($(#[$meta:meta])* $file:ident: $($(#[$own:meta])* $operation:ident)+,)*) => {
        $(
            mod $file;
            pub use $file::{$($operation),+};
        )*

        operations! { @op $($(#[$meta])* $($(#[$own])* $operation,)+)* }
    };
    (@op $($(#[$meta:meta])* $operation:ident,)*) => {
        /// An operation of a phase. The terms are fio's if fio has one.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "op", rename_all = "kebab-case")]
        #[expect(missing_docs, reason = "each operation documents itself")]
        pub enum Op {
            $(
                $(#[$meta])*
                $operation($operation),
            )*
        }

        impl Op {
            /// Returns the descriptor of the operation.
            pub fn info(&self) -> &dyn OpInfo {
                match self { $(Self::$operation(operation) => operation,)* }
            }

            /// Performs the operation.
            ///
            /// # Errors
            /// Returns the first error of the executor.
            pub fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
                match self { $(Self::$operation(operation) => operation.perform(executor),)* }
            }

            /// Returns every value of the key `op` of a phase, with its keys.
            pub fn words() -> impl Iterator<Item = &'static OpName> {
                [$($operation::op_names(),)*].into_iter().flatten()
            }
        }

        $(impl From<$operation> for Op {
            fn from(operation: $operation) -> Self {
                Self::$operation(operation)
            }
        })*
    };
}

operations! {
    volume: Mkfs Mount Unmount Fsck,
    maintain: Maintain,
    capacity: Capacity,
    #[serde(rename = "probe")]
    probe: ProbeFeature,
    power_cut: PowerCut PowerCutSet,
    disk_fault: DiskFault,
    fill: Fill,
    occupy: Occupy Vacate,
    io: Io,
    stream: WriteStream ReadStream,
    #[serde(alias = "preallocate")]
    fallocate: Fallocate,
    sparse: Sparse,
    create: Create,
    metadata: Metadata,
    #[serde(rename = "plant-tree")]
    generate_tree: GenerateTree,
    copy_tree_in: CopyTreeIn,
    copy_tree: CopyTree,
    visit_tree: ListTree FindInTree VerifyTree,
    remove_tree: RemoveTree,
    copy_file_in: CopyFileIn,
    copy_file: CopyFile,
    copy_file_range: CopyFileRange,
    reflink: Reflink,
    remove_file: RemoveFile,
    read_files: ReadFiles,
    exec: Exec,
    replay: Replay,
    mix: Mix #[serde(rename = "mix-role")] RoleResult,
    #[serde(rename = "elsewhere")]
    external: External,
}

/// The properties of an operation. Defaults are the values of most operations.
pub trait OpInfo {
    /// Returns the names of the operation in suites, each with its keys.
    fn op_names() -> &'static [OpName]
    where
        Self: Sized;

    /// Records in `files` the objects that the operation needs, creates, modifies and removes, and
    /// returns its work. This is used to check the order of phases, and to undo changes before a
    /// repetition.
    fn apply(&self, files: &mut FsState) -> WorkEstimate;

    /// Performs the operation.
    ///
    /// # Errors
    /// Returns the first error of the executor.
    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error>
    where
        Self: Sized;

    /// Returns the workload category, or `None` if it only probes a feature or does no work.
    fn group(&self) -> Option<WorkloadCategory>;

    /// Returns the primary metric, which determines the rank in tables.
    fn primary_metric(&self) -> Metric {
        Metric::Elapsed
    }

    /// Returns a secondary metric for tables, if any.
    fn secondary_metrics(&self) -> Option<Metric> {
        None
    }

    /// Returns the cost of each operation in addition to bytes and syncs, for the estimate before
    /// the first measurement.
    fn each(&self) -> OpUnit {
        OpUnit::Name
    }

    /// Returns the allowed cache states; empty if the page cache is irrelevant.
    fn allowed_caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm, CacheState::FadviseDontNeed]
    }

    /// Returns the allowed ends; empty if the end is fixed.
    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        &[SyncAtEnd::Call, SyncAtEnd::Syncfs]
    }

    /// Returns the default cache state and end; `None` if a suite must specify them.
    fn default_end(&self) -> Option<(CacheState, SyncAtEnd)> {
        None
    }

    /// Checks the combination of its values.
    ///
    /// # Errors
    /// Returns the reason as text for the author of the suite.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the number of concurrent threads.
    fn threads(&self) -> u32 {
        1
    }

    /// Returns the same work for each of several hosts, with all their threads, or `None` if threads
    /// on several hosts cannot share it.
    fn on_hosts(&self, _hosts: u32) -> Option<Op> {
        None
    }

    /// Returns true if it copies from the campaign's source, if any.
    fn copies_in(&self) -> bool {
        false
    }

    /// Returns the step of the filesystem that programs of the catalog perform, if it is one.
    fn step(&self) -> Option<VolumeStep> {
        None
    }
}

/// Possible ends of an operation on one file.
const FILE_SYNC_MODES: &[SyncAtEnd] = &[SyncAtEnd::Call, SyncAtEnd::Fsync, SyncAtEnd::Syncfs];

impl Op {
    /// Returns the archives used by its command.
    pub fn archives(&self) -> impl Iterator<Item = &str> {
        let exec = match self {
            Self::Exec(exec) => Some(exec),
            _ => None,
        };
        exec.into_iter().flat_map(Exec::archives)
    }

    /// Returns the primary metric, which determines the rank in tables.
    pub fn primary_metric(&self) -> Metric {
        self.info().primary_metric()
    }

    /// Returns the metrics in tables, the primary metric first.
    pub fn table_metrics(&self) -> impl Iterator<Item = Metric> {
        std::iter::once(self.primary_metric()).chain(self.info().secondary_metrics())
    }

    /// Returns the changes to objects of other operations, so that they can be undone.
    pub fn changes(&self) -> Vec<FsChange> {
        let mut files = FsState::default();
        files.apply(self);
        files.changes().to_vec()
    }

    /// Returns true if the operation changes files or names.
    pub fn modifies_files(&self) -> bool {
        !self.changes().is_empty()
    }

    /// Returns true if its changes can be undone, so that it can be repeated. A mix runs once,
    /// because its roles end at different times.
    pub fn is_undoable(&self) -> bool {
        let is_mix = matches!(self, Self::Mix(_) | Self::RoleResult(_));
        !is_mix && !self.changes().contains(&FsChange::Unknown)
    }

    /// Returns true if it only reads existing data. A warm cache can serve all of it, unless a role
    /// bypasses the cache.
    pub fn is_read_only(&self) -> bool {
        if let Self::Mix(mix) = self
            && mix.roles.iter().any(Role::reads_sequentially)
        {
            return false;
        }
        let mut files = FsState::default();
        files.apply(self);
        files.depends_on_state() && files.changes().is_empty()
    }

    /// Returns true if it copies from the campaign's source, if any.
    pub fn copies_from_source(&self) -> bool {
        self.info().copies_in()
    }

    /// Returns true if it creates the filesystem.
    pub const fn creates_filesystem(&self) -> bool {
        matches!(self, Self::Mkfs(_) | Self::Maintain(Maintain { task: MaintenanceTask::MkfsHalf }))
    }

    /// Returns true if a program of the catalog performs the operation, such as creating, mounting
    /// or checking.
    pub fn is_command(&self) -> bool {
        self.info().step().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations as stored in campaigns since the first version.
    const STORED: &str = r#"
{"op":"mkfs"}
{"op":"capacity"}
{"op":"probe","feature":"hard-links"}
{"op":"io","file":"f","access":{"read-stride":{"stride":65536}},"block":4096,"align":null,"size":null,"operations":7,"engine":"psync","depth":1,"threads":2,"sharing":"own","fsync":0,"rate":null,"verify":false}
{"op":"write-stream","file":"f","size":100,"unit":{"record":4096}}
{"op":"read-stream","file":"f","unit":"char"}
{"op":"sparse","file":"f","size":100}
{"op":"create","set":"s","kind":"file","entries":10,"directories":1,"depth":1,"size":0,"order":"random","fsync":true,"threads":1,"sharing":"shared"}
{"op":"metadata","set":"s","action":"link","to":"t","order":"sequential","threads":1}
{"op":"metadata","set":"s","action":"remove","order":"sequential","threads":1}
{"op":"plant-tree","tree":"t","files":1,"directories":1,"bytes":10,"smallest":10,"largest":10}
{"op":"copy-tree-in","tree":"t","files":1,"directories":1,"bytes":10,"smallest":10,"largest":10,"block":4096}
{"op":"copy-tree","from":"t","to":"u","block":4096}
{"op":"list-tree","tree":"t"}
{"op":"copy-file-in","file":"f","size":100,"block":4096}
{"op":"copy-file","from":"f","to":"g","block":4096}
{"op":"remove-file","file":"f"}"#;

    #[test]
    fn stored_operations_survive_a_round_trip() {
        for line in STORED.lines().skip(1) {
            let op: Op = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!(serde_json::to_string(&op).unwrap(), line);
        }
    }

    #[test]
    fn preallocate_is_read_as_fallocate() {
        let stored = r#"{"op":"preallocate","file":"f","size":100}"#;
        let op: Op = serde_json::from_str(stored).unwrap();
        assert_eq!(op, Fallocate::preallocate("f", crate::Bytes(100)).into());
        let again = serde_json::to_string(&op).unwrap();
        assert_eq!(op, serde_json::from_str(&again).unwrap());
    }

    #[test]
    fn words_and_their_keys_are_unique() {
        let mut words: Vec<&str> = Op::words().map(|word| word.name).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        for word in Op::words() {
            let keys: std::collections::BTreeSet<_> = word.keys.iter().collect();
            assert_eq!(keys.len(), word.keys.len(), "{}", word.name);
        }
    }

    #[test]
    fn command_changes_are_unknown_and_a_clone_is_undone_as_a_file() {
        let exec = Exec { writes: Some(crate::Bytes(7)), ..Exec::new("true") };
        let mut files = FsState::default();
        assert_eq!(files.apply(&exec.clone().into()).written.0, 7);
        assert_eq!(files.bytes().0, 7);
        assert!(!Op::from(exec).is_undoable());
        let clone = Op::from(Reflink { from: "f".into(), to: "g".into() });
        assert_eq!(clone.changes(), [FsChange::Made(ObjectKind::File, "g".into())]);
        files.apply(&clone);
        assert!(files.violation().unwrap().contains("no earlier phase made a file `f`"));
    }

    #[test]
    fn collapse_cannot_exceed_the_file() {
        let mut files = FsState::default();
        files.apply(&Fallocate::preallocate("f", crate::Bytes(8192)).into());
        let collapse = |size| {
            Op::from(Fallocate {
                mode: FallocateMode::CollapseRange,
                block: Some(crate::Bytes(1024)),
                ..Fallocate::preallocate("f", crate::Bytes(size))
            })
        };
        assert_eq!(files.apply(&collapse(4096)).operations, 4);
        assert_eq!((files.bytes().0, files.violation()), (4096, None));
        files.apply(&collapse(4096));
        assert!(files.violation().unwrap().contains("must be left"));
        files.apply(&collapse(4097));
        assert!(files.violation().unwrap().contains("is above that of `f`"));
    }
}
