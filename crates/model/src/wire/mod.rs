//! Messages between the orchestrator and the agent of a cell. [`machine`] has the messages to the
//! agent of a whole machine.
//!
//! The orchestrator writes one [`CellJob`] as a line of JSON to the agent's standard input and keeps
//! that end open: when it closes, the agent ends. The agent writes [`CellEvent`]s, a line of JSON each,
//! to its standard output. There is no other communication, whether the agent is a child process or
//! PID 1 of a guest with a serial port. No I/O happens here.

pub mod machine;
pub mod rank;

use std::path::{Path, PathBuf};

use crate::{
    AgeingResult, AgeingSpec, Bytes, CellId, CommandRecord, Commands, CopyFileIn, CopyTreeIn,
    DiskWriteState, DriverKind, Features, FragmentationStats, GenerateTree, KernelMemoryUse,
    MountId, Nanos, Op, PhaseResult, RequestLogChunk, Sampling, SeededRng, SourceInventory, Test,
    TreeSpec,
};
use serde::{Deserialize, Serialize};

use rank::{HostRank, RankReport};

/// Version of these messages. An agent rejects jobs of other versions.
pub const VERSION: u32 = 2;

/// First line that an agent writes on the console of its guest. Earlier lines are about the
/// machine, later lines about the cell.
pub const CONSOLE_MARK: &str = "fsarena: the cell begins";

/// Start marker of the stacks that an agent without progress prints on the console of its guest:
/// first those of the agent's threads, then those of kernel threads.
pub const STACKS_BEGIN: &str = "fsarena: nothing moves; everything is here";
/// End marker of the stacks.
pub const STACKS_END: &str = "fsarena: nothing moves; that was all";

/// Job of an agent: one test on one new filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellJob {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// The cell of the job.
    pub cell: CellId,
    /// Storage of the filesystem.
    pub target: WorkTarget,
    /// Source of the files that the test copies, if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceMount>,
    /// Directory with the archives that commands unpack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archives: Option<PathBuf>,
    /// Limit of the memory of the cell, if it is less than that of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Bytes>,
    /// Test to run.
    pub test: Test,
    /// Ageing of the filesystem before the first phase; not aged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeingParams>,
    /// Use of an aged state by the job, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<AgedImageAction>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Time without an event after which the agent prints all stacks on the console. Absent if the
    /// watcher can read the stacks itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks_after: Option<Nanos>,
    /// Sampling of the processor; not sampled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Place of this host among the hosts that run the cell together, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<HostRank>,
}

/// Parameters for ageing a filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgeingParams {
    /// Distributions and target fill.
    pub age: AgeingSpec,
    /// Seed of sizes, directories and order. Equal for all tests and contenders of a round.
    pub seed: u64,
}

impl AgeingParams {
    /// Returns the ageing of all cells in a round of a campaign. It is the same for every contender
    /// and test.
    pub fn for_round(age: &AgeingSpec, campaign_seed: u64, round: u32) -> Self {
        let mut rng = SeededRng::substream(campaign_seed, &format!("age in round {round}"));
        Self { age: age.clone(), seed: rng.next_u64() }
    }
}

/// Use of an aged state by a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgedImageAction {
    /// Create and age the filesystem, unmount and check it; do not run the phases of the test.
    #[serde(rename = "make")]
    Create,
    /// The device contains the aged filesystem: mount it and start the test.
    #[serde(rename = "use")]
    Restore(Box<AgedImageInfo>),
}

/// Properties of an aged state, recorded when it was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgedImageInfo {
    /// Result of ageing.
    pub record: AgeingResult,
    /// Memory use of the filesystem after its first mount.
    pub mounted: Option<KernelMemoryUse>,
}

/// Storage on which an agent works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkTarget {
    /// A device on which the agent creates and mounts the filesystem.
    Volume(Box<Volume>),
    /// An empty directory of a mounted filesystem.
    Directory {
        /// The directory; the agent never leaves it.
        path: PathBuf,
        /// Directory of the contender, which contains `path`.
        top: PathBuf,
        /// Mount that must contain it, checked before and after each phase.
        mount: MountId,
    },
}

/// A device and the commands to create and mount a filesystem on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// The block device; absent for filesystems without one (tmpfs).
    pub device: Option<PathBuf>,
    /// Span over several devices, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<MultiDevice>,
    /// Expected states of the devices passed to the filesystem, in order, as fsarena left them.
    /// Empty in a guest, whose disks no other process can use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<DiskWriteState>,
    /// Total size of the devices.
    pub size: Bytes,
    /// An existing directory used as mount point.
    pub mountpoint: PathBuf,
    /// Driver of the filesystem.
    pub driver: DriverKind,
    /// Command lines with every placeholder filled in.
    pub commands: Commands,
}

/// Second disk or directory from which a cell copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceMount {
    /// Location of the source.
    pub place: SourceLocation,
    /// Prefix of the name of each tree and file, if fsarena has filled the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Expected contents of a user's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<SourceInventory>,
}

/// Location of a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceLocation {
    /// A directory.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Mountpoint for a bind mount, if the agent has private mounts.
        at: Option<PathBuf>,
        /// Expected identity of the directory.
        identity: MountId,
    },
    /// A read-only block device.
    Device {
        /// The device.
        device: PathBuf,
        /// Major and minor number.
        number: (u64, u64),
        /// An existing directory used as mount point.
        at: PathBuf,
    },
    /// A disk of a guest that the agent fills first.
    #[serde(rename = "made")]
    Generated(Box<GeneratedSource>),
}

/// A disk of a guest that the agent fills as a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratedSource {
    /// The disk and its filesystem.
    pub volume: Volume,
    /// Kernel name of the filesystem.
    pub kind: String,
    /// Seed of its content. Equal in all rounds.
    pub seed: u64,
}

/// Returns the operation that generates the input of a copy operation in a source filled by
/// fsarena. The result is a tree, with a single file if the operation copies a file. Returns `None`
/// for all other operations.
pub fn generated_tree(op: &Op, prefix: &str) -> Option<Op> {
    let (name, spec) = match op {
        Op::CopyTreeIn(CopyTreeIn { tree, spec, .. }) => (tree, *spec),
        Op::CopyFileIn(CopyFileIn { file, size, .. }) => {
            let one = TreeSpec {
                files: 1,
                directories: 0,
                bytes: *size,
                smallest: *size,
                largest: *size,
            };
            (file, one)
        }
        _ => return None,
    };
    let tree = format!("{prefix}{name}");
    Some(Op::GenerateTree(GenerateTree { tree, spec }))
}

/// Returns the prefix of the names that a test copies from a source filled by fsarena. It is unique
/// per test.
pub fn source_prefix(test: &Test) -> String {
    format!("{}.", test.name)
}

/// Several devices of one filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultiDevice {
    /// The filesystem manages all devices; the device of the volume is the first.
    Pool(Vec<PathBuf>),
    /// Stripe assembled into the volume's device before the job: by the agent in a guest, or on a
    /// host by the process that starts the agent.
    Stripe(Vec<PathBuf>),
}

impl MultiDevice {
    /// Returns the devices in order.
    pub fn members(&self) -> &[PathBuf] {
        match self {
            Self::Pool(members) | Self::Stripe(members) => members,
        }
    }
}

impl Volume {
    /// Returns the devices of this machine that contain the volume.
    pub fn devices(&self) -> impl Iterator<Item = &Path> {
        let members = self.span.as_ref().map(MultiDevice::members);
        self.either(members)
    }

    /// Returns the devices passed to the filesystem: all members of a pool, otherwise the single
    /// device.
    pub fn mkfs_devices(&self) -> impl Iterator<Item = &Path> {
        let pool = match &self.span {
            Some(MultiDevice::Pool(members)) => Some(&members[..]),
            Some(MultiDevice::Stripe(_)) | None => None,
        };
        self.either(pool)
    }

    fn either<'a>(&'a self, several: Option<&'a [PathBuf]>) -> impl Iterator<Item = &'a Path> {
        let own = self.device.iter().filter(move |_| several.is_none());
        several.into_iter().flatten().chain(own).map(PathBuf::as_path)
    }
}

/// Report of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum CellEvent {
    /// The first event: the agent has started.
    Hello {
        /// [`VERSION`] of the agent.
        version: u32,
    },
    /// A step or phase has started.
    Begin {
        /// Its name.
        step: String,
    },
    /// Progress since the last event: operations were completed or the device was active.
    Progress {
        /// The current step or phase.
        step: String,
        /// Operations done so far.
        done: u64,
        /// Number of planned operations, if known.
        total: Option<u64>,
    },
    /// A program of the filesystem has exited.
    Step(CommandRecord),
    /// The filesystem was mounted for the first time, outside of the phases. Contains its memory
    /// use.
    Mounted(KernelMemoryUse),
    /// The filesystem was aged.
    Aged(AgeingResult),
    /// A phase has ended.
    Phase(Box<PhaseResult>),
    /// All requests of simulated disks since the last event of this kind.
    Journal(RequestLogChunk),
    /// Fragmentation of the files that exist after a phase.
    Layout {
        /// The phase.
        phase: String,
        /// The pieces.
        layout: FragmentationStats,
    },
    /// Features of the mounted filesystem.
    Features(Features),
    /// A step other than a phase has failed; later steps were skipped.
    Failed {
        /// Whether the filesystem or its driver crashed, instead of returning an error.
        crashed: bool,
        /// What happened.
        failure: crate::Failure,
    },
    /// The cell cannot run, or its result is meaningless, for a reason other than the filesystem:
    /// another process uses the device, or the directory is now on another filesystem. It gets no
    /// result.
    #[serde(rename = "withdrawn")]
    EnvironmentFault {
        /// The reason in one line.
        reason: String,
    },
    /// A step of a cell that several hosts run together. Not an event for observers.
    Rank(RankReport),
    /// The agent has cleaned up and is about to exit.
    Done,
}

impl CellEvent {
    /// Formats the event as a line, including the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

impl CellJob {
    /// Formats the job as a line, including the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

/// Reason a cell was aborted. The cell runs again on resume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbortReason {
    /// The user asked to stop.
    Interrupted,
    /// The cell could not run, or its result is meaningless, for a reason other than the
    /// filesystem.
    #[serde(rename = "withdrawn")]
    EnvironmentFault(String),
    /// This host runs the same cell and will share its result. The cell is requested again after
    /// all others.
    #[serde(rename = "elsewhere")]
    OtherHost(String),
}

fn line<T: Serialize>(message: &T) -> String {
    let mut line = serde_json::to_string(message).expect("messages hold only what JSON can say");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_and_reads_back() {
        let event = CellEvent::Failed {
            crashed: true,
            failure: crate::Failure {
                step: "write".into(),
                reason: "two\nlines, \"quotes\" and \u{202e}marks".into(),
                ..Default::default()
            },
        };
        let line = event.to_line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<CellEvent>(&line).unwrap(), event);
    }

    #[test]
    fn all_that_is_aged_in_a_round_has_one_seed_and_rounds_have_others() {
        let age = AgeingSpec {
            profile: crate::AgeProfile {
                name: "p".into(),
                title: String::new(),
                source: String::new(),
                churn: crate::Churn::Rewrite,
                turnover: 1,
                batch: 1,
                sizes: Vec::new(),
                ages: Vec::new(),
                depths: Vec::new(),
            },
            fill: crate::PerMille(500),
            operations: None,
            layout: None,
        };
        let seed = |campaign, round| AgeingParams::for_round(&age, campaign, round).seed;
        assert_eq!(seed(7, 1), seed(7, 1));
        assert_ne!(seed(7, 1), seed(7, 2));
        assert_ne!(seed(7, 1), seed(8, 1));
    }

    #[test]
    fn a_line_that_is_no_message_is_an_error_and_no_panic() {
        for junk in ["", "{", "{\"event\":\"nonsense\"}", "null"] {
            assert!(serde_json::from_str::<CellEvent>(junk).is_err(), "{junk}");
        }
    }
}
