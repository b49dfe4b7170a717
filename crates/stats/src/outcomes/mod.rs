//! Contents of a campaign besides results: counts of cells, failures, features and resources.

pub(crate) mod counts;
pub(crate) mod disk_faults;
pub(crate) mod disks;
pub(crate) mod failures;
pub(crate) mod features;
pub(crate) mod full;
pub(crate) mod resources;
pub(crate) mod survival;
pub(crate) mod timelines;
