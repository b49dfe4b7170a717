//! Files of a catalog: filesystems with command lines, suites and studies with plans, uses, disks
//! and ages.

use std::fs;
use std::path::Path;

use config::{Catalog, CatalogKind, Placeholders, expand_commands};
use model::{Bytes, SizeProfile, check_name};

use crate::campaign::{campaign, has_a_plan};
use crate::property::{is_one_line, survives_json};
use crate::sample::CATALOG;

const KINDS: [CatalogKind; 6] = [
    CatalogKind::Filesystem,
    CatalogKind::Suite,
    CatalogKind::Use,
    CatalogKind::Disk,
    CatalogKind::Age,
    CatalogKind::Study,
];

/// Parses one file as each kind of catalog file.
pub fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    for kind in KINDS {
        match CATALOG.from_file(kind, "own\n.toml", text) {
            Err(error) => is_one_line(&error),
            Ok(catalog) if kind == CatalogKind::Study => studies_are_sound(&catalog),
            Ok(catalog) => is_sound(&catalog),
        }
    }
}

/// Returns the files of the built-in catalog.
pub fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog"));
    let mut files = Vec::new();
    for kind in ["filesystems", "suites", "uses", "disks", "ages"] {
        let entries = fs::read_dir(root.join(kind)).into_iter().flatten();
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    let studies = fs::read_dir(root.join("studies")).into_iter().flatten();
    files.extend(studies.flatten().map(|study| study.path().join("study.toml")));
    files.sort();
    let texts = files.iter().map(|file| fs::read(file).unwrap_or_default());
    texts.collect()
}

fn studies_are_sound(catalog: &Catalog) {
    for study in catalog.studies().expect("they were read once") {
        assert_eq!(check_name(&study.name), Ok(()));
        has_a_plan(&campaign(Vec::new(), study.suites));
    }
}

fn is_sound(catalog: &Catalog) {
    for filesystem in catalog.filesystems() {
        assert_eq!(check_name(&filesystem.name), Ok(()));
        survives_json(filesystem);
        commands_are_filled(catalog, &filesystem.name);
    }
    for profile in SizeProfile::ALL {
        for suite in catalog.suites(profile) {
            survives_json(suite);
            has_a_plan(&campaign(Vec::new(), vec![suite.clone()]));
            let contender = CATALOG.contender("ext4").expect("it is built in");
            has_a_plan(&campaign(vec![contender], vec![suite.clone()]));
        }
    }
    catalog.uses().for_each(survives_json);
    catalog.disks().map(|disk| &disk.model).for_each(survives_json);
}

/// Commands contain no unfilled placeholders, and every mount uses the safety options.
fn commands_are_filled(catalog: &Catalog, name: &str) {
    let contender = catalog.contender(name).expect("it is in there");
    let place = Placeholders {
        devices: &["/dev/a", "/dev/b"],
        mountpoint: "/mnt",
        size: Bytes::mib(64),
        fsarena: "/bin/fsarena",
    };
    let commands = expand_commands(&contender, &place);
    for line in [&commands.mkfs, &commands.mount, &commands.umount, &commands.fsck] {
        for word in line.iter().filter(|word| !word.contains(char::is_whitespace)) {
            assert!(!word.contains(['{', '}']), "{word}");
        }
    }
    if !commands.mount.is_empty() {
        let is_safe = |word: &String| word.contains("nosuid,nodev");
        assert!(commands.mount.iter().any(is_safe), "{:?}", commands.mount);
    }
}
