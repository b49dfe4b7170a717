//! What the orchestrator and the agent of a cell say to each other; [`machine`] has what it says to the agent of a whole
//! machine.
//!
//! The orchestrator writes one [`Job`] as a line of JSON to the agent's standard input and keeps
//! that end open: when it closes, the agent ends. The agent writes [`Event`]s, a line of JSON each,
//! to its standard output. Nothing else is said, whether the agent is a child process or PID 1 of a
//! guest behind a serial port. No I/O happens here.

pub mod machine;

use std::path::{Path, PathBuf};

use model::{
    AgeingResult, AgeingSpec, Bytes, CellId, CommandRecord, Commands, CopyFileIn, CopyTreeIn,
    DiskWriteState, DriverKind, Features, FragmentationStats, GenerateTree, KernelMemoryUse,
    MountId, Nanos, Op, PhaseResult, RequestLogChunk, Sampling, SeededRng, SourceInventory, Test,
    TreeSpec,
};
use serde::{Deserialize, Serialize};

/// Version of these messages; an agent refuses a job of any other.
pub const VERSION: u32 = 2;

/// What an agent writes on the console of its guest before anything else: what stands before it is about the
/// machine, and what stands behind it about the cell.
pub const CONSOLE_MARK: &str = "fsarena: the cell begins";

/// Between these lines, an agent that is stuck has written on the console of its guest where its threads are,
/// and the kernel where its own are.
pub const STACKS_BEGIN: &str = "fsarena: nothing moves; everything is here";
/// The end of that.
pub const STACKS_END: &str = "fsarena: nothing moves; that was all";

/// What an agent is to do: one test on one freshly made filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellJob {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// The cell it belongs to.
    pub cell: CellId,
    /// Where to work.
    pub target: WorkTarget,
    /// What is copied in, where the campaign has another disk for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceMount>,
    /// Where archives of sources lie that commands unpack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archives: Option<PathBuf>,
    /// What to do there.
    pub test: Test,
    /// How the filesystem is aged before the first phase; it is fresh where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeingParams>,
    /// What the job has to do with an aged state that is kept; nothing where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<AgedImageAction>,
    /// From which every random choice comes.
    pub seed: u64,
    /// Time without any event after which the agent writes on the console where everything is stuck; absent
    /// where whoever watches can look for himself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks_after: Option<Nanos>,
    /// How the processor is sampled; it is not where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// How an agent ages a filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgeingParams {
    /// The distributions, and where it ends.
    pub age: AgeingSpec,
    /// From which sizes, directories and order come: the same for all tests and contenders of a round.
    pub seed: u64,
}

impl AgeingParams {
    /// That of all cells of a round of a campaign, whatever contender and test they are of.
    pub fn for_round(age: &AgeingSpec, campaign_seed: u64, round: u32) -> Self {
        let mut rng = SeededRng::substream(campaign_seed, &format!("age in round {round}"));
        Self {
            age: age.clone(),
            seed: rng.next_u64(),
        }
    }
}

/// What a job has to do with an aged state that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgedImageAction {
    /// Make and age the filesystem, unmount and check it; no phase of the test is done.
    #[serde(rename = "make")]
    Create,
    /// The device holds it: mount it and go straight to the test.
    #[serde(rename = "use")]
    Restore(Box<AgedImageInfo>),
}

/// What is known of an aged state from when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgedImageInfo {
    /// What ageing came to.
    pub record: AgeingResult,
    /// What the filesystem held in memory when it was first mounted.
    pub mounted: Option<KernelMemoryUse>,
}

/// Where an agent works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkTarget {
    /// A device on which the agent makes and mounts the filesystem.
    Volume(Box<Volume>),
    /// An empty directory of a filesystem that is mounted already.
    Directory {
        /// The directory; the agent never leaves it.
        path: PathBuf,
        /// The directory that competes, in which the other one lies.
        top: PathBuf,
        /// Where it has to be, before and after each phase.
        mount: MountId,
    },
}

/// A device and how to turn it into a mounted filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// The block device; absent for filesystems without one (tmpfs).
    pub device: Option<PathBuf>,
    /// What it lies on, where that is more than the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<MultiDevice>,
    /// The disks that the devices have to be of which the filesystem is told, in their order, as fsarena left them; none in
    /// a guest, whose disks are nobody else's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<DiskWriteState>,
    /// The size of all that it lies on.
    pub size: Bytes,
    /// An existing directory to mount on.
    pub mountpoint: PathBuf,
    /// Who drives the filesystem.
    pub driver: DriverKind,
    /// Command lines with every placeholder filled in.
    pub commands: Commands,
}

/// Another disk that a cell copies from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceMount {
    /// Where it is.
    pub place: SourceLocation,
    /// Where fsarena has filled it: what stands before the name of each tree and file ([`planted`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// What has to be in it, where it is the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<SourceInventory>,
}

/// Where a source is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceLocation {
    /// A directory.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Where an agent with mounts of its own binds it.
        at: Option<PathBuf>,
        /// Which directory it has to be.
        identity: MountId,
    },
    /// A block device that takes no writes.
    Device {
        /// The device.
        device: PathBuf,
        /// Its major and minor number.
        number: (u64, u64),
        /// An existing directory to mount on.
        at: PathBuf,
    },
    /// A disk of a guest, which the agent fills first.
    #[serde(rename = "made")]
    Generated(Box<GeneratedSource>),
}

/// A disk of a guest that the agent makes a source of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratedSource {
    /// The disk and its filesystem.
    pub volume: Volume,
    /// What the kernel calls that.
    pub kind: String,
    /// From which its content comes: the same in all rounds.
    pub seed: u64,
}

/// How what an operation copies in is put into a source that fsarena fills: a tree, of one file where the operation
/// copies a file. Nothing for all others.
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

/// What stands before the names of what a test copies in, in a source that fsarena fills: no two tests share any.
pub fn source_prefix(test: &Test) -> String {
    format!("{}.", test.name)
}

/// Several devices below one filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultiDevice {
    /// The filesystem takes them all; the volume's device is the first.
    Pool(Vec<PathBuf>),
    /// They are put together before, to the volume's device: by the agent in a guest, and on a host by who starts it.
    Stripe(Vec<PathBuf>),
}

impl MultiDevice {
    /// The devices, in their order.
    pub fn members(&self) -> &[PathBuf] {
        match self {
            Self::Pool(members) | Self::Stripe(members) => members,
        }
    }
}

impl Volume {
    /// The devices of this machine on which it lies.
    pub fn devices(&self) -> impl Iterator<Item = &Path> {
        let members = self.span.as_ref().map(MultiDevice::members);
        self.either(members)
    }

    /// The devices of which the filesystem is told: all of a pool, else the one.
    pub fn mkfs_devices(&self) -> impl Iterator<Item = &Path> {
        let pool = match &self.span {
            Some(MultiDevice::Pool(members)) => Some(&members[..]),
            Some(MultiDevice::Stripe(_)) | None => None,
        };
        self.either(pool)
    }

    fn either<'a>(&'a self, several: Option<&'a [PathBuf]>) -> impl Iterator<Item = &'a Path> {
        let own = self.device.iter().filter(move |_| several.is_none());
        several
            .into_iter()
            .flatten()
            .chain(own)
            .map(PathBuf::as_path)
    }
}

/// What an agent reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum CellEvent {
    /// The first event: the agent is up.
    Hello {
        /// [`VERSION`] of the agent.
        version: u32,
    },
    /// A step or phase begins.
    Begin {
        /// Its name.
        step: String,
    },
    /// Something moved since the last event: operations were done or the device worked.
    Progress {
        /// The step or phase that runs.
        step: String,
        /// Operations done so far.
        done: u64,
        /// Operations planned, where that is known.
        total: Option<u64>,
    },
    /// A program of the filesystem has ended.
    Step(CommandRecord),
    /// The filesystem was mounted for the first time, by no phase: what it holds in memory.
    Mounted(KernelMemoryUse),
    /// The filesystem was aged.
    Aged(AgeingResult),
    /// A phase has ended.
    Phase(Box<PhaseResult>),
    /// Every request of simulated disks since the last such event.
    Journal(RequestLogChunk),
    /// In what pieces the files lie that are there after a phase which has ended.
    Layout {
        /// The phase.
        phase: String,
        /// The pieces.
        layout: FragmentationStats,
    },
    /// What the mounted filesystem can do.
    Features(Features),
    /// A step that is no phase has failed; what follows was skipped.
    Failed {
        /// Whether the filesystem or its driver died, rather than said no.
        crashed: bool,
        /// What happened.
        failure: model::Failure,
    },
    /// The cell cannot be run, or means nothing, for a reason that is not the filesystem's: somebody else uses
    /// the device, or the directory is on another filesystem by now. It gets no result.
    #[serde(rename = "withdrawn")]
    EnvironmentFault {
        /// Why, in one line.
        reason: String,
    },
    /// The agent has cleaned up and is about to end.
    Done,
}

impl CellEvent {
    /// The event as a line, with its end of line.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

impl CellJob {
    /// The job as a line, with its end of line.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

/// Why a cell has no result; it is run when the campaign goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbortReason {
    /// The user asked to stop.
    Interrupted,
    /// It could not be run, or means nothing, for this reason, which is not the filesystem's.
    #[serde(rename = "withdrawn")]
    EnvironmentFault(String),
    /// This host runs the same cell, and will share its result: it is to be asked for again when nothing else is left to do.
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
            failure: model::Failure {
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
            profile: model::AgeProfile {
                name: "p".into(),
                title: String::new(),
                source: String::new(),
                churn: model::Churn::Rewrite,
                turnover: 1,
                batch: 1,
                sizes: Vec::new(),
                ages: Vec::new(),
                depths: Vec::new(),
            },
            fill: model::PerMille(500),
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
