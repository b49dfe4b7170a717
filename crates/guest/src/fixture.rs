//! Filesystems and guests for tests.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::{Bytes, Commands, DriverKind, Filesystem, FilesystemFacts, Requirements};

use crate::build::manifest::Manifest;
use crate::build::program_tree::ProgramTree;
use crate::build::{BASE, KERNEL, MACHINE_MODULES, MODULES};
use crate::{Guest, Recipe};

/// Returns a filesystem that needs one module, one package and one program.
pub fn filesystem(name: &str, module: &str, package: &str, program: &str) -> Filesystem {
    Filesystem {
        name: name.into(),
        title: name.into(),
        aliases: Vec::new(),
        driver: DriverKind::Kernel,
        facts: FilesystemFacts::default(),
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
        layers: Vec::new(),
    }
}

/// Creates a guest with these modules and these programs. Earlier program trees have priority over
/// later ones.
pub fn guest(at: &Path, modules: &[&str], trees: &[(&str, &[&str])]) -> Guest {
    let kernel = at.join(MODULES).join("6.1.0-1-amd64");
    fs::create_dir_all(kernel.join("kernel")).unwrap();
    fs::write(kernel.join("modules.builtin"), "").unwrap();
    for module in modules.iter().chain(&MACHINE_MODULES) {
        let file = kernel.join(format!("kernel/{module}.ko"));
        fs::write(file, "\0depends=\0").unwrap();
    }
    for (tree, programs) in trees {
        let directory = at.join(tree).join("usr/sbin");
        fs::create_dir_all(&directory).unwrap();
        for program in *programs {
            fs::write(directory.join(program), format!("{program} of {tree}")).unwrap();
        }
    }
    fs::write(at.join(BASE), "base").unwrap();
    fs::write(at.join(KERNEL), "kernel").unwrap();
    let manifest = Manifest::of(at).unwrap();
    let mut guest = Guest::open(at, &Recipe::default(), manifest.clone()).unwrap();
    let manifest = Arc::new(manifest);
    let trees = trees.iter();
    let trees = trees.map(|(tree, _)| ProgramTree::in_directory(&at.join(tree), Some(&manifest)));
    guest.tools = trees.collect();
    guest
}
