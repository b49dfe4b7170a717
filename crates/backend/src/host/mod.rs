//! Runs cells on the kernel of this host: images, loop devices, directories, devices.

pub(crate) mod cache_lock;
pub(crate) mod campaign_dir;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod held;
pub(crate) mod host_executor;
pub(crate) mod images;
pub(crate) mod local;
pub(crate) mod lock_holder;
pub(crate) mod storage;
