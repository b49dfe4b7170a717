//! A filesystem of the catalog: how to make, mount, unmount and check one.

pub(crate) mod contender;
pub(crate) mod contender_group;
pub(crate) mod contender_overrides;
pub(crate) mod facts;
pub(crate) mod features;
pub(crate) mod mount_identity;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::{BackendKind, Bytes, FilesystemFacts};

/// Kind of implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriverKind {
    /// A filesystem of the kernel.
    Kernel,
    /// A process in user space behind FUSE.
    Fuse,
}

/// A filesystem as the catalog describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filesystem {
    /// The one word that names it everywhere: `ext4`, `ntfs-3g`.
    pub name: String,
    /// The name people write: `NTFS (ntfs-3g)`.
    pub title: String,
    /// Other words that users may type for it.
    pub aliases: Vec<String>,
    /// Kind of implementation.
    pub driver: DriverKind,
    /// Facts that cannot be found by testing.
    #[serde(default)]
    pub facts: FilesystemFacts,
    /// Where the facts of this entry come from.
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
}

impl Filesystem {
    /// Whether it is a baseline to compare with, which nothing makes and which keeps nothing on a disk (tmpfs).
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
    /// Kernel modules that provide it, in the order in which they load.
    pub modules: Vec<String>,
    /// Debian packages that bring its programs.
    pub packages: Vec<String>,
    /// Programs that must be on the path.
    pub programs: Vec<String>,
    /// Programs that are in no package, each with its installation instructions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unpackaged: BTreeMap<String, String>,
    /// The smallest device it can be made on.
    pub smallest: Bytes,
    /// The largest device it can be made on.
    pub largest: Option<Bytes>,
}

impl Requirements {
    /// Returns the reason why a device of this size does not suit the filesystem, with the valid
    /// limit, or `None` if it does.
    pub fn check_size(&self, size: Bytes) -> Option<String> {
        if size < self.smallest {
            let smallest = self.smallest;
            return Some(format!(
                "needs {smallest} at least, not {size}: give a larger --size"
            ));
        }
        let largest = self.largest.filter(|&largest| size > largest)?;
        Some(format!(
            "takes {largest} at most, not {size}: give a smaller --size"
        ))
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
    /// Whether `mkfs` leaves the device open for others (it opens it without `O_EXCL`), so that fsarena has to
    /// keep them away.
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
    /// Exit codes of `fsck` that mean "nothing wrong".
    pub fsck_clean: Vec<i32>,
    /// Options given to `mkfs` by default.
    pub mkfs_options: Vec<String>,
    /// Default options of `mount`, in addition to `nosuid,nodev`.
    pub mount_options: Vec<String>,
    /// Additional options of `mkfs` for several devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool_mkfs_options: Vec<String>,
    /// The same for `mount`: what names the devices is an option for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool_mount_options: Vec<String>,
    /// Prints the version of its tools, for the record.
    pub version: Vec<String>,
}

/// Estimate of the bytes that a `mkfs` writes: a constant, and a fraction of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MkfsWriteEstimate {
    /// Whatever the size of the device: a journal.
    pub bytes: Bytes,
    /// Size of the device divided by the part that grows with it: inode tables.
    pub one_in: NonZeroU64,
}

impl MkfsWriteEstimate {
    /// An upper limit for FAT, exFAT, NTFS and Btrfs, on devices of 384 MiB to 32 GiB.
    pub const LITTLE: Self = Self {
        bytes: Bytes::mib(5),
        one_in: NonZeroU64::new(500).unwrap(),
    };

    /// Returns the estimate for a device of this size.
    pub fn estimate_for(self, size: Bytes) -> Bytes {
        let grown = self.bytes.0.saturating_add(size.0 / self.one_in);
        Bytes(grown.min(size.0))
    }
}

impl Commands {
    /// Stands for the block device; of several for the first.
    pub const DEVICE: &str = "{device}";
    /// Placeholder for all block devices: a separate word that is replaced by several words.
    pub const DEVICES: &str = "{devices}";

    /// Whether a filesystem lives on a block device; one that does not (tmpfs) never names it.
    pub fn need_device(&self) -> bool {
        let names = |word: &String| word.contains(Self::DEVICE) || word == Self::DEVICES;
        self.mkfs.iter().chain(&self.mount).any(names)
    }

    /// Whether a filesystem takes several devices as they are.
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
        assert!(
            requires
                .check_size(Bytes::mib(7))
                .unwrap()
                .contains("8 MiB at least")
        );
        assert!(
            requires
                .check_size(Bytes::mib(256))
                .unwrap()
                .contains("255 MiB at most")
        );
    }
}
