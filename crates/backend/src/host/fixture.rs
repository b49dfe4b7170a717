//! A small campaign for this crate's tests.

use config::Catalog;
use model::{Bytes, Campaign};

/// Returns a campaign of two contenders and three rounds on a large image.
pub fn campaign() -> Campaign {
    let catalog = Catalog::builtin().expect("the catalog that is compiled in is right");
    let contender = |name| catalog.contender(name).expect("it is in the catalog");
    Campaign {
        size: Bytes::mib(20_000),
        ..campaign::run::in_memory::campaign(["ext4", "xfs"].map(contender).into(), 3)
    }
}
