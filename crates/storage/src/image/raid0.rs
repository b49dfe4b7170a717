//! A RAID-0 array of devices (md of the kernel) that is stopped on drop.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use model::{Bytes, DiskWriteState};
use sys::block::{block_claim, raid0};

use crate::ProvisionError;
use crate::host::sysfs::{self, BLOCK, DeviceId, LoopEntry};

/// Prefix of the name of every array, followed by the process ID and a number.
const PREFIX: &str = "md_fsarena-";
/// Maximum time that another program, such as udev, may delay stopping while it examines the
/// device.
const LOOK: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// A striped array, which is stopped on drop.
#[derive(Debug)]
pub struct Raid0Array {
    name: String,
    path: PathBuf,
    /// Whether fsarena created the device node.
    own_node: bool,
}

impl Raid0Array {
    /// Returns the missing feature and a hint if this kernel cannot stripe devices.
    pub fn missing_support() -> Option<&'static str> {
        const ADVICE: &str = "no md in this kernel, which stripes several disks: load it (modprobe raid0), or ask for \
                              guests with --backend vm";
        (!raid0::is_available()).then_some(ADVICE)
    }

    /// Creates an array of these devices. Needs root.
    ///
    /// # Errors
    /// Returns an error if a device is in use or the kernel refuses; no array remains.
    pub fn assemble(members: &[PathBuf]) -> Result<Self, ProvisionError> {
        let name = make().map_err(ProvisionError::io("stripe", Path::new(BLOCK)))?;
        // From here on, an incomplete array is stopped on error.
        let mut made = Self { path: Path::new("/dev").join(&name), own_node: false, name };
        raid0::fill(&made.name, members).map_err(ProvisionError::io("stripe", &made.path))?;
        made.own_node = sysfs::make_node(&made.path, &directory(&made.name))
            .map_err(ProvisionError::io("make", &made.path))?;
        Ok(made)
    }

    /// Returns the path of the device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current state of the device, for a program that claims it.
    ///
    /// # Errors
    /// Returns an error if the device cannot be opened, or if the kernel does not provide the
    /// state.
    pub fn state(&self) -> Result<DiskWriteState, ProvisionError> {
        let state = File::open(&self.path).and_then(|file| block_claim::write_state(&file));
        state.map_err(ProvisionError::io("examine", &self.path))
    }

    /// Sets the kernel's readahead, in whole KiB.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn set_readahead(&self, size: Bytes) -> Result<(), ProvisionError> {
        let readahead = directory(&self.name).join("queue/read_ahead_kb");
        fs::write(&readahead, (size.0 / 1024).to_string())
            .map_err(ProvisionError::io("set", &readahead))
    }

    /// Stops arrays left by killed processes, recognised by their name and because every member is
    /// a loop device on a file of this directory. Waits up to `timeout` for a mount that the kernel
    /// is still removing. Other arrays are not touched.
    pub fn stop_stale(files: &Path, timeout: Duration) {
        let arrays = names().into_iter();
        for name in arrays.filter(|name| is_left(name, files)) {
            stop(&name, timeout);
        }
    }
}

impl Drop for Raid0Array {
    fn drop(&mut self) {
        // If the array stays busy, for example because of a mount left by a killed cell, the next
        // user of its files stops it.
        stop(&self.name, LOOK);
        if self.own_node {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates an array with an unused name.
fn make() -> io::Result<String> {
    let names = (0_u32..).map(|number| format!("{PREFIX}{}-{number}", std::process::id()));
    for name in names {
        match raid0::make(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| name),
        }
    }
    Err(io::Error::other("every name is taken"))
}

fn stop(name: &str, timeout: Duration) {
    let start = Instant::now();
    while let Err(error) = raid0::stop(name) {
        if error.kind() != ErrorKind::ResourceBusy || start.elapsed() > timeout {
            break;
        }
        thread::sleep(PAUSE);
    }
}

fn directory(name: &str) -> PathBuf {
    Path::new(BLOCK).join(name)
}

/// Returns the arrays with a name given by fsarena.
fn names() -> Vec<String> {
    let names = sysfs::names(Path::new(BLOCK)).unwrap_or_default();
    names.into_iter().filter(|n| n.starts_with(PREFIX)).collect()
}

fn is_left(name: &str, files: &Path) -> bool {
    let members = sysfs::names(&directory(name).join("slaves"));
    let (Ok(members), Ok(loops)) = (members, sysfs::loop_devices()) else {
        return false;
    };
    match members.is_empty() {
        // The process was killed before it added members.
        true => maker(name).is_some_and(|maker| !Path::new("/proc").join(maker).exists()),
        false => lie_on(&members, &loops, &identities(files)),
    }
}

/// Returns the number of the process that created an array.
fn maker(name: &str) -> Option<&str> {
    Some(name.strip_prefix(PREFIX)?.split_once('-')?.0)
}

/// Returns true if every member is a loop device backed by one of these files.
fn lie_on(members: &[String], loops: &[LoopEntry], files: &[DeviceId]) -> bool {
    members.iter().all(|member| {
        let device = loops.iter().find(|device| device.name == *member);
        device.is_some_and(|device| files.contains(&device.backing))
    })
}

fn identities(directory: &Path) -> Vec<DeviceId> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| DeviceId::from_path(&entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoopDevice;

    #[test]
    fn only_arrays_entirely_on_files_of_the_directory_are_stale() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let attach = |place: &Path, name: &str| {
            let file = place.join(name);
            fs::write(&file, [1; 65_536]).unwrap();
            LoopDevice::attach(&file).unwrap()
        };
        let own = [attach(directory.path(), "a"), attach(directory.path(), "b")];
        let other = attach(elsewhere.path(), "c");
        let name = |device: &LoopDevice| {
            let name = device.path().file_name().unwrap();
            name.to_string_lossy().into_owned()
        };
        let (loops, files) = (sysfs::loop_devices().unwrap(), identities(directory.path()));
        let left = |members: &[String]| lie_on(members, &loops, &files);
        let [a, b] = own.each_ref().map(name);
        assert!(left(&[a.clone(), b]));
        assert!(!left(&[a, name(&other)]), "one member belongs to another program");
        assert!(!left(&["sda".to_owned()]), "no loop device");
    }

    #[test]
    fn the_name_of_an_array_contains_its_creator() {
        assert_eq!(maker("md_fsarena-12-0"), Some("12"));
        assert_eq!(maker("md_fsarena"), None);
        assert_eq!(maker("md_data-12-0"), None);
    }

    /// Uses loop devices if the kernel has md.
    #[test]
    fn stripes_devices_or_explains_what_the_kernel_lacks() {
        let directory = tempfile::tempdir().unwrap();
        let attach = |name| {
            let file = directory.path().join(name);
            fs::write(&file, vec![1; 1 << 20]).unwrap();
            LoopDevice::attach(&file).unwrap()
        };
        let devices = [attach("a"), attach("b")];
        let members = devices.each_ref().map(|device| device.path().to_owned());
        let Some(missing) = Raid0Array::missing_support() else {
            let stripe = Raid0Array::assemble(&members).unwrap();
            assert_eq!(stripe.state().unwrap().identity.size, Bytes(2 << 20));
            let name = stripe.name.clone();
            assert!(is_left(&name, directory.path()));
            drop(stripe);
            assert!(!super::directory(&name).exists());
            return;
        };
        assert!(missing.contains("--backend vm"), "{missing}");
        assert!(Raid0Array::assemble(&members).is_err());
    }
}
