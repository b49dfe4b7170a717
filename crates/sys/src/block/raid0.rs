//! Combines devices into one block device for any filesystem. Data is distributed in chunks over
//! all members in turn (RAID-0 of the kernel's md, without metadata on the members).
//!
//! Source: "md devices in sysfs" in Documentation/admin-guide/md.rst of the kernel.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::block::major_minor;

/// Chunk size per device, in bytes.
const PIECE: u64 = 64 << 10;
/// Parameter file that creates an array of the name written to it.
const NEW: &str = "/sys/module/md_mod/parameters/new_array";

/// Whether this kernel can combine devices: its md driver is available.
pub fn is_available() -> bool {
    Path::new(NEW).exists()
}

/// Creates an array from devices of the same size. Its path must begin with `/dev/md_`.
///
/// # Errors
/// Returns an error if a device of this name exists, or if the kernel refuses.
pub fn assemble(device: &Path, members: &[PathBuf]) -> io::Result<()> {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    make(&name)?;
    fill(&name, members)
}

/// Creates an array of this name, which must begin with `md_`, without members.
///
/// # Errors
/// Returns an error if an array of this name exists, or if the kernel refuses.
pub fn make(name: &str) -> io::Result<()> {
    set(Path::new(NEW), name)
}

/// Adds the members of an array and starts it.
///
/// # Errors
/// Returns an error if a member is in use, or if the kernel refuses.
pub fn fill(name: &str, members: &[PathBuf]) -> io::Result<()> {
    let array = array(name);
    let members: io::Result<Vec<Member>> = members.iter().map(|m| Member::of(m)).collect();
    let members = members?;
    set(&array.join("metadata_version"), "none")?;
    set(&array.join("level"), "raid0")?;
    set(&array.join("raid_disks"), &members.len().to_string())?;
    set(&array.join("chunk_size"), &PIECE.to_string())?;
    for (slot, member) in members.iter().enumerate() {
        set(&array.join("new_dev"), &member.number)?;
        let directory = array.join(format!("dev-{}", member.name));
        set(&directory.join("size"), &(member.size >> 10).to_string())?;
        set(&directory.join("slot"), &slot.to_string())?;
    }
    set(&array.join("array_state"), "active")
}

/// Stops an array, which releases its members and removes the array.
///
/// # Errors
/// Returns `EBUSY` while a process has it open.
pub fn stop(name: &str) -> io::Result<()> {
    set(&array(name).join("array_state"), "clear")
}

fn array(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name).join("md")
}

/// A member device, with its values in sysfs.
struct Member {
    name: String,
    /// Major and minor number, as text.
    number: String,
    /// Size in bytes, a multiple of the chunk size.
    size: u64,
}

impl Member {
    fn of(device: &Path) -> io::Result<Self> {
        let (major, minor) = major_minor(fs::metadata(device)?.rdev());
        let number = format!("{major}:{minor}");
        let directory = Path::new("/sys/dev/block").join(&number).canonicalize()?;
        let sectors = fs::read_to_string(directory.join("size"))?;
        let sectors: u64 = sectors.trim_end().parse().map_err(io::Error::other)?;
        Ok(Self {
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            number,
            size: sectors * 512 / PIECE * PIECE,
        })
    }
}

fn set(attribute: &Path, value: &str) -> io::Result<()> {
    fs::write(attribute, value)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", attribute.display())))
}
