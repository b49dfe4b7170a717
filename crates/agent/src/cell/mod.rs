//! Steps of one cell inside the agent: mkfs, mount, phases, unmount, fsck.

pub(crate) mod direct_mount;
pub(crate) mod disk_faults;
pub(crate) mod full;
pub(crate) mod iterations;
pub(crate) mod other_hosts;
pub(crate) mod power_cuts;
pub(crate) mod program_output;
pub(crate) mod recorded_volume;
pub(crate) mod session;
pub(crate) mod volume;
