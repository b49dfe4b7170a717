//! The guest in which tests run cells. fsarena builds it from its whole catalog, once for all
//! tests, and keeps it between their runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use config::Catalog;
use guest::{Guest, Recipe};

use crate::program;

/// Returns the guest. Tests that start at the same time build it only once.
///
/// # Panics
/// Panics if the guest cannot be built.
pub fn guest() -> Guest {
    static MAKING: Mutex<()> = Mutex::new(());
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let made = Guest::build(&guest_recipe(), &guest_cache(), &Arc::default(), &mut |_| {});
    made.expect("a guest can be made")
}

/// Returns the recipe of the test guest.
///
/// # Panics
/// Panics if the catalog does not load.
pub fn guest_recipe() -> Recipe {
    let catalog = Catalog::builtin().expect("the catalog loads");
    Recipe::for_filesystems(catalog.filesystems(), &[])
}

/// Returns the directory of the test guest: the guest cache of an fsarena that uses the cache of
/// the tests.
pub fn guest_cache() -> PathBuf {
    program::cache().join("fsarena")
}
