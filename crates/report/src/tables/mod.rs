//! Tables that several formats share.

pub(crate) mod calibration;
pub(crate) mod cost;
pub(crate) mod disk_faults;
pub(crate) mod disk_time;
pub(crate) mod full;
pub(crate) mod interference;
pub(crate) mod over_baseline;
pub(crate) mod overall;
pub(crate) mod overview;
pub(crate) mod prices;
pub(crate) mod resources;
pub(crate) mod scores;
pub(crate) mod survival;
pub(crate) mod sweeps;
pub(crate) mod timelines;
pub(crate) mod totals;
