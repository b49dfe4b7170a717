//! A device given by the user: refused unless it is unused and blank, or named twice, and held
//! afterwards.
//!
//! The device is locked while it is held, so that no other fsarena or udev uses it, and kept open,
//! so that its name cannot change to another disk unnoticed. A writer claims it first (`O_EXCL`).
//! Each claim checks again that it is the same disk, unused, and unchanged since fsarena last wrote
//! to it. This module does not write to the device.

mod blkid;
mod content;
mod in_use;
mod refusal;
mod signatures;
mod source;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::{Bytes, DiskIdentity, DiskWriteState};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use sys::block::block_claim::{self, DiskChange};

use crate::host::sysfs::{self, DeviceId};

pub use content::{DeviceContent, ScanCoverage, scan};
pub use in_use::swap_files;
pub use refusal::DeviceRefusal;
pub use source::ReadOnlyDevice;

/// Number of attempts to lock a new device that udev may still be examining.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A device or file that may be overwritten, held exclusively by this process.
#[derive(Debug)]
pub struct ExclusiveDevice {
    path: PathBuf,
    size: Bytes,
    kind: DeviceKind,
    /// Description of the data that will be lost with the user's consent.
    erases: Option<String>,
    sight: Option<ScanCoverage>,
    handle: File,
    _lock: Flock<File>,
    /// Lock on the disk of a partition, which prevents use of the whole disk.
    _disk: Option<Flock<File>>,
    /// Claim of the initial examination, until it is used.
    claim: Option<File>,
    /// Reason it cannot be claimed again.
    trouble: Option<String>,
}

#[derive(Debug)]
enum DeviceKind {
    /// A block device, with its state after the last write of fsarena.
    Block(DiskWriteState),
    /// A regular file, which needs a loop device, with its state after the last write of fsarena.
    File(FileState),
}

/// State of a file. Uses the change time of the inode, because the modification time can be reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    size: u64,
    changed: (i64, i64),
}

impl ExclusiveDevice {
    /// Acquires a device. `erase` is the device whose content the user gives up (`--erase`).
    ///
    /// # Errors
    /// Returns an error if the device is in use, even with consent. Without consent, also returns
    /// an error if the device contains data. Returns an error if the two names are different
    /// devices.
    pub fn acquire(path: &Path, erase: Option<&Path>) -> Result<Self, DeviceRefusal> {
        let (mut device, identity) = Self::hold(path, erase)?;
        device.look(identity, erase.is_some())?;
        Ok(device)
    }

    /// Acquires a device whose content the user gives up without a report. The content is not
    /// examined, because that would take longer than creating a filesystem.
    ///
    /// # Errors
    /// Returns an error if the device is in use, or if the two names are different devices.
    pub fn acquire_unchecked(path: &Path, erase: &Path) -> Result<Self, DeviceRefusal> {
        Ok(Self::hold(path, Some(erase))?.0)
    }

    /// Locks and claims an unused device, regardless of its content.
    fn hold(path: &Path, erase: Option<&Path>) -> Result<(Self, DeviceId), DeviceRefusal> {
        let resolved = resolve(path)?;
        let is_block = is_block(&resolved)?;
        if let Some(erase) = erase {
            require_same(path, &resolved, erase)?;
        }
        let identity = DeviceId::from_path(&resolved).ok_or_else(|| absent(path))?;
        if sysfs::is_read_only(identity) {
            return Err(DeviceRefusal::ReadOnly { path: resolved });
        }
        if !sysfs::has_io_counters(identity) {
            return Err(DeviceRefusal::NoIoCounters { path: resolved });
        }
        let better = |refusal| better_reason(&resolved, identity, refusal);
        let own_lock = lock(&resolved, FlockArg::LockExclusiveNonblock).map_err(better)?;
        let handle = reopen(&own_lock, !is_block);
        let handle = handle.map_err(|source| better(unreadable(&resolved, source)))?;
        let disk = sysfs::parent_disk(identity).map_err(|source| unreadable(&resolved, source))?;
        let disk = disk
            .map(|name| lock(&Path::new("/dev").join(name), FlockArg::LockSharedNonblock))
            .transpose()?;
        let (claim, kind, size) = match is_block {
            true => block(&resolved, identity)?,
            false => file(&resolved, identity, &handle)?,
        };
        let device = Self {
            path: resolved,
            size,
            kind,
            erases: None,
            sight: None,
            handle,
            _lock: own_lock,
            _disk: disk,
            claim,
            trouble: None,
        };
        Ok((device, identity))
    }

    /// Returns the path of the device, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Returns true for a block device. A regular file needs a loop device.
    pub const fn is_block(&self) -> bool {
        matches!(self.kind, DeviceKind::Block(_))
    }

    /// Returns the description of the data that will be lost with the user's consent, or `None` if
    /// no data was found.
    pub fn erases(&self) -> Option<&str> {
        self.erases.as_deref()
    }

    /// Returns the verified coverage of a blank device, or `None` if it is not blank or was not
    /// examined.
    pub const fn scan_coverage(&self) -> Option<ScanCoverage> {
        self.sight
    }

    /// Returns the identity of the disk, or `None` for a regular file.
    pub const fn identity(&self) -> Option<&DiskIdentity> {
        match &self.kind {
            DeviceKind::Block(state) => Some(&state.identity),
            DeviceKind::File(_) => None,
        }
    }

    /// Returns the device for writing. A block device is claimed while the returned file is open.
    ///
    /// # Errors
    /// Returns an error if the device is a different disk, in use, or changed since fsarena last
    /// wrote to it.
    pub fn claim(&mut self) -> Result<File, DeviceRefusal> {
        if let Some(claim) = self.claim.take() {
            return Ok(claim);
        }
        if let Some(trouble) = &self.trouble {
            return Err(DeviceRefusal::Failing {
                path: self.path.clone(),
                trouble: trouble.clone(),
            });
        }
        let identity = self.identity_of_handle()?;
        if sysfs::is_read_only(identity) {
            return Err(DeviceRefusal::ReadOnly { path: self.path.clone() });
        }
        match &self.kind {
            DeviceKind::Block(state) => {
                let claim = in_use::claim_unused(&self.path, identity)?;
                self.require_unchanged(&claim, state)?;
                Ok(claim)
            }
            DeviceKind::File(state) => {
                in_use::require_unused(&self.path, identity)?;
                let now = FileState::of(&self.handle).map_err(|e| unreadable(&self.path, e))?;
                if now != *state {
                    return Err(DeviceRefusal::Changed { path: self.path.clone() });
                }
                // A change during a cell counts as made by that cell.
                if now.size != self.size.0 {
                    let (was, is) = (self.size, Bytes(now.size));
                    return Err(self.other_disk(format!("its size was {was} and is {is}")));
                }
                self.handle.try_clone().map_err(|e| unreadable(&self.path, e))
            }
        }
    }

    /// Checks the device and releases the claim, for a writer that claims the device itself.
    /// Returns the state that the writer must find, or `None` for a regular file.
    ///
    /// # Errors
    /// Returns the errors of [`ExclusiveDevice::claim`].
    pub fn prepare_handover(&mut self) -> Result<Option<DiskWriteState>, DeviceRefusal> {
        self.claim()?;
        Ok(match &self.kind {
            DeviceKind::Block(state) => Some(state.clone()),
            DeviceKind::File(_) => None,
        })
    }

    /// Records that fsarena wrote to the device, so its current state is the expected one. If the
    /// state cannot be read, the device is not claimed again.
    pub fn record_write(&mut self) {
        match self.as_it_is() {
            Ok(kind) => self.kind = kind,
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    fn as_it_is(&self) -> io::Result<DeviceKind> {
        Ok(match &self.kind {
            DeviceKind::Block(before) => {
                // Unwritten data would be counted later. A write error belongs to the cell that
                // wrote the data and is reported there.
                let _ = self.handle.sync_all();
                let state = block_claim::write_state(&self.handle)?;
                // The next claim detects another disk.
                DeviceKind::Block(DiskWriteState { identity: before.identity.clone(), ..state })
            }
            DeviceKind::File(_) => DeviceKind::File(FileState::of(&self.handle)?),
        })
    }

    /// Checks the device for data and, with the user's consent, records the data that will be lost.
    fn look(&mut self, identity: DeviceId, consent: bool) -> Result<(), DeviceRefusal> {
        match self.require_blank(identity) {
            Ok(sight) => self.sight = Some(sight),
            Err(refusal) if !consent => return Err(refusal),
            Err(refusal) => self.erases = Some(refusal.data_at_risk().ok_or(refusal)?),
        }
        Ok(())
    }

    fn require_blank(&self, identity: DeviceId) -> Result<ScanCoverage, DeviceRefusal> {
        let path = || self.path.clone();
        let fail = |source| unreadable(&self.path, source);
        let partitions = sysfs::partitions(identity).map_err(fail)?;
        if !partitions.is_empty() {
            let names: Vec<String> = partitions.into_iter().map(|(name, _)| name).collect();
            return Err(DeviceRefusal::Partitions { path: path(), names: names.join(", ") });
        }
        let file = self.claim.as_ref().unwrap_or(&self.handle);
        match content::scan(file, self.size.0).map_err(fail)? {
            DeviceContent::Blank(sight) => Ok(sight),
            DeviceContent::Data { offset, format } => {
                let copy = |name| format!("{name} (at byte {offset})");
                Err(match blkid::probe(&self.path).or_else(|| format.map(copy)) {
                    Some(found) => DeviceRefusal::Signature { path: path(), found },
                    None => DeviceRefusal::Data { path: path(), offset },
                })
            }
        }
    }

    fn require_unchanged(&self, claim: &File, state: &DiskWriteState) -> Result<(), DeviceRefusal> {
        match block_claim::changes_since(claim, state).map_err(|e| unreadable(&self.path, e))? {
            None => Ok(()),
            Some(DiskChange::Replaced(difference)) => Err(self.other_disk(difference)),
            Some(DiskChange::Modified) => Err(DeviceRefusal::Changed { path: self.path.clone() }),
        }
    }

    fn other_disk(&self, difference: String) -> DeviceRefusal {
        DeviceRefusal::OtherDisk { path: self.path.clone(), difference }
    }

    fn identity_of_handle(&self) -> Result<DeviceId, DeviceRefusal> {
        let metadata = self.handle.metadata();
        metadata
            .map(|metadata| DeviceId::from(&metadata))
            .map_err(|source| unreadable(&self.path, source))
    }
}

/// Claims a block device before any other operation, and records its identity.
fn block(
    path: &Path,
    identity: DeviceId,
) -> Result<(Option<File>, DeviceKind, Bytes), DeviceRefusal> {
    let claim = in_use::claim_unused(path, identity)?;
    let state = block_claim::write_state(&claim).map_err(|source| unreadable(path, source))?;
    let size = require_size(path, state.identity.size)?;
    Ok((Some(claim), DeviceKind::Block(state), size))
}

fn file(
    path: &Path,
    identity: DeviceId,
    handle: &File,
) -> Result<(Option<File>, DeviceKind, Bytes), DeviceRefusal> {
    in_use::require_unused(path, identity)?;
    let state = FileState::of(handle).map_err(|source| unreadable(path, source))?;
    let size = require_size(path, Bytes(state.size))?;
    Ok((None, DeviceKind::File(state), size))
}

impl FileState {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { size: metadata.len(), changed: (metadata.ctime(), metadata.ctime_nsec()) })
    }
}

/// Replaces an open error by the use of the device, which is the better explanation.
fn better_reason(path: &Path, identity: DeviceId, refusal: DeviceRefusal) -> DeviceRefusal {
    match &refusal {
        DeviceRefusal::Unreadable { .. } => in_use::require_unused(path, identity).err(),
        _ => None,
    }
    .unwrap_or(refusal)
}

/// Locks a node while the file is open, like other programs that work on devices. Source: "Locking
/// Block Device Access" of the systemd documentation.
///
/// Opens the node only for reading: its owner ends if another process can write to it.
fn lock(path: &Path, how: FlockArg) -> Result<Flock<File>, DeviceRefusal> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(|source| unreadable(path, source))?;
    for _ in 0..LOCK_ATTEMPTS {
        match Flock::lock(file, how) {
            Ok(lock) => return Ok(lock),
            Err((unlocked, Errno::EWOULDBLOCK)) => file = unlocked,
            Err((_, error)) => return Err(unreadable(path, error.into())),
        }
        thread::sleep(LOCK_PAUSE);
    }
    Err(DeviceRefusal::Locked { path: path.to_owned() })
}

/// Opens a locked file again, for writing if requested.
fn reopen(file: &File, writable: bool) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(writable).open(path)
}

/// Returns the path without links. For a block device, returns its usual node, because all programs
/// lock that one.
fn resolve(path: &Path) -> Result<PathBuf, DeviceRefusal> {
    let resolved = path.canonicalize().map_err(|source| match source.kind() {
        ErrorKind::NotFound => absent(path),
        _ => unreadable(path, source),
    })?;
    let Some(device @ DeviceId::Block(..)) = DeviceId::from_path(&resolved) else {
        return Ok(resolved);
    };
    match sysfs::node(device) {
        Some(node) => Ok(node),
        // In a container, the device may have another name.
        None if resolved.starts_with("/dev") => Ok(resolved),
        None => Err(DeviceRefusal::NoNode { path: resolved }),
    }
}

/// Returns true for a block device and false for a regular file. Refuses anything else.
fn is_block(path: &Path) -> Result<bool, DeviceRefusal> {
    let kind = fs::metadata(path).map_err(|source| unreadable(path, source))?.file_type();
    if kind.is_block_device() || kind.is_file() {
        Ok(kind.is_block_device())
    } else {
        Err(DeviceRefusal::NotADevice { path: path.to_owned() })
    }
}

fn require_same(path: &Path, resolved: &Path, erase: &Path) -> Result<(), DeviceRefusal> {
    if resolve(erase).is_ok_and(|erase| erase == resolved) {
        return Ok(());
    }
    Err(DeviceRefusal::EraseMismatch { path: path.to_owned(), erase: erase.to_owned() })
}

fn require_size(path: &Path, size: Bytes) -> Result<Bytes, DeviceRefusal> {
    match size {
        Bytes(0) => Err(DeviceRefusal::Empty { path: path.to_owned() }),
        size => Ok(size),
    }
}

fn absent(path: &Path) -> DeviceRefusal {
    DeviceRefusal::Absent { path: path.to_owned() }
}

fn unreadable(path: &Path, source: io::Error) -> DeviceRefusal {
    DeviceRefusal::Unreadable { path: path.to_owned(), source }
}
