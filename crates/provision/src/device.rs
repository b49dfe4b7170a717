//! A device that the user names: refused unless it is unused and blank, or named twice.
//!
//! Looks only, and lets go of the device again; nothing is written here.

use std::fs;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use model::Bytes;

use crate::Refusal;
use crate::device_content::require_blank;
use crate::device_use::open_unused;
use crate::sysfs::{self, Identity};

/// A device or file that may be overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableDevice {
    /// The device itself, links resolved.
    pub path: PathBuf,
    /// Its size.
    pub size: Bytes,
    /// Whether it is a block device; a regular file needs a loop device.
    pub is_block: bool,
    /// What will be lost, where the user consented to that.
    pub erases: Option<String>,
}

impl UsableDevice {
    /// Examines a device; `erase` is the device whose content the user gives up (`--erase`).
    ///
    /// # Errors
    /// When the device is in use (consent does not help), holds anything without consent, or the two
    /// names are not one device.
    pub fn examine(path: &Path, erase: Option<&Path>) -> Result<Self, Refusal> {
        let resolved = resolve(path)?;
        let is_block = kind(&resolved)?;
        if let Some(erase) = erase {
            require_same(path, &resolved, erase)?;
        }
        let identity = Identity::of(&resolved).ok_or_else(|| absent(path))?;
        if sysfs::is_read_only(identity) {
            return Err(Refusal::ReadOnly { path: resolved });
        }
        let mut file = open_unused(&resolved, identity)?;
        let size = size(&mut file, &resolved)?;
        let erases = match require_blank(&resolved, identity, &file, size) {
            Ok(()) => None,
            Err(refusal) if erase.is_none() => return Err(refusal),
            Err(refusal) => Some(refusal.loses().ok_or(refusal)?),
        };
        Ok(Self {
            path: resolved,
            size,
            is_block,
            erases,
        })
    }
}

fn resolve(path: &Path) -> Result<PathBuf, Refusal> {
    path.canonicalize().map_err(|source| match source.kind() {
        ErrorKind::NotFound => absent(path),
        _ => unreadable(path, source),
    })
}

/// Whether it is a block device rather than a regular file; anything else is refused.
fn kind(path: &Path) -> Result<bool, Refusal> {
    let kind = fs::metadata(path)
        .map_err(|source| unreadable(path, source))?
        .file_type();
    if kind.is_block_device() || kind.is_file() {
        Ok(kind.is_block_device())
    } else {
        Err(Refusal::NotADevice {
            path: path.to_owned(),
        })
    }
}

fn require_same(path: &Path, resolved: &Path, erase: &Path) -> Result<(), Refusal> {
    if erase.canonicalize().is_ok_and(|erase| erase == resolved) {
        return Ok(());
    }
    Err(Refusal::OtherErase {
        path: path.to_owned(),
        erase: erase.to_owned(),
    })
}

/// The end of a block device is found by seeking; its metadata say zero.
fn size(file: &mut fs::File, path: &Path) -> Result<Bytes, Refusal> {
    match file.seek(SeekFrom::End(0)) {
        Ok(0) => Err(Refusal::Empty {
            path: path.to_owned(),
        }),
        Ok(size) => Ok(Bytes(size)),
        Err(source) => Err(unreadable(path, source)),
    }
}

fn absent(path: &Path) -> Refusal {
    Refusal::Absent {
        path: path.to_owned(),
    }
}

fn unreadable(path: &Path, source: io::Error) -> Refusal {
    Refusal::Unreadable {
        path: path.to_owned(),
        source,
    }
}
