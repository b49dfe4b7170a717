//! A block device as one particular disk: which one a descriptor leads to, and its exclusive use.
//!
//! Names and numbers of devices are given to other disks once one is gone; a descriptor stays with the disk
//! that it was opened on.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Bytes, DeviceCounters, DiskIdentity, DiskWriteState};
use nix::errno::Errno;

use crate::block::{BlockStats, major_minor};

/// Sectors of sysfs, whatever the device's own are: Documentation/ABI/stable/sysfs-block of the kernel.
const SECTOR: u64 = 512;

// `include/uapi/linux/fs.h` of the kernel.
nix::ioctl_read!(
    /// The number of the disk's attachment.
    get_sequence, 0x12, 128, u64
);
nix::ioctl_read!(
    /// The size in bytes.
    get_size, 0x12, 114, u64
);

/// Opens a block device for reading and writing such that nobody else can mount it or open it so, until the
/// file is closed (`O_EXCL`, open(2)).
///
/// # Errors
/// `EBUSY` where it is mounted, is swap space, belongs to another device, or somebody else has it so.
pub fn claim(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
}

/// The same for reading alone.
///
/// # Errors
/// As for [`claim`].
pub fn claim_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
}

/// Which disk an open block device is.
///
/// # Errors
/// When the file is no block device, or the kernel does not tell its size.
pub fn identity(device: &File) -> io::Result<DiskIdentity> {
    let metadata = device.metadata()?;
    if !metadata.file_type().is_block_device() {
        return Err(io::Error::other("it is no block device"));
    }
    let number = major_minor(metadata.rdev());
    let directory = directory(number)?;
    let disk = whole_disk(&directory);
    Ok(DiskIdentity {
        number,
        start: Bytes(sectors(&directory.join("start"))?.unwrap_or(0) * SECTOR),
        size: size(device)?,
        sequence: sequence(device)?,
        serial: attribute(&disk.join("serial")).or_else(|| nearest_serial(&disk.join("device"))),
        wwid: ["wwid", "device/wwid"]
            .into_iter()
            .find_map(|name| attribute(&disk.join(name))),
    })
}

/// An open block device as it is at this moment.
///
/// # Errors
/// As for [`identity`], and when the kernel does not count what is done with it.
pub fn write_state(device: &File) -> io::Result<DiskWriteState> {
    let identity = identity(device)?;
    let counters = BlockStats::from_dev(identity.number)
        .read()
        .ok_or_else(|| io::Error::other("the kernel does not count what is done with it"))?;
    Ok(DiskWriteState { identity, counters })
}

/// What came between fsarena's last write to a disk and its next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChange {
    /// It is another disk; this shows it.
    Replaced(String),
    /// Somebody wrote to it.
    Modified,
}

/// What happened to a disk since fsarena left it so; `None` where it is as it was.
///
/// # Errors
/// As for [`state`].
pub fn changes_since(device: &File, left: &DiskWriteState) -> io::Result<Option<DiskChange>> {
    let now = write_state(device)?;
    if let Some(difference) = left.identity.explain_change(&now.identity) {
        return Ok(Some(DiskChange::Replaced(difference)));
    }
    let writes = |c: &DeviceCounters| (c.writes, c.write_bytes, c.discards, c.discard_bytes);
    let is_written = writes(&left.counters) != writes(&now.counters);
    Ok(is_written.then_some(DiskChange::Modified))
}

/// The size of an open block device.
///
/// # Errors
/// When the file is no block device.
pub fn size(device: &File) -> io::Result<Bytes> {
    let mut size = 0;
    // SAFETY: the kernel writes eight bytes to a place for eight bytes; the descriptor is open for as long as
    // `device` is borrowed.
    unsafe { get_size(device.as_raw_fd(), &raw mut size) }?;
    Ok(Bytes(size))
}

fn sequence(device: &File) -> io::Result<Option<u64>> {
    let mut sequence = 0;
    // SAFETY: as in `size`.
    match unsafe { get_sequence(device.as_raw_fd(), &raw mut sequence) } {
        Ok(_) => Ok(Some(sequence)),
        Err(Errno::ENOTTY | Errno::EINVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The directory of a device in sysfs.
fn directory((major, minor): (u64, u64)) -> io::Result<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
}

/// The directory of the disk that a partition is on.
fn whole_disk(directory: &Path) -> &Path {
    match directory.parent() {
        Some(disk) if directory.join("partition").exists() => disk,
        _ => directory,
    }
}

/// `None` where there is no such attribute.
fn sectors(file: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(file) {
        Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Serial numbers stand with the hardware that has one: the disk, its controller, or the USB device.
fn nearest_serial(device: &Path) -> Option<String> {
    let device = device.canonicalize().ok()?;
    device
        .ancestors()
        .take_while(|directory| directory.starts_with("/sys/devices"))
        .find_map(|directory| attribute(&directory.join("serial")))
}

fn attribute(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_no_disk() {
        let null = File::open("/dev/null").unwrap();
        assert!(identity(&null).is_err());
        assert!(size(&null).is_err());
    }

    #[test]
    fn a_serial_number_is_looked_for_up_to_the_hardware() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("serial");
        fs::write(&file, " A1\n\0").unwrap();
        assert_eq!(attribute(&file).as_deref(), Some("A1"));
        fs::write(&file, "\n").unwrap();
        assert_eq!(attribute(&file), None);
        assert_eq!(nearest_serial(place.path()), None, "outside of sysfs");
    }
}
