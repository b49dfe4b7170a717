//! Checks of the reliability of campaign results: drift, noise, disturbed cells, warm reads, enough
//! rounds.

pub(crate) mod disturbed;
pub(crate) mod drift;
pub(crate) mod noise;
pub(crate) mod random_data;
pub(crate) mod stopping;
pub(crate) mod unflushed;
pub(crate) mod unset_attributes;
pub(crate) mod warm_reads;

#[cfg(test)]
#[path = "error_rates_tests.rs"]
mod error_rates;
