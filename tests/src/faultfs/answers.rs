//! FUSE interface of the fault driver: receives requests and sends replies. The driver performs the
//! operations.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::content::{CHUNK, Content};
use super::driver::{Driver, MAX_NAME, attributes_of, permissions};
use super::faults::Call;
use super::tree::{FaultErrno, FileOwner, NodeKind, TreeNode};

/// Time for which the kernel may cache an answer. The files change only through this mount.
const REMEMBERED: Duration = Duration::from_secs(60);
const FIRST: Generation = Generation(0);

fn errno(error: FaultErrno) -> fuser::Errno {
    fuser::Errno::from_i32(error)
}

fn owned(request: &Request, mode: u32, kind: NodeKind) -> TreeNode {
    let owner = FileOwner { mode: permissions(mode), uid: request.uid(), gid: request.gid() };
    TreeNode::new(kind, owner)
}

fn answer_entry(reply: ReplyEntry, result: Result<FileAttr, FaultErrno>) {
    match result {
        Ok(attributes) => reply.entry(&REMEMBERED, &attributes, FIRST),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer(reply: ReplyEmpty, result: Result<(), FaultErrno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_open(reply: ReplyOpen, result: Result<u64, FaultErrno>) {
    match result {
        Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_attributes(reply: ReplyAttr, result: Result<FileAttr, FaultErrno>) {
    match result {
        Ok(attributes) => reply.attr(&REMEMBERED, &attributes),
        Err(error) => reply.error(errno(error)),
    }
}

impl Filesystem for Driver {
    fn destroy(&mut self) {
        // An error cannot be reported at this point; the next mount finds the files missing.
        let _ = self.keep();
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
            Ok(NodeKind::Symlink(target)) => reply.data(target),
            Ok(NodeKind::File(_) | NodeKind::Directory(_)) => reply.error(fuser::Errno::EINVAL),
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
        let node = owned(request, mode, NodeKind::File(Content::default()));
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
        let node = owned(request, mode, NodeKind::Directory(BTreeMap::new()));
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
        let node = owned(request, 0o777, NodeKind::Symlink(target));
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
        let result =
            if flags.is_empty() { self.state().tree.rename(from, to) } else { Err(libc::EINVAL) };
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
        let blocks = self.capacity() / CHUNK;
        let free = blocks.saturating_sub(state.tree.space() / CHUNK);
        let files = state.tree.nodes().len() as u64;
        let size = CHUNK as u32;
        reply.statfs(blocks, free, free, files, 0, size, MAX_NAME as u32, size);
    }
}
