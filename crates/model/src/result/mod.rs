//! Results of cells and campaigns: outcomes, measurements and supporting data.

pub(crate) mod age;
pub(crate) mod cpu_profile;
pub(crate) mod disk_faults;
pub(crate) mod file_layout;
pub(crate) mod full;
pub(crate) mod imported;
pub mod kernel_log;
pub(crate) mod measurement;
pub(crate) mod memory_use;
pub(crate) mod metric;
pub(crate) mod metric_pattern;
pub(crate) mod outcome;
pub(crate) mod results;
pub(crate) mod simulated_disk_stats;
pub(crate) mod survival;
pub(crate) mod timeline;
