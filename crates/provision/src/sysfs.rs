//! What sysfs says of block devices: partitions, holders, loop devices on top, the hardware below.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sys::block;

/// What a path stands for, whatever its name: two paths of one identity are one and the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A block device, by major and minor number.
    Block(u64, u64),
    /// A file, by the numbers of its filesystem and inode.
    File(u64, u64),
}

impl Identity {
    /// What an existing path stands for, links followed.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        if metadata.file_type().is_block_device() {
            let (major, minor) = block::numbers(metadata.rdev());
            Some(Self::Block(major, minor))
        } else {
            Some(Self::File(metadata.dev(), metadata.ino()))
        }
    }

    /// The directory of a block device.
    pub fn directory(self) -> Option<PathBuf> {
        match self {
            Self::Block(major, minor) => {
                fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
            }
            Self::File(..) => None,
        }
    }
}

/// The partitions of a block device, by name; none for a partition or a file.
pub fn partitions(device: Identity) -> Vec<(String, Identity)> {
    let Some(directory) = device.directory() else {
        return Vec::new();
    };
    names(&directory)
        .into_iter()
        .filter(|name| directory.join(name).join("partition").exists())
        .filter_map(|name| {
            let numbers = fs::read_to_string(directory.join(&name).join("dev")).ok()?;
            let (major, minor) = numbers.trim().split_once(':')?;
            let identity = Identity::Block(major.parse().ok()?, minor.parse().ok()?);
            Some((name, identity))
        })
        .collect()
}

/// The devices that are built upon this one (device mapper, RAID), by name.
pub fn holders(device: Identity) -> Vec<String> {
    device
        .directory()
        .map(|directory| names(&directory.join("holders")))
        .unwrap_or_default()
}

/// Whether the kernel refuses writes to the device.
pub fn is_read_only(device: Identity) -> bool {
    attribute(device, "ro").is_some_and(|flag| flag != "0")
}

/// Every loop device in use, with the file that it is tied to.
pub fn loop_devices() -> Vec<(String, PathBuf)> {
    let block = Path::new("/sys/block");
    names(block)
        .into_iter()
        .filter_map(|name| {
            let file = fs::read_to_string(block.join(&name).join("loop/backing_file")).ok()?;
            Some((name, PathBuf::from(file.trim_end_matches('\n'))))
        })
        .collect()
}

/// An attribute of a block device or, for a partition, of the disk that it is on.
pub fn attribute(device: Identity, name: &str) -> Option<String> {
    let directory = device.directory()?;
    let mut places = [Some(directory.as_path()), directory.parent()]
        .into_iter()
        .flatten();
    let text = places.find_map(|place| fs::read_to_string(place.join(name)).ok())?;
    Some(text.trim().to_owned())
}

/// The names in a directory, in order; none where it cannot be read.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_decide_what_a_path_is() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "x").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(Identity::of(&file), Identity::of(&link));
        assert_ne!(Identity::of(&file), Identity::of(directory.path()));
        assert_eq!(Identity::of(&directory.path().join("none")), None);
    }
}
