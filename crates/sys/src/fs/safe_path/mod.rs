//! Directories that only this user and root can change.
//!
//! A link of another user can redirect root's writes below that user's directory at any moment. So
//! every directory of a path is checked, starting at the root, and files in the last one are
//! accessed relative to its descriptor and without following links.

mod owner;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};
use tempfile::NamedTempFile;

use crate::fs::{plain_file, xattr};
use owner::{GROUP_WRITES, is_writable_by_others, sudo_uid};
use walk::{MissingPolicy, open_directory, walk};

pub use owner::{check_owner, default_mode, is_trusted};

const STICKY: u32 = 0o1000;
/// All permissions of users other than the owner and the group.
const OTHERS: u32 = 0o007;
/// Name of the extended attribute with the access control list.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Reason why a path cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedPath {
    /// The path belongs to another user.
    #[error(
        "{} belongs to another user (uid {owner}), who could change or replace what is kept there: name a place \
         of your own, or run as that user", path.display()
    )]
    NotOwned {
        /// The directory, file or link.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Other users may rename or remove entries.
    #[error(
        "{} may be changed by other users (mode {mode:o}), who could replace what is kept there: name another \
         place, or `chmod go-w {}`", path.display(), path.display()
    )]
    WritableByOthers {
        /// The directory or file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The path is not a directory or a plain file with a single name.
    #[error("{} is {what}: name another place, or move it away", path.display())]
    Other {
        /// The path.
        path: PathBuf,
        /// Kind of the object.
        what: &'static str,
    },
    /// Other users may read a secret.
    #[error("{} is a secret that all users can read: replace it, or `chmod o= {}`", .0.display(), .0.display())]
    Readable(
        /// The file.
        PathBuf,
    ),
    /// A directory or file in it is a mount point.
    #[error("cannot remove {}: a filesystem is mounted in it; unmount it first", path.display())]
    Mounted {
        /// The directory to remove.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The action: `open`, `create`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Identity of a file. Differs after the file was changed or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Whether it is a directory, and not a link to one.
    pub is_directory: bool,
    /// Number of the inode, size, and time of the last change.
    numbers: (u64, i64, i64, i64),
}

/// An open directory.
#[derive(Debug)]
pub struct SafeDir {
    file: File,
    path: PathBuf,
    /// Whether others may change it and its content.
    shared: bool,
}

impl SafeDir {
    /// Opens a directory that exists.
    ///
    /// # Errors
    /// Returns an error if it does not exist, or if another user could change a directory of its
    /// path.
    pub fn open(path: &Path) -> Result<Self, UntrustedPath> {
        walk(path, MissingPolicy::Error, false)
    }

    /// Opens a directory, and creates missing directories with mode 0700.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`], and an error if a directory cannot be created.
    pub fn make(path: &Path) -> Result<Self, UntrustedPath> {
        walk(path, MissingPolicy::Create, false)
    }

    /// Opens the last existing directory of a path. Creates nothing.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`].
    pub fn open_nearest_existing(path: &Path) -> Result<Self, UntrustedPath> {
        walk(path, MissingPolicy::Stop, false)
    }

    /// Opens a directory that other users may change. Its content, and that of directories created
    /// in it, must not be relied upon. Links made by others are not followed as root.
    ///
    /// # Errors
    /// Returns an error if it does not exist, or if the path contains a link of another user.
    pub fn open_shared(path: &Path) -> Result<Self, UntrustedPath> {
        walk(path, MissingPolicy::Error, true)
    }

    /// Opens a directory like [`Self::open_shared`], and creates missing directories with the
    /// permissions of umask(2).
    ///
    /// # Errors
    /// Returns the errors of [`Self::open_shared`], and an error if one cannot be created.
    pub fn shared_or_new(path: &Path) -> Result<Self, UntrustedPath> {
        walk(path, MissingPolicy::Create, true)
    }

    /// Returns the path of the directory, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subdirectory, and creates it with mode 0700 if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the name is not a directory, or if another user owns it.
    pub fn subdirectory(&self, name: impl AsRef<OsStr>) -> Result<Self, UntrustedPath> {
        self.make_child(name.as_ref())?;
        self.child(name.as_ref())
    }

    /// Opens a subdirectory that exists, in which no other user may create files.
    ///
    /// # Errors
    /// Returns an error if the name is not a directory, or if another user owns it or may write to
    /// it, even with the sticky bit.
    pub fn private_subdirectory(&self, name: impl AsRef<OsStr>) -> Result<Self, UntrustedPath> {
        let child = self.child(name.as_ref())?;
        match child.is_sticky_shared()? {
            true => {
                let mode = child.file.metadata().map_or(0, |found| found.mode() & 0o7777);
                Err(UntrustedPath::WritableByOthers { path: child.path, mode })
            }
            false => Ok(child),
        }
    }

    /// Reads a plain file of at most `most` bytes that any user may have written. Follows no link,
    /// and never waits for a pipe. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns [`UntrustedPath::Other`] if it is not a plain file or is larger, or an error if it
    /// cannot be read.
    pub fn read(
        &self,
        name: impl AsRef<OsStr>,
        most: u64,
    ) -> Result<Option<Vec<u8>>, UntrustedPath> {
        let name = name.as_ref();
        match self.open_at(name, OFlag::O_RDONLY)? {
            None => Ok(None),
            Some(file) => self.content(name, file, most),
        }
    }

    /// Reads a file like [`SafeDir::read`] that only this user may change.
    ///
    /// # Errors
    /// Returns the errors of [`SafeDir::read`] and [`SafeDir::require_file`].
    pub fn read_own(
        &self,
        name: impl AsRef<OsStr>,
        most: u64,
    ) -> Result<Option<Vec<u8>>, UntrustedPath> {
        let name = name.as_ref();
        match self.open_to_read(name)? {
            None => Ok(None),
            Some(file) => self.content(name, file, most),
        }
    }

    /// Opens a file like [`SafeDir::file`], for reading only.
    ///
    /// # Errors
    /// Returns the errors of [`SafeDir::file`].
    pub fn open_to_read(&self, name: impl AsRef<OsStr>) -> Result<Option<File>, UntrustedPath> {
        Ok(self.open_own(name.as_ref(), OFlag::O_RDONLY)?.map(|(file, _)| file))
    }

    /// Reads a file like [`SafeDir::read_own`] that other users cannot read.
    ///
    /// # Errors
    /// Returns the errors of [`SafeDir::read_own`], and an error if all users can read it.
    pub fn read_secret(
        &self,
        name: impl AsRef<OsStr>,
        most: u64,
    ) -> Result<Option<Vec<u8>>, UntrustedPath> {
        let name = name.as_ref();
        match self.open_own(name, OFlag::O_RDONLY)? {
            Some((_, found)) if found.st_mode & OTHERS != 0 => {
                Err(UntrustedPath::Readable(self.path.join(name)))
            }
            Some((file, _)) => self.content(name, file, most),
            None => Ok(None),
        }
    }

    /// Opens a file of this user like [`SafeDir::file_or_new`], to write at its end.
    ///
    /// # Errors
    /// Returns the errors of [`SafeDir::file_or_new`].
    pub fn append(&self, name: impl AsRef<OsStr>) -> Result<File, UntrustedPath> {
        let mut file = self.file_or_new(name.as_ref())?;
        let end = file.seek(SeekFrom::End(0));
        end.map_err(|error| self.io("write", name.as_ref(), error))?;
        Ok(file)
    }

    /// Returns the names in the directory, sorted.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, UntrustedPath> {
        let read = || -> io::Result<Vec<OsString>> {
            let names = std::fs::read_dir(self.here())?.map(|entry| Ok(entry?.file_name()));
            names.collect()
        };
        let mut names = read().map_err(|error| self.io("read", OsStr::new(""), error))?;
        names.sort();
        Ok(names)
    }

    /// Examines a name, without following a link. Returns `None` if it does not exist.
    pub fn examine(&self, name: impl AsRef<OsStr>) -> Option<FileVersion> {
        let found = fstatat(&self.file, name.as_ref(), AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        Some(FileVersion {
            is_directory: SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
                == SFlag::S_IFDIR,
            numbers: (found.st_ino, found.st_size, found.st_mtime, found.st_mtime_nsec),
        })
    }

    /// Creates a file that only this user may read. The name must not exist, even as a dangling
    /// link.
    ///
    /// # Errors
    /// Returns an error if the name exists, or if the file cannot be created.
    pub fn create(&self, name: impl AsRef<OsStr>) -> Result<File, UntrustedPath> {
        let name = name.as_ref();
        self.create_at(name).map_err(|error| self.io("create", name, error))
    }

    /// Opens a file for reading and writing, without following links. Returns `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// Returns an error if it is not a plain file, has several hard links, is owned by another
    /// user, or is writable by others.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<File>, UntrustedPath> {
        let name = name.as_ref();
        Ok(self.open_own(name, OFlag::O_RDWR)?.map(|(file, _)| file))
    }

    /// Checks that only this user can change a file, like [`Self::file`], without opening it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::file`], and an error if it does not exist.
    pub fn require_file(&self, name: impl AsRef<OsStr>) -> Result<(), UntrustedPath> {
        let name = name.as_ref();
        let found = fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW);
        let found = found.map_err(|error| self.io("examine", name, error))?;
        self.require_own(name, &found)
    }

    /// Opens a file like [`Self::file`], and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Self::file`] and [`Self::create`].
    pub fn file_or_new(&self, name: impl AsRef<OsStr>) -> Result<File, UntrustedPath> {
        let name = name.as_ref();
        loop {
            if let Some(file) = self.file(name)? {
                return Ok(file);
            }
            match self.create_at(name) {
                // A concurrent process of this user created it.
                Err(Errno::EEXIST) => {}
                other => return other.map_err(|error| self.io("create", name, error)),
            }
        }
    }

    /// Writes a file with this content to disk, atomically replacing an existing file of this name.
    ///
    /// # Errors
    /// Returns an error if it cannot be written. In this case an existing file remains.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        content: &[u8],
    ) -> Result<(), UntrustedPath> {
        let name = name.as_ref();
        let write = || -> io::Result<()> {
            let file = self.partial(mode, content)?;
            file.persist(self.here().join(name))?;
            self.file.sync_all()
        };
        write().map_err(|error| self.io("write", name, error))
    }

    /// Writes a file with this content to disk under an unused name, atomically. If several
    /// processes do so at the same time, even on NFS, one of them gets true; returns false if the
    /// name exists.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn create_exclusive(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        content: &[u8],
    ) -> Result<bool, UntrustedPath> {
        let name = name.as_ref();
        let write = || -> io::Result<bool> {
            let file = self.partial(mode, content)?;
            match file.persist_noclobber(self.here().join(name)) {
                Ok(_) => self.file.sync_all().map(|()| true),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error.error),
            }
        };
        write().map_err(|error| self.io("write", name, error))
    }

    /// Renames an entry of the directory to a name that must not exist. Returns false if the old
    /// name does not exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be renamed.
    pub fn rename(
        &self,
        from: impl AsRef<OsStr>,
        to: impl AsRef<OsStr>,
    ) -> Result<bool, UntrustedPath> {
        let (from, to) = (from.as_ref(), to.as_ref());
        match renameat(&self.file, from, &self.file, to) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => Err(self.io("rename", from, error)),
        }
    }

    /// Creates a file with this content and a random name, and flushes it to disk. The file is
    /// removed unless it is renamed. Errors do not contain this name.
    fn partial(&self, mode: u32, content: &[u8]) -> io::Result<NamedTempFile> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = tempfile::Builder::new()
            .prefix(".partial-")
            .make_in(self.here(), |path| options.mode(mode).open(path));
        let mut file = file?;
        file.as_file_mut().write_all(content)?;
        if let Some((owner, group)) = self.owner_for_new_files()? {
            fchown(file.as_file(), Some(owner), Some(group))?;
        }
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Removes a file or link. A missing file is not an error.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), UntrustedPath> {
        let name = name.as_ref();
        match unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(self.io("remove", name, error)),
        }
    }

    /// Removes an entry of the directory recursively; links are removed and never followed.
    ///
    /// # Errors
    /// Returns an error if a part of it cannot be removed. If it contains a mount point, all of it
    /// remains.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> Result<(), UntrustedPath> {
        let name = name.as_ref();
        tree::remove(&self.file, name).map_err(|error| match error.kind() {
            io::ErrorKind::CrossesDevices => UntrustedPath::Mounted { path: self.path.join(name) },
            _ => self.io("remove", name, error),
        })
    }

    /// Whether others may create files in it, but not change existing ones (the sticky bit, as on
    /// `/tmp`).
    ///
    /// # Errors
    /// Returns an error if its attributes cannot be read.
    pub fn is_sticky_shared(&self) -> Result<bool, UntrustedPath> {
        let found = self.file.metadata();
        let found = found.map_err(|error| self.io("examine", OsStr::new(""), error))?;
        let mode = found.mode();
        Ok(is_writable_by_others(mode, found.uid(), found.gid())
            || self.has_writers(OsStr::new("."), mode))
    }

    /// Whether its path still refers to it. False if it was removed or renamed, or if a filesystem
    /// is mounted over it.
    pub fn still_exists(&self) -> bool {
        let place = |found: Metadata| (found.dev(), found.ino());
        let here = self.file.metadata().map(place).ok();
        here.is_some() && here == std::fs::symlink_metadata(&self.path).map(place).ok()
    }

    /// Whether the name exists, even as a dangling link.
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        self.examine(name).is_some()
    }

    /// Flushes changes to the names in the directory.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot flush them.
    pub fn flush(&self) -> Result<(), UntrustedPath> {
        let flushed = self.file.sync_all();
        flushed.map_err(|error| self.io("flush", OsStr::new(""), error))
    }

    /// Returns the path of the directory by its descriptor, which remains valid if the directory is
    /// renamed or its filesystem is unmounted.
    fn here(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    fn make_child(&self, name: &OsStr) -> Result<(), UntrustedPath> {
        let mode = match self.shared {
            true => Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO,
            false => Mode::S_IRWXU,
        };
        match mkdirat(&self.file, name, mode) {
            Ok(()) => self.hand_over(name),
            Err(Errno::EEXIST) => Ok(()),
            Err(error) => Err(self.io("create", name, error)),
        }
    }

    /// Opens a subdirectory without following links.
    fn child(&self, name: &OsStr) -> Result<Self, UntrustedPath> {
        let file = open_directory(&self.file, name).map_err(|error| match error {
            Errno::ENOTDIR | Errno::ELOOP => self.other(name, "no directory"),
            error => self.io("open", name, error),
        })?;
        let child = Self { file, path: self.path.join(name), shared: self.shared };
        if !child.shared {
            child.require_trusted()?;
        }
        Ok(child)
    }

    fn create_at(&self, name: &OsStr) -> nix::Result<File> {
        let flags =
            OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&self.file, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        if let Some((owner, group)) = self.owner_for_new_files()? {
            fchown(&file, Some(owner), Some(group))?;
        }
        Ok(file.into())
    }

    /// Opens a file without following links, and without blocking, because the name may be a pipe.
    fn open_at(&self, name: &OsStr, access: OFlag) -> Result<Option<File>, UntrustedPath> {
        let flags = access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        match openat(&self.file, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ELOOP) => Err(self.other(name, "a link")),
            Err(error) => Err(self.io("open", name, error)),
        }
    }

    /// Opens a file that only this user may change.
    fn open_own(
        &self,
        name: &OsStr,
        access: OFlag,
    ) -> Result<Option<(File, FileStat)>, UntrustedPath> {
        let Some(file) = self.open_at(name, access)? else { return Ok(None) };
        let found = fstat(&file).map_err(|error| self.io("examine", name, error))?;
        self.require_own(name, &found)?;
        Ok(Some((file, found)))
    }

    fn content(
        &self,
        name: &OsStr,
        file: File,
        most: u64,
    ) -> Result<Option<Vec<u8>>, UntrustedPath> {
        match plain_file::read_open(file, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(self.other(name, "no plain file, or larger than it can be"))
            }
            Err(error) => Err(self.io("read", name, error)),
        }
    }

    /// Gives a new subdirectory the same owner as this directory.
    fn hand_over(&self, name: &OsStr) -> Result<(), UntrustedPath> {
        let handed = || -> nix::Result<()> {
            if let Some((owner, group)) = self.owner_for_new_files()? {
                let made = open_directory(&self.file, name)?;
                fchown(&made, Some(owner), Some(group))?;
            }
            Ok(())
        };
        handed().map_err(|error| self.io("give away", name, error))
    }

    /// Returns the owner for files that root creates in the directory: the user who called sudo, if
    /// the directory belongs to that user.
    ///
    /// # Errors
    /// Returns an error if the kernel does not report the owner.
    pub fn owner_for_new_files(&self) -> nix::Result<Option<(Uid, Gid)>> {
        let here = fstat(&self.file)?;
        let is_his = Some(here.st_uid) == sudo_uid();
        Ok(is_his.then(|| (Uid::from_raw(here.st_uid), Gid::from_raw(here.st_gid))))
    }

    fn require_trusted(&self) -> Result<(), UntrustedPath> {
        let found =
            self.file.metadata().map_err(|error| self.io("examine", OsStr::new(""), error))?;
        let path = || self.path.clone();
        if !is_trusted(found.uid()) {
            return Err(UntrustedPath::NotOwned { path: path(), owner: found.uid() });
        }
        let mode = found.mode() & 0o7777;
        let open = mode & STICKY == 0
            && (is_writable_by_others(mode, found.uid(), found.gid())
                || self.has_writers(OsStr::new("."), mode));
        match open {
            true => Err(UntrustedPath::WritableByOthers { path: path(), mode }),
            false => Ok(()),
        }
    }

    fn require_own(&self, name: &OsStr, found: &FileStat) -> Result<(), UntrustedPath> {
        let path = || self.path.join(name);
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(self.other(name, "no plain file"));
        }
        if !is_trusted(found.st_uid) {
            return Err(UntrustedPath::NotOwned { path: path(), owner: found.st_uid });
        }
        let mode = found.st_mode;
        if is_writable_by_others(mode, found.st_uid, found.st_gid) || self.has_writers(name, mode) {
            let mode = found.st_mode & 0o7777;
            return Err(UntrustedPath::WritableByOthers { path: path(), mode });
        }
        match found.st_nlink {
            0 | 1 => Ok(()),
            _ => Err(self.other(name, "a file that has another name elsewhere (a hard link)")),
        }
    }

    /// Whether an access control list (acl(5)) allows writing by others: the group permissions are
    /// the maximum that the list can grant.
    fn has_writers(&self, name: &OsStr, mode: u32) -> bool {
        mode & GROUP_WRITES != 0 && xattr::has(&self.here().join(name), ACCESS_LIST)
    }

    fn other(&self, name: &OsStr, what: &'static str) -> UntrustedPath {
        UntrustedPath::Other { path: self.path.join(name), what }
    }

    fn io(&self, doing: &'static str, name: &OsStr, source: impl Into<io::Error>) -> UntrustedPath {
        let path = match name.is_empty() {
            true => self.path.clone(),
            false => self.path.join(name),
        };
        UntrustedPath::Io { doing, path, source: source.into() }
    }
}
