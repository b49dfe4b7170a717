//! Every file of the catalog loads, says where its facts come from, and what it requires.

use catalog::{Catalog, Place, needs_device, resolve};
use model::{Bytes, Class, Profile};

fn catalog() -> Catalog {
    Catalog::builtin().expect("the catalog that is compiled in is right")
}

#[test]
fn every_filesystem_names_its_source_and_says_what_it_requires() {
    let catalog = catalog();
    for f in catalog.filesystems() {
        assert!(f.source.len() > 10, "{}: {}", f.name, f.source);
        if f.unavailable.is_some() {
            continue;
        }
        assert!(f.requires.kernel.is_some(), "{}", f.name);
        assert!(f.requires.smallest > Bytes(0), "{}", f.name);
        if f.class != Class::Floor {
            assert!(!f.requires.programs.is_empty(), "{}", f.name);
            assert!(needs_device(f), "{}", f.name);
        }
    }
}
