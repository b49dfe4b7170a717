//! Cache directory for guests. Guests are kept in the user's cache because they can be rebuilt at
//! any time.

use std::env;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{UserDir, UserDirError};
use sys::fs::safe_path::{SafeDir, is_trusted};

use crate::GuestError;
use crate::build::build_dir;

/// Returns the user's cache directory for fsarena (`$XDG_CACHE_HOME/fsarena`).
///
/// # Errors
/// Returns an error if the environment does not specify it.
pub fn directory() -> Result<PathBuf, UserDirError> {
    UserDir::Cache.resolve(|name| env::var_os(name))
}

/// Checks the owners and permissions of the cache, because programs and kernels in it are executed.
/// All files must belong to this user, to root or to the user of sudo, and must not be writable by
/// others. A cache that does not exist yet is accepted.
///
/// # Errors
/// Returns an error if a file violates this, or if the cache cannot be read.
pub fn require_ours(cache: &Path) -> Result<(), GuestError> {
    // The cache may be a link to a filesystem with more space.
    match fs::metadata(cache) {
        Ok(found) => require_ours_below(cache, &found, build_dir::is_partial)?,
        Err(error) => gone_is_fine(error).map_err(GuestError::io("look at", cache))?,
    }
    // Other users must not be able to redirect the path of the cache either.
    SafeDir::open_nearest_existing(cache)?;
    Ok(())
}

/// Checks an entry of the cache like the cache itself. Does not enter directories for which
/// `passed_over` returns true.
fn require_ours_below(
    path: &Path,
    found: &Metadata,
    passed_over: fn(&str) -> bool,
) -> Result<(), GuestError> {
    require_ours_alone(path, found)?;
    if !found.is_dir() {
        return Ok(());
    }
    let cannot = |error| gone_is_fine(error).map_err(GuestError::io("read", path));
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return cannot(error),
    };
    for entry in entries.flatten() {
        let found = match entry.metadata() {
            Ok(found) => found,
            Err(error) => {
                cannot(error)?;
                continue;
            }
        };
        match passed_over(&entry.file_name().to_string_lossy()) {
            true => require_ours_alone(&entry.path(), &found)?,
            false => require_ours_below(&entry.path(), &found, |_| false)?,
        }
    }
    Ok(())
}

fn require_ours_alone(path: &Path, found: &Metadata) -> Result<(), GuestError> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let refuse = |why| Err(GuestError::ForeignOwner { path: path.to_owned(), why });
    let mode = found.permissions().mode() & 0o7777;
    match found.uid() {
        owner if !is_trusted(owner) => refuse(format!("belongs to user {owner}")),
        // The permission bits of a symbolic link have no effect.
        _ if mode & WRITABLE_BY_OTHERS != 0 && !found.is_symlink() => {
            refuse(format!("can be written by others (its mode is {mode:o})"))
        }
        _ => Ok(()),
    }
}

/// Accepts a missing file, which another process may have removed.
fn gone_is_fine(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}
