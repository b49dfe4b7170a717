//! From a campaign to the ordered list of its cells and to what they cost, and from finished cells to
//! the time left.
//!
//! Pure: no clock, no file, no environment. The same campaign gives the same plan on every machine
//! and in every version; a stored campaign is nevertheless resumed from its stored plan.

mod allowance;
mod cost;
mod forecast;
mod order;
mod pace;
mod repetition;
mod work;
mod writes;

pub use allowance::{TooMuch, UNASKED, allowance, wears_disks};
pub use cost::{Cost, TestCost, cost};
pub use forecast::{Basis, Experience, Forecast, Going};
pub use order::{
    MOST_CELLS, behind, further_round, most_cells, most_rounds, plan, remaining, wanted_of_round,
};
pub use pace::Pace;
pub use repetition::within;
pub use writes::Writes;

#[cfg(test)]
mod fixture;
