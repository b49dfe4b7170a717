//! Directories in which nobody but this user and root can change, replace or rename anything.
//!
//! What root writes below a directory of somebody else can be led elsewhere by a link, at any moment. So every
//! directory on the way is looked at, from the root on, and what lies in the last one is reached from its
//! descriptor and through no link.

use std::collections::VecDeque;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, geteuid, unlinkat};

/// As many links in a path as the kernel follows (path_resolution(7)).
const MOST_LINKS: u32 = 40;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The extended attribute of a list of access rights.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// Somebody else owns it.
    #[error(
        "{} belongs to another user (uid {owner}), who could change or replace what is kept there: name a place \
         of your own, or run as that user", path.display()
    )]
    Foreign {
        /// The directory, file or link.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may rename and remove what is in it.
    #[error(
        "{} may be changed by other users (mode {mode:o}), who could replace what is kept there: name another \
         place, or `chmod go-w {}`", path.display(), path.display()
    )]
    Open {
        /// The directory or file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Something else than a directory or a plain file of its own is in the way.
    #[error("{} is {what}: move it away, or name another place", path.display())]
    Other {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The kernel says no.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done: `open`, `create`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A directory that is held open.
#[derive(Debug)]
pub struct Directory {
    file: File,
    path: PathBuf,
    /// Whether others may change it, and what is in it.
    shared: bool,
}

impl Directory {
    /// Opens a directory that exists.
    ///
    /// # Errors
    /// When there is none, or anybody else could tamper with the way to it.
    pub fn open(path: &Path) -> Result<Self, Untrusted> {
        walk(path, Missing::IsAnError, false)
    }

    /// Opens a directory; what is missing on the way is made, with mode 0700.
    ///
    /// # Errors
    /// As for [`Directory::open`], and when one cannot be made.
    pub fn make(path: &Path) -> Result<Self, Untrusted> {
        walk(path, Missing::IsMade, false)
    }

    /// Opens the last directory on the way to a path that is there; nothing is made.
    ///
    /// # Errors
    /// As for [`Directory::open`].
    pub fn nearest(path: &Path) -> Result<Self, Untrusted> {
        walk(path, Missing::Stops, false)
    }

    /// Opens a directory whoever else may change it: what is kept there, and in directories that are made there,
    /// is not relied upon. No link that others made leads root there.
    ///
    /// # Errors
    /// When there is none, or somebody else's link is on the way.
    pub fn shared(path: &Path) -> Result<Self, Untrusted> {
        walk(path, Missing::IsAnError, true)
    }

    /// The same; what is missing on the way is made, as umask(2) has it.
    ///
    /// # Errors
    /// As for [`Directory::shared`], and when one cannot be made.
    pub fn shared_or_new(path: &Path) -> Result<Self, Untrusted> {
        walk(path, Missing::IsMade, true)
    }

    /// Where it is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory of this name in it, and makes it, with mode 0700, where there is none.
    ///
    /// # Errors
    /// When something else has the name, or somebody else owns it.
    pub fn subdirectory(&self, name: impl AsRef<OsStr>) -> Result<Self, Untrusted> {
        self.make_child(name.as_ref())?;
        self.child(name.as_ref())
    }

    /// Makes a file that only this user may read. Nothing may have the name yet, be it a link that leads nowhere.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be made.
    pub fn create(&self, name: impl AsRef<OsStr>) -> Result<File, Untrusted> {
        let name = name.as_ref();
        self.create_at(name)
            .map_err(|error| self.io("create", name, error))
    }

    /// Opens a file for reading and writing, through no link; `None` where there is none.
    ///
    /// # Errors
    /// When it is no plain file, has another name elsewhere, or somebody else owns it or may write to it.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<File>, Untrusted> {
        let name = name.as_ref();
        match self.open_at(name) {
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ELOOP) => Err(self.other(name, "a link")),
            Err(error) => Err(self.io("open", name, error)),
            Ok(file) => {
                let found = fstat(&file).map_err(|error| self.io("examine", name, error))?;
                self.require_own(name, &found)?;
                Ok(Some(file))
            }
        }
    }

    /// Opens a file as [`Directory::file`] does, and makes it where there is none.
    ///
    /// # Errors
    /// As for [`Directory::file`] and [`Directory::create`].
    pub fn file_or_new(&self, name: impl AsRef<OsStr>) -> Result<File, Untrusted> {
        let name = name.as_ref();
        loop {
            if let Some(file) = self.file(name)? {
                return Ok(file);
            }
            match self.create_at(name) {
                // Another process of this user made it meanwhile.
                Err(Errno::EEXIST) => {}
                other => return other.map_err(|error| self.io("create", name, error)),
            }
        }
    }

    /// Puts a file with this content, on the disk, in the place of whatever has the name: whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written; what was there stays then.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        content: &[u8],
    ) -> Result<(), Untrusted> {
        let name = name.as_ref();
        let write = || -> io::Result<()> {
            let here = self.here();
            // A name at random that nobody has; what does not get the final one is removed.
            let mut file = tempfile::Builder::new()
                .prefix(".partial-")
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(&here)?;
            file.write_all(content)?;
            if let Some((owner, group)) = self.heir()? {
                fchown(file.as_file(), Some(owner), Some(group))?;
            }
            file.as_file().sync_all()?;
            file.persist(here.join(name))?;
            self.file.sync_all()
        };
        write().map_err(|error| self.io("write", name, error))
    }

    /// Removes a file or link; that there is none is no error.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), Untrusted> {
        let name = name.as_ref();
        match unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(self.io("remove", name, error)),
        }
    }

    /// Removes whatever has the name, with all that is in it; links are removed and never followed.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> Result<(), Untrusted> {
        let name = name.as_ref();
        match fs::remove_dir_all(self.here().join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => self.remove(name),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.io("remove", name, error))
            }
            _ => Ok(()),
        }
    }

    /// Whether others may make things in it, though not touch what is there (the sticky bit, as on `/tmp`).
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn is_common(&self) -> Result<bool, Untrusted> {
        let found = self.file.metadata();
        let found = found.map_err(|error| self.io("examine", OsStr::new(""), error))?;
        let mode = found.mode();
        Ok(others_write(mode, found.uid(), found.gid()) || self.has_writers(OsStr::new("."), mode))
    }

    /// Whether anything has the name, be it a link that leads nowhere.
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        fstatat(&self.file, name.as_ref(), AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    }

    /// Flushes names that were given, changed or removed in it.
    ///
    /// # Errors
    /// When the kernel cannot.
    pub fn flush(&self) -> Result<(), Untrusted> {
        let flushed = self.file.sync_all();
        flushed.map_err(|error| self.io("flush", OsStr::new(""), error))
    }

    /// It by its descriptor: its path may be led elsewhere meanwhile, or what it lies on be unmounted.
    fn here(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    fn make_child(&self, name: &OsStr) -> Result<(), Untrusted> {
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

    /// Opens a directory in it; links are not followed.
    fn child(&self, name: &OsStr) -> Result<Self, Untrusted> {
        let file = open_directory(&self.file, name).map_err(|error| match error {
            Errno::ENOTDIR | Errno::ELOOP => self.other(name, "no directory"),
            error => self.io("open", name, error),
        })?;
        let child = Self {
            file,
            path: self.path.join(name),
            shared: self.shared,
        };
        if !child.shared {
            child.require_trusted()?;
        }
        Ok(child)
    }

    fn create_at(&self, name: &OsStr) -> nix::Result<File> {
        let flags =
            OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&self.file, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        if let Some((owner, group)) = self.heir()? {
            fchown(&file, Some(owner), Some(group))?;
        }
        Ok(file.into())
    }

    /// A pipe in its place would make the open wait.
    fn open_at(&self, name: &OsStr) -> nix::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        openat(&self.file, name, flags, Mode::empty()).map(File::from)
    }

    /// Gives a new directory in it to whom it belongs itself.
    fn hand_over(&self, name: &OsStr) -> Result<(), Untrusted> {
        let handed = || -> nix::Result<()> {
            if let Some((owner, group)) = self.heir()? {
                let made = open_directory(&self.file, name)?;
                fchown(&made, Some(owner), Some(group))?;
            }
            Ok(())
        };
        handed().map_err(|error| self.io("give away", name, error))
    }

    /// To whom what root makes in it is given: to the user who called sudo, in a directory of his.
    ///
    /// # Errors
    /// When the kernel does not tell whose it is.
    pub fn heir(&self) -> nix::Result<Option<(Uid, Gid)>> {
        let here = fstat(&self.file)?;
        let is_his = Some(here.st_uid) == caller_of_sudo();
        Ok(is_his.then(|| (Uid::from_raw(here.st_uid), Gid::from_raw(here.st_gid))))
    }

    fn require_trusted(&self) -> Result<(), Untrusted> {
        let found = self
            .file
            .metadata()
            .map_err(|error| self.io("examine", OsStr::new(""), error))?;
        let path = || self.path.clone();
        if !is_trusted(found.uid()) {
            return Err(Untrusted::Foreign {
                path: path(),
                owner: found.uid(),
            });
        }
        let mode = found.mode() & 0o7777;
        let open = mode & STICKY == 0
            && (others_write(mode, found.uid(), found.gid())
                || self.has_writers(OsStr::new("."), mode));
        match open {
            true => Err(Untrusted::Open { path: path(), mode }),
            false => Ok(()),
        }
    }

    fn require_own(&self, name: &OsStr, found: &FileStat) -> Result<(), Untrusted> {
        let path = || self.path.join(name);
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(self.other(name, "no plain file"));
        }
        if !is_trusted(found.st_uid) {
            return Err(Untrusted::Foreign {
                path: path(),
                owner: found.st_uid,
            });
        }
        let mode = found.st_mode;
        if others_write(mode, found.st_uid, found.st_gid) || self.has_writers(name, mode) {
            let mode = found.st_mode & 0o7777;
            return Err(Untrusted::Open { path: path(), mode });
        }
        match found.st_nlink {
            0 | 1 => Ok(()),
            _ => Err(self.other(name, "a file that has another name elsewhere (a hard link)")),
        }
    }

    /// Whether a list of access rights (acl(5)) lets somebody write to something in it: the permissions of the group
    /// are what the list may grant at most.
    fn has_writers(&self, name: &OsStr, mode: u32) -> bool {
        mode & GROUP_WRITES != 0 && crate::attributes::has(&self.here().join(name), ACCESS_LIST)
    }

    fn other(&self, name: &OsStr, what: &'static str) -> Untrusted {
        Untrusted::Other {
            path: self.path.join(name),
            what,
        }
    }

    fn io(&self, doing: &'static str, name: &OsStr, source: impl Into<io::Error>) -> Untrusted {
        let path = match name.is_empty() {
            true => self.path.clone(),
            false => self.path.join(name),
        };
        Untrusted::Io {
            doing,
            path,
            source: source.into(),
        }
    }
}

/// What is done about a directory that is not there.
#[derive(Clone, Copy)]
enum Missing {
    IsAnError,
    IsMade,
    Stops,
}

/// Goes to a directory step by step, from the root on; links are followed where root or this user made them.
fn walk(path: &Path, missing: Missing, shared: bool) -> Result<Directory, Untrusted> {
    let io = |source| Untrusted::Io {
        doing: "open",
        path: path.to_owned(),
        source,
    };
    let absolute = std::path::absolute(path).map_err(io)?;
    let mut ahead: VecDeque<OsString> = names(&absolute);
    let mut way = vec![root(shared)?];
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        let here = way.last().expect("the root is never left");
        if name == ".." {
            way.truncate(way.len().max(2) - 1);
            continue;
        }
        if let Some(target) = here.link(&name)? {
            links += 1;
            if links > MOST_LINKS {
                return Err(io(Errno::ELOOP.into()));
            }
            if target.is_absolute() {
                way.truncate(1);
            }
            let mut further = names(&target);
            further.append(&mut ahead);
            ahead = further;
            continue;
        }
        match missing {
            Missing::IsMade => here.make_child(&name)?,
            Missing::Stops if !here.has(&name) => break,
            Missing::Stops | Missing::IsAnError => {}
        }
        let next = here.child(&name)?;
        way.push(next);
    }
    way.pop()
        .ok_or_else(|| io(Errno::ENOENT.into()))?
        .readable()
}

fn root(shared: bool) -> Result<Directory, Untrusted> {
    let path = PathBuf::from("/");
    let root = File::open(&path).map_err(|source| Untrusted::Io {
        doing: "open",
        path: path.clone(),
        source,
    })?;
    let root = Directory {
        file: root,
        path,
        shared,
    };
    if !shared {
        root.require_trusted()?;
    }
    Ok(root)
}

impl Directory {
    /// What a link in it leads to; `None` where the name is none.
    fn link(&self, name: &OsStr) -> Result<Option<PathBuf>, Untrusted> {
        let found = match fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            // Whoever wants to go there says so.
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(self.io("examine", name, error)),
        };
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFLNK {
            return Ok(None);
        }
        // A hard link to somebody's link can be made by anybody else.
        let is_foreign = !is_trusted(found.st_uid) || found.st_nlink > 1;
        // What an ordinary user's link leads to, he could have reached himself.
        if is_foreign && (geteuid().is_root() || !self.shared) {
            return Err(Untrusted::Foreign {
                path: self.path.join(name),
                owner: found.st_uid,
            });
        }
        let target = readlinkat(&self.file, name);
        let target = target.map_err(|error| self.io("read the link", name, error))?;
        Ok(Some(target.into()))
    }

    /// On the way only a place was looked at; the end is for reading and flushing.
    fn readable(self) -> Result<Self, Untrusted> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let file = openat(&self.file, ".", flags, Mode::empty())
            .map_err(|error| self.io("open", OsStr::new(""), error))?;
        Ok(Self {
            file: file.into(),
            ..self
        })
    }
}

/// Refuses a path whose last step is a link or a pipe that somebody else made.
///
/// # Errors
/// When it is one.
pub fn require_own(path: &Path) -> Result<(), Untrusted> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_char_device() && !is_trusted(found.uid()) => {
            Err(Untrusted::Foreign {
                path: path.to_owned(),
                owner: found.uid(),
            })
        }
        _ => Ok(()),
    }
}

/// The permissions of a file for which nobody asks for others: what umask(2) leaves of those for everybody.
pub fn usual_mode() -> u32 {
    const EVERYBODY: u32 = 0o666;
    const CAREFUL: u32 = 0o077;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    EVERYBODY & !mask.unwrap_or(CAREFUL)
}

/// The steps of a path; `.` and the root are none.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn open_directory(at: &File, name: &OsStr) -> nix::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened: nix::Result<OwnedFd> = openat(at, name, flags, Mode::empty());
    match opened {
        // A directory that may be passed and not listed.
        Err(Errno::EACCES) => openat(at, name, flags | OFlag::O_PATH, Mode::empty()),
        other => other,
    }
    .map(File::from)
}

/// Whether somebody beside the owner and root may write. A group of root's, or one that bears its only member's
/// number, as Debian gives one to each user, is nobody else; nor is, for an ordinary user, a group that shares a
/// directory.
fn others_write(mode: u32, owner: u32, group: u32) -> bool {
    let group_is_else = group != 0 && group != owner && geteuid().is_root();
    mode & OTHERS_WRITE != 0 || (mode & GROUP_WRITES != 0 && group_is_else)
}

/// Whether what this user has belongs to him who acts here: root, the user himself, and who became root by sudo.
#[must_use]
pub fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw() || Some(owner) == caller_of_sudo()
}

/// Who became root by sudo(8); `None` where nobody did.
fn caller_of_sudo() -> Option<u32> {
    let is_root = geteuid().is_root();
    let caller = std::env::var("SUDO_UID").ok().filter(|_| is_root)?;
    caller.parse().ok().filter(|uid| *uid != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    const NOBODY: u32 = 65_534;

    fn place() -> tempfile::TempDir {
        assert!(
            geteuid().is_root(),
            "these tests give files to another user"
        );
        tempfile::tempdir().unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_list_of_access_rights_that_lets_others_write_is_seen() {
        let place = place();
        let list = |entry: &str| {
            let mut command = std::process::Command::new("setfacl");
            let done = command.args(["-m", entry]).arg(place.path()).status();
            assert!(done.unwrap().success());
        };
        list("user:65534:r-x");
        Directory::open(place.path()).unwrap();
        list("user:65534:rwx");
        let refused = Directory::open(place.path()).unwrap_err();
        assert!(matches!(refused, Untrusted::Open { .. }), "{refused}");
    }

    #[test]
    fn what_is_missing_is_made_for_this_user_alone() {
        let place = place();
        let path = place.path().join("a/b");
        let directory = Directory::make(&path).unwrap();
        assert_eq!(directory.path(), path);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
        let mut file = directory.create("file").unwrap();
        file.write_all(b"mine").unwrap();
        assert_eq!(mode(&path.join("file")), 0o600);
        assert!(directory.create("file").is_err());
        assert!(directory.file("file").unwrap().is_some());
        assert!(directory.file("none").unwrap().is_none());
        assert!(Directory::open(&place.path().join("none")).is_err());
    }

    #[test]
    fn a_directory_of_another_user_is_refused_wherever_it_lies_on_the_way() {
        let place = place();
        let theirs = place.path().join("theirs");
        fs::create_dir_all(theirs.join("mine")).unwrap();
        chown(&theirs, Some(NOBODY), None).unwrap();
        for path in [
            theirs.clone(),
            theirs.join("mine"),
            theirs.join("mine/../new"),
        ] {
            let refused = Directory::make(&path).unwrap_err();
            let told = refused.to_string();
            assert!(
                told.contains("uid 65534") && told.contains("theirs"),
                "{told}"
            );
        }
        assert!(!theirs.join("new").exists());
    }

    #[test]
    fn where_all_may_write_only_the_sticky_bit_keeps_what_is_there() {
        let place = place();
        let shared = place.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let with_mode = |mode| fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
        with_mode(0o777);
        let told = Directory::make(&shared.join("x")).unwrap_err().to_string();
        assert!(told.contains("mode 777"), "{told}");
        with_mode(0o1777);
        Directory::make(&shared.join("x")).unwrap();
        with_mode(0o775);
        Directory::make(&shared).expect("the group is root's");
        chown(&shared, None, Some(NOBODY)).unwrap();
        assert!(Directory::make(&shared).is_err());
    }

    #[test]
    fn a_link_is_followed_where_root_made_it_and_never_where_another_user_did() {
        let place = place();
        let target = place.path().join("target");
        fs::create_dir(&target).unwrap();
        let link = place.path().join("link");
        symlink("target", &link).unwrap();
        assert_eq!(
            Directory::make(&link.join("x")).unwrap().path(),
            target.join("x")
        );
        std::os::unix::fs::lchown(&link, Some(NOBODY), None).unwrap();
        assert!(matches!(
            Directory::make(&link),
            Err(Untrusted::Foreign { .. })
        ));
        let circle = place.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(Directory::open(&circle).is_err());
    }

    #[test]
    fn no_file_is_written_through_a_link_or_under_a_second_name() {
        let place = place();
        let precious = place.path().join("precious");
        fs::write(&precious, "theirs").unwrap();
        let path = place.path().join("d");
        let directory = Directory::make(&path).unwrap();
        symlink(&precious, path.join("link")).unwrap();
        fs::hard_link(&precious, path.join("second")).unwrap();
        nix::unistd::mkfifo(&path.join("pipe"), Mode::S_IRWXU).unwrap();
        for name in ["link", "second", "pipe"] {
            assert!(directory.create(name).is_err(), "{name}");
            assert!(directory.file(name).is_err(), "{name}");
            assert!(directory.file_or_new(name).is_err(), "{name}");
        }
        assert!(directory.subdirectory("link").is_err());
        directory.replace("link", 0o600, b"ours").unwrap();
        directory.replace("second", 0o644, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(path.join("link")).unwrap(), "ours");
        assert_eq!(
            (mode(&path.join("link")), mode(&path.join("second"))),
            (0o600, 0o644)
        );
        assert_eq!(
            fs::read_dir(&path).unwrap().count(),
            3,
            "no partial file is left"
        );
    }

    #[test]
    fn in_a_directory_of_somebody_else_a_report_is_a_file_of_its_own() {
        let place = place();
        let theirs = place.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        let precious = place.path().join("precious");
        fs::write(&precious, "theirs").unwrap();
        symlink(&precious, theirs.join("report")).unwrap();
        chown(&theirs, Some(NOBODY), None).unwrap();
        let directory = Directory::shared(&theirs).unwrap();
        directory.replace("report", 0o644, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(theirs.join("report")).unwrap(), "ours");
    }

    #[test]
    fn the_nearest_directory_is_the_last_one_that_is_there() {
        let place = place();
        let path = place.path().join("a/b/c");
        assert_eq!(Directory::nearest(&path).unwrap().path(), place.path());
        Directory::make(path.parent().unwrap()).unwrap();
        assert_eq!(
            Directory::nearest(&path).unwrap().path(),
            path.parent().unwrap()
        );
    }

    #[test]
    fn a_file_of_another_user_or_one_that_others_may_write_is_refused() {
        let place = place();
        let directory = Directory::make(&place.path().join("d")).unwrap();
        directory.create("theirs").unwrap();
        chown(directory.path().join("theirs"), Some(NOBODY), None).unwrap();
        assert!(matches!(
            directory.file("theirs"),
            Err(Untrusted::Foreign { .. })
        ));
        let shared = directory.create("shared").unwrap();
        shared
            .set_permissions(Permissions::from_mode(0o666))
            .unwrap();
        assert!(matches!(
            directory.file("shared"),
            Err(Untrusted::Open { .. })
        ));
    }

    #[test]
    fn what_is_removed_is_the_link_and_not_what_it_leads_to() {
        let place = place();
        let precious = place.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "theirs").unwrap();
        let directory = Directory::make(&place.path().join("d")).unwrap();
        directory.subdirectory("tree").unwrap();
        symlink(&precious, directory.path().join("tree/link")).unwrap();
        symlink(&precious, directory.path().join("link")).unwrap();
        directory.remove_tree("tree").unwrap();
        directory.remove_tree("link").unwrap();
        directory.remove_tree("none").unwrap();
        assert!(precious.join("file").exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
