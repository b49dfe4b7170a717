//! Messages between the orchestrator and the agent of a machine.
//!
//! The orchestrator starts `fsarena agent --machine` there, as a child or through ssh. It writes
//! [`HostRequest`]s, one line of JSON each; the agent writes [`HostReply`]s. When its standard
//! input closes, the agent removes all files it has created and exits. A network connection may
//! break silently, so the orchestrator sends a heartbeat every [`HEARTBEAT_INTERVAL`]. The agent
//! answers each one. After [`MAX_MISSED_HEARTBEATS`] missing heartbeats, the connection is
//! considered lost.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::{
    BackendKind, Bytes, CachedArchive, Calibration, Campaign, CampaignId, Cell, CellId, CellResult,
    CopySource, DiskIdentity, Environment, SourceArchive, Test,
};
use serde::{Deserialize, Serialize};

use crate::wire::rank::RankOrder;
use crate::wire::{AbortReason, CellEvent, line};

/// Interval between heartbeats.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// Number of heartbeats that may be missing in a row before the connection is lost.
pub const MAX_MISSED_HEARTBEATS: u32 = 10;

/// Maximum length of a request. The largest contain traces.
pub const MAX_REQUEST_SIZE: Bytes = Bytes(1 << 30);
/// Maximum length of an answer. The largest are results.
pub const MAX_REPLY_SIZE: Bytes = Bytes::mib(64);

/// Request to the agent of a machine. Requests run one at a time, except cells,
/// [`HostRequest::Stop`] and [`HostRequest::Heartbeat`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", content = "with", rename_all = "kebab-case")]
pub enum HostRequest {
    /// Report the capabilities of this machine.
    #[serde(rename = "look")]
    Inspect {
        /// The programs to look for.
        programs: BTreeSet<String>,
        /// A path that may be a block device.
        device: Option<PathBuf>,
        /// Directories of contenders.
        directories: Vec<PathBuf>,
    },
    /// Survey a user's source. Changes nothing.
    #[serde(rename = "survey")]
    ScanSource(SourceScan),
    /// Download source archives that are not in the cache.
    #[serde(rename = "bring-archives")]
    FetchArchives(Vec<SourceArchive>),
    /// Measure the harness overhead, and optionally a device.
    Measure(CalibrationSubject),
    /// Find stale directories of killed campaigns.
    #[serde(rename = "find-left")]
    FindStale {
        /// The work directories of the campaigns.
        places: Vec<PathBuf>,
    },
    /// Remove the stale directory of a killed process.
    #[serde(rename = "remove-left")]
    RemoveStale {
        /// The directory to remove.
        directory: PathBuf,
        /// Campaign of the directory, if known.
        campaign: Option<(CampaignId, Box<Campaign>)>,
    },
    /// Claim the resources of a campaign and check whether it can run here. Changes nothing.
    #[serde(rename = "hold")]
    Acquire {
        /// The campaign.
        campaign: Box<Campaign>,
        /// The device that the user has repeated to confirm that its contents may be erased.
        erase: Option<PathBuf>,
        /// Whether the campaign has run before, so that its image may exist.
        again: bool,
    },
    /// Confirm the erasure that the agent has asked about.
    #[serde(rename = "allow-erasing")]
    ConfirmErase,
    /// Prepare the resources of the cells.
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
    /// Pass an order to the running cell.
    Order(RankOrder),
    /// End running cells and start no others.
    Stop,
    /// Remove all files created for the campaign.
    #[serde(rename = "clear")]
    CleanUp,
    /// Heartbeat of the orchestrator.
    #[serde(rename = "pulse")]
    Heartbeat,
}

impl HostRequest {
    /// Returns the time after which an agent on another machine that only sends heartbeats has not
    /// answered. The time of a cell does not include its phases.
    pub const fn timeout(&self) -> Duration {
        match self {
            // The agent asks the system and some programs.
            Self::Inspect { .. } | Self::FindStale { .. } | Self::Heartbeat | Self::Stop => {
                Duration::from_secs(5 * 60)
            }
            // The agent reads, writes or downloads large files.
            _ => Duration::from_secs(60 * 60),
        }
    }
}

/// A user's source to survey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceScan {
    /// A directory, a device or an image file.
    pub source: PathBuf,
    /// The backend that copies from it.
    pub backend: BackendKind,
    /// The device to use instead of an image.
    pub device: Option<PathBuf>,
    /// Directories in which cells work. They must not overlap the source.
    pub in_use: Vec<PathBuf>,
}

/// Subject of `fsarena tool calibrate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationSubject {
    /// Only the harness overhead.
    Overhead,
    /// A user's device or image file.
    Device {
        /// Path of the device or file.
        path: PathBuf,
        /// The device that the user has repeated to confirm that its contents may be erased.
        erase: Option<PathBuf>,
    },
    /// A temporary image, which is removed afterwards.
    Image {
        /// Its size.
        size: Bytes,
        /// Directory for the image.
        work_dir: PathBuf,
    },
}

/// Stale directory of a killed process, usually with an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StaleDirectory {
    /// Path of the directory.
    pub directory: PathBuf,
    /// The requested directory that contains it.
    pub place: PathBuf,
    /// Name below `place`.
    pub name: String,
    /// Disk usage.
    pub size: Bytes,
}

/// Directory of a contender, as seen by its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedDirectory {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// Kernel name of the mounted filesystem, if known.
    pub filesystem: Option<String>,
}

/// Properties of a machine that decide which contenders can run there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCapabilities {
    /// Whether the agent has root privileges, which mounting requires.
    pub root: bool,
    /// Release of the kernel.
    pub kernel: String,
    /// Names in `/proc/filesystems`.
    pub filesystems: BTreeSet<String>,
    /// Loadable kernel modules.
    pub modules: BTreeSet<String>,
    /// Whether the kernel automatically loads the module of a filesystem on mount.
    pub loads_modules: bool,
    /// Whether `/dev/loop-control` exists.
    pub loop_control: bool,
    /// Whether the kernel has loop devices, even if the node above is missing.
    #[serde(default)]
    pub loop_driver: bool,
    /// Whether `/dev/fuse` exists.
    pub fuse_device: bool,
    /// Memory available to programs, if known.
    #[serde(default)]
    pub available_memory: Option<Bytes>,
    /// Requested programs that are installed.
    pub programs: BTreeSet<String>,
    /// Whether the requested path is a block device.
    pub is_block_device: bool,
    /// The requested directories in the same order, or the reason if one cannot compete.
    pub directories: Vec<Result<MountedDirectory, String>>,
}

/// Answer of the agent of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", content = "with", rename_all = "kebab-case")]
pub enum HostReply {
    /// First message of the agent.
    Hello {
        /// [`crate::wire::VERSION`] of the agent.
        version: u32,
    },
    /// Properties of the machine.
    #[serde(rename = "looked")]
    Inspected(Box<HostCapabilities>),
    /// Archives now in the cache.
    Archives(Vec<CachedArchive>),
    /// A message for the user.
    Note(String),
    /// Progress of writing an image.
    Preparing {
        /// Written.
        done: u64,
        /// Total number of bytes.
        total: u64,
    },
    /// A device with contents is about to be erased; [`HostRequest::ConfirmErase`] allows it.
    #[serde(rename = "may-erase")]
    ConfirmErase {
        /// The device.
        device: PathBuf,
        /// Human-readable description of the device.
        description: String,
        /// Contents of the device.
        content: String,
    },
    /// The resources of the campaign are claimed.
    #[serde(rename = "held")]
    Acquired {
        /// The disk, if it is a user's.
        disk: Option<DiskIdentity>,
        /// Misfits, one line each.
        misfits: Vec<String>,
    },
    /// The resources of the cells are prepared.
    Prepared(Box<Environment>),
    /// Result of a calibration. `None` if the user asked to stop.
    Calibrated(Option<Box<Calibration>>),
    /// An event of a cell.
    Event {
        /// The cell.
        cell: CellId,
        /// What.
        event: CellEvent,
    },
    /// A cell has finished with a result.
    Ended {
        /// The cell.
        cell: CellId,
        /// Its result.
        result: Box<CellResult>,
    },
    /// A cell was aborted without a result.
    Stopped {
        /// The cell.
        cell: CellId,
        /// Why.
        stopped: AbortReason,
    },
    /// Contents of a source.
    #[serde(rename = "surveyed")]
    SourceScanned(Box<CopySource>),
    /// Stale directories of killed processes.
    #[serde(rename = "left")]
    StaleDirectories(Vec<StaleDirectory>),
    /// All files of the campaign are removed.
    Cleared,
    /// The request has failed.
    Failed {
        /// Kind of the error.
        kind: FailureKind,
        /// The reason in one line.
        reason: String,
    },
    /// Heartbeat of the agent.
    #[serde(rename = "pulse")]
    Heartbeat,
}

/// Kind of an error: the party that can fix it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Usage error.
    #[serde(rename = "bad-input")]
    Usage,
    /// The machine does not meet the requirements.
    #[serde(rename = "refused")]
    Environment,
    /// The user asked to stop.
    Interrupted,
    /// A bug in fsarena.
    Internal,
}

impl HostRequest {
    /// Formats the request as a line, including the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

impl HostReply {
    /// Formats the answer as a line, including the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}
