//! A device that the user names: refused unless it is unused and blank, or named twice; and held from then on.
//!
//! It is locked for as long as it is held, so that no other fsarena takes it and udev leaves it alone, and held
//! open, so that its name cannot come to mean another disk unnoticed. Whoever is to write to it claims it first
//! (`O_EXCL`), upon which it is looked at again: the same disk, in use by nobody, and as fsarena left it.
//! Nothing is written here.

mod blkid;
mod content;
mod in_use;
mod refusal;
mod signatures;
mod source;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::{Bytes, DiskIdentity, DiskWriteState};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use sys::block_claim::{self, DiskChange};

use crate::sysfs::{self, DeviceId};

pub use content::{DeviceContent, ScanCoverage, scan};
pub use in_use::swap_files;
pub use refusal::DeviceRefusal;
pub use source::ReadOnlyDevice;

/// How long udev may look at a device that has just appeared.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A device or file that may be overwritten, held for this process alone.
#[derive(Debug)]
pub struct ExclusiveDevice {
    path: PathBuf,
    size: Bytes,
    kind: Kind,
    /// What will be lost, where the user consented to that.
    erases: Option<String>,
    sight: Option<ScanCoverage>,
    handle: Flock<File>,
    /// The disk of a partition, which nobody may take as a whole.
    _disk: Option<Flock<File>>,
    /// The claim under which it was looked at, until it is taken.
    claim: Option<File>,
    /// Why it is not claimed any more.
    trouble: Option<String>,
}

#[derive(Debug)]
enum Kind {
    /// A block device, as it was when fsarena wrote to it last.
    Block(DiskWriteState),
    /// A plain file, which needs a loop device, as it was then.
    File(FileState),
}

/// When anything of a file was changed last: the time of its content can be set back, that of its inode cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    size: u64,
    changed: (i64, i64),
}

impl ExclusiveDevice {
    /// Takes a device; `erase` is the device whose content the user gives up (`--erase`).
    ///
    /// # Errors
    /// When the device is in use (consent does not help), holds anything without consent, or the two
    /// names are not one device.
    pub fn acquire(path: &Path, erase: Option<&Path>) -> Result<Self, DeviceRefusal> {
        let (mut device, identity) = Self::hold(path, erase)?;
        device.look(identity, erase.is_some())?;
        Ok(device)
    }

    /// Takes a device whose content the user gives up and asks no word about: it is not looked at, which would take
    /// longer than making a filesystem.
    ///
    /// # Errors
    /// When the device is in use, or the two names are not one device.
    pub fn acquire_unchecked(path: &Path, erase: &Path) -> Result<Self, DeviceRefusal> {
        Ok(Self::hold(path, Some(erase))?.0)
    }

    /// Locks and claims a device that nobody uses, whatever it holds.
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
        let handle = lock(&resolved, !is_block, FlockArg::LockExclusiveNonblock);
        let handle = handle.map_err(|refusal| better_reason(&resolved, identity, refusal))?;
        let disk = sysfs::parent_disk(identity).map_err(|source| unreadable(&resolved, source))?;
        let disk = disk
            .map(|name| {
                lock(
                    &Path::new("/dev").join(name),
                    false,
                    FlockArg::LockSharedNonblock,
                )
            })
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
            _disk: disk,
            claim,
            trouble: None,
        };
        Ok((device, identity))
    }

    /// The device itself, links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it is a block device; a plain file needs a loop device.
    pub const fn is_block(&self) -> bool {
        matches!(self.kind, Kind::Block(_))
    }

    /// What will be lost, where the user consented to that; `None` where the device looked blank.
    pub fn erases(&self) -> Option<&str> {
        self.erases.as_deref()
    }

    /// How much of it was seen to be blank; `None` where it is not, or was not looked at.
    pub const fn scan_coverage(&self) -> Option<ScanCoverage> {
        self.sight
    }

    /// Which disk it is; `None` for a plain file.
    pub const fn identity(&self) -> Option<&DiskIdentity> {
        match &self.kind {
            Kind::Block(state) => Some(&state.identity),
            Kind::File(_) => None,
        }
    }

    /// The device for whoever is to write to it: claimed for as long as the file is open, where it is a block
    /// device, and found to be the disk that it was, in use by nobody, and as fsarena left it.
    ///
    /// # Errors
    /// When any of that is not so.
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
            return Err(DeviceRefusal::ReadOnly {
                path: self.path.clone(),
            });
        }
        match &self.kind {
            Kind::Block(state) => {
                let claim = in_use::claim_unused(&self.path, identity)?;
                self.require_unchanged(&claim, state)?;
                Ok(claim)
            }
            Kind::File(state) => {
                in_use::require_unused(&self.path, identity)?;
                let now = FileState::of(&self.handle).map_err(|e| unreadable(&self.path, e))?;
                if now != *state {
                    return Err(DeviceRefusal::Changed {
                        path: self.path.clone(),
                    });
                }
                // What was done in the middle of a cell counts as done by that.
                if now.size != self.size.0 {
                    let (was, is) = (self.size, Bytes(now.size));
                    return Err(self.other_disk(format!("its size was {was} and is {is}")));
                }
                self.handle
                    .try_clone()
                    .map_err(|e| unreadable(&self.path, e))
            }
        }
    }

    /// The same for somebody who claims it himself: looks at it and lets go of the claim. What he must find is
    /// returned; `None` for a plain file.
    ///
    /// # Errors
    /// As for [`HeldDevice::claim`].
    pub fn prepare_handover(&mut self) -> Result<Option<DiskWriteState>, DeviceRefusal> {
        self.claim()?;
        Ok(match &self.kind {
            Kind::Block(state) => Some(state.clone()),
            Kind::File(_) => None,
        })
    }

    /// Takes note that fsarena wrote to it: what it holds now is what fsarena left. Where that cannot be found out,
    /// it is not claimed again.
    pub fn record_write(&mut self) {
        match self.as_it_is() {
            Ok(kind) => self.kind = kind,
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    fn as_it_is(&self) -> io::Result<Kind> {
        Ok(match &self.kind {
            Kind::Block(before) => {
                // What is still in memory would be counted later. What cannot be written is a failure of the cell
                // that wrote it, and told there.
                let _ = self.handle.sync_all();
                let state = block_claim::write_state(&self.handle)?;
                // The next claim sees whether it is another disk.
                Kind::Block(DiskWriteState {
                    identity: before.identity.clone(),
                    ..state
                })
            }
            Kind::File(_) => Kind::File(FileState::of(&self.handle)?),
        })
    }

    /// Looks whether it holds anything, and takes down what, where the user gives it up.
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
            return Err(DeviceRefusal::Partitions {
                path: path(),
                names: names.join(", "),
            });
        }
        let file = self.claim.as_ref().unwrap_or(&self.handle);
        match content::scan(file, self.size.0).map_err(fail)? {
            DeviceContent::Blank(sight) => Ok(sight),
            DeviceContent::Data { offset, format } => {
                let copy = |name| format!("{name} (at byte {offset})");
                Err(
                    match blkid::probe(&self.path).or_else(|| format.map(copy)) {
                        Some(found) => DeviceRefusal::Signature {
                            path: path(),
                            found,
                        },
                        None => DeviceRefusal::Data {
                            path: path(),
                            offset,
                        },
                    },
                )
            }
        }
    }

    fn require_unchanged(&self, claim: &File, state: &DiskWriteState) -> Result<(), DeviceRefusal> {
        match block_claim::changes_since(claim, state).map_err(|e| unreadable(&self.path, e))? {
            None => Ok(()),
            Some(DiskChange::Replaced(difference)) => Err(self.other_disk(difference)),
            Some(DiskChange::Modified) => Err(DeviceRefusal::Changed {
                path: self.path.clone(),
            }),
        }
    }

    fn other_disk(&self, difference: String) -> DeviceRefusal {
        DeviceRefusal::OtherDisk {
            path: self.path.clone(),
            difference,
        }
    }

    fn identity_of_handle(&self) -> Result<DeviceId, DeviceRefusal> {
        let metadata = self.handle.metadata();
        metadata
            .map(|metadata| DeviceId::from(&metadata))
            .map_err(|source| unreadable(&self.path, source))
    }
}

/// Claims a block device, before anything else is done with it, and takes down which disk it is.
fn block(path: &Path, identity: DeviceId) -> Result<(Option<File>, Kind, Bytes), DeviceRefusal> {
    let claim = in_use::claim_unused(path, identity)?;
    let state = block_claim::write_state(&claim).map_err(|source| unreadable(path, source))?;
    let size = require_size(path, state.identity.size)?;
    Ok((Some(claim), Kind::Block(state), size))
}

fn file(
    path: &Path,
    identity: DeviceId,
    handle: &File,
) -> Result<(Option<File>, Kind, Bytes), DeviceRefusal> {
    in_use::require_unused(path, identity)?;
    let state = FileState::of(handle).map_err(|source| unreadable(path, source))?;
    let size = require_size(path, Bytes(state.size))?;
    Ok((None, Kind::File(state), size))
}

impl FileState {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            size: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Who uses a device says more than that it cannot be opened.
fn better_reason(path: &Path, identity: DeviceId, refusal: DeviceRefusal) -> DeviceRefusal {
    match &refusal {
        DeviceRefusal::Unreadable { .. } => in_use::require_unused(path, identity).err(),
        _ => None,
    }
    .unwrap_or(refusal)
}

/// Locks a node for as long as the file is open, as programs that work on devices do.
/// Source: "Locking Block Device Access" of the systemd documentation.
fn lock(path: &Path, writable: bool, how: FlockArg) -> Result<Flock<File>, DeviceRefusal> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(writable)
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
    Err(DeviceRefusal::Locked {
        path: path.to_owned(),
    })
}

/// The path behind links; of a block device its usual node, which all who lock it lock.
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
        // A container may have it under another name.
        None if resolved.starts_with("/dev") => Ok(resolved),
        None => Err(DeviceRefusal::NoNode { path: resolved }),
    }
}

/// Whether it is a block device rather than a regular file; anything else is refused.
fn is_block(path: &Path) -> Result<bool, DeviceRefusal> {
    let kind = fs::metadata(path)
        .map_err(|source| unreadable(path, source))?
        .file_type();
    if kind.is_block_device() || kind.is_file() {
        Ok(kind.is_block_device())
    } else {
        Err(DeviceRefusal::NotADevice {
            path: path.to_owned(),
        })
    }
}

fn require_same(path: &Path, resolved: &Path, erase: &Path) -> Result<(), DeviceRefusal> {
    if resolve(erase).is_ok_and(|erase| erase == resolved) {
        return Ok(());
    }
    Err(DeviceRefusal::EraseMismatch {
        path: path.to_owned(),
        erase: erase.to_owned(),
    })
}

fn require_size(path: &Path, size: Bytes) -> Result<Bytes, DeviceRefusal> {
    match size {
        Bytes(0) => Err(DeviceRefusal::Empty {
            path: path.to_owned(),
        }),
        size => Ok(size),
    }
}

fn absent(path: &Path) -> DeviceRefusal {
    DeviceRefusal::Absent {
        path: path.to_owned(),
    }
}

fn unreadable(path: &Path, source: io::Error) -> DeviceRefusal {
    DeviceRefusal::Unreadable {
        path: path.to_owned(),
        source,
    }
}
