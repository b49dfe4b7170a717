//! Calls on names: open, stat, create, remove, rename.

use super::super::fs_model::{Inode, InodeType};
use super::super::line::{has, number, string};
use super::{ArgPositions, FLAGS, octal};
use crate::paths::PathId;
use crate::trace::{OpenFlags, Syscall, SyscallResult};

impl ArgPositions<'_, '_> {
    pub(super) fn open(&mut self, name: &str) {
        let (from, at) = if name.starts_with("openat") { (Some(0), 1) } else { (None, 0) };
        let Some(path) = self.path(from, at) else {
            return;
        };
        let said = &self.made.call;
        let words = said.argument(at + 1);
        let mut flags =
            FLAGS.iter().filter(|(word, _)| has(words, word)).fold(0, |all, f| all | f.1);
        let mut mode = self.new_mode(said.argument(at + 2));
        if name == "creat" {
            flags = 1 | OpenFlags::CREATE | OpenFlags::TRUNCATE;
            mode = self.new_mode(said.argument(1));
        }
        let flags = OpenFlags(flags & OpenFlags::KEPT);
        let call = |handle| Syscall::Open { path, flags, mode, handle };
        if said.error.is_some() {
            self.learn_from_failure(path);
            self.plain(call(None));
            return;
        }
        let descriptor = i32::try_from(self.returned()).unwrap_or(-1);
        let importer = &mut *self.importer;
        let (world, paths) = (&mut importer.world, &mut importer.paths);
        let node = if flags.has(OpenFlags::TEMPORARY) {
            Some(world.add_anonymous(mode))
        } else if flags.has(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
            world.make(paths, path, InodeType::File, mode)
        } else if flags.has(OpenFlags::CREATE) {
            world.open_or_make(paths, path, mode)
        } else if flags.has(OpenFlags::DIRECTORY) {
            world.exists(paths, path, InodeType::Directory)
        } else {
            world.exists(paths, path, InodeType::File)
        };
        let Some(node) = node else {
            importer.unseen.insert("who made some of the files");
            return;
        };
        if flags.has(OpenFlags::TRUNCATE) {
            world.resize(node, 0);
        }
        let open = importer.opening(path, node, flags.has(OpenFlags::APPEND));
        let handle = Some(open.borrow().handle);
        importer.done(self.made, call(handle), SyscallResult::Ok(0));
        importer.install(self.made.task, descriptor, open, has(words, "O_CLOEXEC"));
    }

    pub(super) fn stat(&mut self, from: Option<usize>, at: usize, follow: bool, shown: usize) {
        let said = &self.made.call;
        if from.is_some() && string(said.argument(at)).is_some_and(|path| path.is_empty()) {
            return self.stat_handle(shown);
        }
        let Some(path) = self.path(from, at) else {
            return;
        };
        if said.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let Some(node) = self.found(path, InodeType::File) else {
                return;
            };
            let is_link = matches!(self.importer.world.kind(node), InodeType::Symlink(_));
            if !(follow && is_link) {
                self.learn(node, shown);
            }
        }
        self.plain(Syscall::Stat { path, follow });
    }

    pub(super) fn stat_handle(&mut self, shown: usize) {
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            self.learn(node, shown);
            self.plain(Syscall::StatHandle { handle });
        }
    }

    /// Updates a node from a printed `stat` structure: `{st_mode=S_IFREG|0644, st_size=6, ...}`.
    pub(super) fn learn(&mut self, node: Inode, shown: usize) {
        let text = self.made.call.argument(shown);
        let value = |name: &[u8]| {
            let at = text.windows(name.len()).position(|window| window == name)?;
            text[at + name.len()..].split(|byte| matches!(byte, b',' | b'}')).next()
        };
        let Some(mode) = value(b"st_mode=").or_else(|| value(b"stx_mode=")) else {
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
        let bits = mode.rsplit(|byte| *byte == b'|').next().unwrap_or_default();
        if self.made.call.error.is_none() {
            self.importer.world.observe_type(node, kind, octal(bits) & 0o7777);
        }
        let size = value(b"st_size=").or_else(|| value(b"stx_size=")).and_then(number);
        if let Some(size) = size.filter(|_| is_file) {
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
        self.on_path(from, at, |path| Syscall::Access { path, mode });
    }

    pub(super) fn read_link(&mut self, from: Option<usize>, at: usize) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.call.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let text = string(self.made.call.argument(at + 1));
            let text = text.unwrap_or_else(|| b"unknown".to_vec());
            let Some(node) = self.found(path, InodeType::Symlink(text.clone())) else {
                return;
            };
            self.importer.world.observe_link_target(node, text);
        }
        self.plain(Syscall::ReadLink { path });
    }

    /// Records the creation of a name by a call, with its type and mode.
    pub(super) fn make(&mut self, path: PathId, kind: InodeType, mode: u16, call: Syscall) {
        if self.made.call.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let importer = &mut *self.importer;
            if importer.world.make(&mut importer.paths, path, kind, mode).is_none() {
                importer.unseen.insert("who removed some of the files");
                return;
            }
        }
        self.plain(call);
    }

    pub(super) fn make_directory(&mut self, from: Option<usize>, at: usize) {
        let mode = self.new_mode(self.made.call.argument(at + 1));
        if let Some(path) = self.path(from, at) {
            self.make(path, InodeType::Directory, mode, Syscall::MakeDirectory { path, mode });
        }
    }

    pub(super) fn make_pipe(&mut self, from: Option<usize>, at: usize) {
        let text = self.made.call.argument(at + 1);
        let bits = text.rsplit(|byte| *byte == b'|').next().unwrap_or_default();
        let mode = self.new_mode(bits);
        if let Some(path) = self.path(from, at) {
            self.make(path, InodeType::Pipe, mode, Syscall::MakePipe { path, mode });
        }
    }

    pub(super) fn symlink(&mut self, text: usize, from: Option<usize>, at: usize) {
        let text = string(self.made.call.argument(text)).unwrap_or_default();
        if let Some(path) = self.path(from, at) {
            let call = Syscall::Symlink { text: text.clone(), path };
            self.make(path, InodeType::Symlink(text), 0o777, call);
        }
    }

    pub(super) fn remove(&mut self, from: Option<usize>, at: usize, directory: bool) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        let call = match directory {
            true => Syscall::RemoveDirectory { path },
            false => Syscall::Unlink { path },
        };
        if self.made.call.error.is_some() {
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

    pub(super) fn rename(
        &mut self,
        from_directory: Option<usize>,
        from: usize,
        to_directory: Option<usize>,
        to: usize,
    ) {
        let words = self.made.call.argument(to + 1);
        let exchanges = has(words, "RENAME_EXCHANGE");
        let flags = u8::from(has(words, "RENAME_NOREPLACE")) | u8::from(exchanges) << 1;
        let (Some(from), Some(to)) = (self.path(from_directory, from), self.path(to_directory, to))
        else {
            self.importer.unseen.insert("renames from and to elsewhere");
            return;
        };
        if self.made.call.error.is_none() {
            if self.found(from, InodeType::File).is_none() {
                return;
            }
            self.importer.world.rename(&mut self.importer.paths, from, to, exchanges);
        }
        self.plain(Syscall::Rename { from, to, flags });
    }

    pub(super) fn link(
        &mut self,
        from_directory: Option<usize>,
        from: usize,
        to_directory: Option<usize>,
        to: usize,
    ) {
        let by_descriptor = self.made.call.has_flag(to + 1, "AT_EMPTY_PATH");
        if by_descriptor {
            let Some((open, to)) = self.handle(0).zip(self.path(to_directory, to)) else {
                return;
            };
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Syscall::LinkHandle { handle, to }) {
                self.importer.world.link(&mut self.importer.paths, node, to);
            }
            return;
        }
        let (Some(from), Some(to)) = (self.path(from_directory, from), self.path(to_directory, to))
        else {
            self.importer.unseen.insert("links from elsewhere");
            return;
        };
        if self.made.call.error.is_some() {
            self.learn_from_failure(to);
        } else {
            let Some(node) = self.found(from, InodeType::File) else {
                return;
            };
            self.importer.world.link(&mut self.importer.paths, node, to);
        }
        self.plain(Syscall::Link { from, to });
    }

    pub(super) fn truncate(&mut self) {
        let size = self.made.call.number(1).unwrap_or(0);
        let Some(path) = self.path(None, 0) else {
            return;
        };
        if self.made.call.error.is_none() {
            let Some(node) = self.found(path, InodeType::File) else {
                return;
            };
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

    pub(super) fn chmod(&mut self, from: Option<usize>, at: usize) {
        let mode = octal(self.made.call.argument(at + 1));
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.call.error.is_none() {
            let Some(node) = self.found(path, InodeType::File) else {
                return;
            };
            self.importer.world.change_mode(node, mode);
        }
        self.plain(Syscall::ChangeMode { path, mode });
    }

    pub(super) fn fchmod(&mut self) {
        let mode = octal(self.made.call.argument(1));
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Syscall::ChangeModeHandle { handle, mode }) {
                self.importer.world.change_mode(node, mode);
            }
        }
    }

    pub(super) fn set_times(&mut self) {
        if self.made.call.argument(1) == b"NULL" {
            return self.on_handle(|open| Syscall::SetTimesHandle { handle: open.handle });
        }
        let follow = !self.made.call.has_flag(3, "AT_SYMLINK_NOFOLLOW");
        self.on_path(Some(0), 1, |path| Syscall::SetTimes { path, follow });
    }

    pub(super) fn attribute(&mut self, name: &str) {
        let said = &self.made.call;
        let attribute = string(said.argument(1)).unwrap_or_default();
        let length = said.number(3).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let name = name.trim_start_matches('l');
        self.on_path(None, 0, |path| match name {
            "setxattr" => Syscall::SetAttribute { path, name: attribute, length },
            "removexattr" => Syscall::RemoveAttribute { path, name: attribute },
            "getxattr" => Syscall::GetAttribute { path, name: attribute },
            _ => Syscall::ListAttributes { path },
        });
    }
}
