//! Reasons a device is refused, each one line with the finding and a hint.

use std::io;
use std::path::PathBuf;

/// Reason why a device is refused.
#[derive(Debug, thiserror::Error)]
pub enum DeviceRefusal {
    /// The path does not exist.
    #[error("{} does not exist: `lsblk` lists the block devices", path.display())]
    Absent {
        /// Path as given by the user.
        path: PathBuf,
    },
    /// The path is a directory, a terminal, a socket or another special file.
    #[error("{} is neither a block device nor a regular file: `lsblk` lists the block devices", path.display())]
    NotADevice {
        /// Path as given by the user.
        path: PathBuf,
    },
    /// The device cannot be opened or read.
    #[error("{} cannot be opened or read ({source}), so what it holds is unknown", path.display())]
    Unreadable {
        /// The device.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The device has size 0.
    #[error("{} has no size: no medium, or an empty file", path.display())]
    Empty {
        /// The device.
        path: PathBuf,
    },
    /// The kernel refuses writes.
    #[error("{} is read-only", path.display())]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// `--erase` names a different device.
    #[error(
        "--erase {} is not the device {}: name the same one twice",
        erase.display(), path.display()
    )]
    EraseMismatch {
        /// The device to use.
        path: PathBuf,
        /// The device named by `--erase`.
        erase: PathBuf,
    },
    /// The device is locked by another fsarena or by another program that locks its devices.
    #[error(
        "{} is locked by another fsarena or another program that works on it (flock): wait until that has ended \
         (--erase does not override this)", path.display()
    )]
    Locked {
        /// The device.
        path: PathBuf,
    },
    /// The use of the device cannot be determined.
    #[error("whether {} is in use cannot be found out ({source}), so it is not touched", path.display())]
    UnknownUse {
        /// The device.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program has the device open for writing.
    #[error("{name} is open for writing by {by}: end that first (--erase does not override this)")]
    OpenElsewhere {
        /// The device or its partition.
        name: String,
        /// Program name and process number.
        by: String,
    },
    /// The device or one of its partitions is mounted.
    #[error("{name} is mounted on {}: unmount it first (--erase does not override this)", on.display())]
    Mounted {
        /// The device or its partition.
        name: String,
        /// Where.
        on: PathBuf,
    },
    /// The device or one of its partitions is active swap space.
    #[error("{name} is swap space in use: `swapoff` it first (--erase does not override this)")]
    Swap {
        /// The device or its partition.
        name: String,
    },
    /// The device is part of another device.
    #[error("{name} is part of {by}: take that down first (--erase does not override this)")]
    HasHolders {
        /// The device or its partition.
        name: String,
        /// The device on top.
        by: String,
    },
    /// The device backs a loop device.
    #[error(
        "{name} backs /dev/{by}: `losetup -d /dev/{by}` first (--erase does not override this)"
    )]
    Backing {
        /// The device, file or partition.
        name: String,
        /// The loop device.
        by: String,
    },
    /// The kernel refuses exclusive access.
    #[error("{} is in use by the kernel or another program (EBUSY): end that use first (--erase does not override this)", path.display())]
    Busy {
        /// The device.
        path: PathBuf,
    },
    /// The device has partitions.
    #[error("{} has partitions ({names}): if they may be lost, add `--erase {}`", path.display(), path.display())]
    Partitions {
        /// The device.
        path: PathBuf,
        /// Their names.
        names: String,
    },
    /// The device contains a known format.
    #[error("{} holds {found}: if it may be lost, add `--erase {}`", path.display(), path.display())]
    Signature {
        /// The device.
        path: PathBuf,
        /// Name and location of the format.
        found: String,
    },
    /// The device contains data of an unknown format.
    #[error("{} holds data (at byte {offset}): if it may be lost, add `--erase {}`", path.display(), path.display())]
    Data {
        /// The device.
        path: PathBuf,
        /// Offset of the first data byte found.
        offset: u64,
    },
    /// The device was written to by another program during a campaign.
    #[error(
        "{} was written to by another program since fsarena last used it and will not be overwritten: check its content, then continue with `--erase {}`", path.display(), path.display()
    )]
    Changed {
        /// The device.
        path: PathBuf,
    },
    /// The device returns errors.
    #[error("{} does not work any more ({trouble}): `dmesg` may say more", path.display())]
    Failing {
        /// The device.
        path: PathBuf,
        /// The error of the operating system.
        trouble: String,
    },
    /// A directory is on a different filesystem than before.
    #[error(
        "{} is not on the filesystem that it was on: it was unmounted, or another one was mounted; mount it again, \
         then go on", path.display()
    )]
    NotMounted {
        /// The directory.
        path: PathBuf,
    },
    /// The node is not in `/dev`, and the device has no node there.
    #[error("{} is a node of a device that has none in /dev: make one there (`mknod`), and name that", path.display())]
    NoNode {
        /// The node.
        path: PathBuf,
    },
    /// A directory or image created for the campaign no longer exists.
    #[error(
        "{} is not what fsarena made there: it was removed, changed or renamed, or another filesystem was mounted over it", path.display()
    )]
    Disappeared {
        /// The directory or image.
        path: PathBuf,
    },
    /// The name of the device now refers to a different disk.
    #[error("{} is no longer the same disk: {difference}; fsarena does not write to it", path.display())]
    OtherDisk {
        /// The device.
        path: PathBuf,
        /// The difference between the two disks.
        difference: String,
    },
    /// The kernel does not count writes to the device.
    #[error(
        "{} has its I/O counters disabled, so writes by other programs cannot be detected: enable them with `echo 1 >/sys/class/block/NAME/queue/iostats`", path.display()
    )]
    NoIoCounters {
        /// The device.
        path: PathBuf,
    },
}

impl DeviceRefusal {
    /// Returns the data that would be lost with the user's consent, or `None` if consent does not
    /// override the refusal.
    pub fn data_at_risk(&self) -> Option<String> {
        match self {
            Self::Partitions { names, .. } => Some(format!("partitions ({names})")),
            Self::Signature { found, .. } => Some(found.clone()),
            Self::Data { offset, .. } => Some(format!("data (at byte {offset})")),
            _ => None,
        }
    }
}
