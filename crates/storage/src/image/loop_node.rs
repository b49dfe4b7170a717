//! A loop device that fsarena creates and removes. Settings of a loop device persist until it is
//! removed, even for other users of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sys::block::loopdev;

use crate::host::sysfs::{self, BLOCK};

const CONTROL: &str = "/dev/loop-control";
/// Upper limit of device numbers: a minor number has 20 bits.
const NUMBERS: u32 = 1 << 20;
/// Maximum time that another program, such as udev, may delay the removal while it examines the
/// device.
const LOOK: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// A loop device. It is removed on drop, unless it is still in use.
#[derive(Debug)]
pub struct LoopNode {
    number: u32,
    path: PathBuf,
    /// Whether fsarena created the device node, as in a container whose `/dev` is not populated by
    /// the kernel.
    own_node: bool,
}

impl LoopNode {
    /// Creates a device after the last existing one, because other programs use the first free
    /// device.
    ///
    /// # Errors
    /// Returns an error if the kernel has no loop devices or refuses.
    pub fn create() -> io::Result<Self> {
        let control = control()?;
        let begin = numbers()?.last().map_or(0, |last| last + 1);
        for number in begin..NUMBERS {
            match loopdev::add(&control, number) {
                Ok(()) => return Self::with_node(number),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there is no number left for one more loop device"))
    }

    fn with_node(number: u32) -> io::Result<Self> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let mut device = Self { number, own_node: false, path };
        device.own_node = sysfs::make_node(&device.path, &directory(number))?;
        Ok(device)
    }

    /// Returns the path of the device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a sysfs attribute of the device.
    pub fn attribute(&self, name: &str) -> PathBuf {
        directory(self.number).join(name)
    }

    /// Removes unused devices left by killed campaigns, recognised by their disabled discards. A
    /// device that cannot be removed is harmless.
    pub fn remove_stale() {
        let (Ok(control), Ok(numbers)) = (control(), numbers()) else {
            return;
        };
        for number in numbers.into_iter().filter(|number| is_left(*number)) {
            let _ = loopdev::remove(&control, number);
        }
    }
}

impl Drop for LoopNode {
    fn drop(&mut self) {
        let Ok(control) = control() else {
            return;
        };
        let start = Instant::now();
        // If the device stays busy, for example because of a mount left by a killed cell, the next
        // campaign removes it.
        while let Err(error) = loopdev::remove(&control, self.number) {
            if error.kind() != ErrorKind::ResourceBusy || start.elapsed() > LOOK {
                break;
            }
            thread::sleep(PAUSE);
        }
        if self.own_node {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn control() -> io::Result<File> {
    File::open(CONTROL)
}

fn directory(number: u32) -> PathBuf {
    Path::new(BLOCK).join(format!("loop{number}"))
}

/// Returns the numbers of existing loop devices, ascending.
fn numbers() -> io::Result<Vec<u32>> {
    let names = sysfs::names(Path::new(BLOCK))?;
    let number = |name: &String| name.strip_prefix("loop")?.parse().ok();
    let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn is_left(number: u32) -> bool {
    let directory = directory(number);
    let limit = |name: &str| {
        let text = fs::read_to_string(directory.join("queue").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let is_free = !directory.join("loop/backing_file").exists();
    let can_discard = limit("discard_max_hw_bytes").is_some_and(|bytes| bytes > 0);
    is_free && can_discard && limit("discard_max_bytes") == Some(0)
}
