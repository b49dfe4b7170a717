//! The guest that tests run cells in: the one that fsarena makes of its whole catalog, made once for all tests
//! and kept between their runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use config::Catalog;
use guest::{Guest, Recipe};

use crate::program;

/// The guest. Tests that begin together do not make it twice.
///
/// # Panics
/// When it cannot be made.
pub fn guest() -> Guest {
    static MAKING: Mutex<()> = Mutex::new(());
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let made = Guest::build(
        &guest_recipe(),
        &guest_cache(),
        &Arc::default(),
        &mut |_| {},
    );
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
