//! Block devices in sysfs: identity of a path, partitions, holders and loop devices.
//!
//! If information that decides whether a device may be erased cannot be read, that is an error; it
//! never counts as absent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use sys::block;
use sys::block::loopdev;

/// Directory of block devices in sysfs.
pub const BLOCK: &str = "/sys/block";

/// Identity of a device or file, independent of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceId {
    /// A block device, identified by major and minor number.
    Block(u64, u64),
    /// A file, identified by filesystem and inode number.
    File(u64, u64),
}

impl DeviceId {
    /// Returns the identity of an existing path, following links.
    pub fn from_path(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }

    /// Returns the sysfs directory of a block device, or `None` for a file.
    pub fn directory(self) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Block(major, minor) => {
                fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).map(Some)
            }
            Self::File(..) => Ok(None),
        }
    }
}

impl From<&fs::Metadata> for DeviceId {
    fn from(metadata: &fs::Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            let (major, minor) = block::major_minor(metadata.rdev());
            Self::Block(major, minor)
        } else {
            Self::File(metadata.dev(), metadata.ino())
        }
    }
}

impl From<loopdev::Backing> for DeviceId {
    fn from(backing: loopdev::Backing) -> Self {
        match backing.own_device {
            0 => Self::File(backing.device, backing.inode),
            number => {
                let (major, minor) = block::major_minor(number);
                Self::Block(major, minor)
            }
        }
    }
}

/// Returns the names of the partitions of a block device. The list is empty for a partition or a
/// file.
pub fn partitions(device: DeviceId) -> io::Result<Vec<(String, DeviceId)>> {
    let Some(directory) = device.directory()? else {
        return Ok(Vec::new());
    };
    let names = names(&directory)?.into_iter();
    names
        .filter(|name| directory.join(name).join("partition").exists())
        .map(|name| {
            let numbers = fs::read_to_string(directory.join(&name).join("dev"))?;
            let identity = require_numbered(&name, &numbers)?;
            Ok((name, identity))
        })
        .collect()
}

/// Parses the content of a `dev` attribute, such as `8:1`.
pub fn numbered(text: &str) -> Option<DeviceId> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(DeviceId::Block(major.parse().ok()?, minor.parse().ok()?))
}

/// Reads the major and minor number from a `dev` attribute.
fn device_number(attribute: &Path) -> io::Result<(u64, u64)> {
    let text = fs::read_to_string(attribute)?;
    match numbered(&text) {
        Some(DeviceId::Block(major, minor)) => Ok((major, minor)),
        _ => Err(io::Error::other(format!("it has the number `{}`", text.trim()))),
    }
}

/// Creates the node of a device from its sysfs directory if it is missing, as in a container whose
/// `/dev` is not populated by the kernel. Returns true if it was created.
pub fn make_node(path: &Path, directory: &Path) -> io::Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    let (major, minor) = device_number(&directory.join("dev"))?;
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    mknod(path, SFlag::S_IFBLK, mode, makedev(major, minor))?;
    Ok(true)
}

/// Returns the node of a block device by its kernel name. Returns `None` if the node is missing or
/// belongs to another device.
pub fn node(device: DeviceId) -> Option<PathBuf> {
    let event = fs::read_to_string(device.directory().ok()??.join("uevent")).ok()?;
    let name = event.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    let node = Path::new("/dev").join(name);
    (DeviceId::from_path(&node) == Some(device)).then_some(node)
}

/// Returns the disk that contains a partition, or `None` for anything else.
pub fn parent_disk(device: DeviceId) -> io::Result<Option<String>> {
    let directory = device.directory()?.filter(|d| d.join("partition").exists());
    let disk = directory.as_deref().and_then(Path::parent);
    Ok(disk.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()))
}

/// Returns the names of devices on top of this one (device mapper, RAID).
pub fn holders(device: DeviceId) -> io::Result<Vec<String>> {
    match device.directory()? {
        Some(directory) => names(&directory.join("holders")),
        None => Ok(Vec::new()),
    }
}

/// Returns true if the kernel refuses writes to the device.
pub fn is_read_only(device: DeviceId) -> bool {
    attribute(device, "ro").is_some_and(|flag| flag != "0")
}

/// Returns true if the kernel counts the I/O of the device.
pub fn has_io_counters(device: DeviceId) -> bool {
    attribute(device, "queue/iostats").is_none_or(|flag| flag != "0")
}

/// A loop device in use.
#[derive(Clone, Debug)]
pub struct LoopEntry {
    /// Device name: `loop3`.
    pub name: String,
    /// Identity of the loop device.
    pub device: DeviceId,
    /// Path of the backing file or device at the time of attachment; may have been renamed or
    /// replaced since.
    pub file: PathBuf,
    /// Identity of the backing file or device.
    pub backing: DeviceId,
}

/// Returns all loop devices in use.
pub fn loop_devices() -> io::Result<Vec<LoopEntry>> {
    // Without this directory, loop devices cannot be listed.
    fs::metadata(BLOCK)?;
    let mut devices = Vec::new();
    for name in names(Path::new(BLOCK))? {
        match loop_device(&name) {
            Ok(device) => devices.push(device),
            // Not a loop device, or a free one, or detached a moment ago.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(devices)
}

fn loop_device(name: &str) -> io::Result<LoopEntry> {
    let mut file = fs::read(Path::new(BLOCK).join(name).join("loop/backing_file"))?;
    file.pop_if(|end| *end == b'\n');
    let file = PathBuf::from(OsString::from_vec(file));
    let backing = match File::open(Path::new("/dev").join(name)) {
        Ok(device) => DeviceId::from(loopdev::backing(&device)?),
        // If the node does not exist, uses the path.
        Err(_) => DeviceId::from_path(&file).ok_or_else(|| {
            io::Error::other(format!(
                "cannot determine the backing file of {name}: {}",
                file.display()
            ))
        })?,
    };
    Ok(LoopEntry { device: disk(name)?, name: name.to_owned(), file, backing })
}

/// Returns the disk with this name.
pub fn disk(name: &str) -> io::Result<DeviceId> {
    let numbers = fs::read_to_string(Path::new(BLOCK).join(name).join("dev"))?;
    require_numbered(name, &numbers)
}

fn require_numbered(name: &str, numbers: &str) -> io::Result<DeviceId> {
    numbered(numbers).ok_or_else(|| {
        let numbers = numbers.trim();
        io::Error::other(format!("sysfs gives {name} the number `{numbers}`"))
    })
}

/// Returns an attribute of a block device or, for a partition, of its disk. For reports and
/// messages.
pub fn attribute(device: DeviceId, name: &str) -> Option<String> {
    let directory = device.directory().ok()??;
    let mut places = [Some(directory.as_path()), directory.parent()].into_iter().flatten();
    let text = places.find_map(|place| fs::read_to_string(place.join(name)).ok())?;
    Some(text.trim().to_owned())
}

/// Returns the sorted names in a sysfs directory, or an empty list if the directory does not exist.
pub fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_does_not_depend_on_the_path() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "x").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(DeviceId::from_path(&file), DeviceId::from_path(&link));
        assert_ne!(DeviceId::from_path(&file), DeviceId::from_path(directory.path()));
        assert_eq!(DeviceId::from_path(&directory.path().join("none")), None);
    }

    #[test]
    fn a_device_unknown_to_sysfs_is_an_error() {
        let nowhere = DeviceId::Block(4095, 1_048_575);
        assert!(partitions(nowhere).is_err());
        assert!(holders(nowhere).is_err());
    }

    #[test]
    fn numbers_are_read_or_refused() {
        assert_eq!(numbered("8:17\n"), Some(DeviceId::Block(8, 17)));
        for text in ["", "8", "8:x", ":"] {
            assert_eq!(numbered(text), None, "{text}");
        }
    }
}
