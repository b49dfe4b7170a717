//! Measurements as tables: outcomes, rows of results, sweeps, totals, shares of the raw device's
//! speed.

pub(crate) mod costs;
pub(crate) mod facts;
pub(crate) mod interference;
pub(crate) mod outcome;
pub(crate) mod paired;
pub(crate) mod rank;
pub(crate) mod raw_device;
pub(crate) mod result;
pub(crate) mod row;
pub(crate) mod selection;
pub(crate) mod sweep;
pub(crate) mod total;
