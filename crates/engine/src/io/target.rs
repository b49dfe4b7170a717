//! An open file that requests go to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::corruption::{Corruption, Kind};
use crate::error::{Context, OpError};

/// An open file, with what errors about it need.
#[derive(Debug)]
pub struct Target {
    /// The open file.
    pub file: File,
    /// Where it is.
    pub path: PathBuf,
    /// The size that it must have, bytes.
    pub size: u64,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It must not exist yet.
    New,
    /// Writes go to its end (`O_APPEND`).
    AtEnd,
    /// For reading only.
    ToRead,
    /// For reading and writing.
    ToChange,
}

impl Target {
    /// Opens a file, passing the page cache by where that is asked for (`O_DIRECT`).
    ///
    /// # Errors
    /// When it cannot be opened so.
    pub fn open(path: &Path, size: u64, how: Opened, direct: bool) -> Result<Self, OpError> {
        let file = options(how, direct).open(path).of("open", path)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            size,
        })
    }

    /// Brings what was written to the device (`fsync`).
    ///
    /// # Errors
    /// When the filesystem cannot.
    pub fn sync(&self) -> Result<(), OpError> {
        self.file.sync_all().of("fsync", &self.path)
    }

    /// The error of a file that ends before its size.
    pub fn too_short(&self, offset: u64) -> OpError {
        OpError::Corrupt {
            path: self.path.clone(),
            corruption: Corruption {
                offset: self.file.metadata().map_or(offset, |m| m.len()),
                kind: Kind::Short {
                    expected: self.size,
                },
            },
        }
    }

    /// The error of a wrong byte.
    pub fn corrupt(&self, corruption: Corruption) -> OpError {
        OpError::Corrupt {
            path: self.path.clone(),
            corruption,
        }
    }

    /// The error of a system call.
    pub fn failed(&self, call: &'static str, offset: Option<u64>, error: io::Error) -> OpError {
        OpError::System {
            call,
            path: self.path.clone(),
            offset,
            error,
        }
    }
}

fn options(how: Opened, direct: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    match how {
        Opened::New => options.read(true).write(true).create_new(true),
        Opened::AtEnd => options.append(true),
        Opened::ToRead => options.read(true),
        Opened::ToChange => options.read(true).write(true),
    };
    if direct {
        options.custom_flags(OFlag::O_DIRECT.bits());
    }
    options
}
