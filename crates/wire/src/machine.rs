//! What the orchestrator and the agent of a machine say to each other.
//!
//! The orchestrator starts `fsarena agent --machine` there, as a child or through ssh, and writes [`Request`]s, a line of
//! JSON each; the agent writes [`Answer`]s. The agent ends, and removes all that it has made, when its standard input
//! closes. Across a network, which may break without a word, the orchestrator sends a pulse every [`PULSE`], and each is
//! answered; where [`MISSING`] of them are missing, the other side is lost.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use model::{
    BackendKind, Bytes, CachedArchive, Calibration, Campaign, CampaignId, Cell, CellId, CellResult,
    CopySource, DiskIdentity, Environment, SourceArchive, Test,
};
use serde::{Deserialize, Serialize};

use crate::{AbortReason, CellEvent, line};

/// How often each side says that it is there.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// So many pulses may be missing in a row; then the other side is lost.
pub const MAX_MISSED_HEARTBEATS: u32 = 10;

/// What the agent of a machine is to do. One thing at a time, but for cells, [`Request::Stop`] and
/// [`Request::Pulse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", content = "with", rename_all = "kebab-case")]
pub enum HostRequest {
    /// Say what this machine has.
    #[serde(rename = "look")]
    Inspect {
        /// The programs that matter.
        programs: BTreeSet<String>,
        /// A path that may be a block device.
        device: Option<PathBuf>,
        /// Directories that are to compete.
        directories: Vec<PathBuf>,
    },
    /// Look through a source of the user's; nothing is changed.
    #[serde(rename = "survey")]
    ScanSource(SourceScan),
    /// Bring archives of sources that are not in the cache.
    #[serde(rename = "bring-archives")]
    FetchArchives(Vec<SourceArchive>),
    /// Measure the harness overhead, and this device where one is asked for.
    Measure(CalibrationSubject),
    /// Find what killed campaigns have left.
    #[serde(rename = "find-left")]
    FindStale {
        /// The directories that they worked in.
        places: Vec<PathBuf>,
    },
    /// Remove what a killed process has left.
    #[serde(rename = "remove-left")]
    RemoveStale {
        /// One of the directories that were found.
        directory: PathBuf,
        /// Its campaign, where that is known.
        campaign: Option<(CampaignId, Box<Campaign>)>,
    },
    /// Take what a campaign works on, and look whether it can run here; nothing is changed.
    #[serde(rename = "hold")]
    Acquire {
        /// The campaign.
        campaign: Box<Campaign>,
        /// The device that the user has named a second time, to say that what it holds may be lost.
        erase: Option<PathBuf>,
        /// Whether it has run before, so that its image may be there.
        again: bool,
    },
    /// Erase the device that the agent has asked for.
    #[serde(rename = "allow-erasing")]
    ConfirmErase,
    /// Make ready what its cells need.
    Prepare {
        /// Number of the campaign.
        id: CampaignId,
    },
    /// Measure the harness overhead and the raw device.
    Calibrate,
    /// Begin a cell.
    Start {
        /// The cell.
        cell: Cell,
        /// Its test.
        test: Box<Test>,
    },
    /// End what runs.
    Stop,
    /// Remove everything that was made for the campaign.
    #[serde(rename = "clear")]
    CleanUp,
    /// The orchestrator is there.
    #[serde(rename = "pulse")]
    Heartbeat,
}

/// A source of the user's that is to be looked through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceScan {
    /// A directory, a device or an image file.
    pub source: PathBuf,
    /// The backend that copies from it.
    pub backend: BackendKind,
    /// The device that is used instead of an image.
    pub device: Option<PathBuf>,
    /// The directories that cells work in, of which it must be no part.
    pub in_use: Vec<PathBuf>,
}

/// What `fsarena calibrate` measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationSubject {
    /// The harness overhead alone.
    Overhead,
    /// A device or image file of the user's.
    Device {
        /// Where it is.
        path: PathBuf,
        /// The device that the user has named a second time, to say that what it holds may be lost.
        erase: Option<PathBuf>,
    },
    /// An image, made for this and removed afterwards.
    Image {
        /// Its size.
        size: Bytes,
        /// The directory to make it in.
        work_dir: PathBuf,
    },
}

/// What a killed process has left: a directory with an image, most of all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StaleDirectory {
    /// Where it is.
    pub directory: PathBuf,
    /// The directory that was asked for in which it lies.
    pub place: PathBuf,
    /// Its name in there.
    pub name: String,
    /// What it takes on the disk.
    pub size: Bytes,
}

/// A directory that is to compete, as its machine sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedDirectory {
    /// Its absolute path without symbolic links.
    pub path: PathBuf,
    /// The filesystem that is mounted there, as the kernel calls it, where that can be found out.
    pub filesystem: Option<String>,
}

/// What a machine has, as far as it decides about what can run there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCapabilities {
    /// Whether the agent may mount.
    pub root: bool,
    /// Release of the kernel.
    pub kernel: String,
    /// Names in `/proc/filesystems`.
    pub filesystems: BTreeSet<String>,
    /// Modules that could be loaded.
    pub modules: BTreeSet<String>,
    /// Whether the kernel loads a filesystem's module when it is mounted.
    pub loads_modules: bool,
    /// Whether `/dev/loop-control` is there.
    pub loop_control: bool,
    /// Whether `/dev/fuse` is there.
    pub fuse_device: bool,
    /// Memory that programs can have, where that is known.
    #[serde(default)]
    pub available_memory: Option<Bytes>,
    /// Of the programs that were asked for, those that are there.
    pub programs: BTreeSet<String>,
    /// Whether what was asked for is a block device.
    pub is_block_device: bool,
    /// The directories that were asked for, in the same order; or why one cannot compete.
    pub directories: Vec<Result<MountedDirectory, String>>,
}

/// What the agent of a machine says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", content = "with", rename_all = "kebab-case")]
pub enum HostReply {
    /// The first word.
    Hello {
        /// [`crate::VERSION`] of the agent.
        version: u32,
    },
    /// What the machine has.
    #[serde(rename = "looked")]
    Inspected(Box<HostCapabilities>),
    /// The archives that are there now.
    Archives(Vec<CachedArchive>),
    /// Something for the user.
    Note(String),
    /// So many bytes of an image are written.
    Preparing {
        /// Written.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// A device is about to be erased that holds something; [`Request::AllowErasing`] lets it.
    #[serde(rename = "may-erase")]
    ConfirmErase {
        /// The device.
        device: PathBuf,
        /// What it is, for people.
        description: String,
        /// What it holds.
        content: String,
    },
    /// What the campaign works on is taken.
    #[serde(rename = "held")]
    Acquired {
        /// The disk, where it is one of the user's.
        disk: Option<DiskIdentity>,
        /// What does not fit, a line each.
        misfits: Vec<String>,
    },
    /// What its cells need is there.
    Prepared(Box<Environment>),
    /// What was measured; nothing where the user asked to stop.
    Calibrated(Option<Box<Calibration>>),
    /// Something happens in a cell.
    Event {
        /// The cell.
        cell: CellId,
        /// What.
        event: CellEvent,
    },
    /// A cell has its result.
    Ended {
        /// The cell.
        cell: CellId,
        /// Its result.
        result: Box<CellResult>,
    },
    /// A cell has none.
    Stopped {
        /// The cell.
        cell: CellId,
        /// Why.
        stopped: AbortReason,
    },
    /// What is in a source.
    #[serde(rename = "surveyed")]
    SourceScanned(Box<CopySource>),
    /// What killed processes have left.
    #[serde(rename = "left")]
    StaleDirectories(Vec<StaleDirectory>),
    /// Everything is removed.
    Cleared,
    /// What was asked for cannot be done.
    Failed {
        /// Of which kind the reason is.
        kind: FailureKind,
        /// The reason in one line.
        reason: String,
    },
    /// The agent is there.
    #[serde(rename = "pulse")]
    Heartbeat,
}

/// Who can mend an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The user said something wrong.
    #[serde(rename = "bad-input")]
    Usage,
    /// The machine is not as it must be.
    #[serde(rename = "refused")]
    Environment,
    /// The user asked to stop.
    Interrupted,
    /// Nobody but who writes this program.
    Internal,
}

impl HostRequest {
    /// The request as a line, with its end of line.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

impl HostReply {
    /// The answer as a line, with its end of line.
    pub fn to_line(&self) -> String {
        line(self)
    }
}
