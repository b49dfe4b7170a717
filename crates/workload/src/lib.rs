//! The workloads, and the meters around them.
//!
//! An operation ([`model::Op`]) is performed in a [`CellWorkspace`] and counted in a [`ThreadStats`]; a
//! [`PhaseMeter`] reads clocks and counters before and after. Everything happens below one directory.
//! Nothing here makes, mounts or checks a filesystem, and nothing talks to the orchestrator.

mod age;
mod arrivals;
mod calibrate;
mod corruption;
mod error;
mod expected_content;
mod fragmentation;
mod io;
mod latency;
mod meter;
mod mixed;
mod names;
mod ops;
mod parallel;
mod path_buffer;
mod pattern;
mod permutation;
mod requests;
mod set;
mod shape;
mod sizes;
mod source;
mod thread_stats;
mod visit_order;
mod workspace;

pub use age::{AGE_DIRECTORY, AGER_VERSION, age};
pub use calibrate::overhead;
pub use corruption::Corruption;
pub use error::OpError;
pub use fragmentation::fragmentation;
pub use meter::PhaseMeter;
pub use ops::{IoMode, perform, probe, role_result, undo};
pub use pattern::Pattern;
pub use shape::{TreeFile, TreeLayout};
pub use source::ScannedSource;
pub use thread_stats::{Progress, ThreadStats};
pub use workspace::{CellWorkspace, CommandRunner};
