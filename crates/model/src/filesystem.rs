//! A filesystem of the catalog with its commands to create, mount, unmount and check it.

pub(crate) mod contender;
pub(crate) mod contender_group;
pub(crate) mod contender_overrides;
pub(crate) mod facts;
pub(crate) mod features;
pub(crate) mod linux_range;
pub(crate) mod mount_identity;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::{BackendKind, Bytes, FilesystemFacts, LinuxRange, MaintenanceTask};

/// Kind of implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriverKind {
    /// A filesystem of the kernel.
    Kernel,
    /// A user-space process that uses FUSE.
    Fuse,
}

/// A filesystem as the catalog describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filesystem {
    /// Unique name: `ext4`, `ntfs-3g`.
    pub name: String,
    /// Title in reports: `NTFS (ntfs-3g)`.
    pub title: String,
    /// Alternative names on the command line.
    pub aliases: Vec<String>,
    /// Kind of implementation.
    pub driver: DriverKind,
    /// Facts that cannot be found by testing.
    #[serde(default)]
    pub facts: FilesystemFacts,
    /// Source of the facts in this entry.
    pub source: String,
    /// Requirements for running it.
    pub requires: Requirements,
    /// The command lines.
    pub commands: Commands,
    /// Notes for readers of the results: changed defaults and the reasons.
    pub quirks: Vec<String>,
    /// Reason why no backend of this version can run it, if so.
    pub unavailable: Option<String>,
    /// Reason why it runs only in a guest, if so: its driver must be built, and guest images
    /// contain it.
    #[serde(default)]
    pub only_in_guest: Option<String>,
    /// Reason why it competes only if a user names it, if so.
    pub only_when_named: Option<String>,
    /// Layers below and above it, each added to the filesystem before: `luks`, `gocryptfs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<FilesystemLayer>,
}

/// A layer of a filesystem, such as encryption, RAID or an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemLayer {
    /// Name in the catalog.
    pub name: String,
    /// Name of the filesystem without this layer.
    pub on: String,
    /// Minimum number of disks; 1 for a layer of a single disk, and for one above the filesystem.
    pub disks: u32,
    /// True if it compresses files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compresses: bool,
}

impl Filesystem {
    /// Returns the name of the filesystem without its layers.
    pub fn name_without_layers(&self) -> &str {
        self.layers.first().map_or(&self.name, |layer| &layer.on)
    }

    /// Returns the minimum number of disks.
    pub fn least_disks(&self) -> u32 {
        self.layers.iter().map(|layer| layer.disks).max().unwrap_or(1)
    }

    /// Returns true if it is a baseline (tmpfs): it needs no mkfs and stores no data on a disk.
    pub fn is_baseline(&self) -> bool {
        self.commands.mkfs.is_empty() && !self.commands.mount.is_empty()
    }

    /// Returns true if it competes in a campaign that names no contenders, provided that the
    /// machine meets its requirements. Baselines compete only in guests, because they use the
    /// memory of the guest.
    pub fn runs_by_default(&self, backend: BackendKind) -> bool {
        let (here, in_guests) = (self.only_in_guest.is_none(), self.is_baseline());
        let asked = self.only_when_named.is_none();
        self.unavailable.is_none()
            && match backend {
                BackendKind::Dir | BackendKind::Imported => false,
                BackendKind::Loop => here && asked,
                BackendKind::Vm => asked || in_guests,
            }
    }
}

/// Requirements of a filesystem for the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requirements {
    /// The name in `/proc/filesystems`: `ext4`, `fuse`, `fuseblk`.
    pub kernel: Option<String>,
    /// Versions of Linux that have the filesystem.
    #[serde(default, skip_serializing_if = "LinuxRange::is_all")]
    pub linux: LinuxRange,
    /// Kernel modules that contain the filesystem, in loading order.
    pub modules: Vec<String>,
    /// Debian packages that contain its programs.
    pub packages: Vec<String>,
    /// Programs that must be in the search path.
    pub programs: Vec<String>,
    /// Programs that are in no package, each with its installation instructions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unpackaged: BTreeMap<String, String>,
    /// Minimum size of the device.
    pub smallest: Bytes,
    /// Maximum size of the device.
    pub largest: Option<Bytes>,
}

impl Requirements {
    /// Returns the reason why a device of this size does not suit the filesystem, with the valid
    /// limit, or `None` if it does.
    pub fn check_size(&self, size: Bytes) -> Option<String> {
        if size < self.smallest {
            let smallest = self.smallest;
            return Some(format!("needs {smallest} at least, not {size}"));
        }
        let largest = self.largest.filter(|&largest| size > largest)?;
        Some(format!("takes {largest} at most, not {size}"))
    }
}

/// Command lines of a filesystem. Each word is one argument; no shell is involved.
///
/// The placeholders `{device}`, `{devices}` (all of them, as separate words), `{mountpoint}`,
/// `{size}` (total size of the devices, in bytes) and `{options}` are filled in before a run. In
/// `mkfs` the options are separate words. In `mount` they are a single comma-separated word that
/// starts with `nosuid,nodev`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Commands {
    /// Creates the filesystem; empty if no command is needed (tmpfs).
    pub mkfs: Vec<String>,
    /// Whether `mkfs` opens the device without `O_EXCL`, so that fsarena must prevent other
    /// processes from using it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mkfs_shares: bool,
    /// Estimate of the bytes that `mkfs` writes [default: `MkfsWriteEstimate::LITTLE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mkfs_writes: Option<MkfsWriteEstimate>,
    /// Mounts it.
    pub mount: Vec<String>,
    /// Unmounts it.
    pub umount: Vec<String>,
    /// Checks it without changing it; empty if no checker exists.
    pub fsck: Vec<String>,
    /// Exit codes of `fsck` that mean no errors.
    pub fsck_clean: Vec<i32>,
    /// Repairs it after a power cut; empty if its mount does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repair: Vec<String>,
    /// Exit codes of `repair` that mean success.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repair_clean: Vec<i32>,
    /// Whether `repair` runs only if the mount fails, because the mount replays a journal or a log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replays_at_mount: bool,
    /// Default options of `mkfs`.
    pub mkfs_options: Vec<String>,
    /// Default options of `mount`, in addition to `nosuid,nodev`.
    pub mount_options: Vec<String>,
    /// Additional options of `mkfs` for several devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool_mkfs_options: Vec<String>,
    /// Additional options of `mount` for several devices. An option with `{devices}` is repeated
    /// for each device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool_mount_options: Vec<String>,
    /// Prints the version of its tools, which is recorded.
    pub version: Vec<String>,
    /// Tasks of an administrator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub maintenance: BTreeMap<MaintenanceTask, MaintenanceCommand>,
}

/// Command line of a task of an administrator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MaintenanceCommand {
    /// The words of the command line.
    pub command: Vec<String>,
    /// Whether it needs the filesystem unmounted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmounted: bool,
    /// Whether the kernel requires `CAP_SYS_RESOURCE` for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sys_resource: bool,
}

/// Estimate of the bytes that a `mkfs` writes: a constant, and a fraction of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MkfsWriteEstimate {
    /// Constant part, such as a journal.
    pub bytes: Bytes,
    /// Size of the device divided by the part that grows with it: inode tables.
    pub one_in: NonZeroU64,
}

impl MkfsWriteEstimate {
    /// An upper limit for FAT, exFAT, NTFS and Btrfs, on devices of 384 MiB to 32 GiB.
    pub const LITTLE: Self = Self { bytes: Bytes::mib(5), one_in: NonZeroU64::new(500).unwrap() };

    /// Returns the estimate for a device of this size.
    pub fn estimate_for(self, size: Bytes) -> Bytes {
        let grown = self.bytes.0.saturating_add(size.0 / self.one_in);
        Bytes(grown.min(size.0))
    }
}

impl Commands {
    /// Placeholder for the block device, or for the first of several.
    pub const DEVICE: &str = "{device}";
    /// Placeholder for all block devices: a separate word that is replaced by several words.
    pub const DEVICES: &str = "{devices}";

    /// Returns true if the filesystem needs a block device. Commands without a device placeholder
    /// (tmpfs) need none.
    pub fn need_device(&self) -> bool {
        let names = |word: &String| word.contains(Self::DEVICE) || word == Self::DEVICES;
        self.mkfs.iter().chain(&self.mount).any(names)
    }

    /// Returns true if the filesystem supports several devices directly.
    pub fn support_pools(&self) -> bool {
        self.mkfs.iter().any(|word| word == Self::DEVICES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_may_be_too_small_or_too_large_and_the_limits_themselves_fit() {
        let requires = Requirements {
            smallest: Bytes::mib(8),
            largest: Some(Bytes::mib(255)),
            ..Requirements::default()
        };
        assert_eq!(requires.check_size(Bytes::mib(8)), None);
        assert_eq!(requires.check_size(Bytes::mib(255)), None);
        assert!(requires.check_size(Bytes::mib(7)).unwrap().contains("8 MiB at least"));
        assert!(requires.check_size(Bytes::mib(256)).unwrap().contains("255 MiB at most"));
    }
}
