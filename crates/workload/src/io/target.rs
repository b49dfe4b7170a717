//! An open file as the target of requests.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::data::corruption::{Corruption, CorruptionKind};
use crate::error::{OpContext, OpError};

/// An open file with the context for its errors.
#[derive(Debug)]
pub struct IoFile {
    /// The open file.
    pub file: File,
    /// Path of the file.
    pub path: PathBuf,
    /// Expected size, in bytes.
    pub size: u64,
}

/// Mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Create a file that must not exist yet.
    CreateNew,
    /// Create a file unless another host has created it.
    Create,
    /// Append all writes to the end of the file (`O_APPEND`).
    Append,
    /// Open for reading only.
    ReadOnly,
    /// Open for reading and writing.
    ReadWrite,
}

impl IoFile {
    /// Opens a file, with further flags.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened in this mode.
    pub fn open(path: &Path, size: u64, how: OpenMode, flags: OFlag) -> Result<Self, OpError> {
        let file = options(how, flags).open(path).with_call("open", path)?;
        Ok(Self { file, path: path.to_owned(), size })
    }

    /// Writes cached data to the device (`fsync`).
    ///
    /// # Errors
    /// Returns an error if `fsync` fails.
    pub fn sync(&self) -> Result<(), OpError> {
        self.file.sync_all().with_call("fsync", &self.path)
    }

    /// Returns the error for a file that ends before its expected size.
    pub fn unexpected_eof(&self, offset: u64) -> OpError {
        OpError::Corrupt {
            path: self.path.clone(),
            corruption: Corruption {
                offset: self.file.metadata().map_or(offset, |m| m.len()),
                kind: CorruptionKind::Short { expected: self.size },
            },
        }
    }

    /// Returns the error for a wrong byte.
    pub fn corrupt(&self, corruption: Corruption) -> OpError {
        OpError::Corrupt { path: self.path.clone(), corruption }
    }

    /// Returns the error of a system call.
    pub fn failed(&self, call: &'static str, offset: Option<u64>, error: io::Error) -> OpError {
        OpError::System { call, path: self.path.clone(), offset, error }
    }
}

fn options(how: OpenMode, flags: OFlag) -> OpenOptions {
    let mut options = OpenOptions::new();
    match how {
        OpenMode::CreateNew => options.read(true).write(true).create_new(true),
        OpenMode::Create => options.read(true).write(true).create(true),
        OpenMode::Append => options.append(true),
        OpenMode::ReadOnly => options.read(true),
        OpenMode::ReadWrite => options.read(true).write(true),
    };
    options.custom_flags(flags.bits());
    options
}
