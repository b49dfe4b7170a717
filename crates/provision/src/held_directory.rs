//! A mounted directory that competes, held open for the whole campaign: its filesystem can then be unmounted only
//! lazily, and that is seen.

use std::fs::File;
use std::path::{Path, PathBuf};

use model::MountIdentity;
use sys::mounted_directory;

use crate::{ProvisionError, Refusal};

/// A directory and the mount that it is on.
#[derive(Debug)]
pub struct HeldDirectory {
    path: PathBuf,
    identity: MountIdentity,
    _open: File,
}

impl HeldDirectory {
    /// Takes a directory.
    ///
    /// # Errors
    /// When there is none, or it may not be looked into.
    pub fn take(path: &Path) -> Result<Self, ProvisionError> {
        let open = mounted_directory::open(path).map_err(ProvisionError::io("open", path))?;
        let identity = mounted_directory::identity(&open);
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

    /// Which directory it is, on which mount.
    pub const fn identity(&self) -> MountIdentity {
        self.identity
    }

    /// Makes sure that its path leads to it.
    ///
    /// # Errors
    /// When its filesystem was unmounted, or another one was mounted over it.
    pub fn require_there(&self) -> Result<(), Refusal> {
        let now = mounted_directory::open(&self.path);
        match now.and_then(|open| mounted_directory::identity(&open)) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) | Err(_) => Err(Refusal::Unmounted {
                path: self.path.clone(),
            }),
        }
    }
}
