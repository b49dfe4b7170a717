//! Calls on names: open, stat, create, remove, rename.

use std::rc::Rc;

use super::super::descriptors::Held;
use super::super::fs_model::{Inode, InodeType};
use super::super::line::{descriptor, has, number, string};
use super::super::resolve::own_descriptor;
use super::{ArgPositions, CallTarget, DEVICE, FLAGS, MADE, MOVED, Name, Opened, octal};
use crate::paths::PathId;
use crate::trace::{HandleId, OpenFlags, Syscall, SyscallResult};

/// Positions of the directory and the name in the arguments of a call.
type At = (Option<usize>, usize);

impl ArgPositions<'_, '_> {
    pub(super) fn open(&mut self, name: &str) {
        let (from, at) = if name.starts_with("openat") { (Some(0), 1) } else { (None, 0) };
        let said = &self.made.call;
        let words = said.argument(at + 1);
        let mut flags =
            FLAGS.iter().filter(|(word, _)| has(words, word)).fold(0, |all, f| all | f.1);
        let mut mode = said.argument(at + 2);
        match name {
            "creat" => {
                flags = 1 | OpenFlags::CREATE | OpenFlags::TRUNCATE;
                mode = said.argument(1);
            }
            "openat2" => mode = field(words, b"mode=").unwrap_or_default(),
            _ => {}
        }
        let flags = OpenFlags(flags & OpenFlags::KEPT);
        let exclusive = flags.has(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let follow = !exclusive && !flags.has(OpenFlags::NO_FOLLOW);
        let Some(Name { path, real }) = self.name(from, at, follow) else { return };
        let makes = flags.0 & (OpenFlags::CREATE | OpenFlags::TEMPORARY) != 0;
        let mode = if makes { self.new_mode(mode) } else { 0 };
        let call = |handle| Syscall::Open { path, flags, mode, handle };
        if self.failed() {
            self.learn_from_failure(real);
            self.plain(call(None));
            return;
        }
        let descriptor = i32::try_from(self.returned()).unwrap_or(-1);
        let importer = &mut *self.importer;
        let (world, paths) = (&mut importer.world, &mut importer.paths);
        if world.inode_at(paths, real).is_some_and(|node| *world.kind(node) == InodeType::Pipe) {
            // The data of a named pipe is not in the filesystem.
            if flags.writes() {
                let pipe = [importer.below.as_deref().unwrap_or_default(), b"/", &paths.full(real)];
                let held = Held::Pipe(Rc::new(pipe.concat()));
                importer.install(self.made.task, descriptor, held, has(words, "O_CLOEXEC"));
            }
            return;
        }
        let node = if flags.has(OpenFlags::TEMPORARY) {
            Some(world.add_anonymous(mode))
        } else if exclusive {
            world.make(paths, real, InodeType::File, mode)
        } else if flags.has(OpenFlags::CREATE) {
            world.open_or_make(paths, real, mode)
        } else if flags.has(OpenFlags::DIRECTORY) {
            world.exists(paths, real, InodeType::Directory)
        } else {
            world.exists(paths, real, InodeType::File)
        };
        let Some(node) = node else {
            importer.unseen.insert(MADE);
            return;
        };
        if flags.has(OpenFlags::TRUNCATE) {
            world.resize(node, 0);
        }
        let open = importer.opening(path, node, flags.has(OpenFlags::APPEND));
        let handle = Some(open.borrow().handle);
        importer.done(self.made, call(handle), SyscallResult::Ok(0));
        let held = Held::File(open);
        importer.install(self.made.task, descriptor, held, has(words, "O_CLOEXEC"));
    }

    pub(super) fn stat(&mut self, from: Option<usize>, at: usize, follow: bool, shown: usize) {
        match self.target(from, at, follow) {
            Some(CallTarget::Open(open)) => self.stat_open(&open, shown),
            Some(CallTarget::Name(Name { path, real })) if self.can_be(real) => {
                if !self.failed()
                    && let Some(node) = self.importer.world.inode_at(&self.importer.paths, real)
                    && !(follow && matches!(self.importer.world.kind(node), InodeType::Symlink(_)))
                {
                    self.learn(node, shown);
                }
                self.plain(Syscall::Stat { path, follow });
            }
            _ => {}
        }
    }

    pub(super) fn stat_handle(&mut self, shown: usize) {
        if let Some(open) = self.handle(0) {
            self.stat_open(&open, shown);
        }
    }

    fn stat_open(&mut self, open: &Opened, shown: usize) {
        let (handle, node) = (open.borrow().handle, open.borrow().node);
        self.learn(node, shown);
        self.plain(Syscall::StatHandle { handle });
    }

    /// Updates a node from a printed `stat` structure: `{st_mode=S_IFREG|0644, st_size=6, ...}`.
    pub(super) fn learn(&mut self, node: Inode, shown: usize) {
        let text = self.made.call.argument(shown);
        let Some(mode) = field(text, b"st_mode=").or_else(|| field(text, b"stx_mode=")) else {
            return;
        };
        let kind = [
            ("S_IFDIR", InodeType::Directory),
            ("S_IFLNK", InodeType::Symlink(Vec::new())),
            ("S_IFIFO", InodeType::Pipe),
            ("S_IFSOCK", InodeType::Pipe),
        ];
        let kind =
            kind.into_iter().find(|(word, _)| has(mode, word)).map_or(InodeType::File, |k| k.1);
        let is_file = kind == InodeType::File;
        if !self.failed() {
            self.importer.world.observe_type(node, kind, octal(bits(mode)) & 0o7777);
        }
        let size = field(text, b"st_size=").or_else(|| field(text, b"stx_size="));
        if let Some(size) = size.and_then(number).filter(|_| is_file) {
            self.importer.world.observe_size(node, size);
        }
    }

    pub(super) fn access(&mut self, from: Option<usize>, at: usize) {
        let modes = [("R_OK", 4), ("W_OK", 2), ("X_OK", 1)];
        let said = &self.made.call;
        let mode = modes
            .iter()
            .filter(|(word, _)| said.has_flag(at + 1, word))
            .fold(0, |all, m| all | m.1);
        self.on_name(from, at, true, |path| Syscall::Access { path, mode });
    }

    /// Adds a call on a name that must exist.
    fn on_name(
        &mut self,
        from: Option<usize>,
        at: usize,
        follow: bool,
        call: impl FnOnce(PathId) -> Syscall,
    ) {
        if let Some(Name { path, real }) = self.name(from, at, follow)
            && self.can_be(real)
        {
            self.plain(call(path));
        }
    }

    pub(super) fn read_link(&mut self, from: Option<usize>, at: usize) {
        let Some(Name { path, .. }) = self.name(from, at, false) else { return };
        if self.failed() {
            self.learn_from_failure(path);
        } else {
            let text = string(self.made.call.argument(at + 1));
            let text = text.unwrap_or_else(|| b"unknown".to_vec());
            let Some(node) = self.found(path, InodeType::Symlink(text.clone())) else { return };
            self.importer.world.observe_link_target(node, text);
        }
        self.counted(Syscall::ReadLink { path }, self.returned());
    }

    /// Records the creation of a name by a call, with its type and mode.
    fn make(&mut self, path: PathId, kind: InodeType, mode: u16, call: Syscall) -> bool {
        if self.failed() {
            self.learn_from_failure(path);
        } else {
            let importer = &mut *self.importer;
            if importer.world.make(&mut importer.paths, path, kind, mode).is_none() {
                importer.unseen.insert(MADE);
                return false;
            }
        }
        self.plain(call)
    }

    pub(super) fn make_directory(&mut self, from: Option<usize>, at: usize) {
        let mode = self.new_mode(self.made.call.argument(at + 1));
        if let Some(Name { path, .. }) = self.name(from, at, false) {
            self.make(path, InodeType::Directory, mode, Syscall::MakeDirectory { path, mode });
        }
    }

    /// Adds a new pipe, socket or file.
    pub(super) fn make_node(&mut self, from: Option<usize>, at: usize) {
        let text = self.made.call.argument(at + 1);
        let mode = self.new_mode(bits(text));
        let Some(Name { path, .. }) = self.name(from, at, false) else { return };
        if has(text, "S_IFIFO") || has(text, "S_IFSOCK") {
            self.make(path, InodeType::Pipe, mode, Syscall::MakePipe { path, mode });
        } else if has(text, "S_IFCHR") || has(text, "S_IFBLK") {
            self.importer.unseen.insert(DEVICE);
        } else {
            let flags = OpenFlags(1 | OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
            let handle = (!self.failed()).then(|| self.importer.next_handle());
            let call = Syscall::Open { path, flags, mode, handle };
            if self.make(path, InodeType::File, mode, call)
                && let Some(handle) = handle
            {
                self.plain(Syscall::Close { handle });
            }
        }
    }

    /// Adds the file of a socket.
    pub(super) fn bind(&mut self) {
        let Some(text) = field(self.made.call.argument(1), b"sun_path=").and_then(string) else {
            return;
        };
        let directory = self.directory_of(None).unwrap_or_else(|| b"/".to_vec());
        let found = self.importer.resolve(self.made.task, &directory, &text, false).shown;
        if let Some(path) = self.importer.inside(&found) {
            let mode = self.new_mode(b"777");
            self.make(path, InodeType::Pipe, mode, Syscall::MakePipe { path, mode });
        }
    }

    pub(super) fn symlink(&mut self, text: usize, from: Option<usize>, at: usize) {
        let text = string(self.made.call.argument(text)).unwrap_or_default();
        if let Some(Name { path, .. }) = self.name(from, at, false) {
            let call = Syscall::Symlink { text: text.clone(), path };
            self.make(path, InodeType::Symlink(text), 0o777, call);
        }
    }

    pub(super) fn remove(&mut self, from: Option<usize>, at: usize, directory: bool) {
        let Some(Name { path, .. }) = self.name(from, at, false) else { return };
        let call = match directory {
            true => Syscall::RemoveDirectory { path },
            false => Syscall::Unlink { path },
        };
        self.removed(path, directory, call);
    }

    fn removed(&mut self, path: PathId, directory: bool, call: Syscall) {
        if self.failed() {
            self.learn_from_failure(path);
        } else {
            let kind = if directory { InodeType::Directory } else { InodeType::File };
            if self.found(path, kind).is_none() {
                return;
            }
            self.importer.world.remove(&self.importer.paths, path);
        }
        self.plain(call);
    }

    pub(super) fn rename(&mut self, from: At, to: At) {
        let words = self.made.call.argument(to.1 + 1);
        let exchanges = has(words, "RENAME_EXCHANGE");
        let flags = u8::from(has(words, "RENAME_NOREPLACE")) | u8::from(exchanges) << 1;
        match (self.name(from.0, from.1, false), self.name(to.0, to.1, false)) {
            (Some(from), Some(to)) => {
                let (from, to) = (from.path, to.path);
                if !self.failed() {
                    if self.found(from, InodeType::File).is_none() {
                        return;
                    }
                    self.importer.world.rename(&self.importer.paths, from, to, exchanges);
                }
                self.plain(Syscall::Rename { from, to, flags });
            }
            (Some(Name { path, .. }), None) if !self.failed() => {
                self.importer.unseen.insert(MOVED);
                self.removed(path, false, Syscall::Unlink { path });
            }
            (None, Some(to)) => self.came(to.path),
            _ => {}
        }
    }

    pub(super) fn link(&mut self, from: At, to: At) {
        if let Some(open) = self.linked(from, to.1 + 1) {
            let Some(Name { path: to, .. }) = self.name(to.0, to.1, false) else { return };
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Syscall::LinkHandle { handle, to }) {
                self.importer.world.link(&mut self.importer.paths, node, to);
            }
            return;
        }
        let follow = self.made.call.has_flag(to.1 + 1, "AT_SYMLINK_FOLLOW");
        match (self.name(from.0, from.1, follow), self.name(to.0, to.1, false)) {
            (Some(from), Some(to)) => {
                if self.failed() {
                    self.learn_from_failure(to.path);
                } else {
                    let Some(node) = self.found(from.real, InodeType::File) else { return };
                    self.importer.world.link(&mut self.importer.paths, node, to.path);
                }
                self.plain(Syscall::Link { from: from.path, to: to.path });
            }
            (None, Some(to)) => self.came(to.path),
            _ => {}
        }
    }

    /// Returns the open file that a call links to a name. The call refers to it by its descriptor,
    /// or by its path in `/proc`. Source: `O_TMPFILE` in open(2).
    fn linked(&self, from: At, flags: usize) -> Option<Opened> {
        let text = string(self.made.call.argument(from.1))?;
        let number = match self.made.call.has_flag(flags, "AT_EMPTY_PATH") && text.is_empty() {
            true => descriptor(self.made.call.argument(0))?.0,
            false => own_descriptor(self.made.task, &text)?,
        };
        match self.importer.held(self.made.task, number)? {
            Held::File(open) => Some(open),
            Held::Pipe(_) => None,
        }
    }

    /// Adds a file that was moved in from elsewhere, as the calls that would have created it.
    fn came(&mut self, path: PathId) {
        if self.failed() {
            return;
        }
        let importer = &mut *self.importer;
        importer.unseen.insert(MOVED);
        let place =
            [importer.below.as_deref().unwrap_or_default(), b"/", &importer.paths.full(path)];
        let Some((length, mode)) = importer.surroundings.file(&place.concat()) else { return };
        let Some(node) = importer.world.make(&mut importer.paths, path, InodeType::File, mode)
        else {
            return;
        };
        importer.world.resize(node, length);
        let handle = importer.next_handle();
        let flags = OpenFlags(1 | OpenFlags::CREATE | OpenFlags::TRUNCATE);
        self.plain(Syscall::Open { path, flags, mode, handle: Some(handle) });
        if length > 0 {
            self.counted(Syscall::Write { handle, offset: 0, length }, length);
        }
        self.plain(Syscall::Close { handle });
    }

    pub(super) fn truncate(&mut self) {
        let size = self.made.call.number(1).unwrap_or(0);
        let Some(Name { path, real }) = self.name(None, 0, true) else { return };
        if !self.failed() {
            let Some(node) = self.found(real, InodeType::File) else { return };
            self.importer.world.resize(node, size);
        }
        self.plain(Syscall::Truncate { path, size });
    }

    pub(super) fn truncate_handle(&mut self) {
        let size = self.made.call.number(1).unwrap_or(0);
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Syscall::TruncateHandle { handle, size }) {
                self.importer.world.resize(node, size);
            }
        }
    }

    pub(super) fn chmod(&mut self, from: Option<usize>, at: usize, follow: bool) {
        let mode = octal(self.made.call.argument(at + 1));
        match self.target(from, at, follow) {
            Some(CallTarget::Open(open)) => self.chmod_open(&open, mode),
            Some(CallTarget::Name(Name { path, real })) => {
                if !self.failed() {
                    let Some(node) = self.found(real, InodeType::File) else { return };
                    self.importer.world.change_mode(node, mode);
                }
                self.plain(Syscall::ChangeMode { path, mode });
            }
            None => {}
        }
    }

    pub(super) fn fchmod(&mut self) {
        let mode = octal(self.made.call.argument(1));
        if let Some(open) = self.handle(0) {
            self.chmod_open(&open, mode);
        }
    }

    fn chmod_open(&mut self, open: &Opened, mode: u16) {
        let (handle, node) = (open.borrow().handle, open.borrow().node);
        if self.plain(Syscall::ChangeModeHandle { handle, mode }) {
            self.importer.world.change_mode(node, mode);
        }
    }

    pub(super) fn chown(&mut self, from: Option<usize>, at: usize, follow: bool) {
        self.on_target(
            (from, at),
            follow,
            |path| Syscall::ChangeOwner { path, follow },
            |open| Syscall::ChangeOwnerHandle { handle: open },
        );
    }

    pub(super) fn set_times(&mut self, from: Option<usize>, at: usize, follow: bool) {
        self.on_target(
            (from, at),
            follow,
            |path| Syscall::SetTimes { path, follow },
            |open| Syscall::SetTimesHandle { handle: open },
        );
    }

    /// Adds a call on a name or an open file.
    fn on_target(
        &mut self,
        (from, at): At,
        follow: bool,
        by_name: impl FnOnce(PathId) -> Syscall,
        by_handle: impl FnOnce(HandleId) -> Syscall,
    ) {
        let call = match self.target(from, at, follow) {
            Some(CallTarget::Open(open)) => by_handle(open.borrow().handle),
            Some(CallTarget::Name(Name { path, real })) if self.can_be(real) => by_name(path),
            _ => return,
        };
        self.plain(call);
    }

    /// Handles a call on an extended attribute: `lgetxattr` and similar names.
    pub(super) fn attribute(&mut self, name: &str, kind: &str) {
        let said = &self.made.call;
        let attribute = string(said.argument(1)).unwrap_or_default();
        let length = said.number(3).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        // `listxattr` begins with the letter of `lgetxattr`.
        let follow = name == kind;
        let found = match name.starts_with('f') {
            true => self.handle(0).and_then(|_| {
                let path = descriptor(self.made.call.argument(0))?.1?;
                let path = self.importer.inside(&path)?;
                Some(Name { path, real: path })
            }),
            false => self.name(None, 0, follow),
        };
        let Some(Name { path, real }) = found else { return };
        if !self.can_be(real) {
            return;
        }
        let count = self.returned();
        match kind {
            "setxattr" => self.plain(Syscall::SetAttribute { path, name: attribute, length }),
            "removexattr" => self.plain(Syscall::RemoveAttribute { path, name: attribute }),
            "getxattr" => self.counted(Syscall::GetAttribute { path, name: attribute }, count),
            _ => self.counted(Syscall::ListAttributes { path }, count),
        };
    }
}

/// Returns the value of a field in a printed structure.
pub(super) fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(name.len()).position(|window| window == name)?;
    text[at + name.len()..].split(|byte| matches!(byte, b',' | b'}')).next()
}

/// Returns the permissions in a printed mode: `S_IFREG|0644`.
fn bits(mode: &[u8]) -> &[u8] {
    mode.rsplit(|byte| *byte == b'|').next().unwrap_or_default()
}
