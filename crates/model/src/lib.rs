//! Types of fsarena's terms: filesystem, contender, suite, test, phase, cell, measurement.
//!
//! All other crates use these types, and the output of every stage can be written as JSON. This
//! crate does no I/O, reads no clock and contains no code for a particular filesystem.

mod campaign;
mod errno;
mod filesystem;
mod json_error;
mod machine;
mod named_enum;
mod names;
pub mod op;
pub mod result;
mod rng;
mod shell;
mod suite;
mod units;
mod user_directory;
pub mod wire;

pub use campaign::cell::{CampaignId, Cell, CellId};
pub use campaign::{BackendKind, Campaign, Clock, SizeProfile, SkippedSuite, StoppingRule};
pub use errno::{errno_name, errno_number};
pub use filesystem::contender::{Contender, is_compression};
pub use filesystem::contender_group::ContenderGroup;
pub use filesystem::contender_overrides::ContenderOverrides;
pub use filesystem::facts::{
    BootLoader, CrashRecovery, DocumentedPromise, FACT_TITLES, FilesystemFacts, FilesystemOrigin,
    FormatLimit, HarmlessMessage, License, NativeReader, OperatingSystem, PowerCutEvidence,
    RecoveryMechanism, SnapshotSupport,
};
pub use filesystem::features::{Feature, Features, PosixClass, ProbeResult};
pub use filesystem::linux_range::{LinuxRange, LinuxVersion};
pub use filesystem::mount_identity::MountId;
pub use filesystem::{
    Commands, DriverKind, Filesystem, FilesystemLayer, MaintenanceCommand, MkfsWriteEstimate,
    Requirements,
};
pub use json_error::json_error_cause;
pub use machine::calibration::{Calibration, HarnessOverhead, RawDevicePerformance, RepeatedValue};
pub use machine::disk_identity::{DiskIdentity, DiskWriteState};
pub use machine::disk_model::{DiskModel, Flash, FlashState, Mechanism, Rotating, Zone};
pub use machine::environment::{CpuCache, DistributedPlan, Environment, HostSetting, ToolVersion};
pub use machine::host_noise::{HostNoise, Pressure};
pub use machine::{Accelerator, DiskCache, GuestConfig, GuestDisk, VirtualTimeMachine};
pub use names::{InvalidName, check_name};
pub use op::{
    AccessPattern, Capacity, CopyFile, CopyFileIn, CopyFileRange, CopyTree, CopyTreeIn, Create,
    DiskFault, DiskFaultKind, EntryKind, Exec, Expectation, Fallocate, FallocateMode, FileSharing,
    FileStep, Fill, FillWith, FindInTree, Fsck, GenerateTree, Io, IoEngine, IoFlag, ListTree,
    Maintain, MaintenanceTask, Metadata, MetadataAction, Mix, Mkfs, Mount, Occupy, Op, PowerCut,
    PowerCutSet, ProbeFeature, ReadFiles, ReadStream, Reflink, RemoveFile, RemoveTree, Replay,
    ReplaySpeed, RoleResult, Sparse, StreamUnit, TraceStats, TraversalOrder, TreeSpec, Unmount,
    Vacate, VerifyTree, WorkEstimate, WriteStream,
};
pub use result::age::{
    AgeBin, AgeProfile, AgeingResult, AgeingSpec, AgeingStopReason, Churn, DepthBin, PerMille,
    SizeBin,
};
pub use result::cpu_profile::{CpuProfile, Sampling, USER, is_user_time};
pub use result::disk_faults::{
    BlockContent, DescribedFault, DiskFaults, FaultCounts, FaultVerdict,
};
pub use result::file_layout::FragmentationStats;
pub use result::full::{FullResult, FullStep};
pub use result::imported::{ExternalSource, ImportedCampaign, ImportedContender, ImportedResult};
pub use result::kernel_log::{Attribution, KernelEvent};
pub use result::measurement::Measurement;
pub use result::memory_use::KernelMemoryUse;
pub use result::metric::{Direction, Metric, Unit};
pub use result::metric_pattern::ResultSelector;
pub use result::outcome::{
    CellResult, CommandRecord, CpuTime, DeviceCounters, Failure, HostWork, Iteration,
    LatencyBucket, PageFaults, PhaseResult, ReportedValue, SpaceUsage, Status, SyscallError,
    UnsetAttributes,
};
pub use result::results::{CampaignResults, CellRecord};
pub use result::simulated_disk_stats::{RequestLogChunk, SimulatedDiskStats};
pub use result::survival::{BrokenCut, SequenceCost, ShortestLoss, Survival};
pub use result::timeline::{
    DeviceSample, MachineSample, Stall, SteadyState, Timeline, TimelineInterval,
};
pub use rng::SeededRng;
pub use shell::shell_quote;
pub use suite::data_kind::DataKind;
pub use suite::excluded_phase::ExcludedPhase;
pub use suite::source::{CopySource, SourceInventory, source_image_size};
pub use suite::source_archive::{CachedArchive, SourceArchive};
pub use suite::sweep::{SweepAxis, SweepPoint};
pub use suite::use_case::{CategoryWeight, RequiredFeature, RequiredReaders, UseCase};
pub use suite::workload_category::WorkloadCategory;
pub use suite::{
    CacheState, IterationPolicy, PEERS, Phase, ProgramRequirements, RECORDING, Suite, SyncAtEnd,
    Test,
};
pub use units::{Bytes, Nanos, ParseUnitError, percentage};
pub use user_directory::{UserDir, UserDirError};
