//! Adds an operation to a copy of the crates, following `docs/adding-an-operation.md`, and performs
//! it. Adds an option of campaigns, too. The copy is kept, so that only changed files are compiled
//! again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Crates of the copy: those that read suites and those that perform operations.
const CRATES: [&str; 5] = ["trace", "model", "sys", "workload", "config"];

/// Entry that declares an option.
const OPTION: &str =
    "            /// Wait between rounds.\n            pause: Option<Nanos> = a_time();\n";

/// Program that reads the operation from a suite file and performs, undoes and repeats it.
const USE: &str = r#"
use config::{Catalog, CatalogKind};
use model::{SizeProfile, SyncAtEnd};

#[test]
fn the_operation_is_read_performed_undone_and_repeated() {
    let suite = std::env::var("SUITE").unwrap();
    let catalog = Catalog::builtin().unwrap().from_file(CatalogKind::Suite, "new.toml", &suite).unwrap();
    let phase = &catalog.suite("new", SizeProfile::Smoke).unwrap().tests[0].phases[0];
    let place = std::env::temp_dir().join(format!("operation-{}", std::process::id()));
    std::fs::create_dir(&place).unwrap();
    let mut workspace = workload::CellWorkspace::new(&place, 1);
    for _ in 0..2 {
        let meter = workload::PhaseMeter::start(None, None);
        let mut tally = workload::ThreadStats::new(None, Default::default(), meter);
        workload::perform(&phase.op, SyncAtEnd::Call, &mut workspace, &mut tally).unwrap();
        assert_eq!((tally.operations, place.join("new").exists()), (1, true));
        workload::undo(&phase.op, &mut workspace).unwrap();
        assert!(!place.join("new").exists());
    }
    std::fs::remove_dir(&place).unwrap();
}

#[derive(clap::Parser)]
struct ProgramLine {
    #[command(flatten)]
    settings: config::Settings,
}

#[test]
fn the_option_is_a_flag_and_a_key_with_help_and_precedence() {
    use clap::{CommandFactory, Parser};
    use config::settings::campaign_file::parse;

    let catalog = Catalog::builtin().unwrap();
    let seconds = |seconds| Some(model::Nanos::from_secs(seconds));
    let typed = |words: &[&str]| ProgramLine::try_parse_from(words).map(|line| line.settings);
    let filed = |value: &str| {
        parse(&format!("contenders = [\"ext4\"]\npause = {value}"), "c.toml", &catalog)
    };
    let file = filed("\"2 s\"").unwrap();
    assert_eq!(file.pause, seconds(2));
    assert_eq!(typed(&["run", "--pause", "5s"]).unwrap().over(file.clone()).pause, seconds(5));
    assert_eq!(typed(&["run"]).unwrap().over(file.clone()).pause, seconds(2));
    assert!(typed(&["run", "--pause", "soon"]).is_err() && filed("\"soon\"").is_err());
    assert!(file.given().iter().any(|option| option.flag() == "--pause"));
    let help = ProgramLine::command().render_help().to_string();
    let line = help.lines().find(|line| line.contains("--pause <TIME>")).unwrap();
    assert!(line.contains("Wait between rounds"), "{line}");
}
"#;

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().to_owned()
}

/// Returns the code blocks in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Files of a workspace, by relative path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Reads all files below a directory.
fn read(top: &Path, below: &Path, into: &mut Files) {
    for entry in fs::read_dir(top.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = below.join(entry.file_name());
        match entry.path().is_dir() {
            true => read(top, &name, into),
            false => _ = into.insert(name, fs::read(entry.path()).unwrap()),
        }
    }
}

/// Makes a directory contain exactly these files. Unchanged files are not rewritten, because cargo
/// recompiles files with a newer time.
fn keep(files: &Files, top: &Path) {
    fs::create_dir_all(top).unwrap();
    let mut there = Files::new();
    read(top, Path::new(""), &mut there);
    for name in there.keys().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(top.join(name)).unwrap();
    }
    let changed = |(name, content): &(&PathBuf, &Vec<u8>)| there.get(*name) != Some(*content);
    for (name, content) in files.iter().filter(changed) {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns the crates with the operation of the page added to them.
fn with_operation(page: &str) -> Files {
    let [file, line] = blocks(page, "rust")[..] else {
        panic!("a file and a line");
    };
    let mut files = Files::new();
    let crates = CRATES.map(|name| Path::new("crates").join(name));
    let others = ["catalog", "docs"].map(PathBuf::from);
    for directory in crates.iter().chain(&others) {
        read(&root(), directory, &mut files);
    }
    files.insert("Cargo.lock".into(), fs::read(root().join("Cargo.lock")).unwrap());
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().map(|line| match line {
        line if line.starts_with("members = ") => "members = [\"crates/*\"]",
        line if line.starts_with("default-members = ") => "",
        line => line,
    });
    let manifest = members.collect::<Vec<_>>().join("\n");
    files.insert("Cargo.toml".into(), manifest.into());

    files.insert("crates/model/src/op/touch.rs".into(), file.into());
    edit(&mut files, "crates/model/src/op/mod.rs", "\noperations! {\n", line);
    files.insert("crates/workload/tests/added.rs".into(), USE.into());
    let dependency = "clap.workspace = true\nconfig.workspace = true\n";
    edit(&mut files, "crates/workload/Cargo.toml", "[dev-dependencies]\n", dependency);
    let main =
        "pub struct Settings [storage: StorageSettings, limit: WriteLimit] {\n        MAIN => {\n";
    edit(&mut files, "crates/config/src/settings/campaign_settings.rs", main, OPTION);
    files
}

/// Inserts text after another text.
fn edit(files: &mut Files, name: &str, behind: &str, text: &str) {
    let content = files.get_mut(Path::new(name)).unwrap();
    let old = String::from_utf8(content.clone()).unwrap();
    assert!(old.contains(behind), "{name}");
    *content = old.replacen(behind, &format!("{behind}{text}"), 1).into();
}

/// Builds the copy, and runs one of its tests.
fn passes(test: &str) {
    // Both tests use the same copy.
    static COPY: Mutex<()> = Mutex::new(());
    let _only_one = COPY.lock();
    let page = fs::read_to_string(root().join("docs/adding-an-operation.md")).unwrap();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("added-operation");
    let source = place.join("source");
    keep(&with_operation(&page), &source);

    let above = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    // The configuration names a target, which has its own directory.
    let target = match above.ends_with("x86_64-unknown-linux-gnu") {
        true => above.parent().unwrap(),
        false => above,
    };
    let phase = blocks(&page, "toml")[0];
    let suite = format!(
        "name = \"new\"\ntitle = \"New\"\nsource = \"a test\"\n[[test]]\nname = \"new\"\n\
         rationale = \"A test.\"\nspace = \"1 MiB\"\n[[test.phase]]\nname = \"new\"\n{phase}"
    );
    let built = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--quiet", "--package", "workload", "--test", "added", test])
        .args(CRATES.map(|name| format!("--config=profile.dev.package.{name}.opt-level=0")))
        .current_dir(source)
        // Crates of others are built there already.
        .env("CARGO_TARGET_DIR", target)
        // The document shows less than a complete operation has, so lints are not checked.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("SUITE", suite)
        .output()
        .unwrap();
    let [out, said] = [&built.stdout, &built.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(built.status.success() && out.contains("1 passed"), "{said}\n{out}");
}

#[test]
fn a_file_and_a_line_are_an_operation() {
    passes("the_operation_is_read_performed_undone_and_repeated");
}

#[test]
fn one_entry_is_an_option_and_a_key() {
    passes("the_option_is_a_flag_and_a_key_with_help_and_precedence");
}
