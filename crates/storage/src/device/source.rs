//! A device or image file that a campaign copies from. It is refused if it is in use, and attached
//! to a read-only loop device while it is held, so that neither fsarena nor a filesystem driver
//! (which may replay a journal) can change it.

use std::fs::File;
use std::path::{Path, PathBuf};

use model::Bytes;
use nix::fcntl::{Flock, FlockArg};

use super::{absent, in_use, is_block, lock, resolve};
use crate::host::sysfs::DeviceId;
use crate::{LoopDevice, ProvisionError};

/// A device for reading only, held so that no other program writes to it.
#[derive(Debug)]
pub struct ReadOnlyDevice {
    path: PathBuf,
    /// Dropped before the device or file it is attached to.
    device: LoopDevice,
    _lock: Flock<File>,
    /// Prevents other processes from mounting a block device.
    _claim: Option<File>,
}

impl ReadOnlyDevice {
    /// Holds and attaches a device or file. Needs root.
    ///
    /// # Errors
    /// Returns an error if the device does not exist, is in use, or cannot be attached.
    pub fn take(path: &Path, readahead: Bytes) -> Result<Self, ProvisionError> {
        let resolved = resolve(path)?;
        let is_block = is_block(&resolved)?;
        let identity = DeviceId::from_path(&resolved).ok_or_else(|| absent(path))?;
        let lock = lock(&resolved, FlockArg::LockSharedNonblock)?;
        let claim = match is_block {
            true => Some(in_use::claim_unused_to_read(&resolved, identity)?),
            false => {
                in_use::require_unused(&resolved, identity)?;
                None
            }
        };
        let backing = File::open(&resolved).map_err(ProvisionError::io("open", &resolved))?;
        let device = LoopDevice::attach_read_only(&backing, &resolved)?;
        device.set_readahead(readahead)?;
        Ok(Self { path: resolved, device, _lock: lock, _claim: claim })
    }

    /// Returns the path of the device or file, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the device node to mount.
    pub fn node(&self) -> &Path {
        self.device.path()
    }
}
