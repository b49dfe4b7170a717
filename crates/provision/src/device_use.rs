//! Whether anybody uses a device at this moment. No consent of the user overrides this.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::fcntl::OFlag;
use sys::mounts;

use crate::sysfs::Identity;
use crate::{Refusal, sysfs};

const CLAIM_ATTEMPTS: u32 = 20;
const CLAIM_PAUSE: Duration = Duration::from_millis(50);

/// Opens a device for reading, after everything that shows a use of it or of one of its partitions.
pub fn open_unused(path: &Path, device: Identity) -> Result<File, Refusal> {
    let mut parts = vec![(path.display().to_string(), device)];
    parts.extend(sysfs::partitions(device));
    for (name, part) in &parts {
        mounted(name, *part)?;
        swap(name, *part)?;
        held(name, *part)?;
        backing(name, *part)?;
    }
    open_exclusively(path, device)
}

/// By the mount's device number, and by its source where a filesystem has numbers of its own.
fn mounted(name: &str, part: Identity) -> Result<(), Refusal> {
    let is_it = |mount: &mounts::Mount| {
        let (major, minor) = mount.device;
        Identity::Block(major, minor) == part || stands_for(&mount.source, part)
    };
    match mounts::all().into_iter().find(is_it) {
        Some(mount) => Err(Refusal::Mounted {
            name: name.to_owned(),
            on: mount.on,
        }),
        None => Ok(()),
    }
}

fn swap(name: &str, part: Identity) -> Result<(), Refusal> {
    let table = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swap_files(&table).any(|file| stands_for(&file, part)) {
        return Err(Refusal::Swap {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// The first column of `/proc/swaps`, below its heading.
fn swap_files(table: &str) -> impl Iterator<Item = PathBuf> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|name| mounts::unescape(name).into())
}

fn held(name: &str, part: Identity) -> Result<(), Refusal> {
    match sysfs::holders(part).into_iter().next() {
        Some(by) => Err(Refusal::Held {
            name: name.to_owned(),
            by,
        }),
        None => Ok(()),
    }
}

/// The kernel does not count a loop device on top as a holder.
fn backing(name: &str, part: Identity) -> Result<(), Refusal> {
    let is_it = |(_, file): &(String, PathBuf)| stands_for(file, part);
    match sysfs::loop_devices().into_iter().find(is_it) {
        Some((by, _)) => Err(Refusal::Backing {
            name: name.to_owned(),
            by,
        }),
        None => Ok(()),
    }
}

fn stands_for(path: &Path, part: Identity) -> bool {
    path.is_absolute() && Identity::of(path) == Some(part)
}

/// `O_EXCL` claims a block device as a mount does (open(2)), so mounts in other namespaces and
/// claims of any kind show. It is let go of when the file closes: mkfs and mount claim it again.
///
/// A claim can be over in a moment: a program that another thread has just started still has copies
/// of this one's files. Only one that stays is a use.
fn open_exclusively(path: &Path, device: Identity) -> Result<File, Refusal> {
    let flags = match device {
        Identity::Block(..) => OFlag::O_EXCL,
        Identity::File(..) => OFlag::empty(),
    };
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits());
    for _ in 1..CLAIM_ATTEMPTS {
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => thread::sleep(CLAIM_PAUSE),
            other => return other.map_err(|source| not_opened(path, source)),
        }
    }
    options
        .open(path)
        .map_err(|source| not_opened(path, source))
}

fn not_opened(path: &Path, source: io::Error) -> Refusal {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::ResourceBusy => Refusal::Busy { path },
        _ => Refusal::Unreadable { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_names_of_swap_files() {
        let table = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/my\\040swap file 1 0 -3\n";
        let names: Vec<_> = swap_files(table).collect();
        assert_eq!(names, [Path::new("/dev/sda2"), Path::new("/my swap")]);
        assert_eq!(swap_files("").count(), 0);
    }
}
