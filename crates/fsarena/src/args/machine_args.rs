//! Options of `run` that describe the machine of a guest.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use model::{Bytes, Clock, DiskCache, GuestConfig};

use crate::args::cli_values::{int_up_to, one_of, path, size};
use crate::args::guest_args::BuildOptions;

/// A result cache shared by several users.
#[derive(Clone, Debug, Default, Args)]
pub struct SharedCache {
    /// Reuse results of identical cells of all users with the key of this directory or bucket
    /// (s3://BUCKET/PREFIX) [default: your own].
    #[arg(long, value_name = "DIR", requires = "cache_key", value_hint = ValueHint::DirPath, value_parser = path())]
    pub cache: Option<PathBuf>,
    /// Use this key for the shared cache: a file of at least 32 random bytes, readable only by its
    /// owner and group.
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
    /// Use a machine of a published study, in virtual time: processor speed, memory and disks (see
    /// `fsarena list machines`); --memory, --disk and --disks override it.
    #[arg(long, value_name = "NAME", conflicts_with = "processors")]
    pub machine: Option<String>,
    /// Use this simulated disk (see `fsarena list disks`); a comma-separated list tests each
    /// contender on each [default: nvme-consumer in virtual time, else an image].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub disk: Vec<String>,
    /// Use this number of disks, 1 to 8, each of --size, in guests or as images: a pool for btrfs
    /// and ZFS, RAID-0 with 64 KiB chunks for others; a comma-separated list runs each test with
    /// each number [default: 1].
    #[arg(long, help_heading = "Options of the loop and vm backends", value_name = "N", value_delimiter = ',', value_parser = int_up_to(GuestConfig::MAX_DISKS))]
    pub disks: Vec<u32>,
    /// Give the guest this many processors [default: this machine's, 4 at most; 1 in virtual time].
    #[arg(long, value_name = "N", value_parser = int_up_to(GuestConfig::MAX_PROCESSORS))]
    pub processors: Option<u32>,
    /// Set QEMU's cache mode for images and devices [default: writeback; none for a device].
    #[arg(long, value_name = "MODE", value_parser = one_of::<DiskCache>(DiskCache::ALL.map(DiskCache::name)))]
    pub disk_cache: Option<DiskCache>,
    /// Run this many cells in parallel, in virtual time [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Do not reuse results of identical cells.
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Limit the size of your cached results; the least recently used ones are removed first
    /// [default: 10 GiB].
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "cache")]
    pub cache_size: Option<Bytes>,
    /// Options of the result cache.
    #[command(flatten)]
    pub shared: SharedCache,
    /// Components of the guest.
    #[command(flatten)]
    pub build: BuildOptions,
}
