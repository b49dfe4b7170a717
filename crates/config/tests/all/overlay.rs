//! User directories in addition to the catalog: they add and override entries, and are refused as a
//! whole.

use std::path::Path;

use config::Catalog;
use model::{OperatingSystem, SizeProfile};

fn write(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn filesystem(name: &str, alias: &str) -> String {
    format!(
        r#"name = "{name}"
title = "Mine"
aliases = ["{alias}"]
driver = "kernel"
source = "made for a test"
[requires]
programs = ["mkfs.mine"]
smallest = "1 MiB"
[commands]
mkfs = "mkfs.mine {{options}} {{device}}"
mount = "mount -o {{options}} {{device}} {{mountpoint}}"
"#
    )
}

const SUITE: &str = r#"name = "mine"
title = "Mine"
source = "made for a test"
[[test]]
name = "mine"
title = "Mine"
rationale = "To see whether it is read."
space = "$size"
[test.parameters]
size = { smoke = "1 MiB", quick = "2 MiB", standard = "3 MiB", study = "4 MiB" }
[[test.phase]]
name = "write"
op = "write"
file = "f"
size = "$size"
block = "4 KiB"
cache = "warm"
ends = "fsync"
"#;

#[test]
fn a_layer_for_a_filesystem_that_nobody_has_is_refused() {
    let builtin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/layers/casefold.toml");
    let text = std::fs::read_to_string(builtin).unwrap().replace("\next4 = ", "\next5 = ");
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "layers/casefold.toml", &text);
    let error = Catalog::builtin().unwrap().overlay(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("there is no filesystem `ext5` in the catalog; did you mean"),
        "{error}"
    );
}

#[test]
fn files_add_and_override() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "filesystems/mine.toml", &filesystem("mine", "my-own"));
    write(dir.path(), "filesystems/ext4.toml", &filesystem("ext4", "fourth"));
    write(dir.path(), "suites/mine.toml", SUITE);
    write(dir.path(), "filesystems/notes.txt", "not read");
    write(dir.path(), "filesystems/.hidden.toml", "not read either");
    let mut catalog = Catalog::builtin().unwrap();
    let before = catalog.filesystems().count();
    catalog.overlay(dir.path()).unwrap();
    assert_eq!(catalog.filesystems().count(), before + 1);
    assert_eq!(catalog.filesystem("my-own").unwrap().name, "mine");
    assert_eq!(catalog.filesystem("ext4").unwrap().title, "Mine");
    let suite = catalog.suite("mine", SizeProfile::Standard).unwrap();
    assert_eq!(suite.tests[0].space.to_string(), "3 MiB");
    let suites = catalog.suites(SizeProfile::Smoke);
    assert!(suites.iter().any(|s| s.name == "mine"));
}

#[test]
fn a_directory_of_files_holds_filesystems() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "mine.toml", &filesystem("mine", "my-own"));
    let mut catalog = Catalog::builtin().unwrap();
    catalog.overlay(dir.path()).unwrap();
    assert!(catalog.filesystem("mine").is_ok());
}

#[test]
fn catalog_is_unchanged_if_any_file_is_invalid() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "filesystems/a.toml", &filesystem("mine", "my-own"));
    write(dir.path(), "suites/b.toml", "name = 1");
    let mut catalog = Catalog::builtin().unwrap();
    assert!(catalog.overlay(dir.path()).is_err());
    assert!(catalog.filesystem("mine").is_err());
}

#[test]
fn names_are_unique() {
    let refused = |files: &[(&str, String)]| -> String {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in files {
            write(dir.path(), file, text);
        }
        let error = Catalog::builtin().unwrap().overlay(dir.path()).unwrap_err();
        error.to_string().replace(&format!("{}/", dir.path().display()), "")
    };
    let twice = [("a.toml", filesystem("mine", "a")), ("b.toml", filesystem("mine", "b"))];
    assert_eq!(refused(&twice), "b.toml:1: `mine` is described in a.toml already");
    assert_eq!(
        refused(&[("a.toml", filesystem("mine", "xfs"))]),
        "a.toml:3: the name `xfs` belongs to `xfs` already"
    );
    assert_eq!(
        refused(&[("a.toml", filesystem("openzfs", "mine"))]),
        "a.toml:1: the name `openzfs` belongs to `zfs` already"
    );
    assert_eq!(
        refused(&[("a.toml", filesystem("mine", "mine"))]),
        "a.toml:1: the name `mine` belongs to `mine` already"
    );
    let suite = SUITE.replace("[[test]]\nname = \"mine\"", "[[test]]\nname = \"tree\"");
    assert_eq!(
        refused(&[("suites/a.toml", suite)]),
        "suites/a.toml:5: the name `tree` belongs to `tree` already"
    );
    // Answers name a use by its title.
    let desktop = include_str!("../../../../catalog/uses/desktop.toml");
    let second = desktop.replace("name = \"desktop\"", "name = \"mine\"");
    let error = refused(&[("uses/a.toml", second.clone())]);
    assert!(error.ends_with(": the name `desktop` belongs to `desktop` already"), "{error}");
    let second = second.replace("title = \"Desktop\"", "title = \"MAIL spool\"");
    let error = refused(&[("uses/a.toml", second)]);
    assert!(error.ends_with(": the name `mail spool` belongs to `mail-spool` already"), "{error}");
}

#[test]
fn a_directory_that_is_no_catalog_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut catalog = Catalog::builtin().unwrap();
    let error = catalog.overlay(dir.path()).unwrap_err().to_string();
    assert!(error.contains("expected filesystems/*.toml"), "{error}");
    let missing = dir.path().join("missing");
    let error = catalog.overlay(&missing).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

const USE: &str = r#"name = "mine"
title = "Mine"
source = "made for a test"
rationale = "To see whether it is read."
[readers]
one_of = ["os2"]
why = "it is carried there"
[[need]]
feature = "xattrs"
why = "notes are kept there"
[[weight]]
group = "trees"
parts = 3
why = "there is nothing else"
"#;

#[test]
fn uses_add_and_override() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "uses/mine.toml", USE);
    let desktop = USE.replace("name = \"mine\"", "name = \"desktop\"");
    let desktop = desktop.replace("title = \"Mine\"", "title = \"My desktop\"");
    write(dir.path(), "uses/desktop.toml", &desktop);
    let mut catalog = Catalog::builtin().unwrap();
    let before = catalog.uses().count();
    catalog.overlay(dir.path()).unwrap();
    assert_eq!(catalog.uses().count(), before + 1);
    assert_eq!(catalog.use_case("desktop").unwrap().title, "My desktop");
    let mine = catalog.use_case("mine").unwrap();
    assert_eq!(mine.readers.as_ref().unwrap().one_of, [OperatingSystem::Os2]);
    assert_eq!(mine.needs[0].feature, model::Feature::Xattrs);
    assert_eq!(mine.weight(model::WorkloadCategory::Trees), 3.0);
    assert_eq!(mine.weight(model::WorkloadCategory::Names), 0.0);
    assert_eq!(catalog.use_case("Mail Server").unwrap().name, "mail-spool");
    let own = USE.replace("\"mine\"", "\"mail-server\"").replace("\"Mine\"", "\"Own\"");
    write(dir.path(), "uses/mine.toml", &own);
    catalog.overlay(dir.path()).unwrap();
    let name_first = "a name comes before another word for a use";
    assert_eq!(catalog.use_case("mailserver").unwrap().title, "Own", "{name_first}");
    let error = catalog.use_case("mien").unwrap_err().to_string();
    assert!(error.starts_with("there is no use `mien` in the catalog;"), "{error}");
}

#[test]
fn disks_add_and_override() {
    let dir = tempfile::tempdir().unwrap();
    let disk = |name: &str| {
        format!(
            "name = \"{name}\"\ntitle = \"Mine\"\nproduct = \"a test\"\nkind = \"ideal\"\ncommand = \"4 ms\"\n\
             [sources]\ncommand = \"a test\"\n"
        )
    };
    write(dir.path(), "disks/floppy.toml", &disk("floppy"));
    write(dir.path(), "disks/sata-ssd.toml", &disk("sata-ssd"));
    let mut catalog = Catalog::builtin().unwrap();
    let before = catalog.disks().count();
    catalog.overlay(dir.path()).unwrap();
    assert_eq!(catalog.disks().count(), before + 1);
    assert_eq!(catalog.disk("sata-ssd").unwrap().title, "Mine");
    assert_eq!(catalog.disk("floppy").unwrap().command, model::Nanos(4_000_000));
    let error = catalog.disk("flopy").unwrap_err().to_string();
    assert!(error.contains("`flopy`") && error.contains("floppy"), "{error}");
}

#[test]
fn ages_add_and_override() {
    let dir = tempfile::tempdir().unwrap();
    let age = |name: &str| {
        format!(
            "name = \"{name}\"\ntitle = \"Mine\"\nsource = \"a test\"\nchurn = \"rewrite\"\nturnover = 1\nbatch = 1\n\
             sizes = [{{ up_to = 1, weight = 1 }}]\nages = [{{ up_to = 1, weight = 1 }}]\n\
             depths = [{{ depth = 1, directories = 1, weight = 1 }}]\n"
        )
    };
    write(dir.path(), "ages/mine.toml", &age("mine"));
    write(dir.path(), "ages/agrawal.toml", &age("agrawal"));
    let mut catalog = Catalog::builtin().unwrap();
    let before = catalog.ages().count();
    catalog.overlay(dir.path()).unwrap();
    assert_eq!(catalog.ages().count(), before + 1);
    assert_eq!(catalog.age("agrawal").unwrap().title, "Mine");
    let error = catalog.age("min").unwrap_err().to_string();
    assert!(error.contains("did you mean `mine`?"), "{error}");
}

#[test]
fn invalid_use_cases_are_rejected_with_their_line() {
    let cases = [
        (
            "parts = 3",
            "parts = 0",
            "mine.toml:13: `parts` is `0`; expected a whole number from 1 to 1000",
        ),
        ("\"trees\"", "\"bushes\"", "mine.toml:12: `group` is `bushes`; expected stream-write, "),
        ("\"xattrs\"", "\"wings\"", "mine.toml:9: `feature` is `wings`; expected hard-links, "),
        ("[\"os2\"]", "[\"plan9\"]", "mine.toml:6: `one_of` is `plan9`; expected linux, windows, "),
        (
            "why = \"notes",
            "because = \"notes",
            "mine.toml:10: unknown key `because`; expected feature or why",
        ),
        ("[[weight]]", "[[wait]]", "mine.toml:11: unknown key `wait`; "),
    ];
    for (good, bad, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "uses/mine.toml", &USE.replace(good, bad));
        let mut catalog = Catalog::builtin().unwrap();
        let error = catalog.overlay(dir.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

const STUDY: &str = r#"name = "ours"
title = "Ours"
source = "made for a test"
rationale = "What we once measured."
contenders = ["ext4"]
suites = ["mine", "tree"]
tests = ["mine"]
size = "1 GiB"
[parameters.mine]
size = "7 MiB"
"#;

#[test]
fn study_values_override_profile_values() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "suites/mine.toml", SUITE);
    write(dir.path(), "studies/ours.toml", STUDY);
    let mut catalog = Catalog::builtin().unwrap();
    catalog.overlay(dir.path()).unwrap();
    let study = catalog.study("ours").unwrap();
    assert_eq!(study.suites.len(), 1, "the other has no test of the study");
    assert_eq!(study.suites[0].tests[0].space, model::Bytes::mib(7));
    let suite = catalog.suite("mine", SizeProfile::Study).unwrap();
    assert_eq!(suite.tests[0].space, model::Bytes::mib(4));
}

/// A study is a directory with two files. A file without figures is only a campaign and has no
/// claims.
#[test]
fn a_study_is_two_files_and_a_campaign_alone_is_one() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "suites/mine.toml", SUITE);
    let text = format!("{STUDY}[[claim]]\nid = \"a\"\ntext = \"A.\"\nundecidable = \"Why.\"\n");
    write(dir.path(), "studies/ours/study.toml", &text);
    let told = |catalog: &mut Catalog| catalog.overlay(dir.path()).unwrap_err().to_string();
    let mut catalog = Catalog::builtin().unwrap();
    assert!(told(&mut catalog).contains("figures.csv: "), "it belongs to the study");
    write(dir.path(), "studies/ours/figures.csv", "what is in it is read later");
    catalog.overlay(dir.path()).unwrap();
    let published = catalog.study("ours").unwrap().published.unwrap();
    assert_eq!(published.claims[0].undecidable.as_deref(), Some("Why."));
    std::fs::remove_dir_all(dir.path().join("studies/ours")).unwrap();
    write(dir.path(), "studies/ours.toml", &text);
    assert!(told(&mut catalog).contains("unknown key `claim`"));
}

#[test]
fn invalid_studies_are_rejected_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "suites/mine.toml", SUITE);
    for (right, wrong, told) in [
        ("size = \"7 MiB\"", "sise = \"7 MiB\"", ":10: the test `mine` has no parameter `sise`"),
        ("[parameters.mine]", "[parameters.other]", ":9: the study's suites have no test `other`"),
        (
            "tests = [\"mine\"]",
            "tests = [\"other\"]",
            ":7: the study's suites have no test `other`",
        ),
        ("\"mine\", \"tree\"", "\"main\"", ":6: there is no suite `main`"),
        ("[\"ext4\"]", "[\"ext44\"]", ":5: there is no filesystem `ext44`"),
        ("1 GiB", "6 MiB", ":8: `size` is `6 MiB`; expected at least 7 MiB"),
    ] {
        let text = STUDY.replace(right, wrong);
        assert_ne!(text, STUDY, "{right}");
        write(dir.path(), "studies/ours.toml", &text);
        let mut catalog = Catalog::builtin().unwrap();
        let error = catalog.overlay(dir.path()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
