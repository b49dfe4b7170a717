//! A loop device for an image file, attached until the value is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use model::{Bytes, DiskWriteState};
use sys::block::{block_claim, loopdev};

use crate::ProvisionError;
use crate::image::loop_node::LoopNode;

/// Maximum number of attempts to create a device. Another program that looks for a free device may
/// take the new one first.
const ATTEMPTS: u32 = 100;

/// An attached loop device. It is detached on drop, or by the kernel when the process dies.
#[derive(Debug)]
pub struct LoopDevice {
    // Fields are dropped in this order, because an open device cannot be removed.
    /// Keeps the device attached; the kernel releases the backing file after the last close.
    file: File,
    number: LoopNode,
    direct: bool,
}

impl LoopDevice {
    /// Attaches a file, with direct I/O if the underlying filesystem supports it. Discards are
    /// disabled, because they would punch holes into the image, which the next cell would have to
    /// fill. Such settings of a loop device persist after it is detached, so a new device is
    /// created and removed again. Needs root.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or if the kernel has no loop devices or
    /// refuses.
    pub fn attach(image: &Path) -> Result<Self, ProvisionError> {
        let backing = OpenOptions::new()
            .read(true)
            .write(true)
            .open(image)
            .map_err(ProvisionError::io("open", image))?;
        Self::attach_file(&backing, image)
    }

    /// Attaches an open file, regardless of the current target of its path.
    ///
    /// # Errors
    /// Returns the errors of [`LoopDevice::attach`].
    pub fn attach_file(backing: &File, image: &Path) -> Result<Self, ProvisionError> {
        LoopNode::remove_stale();
        let (file, number) =
            take_new(backing, image).map_err(ProvisionError::io("attach", image))?;
        let mut device = Self { file, number, direct: false };
        device.settle()?;
        Ok(device)
    }

    /// Attaches a file that is open read-only. The kernel refuses all writes to the device.
    ///
    /// # Errors
    /// Returns the errors of [`LoopDevice::attach`], and an error if the device is nevertheless
    /// writable.
    pub fn attach_read_only(backing: &File, image: &Path) -> Result<Self, ProvisionError> {
        let device = Self::attach_file(backing, image)?;
        let attribute = device.number.attribute("ro");
        let read_only = fs::read_to_string(&attribute);
        match read_only.map_err(ProvisionError::io("read", &attribute))?.trim() {
            "1" => Ok(device),
            _ => Err(ProvisionError::io("attach", image)(io::Error::other(
                "the loop device takes writes",
            ))),
        }
    }

    /// Sets the readahead of the device, in whole KiB. The default is inherited from the disks of
    /// this machine and affects the ranking.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn set_readahead(&self, size: Bytes) -> Result<(), ProvisionError> {
        let readahead = self.number.attribute("queue/read_ahead_kb");
        fs::write(&readahead, (size.0 / 1024).to_string())
            .map_err(ProvisionError::io("set", &readahead))
    }

    /// Returns the path of the device node.
    pub fn path(&self) -> &Path {
        self.number.path()
    }

    /// Returns the current state of the device, for a program that claims it.
    ///
    /// # Errors
    /// Returns an error if the kernel does not provide the state.
    pub fn state(&self) -> Result<DiskWriteState, ProvisionError> {
        block_claim::write_state(&self.file).map_err(ProvisionError::io("examine", self.path()))
    }

    /// Returns true if I/O bypasses the page cache of the underlying filesystem. Otherwise blocks
    /// may be in memory twice, and a cold cache is not entirely cold.
    pub const fn is_direct(&self) -> bool {
        self.direct
    }

    /// Returns the kind of attachment, for reports.
    pub const fn attachment(&self) -> &'static str {
        if self.direct {
            "loop device, direct I/O, no discards"
        } else {
            "loop device, buffered (the filesystem below refuses direct I/O: cold reads may come from the host's page cache), no discards"
        }
    }

    fn settle(&mut self) -> Result<(), ProvisionError> {
        let discards = self.number.attribute("queue/discard_max_bytes");
        fs::write(&discards, "0").map_err(ProvisionError::io("switch off", &discards))?;
        let direct = self.number.attribute("loop/dio");
        self.direct =
            fs::read_to_string(&direct).map_err(ProvisionError::io("read", &direct))?.trim() == "1";
        Ok(())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // If this fails, the device has already been detached or will be when the descriptor is
        // closed.
        let _ = loopdev::detach(&self.file);
    }
}

fn take_new(backing: &File, image: &Path) -> io::Result<(File, LoopNode)> {
    for _ in 0..ATTEMPTS {
        let number = LoopNode::create()?;
        let device = OpenOptions::new().read(true).write(true).open(number.path())?;
        match attach_either_way(&device, backing, image) {
            Ok(()) => return Ok((device, number)),
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "{ATTEMPTS} times another program took the new loop device first"
    )))
}

/// Attaches a file with direct I/O if possible. Some kernels refuse direct I/O with `EINVAL`;
/// others attach the file buffered without an error.
fn attach_either_way(device: &File, backing: &File, image: &Path) -> io::Result<()> {
    let name = image.to_string_lossy();
    match loopdev::attach(device, backing, &name, true) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            loopdev::attach(device, backing, &name, false)
        }
        other => other,
    }
}
