//! Derives the ordered list of cells and their cost from a campaign, and the remaining time from
//! finished cells.
//!
//! Pure: does not use the clock, files or the environment. The same campaign gives the same plan on
//! every machine and in every version; a stored campaign is nevertheless resumed from its stored
//! plan.

mod cost;
mod forecast;
mod iteration_limit;
mod order;
mod throughput_model;
mod work;
mod write_limit;
mod writes;

pub use cost::{Cost, TestCost, cost};
pub use forecast::{ActiveCell, Forecast, ForecastSource, PastDurations};
pub use iteration_limit::limit_iterations;
pub use order::{
    MAX_CELLS, cells_of_round, further_round, max_cells, max_rounds, plan, remaining,
    renumber_after,
};
pub use throughput_model::ThroughputModel;
pub use write_limit::{DEFAULT_WRITE_LIMIT, WriteLimitExceeded, write_limit, writes_to_host_disks};
pub use writes::WriteEstimates;

#[cfg(test)]
mod fixture;
