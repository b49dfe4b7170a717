//! Suites as TOML: tests, phases, parameters and sweeps.

pub(crate) mod mixes;
pub(crate) mod operation;
pub(crate) mod parameters;
pub(crate) mod phase_order;
pub(crate) mod suite_file;
pub(crate) mod sweep;
