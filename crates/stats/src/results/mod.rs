//! What was measured, as tables: outcomes, rows of results, sweeps, totals, shares of what the device can do.

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
