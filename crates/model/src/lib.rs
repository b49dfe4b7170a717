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
mod cpu_profile;
mod disk_identity;
mod disk_model;
mod disk_work;
mod disturbance;
mod environment;
mod facts;
mod features;
mod file_layout;
mod filesystem;
mod group;
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
mod own_setting;
mod reported;
mod results;
mod rng;
mod source;
mod source_archive;
mod suite;
mod sweep;
mod units;
mod user_directory;
mod uses;
mod withheld;

pub use age::{Age, AgeBin, AgeProfile, AgeRecord, AgeStop, Churn, DepthBin, PerMille, SizeBin};
pub use calibration::{Calibration, Overhead, RawDevice, Spread};
pub use campaign::{Backend, Campaign, Clock, Profile, Until};
pub use cell::{CampaignId, Cell, CellId};
pub use contender::Contender;
pub use contender_group::ContenderGroup;
pub use cpu_profile::{CpuProfile, Sampling, USER, is_of_program};
pub use disk_identity::{DiskIdentity, DiskState};
pub use disk_model::{DiskModel, Flash, FlashState, Mechanism, Rotating, Zone};
pub use disk_work::{DiskWork, JournalPart};
pub use disturbance::{Disturbance, Pressure};
pub use environment::{Condition, CpuCache, Environment, SpreadPlan, Tool};
pub use facts::{BootLoader, FACTS, Facts, Limit, Origin, Reader, System};
pub use features::{Class, Feature, Features, Support};
pub use file_layout::FileLayout;
pub use filesystem::{Commands, Driver, Filesystem, MkfsWrites, Requirements};
pub use group::Group;
pub use kernel_log::{Concern, KernelEvent};
pub use machine::{Accelerator, DiskCache, GuestDisk, GuestMachine, MachineModel};
pub use measurement::Measurement;
pub use memory_use::MemoryUse;
pub use metric::{Direction, Metric, Unit};
pub use metric_pattern::MetricPattern;
pub use mount_identity::MountIdentity;
pub use names::{NameError, check_name};
pub use op::{
    Access, Action, Capacity, CopyFile, CopyFileIn, CopyFileRange, CopyTree, CopyTreeIn, Create,
    EntryKind, Exec, Fallocate, FallocateMode, FindInTree, Fsck, Io, IoEngine, ListTree, Metadata,
    Mix, MixRole, Mkfs, Mount, Op, Order, Pace, PlantTree, Probe, ReadFiles, ReadStream, Reflink,
    RemoveFile, RemoveTree, Replay, Sharing, Sparse, StreamUnit, TraceFacts, TreeSpec, Unmount,
    VerifyTree, Work, WriteStream,
};
pub use outcome::{
    CellResult, CpuTime, DeviceCounters, Failure, Faults, LatencyBucket, Pass, PhaseResult, Space,
    Stated, Status, StepRecord, SystemError,
};
pub use own_setting::OwnSetting;
pub use reported::{Figure, MeasuredBy, Reported, ReportedContender};
pub use results::{CampaignResults, StoredCell};
pub use rng::SeededRng;
pub use source::{Source, SourceContents, source_image_size};
pub use source_archive::{HeldArchive, SourceArchive};
pub use suite::{CacheState, End, PEERS, Phase, Programs, Scaling, Suite, Test};
pub use sweep::{Axis, SweepPoint};
pub use units::{Bytes, Nanos, ParseUnitError, percentage};
pub use user_directory::{NoUserDirectory, UserDirectory};
pub use uses::{Need, Readers, Use, Weight};
pub use withheld::Withheld;
