//! Where guests are kept: they can be made again at any time, so that is where caches are.

use std::env;
use std::path::PathBuf;

use model::{NoUserDirectory, UserDirectory};

/// The user's cache directory for fsarena (`$XDG_CACHE_HOME/fsarena`).
///
/// # Errors
/// When the environment does not say where it is.
pub fn directory() -> Result<PathBuf, NoUserDirectory> {
    UserDirectory::Cache.locate(|name| env::var_os(name))
}
