//! The fault driver's answers to the kernel: the tree's, unless a fault comes first.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::content::{CHUNK, Content};
use super::faults::{Call, Faults};
use super::tree::{Errno, Kind, Node, Owner, Tree};
use super::{image, reading};

/// How long the kernel may remember an answer; nobody else changes these files.
const REMEMBERED: Duration = Duration::from_secs(60);
const FIRST: Generation = Generation(0);
const LONGEST_NAME: usize = 255;

/// The driver of one mount.
#[derive(Debug)]
pub struct Driver {
    faults: Faults,
    capacity: u64,
    device: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tree: Tree,
    listings: BTreeMap<u64, Vec<Listed>>,
    next_listing: u64,
    bytes_read: u64,
    bytes_written: u64,
}

#[derive(Debug)]
struct Listed {
    number: u64,
    kind: FileType,
    name: Vec<u8>,
}

impl Driver {
    /// A driver over the files of a device, which it keeps there again when it is unmounted.
    pub fn new(tree: Tree, faults: Faults, device: Option<PathBuf>, device_size: u64) -> Self {
        Self {
            // Lists and holes need some space beside the files.
            capacity: faults.capacity.unwrap_or(device_size - device_size / 8),
            faults,
            device,
            state: Mutex::new(State {
                tree,
                ..State::default()
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no answer panics")
    }

    /// Fails or hangs here where this call is to do so.
    fn enter(&self, call: Call) -> Result<(), Errno> {
        if self.faults.hang == Some(call) {
            hang();
        }
        self.faults
            .errors
            .get(&call)
            .map_or(Ok(()), |&error| Err(error))
    }

    fn add(&self, at: (INodeNo, &OsStr), call: Call, node: Node) -> Result<FileAttr, Errno> {
        self.enter(call)?;
        let name = at.1.as_bytes();
        if name.len() > LONGEST_NAME {
            return Err(libc::ENAMETOOLONG);
        }
        let mut state = self.state();
        let number = state.tree.add(at.0.0, name, node)?;
        attributes_of(&state.tree, number)
    }

    fn write_bytes(&self, number: u64, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        self.enter(Call::Write)?;
        let length = data.len() as u64;
        let mut state = self.state();
        state.bytes_written += length;
        let too_many = |limit| state.bytes_written > limit;
        if self.faults.die_after.is_some_and(too_many) {
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

    fn read_bytes(&self, number: u64, offset: u64, size: u32) -> Result<Vec<u8>, Errno> {
        self.enter(Call::Read)?;
        let mut state = self.state();
        let mut answer = state.tree.content(number)?.read(offset, u64::from(size));
        reading::damage(&self.faults, state.bytes_read, offset, &mut answer);
        state.bytes_read += answer.len() as u64;
        Ok(answer)
    }

    fn change_mode(&self, number: u64, mode: u32) -> Result<(), Errno> {
        self.enter(Call::Chmod)?;
        if !self.faults.forgets_permissions {
            self.state().tree.node_mut(number)?.owner.mode = permissions(mode);
        }
        Ok(())
    }

    fn list(&self, number: u64) -> Result<u64, Errno> {
        self.enter(Call::Readdir)?;
        let mut state = self.state();
        let listed = |(name, &number): (&Vec<u8>, &u64)| {
            let kind = file_type(&state.tree.node(number)?.kind);
            let name = name.clone();
            Ok(Listed { number, kind, name })
        };
        let entries = state.tree.entries(number)?;
        let listing = entries
            .iter()
            .map(listed)
            .collect::<Result<Vec<_>, Errno>>()?;
        state.next_listing += 1;
        let handle = state.next_listing;
        state.listings.insert(handle, listing);
        Ok(handle)
    }
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn die() -> ! {
    kill(Pid::this(), Signal::SIGKILL).expect("a process may kill itself");
    hang()
}

fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error)
}

const fn permissions(mode: u32) -> u16 {
    (mode & 0o7777) as u16
}

fn owned(request: &Request, mode: u32, kind: Kind) -> Node {
    let owner = Owner {
        mode: permissions(mode),
        uid: request.uid(),
        gid: request.gid(),
    };
    Node::new(kind, owner)
}

const fn file_type(kind: &Kind) -> FileType {
    match kind {
        Kind::File(_) => FileType::RegularFile,
        Kind::Directory(_) => FileType::Directory,
        Kind::Symlink(_) => FileType::Symlink,
    }
}

fn attributes_of(tree: &Tree, number: u64) -> Result<FileAttr, Errno> {
    let node = tree.node(number)?;
    let (size, space) = match &node.kind {
        Kind::File(content) => (content.size(), content.space()),
        Kind::Directory(_) => (CHUNK, 0),
        Kind::Symlink(target) => (target.len() as u64, 0),
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

fn answer_entry(reply: ReplyEntry, result: Result<FileAttr, Errno>) {
    match result {
        Ok(attributes) => reply.entry(&REMEMBERED, &attributes, FIRST),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_open(reply: ReplyOpen, result: Result<u64, Errno>) {
    match result {
        Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_attributes(reply: ReplyAttr, result: Result<FileAttr, Errno>) {
    match result {
        Ok(attributes) => reply.attr(&REMEMBERED, &attributes),
        Err(error) => reply.error(errno(error)),
    }
}

impl Filesystem for Driver {
    fn destroy(&mut self) {
        if let Some(device) = &self.device {
            let state = self.state();
            // Nobody listens any more; the next mount finds the files missing.
            let _ = image::save(&state.tree, device);
        }
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        let number = state.tree.look_up(parent.0, name.as_bytes());
        answer_entry(reply, number.and_then(|n| attributes_of(&state.tree, n)));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(reply, attributes_of(&self.state().tree, ino.0));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || {
            if let Some(mode) = mode {
                self.change_mode(ino.0, mode)?;
            }
            let mut state = self.state();
            if let Some(size) = size {
                state.tree.content_mut(ino.0)?.resize(size);
            }
            let node = state.tree.node_mut(ino.0)?;
            node.owner.uid = uid.unwrap_or(node.owner.uid);
            node.owner.gid = gid.unwrap_or(node.owner.gid);
            match modified {
                Some(TimeOrNow::SpecificTime(time)) => node.modified = time,
                Some(TimeOrNow::Now) => node.modified = SystemTime::now(),
                None => {}
            }
            attributes_of(&state.tree, ino.0)
        };
        answer_attributes(reply, change());
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.state().tree.node(ino.0).map(|node| &node.kind) {
            Ok(Kind::Symlink(target)) => reply.data(target),
            Ok(Kind::File(_) | Kind::Directory(_)) => reply.error(fuser::Errno::EINVAL),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let node = owned(request, mode, Kind::File(Content::default()));
        let result = if mode & libc::S_IFMT == libc::S_IFREG {
            self.add((parent, name), Call::Create, node)
        } else {
            Err(libc::EPERM)
        };
        answer_entry(reply, result);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let node = owned(request, mode, Kind::Directory(BTreeMap::new()));
        answer_entry(reply, self.add((parent, name), Call::Mkdir, node));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let remove = || {
            self.enter(Call::Unlink)?;
            self.state().tree.remove(parent.0, name.as_bytes())
        };
        answer(reply, remove());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.state().tree.remove(parent.0, name.as_bytes()));
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let target = target.as_os_str().as_bytes().to_vec();
        let node = owned(request, 0o777, Kind::Symlink(target));
        answer_entry(reply, self.add((parent, name), Call::Symlink, node));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let from = (parent.0, name.as_bytes());
        let to = (newparent.0, newname.as_bytes());
        let result = if flags.is_empty() {
            self.state().tree.rename(from, to)
        } else {
            Err(libc::EINVAL)
        };
        answer(reply, result);
    }

    fn link(
        &self,
        _: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let link = || {
            self.enter(Call::Link)?;
            let mut state = self.state();
            state.tree.link(ino.0, newparent.0, newname.as_bytes())?;
            attributes_of(&state.tree, ino.0)
        };
        answer_entry(reply, link());
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        answer_open(reply, self.state().tree.open(ino.0).map(|()| 0));
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.state().tree.close(ino.0);
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_bytes(ino.0, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_bytes(ino.0, offset, data) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.enter(Call::Fsync));
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        answer_open(reply, self.list(ino.0));
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let state = self.state();
        let listing = state.listings.get(&handle.0).map_or(&[][..], Vec::as_slice);
        let first = usize::try_from(offset).unwrap_or(usize::MAX);
        for (place, entry) in listing.iter().enumerate().skip(first) {
            let name = OsStr::from_bytes(&entry.name);
            if reply.add(INodeNo(entry.number), place as u64 + 1, entry.kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.state().listings.remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let state = self.state();
        let blocks = self.capacity / CHUNK;
        let free = blocks.saturating_sub(state.tree.space() / CHUNK);
        let files = state.tree.nodes().len() as u64;
        let size = CHUNK as u32;
        reply.statfs(
            blocks,
            free,
            free,
            files,
            0,
            size,
            LONGEST_NAME as u32,
            size,
        );
    }
}
