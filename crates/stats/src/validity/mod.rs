//! How far the results of a campaign can be trusted: drift, noise, disturbed cells, warm reads, rounds enough.

pub(crate) mod disturbed;
pub(crate) mod drift;
pub(crate) mod noise;
pub(crate) mod stopping;
pub(crate) mod unflushed;
pub(crate) mod warm_reads;

#[cfg(test)]
#[path = "error_rates_tests.rs"]
mod error_rates;
