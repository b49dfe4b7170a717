//! Requests to one file: offsets, sizes and arrival times.

pub(crate) mod arrivals;
pub(crate) mod requests;
