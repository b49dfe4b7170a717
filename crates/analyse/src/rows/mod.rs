//! What was measured, as tables: outcomes, rows of figures, sweeps, totals, shares of what the device can do.

pub(crate) mod ceiling;
pub(crate) mod facts;
pub(crate) mod figure;
pub(crate) mod outcome;
pub(crate) mod row;
pub(crate) mod sweep;
pub(crate) mod total;
