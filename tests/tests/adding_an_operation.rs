//! Adds an operation as `docs/adding-an-operation.md` says, to a copy of the crates, and performs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates of the copy: what reads suites and what performs operations.
const CRATES: [&str; 4] = ["model", "sys", "engine", "catalog"];

/// Reads the operation from a suite's file, performs, undoes and repeats it.
const USE: &str = r#"
use catalog::{Catalog, Kind};
use model::{End, Profile};

#[test]
fn the_operation_is_read_performed_undone_and_repeated() {
    let suite = std::env::var("SUITE").unwrap();
    let catalog = Catalog::builtin().unwrap().of_file(Kind::Suite, "new.toml", &suite).unwrap();
    let phase = &catalog.suite("new", Profile::Smoke).unwrap().tests[0].phases[0];
    let place = std::env::temp_dir().join(format!("operation-{}", std::process::id()));
    std::fs::create_dir(&place).unwrap();
    let mut workspace = engine::Workspace::new(&place, 1);
    for _ in 0..2 {
        let meter = engine::Meter::start(None, None);
        let mut tally = engine::Tally::new(None, Default::default(), meter);
        engine::perform(&phase.op, End::Call, &mut workspace, &mut tally).unwrap();
        assert_eq!((tally.operations, place.join("new").exists()), (1, true));
        engine::undo(&phase.op, &mut workspace).unwrap();
        assert!(!place.join("new").exists());
    }
    std::fs::remove_dir(&place).unwrap();
}
"#;

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().to_owned()
}

/// The code blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => _ = fs::copy(&path, to.join(name)).unwrap(),
        }
    }
}

#[test]
fn a_file_and_a_line_are_an_operation() {
    let page = fs::read_to_string(root().join("docs/adding-an-operation.md")).unwrap();
    let [file, line] = blocks(&page, "rust")[..] else {
        panic!("a file and a line");
    };
    let place = tempfile::tempdir().unwrap();
    for name in CRATES {
        let directory = Path::new("crates").join(name);
        copy(&root().join(&directory), &place.path().join(&directory));
    }
    copy(&root().join("catalog"), &place.path().join("catalog"));
    copy(&root().join("docs"), &place.path().join("docs"));
    copy(&root().join(".cargo"), &place.path().join(".cargo"));
    fs::copy(root().join("Cargo.lock"), place.path().join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().map(|line| match line {
        line if line.starts_with("members = ") => "members = [\"crates/*\"]",
        line if line.starts_with("default-members = ") => "",
        line => line,
    });
    let manifest = members.collect::<Vec<_>>().join("\n");
    fs::write(place.path().join("Cargo.toml"), manifest).unwrap();

    let operations = place.path().join("crates/model/src/op");
    fs::write(operations.join("touch.rs"), file).unwrap();
    let list = fs::read_to_string(operations.join("mod.rs")).unwrap();
    let (before, behind) = list.split_once("\noperations! {\n").unwrap();
    let list = format!("{before}\noperations! {{\n{line}{behind}");
    fs::write(operations.join("mod.rs"), list).unwrap();
    let engine = place.path().join("crates/engine");
    fs::write(engine.join("tests/added.rs"), USE).unwrap();
    let manifest = fs::read_to_string(engine.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace(
        "[dev-dependencies]\n",
        "[dev-dependencies]\ncatalog.workspace = true\n",
    );
    fs::write(engine.join("Cargo.toml"), manifest).unwrap();

    let phase = blocks(&page, "toml")[0];
    let suite = format!(
        "name = \"new\"\ntitle = \"New\"\nsource = \"a test\"\n[[test]]\nname = \"new\"\n\
         rationale = \"A test.\"\nspace = \"1 MiB\"\n[[test.phase]]\nname = \"new\"\n{phase}"
    );
    let built = Command::new(env!("CARGO"))
        .args([
            "test",
            "--offline",
            "--quiet",
            "--package",
            "engine",
            "--test",
            "added",
        ])
        .args([
            "--config",
            "profile.dev.opt-level=0",
            "--config",
            "profile.dev.debug=false",
        ])
        .current_dir(place.path())
        // Other than that of the tests, which this test's cargo may hold.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("added-operation"),
        )
        .env("SUITE", suite)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&built.stdout)
    );
}
