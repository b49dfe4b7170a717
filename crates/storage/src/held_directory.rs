//! Directory of a mounted filesystem under test, held open for the whole campaign. The filesystem
//! can then be unmounted only lazily, which is detected.

use std::fs::File;
use std::path::{Path, PathBuf};

use model::MountId;
use sys::mount::mount_id;

use crate::{DeviceRefusal, ProvisionError};

/// A directory and its mount.
#[derive(Debug)]
pub struct PinnedDirectory {
    path: PathBuf,
    identity: MountId,
    _open: File,
}

impl PinnedDirectory {
    /// Opens a directory and records its mount.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ProvisionError> {
        let open = mount_id::open(path).map_err(ProvisionError::io("open", path))?;
        let identity = mount_id::identity(&open);
        Ok(Self {
            path: path.to_owned(),
            identity: identity.map_err(ProvisionError::io("examine", path))?,
            _open: open,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the identity of the directory and its mount.
    pub const fn identity(&self) -> MountId {
        self.identity
    }

    /// Checks that the path still refers to the directory.
    ///
    /// # Errors
    /// Returns an error if the filesystem was unmounted, or if another one was mounted over it.
    pub fn check_unchanged(&self) -> Result<(), DeviceRefusal> {
        let now = mount_id::open(&self.path);
        match now.and_then(|open| mount_id::identity(&open)) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) | Err(_) => Err(DeviceRefusal::NotMounted { path: self.path.clone() }),
        }
    }
}
