//! Reference data for inputs: the built-in catalog, and a test for an agent.

use std::sync::LazyLock;

use config::Catalog;
use model::Test;
use stats::fixture;

/// The built-in catalog.
pub static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::builtin().expect("a test of the catalog holds that it is right"));

/// A test with several phases.
pub static TEST: LazyLock<Test> = LazyLock::new(|| {
    let tests = fixture::lifecycle();
    tests.into_iter().next().expect("it has one")
});
