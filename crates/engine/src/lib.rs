//! The workloads, and the meters around them.
//!
//! An operation ([`model::Op`]) is performed in a [`Workspace`] and counted in a [`Tally`]; a
//! [`Meter`] reads clocks and counters before and after. Everything happens below one directory.
//! Nothing here makes, mounts or checks a filesystem, and nothing talks to the orchestrator.

mod age;
mod arrivals;
mod calibrate;
mod content;
mod corruption;
mod error;
mod io;
mod latency;
mod layout;
mod meter;
mod mixed;
mod names;
mod ops;
mod path_buffer;
mod pattern;
mod permutation;
mod requests;
mod set;
mod shape;
mod side_by_side;
mod sizes;
mod source;
mod tally;
mod visit_order;
mod workspace;

pub use age::{AGE_DIRECTORY, AGER, age};
pub use calibrate::overhead;
pub use corruption::Corruption;
pub use error::OpError;
pub use layout::layout;
pub use meter::Meter;
pub use ops::{IoMode, perform, probe, role_result, undo};
pub use pattern::Pattern;
pub use shape::{TreeFile, TreeShape};
pub use source::Source;
pub use tally::{Progress, Tally};
pub use workspace::{Programs, Workspace};
