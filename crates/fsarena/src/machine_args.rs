//! Options of `run` that say what machine a guest is.

use clap::Args;
use model::{Clock, DiskCache, GuestMachine};

use crate::cli_values::{up_to, words};
use crate::guest_args::BuildOptions;

/// What a guest is; what is not given comes from the campaign file, then from what this machine can do.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of the vm backend")]
pub struct MachineArgs {
    /// Whose time is measured: that of a model machine, or this machine's [default: model, unless KVM is
    /// proven to work].
    #[arg(long, value_name = "CLOCK", value_parser = words::<Clock>(["model", "real"]))]
    pub clock: Option<Clock>,
    /// A model of a disk, in the guest's memory: see `fsarena list disks`; of several, with commas between them, each
    /// contender competes on each [default: nvme in model time, else an image].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub disk: Vec<String>,
    /// Disks of a guest, 1 to 8, each of --size: one pool of ZFS, striped for any other filesystem (RAID-0 of
    /// 64 KiB); of several numbers, with commas between them, each test runs over each [default: 1].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = up_to(GuestMachine::MOST_DISKS))]
    pub disks: Vec<u32>,
    /// Processors of a guest [default: as many as there are, 4 at most; 1 in model time].
    #[arg(long, value_name = "N", value_parser = up_to(GuestMachine::MOST_PROCESSORS))]
    pub processors: Option<u32>,
    /// How this machine caches images and devices, in QEMU's words [default: writeback; none for a device].
    #[arg(long, value_name = "MODE", value_parser = words::<DiskCache>(DiskCache::ALL.map(DiskCache::name)))]
    pub disk_cache: Option<DiskCache>,
    /// Cells that run side by side, in model time [default: as many as there are processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Run every cell, also those of which an equal one was run before; model time gives equal ones equal
    /// figures.
    #[arg(long)]
    pub no_cache: bool,
    /// What the guest is made of.
    #[command(flatten)]
    pub build: BuildOptions,
}
