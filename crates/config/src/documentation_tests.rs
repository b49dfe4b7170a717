//! Checks the pages in `docs/` against the loader: their examples load, and every key is
//! documented.

use model::{CacheState, Op, SizeProfile, SyncAtEnd};

use crate::catalog::document::TomlSource;
use crate::catalog::{age_file, disk_file, filesystem_file, layer_file, machine_file, uses_file};
use crate::settings::campaign_file;
use crate::study::study_file;
use crate::suite::suite_file;
use crate::{AgeEntry, Catalog};

const FILESYSTEM: &str = include_str!("../../../docs/adding-a-filesystem.md");
const SUITE: &str = include_str!("../../../docs/adding-a-suite.md");

const USE: &str = include_str!("../../../docs/adding-a-use.md");
const STUDY: &str = include_str!("../../../docs/adding-a-study.md");
const LAYER: &str = include_str!("../../../docs/adding-a-layer.md");
const DISK: &str = include_str!("../../../docs/adding-a-disk.md");
const AGE: &str = include_str!("../../../docs/ageing.md");

/// Returns the TOML example of a page.
fn example(page: &str) -> &str {
    let (_, rest) = page.split_once("```toml\n").expect("the page has an example");
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_example_of_a_filesystem_loads() {
    let source = TomlSource { file: "ext4-small.toml", text: example(FILESYSTEM) };
    let (filesystem, _) = filesystem_file::read(source).unwrap();
    assert_eq!(filesystem.name, "ext4-small");
}

#[test]
fn the_example_of_a_suite_loads_in_every_profile() {
    let source = TomlSource { file: "mail.toml", text: example(SUITE) };
    for profile in SizeProfile::ALL {
        let (suite, _) = suite_file::read(source, profile, None).unwrap();
        assert_eq!(suite.tests[0].phases.len(), 3);
    }
}

/// The example suite with three user commands, each with its packages, is valid.
#[test]
fn commands_are_a_suite_of_ten_lines() {
    let (_, page) = SUITE.split_once("## Commands of your own").unwrap();
    let text = example(page);
    assert_eq!(text.lines().count(), 10);
    let text = text.replace(
        "[[test]]",
        "requires = { packages = [\"coreutils\"], programs = [\"sort\"] }\n[[test]]",
    );
    let source = TomlSource { file: "ours.toml", text: &text };
    let scaling = Catalog::builtin().unwrap().profile(SizeProfile::Quick).scaling;
    let (suite, _) = suite_file::read(source, SizeProfile::Quick, Some(scaling)).unwrap();
    assert_eq!(suite.requires.programs, ["sort"]);
    let test = &suite.tests[0];
    assert_eq!((test.title.as_str(), test.phases.len()), ("What we do all day", 3));
    for phase in &test.phases {
        assert_eq!((phase.cache, phase.sync_at_end), (CacheState::Warm, SyncAtEnd::Syncfs));
        assert_eq!(phase.scaling, None, "a command is never repeated");
        let Op::Exec(exec) = &phase.op else { panic!("{phase:?}") };
        assert_eq!(exec.packages, ["coreutils"]);
    }
    // A command may contain `/` or `*` next to `$`; it is not a quotient or product.
    let line = "sh -c 'cp *.o /bin/true $TMPDIR'";
    let text = text.replace("rm numbers sorted", line);
    let source = TomlSource { file: "ours.toml", text: &text };
    let (suite, _) = suite_file::read(source, SizeProfile::Quick, Some(scaling)).unwrap();
    let last = &suite.tests[0].phases[2].op;
    assert!(matches!(last, Op::Exec(exec) if exec.command == line));
}

#[test]
fn the_example_of_a_use_loads() {
    let source = TomlSource { file: "photos.toml", text: example(USE) };
    let (one, _) = uses_file::read(source).unwrap();
    assert_eq!((one.name.as_str(), one.weights.len()), ("photos", 3));
}

#[test]
fn the_example_of_a_layer_loads() {
    let source = TomlSource { file: "delay.toml", text: example(LAYER) };
    let (layer, _) = layer_file::read(source).unwrap();
    assert_eq!(layer.spelled("ext4"), "ext4+delay");
}

#[test]
fn the_example_of_a_disk_loads() {
    let source = TomlSource { file: "old-card.toml", text: example(DISK) };
    let (disk, _) = disk_file::read(source).unwrap();
    assert_eq!(disk.model.command, model::Nanos(200_000));
}

#[test]
fn the_examples_of_ages_load() {
    let catalog = Catalog::builtin().unwrap();
    let campaign = campaign_file::parse(example(AGE), "c.toml", &catalog).unwrap();
    let Some(AgeEntry::Defined(ages)) = campaign.age else { panic!("the file has ages") };
    assert_eq!(ages.len(), 2);
    assert_eq!(ages[1].operations, Some(20_000));
    let old = campaign.contenders[1].contender(&catalog).unwrap().own.age.unwrap();
    assert_eq!(old.layout, Some(model::PerMille(850)));
    let (_, profiles) = AGE.split_once("## Profiles").unwrap();
    let source = TomlSource { file: "photos.toml", text: example(profiles) };
    let (profile, _) = age_file::read(source).unwrap();
    assert_eq!(profile.depths.len(), 2);
}

#[test]
fn the_example_of_a_study_loads() {
    let catalog = Catalog::builtin().unwrap();
    let catalog = catalog.from_study("study.toml", example(STUDY), ("figures.csv", ""));
    let study = catalog.unwrap().study("archive-2019").unwrap();
    assert_eq!(study.suites[0].tests.len(), 1);
    assert_eq!(study.published.unwrap().claims.len(), 3);
}

#[test]
fn every_key_and_operation_is_described() {
    let described = |page: &str, word: &str| {
        let quoted = page.contains(&format!("`{word}`"));
        let headed = [
            format!("[{word}]"),
            format!("[[{word}]]"),
            format!("[test.{word}]"),
            format!("[[test.{word}]]"),
        ];
        assert!(quoted || headed.iter().any(|h| page.contains(h)), "{word}");
    };
    for key in filesystem_file::all_keys() {
        described(FILESYSTEM, key);
    }
    for key in layer_file::all_keys() {
        described(LAYER, key);
    }
    for key in suite_file::all_keys() {
        described(SUITE, key);
    }
    for key in study_file::all_keys() {
        described(STUDY, key);
    }
    for key in uses_file::all_keys() {
        described(USE, key);
    }
    for key in disk_file::all_keys() {
        described(DISK, key);
    }
    for key in machine_file::all_keys() {
        described(DISK, key);
    }
    for key in age_file::all_keys() {
        described(AGE, key);
    }
    for group in model::WorkloadCategory::ALL {
        described(USE, group.name());
    }
    for step in model::op::MixStep::WORDS {
        let with_size = SUITE.contains(&format!("`{step} "));
        assert!(with_size || SUITE.contains(&format!("`{step}`")), "{step}");
    }
    for word in Op::words() {
        described(SUITE, word.name);
        word.keys.iter().for_each(|key| described(SUITE, key));
    }
}
