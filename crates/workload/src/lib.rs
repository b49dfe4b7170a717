//! The workloads and their meters.
//!
//! An operation ([`model::Op`]) is performed in a [`CellWorkspace`] and counted in a
//! [`ThreadStats`]; a [`PhaseMeter`] reads clocks and counters before and after. All operations
//! work below one directory. This crate does not create, mount or check filesystems and does not
//! communicate with the orchestrator.

mod age;
mod data;
mod error;
mod files;
mod hosts;
mod io;
mod measure;
#[cfg(test)]
mod mounted;
mod ops;
mod parallel;
mod request;
mod source;
pub mod survival;
mod workspace;

pub use age::{AGE_DIRECTORY, AGER_VERSION, age};
pub use data::corruption::Corruption;
pub use data::pattern::Pattern;
pub use data::shape::{TreeFile, TreeLayout};
pub use error::OpError;
pub use hosts::{HostBarrier, HostShare};
pub use measure::calibrate::overhead;
pub use measure::fragmentation::fragmentation;
pub use measure::meter::{PhaseMeter, statfs};
pub use measure::thread_stats::{Progress, ThreadStats};
pub use ops::{IoMode, perform, probe, role_result, undo};
pub use source::ScannedSource;
pub use workspace::{CellWorkspace, CommandFacts, CommandRunner};
