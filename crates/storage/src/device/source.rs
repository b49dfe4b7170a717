//! A device, or an image file, that a campaign copies from: refused while anybody uses it, and behind a loop device
//! that takes no writes for as long as it is held. So neither fsarena nor a filesystem's driver, which may want to
//! replay a journal, changes a byte of it.

use std::fs::File;
use std::path::{Path, PathBuf};

use model::Bytes;
use nix::fcntl::{Flock, FlockArg};

use super::{absent, in_use, is_block, lock, resolve};
use crate::sysfs::DeviceId;
use crate::{LoopDevice, ProvisionError};

/// A device that is only read, held so that nobody else writes to it.
#[derive(Debug)]
pub struct ReadOnlyDevice {
    path: PathBuf,
    /// Goes before what it lies on.
    device: LoopDevice,
    _lock: Flock<File>,
    /// Keeps others from mounting a block device.
    _claim: Option<File>,
}

impl ReadOnlyDevice {
    /// Takes a device or file. Needs root.
    ///
    /// # Errors
    /// When there is none, somebody uses it, or it cannot be attached.
    pub fn take(path: &Path, readahead: Bytes) -> Result<Self, ProvisionError> {
        let resolved = resolve(path)?;
        let is_block = is_block(&resolved)?;
        let identity = DeviceId::from_path(&resolved).ok_or_else(|| absent(path))?;
        let lock = lock(&resolved, false, FlockArg::LockSharedNonblock)?;
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
        Ok(Self {
            path: resolved,
            device,
            _lock: lock,
            _claim: claim,
        })
    }

    /// The device or file itself, links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What can be mounted.
    pub fn node(&self) -> &Path {
        self.device.path()
    }
}
