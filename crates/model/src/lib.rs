//! The words of fsarena as types: filesystem, contender, suite, test, phase, cell, measurement.
//!
//! Every other crate speaks in these types and every stage's output can be written as JSON.
//! This crate does no I/O, reads no clock and knows no particular filesystem.

mod age;
mod calibration;
mod campaign;
mod cell;
mod contender;
mod contender_group;
mod contender_overrides;
mod cpu_profile;
mod disk_identity;
mod disk_model;
mod environment;
mod excluded_phase;
mod facts;
mod features;
mod file_layout;
mod filesystem;
mod host_noise;
mod imported;
pub mod kernel_log;
mod machine;
mod measurement;
mod memory_use;
mod metric;
mod metric_pattern;
mod mount_identity;
mod names;
pub mod op;
mod outcome;
mod results;
mod rng;
mod simulated_disk_stats;
mod source;
mod source_archive;
mod suite;
mod sweep;
mod units;
mod use_case;
mod user_directory;
pub mod wire;
mod workload_category;

pub use age::{
    AgeBin, AgeProfile, AgeingResult, AgeingSpec, AgeingStopReason, Churn, DepthBin, PerMille,
    SizeBin,
};
pub use calibration::{Calibration, HarnessOverhead, RawDevicePerformance, RepeatedValue};
pub use campaign::{BackendKind, Campaign, Clock, SizeProfile, StoppingRule};
pub use cell::{CampaignId, Cell, CellId};
pub use contender::Contender;
pub use contender_group::ContenderGroup;
pub use contender_overrides::ContenderOverrides;
pub use cpu_profile::{CpuProfile, Sampling, USER, is_user_time};
pub use disk_identity::{DiskIdentity, DiskWriteState};
pub use disk_model::{DiskModel, Flash, FlashState, Mechanism, Rotating, Zone};
pub use environment::{CpuCache, DistributedPlan, Environment, HostSetting, ToolVersion};
pub use excluded_phase::ExcludedPhase;
pub use facts::{
    BootLoader, FACT_TITLES, FilesystemFacts, FilesystemOrigin, FormatLimit, NativeReader,
    OperatingSystem,
};
pub use features::{Feature, Features, PosixClass, ProbeResult};
pub use file_layout::FragmentationStats;
pub use filesystem::{Commands, DriverKind, Filesystem, MkfsWriteEstimate, Requirements};
pub use host_noise::{HostNoise, Pressure};
pub use imported::{ExternalSource, ImportedCampaign, ImportedContender, ImportedResult};
pub use kernel_log::{Attribution, KernelEvent};
pub use machine::{Accelerator, DiskCache, GuestConfig, GuestDisk, VirtualTimeMachine};
pub use measurement::Measurement;
pub use memory_use::KernelMemoryUse;
pub use metric::{Direction, Metric, Unit};
pub use metric_pattern::ResultSelector;
pub use mount_identity::MountId;
pub use names::{InvalidName, check_name};
pub use op::{
    AccessPattern, Capacity, CopyFile, CopyFileIn, CopyFileRange, CopyTree, CopyTreeIn, Create,
    EntryKind, Exec, Fallocate, FallocateMode, FileSharing, FindInTree, Fsck, GenerateTree, Io,
    IoEngine, ListTree, Metadata, MetadataAction, Mix, Mkfs, Mount, Op, ProbeFeature, ReadFiles,
    ReadStream, Reflink, RemoveFile, RemoveTree, Replay, ReplaySpeed, RoleResult, Sparse,
    StreamUnit, TraceStats, TraversalOrder, TreeSpec, Unmount, VerifyTree, WorkEstimate,
    WriteStream,
};
pub use outcome::{
    CellResult, CommandRecord, CpuTime, DeviceCounters, Failure, Iteration, LatencyBucket,
    PageFaults, PhaseResult, ReportedValue, SpaceUsage, Status, SyscallError,
};
pub use results::{CampaignResults, CellRecord};
pub use rng::SeededRng;
pub use simulated_disk_stats::{RequestLogChunk, SimulatedDiskStats};
pub use source::{CopySource, SourceInventory, source_image_size};
pub use source_archive::{CachedArchive, SourceArchive};
pub use suite::{
    CacheState, IterationPolicy, PEERS, Phase, ProgramRequirements, Suite, SyncAtEnd, Test,
};
pub use sweep::{SweepAxis, SweepPoint};
pub use units::{Bytes, Nanos, ParseUnitError, percentage};
pub use use_case::{CategoryWeight, RequiredFeature, RequiredReaders, UseCase};
pub use user_directory::{UserDir, UserDirError};
pub use workload_category::WorkloadCategory;
