//! Where guests are kept: they can be made again at any time, so that is where caches are.

use std::path::PathBuf;

use crate::GuestError;

/// The user's cache directory for fsarena (`$XDG_CACHE_HOME/fsarena`).
///
/// # Errors
/// When the user has no home.
pub fn directory() -> Result<PathBuf, GuestError> {
    let directories = directories::ProjectDirs::from("", "", "fsarena");
    let directories = directories.ok_or_else(|| {
        GuestError::Unexpected("cannot find a cache directory: set HOME".to_owned())
    })?;
    Ok(directories.cache_dir().to_owned())
}
