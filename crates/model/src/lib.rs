//! The words of fsarena as types: filesystem, contender, suite, test, phase, cell, measurement.
//!
//! Every other crate speaks in these types and every stage's output can be written as JSON.
//! This crate does no I/O, reads no clock and knows no particular filesystem.

mod campaign;
mod cell;
mod environment;
mod features;
mod filesystem;
mod measurement;
mod names;
mod outcome;
mod results;
mod rng;
mod suite;
mod units;

pub use campaign::{Backend, Campaign, Profile};
pub use cell::{Cell, CellId};
pub use contender::Contender;
pub use environment::{Environment, Tool};
pub use features::{Class, Feature, Features, Support};
pub use filesystem::{Commands, Driver, Filesystem, Requirements};
pub use measurement::{Direction, Measurement, Metric, Unit};
pub use names::{NameError, check_name};
pub use outcome::{
    CellResult, CpuTime, DeviceCounters, Failure, Faults, LatencyBucket, PhaseResult, Space,
    Status, StepRecord, SystemError,
};
pub use results::{CampaignResults, StoredCell};
pub use rng::SeededRng;
pub use suite::{CacheState, End, Op, Order, Phase, Suite, Test};
pub use units::{Bytes, Nanos, ParseUnitError};

mod contender;
