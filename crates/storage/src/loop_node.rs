//! A loop device that fsarena makes and removes: what is changed on one lasts until it is removed, whoever uses it next.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sys::loopdev;

use crate::sysfs::{self, BLOCK};

const CONTROL: &str = "/dev/loop-control";
/// Numbers that are tried: a minor number has 20 bits.
const NUMBERS: u32 = 1 << 20;
/// How long who looks at a device for a moment, as udev does, may keep it from being removed.
const LOOK: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// The device; removed when dropped, unless something still holds it.
#[derive(Debug)]
pub struct LoopNode {
    number: u32,
    path: PathBuf,
    /// Whether nobody but us makes its node, as in a container whose `/dev` the kernel does not fill.
    own_node: bool,
}

impl LoopNode {
    /// Makes the device behind the last one: programs that look for a free one take the first.
    ///
    /// # Errors
    /// When the kernel has no loop devices or refuses.
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
        Err(io::Error::other(
            "there is no number left for one more loop device",
        ))
    }

    fn with_node(number: u32) -> io::Result<Self> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let mut device = Self {
            number,
            own_node: false,
            path,
        };
        device.own_node = sysfs::make_node(&device.path, &directory(number))?;
        Ok(device)
    }

    /// The device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of one of its attributes.
    pub fn attribute(&self, name: &str) -> PathBuf {
        directory(self.number).join(name)
    }

    /// Removes the devices that killed campaigns have left: nobody uses them, and their discards are off, though
    /// they could discard. Where one cannot be removed, nothing is lost but that.
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
        // What holds it longer, such as a mount that a killed cell has left, leaves it to the next campaign.
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

/// The loop devices that there are, ascending.
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
