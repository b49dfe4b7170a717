//! System calls as strace says them, as operations of a trace.

use std::cell::RefCell;
use std::rc::Rc;

use super::errno;
use super::line::{Said, descriptor, has, number, string};
use super::tasks::{Importer, Made, Open, pipe, waited_for};
use super::world::{Kind, Node};
use crate::paths::PathId;
use crate::trace::{Call, Errno, OpenFlags, Outcome};

/// Words of `open`, with their flags.
const FLAGS: [(&str, u32); 15] = [
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_CREAT", OpenFlags::CREATE),
    ("O_EXCL", OpenFlags::EXCLUSIVE),
    ("O_TRUNC", OpenFlags::TRUNCATE),
    ("O_APPEND", OpenFlags::APPEND),
    ("O_DSYNC", OpenFlags::DATA_SYNC),
    ("O_DIRECT", OpenFlags::DIRECT),
    ("O_DIRECTORY", OpenFlags::DIRECTORY),
    ("O_NOFOLLOW", OpenFlags::NO_FOLLOW),
    ("O_SYNC", OpenFlags::SYNC | OpenFlags::DATA_SYNC),
    ("__O_SYNC", OpenFlags::SYNC),
    ("O_PATH", OpenFlags::PATH),
    ("O_TMPFILE", OpenFlags::TEMPORARY | OpenFlags::DIRECTORY),
    ("__O_TMPFILE", OpenFlags::TEMPORARY),
];

/// What `fallocate` keeps the size with.
const KEEP_SIZE: u8 = 1;

/// A path without `.`, `..` and double slashes, from a directory on.
pub fn normal(directory: &[u8], path: &[u8]) -> Vec<u8> {
    let whole = match path.first() {
        Some(b'/') => path.to_vec(),
        _ => [directory, b"/", path].concat(),
    };
    let mut names: Vec<&[u8]> = Vec::new();
    for name in whole.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    [b"/", &names.join(&b'/')[..]].concat()
}

type Opened = Rc<RefCell<Open>>;

/// Where the arguments of a call have what.
struct At<'a, 'b> {
    importer: &'a mut Importer,
    made: &'a Made<'b>,
}

/// Takes in one call.
pub fn follow(importer: &mut Importer, made: &Made<'_>) {
    let mut at = At { importer, made };
    // What strace does not know, and what was broken off, says nothing.
    if made.said.returned.is_some() || made.said.error.is_some() {
        at.follow();
    }
}

impl At<'_, '_> {
    fn follow(&mut self) {
        let said = &self.made.said;
        let name = std::str::from_utf8(said.name).unwrap_or_default();
        match name {
            "clone" | "clone3" | "fork" | "vfork" => self.started(),
            "wait4" | "waitid" | "waitpid" => {
                if let Some(child) = waited_for(said) {
                    let made = self.made;
                    self.importer.awaited(made.task, made.at + made.took, child);
                }
            }
            "execve" | "execveat" if said.error.is_none() => {
                self.importer.executed(self.made.task, self.made.at);
            }
            "chdir" => self.change_directory(0, None),
            "fchdir" => {
                let path = descriptor(said.argument(0)).and_then(|(_, path)| path);
                self.change_directory(0, path);
            }
            "umask" => {
                let mask = octal(said.argument(0));
                self.importer.world.mask = mask;
            }
            "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" => self.duplicate(name),
            "close" => self.close(),
            "close_range" => drop(
                self.importer
                    .unseen
                    .insert("descriptors that close_range closed"),
            ),
            "open" | "openat" | "creat" | "openat2" => self.open(name),
            "stat" | "lstat" | "stat64" | "lstat64" => self.stat(None, 0, name.starts_with('s'), 1),
            "newfstatat" | "fstatat64" => {
                let follows = !said.has(3, "AT_SYMLINK_NOFOLLOW");
                self.stat(Some(0), 1, follows, 2);
            }
            "statx" => {
                let follows = !said.has(2, "AT_SYMLINK_NOFOLLOW");
                self.stat(Some(0), 1, follows, 4);
            }
            "fstat" | "fstat64" => self.stat_handle(1),
            "access" => self.access(None, 0),
            "faccessat" | "faccessat2" => self.access(Some(0), 1),
            "readlink" => self.read_link(None, 0),
            "readlinkat" => self.read_link(Some(0), 1),
            "statfs" => drop(self.path(None, 0).map(|_| self.plain(Call::StatFilesystem))),
            "fstatfs" => drop(self.handle(0).map(|_| self.plain(Call::StatFilesystem))),
            "mkdir" => self.make_directory(None, 0),
            "mkdirat" => self.make_directory(Some(0), 1),
            "mknod" => self.make_pipe(None, 0),
            "mknodat" => self.make_pipe(Some(0), 1),
            "rmdir" => self.remove(None, 0, true),
            "unlink" => self.remove(None, 0, false),
            "unlinkat" => self.remove(Some(0), 1, said.has(2, "AT_REMOVEDIR")),
            "rename" => self.rename(None, 0, None, 1),
            "renameat" | "renameat2" => self.rename(Some(0), 1, Some(2), 3),
            "link" => self.link(None, 0, None, 1),
            "linkat" => self.link(Some(0), 1, Some(2), 3),
            "symlink" => self.symlink(0, None, 1),
            "symlinkat" => self.symlink(0, Some(1), 2),
            "truncate" | "truncate64" => self.truncate(),
            "ftruncate" | "ftruncate64" => self.truncate_handle(),
            "chmod" => self.change_mode(None, 0),
            "fchmodat" => self.change_mode(Some(0), 1),
            "fchmod" => self.change_mode_of_handle(),
            "chown" | "lchown" => self.on_path(None, 0, |path| Call::ChangeOwner {
                path,
                follow: name == "chown",
            }),
            "fchownat" => self.on_path(Some(0), 1, |path| Call::ChangeOwner { path, follow: true }),
            "fchown" => self.on_handle(|handle| Call::ChangeOwnerHandle {
                handle: handle.handle,
            }),
            "utime" | "utimes" => {
                self.on_path(None, 0, |path| Call::SetTimes { path, follow: true });
            }
            "utimensat" | "futimesat" => self.set_times(),
            "read" | "write" | "readv" | "writev" => self.data(name.starts_with('w'), None),
            "pread64" | "pwrite64" => self.data(name.starts_with("pw"), self.made.said.number(3)),
            "preadv" | "pwritev" | "preadv2" | "pwritev2" => {
                self.data(name.starts_with("pw"), self.made.said.number(3));
            }
            "sendfile" | "sendfile64" => self.send_file(),
            "copy_file_range" => self.copy_range(),
            "ioctl" => self.clone_file(),
            "lseek" | "_llseek" => self.seek(),
            "fsync" => self.on_handle(|o| Call::Sync {
                handle: o.handle,
                data_only: false,
            }),
            "fdatasync" => self.on_handle(|o| Call::Sync {
                handle: o.handle,
                data_only: true,
            }),
            "sync" => drop(self.plain(Call::SyncAll)),
            "syncfs" => drop(self.handle(0).map(|_| self.plain(Call::SyncAll))),
            "sync_file_range" => {
                let [offset, length] = [1, 2].map(|at| self.made.said.number(at).unwrap_or(0));
                self.on_handle(|o| Call::SyncRange {
                    handle: o.handle,
                    offset,
                    length,
                });
            }
            "fallocate" => self.allocate(),
            "fadvise64" | "posix_fadvise" => self.advise(),
            "getdents" | "getdents64" => self.list(),
            "flock" => self.on_handle(|o| Call::Lock { handle: o.handle }),
            "getxattr" | "lgetxattr" | "setxattr" | "lsetxattr" | "listxattr" | "llistxattr"
            | "removexattr" | "lremovexattr" => self.attribute(name),
            "mmap" | "mmap2" => self.map(),
            "io_uring_setup" => drop(
                self.importer
                    .unseen
                    .insert("what was asked for by io_uring"),
            ),
            "splice" | "tee" | "vmsplice" => {
                self.importer.unseen.insert("what splice moved");
            }
            _ => {}
        }
    }

    /// The error of this call, where it is one that a filesystem gives again.
    fn errno(&self) -> Result<(), Option<Errno>> {
        self.made
            .said
            .error
            .map_or(Ok(()), |name| Err(errno::of(name)))
    }

    fn returned(&self) -> u64 {
        self.made.said.returned.unwrap_or(0)
    }

    fn directory_of(&mut self, descriptor_at: Option<usize>) -> Option<Vec<u8>> {
        let current = Rc::clone(&self.importer.task(self.made.task).directory);
        let Some(at) = descriptor_at else {
            return current
                .borrow()
                .clone()
                .or_else(|| self.importer.below.clone());
        };
        let (number, path) = descriptor(self.made.said.argument(at))?;
        if number == -100
            && let Some(path) = &path
        {
            *current.borrow_mut() = Some(path.clone());
            self.importer.below.get_or_insert_with(|| path.clone());
        }
        path.or_else(|| current.borrow().clone())
    }

    /// A path among the arguments, where it lies in the directory.
    fn path(&mut self, descriptor_at: Option<usize>, at: usize) -> Option<PathId> {
        let directory = self
            .directory_of(descriptor_at)
            .unwrap_or_else(|| b"/".to_vec());
        let path = string(self.made.said.argument(at))?;
        let path = normal(&directory, &path);
        let inside = self.inside(&path);
        if inside.is_none() {
            self.importer.elsewhere += 1;
        }
        inside
    }

    fn inside(&mut self, path: &[u8]) -> Option<PathId> {
        let below = self.importer.below.as_ref()?;
        let rest = path.strip_prefix(&below[..])?;
        match below == b"/" || rest.is_empty() || rest.starts_with(b"/") {
            true => Some(self.importer.paths.intern(rest)),
            false => None,
        }
    }

    /// What a descriptor among the arguments leads to. One that was open before the recording is opened first.
    fn handle(&mut self, at: usize) -> Option<Opened> {
        let (number, path) = descriptor(self.made.said.argument(at))?;
        if let Some(open) = self.importer.open(self.made.task, number) {
            return Some(open);
        }
        let path = self.inside(&normal(b"/", &path?))?;
        let importer = &mut *self.importer;
        let node = importer
            .world
            .exists(&mut importer.paths, path, Kind::File)?;
        importer
            .unseen
            .insert("how files were opened that were open before");
        let open = importer.opening(path, node, false);
        let handle = Some(open.borrow().handle);
        let directory = *importer.world.kind(node) == Kind::Directory;
        let flags = OpenFlags(if directory { 0 } else { 2 });
        let call = Call::Open {
            path,
            flags,
            mode: 0,
            handle,
        };
        importer.push(self.made.task, self.made.at, 0, call, Outcome::Done(0));
        importer.install(self.made.task, number, Rc::clone(&open), false);
        Some(open)
    }

    /// Adds a call that changes nothing that has to be known; says whether it succeeded.
    fn plain(&mut self, call: Call) -> bool {
        match self.errno() {
            Ok(()) => {
                self.importer.done(self.made, call, Outcome::Done(0));
                true
            }
            Err(Some(errno)) => {
                self.importer.failed(self.made, call, errno);
                false
            }
            Err(None) => false,
        }
    }

    /// What is at a path, which a call has found. The call is left out where that cannot be.
    fn found(&mut self, path: PathId, kind: Kind) -> Option<Node> {
        let node = self
            .importer
            .world
            .exists(&mut self.importer.paths, path, kind);
        if node.is_none() {
            self.importer.unseen.insert("who made some of the files");
        }
        node
    }

    /// What a failure says of a path.
    fn learn_from_failure(&mut self, path: PathId) {
        let importer = &mut *self.importer;
        match self.made.said.error {
            Some("ENOENT") => importer.world.missing(&importer.paths, path),
            Some("EEXIST" | "ENOTEMPTY" | "EISDIR") => {
                let kind = match self.made.said.name {
                    b"mkdir" | b"mkdirat" | b"rmdir" | b"unlinkat" => Kind::Directory,
                    _ => Kind::File,
                };
                let _ = importer.world.exists(&mut importer.paths, path, kind);
            }
            _ => {}
        }
    }

    /// A call on a path that has to be there.
    fn on_path(&mut self, from: Option<usize>, at: usize, call: impl FnOnce(PathId) -> Call) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.said.error.is_some() {
            self.learn_from_failure(path);
        } else if self.found(path, Kind::File).is_none() {
            return;
        }
        self.plain(call(path));
    }

    fn on_handle(&mut self, call: impl FnOnce(&Open) -> Call) {
        if let Some(open) = self.handle(0) {
            let call = call(&open.borrow());
            self.plain(call);
        }
    }

    fn started(&mut self) {
        let made = self.made;
        let flags = made.said.arguments.join(&b' ');
        if let Some(child) = made
            .said
            .returned
            .and_then(|number| u32::try_from(number).ok())
        {
            self.importer.start(made.task, child, made.at, &flags);
        }
    }

    fn change_directory(&mut self, at: usize, known: Option<Vec<u8>>) {
        if self.made.said.error.is_some() {
            return;
        }
        let directory = self.directory_of(None).unwrap_or_else(|| b"/".to_vec());
        let path = known.or_else(|| string(self.made.said.argument(at)));
        let Some(path) = path.map(|path| normal(&directory, &path)) else {
            return;
        };
        if let Some(inside) = self.inside(&path) {
            let _ = self.found(inside, Kind::Directory);
        }
        *self.importer.task(self.made.task).directory.borrow_mut() = Some(path);
    }

    fn duplicate(&mut self, name: &str) {
        let said = &self.made.said;
        let is_copy =
            !name.starts_with("fcntl") || said.has(1, "F_DUPFD") || said.has(1, "F_DUPFD_CLOEXEC");
        let Some((from, _)) = descriptor(said.argument(0)) else {
            return;
        };
        let closes = said.has(1, "F_DUPFD_CLOEXEC") || said.has(2, "O_CLOEXEC");
        let Some(to) = said.returned.and_then(|number| i32::try_from(number).ok()) else {
            return;
        };
        if !is_copy {
            if said.has(1, "F_SETFD") {
                self.mark(from, said.has(2, "FD_CLOEXEC"));
            }
            return;
        }
        let open = self.handle(0);
        if from == to {
            return;
        }
        let made = self.made;
        self.importer.close(made.task, made.at, 0, to);
        if let Some(open) = open {
            self.importer.install(made.task, to, open, closes);
        }
    }

    fn mark(&mut self, descriptor: i32, closes: bool) {
        let table = Rc::clone(&self.importer.task(self.made.task).table);
        if let Some((_, marked)) = table.borrow_mut().get_mut(&descriptor) {
            *marked = closes;
        }
    }

    fn close(&mut self) {
        let made = self.made;
        if let Some((number, _)) = descriptor(made.said.argument(0)) {
            self.importer.close(made.task, made.at, made.took, number);
        }
    }

    fn open(&mut self, name: &str) {
        let (from, at) = if name.starts_with("openat") {
            (Some(0), 1)
        } else {
            (None, 0)
        };
        let Some(path) = self.path(from, at) else {
            return;
        };
        let said = &self.made.said;
        let words = said.argument(at + 1);
        let mut flags = FLAGS
            .iter()
            .filter(|(word, _)| has(words, word))
            .fold(0, |all, f| all | f.1);
        let mut mode = octal(said.argument(at + 2));
        if name == "creat" {
            flags = 1 | OpenFlags::CREATE | OpenFlags::TRUNCATE;
            mode = octal(said.argument(1));
        }
        let flags = OpenFlags(flags & OpenFlags::KEPT);
        let call = |handle| Call::Open {
            path,
            flags,
            mode,
            handle,
        };
        if said.error.is_some() {
            self.learn_from_failure(path);
            self.plain(call(None));
            return;
        }
        let descriptor = i32::try_from(self.returned()).unwrap_or(-1);
        let importer = &mut *self.importer;
        let (world, paths) = (&mut importer.world, &mut importer.paths);
        let node = if flags.has(OpenFlags::TEMPORARY) {
            Some(world.nameless(mode))
        } else if flags.has(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
            world.make(paths, path, Kind::File, mode)
        } else if flags.has(OpenFlags::CREATE) {
            world.open_or_make(paths, path, mode)
        } else if flags.has(OpenFlags::DIRECTORY) {
            world.exists(paths, path, Kind::Directory)
        } else {
            world.exists(paths, path, Kind::File)
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
        importer.done(self.made, call(handle), Outcome::Done(0));
        importer.install(self.made.task, descriptor, open, has(words, "O_CLOEXEC"));
    }

    fn stat(&mut self, from: Option<usize>, at: usize, follow: bool, shown: usize) {
        let said = &self.made.said;
        if from.is_some() && string(said.argument(at)).is_some_and(|path| path.is_empty()) {
            return self.stat_handle(shown);
        }
        let Some(path) = self.path(from, at) else {
            return;
        };
        if said.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let Some(node) = self.found(path, Kind::File) else {
                return;
            };
            let is_link = matches!(self.importer.world.kind(node), Kind::Symlink(_));
            if !(follow && is_link) {
                self.learn(node, shown);
            }
        }
        self.plain(Call::Stat { path, follow });
    }

    fn stat_handle(&mut self, shown: usize) {
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            self.learn(node, shown);
            self.plain(Call::StatHandle { handle });
        }
    }

    /// What a call has shown of something: `{st_mode=S_IFREG|0644, st_size=6, ...}`.
    fn learn(&mut self, node: Node, shown: usize) {
        let text = self.made.said.argument(shown);
        let value = |name: &[u8]| {
            let at = text.windows(name.len()).position(|window| window == name)?;
            text[at + name.len()..]
                .split(|byte| matches!(byte, b',' | b'}'))
                .next()
        };
        let Some(mode) = value(b"st_mode=").or_else(|| value(b"stx_mode=")) else {
            return;
        };
        let kind = [
            ("S_IFDIR", Kind::Directory),
            ("S_IFLNK", Kind::Symlink(Vec::new())),
            ("S_IFIFO", Kind::Pipe),
            ("S_IFSOCK", Kind::Pipe),
        ];
        let kind = kind
            .into_iter()
            .find(|(word, _)| has(mode, word))
            .map_or(Kind::File, |k| k.1);
        let is_file = kind == Kind::File;
        let bits = mode.rsplit(|byte| *byte == b'|').next().unwrap_or_default();
        if self.made.said.error.is_none() {
            self.importer.world.seen(node, kind, octal(bits) & 0o7777);
        }
        let size = value(b"st_size=")
            .or_else(|| value(b"stx_size="))
            .and_then(number);
        if let Some(size) = size.filter(|_| is_file) {
            self.importer.world.seen_size(node, size);
        }
    }

    fn access(&mut self, from: Option<usize>, at: usize) {
        let modes = [("R_OK", 4), ("W_OK", 2), ("X_OK", 1)];
        let said = &self.made.said;
        let mode = modes
            .iter()
            .filter(|(word, _)| said.has(at + 1, word))
            .fold(0, |all, m| all | m.1);
        self.on_path(from, at, |path| Call::Access { path, mode });
    }

    fn read_link(&mut self, from: Option<usize>, at: usize) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.said.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let text = string(self.made.said.argument(at + 1));
            let text = text.unwrap_or_else(|| b"unknown".to_vec());
            let Some(node) = self.found(path, Kind::Symlink(text.clone())) else {
                return;
            };
            self.importer.world.seen_text(node, text);
        }
        self.plain(Call::ReadLink { path });
    }

    /// A name is made: what is made there, and the call for it.
    fn make(&mut self, path: PathId, kind: Kind, mode: u16, call: Call) {
        if self.made.said.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let importer = &mut *self.importer;
            if importer
                .world
                .make(&mut importer.paths, path, kind, mode)
                .is_none()
            {
                importer.unseen.insert("who removed some of the files");
                return;
            }
        }
        self.plain(call);
    }

    fn make_directory(&mut self, from: Option<usize>, at: usize) {
        let mode = octal(self.made.said.argument(at + 1));
        if let Some(path) = self.path(from, at) {
            self.make(
                path,
                Kind::Directory,
                mode,
                Call::MakeDirectory { path, mode },
            );
        }
    }

    fn make_pipe(&mut self, from: Option<usize>, at: usize) {
        let text = self.made.said.argument(at + 1);
        let bits = text.rsplit(|byte| *byte == b'|').next().unwrap_or_default();
        let mode = octal(bits);
        if let Some(path) = self.path(from, at) {
            self.make(path, Kind::Pipe, mode, Call::MakePipe { path, mode });
        }
    }

    fn symlink(&mut self, text: usize, from: Option<usize>, at: usize) {
        let text = string(self.made.said.argument(text)).unwrap_or_default();
        if let Some(path) = self.path(from, at) {
            let call = Call::Symlink {
                text: text.clone(),
                path,
            };
            self.make(path, Kind::Symlink(text), 0o777, call);
        }
    }

    fn remove(&mut self, from: Option<usize>, at: usize, directory: bool) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        let call = match directory {
            true => Call::RemoveDirectory { path },
            false => Call::Unlink { path },
        };
        if self.made.said.error.is_some() {
            self.learn_from_failure(path);
        } else {
            let kind = if directory {
                Kind::Directory
            } else {
                Kind::File
            };
            if self.found(path, kind).is_none() {
                return;
            }
            self.importer.world.remove(&self.importer.paths, path);
        }
        self.plain(call);
    }

    fn rename(
        &mut self,
        from_directory: Option<usize>,
        from: usize,
        to_directory: Option<usize>,
        to: usize,
    ) {
        let words = self.made.said.argument(to + 1);
        let exchanges = has(words, "RENAME_EXCHANGE");
        let flags = u8::from(has(words, "RENAME_NOREPLACE")) | u8::from(exchanges) << 1;
        let (Some(from), Some(to)) = (self.path(from_directory, from), self.path(to_directory, to))
        else {
            self.importer.unseen.insert("renames from and to elsewhere");
            return;
        };
        if self.made.said.error.is_none() {
            if self.found(from, Kind::File).is_none() {
                return;
            }
            self.importer
                .world
                .rename(&mut self.importer.paths, from, to, exchanges);
        }
        self.plain(Call::Rename { from, to, flags });
    }

    fn link(
        &mut self,
        from_directory: Option<usize>,
        from: usize,
        to_directory: Option<usize>,
        to: usize,
    ) {
        let by_descriptor = self.made.said.has(to + 1, "AT_EMPTY_PATH");
        if by_descriptor {
            let Some((open, to)) = self.handle(0).zip(self.path(to_directory, to)) else {
                return;
            };
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Call::LinkHandle { handle, to }) {
                self.importer.world.link(&mut self.importer.paths, node, to);
            }
            return;
        }
        let (Some(from), Some(to)) = (self.path(from_directory, from), self.path(to_directory, to))
        else {
            self.importer.unseen.insert("links from elsewhere");
            return;
        };
        if self.made.said.error.is_some() {
            self.learn_from_failure(to);
        } else {
            let Some(node) = self.found(from, Kind::File) else {
                return;
            };
            self.importer.world.link(&mut self.importer.paths, node, to);
        }
        self.plain(Call::Link { from, to });
    }

    fn truncate(&mut self) {
        let size = self.made.said.number(1).unwrap_or(0);
        let Some(path) = self.path(None, 0) else {
            return;
        };
        if self.made.said.error.is_none() {
            let Some(node) = self.found(path, Kind::File) else {
                return;
            };
            self.importer.world.resize(node, size);
        }
        self.plain(Call::Truncate { path, size });
    }

    fn truncate_handle(&mut self) {
        let size = self.made.said.number(1).unwrap_or(0);
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Call::TruncateHandle { handle, size }) {
                self.importer.world.resize(node, size);
            }
        }
    }

    fn change_mode(&mut self, from: Option<usize>, at: usize) {
        let mode = octal(self.made.said.argument(at + 1));
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.said.error.is_none() {
            let Some(node) = self.found(path, Kind::File) else {
                return;
            };
            self.importer.world.change_mode(node, mode);
        }
        self.plain(Call::ChangeMode { path, mode });
    }

    fn change_mode_of_handle(&mut self) {
        let mode = octal(self.made.said.argument(1));
        if let Some(open) = self.handle(0) {
            let (handle, node) = (open.borrow().handle, open.borrow().node);
            if self.plain(Call::ChangeModeHandle { handle, mode }) {
                self.importer.world.change_mode(node, mode);
            }
        }
    }

    fn set_times(&mut self) {
        if self.made.said.argument(1) == b"NULL" {
            return self.on_handle(|open| Call::SetTimesHandle {
                handle: open.handle,
            });
        }
        let follow = !self.made.said.has(3, "AT_SYMLINK_NOFOLLOW");
        self.on_path(Some(0), 1, |path| Call::SetTimes { path, follow });
    }

    fn attribute(&mut self, name: &str) {
        let said = &self.made.said;
        let attribute = string(said.argument(1)).unwrap_or_default();
        let length = said
            .number(3)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0);
        let name = name.trim_start_matches('l');
        self.on_path(None, 0, |path| match name {
            "setxattr" => Call::SetAttribute {
                path,
                name: attribute,
                length,
            },
            "removexattr" => Call::RemoveAttribute {
                path,
                name: attribute,
            },
            "getxattr" => Call::GetAttribute {
                path,
                name: attribute,
            },
            _ => Call::ListAttributes { path },
        });
    }

    /// Reads or writes, at the place of the descriptor where none is said.
    fn data(&mut self, writes: bool, place: Option<u64>) {
        let made = self.made;
        let count = self.returned();
        if let Some(pipe) = pipe(made.said.argument(0)) {
            match writes {
                true => self.importer.sent(made.task, made.at, pipe),
                false => self
                    .importer
                    .received(made.task, made.at + made.took, &pipe),
            }
            return;
        }
        let Some(open) = self.handle(0) else {
            return;
        };
        // What was asked for stands in single calls; those of vectors say what they have done.
        let vectors = made.said.name.ends_with(b"v") || made.said.name.ends_with(b"v2");
        let asked = made.said.number(2).filter(|_| !vectors).unwrap_or(count);
        self.transfer(&open, writes, place, asked, count);
    }

    fn transfer(
        &mut self,
        open: &Opened,
        writes: bool,
        place: Option<u64>,
        length: u64,
        count: u64,
    ) {
        let (handle, node, position, appends) = {
            let open = open.borrow();
            (open.handle, open.node, open.position, open.appends)
        };
        let offset = match place {
            Some(place) => place,
            None if writes && appends => self.importer.world.size(node),
            None => position,
        };
        let call = match writes {
            true => Call::Write {
                handle,
                offset,
                length,
            },
            false => Call::Read {
                handle,
                offset,
                length,
            },
        };
        match self.errno() {
            Err(Some(errno)) => return self.importer.failed(self.made, call, errno),
            Err(None) => return,
            Ok(()) => {}
        }
        self.importer.done(self.made, call, Outcome::Done(count));
        let end = offset.saturating_add(count);
        match writes {
            true => self.importer.world.grow(node, end),
            false if count > 0 => self.importer.world.seen_size(node, end),
            false => {}
        }
        if place.is_none() {
            open.borrow_mut().position = end;
        }
    }

    fn send_file(&mut self) {
        if self.made.said.error.is_some() {
            return;
        }
        let (count, to, from) = (self.returned(), self.handle(0), self.handle(1));
        let place = self.made.said.argument(2).strip_prefix(b"[").map(|text| {
            text.split(|byte| !byte.is_ascii_digit())
                .next()
                .and_then(number)
                .unwrap_or(0)
        });
        if let Some(from) = from {
            self.transfer(&from, false, place, count, count);
        }
        if let Some(to) = to {
            self.transfer(&to, true, None, count, count);
        }
    }

    fn copy_range(&mut self) {
        let (from, to) = (self.handle(0), self.handle(2));
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        let length = self.made.said.number(4).unwrap_or(0);
        let place = |text: &[u8], open: &Opened| match text.strip_prefix(b"[") {
            Some(text) => {
                let digits = text.split(|byte| !byte.is_ascii_digit()).next();
                (digits.and_then(number).unwrap_or(0), false)
            }
            None => (open.borrow().position, true),
        };
        let (from_offset, from_moves) = place(self.made.said.argument(1), &from);
        let (to_offset, to_moves) = place(self.made.said.argument(3), &to);
        let count = self.returned();
        let call = Call::CopyRange {
            from: from.borrow().handle,
            to: to.borrow().handle,
            from_offset,
            to_offset,
            length,
            clone: false,
        };
        match self.errno() {
            Err(Some(errno)) => return self.importer.failed(self.made, call, errno),
            Err(None) => return,
            Ok(()) => drop(self.importer.done(self.made, call, Outcome::Done(count))),
        }
        let world = &mut self.importer.world;
        world.seen_size(
            from.borrow().node,
            if count > 0 { from_offset + count } else { 0 },
        );
        world.grow(to.borrow().node, to_offset + count);
        if from_moves {
            from.borrow_mut().position = from_offset + count;
        }
        if to_moves {
            to.borrow_mut().position = to_offset + count;
        }
    }

    fn clone_file(&mut self) {
        if !self.made.said.has(1, "FICLONE") {
            return;
        }
        let (Some(to), Some(from)) = (self.handle(0), self.handle(2)) else {
            return;
        };
        let size = self.importer.world.size(from.borrow().node);
        let call = Call::CopyRange {
            from: from.borrow().handle,
            to: to.borrow().handle,
            from_offset: 0,
            to_offset: 0,
            length: size,
            clone: true,
        };
        if self.plain(call) {
            self.importer.world.resize(to.borrow().node, size);
        }
    }

    fn map(&mut self) {
        if self.made.said.has(3, "MAP_SHARED") && self.handle(4).is_some() {
            let what = "what was written through shared mappings";
            self.importer.unseen.insert(what);
        }
    }

    fn seek(&mut self) {
        if self.made.said.error.is_none()
            && let Some(open) = self.handle(0)
        {
            let place = self.returned();
            let mut open = open.borrow_mut();
            open.position = place;
            open.listing = None;
            if self.made.said.has(2, "SEEK_END") && self.made.said.argument(1) == b"0" {
                self.importer.world.seen_size(open.node, place);
            }
        }
    }

    fn allocate(&mut self) {
        let said = &self.made.said;
        let words = [
            ("FALLOC_FL_KEEP_SIZE", KEEP_SIZE),
            ("FALLOC_FL_PUNCH_HOLE", 2),
            ("FALLOC_FL_COLLAPSE_RANGE", 8),
            ("FALLOC_FL_ZERO_RANGE", 16),
            ("FALLOC_FL_INSERT_RANGE", 32),
            ("FALLOC_FL_UNSHARE_RANGE", 64),
        ];
        let mode = words
            .iter()
            .filter(|(word, _)| said.has(1, word))
            .fold(0, |all, w| all | w.1);
        let [offset, length] = [2, 3].map(|at| said.number(at).unwrap_or(0));
        let Some(open) = self.handle(0) else {
            return;
        };
        let (handle, node) = (open.borrow().handle, open.borrow().node);
        if !self.plain(Call::Allocate {
            handle,
            mode,
            offset,
            length,
        }) {
            return;
        }
        let world = &mut self.importer.world;
        let size = world.size(node);
        match mode {
            8 => world.resize(node, size.saturating_sub(length)),
            32 => world.resize(node, size.saturating_add(length)),
            mode if mode & KEEP_SIZE == 0 => world.grow(node, offset.saturating_add(length)),
            _ => {}
        }
    }

    fn advise(&mut self) {
        let said = &self.made.said;
        let words = [
            "NORMAL",
            "RANDOM",
            "SEQUENTIAL",
            "WILLNEED",
            "DONTNEED",
            "NOREUSE",
        ];
        let found = words
            .iter()
            .position(|word| said.has(3, &format!("POSIX_FADV_{word}")));
        let advice = found.and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
        let [offset, length] = [1, 2].map(|at| said.number(at).unwrap_or(0));
        self.on_handle(|o| Call::Advise {
            handle: o.handle,
            offset,
            length,
            advice,
        });
    }

    /// Several calls list one directory.
    fn list(&mut self) {
        let Some(open) = self.handle(0) else {
            return;
        };
        let (handle, path, listing) = {
            let open = open.borrow();
            (open.handle, open.path, open.listing)
        };
        let _ = self.found(path, Kind::Directory);
        let found = entries(&self.made.said);
        let Some(at) = listing else {
            if self.plain(Call::List { handle }) {
                let at = self.importer.operations.len() - 1;
                self.importer.operations[at].outcome = Outcome::Done(found);
                open.borrow_mut().listing = (self.returned() > 0).then_some(at);
            }
            return;
        };
        if let Outcome::Done(names) = &mut self.importer.operations[at].outcome {
            *names += found;
        }
        if self.returned() == 0 {
            open.borrow_mut().listing = None;
        }
    }
}

/// How many names a call has listed: `/* 5 entries */`.
fn entries(said: &Said<'_>) -> u64 {
    let text = said.argument(1);
    let digits = text
        .split(|byte| !byte.is_ascii_digit())
        .find(|digits| !digits.is_empty());
    digits.filter(|_| text.starts_with(b"0x")).map_or(0, |_| {
        let words = text.split(u8::is_ascii_whitespace);
        let mut words = words.skip_while(|word| *word != b"/*").skip(1);
        words.next().and_then(number).unwrap_or(0)
    })
}

fn octal(text: &[u8]) -> u16 {
    let digits = text
        .split(|byte| !byte.is_ascii_digit())
        .next()
        .unwrap_or_default();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    u16::from_str_radix(text, 8).unwrap_or(0)
}
