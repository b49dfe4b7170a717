//! Converts system calls in strace's notation to operations of a trace.

mod data;
mod names;

use std::cell::RefCell;
use std::rc::Rc;

use model::errno_number;

use super::descriptors::{Held, OpenDescription};
use super::fs_model::{Inode, InodeType};
use super::line::{descriptor, string};
use super::recording::InheritedFile;
use super::tasks::{CallContext, StraceImporter, waited_for};
use crate::paths::PathId;
use crate::trace::{Errno, OpenFlags, Syscall, SyscallResult};

/// Limitations of the log of a program, if it made certain calls.
const MAPPINGS: &str = "Files were mapped (mmap): the pages that were read and written through mappings are not in the trace.";
const PROGRAM: &str =
    "Programs below the directory were run: how the kernel read them is not in the trace.";
const RINGS: &str =
    "A program used io_uring or io_submit: what it did through these is not in the trace.";
const BY_NUMBER: &str = "A program opened files by handles or took descriptors of other processes: some of what it did with these is not in the trace.";
const NAMESPACES: &str =
    "A program mounted something or entered another namespace: names may have led elsewhere then.";
const PIPES: &str = "Data from memory to pipes and between pipes (vmsplice, tee) is not followed.";
const CONTROL: &str =
    "Flags of files (chattr) and requests to share equal data are not in the trace.";
const DEVICE: &str = "Creation of device nodes is omitted.";
const MOVED: &str = "Files were moved or linked into or out of the recorded directory: moves out are recorded as removals, files moved in as newly written, and other moves in are missing.";
const WRITE_FLAGS: &str = "Flags of single writes (pwritev2) are not in the trace.";
const OPENED_BEFORE: &str =
    "Some files were open before the recording: it is unknown how they were opened.";
const MADE: &str = "Some files appeared or disappeared without a call that is in the log.";

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

/// Splits a name before its last component. Slashes at the end belong to neither part.
pub fn split_path(name: &[u8]) -> (&[u8], &[u8]) {
    let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |end| end + 1);
    let slash = name[..end].iter().rposition(|byte| *byte == b'/');
    let (directory, last) = name.split_at(slash.map_or(0, |slash| slash + 1));
    (if end == 0 { name } else { directory }, &last[..end.saturating_sub(directory.len())])
}

type Opened = Rc<RefCell<OpenDescription>>;

/// A name below the directory.
#[derive(Clone, Copy)]
struct Name {
    /// Path in the trace.
    path: PathId,
    /// Path after all links that the call follows.
    real: PathId,
}

/// Target of a call that takes a name or a descriptor.
enum CallTarget {
    Name(Name),
    Open(Opened),
}

/// A call during its import, with access to its arguments by position.
struct ArgPositions<'a, 'b> {
    importer: &'a mut StraceImporter,
    made: &'a CallContext<'b>,
}

/// Imports one call.
pub fn follow(importer: &mut StraceImporter, made: &CallContext<'_>) {
    let mut at = ArgPositions { importer, made };
    // Calls with an unknown result, or interrupted ones, are ignored.
    if made.call.returned.is_some() || made.call.error.is_some() {
        at.follow();
    }
}

/// Adds an open file that the command inherits, as if the command had opened it.
pub fn inherit(importer: &mut StraceImporter, task: u32, at: u64, file: &InheritedFile) {
    let Some(path) = importer.inside(&file.path) else { return };
    let Some(node) = importer.world.exists(&mut importer.paths, path, InodeType::File) else {
        return;
    };
    let open = importer.opening(path, node, file.flags.has(OpenFlags::APPEND));
    open.borrow_mut().position = file.position;
    let handle = Some(open.borrow().handle);
    let call = Syscall::Open { path, flags: file.flags, mode: 0, handle };
    importer.push(task, at, 0, call, SyscallResult::Ok(0));
    importer.install(task, file.descriptor, Held::File(open), false);
}

impl ArgPositions<'_, '_> {
    fn follow(&mut self) {
        let said = &self.made.call;
        let name = std::str::from_utf8(said.name).unwrap_or_default();
        let no_follow = |at: usize| said.has_flag(at, "AT_SYMLINK_NOFOLLOW");
        match name {
            "clone" | "clone3" | "fork" | "vfork" => self.started(),
            "wait4" | "waitid" | "waitpid" => {
                if let Some(child) = waited_for(said) {
                    self.importer.process_reaped(self.made.task, self.made.end, child);
                }
            }
            "execve" => self.execute(None, 0),
            "execveat" => self.execute(Some(0), 1),
            "chdir" | "chroot" => self.change_directory(name == "chroot"),
            "fchdir" if said.error.is_none() => {
                let path = descriptor(said.argument(0)).and_then(|(_, path)| path);
                self.importer.task(self.made.task).standing.borrow_mut().directory = path;
            }
            "umask" => {
                let mask = octal(said.argument(0)) & 0o777;
                self.importer.task(self.made.task).standing.borrow_mut().umask = mask;
            }
            "dup" | "dup2" | "dup3" => self.duplicate(said.has_flag(2, "O_CLOEXEC")),
            "fcntl" | "fcntl64" => self.file_control(),
            "pipe" | "pipe2" => self.pipe(),
            "close" => {
                if let Some((number, _)) = descriptor(said.argument(0)) {
                    let made = self.made;
                    self.importer.close(made.task, made.at, made.duration, number);
                }
            }
            "close_range" if said.error.is_none() => self.close_range(),
            "open" | "openat" | "creat" | "openat2" => self.open(name),
            "stat" | "lstat" | "stat64" | "lstat64" => self.stat(None, 0, name.starts_with('s'), 1),
            "newfstatat" | "fstatat64" => self.stat(Some(0), 1, !no_follow(3), 2),
            "statx" => self.stat(Some(0), 1, !no_follow(2), 4),
            "fstat" | "fstat64" => self.stat_handle(1),
            "access" => self.access(None, 0),
            "faccessat" | "faccessat2" => self.access(Some(0), 1),
            "readlink" => self.read_link(None, 0),
            "readlinkat" => self.read_link(Some(0), 1),
            "statfs" => drop(self.name(None, 0, true).map(|_| self.plain(Syscall::StatFilesystem))),
            "fstatfs" => drop(self.handle(0).map(|_| self.plain(Syscall::StatFilesystem))),
            "mkdir" => self.make_directory(None, 0),
            "mkdirat" => self.make_directory(Some(0), 1),
            "mknod" => self.make_node(None, 0),
            "mknodat" => self.make_node(Some(0), 1),
            "bind" => self.bind(),
            "rmdir" => self.remove(None, 0, true),
            "unlink" => self.remove(None, 0, false),
            "unlinkat" => self.remove(Some(0), 1, said.has_flag(2, "AT_REMOVEDIR")),
            "rename" => self.rename((None, 0), (None, 1)),
            "renameat" | "renameat2" => self.rename((Some(0), 1), (Some(2), 3)),
            "link" => self.link((None, 0), (None, 1)),
            "linkat" => self.link((Some(0), 1), (Some(2), 3)),
            "symlink" => self.symlink(0, None, 1),
            "symlinkat" => self.symlink(0, Some(1), 2),
            "truncate" | "truncate64" => self.truncate(),
            "ftruncate" | "ftruncate64" => self.truncate_handle(),
            "chmod" => self.chmod(None, 0, true),
            "fchmodat" | "fchmodat2" => self.chmod(Some(0), 1, !no_follow(3)),
            "fchmod" => self.fchmod(),
            "chown" | "lchown" => self.chown(None, 0, name == "chown"),
            "fchownat" => self.chown(Some(0), 1, !no_follow(4)),
            "fchown" => self.on_handle(|o| Syscall::ChangeOwnerHandle { handle: o.handle }),
            "utime" | "utimes" => self.set_times(None, 0, true),
            "futimesat" => self.set_times(Some(0), 1, true),
            "utimensat" => self.set_times(Some(0), 1, !no_follow(3)),
            "read" | "write" | "readv" | "writev" => self.data(name.starts_with('w'), None),
            "pread64" | "pwrite64" | "preadv" | "pwritev" | "preadv2" | "pwritev2" => {
                if name.ends_with("v2") && said.argument(4) != b"0" {
                    self.importer.unseen.insert(WRITE_FLAGS);
                }
                self.data(name.starts_with("pw"), said.number(3));
            }
            "sendto" | "sendmsg" | "sendmmsg" => drop(self.message(true)),
            "recvfrom" | "recvmsg" | "recvmmsg" => drop(self.message(false)),
            "sendfile" | "sendfile64" => self.move_data((1, Some(2)), (0, None), 3),
            "splice" => self.move_data((0, Some(1)), (2, Some(3)), 4),
            "copy_file_range" => self.move_data((0, Some(1)), (2, Some(3)), 4),
            "ioctl" => self.control(),
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
            "fadvise64" | "posix_fadvise" | "readahead" => self.advise(name),
            "getdents" | "getdents64" => self.list(),
            "flock" if !said.has_flag(1, "LOCK_UN") => self.lock(),
            "mmap" | "mmap2" => {
                if self.known_handle(4).is_some() {
                    self.importer.unseen.insert(MAPPINGS);
                }
            }
            _ => {
                let kinds = ["getxattr", "setxattr", "listxattr", "removexattr"];
                let is_kind = |kind: &&str| name.strip_suffix(kind).is_some_and(|l| l.len() < 2);
                match kinds.into_iter().find(is_kind) {
                    Some(kind) => self.attribute(name, kind),
                    None => self.limits(name),
                }
            }
        }
    }

    /// Notes calls with unknown effects.
    fn limits(&mut self, name: &str) {
        self.importer.unseen.insert(match name {
            "io_uring_setup" | "io_submit" => RINGS,
            "open_by_handle_at" | "pidfd_getfd" => BY_NUMBER,
            "mount" | "umount2" | "setns" | "pivot_root" => NAMESPACES,
            "unshare" if self.made.call.has_flag(0, "CLONE_NEWNS") => NAMESPACES,
            "vmsplice" | "tee" => PIPES,
            _ => return,
        });
    }

    /// Returns the error of this call if a filesystem would fail again in the same way.
    fn errno(&self) -> Result<(), Option<Errno>> {
        self.made.call.error.map_or(Ok(()), |name| Err(errno_number(name).map(Errno)))
    }

    fn returned(&self) -> u64 {
        self.made.call.returned.unwrap_or(0)
    }

    fn failed(&self) -> bool {
        self.made.call.error.is_some()
    }

    /// Returns the permissions in an argument, without those that the process removes from new
    /// files.
    fn new_mode(&self, text: &[u8]) -> u16 {
        octal(text) & 0o7777 & !self.importer.task(self.made.task).standing.borrow().umask
    }

    fn directory_of(&mut self, descriptor_at: Option<usize>) -> Option<Vec<u8>> {
        let standing = Rc::clone(&self.importer.task(self.made.task).standing);
        let Some(at) = descriptor_at else {
            return standing.borrow().directory.clone().or_else(|| self.importer.below.clone());
        };
        let (number, path) = descriptor(self.made.call.argument(at))?;
        if number == -100
            && let Some(path) = &path
        {
            standing.borrow_mut().directory = Some(path.clone());
            self.importer.below.get_or_insert_with(|| path.clone());
        }
        path.or_else(|| standing.borrow().directory.clone())
    }

    /// Returns the name in an argument if it is below the directory.
    fn name(&mut self, from: Option<usize>, at: usize, follow: bool) -> Option<Name> {
        let directory = self.directory_of(from).unwrap_or_else(|| b"/".to_vec());
        let text = string(self.made.call.argument(at)).filter(|text| !text.is_empty())?;
        let found = self.importer.resolve(self.made.task, &directory, &text, follow);
        let name = self.importer.inside(&found.shown).zip(self.importer.inside(&found.real));
        if name.is_none() {
            self.importer.elsewhere += 1;
        }
        name.map(|(path, real)| Name { path, real })
    }

    /// Returns the target of a name and a directory descriptor. If the name is missing or empty, the
    /// target is the descriptor itself.
    fn target(&mut self, from: Option<usize>, at: usize, follow: bool) -> Option<CallTarget> {
        let text = self.made.call.argument(at);
        if from.is_none() || !matches!(text, b"NULL" | b"\"\"") {
            return self.name(from, at, follow).map(CallTarget::Name);
        }
        if self.made.call.argument(0).starts_with(b"AT_FDCWD") {
            let directory = self.directory_of(from)?;
            let path = self.importer.inside(&directory)?;
            return Some(CallTarget::Name(Name { path, real: path }));
        }
        self.handle(0).map(CallTarget::Open)
    }

    /// Returns the handle of a descriptor argument if the file was opened in the log.
    fn known_handle(&self, at: usize) -> Option<Opened> {
        let (number, _) = descriptor(self.made.call.argument(at))?;
        match self.importer.held(self.made.task, number)? {
            Held::File(open) => Some(open),
            Held::Pipe(_) => None,
        }
    }

    /// Returns the handle of a descriptor argument. If it was open before the recording, adds an
    /// `open` call first. Counts a call elsewhere if it is not below the directory.
    fn handle(&mut self, at: usize) -> Option<Opened> {
        let open = self.known_handle(at).or_else(|| self.opened_before(at));
        if open.is_none() {
            self.importer.elsewhere += 1;
        }
        open
    }

    fn opened_before(&mut self, at: usize) -> Option<Opened> {
        let (descriptor, path) = descriptor(self.made.call.argument(at))?;
        let path = normalize_path(b"/", &path?);
        if descriptor < 0 || self.importer.is_named_pipe(&path) {
            return None;
        }
        let inside = self.importer.inside(&path)?;
        let importer = &mut *self.importer;
        let node = importer.world.exists(&mut importer.paths, inside, InodeType::File)?;
        importer.unseen.insert(OPENED_BEFORE);
        let directory = *importer.world.kind(node) == InodeType::Directory;
        let flags = OpenFlags(if directory { 0 } else { 2 });
        let file = InheritedFile { descriptor, path, flags, position: 0 };
        inherit(importer, self.made.task, self.made.at, &file);
        self.known_handle(at)
    }

    /// Adds a call without effects on the known state. Returns true if it succeeded.
    fn plain(&mut self, call: Syscall) -> bool {
        self.counted(call, 0)
    }

    /// Adds a call whose result is a count. Returns true if it succeeded.
    fn counted(&mut self, call: Syscall, count: u64) -> bool {
        match self.errno() {
            Ok(()) => drop(self.importer.done(self.made, call, SyscallResult::Ok(count))),
            Err(Some(errno)) => self.importer.failed(self.made, call, errno),
            Err(None) => {}
        }
        !self.failed()
    }

    /// Returns the node at a path that a call has found. Returns `None`, so that the call is
    /// omitted, if it cannot exist.
    fn found(&mut self, path: PathId, kind: InodeType) -> Option<Inode> {
        let node = self.importer.world.exists(&mut self.importer.paths, path, kind);
        if node.is_none() {
            self.importer.unseen.insert(MADE);
        }
        node
    }

    /// Returns true if a call on this path can be added: it has failed, or the file can exist.
    fn can_be(&mut self, path: PathId) -> bool {
        if self.failed() {
            self.learn_from_failure(path);
            return true;
        }
        self.found(path, InodeType::File).is_some()
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

    fn execute(&mut self, from: Option<usize>, at: usize) {
        let made = self.made;
        let is_started = matches!(self.importer.started, Some(Ok(())));
        if let Some(error) = made.call.error {
            if !is_started {
                self.importer.started = Some(Err(error.to_owned()));
            }
            return;
        }
        self.importer.started = Some(Ok(()));
        self.importer.exec(made.task, made.at);
        if self.name(from, at, true).is_some() {
            self.importer.unseen.insert(PROGRAM);
        }
    }

    fn change_directory(&mut self, root: bool) {
        if self.failed() {
            return;
        }
        let directory = self.directory_of(None).unwrap_or_else(|| b"/".to_vec());
        let Some(path) = string(self.made.call.argument(0)) else { return };
        let found = self.importer.resolve(self.made.task, &directory, &path, true).real;
        if let Some(inside) = self.importer.inside(&found) {
            let _ = self.found(inside, InodeType::Directory);
        }
        let mut standing = self.importer.task(self.made.task).standing.borrow_mut();
        match root {
            true => standing.root = found,
            false => standing.directory = Some(found),
        }
    }

    /// Handles `dup` and similar calls.
    fn duplicate(&mut self, closes: bool) {
        let made = self.made;
        let Some((from, _)) = descriptor(made.call.argument(0)) else { return };
        let Some(to) = made.call.returned.and_then(|number| i32::try_from(number).ok()) else {
            return;
        };
        if from == to {
            return;
        }
        self.opened_before_if_unknown();
        self.importer.close(made.task, made.at, 0, to);
        if let Some(held) = self.importer.held(made.task, from) {
            self.importer.install(made.task, to, held, closes);
        }
    }

    /// Adds the file of the first argument if it was open before the recording.
    fn opened_before_if_unknown(&mut self) {
        let number = descriptor(self.made.call.argument(0)).map_or(-1, |(number, _)| number);
        if self.importer.held(self.made.task, number).is_none() {
            let _ = self.opened_before(0);
        }
    }

    fn file_control(&mut self) {
        let said = &self.made.call;
        if said.has_flag(1, "F_DUPFD") || said.has_flag(1, "F_DUPFD_CLOEXEC") {
            self.duplicate(said.has_flag(1, "F_DUPFD_CLOEXEC"));
        } else if said.has_flag(1, "F_SETFD") {
            self.mark(said.has_flag(2, "FD_CLOEXEC"));
        } else if said.has_flag(1, "F_SETFL")
            && let Some(open) = self.known_handle(0)
        {
            open.borrow_mut().appends = said.has_flag(2, "O_APPEND");
        } else if ["F_SETLK", "F_SETLKW", "F_OFD_SETLK", "F_OFD_SETLKW"]
            .iter()
            .any(|command| said.has_flag(1, command))
            && !said.has_flag(2, "F_UNLCK")
        {
            self.lock();
        }
    }

    /// Adds a lock that was granted.
    fn lock(&mut self) {
        if !self.failed() {
            self.on_handle(|open| Syscall::Lock { handle: open.handle });
        }
    }

    /// Sets whether a program that is executed later does not get the descriptor.
    fn mark(&mut self, closes: bool) {
        let number = descriptor(self.made.call.argument(0)).map_or(-1, |(number, _)| number);
        if let Some(held) = self.importer.held(self.made.task, number) {
            self.importer.install(self.made.task, number, held, closes);
        }
    }

    /// Adds a pipe, whose writing end can order processes.
    fn pipe(&mut self) {
        let made = self.made;
        let ends = made.call.argument(0).strip_prefix(b"[").unwrap_or_default();
        let second = ends.split(|byte| *byte == b',').nth(1).unwrap_or_default().trim_ascii();
        if let Some((number, Some(name))) = descriptor(second).filter(|_| !self.failed()) {
            let closes = made.call.has_flag(1, "O_CLOEXEC");
            self.importer.install(made.task, number, Held::Pipe(Rc::new(name)), closes);
        }
    }

    fn close_range(&mut self) {
        let made = self.made;
        let first = descriptor(made.call.argument(0)).map_or(0, |(number, _)| number);
        let last = descriptor(made.call.argument(1)).map_or(i32::MAX, |(number, _)| number);
        if made.call.has_flag(2, "CLOSE_RANGE_CLOEXEC") {
            self.importer.change_table(made.task, |table| {
                let chosen = table.iter_mut().filter(|(n, _)| (first..=last).contains(*n));
                chosen.for_each(|(_, (_, closes))| *closes = true);
            });
            return;
        }
        self.importer.close_all(made.task, made.at, |number, _| (first..=last).contains(&number));
    }
}

fn octal(text: &[u8]) -> u16 {
    let digits = text.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    u16::from_str_radix(text, 8).unwrap_or(0)
}
