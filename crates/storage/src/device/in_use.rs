//! Checks whether a device is in use. The user's consent does not override this, and an unknown
//! state counts as in use.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sys::block::block_claim;
use sys::mount::mounts;
use sys::process::{self, Process};

use super::DeviceRefusal;
use crate::host::sysfs::{self, DeviceId, LoopEntry};

/// Number of attempts to claim a device that is temporarily claimed by another process.
const CLAIM_ATTEMPTS: u32 = 20;
const CLAIM_PAUSE: Duration = Duration::from_millis(50);
/// Number of checks before a writing process counts as a use.
const WRITER_POLLS: u32 = 3;

/// Claims a block device exclusively. Refuses a device that is in use or has a partition in use.
pub fn claim_unused(path: &Path, device: DeviceId) -> Result<File, DeviceRefusal> {
    unused(path, device, claim(path))
}

/// Claims a block device for reading. Refuses a device that is in use or has a partition in use.
pub fn claim_unused_to_read(path: &Path, device: DeviceId) -> Result<File, DeviceRefusal> {
    unused(path, device, patiently(path, block_claim::claim_to_read))
}

fn unused(
    path: &Path,
    device: DeviceId,
    claim: Result<File, DeviceRefusal>,
) -> Result<File, DeviceRefusal> {
    // The use of the device is a better explanation than the failed claim.
    require_unused(path, device)?;
    claim
}

/// Refuses a device or file that is in use or has a partition in use.
pub fn require_unused(path: &Path, device: DeviceId) -> Result<(), DeviceRefusal> {
    let unknown = |source| DeviceRefusal::UnknownUse { path: path.to_owned(), source };
    let mut parts = vec![(path.display().to_string(), device)];
    parts.extend(sysfs::partitions(device).map_err(unknown)?);
    let mounts = mounts::all().map_err(unknown)?;
    let swaps = fs::read("/proc/swaps").map_err(unknown)?;
    let loops = sysfs::loop_devices().map_err(unknown)?;
    let (below, loops) = below(device, loops).map_err(unknown)?;
    parts.extend(below);
    for (name, part) in &parts {
        mounted(name, *part, &mounts)?;
        swap(name, *part, &swaps)?;
        held(name, sysfs::holders(*part).map_err(unknown)?)?;
        backing(name, *part, &loops)?;
        written_to(name, *part).map_err(unknown)??;
    }
    Ok(())
}

/// Returns the devices below this one: the disk of a partition, and the backing file or device of a
/// loop device with its partitions. Also returns the remaining loop devices, excluding those
/// between the device and its backing files.
#[expect(clippy::type_complexity, reason = "parts with their names, as everywhere here")]
fn below(
    device: DeviceId,
    mut loops: Vec<LoopEntry>,
) -> io::Result<(Vec<(String, DeviceId)>, Vec<LoopEntry>)> {
    let mut found = Vec::new();
    let mut here = device;
    loop {
        if let Some(disk) = sysfs::parent_disk(here)? {
            here = sysfs::disk(&disk)?;
            found.push((disk, here));
        } else if let Some(place) = loops.iter().position(|other| other.device == here) {
            let LoopEntry { file, backing, .. } = loops.swap_remove(place);
            here = backing;
            found.push((file.display().to_string(), here));
            found.extend(sysfs::partitions(here)?);
        } else {
            return Ok((found, loops));
        }
    }
}

/// Compares the device number of the mount, and its source, because some filesystems use anonymous
/// device numbers.
fn mounted(name: &str, part: DeviceId, mounts: &[mounts::Mount]) -> Result<(), DeviceRefusal> {
    let is_it = |mount: &&mounts::Mount| {
        let (major, minor) = mount.device;
        DeviceId::Block(major, minor) == part || stands_for(&mount.source, part)
    };
    match mounts.iter().find(is_it) {
        Some(mount) => Err(DeviceRefusal::Mounted { name: name.to_owned(), on: mount.on.clone() }),
        None => Ok(()),
    }
}

fn swap(name: &str, part: DeviceId, table: &[u8]) -> Result<(), DeviceRefusal> {
    match swap_files(table).any(|file| stands_for(&file, part)) {
        true => Err(DeviceRefusal::Swap { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// Returns the files and devices in the text of `/proc/swaps`: the first column, without the
/// heading.
pub fn swap_files(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = table.split(|byte| *byte == b'\n').skip(1);
    let names = lines.filter_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')).next());
    names.filter(|name| !name.is_empty()).map(mounts::unescape)
}

fn held(name: &str, holders: Vec<String>) -> Result<(), DeviceRefusal> {
    match holders.into_iter().next() {
        Some(by) => Err(DeviceRefusal::HasHolders { name: name.to_owned(), by }),
        None => Ok(()),
    }
}

/// Refuses a device that backs a loop device, which the kernel does not count as a holder.
fn backing(name: &str, part: DeviceId, loops: &[LoopEntry]) -> Result<(), DeviceRefusal> {
    match loops.iter().find(|device| device.backing == part) {
        Some(device) => {
            Err(DeviceRefusal::Backing { name: name.to_owned(), by: device.name.clone() })
        }
        None => Ok(()),
    }
}

/// Refuses a device that a process has open for writing without a claim: an emulator, a database,
/// dd.
fn written_to(name: &str, part: DeviceId) -> io::Result<Result<(), DeviceRefusal>> {
    let is_it = |metadata: &fs::Metadata| DeviceId::from(metadata) == part;
    Ok(match lasting(|| process::all_with_open_for_writing(&is_it))? {
        Some(by) => Err(DeviceRefusal::OpenElsewhere {
            name: name.to_owned(),
            by: format!("{} (process {})", by.name, by.pid),
        }),
        None => Ok(()),
    })
}

/// Returns a process that is in every list.
///
/// As with claims, copies of a process's files in a program that it starts disappear after a
/// moment. A list can name such a copy before the process that keeps the file open.
fn lasting(mut list: impl FnMut() -> io::Result<Vec<Process>>) -> io::Result<Option<Process>> {
    let mut lasting = list()?;
    for _ in 0..WRITER_POLLS {
        if lasting.is_empty() {
            break;
        }
        thread::sleep(CLAIM_PAUSE);
        let now = list()?;
        lasting.retain(|before| now.iter().any(|process| process.pid == before.pid));
    }
    Ok(lasting.into_iter().next())
}

fn stands_for(path: &Path, part: DeviceId) -> bool {
    path.is_absolute() && DeviceId::from_path(path) == Some(part)
}

/// Claims a block device with `O_EXCL`, like a mount (open(2)), so mounts in other namespaces and
/// other claims are detected.
///
/// A claim can be short: a program that another thread has just started still has copies of this
/// process's files. Only a claim that persists counts as a use.
pub fn claim(path: &Path) -> Result<File, DeviceRefusal> {
    patiently(path, block_claim::claim)
}

fn patiently(path: &Path, claim: fn(&Path) -> io::Result<File>) -> Result<File, DeviceRefusal> {
    for _ in 1..CLAIM_ATTEMPTS {
        match claim(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => thread::sleep(CLAIM_PAUSE),
            other => return other.map_err(|source| not_claimed(path, source)),
        }
    }
    claim(path).map_err(|source| not_claimed(path, source))
}

fn not_claimed(path: &Path, source: io::Error) -> DeviceRefusal {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::ResourceBusy => DeviceRefusal::Busy { path },
        ErrorKind::ReadOnlyFilesystem => DeviceRefusal::ReadOnly { path },
        _ => DeviceRefusal::Unreadable { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::Pid;
    use std::os::unix::ffi::OsStrExt;

    /// Lists these processes, one list after the other.
    fn lasting_of(lists: &[&[i32]]) -> Option<i32> {
        let (parent, state) = (Pid::from_raw(1), 'S');
        let process =
            |&pid: &i32| Process { pid: Pid::from_raw(pid), parent, state, name: String::new() };
        let mut lists = lists.iter().map(|pids| pids.iter().map(process).collect());
        let found = lasting(|| Ok(lists.next().expect("there are enough lists"))).unwrap();
        found.map(|process| process.pid.as_raw())
    }

    #[test]
    fn a_started_program_hides_no_process_that_keeps_the_file_open() {
        assert_eq!(lasting_of(&[&[7, 9], &[9], &[8, 9], &[9]]), Some(9));
        assert_eq!(lasting_of(&[&[7], &[8]]), None, "copies that disappear");
        assert_eq!(lasting_of(&[&[]]), None);
    }

    #[test]
    fn reads_names_of_swap_files_with_arbitrary_bytes() {
        let table = b"Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/my\\040swap file 1 0 -3\n/\xff\tfile\n";
        let names: Vec<_> = swap_files(table).collect();
        assert_eq!(names[..2], [Path::new("/dev/sda2"), Path::new("/my swap")]);
        assert_eq!(names[2].as_os_str().as_bytes(), b"/\xff");
        assert_eq!(swap_files(b"").count(), 0);
    }
}
