//! Step-by-step walk from the root to a directory.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::geteuid;

use super::{SafeDir, UntrustedPath, is_trusted};

/// Maximum number of links in a path, as in the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;

/// Action for a missing directory.
#[derive(Clone, Copy)]
pub enum MissingPolicy {
    Error,
    Create,
    Stop,
}

/// Walks from the root to a directory, one component at a time. Follows only links of root and this
/// user.
pub fn walk(path: &Path, missing: MissingPolicy, shared: bool) -> Result<SafeDir, UntrustedPath> {
    let io = |source| UntrustedPath::Io { doing: "open", path: path.to_owned(), source };
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
            if links > MAX_LINKS {
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
            MissingPolicy::Create => here.make_child(&name)?,
            MissingPolicy::Stop if !here.has(&name) => break,
            MissingPolicy::Stop | MissingPolicy::Error => {}
        }
        let next = here.child(&name)?;
        way.push(next);
    }
    way.pop().ok_or_else(|| io(Errno::ENOENT.into()))?.readable()
}

fn root(shared: bool) -> Result<SafeDir, UntrustedPath> {
    let path = PathBuf::from("/");
    let root = File::open(&path).map_err(|source| UntrustedPath::Io {
        doing: "open",
        path: path.clone(),
        source,
    })?;
    let root = SafeDir { file: root, path, shared };
    if !shared {
        root.require_trusted()?;
    }
    Ok(root)
}

impl SafeDir {
    /// Returns the target of a link in the directory, or `None` if the name is not a link.
    fn link(&self, name: &OsStr) -> Result<Option<PathBuf>, UntrustedPath> {
        let found = match fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            // The caller reports a missing directory when it opens it.
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(self.io("examine", name, error)),
        };
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFLNK {
            return Ok(None);
        }
        // Any user can create a hard link to a link of another user.
        let is_foreign = !is_trusted(found.st_uid) || found.st_nlink > 1;
        // An ordinary user could have reached the target of a link directly.
        if is_foreign && (geteuid().is_root() || !self.shared) {
            return Err(UntrustedPath::NotOwned {
                path: self.path.join(name),
                owner: found.st_uid,
            });
        }
        let target = readlinkat(&self.file, name);
        let target = target.map_err(|error| self.io("read the link", name, error))?;
        Ok(Some(target.into()))
    }

    /// Reopens the final directory for reading and flushing. Directories along the path only serve
    /// as locations.
    fn readable(self) -> Result<Self, UntrustedPath> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let file = openat(&self.file, ".", flags, Mode::empty())
            .map_err(|error| self.io("open", OsStr::new(""), error))?;
        Ok(Self { file: file.into(), ..self })
    }
}

/// Returns the components of a path, without `.` and the root.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

pub fn open_directory(at: &File, name: &OsStr) -> nix::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened: nix::Result<OwnedFd> = openat(at, name, flags, Mode::empty());
    match opened {
        // The directory can be traversed but not listed.
        Err(Errno::EACCES) => openat(at, name, flags | OFlag::O_PATH, Mode::empty()),
        other => other,
    }
    .map(File::from)
}
