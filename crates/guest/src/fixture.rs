//! Filesystems for tests.

use model::{Bytes, Commands, Driver, Facts, Filesystem, Requirements};

/// One that needs one module, one package and one program.
pub fn filesystem(name: &str, module: &str, package: &str, program: &str) -> Filesystem {
    Filesystem {
        name: name.into(),
        title: name.into(),
        aliases: Vec::new(),
        driver: Driver::Kernel,
        facts: Facts::default(),
        source: "a manual".into(),
        requires: Requirements {
            kernel: Some(name.into()),
            modules: vec![module.into()],
            packages: vec![package.into()],
            programs: vec![program.into()],
            smallest: Bytes::mib(1),
            ..Requirements::default()
        },
        commands: Commands::default(),
        quirks: Vec::new(),
        unavailable: None,
        only_in_guest: None,
        only_when_named: None,
    }
}
