//! What a campaign holds besides results: how many cells ran, what failed, which features and resources there were.

pub(crate) mod counts;
pub(crate) mod disks;
pub(crate) mod failures;
pub(crate) mod features;
pub(crate) mod resources;
