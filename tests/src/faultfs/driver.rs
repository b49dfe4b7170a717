//! Operations of the fault driver: those of the tree, unless a fault is injected.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::UNIX_EPOCH;

use fuser::{FileAttr, FileType, INodeNo};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::content::CHUNK;
use super::faults::{Call, Faults};
use super::tree::{FaultErrno, NodeKind, Tree, TreeNode};
use super::{image, reading};

/// Maximum length of a name, as on most filesystems.
pub const MAX_NAME: usize = 255;

/// Driver of one mount.
#[derive(Debug)]
pub struct Driver {
    faults: Faults,
    capacity: u64,
    device: Option<PathBuf>,
    state: Mutex<DriverState>,
}

/// State that changes while the driver is mounted.
#[derive(Debug, Default)]
pub struct DriverState {
    /// All files.
    pub tree: Tree,
    /// Directories being listed, with their entries at the start of the listing.
    pub listings: BTreeMap<u64, Vec<Listed>>,
    next_listing: u64,
    bytes_read: u64,
    bytes_written: u64,
}

/// An entry in a listing.
#[derive(Debug)]
pub struct Listed {
    /// The node.
    pub number: u64,
    /// Type of the node.
    pub kind: FileType,
    /// Its name.
    pub name: Vec<u8>,
}

impl Driver {
    /// Creates a driver for the files of a device. The driver writes them back to the device on
    /// unmount.
    pub fn new(tree: Tree, faults: Faults, device: Option<PathBuf>, device_size: u64) -> Self {
        Self {
            // Directory lists and holes need additional space.
            capacity: faults.capacity.unwrap_or(device_size - device_size / 8),
            faults,
            device,
            state: Mutex::new(DriverState { tree, ..DriverState::default() }),
        }
    }

    /// Writes all files to the device, if there is one.
    pub fn keep(&self) -> std::io::Result<()> {
        match &self.device {
            Some(device) => image::save(&self.state().tree, device),
            None => Ok(()),
        }
    }

    /// Returns the maximum total size of all files, in bytes.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Locks the mutable state.
    pub fn state(&self) -> MutexGuard<'_, DriverState> {
        self.state.lock().expect("no answer panics")
    }

    /// Fails or hangs if this call is configured to.
    pub fn enter(&self, call: Call) -> Result<(), FaultErrno> {
        if self.faults.hang == Some(call) {
            hang();
        }
        self.faults.errors.get(&call).map_or(Ok(()), |&error| Err(error))
    }

    /// Adds a new node with a name.
    pub fn add(
        &self,
        at: (INodeNo, &OsStr),
        call: Call,
        node: TreeNode,
    ) -> Result<FileAttr, FaultErrno> {
        self.enter(call)?;
        let name = at.1.as_bytes();
        if name.len() > MAX_NAME {
            return Err(libc::ENAMETOOLONG);
        }
        let mut state = self.state();
        let number = state.tree.add(at.0.0, name, node)?;
        attributes_of(&state.tree, number)
    }

    /// Writes bytes, loses them, or returns an error.
    pub fn write_bytes(&self, number: u64, offset: u64, data: &[u8]) -> Result<u32, FaultErrno> {
        self.enter(Call::Write)?;
        let length = data.len() as u64;
        let mut state = self.state();
        state.bytes_written += length;
        let too_many = |limit| state.bytes_written > limit;
        let begins = |stamp: &String| {
            let mut blocks = data.chunks(CHUNK as usize);
            blocks.any(|block| block.starts_with(stamp.as_bytes()))
        };
        let faults = &self.faults;
        if faults.die_after.is_some_and(too_many) || faults.die_at.as_ref().is_some_and(begins) {
            die();
        }
        let content = state.tree.content(number)?;
        let overwrites = offset + length <= content.size();
        if state.tree.space() + content.growth(offset, length) > self.capacity {
            return Err(libc::ENOSPC);
        }
        if !(self.faults.stale && overwrites) {
            state.tree.content_mut(number)?.write(offset, data);
        }
        u32::try_from(length).map_err(|_| libc::EFBIG)
    }

    /// Reads bytes and corrupts some of them.
    pub fn read_bytes(&self, number: u64, offset: u64, size: u32) -> Result<Vec<u8>, FaultErrno> {
        self.enter(Call::Read)?;
        let mut state = self.state();
        let mut answer = state.tree.content(number)?.read(offset, u64::from(size));
        reading::damage(&self.faults, state.bytes_read, offset, &mut answer);
        state.bytes_read += answer.len() as u64;
        Ok(answer)
    }

    /// Changes permissions, or only reports success.
    pub fn change_mode(&self, number: u64, mode: u32) -> Result<(), FaultErrno> {
        self.enter(Call::Chmod)?;
        if !self.faults.forgets_permissions {
            self.state().tree.node_mut(number)?.owner.mode = permissions(mode);
        }
        Ok(())
    }

    /// Starts a directory listing.
    pub fn list(&self, number: u64) -> Result<u64, FaultErrno> {
        self.enter(Call::Readdir)?;
        let mut state = self.state();
        let listed = |(name, &number): (&Vec<u8>, &u64)| {
            let kind = file_type(&state.tree.node(number)?.kind);
            let name = name.clone();
            Ok(Listed { number, kind, name })
        };
        let entries = state.tree.entries(number)?;
        let listing = entries.iter().map(listed).collect::<Result<Vec<_>, FaultErrno>>()?;
        state.next_listing += 1;
        let handle = state.next_listing;
        state.listings.insert(handle, listing);
        Ok(handle)
    }
}

/// Name of a thread that never answers. Tests wait for a thread with this name.
pub const HANGING: &std::ffi::CStr = c"hanging";

fn hang() -> ! {
    prctl::set_name(HANGING).expect("the name is short");
    loop {
        std::thread::park();
    }
}

fn die() -> ! {
    kill(Pid::this(), Signal::SIGKILL).expect("a process may kill itself");
    hang()
}

/// Returns the permission bits of a mode.
pub const fn permissions(mode: u32) -> u16 {
    (mode & 0o7777) as u16
}

const fn file_type(kind: &NodeKind) -> FileType {
    match kind {
        NodeKind::File(_) => FileType::RegularFile,
        NodeKind::Directory(_) => FileType::Directory,
        NodeKind::Symlink(_) => FileType::Symlink,
    }
}

/// Returns the `stat` attributes of a node.
pub fn attributes_of(tree: &Tree, number: u64) -> Result<FileAttr, FaultErrno> {
    let node = tree.node(number)?;
    let (size, space) = match &node.kind {
        NodeKind::File(content) => (content.size(), content.space()),
        NodeKind::Directory(_) => (CHUNK, 0),
        NodeKind::Symlink(target) => (target.len() as u64, 0),
    };
    Ok(FileAttr {
        ino: INodeNo(number),
        size,
        blocks: space / 512,
        atime: node.modified,
        mtime: node.modified,
        ctime: node.modified,
        crtime: UNIX_EPOCH,
        kind: file_type(&node.kind),
        perm: node.owner.mode,
        nlink: node.links,
        uid: node.owner.uid,
        gid: node.owner.gid,
        rdev: 0,
        blksize: CHUNK as u32,
        flags: 0,
    })
}
