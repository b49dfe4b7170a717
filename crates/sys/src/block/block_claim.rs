//! Identity and exclusive use of the disk behind an open block device.
//!
//! Names and numbers of devices are reused for other disks. A descriptor always refers to the disk
//! that was opened.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Bytes, DeviceCounters, DiskIdentity, DiskWriteState};
use nix::errno::Errno;

use crate::block::{BlockStats, major_minor};

/// Sector size in sysfs, regardless of the device's sector size:
/// Documentation/ABI/stable/sysfs-block of the kernel.
const SECTOR: u64 = 512;

// Source: `include/uapi/linux/fs.h` of the kernel.
nix::ioctl_read!(
    /// Reads the sequence number of the disk.
    get_sequence, 0x12, 128, u64
);
nix::ioctl_read!(
    /// Reads the size in bytes.
    get_size, 0x12, 114, u64
);

/// Opens a block device for reading and writing, exclusively (`O_EXCL`, open(2)): no other process
/// can mount it or claim it until the file is closed.
///
/// # Errors
/// Returns `EBUSY` if it is mounted, is swap space, belongs to another device, or is claimed by
/// another process.
pub fn claim(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path)
}

/// Claims a block device for reading only.
///
/// # Errors
/// Returns the errors of [`claim`].
pub fn claim_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path)
}

/// Returns the identity of the disk of an open block device.
///
/// # Errors
/// Returns an error if the file is not a block device, or if the kernel does not provide its size.
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
        wwid: ["wwid", "device/wwid"].into_iter().find_map(|name| attribute(&disk.join(name))),
    })
}

/// Returns the current state of an open block device.
///
/// # Errors
/// Returns the errors of [`identity`], and an error if the kernel has no counters for the device.
pub fn write_state(device: &File) -> io::Result<DiskWriteState> {
    let identity = identity(device)?;
    let counters = BlockStats::from_dev(identity.number)
        .read()
        .ok_or_else(|| io::Error::other("the kernel does not count what is done with it"))?;
    Ok(DiskWriteState { identity, counters })
}

/// A change to a disk between two writes by fsarena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChange {
    /// The disk is a different one, with this difference.
    Replaced(String),
    /// A program other than fsarena wrote to it.
    Modified,
}

/// Returns the change of a disk since fsarena recorded this state, or `None` if it is unchanged.
///
/// # Errors
/// Returns the errors of [`write_state`].
pub fn changes_since(device: &File, left: &DiskWriteState) -> io::Result<Option<DiskChange>> {
    let now = write_state(device)?;
    if let Some(difference) = left.identity.explain_change(&now.identity) {
        return Ok(Some(DiskChange::Replaced(difference)));
    }
    let writes = |c: &DeviceCounters| (c.writes, c.write_bytes, c.discards, c.discard_bytes);
    let is_written = writes(&left.counters) != writes(&now.counters);
    Ok(is_written.then_some(DiskChange::Modified))
}

/// Returns the size of an open block device.
///
/// # Errors
/// Returns an error if the file is not a block device.
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

/// Returns the sysfs directory of a device.
fn directory((major, minor): (u64, u64)) -> io::Result<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
}

/// Returns the sysfs directory of the disk that contains a partition.
fn whole_disk(directory: &Path) -> &Path {
    match directory.parent() {
        Some(disk) if directory.join("partition").exists() => disk,
        _ => directory,
    }
}

/// Returns `None` if the attribute does not exist.
fn sectors(file: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(file) {
        Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the serial number of the nearest hardware that has one: the disk, its controller, or the
/// USB device.
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
    fn a_character_device_is_not_a_disk() {
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
