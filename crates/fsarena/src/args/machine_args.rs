//! Options of `run` that say what machine a guest is.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use model::{Clock, DiskCache, GuestConfig};

use crate::args::cli_values::{int_up_to, one_of, path};
use crate::args::guest_args::BuildOptions;

/// A cache of cells that several people have.
#[derive(Clone, Debug, Default, Args)]
pub struct SharedCache {
    /// Reuse results of identical cells of all who keep theirs in this directory, or bucket (s3://BUCKET/PREFIX), and have
    /// its key [default: your own].
    #[arg(long, value_name = "DIR", requires = "cache_key", value_hint = ValueHint::DirPath, value_parser = path())]
    pub cache: Option<PathBuf>,
    /// The key of that cache: a file of 32 random bytes or more, which only its owner and its group may read.
    #[arg(long, value_name = "FILE", requires = "cache", value_hint = ValueHint::FilePath, value_parser = path())]
    pub cache_key: Option<PathBuf>,
}

/// Options that describe a guest. Omitted ones default to the campaign file, then to the
/// capabilities of this machine.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of the vm backend")]
pub struct MachineArgs {
    /// Measure virtual time, which is the same on every machine, or real time [default: virtual, unless KVM works].
    #[arg(long, value_name = "CLOCK", value_parser = one_of::<Clock>(["virtual", "real"]))]
    pub clock: Option<Clock>,
    /// A machine of a published study, in virtual time: its processor's speed, memory and disks (see `fsarena list
    /// machines`); --memory, --disk and --disks go before.
    #[arg(long, value_name = "NAME", conflicts_with = "processors")]
    pub machine: Option<String>,
    /// A simulated disk (see `fsarena list disks`); a comma-separated list tests each contender on each [default: nvme-consumer
    /// in virtual time, else an image].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub disk: Vec<String>,
    /// The number of disks, 1 to 8, each of --size, in guests or as images: a pool of btrfs or ZFS, or RAID-0 with 64 KiB
    /// chunks for others; a comma-separated list runs each test with each number [default: 1].
    #[arg(long, help_heading = "Options of the loop and vm backends", value_name = "N", value_delimiter = ',', value_parser = int_up_to(GuestConfig::MAX_DISKS))]
    pub disks: Vec<u32>,
    /// The guest's processors [default: this machine's, 4 at most; 1 in virtual time].
    #[arg(long, value_name = "N", value_parser = int_up_to(GuestConfig::MAX_PROCESSORS))]
    pub processors: Option<u32>,
    /// QEMU's cache mode for images and devices [default: writeback; none for a device].
    #[arg(long, value_name = "MODE", value_parser = one_of::<DiskCache>(DiskCache::ALL.map(DiskCache::name)))]
    pub disk_cache: Option<DiskCache>,
    /// Run this many cells in parallel, in virtual time [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Do not reuse results of identical cells.
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Options of the result cache.
    #[command(flatten)]
    pub shared: SharedCache,
    /// Components of the guest.
    #[command(flatten)]
    pub build: BuildOptions,
}
