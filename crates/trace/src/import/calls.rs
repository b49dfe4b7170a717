//! Converts system calls in strace's notation to operations of a trace.

mod data;
mod names;

use std::cell::RefCell;
use std::rc::Rc;

use super::errno;
use super::fs_model::{Inode, InodeType};
use super::line::{descriptor, string};
use super::tasks::{CallContext, Importer, OpenDescription, waited_for};
use crate::paths::PathId;
use crate::trace::{Errno, OpenFlags, Syscall, SyscallResult};

/// Flags of `open` by name.
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

/// Resolves a path against a directory and removes `.`, `..` and double slashes.
pub fn normalize_path(directory: &[u8], path: &[u8]) -> Vec<u8> {
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

type Opened = Rc<RefCell<OpenDescription>>;

/// A call during its import, with access to its arguments by position.
struct ArgPositions<'a, 'b> {
    importer: &'a mut Importer,
    made: &'a CallContext<'b>,
}

/// Imports one call.
pub fn follow(importer: &mut Importer, made: &CallContext<'_>) {
    let mut at = ArgPositions { importer, made };
    // Calls with an unknown result, or interrupted ones, are ignored.
    if made.call.returned.is_some() || made.call.error.is_some() {
        at.follow();
    }
}

impl ArgPositions<'_, '_> {
    fn follow(&mut self) {
        let said = &self.made.call;
        let name = std::str::from_utf8(said.name).unwrap_or_default();
        match name {
            "clone" | "clone3" | "fork" | "vfork" => self.started(),
            "wait4" | "waitid" | "waitpid" => {
                if let Some(child) = waited_for(said) {
                    let made = self.made;
                    self.importer.process_reaped(made.task, made.at + made.duration, child);
                }
            }
            "execve" | "execveat" if said.error.is_none() => {
                self.importer.exec(self.made.task, self.made.at);
            }
            "chdir" => self.change_directory(0, None),
            "fchdir" => {
                let path = descriptor(said.argument(0)).and_then(|(_, path)| path);
                self.change_directory(0, path);
            }
            "umask" => {
                let mask = octal(said.argument(0)) & 0o777;
                self.importer.task(self.made.task).standing.umask.set(mask);
            }
            "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" => self.duplicate(name),
            "close" => self.close(),
            "close_range" => {
                self.importer.unseen.insert("descriptors that close_range closed");
            }
            "open" | "openat" | "creat" | "openat2" => self.open(name),
            "stat" | "lstat" | "stat64" | "lstat64" => self.stat(None, 0, name.starts_with('s'), 1),
            "newfstatat" | "fstatat64" => {
                let follows = !said.has_flag(3, "AT_SYMLINK_NOFOLLOW");
                self.stat(Some(0), 1, follows, 2);
            }
            "statx" => {
                let follows = !said.has_flag(2, "AT_SYMLINK_NOFOLLOW");
                self.stat(Some(0), 1, follows, 4);
            }
            "fstat" | "fstat64" => self.stat_handle(1),
            "access" => self.access(None, 0),
            "faccessat" | "faccessat2" => self.access(Some(0), 1),
            "readlink" => self.read_link(None, 0),
            "readlinkat" => self.read_link(Some(0), 1),
            "statfs" => drop(self.path(None, 0).map(|_| self.plain(Syscall::StatFilesystem))),
            "fstatfs" => drop(self.handle(0).map(|_| self.plain(Syscall::StatFilesystem))),
            "mkdir" => self.make_directory(None, 0),
            "mkdirat" => self.make_directory(Some(0), 1),
            "mknod" => self.make_pipe(None, 0),
            "mknodat" => self.make_pipe(Some(0), 1),
            "rmdir" => self.remove(None, 0, true),
            "unlink" => self.remove(None, 0, false),
            "unlinkat" => self.remove(Some(0), 1, said.has_flag(2, "AT_REMOVEDIR")),
            "rename" => self.rename(None, 0, None, 1),
            "renameat" | "renameat2" => self.rename(Some(0), 1, Some(2), 3),
            "link" => self.link(None, 0, None, 1),
            "linkat" => self.link(Some(0), 1, Some(2), 3),
            "symlink" => self.symlink(0, None, 1),
            "symlinkat" => self.symlink(0, Some(1), 2),
            "truncate" | "truncate64" => self.truncate(),
            "ftruncate" | "ftruncate64" => self.truncate_handle(),
            "chmod" => self.chmod(None, 0),
            "fchmodat" => self.chmod(Some(0), 1),
            "fchmod" => self.fchmod(),
            "chown" | "lchown" => {
                self.on_path(None, 0, |path| Syscall::ChangeOwner {
                    path,
                    follow: name == "chown",
                });
            }
            "fchownat" if !said.has_flag(4, "AT_EMPTY_PATH") => {
                let follow = !said.has_flag(4, "AT_SYMLINK_NOFOLLOW");
                self.on_path(Some(0), 1, |path| Syscall::ChangeOwner { path, follow });
            }
            "fchown" | "fchownat" => {
                self.on_handle(|handle| Syscall::ChangeOwnerHandle { handle: handle.handle });
            }
            "utime" | "utimes" => {
                self.on_path(None, 0, |path| Syscall::SetTimes { path, follow: true });
            }
            "utimensat" | "futimesat" => self.set_times(),
            "read" | "write" | "readv" | "writev" => self.data(name.starts_with('w'), None),
            "pread64" | "pwrite64" => self.data(name.starts_with("pw"), self.made.call.number(3)),
            "preadv" | "pwritev" | "preadv2" | "pwritev2" => {
                self.data(name.starts_with("pw"), self.made.call.number(3));
            }
            "sendfile" | "sendfile64" => self.send_file(),
            "copy_file_range" => self.copy_range(),
            "ioctl" => self.clone_file(),
            "lseek" | "_llseek" => self.seek(),
            "fsync" => self.on_handle(|o| Syscall::Sync { handle: o.handle, data_only: false }),
            "fdatasync" => self.on_handle(|o| Syscall::Sync { handle: o.handle, data_only: true }),
            "sync" => drop(self.plain(Syscall::SyncAll)),
            "syncfs" => drop(self.handle(0).map(|_| self.plain(Syscall::SyncAll))),
            "sync_file_range" => {
                let [offset, length] = [1, 2].map(|at| self.made.call.number(at).unwrap_or(0));
                self.on_handle(|o| Syscall::SyncRange { handle: o.handle, offset, length });
            }
            "fallocate" => self.allocate(),
            "fadvise64" | "posix_fadvise" => self.advise(),
            "getdents" | "getdents64" => self.list(),
            "flock" => self.on_handle(|o| Syscall::Lock { handle: o.handle }),
            "getxattr" | "lgetxattr" | "setxattr" | "lsetxattr" | "listxattr" | "llistxattr"
            | "removexattr" | "lremovexattr" => self.attribute(name),
            "mmap" | "mmap2" => self.map(),
            "io_uring_setup" => drop(self.importer.unseen.insert("operations through io_uring")),
            "splice" | "tee" | "vmsplice" => {
                self.importer.unseen.insert("what splice moved");
            }
            _ => {}
        }
    }

    /// Returns the error of this call if a filesystem would fail again in the same way.
    fn errno(&self) -> Result<(), Option<Errno>> {
        self.made.call.error.map_or(Ok(()), |name| Err(errno::errno_from_name(name)))
    }

    fn returned(&self) -> u64 {
        self.made.call.returned.unwrap_or(0)
    }

    fn directory_of(&mut self, descriptor_at: Option<usize>) -> Option<Vec<u8>> {
        let standing = Rc::clone(&self.importer.task(self.made.task).standing);
        let current = &standing.directory;
        let Some(at) = descriptor_at else {
            return current.borrow().clone().or_else(|| self.importer.below.clone());
        };
        let (number, path) = descriptor(self.made.call.argument(at))?;
        if number == -100
            && let Some(path) = &path
        {
            *current.borrow_mut() = Some(path.clone());
            self.importer.below.get_or_insert_with(|| path.clone());
        }
        path.or_else(|| current.borrow().clone())
    }

    /// Returns the permissions of a new file: the requested ones without the umask of its process.
    fn new_mode(&self, requested: &[u8]) -> u16 {
        octal(requested) & !self.importer.task(self.made.task).standing.umask.get() & 0o7777
    }

    /// Returns the path in an argument if it is below the directory.
    fn path(&mut self, descriptor_at: Option<usize>, at: usize) -> Option<PathId> {
        let directory = self.directory_of(descriptor_at).unwrap_or_else(|| b"/".to_vec());
        let path = string(self.made.call.argument(at))?;
        let path = normalize_path(&directory, &path);
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

    /// Returns the handle of a descriptor argument. If it was open before the recording, adds an
    /// `open` call first.
    fn handle(&mut self, at: usize) -> Option<Opened> {
        let (number, path) = descriptor(self.made.call.argument(at))?;
        if let Some(open) = self.importer.open(self.made.task, number) {
            return Some(open);
        }
        let path = self.inside(&normalize_path(b"/", &path?))?;
        let importer = &mut *self.importer;
        let node = importer.world.exists(&mut importer.paths, path, InodeType::File)?;
        importer.unseen.insert("how files were opened that were open before");
        let open = importer.opening(path, node, false);
        let handle = Some(open.borrow().handle);
        let directory = *importer.world.kind(node) == InodeType::Directory;
        let flags = OpenFlags(if directory { 0 } else { 2 });
        let call = Syscall::Open { path, flags, mode: 0, handle };
        importer.push(self.made.task, self.made.at, 0, call, SyscallResult::Ok(0));
        importer.install(self.made.task, number, Rc::clone(&open), false);
        Some(open)
    }

    /// Adds a call without effects on the known state. Returns true if it succeeded.
    fn plain(&mut self, call: Syscall) -> bool {
        match self.errno() {
            Ok(()) => {
                self.importer.done(self.made, call, SyscallResult::Ok(0));
                true
            }
            Err(Some(errno)) => {
                self.importer.failed(self.made, call, errno);
                false
            }
            Err(None) => false,
        }
    }

    /// Returns the node at a path that a call has found. Returns `None`, so that the call is
    /// omitted, if it cannot exist.
    fn found(&mut self, path: PathId, kind: InodeType) -> Option<Inode> {
        let node = self.importer.world.exists(&mut self.importer.paths, path, kind);
        if node.is_none() {
            self.importer.unseen.insert("who made some of the files");
        }
        node
    }

    /// Updates the known state of a path after a failed call.
    fn learn_from_failure(&mut self, path: PathId) {
        let importer = &mut *self.importer;
        match self.made.call.error {
            Some("ENOENT") => importer.world.observe_absent(&importer.paths, path),
            Some("EEXIST" | "ENOTEMPTY" | "EISDIR") => {
                let kind = match self.made.call.name {
                    b"mkdir" | b"mkdirat" | b"rmdir" | b"unlinkat" => InodeType::Directory,
                    _ => InodeType::File,
                };
                let _ = importer.world.exists(&mut importer.paths, path, kind);
            }
            _ => {}
        }
    }

    /// Adds a call on a path that must exist.
    fn on_path(&mut self, from: Option<usize>, at: usize, call: impl FnOnce(PathId) -> Syscall) {
        let Some(path) = self.path(from, at) else {
            return;
        };
        if self.made.call.error.is_some() {
            self.learn_from_failure(path);
        } else if self.found(path, InodeType::File).is_none() {
            return;
        }
        self.plain(call(path));
    }

    fn on_handle(&mut self, call: impl FnOnce(&OpenDescription) -> Syscall) {
        if let Some(open) = self.handle(0) {
            let call = call(&open.borrow());
            self.plain(call);
        }
    }

    fn started(&mut self) {
        let made = self.made;
        let flags = made.call.arguments.join(&b' ');
        if let Some(child) = made.call.returned.and_then(|number| u32::try_from(number).ok()) {
            self.importer.start(made.task, child, made.at, &flags);
        }
    }

    fn change_directory(&mut self, at: usize, known: Option<Vec<u8>>) {
        if self.made.call.error.is_some() {
            return;
        }
        let directory = self.directory_of(None).unwrap_or_else(|| b"/".to_vec());
        let path = known.or_else(|| string(self.made.call.argument(at)));
        let Some(path) = path.map(|path| normalize_path(&directory, &path)) else {
            return;
        };
        if let Some(inside) = self.inside(&path) {
            let _ = self.found(inside, InodeType::Directory);
        }
        *self.importer.task(self.made.task).standing.directory.borrow_mut() = Some(path);
    }

    fn duplicate(&mut self, name: &str) {
        let said = &self.made.call;
        let is_copy = !name.starts_with("fcntl")
            || said.has_flag(1, "F_DUPFD")
            || said.has_flag(1, "F_DUPFD_CLOEXEC");
        let Some((from, _)) = descriptor(said.argument(0)) else {
            return;
        };
        let closes = said.has_flag(1, "F_DUPFD_CLOEXEC") || said.has_flag(2, "O_CLOEXEC");
        let Some(to) = said.returned.and_then(|number| i32::try_from(number).ok()) else {
            return;
        };
        if !is_copy {
            if said.has_flag(1, "F_SETFD") {
                self.mark(from, said.has_flag(2, "FD_CLOEXEC"));
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
        if let Some((number, _)) = descriptor(made.call.argument(0)) {
            self.importer.close(made.task, made.at, made.duration, number);
        }
    }
}

fn octal(text: &[u8]) -> u16 {
    let digits = text.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    u16::from_str_radix(text, 8).unwrap_or(0)
}
