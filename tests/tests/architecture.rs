//! Tests of the structure of the workspace: allowed dependencies between crates, purity, places of
//! `unsafe`, a purpose comment in every file, and a test for every promise of the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Allowed dependencies between crates of the workspace. Each crate may only use the listed crates.
const EDGES: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("simdisk", &["model"]),
    ("stats", &["model"]),
    ("sys", &["model"]),
    ("trace", &["model"]),
    ("workload", &["model", "sys", "trace"]),
    ("campaign", &["model", "stats", "sys"]),
    ("config", &["model", "sys"]),
    ("guest", &["model", "simdisk", "sys"]),
    ("import", &["model"]),
    ("mkfs", &["model"]),
    ("storage", &["model", "sys"]),
    ("studies", &["config", "model", "stats"]),
    ("agent", &["import", "mkfs", "model", "simdisk", "sys", "workload"]),
    ("backend", &["agent", "campaign", "config", "guest", "model", "storage", "sys", "workload"]),
    ("batch", &["campaign", "guest", "model", "sys"]),
    ("report", &["model", "stats", "studies"]),
    (
        "fsarena",
        &[
            "agent", "backend", "batch", "campaign", "config", "guest", "import", "mkfs", "model",
            "report", "simdisk", "stats", "storage", "studies", "sys", "trace", "workload",
        ],
    ),
    // Not part of fsarena: runs every parser of untrusted input on malformed input.
    (
        "fuzz",
        &[
            "backend", "batch", "campaign", "config", "guest", "import", "model", "report",
            "stats", "storage", "studies", "sys", "trace",
        ],
    ),
    // Not a part of fsarena; compares it with other programs.
    (
        "bench",
        &[
            "backend", "batch", "campaign", "config", "guest", "model", "report", "stats",
            "storage", "sys", "workload",
        ],
    ),
];

/// Directories and files with pure code.
const PURE: &[&str] = &[
    "crates/import/src",
    "crates/mkfs/src",
    "crates/model/src",
    "crates/report/src",
    "crates/stats/src",
    "crates/studies/src",
    "crates/trace/src",
    "crates/campaign/src/plan",
    "crates/backend/src/kernel_log",
    "crates/backend/src/kernel_log.rs",
    "crates/backend/src/cell/result_builder.rs",
    "crates/storage/src/host/doctor.rs",
    "crates/batch/src/hosts/scheduler.rs",
];

/// Forbidden in pure code: files, clocks, the environment, processes, the network.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::time::Instant",
    "SystemTime",
    "Instant::now",
    "std::env::",
    "std::net",
    "std::process",
    "std::thread",
    "File::open",
    "println!",
    "eprintln!",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap_or_else(|e| panic!("{}: {e}", below.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the code of a file without its unit tests, which are located at the end.
fn production(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod ").next().unwrap().to_owned()
}

fn is_test_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests/") || text.ends_with("_tests.rs") || text.contains("fixture")
}

/// Returns the sources of all crates of the workspace, including `bench` and `fuzz`.
fn all_sources() -> Vec<PathBuf> {
    let below = ["crates", "bench", "fuzz"].map(|directory| sources(&root().join(directory)));
    below.concat()
}

/// `Command::output` reads a program without limit and ignores a signal to stop.
#[test]
fn output_of_programs_is_read_within_limits() {
    let calls = [".output()", "wait_with_output("];
    let is_unbounded = |path: &PathBuf| {
        let text = production(path);
        text.contains("Command") && calls.iter().any(|call| text.contains(call))
    };
    let sources = sources(&root().join("crates")).into_iter().filter(|path| !is_test_file(path));
    let found: Vec<PathBuf> = sources.filter(is_unbounded).collect();
    // These run only in tests.
    let expected = ["crates/sys/src/own_process.rs", "crates/workload/src/mounted.rs"];
    assert_eq!(found, expected.map(|path| root().join(path)), "use sys::io::bounded::output");
}

fn manifest(of: &Path) -> toml::Table {
    let text = fs::read_to_string(of.join("Cargo.toml")).unwrap();
    text.parse().unwrap()
}

fn crates() -> BTreeMap<String, toml::Table> {
    let mut crates = BTreeMap::new();
    let listed = fs::read_dir(root().join("crates")).unwrap();
    let listed = listed.map(|entry| entry.unwrap().path());
    for path in listed.chain([root().join("bench"), root().join("fuzz")]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        crates.insert(name, manifest(&path));
    }
    crates
}

#[test]
fn crates_use_only_lower_crates() {
    let crates = crates();
    let ours: BTreeSet<&str> = crates.keys().map(String::as_str).collect();
    let allowed: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    assert_eq!(ours, allowed.keys().copied().collect(), "every crate has its line in EDGES");
    for (name, manifest) in &crates {
        let used = manifest["dependencies"].as_table().unwrap();
        for dependency in used.keys().filter(|d| ours.contains(d.as_str())) {
            let listed = allowed[name.as_str()].contains(&dependency.as_str());
            assert!(listed, "{name} must not use {dependency}");
        }
    }
}

#[test]
fn pure_crates_touch_no_file_and_no_clock() {
    for place in PURE {
        let place = root().join(place);
        assert!(place.exists(), "{} does not exist", place.display());
        let files = match place.is_dir() {
            true => sources(&place),
            false => vec![place.clone()],
        };
        let files = files.into_iter().filter(|path| !is_test_file(path));
        let files: Vec<PathBuf> = files.collect();
        assert!(!files.is_empty(), "{} has no code", place.display());
        for path in files {
            let code = production(&path);
            for forbidden in IMPURE {
                let line = code
                    .lines()
                    .find(|l| l.contains(forbidden) && !l.trim_start().starts_with("//"));
                assert_eq!(line, None, "{} uses {forbidden}", path.display());
            }
        }
    }
}

/// Crates whose folders depend on each other in one direction only.
const FOLDERS: &[&str] = &["campaign", "report", "stats"];
/// Maximum number of files in a folder, excluding tests.
const MOST_FILES: usize = 16;

/// Returns the folder of each name that `lib.rs` re-exports, and of each folder itself.
fn folders_of_names(source: &Path) -> BTreeMap<String, String> {
    let library = fs::read_to_string(source.join("lib.rs")).unwrap();
    let is_own = |folder: &str| {
        source.join(folder).is_dir() || source.join(format!("{folder}.rs")).is_file()
    };
    let mut folders = BTreeMap::new();
    for given in library.split("pub use ").skip(1) {
        let path = given.split(';').next().unwrap();
        let folder = path.split("::").next().unwrap();
        if !is_own(folder) {
            continue;
        }
        let names = path.rsplit("::").next().unwrap();
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        for name in names.chain([folder]).filter(|name| !name.is_empty()) {
            folders.insert(name.to_owned(), folder.to_owned());
        }
    }
    folders
}

/// Returns the first component of each `crate::` path that a file uses.
fn used_names(code: &str) -> Vec<String> {
    let lines = code.lines().filter(|l| !l.trim_start().starts_with("//"));
    let code: String = lines.map(|line| format!("{line}\n")).collect();
    let mut names = Vec::new();
    for after in code.split("crate::").skip(1) {
        let list = after.strip_prefix('{').and_then(|a| a.split("};").next());
        for path in list.unwrap_or(after).split(',') {
            let name = path.trim_start();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            names.push(name[..end.unwrap_or(name.len())].to_owned());
            if list.is_none() {
                break;
            }
        }
    }
    names
}

#[test]
fn folders_are_small_and_use_each_other_one_way() {
    for name in FOLDERS {
        let source = root().join("crates").join(name).join("src");
        let folders = folders_of_names(&source);
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for path in sources(&source).into_iter().filter(|p| !is_test_file(p)) {
            *files.entry(path.parent().unwrap().to_owned()).or_default() += 1;
            let below = path.strip_prefix(&source).unwrap();
            let folder = below.iter().next().unwrap().to_string_lossy();
            let folder = folder.trim_end_matches(".rs").to_owned();
            if ["lib", "same_results"].contains(&folder.as_str()) {
                continue;
            }
            let used = used_names(&production(&path)).into_iter();
            let used = used.filter_map(|name| folders.get(&name).cloned());
            let others = used.filter(|other| *other != folder).collect::<Vec<_>>();
            edges.entry(folder).or_default().extend(others);
        }
        for (folder, count) in files {
            let shown = folder.display();
            assert!(count <= MOST_FILES, "{shown} holds {count} files");
        }
        // Removes folders that do not use any remaining folder; cycles remain.
        while let Some(free) = edges.iter().find(|(_, used)| used.is_empty()) {
            let free = free.0.clone();
            edges.remove(&free);
            for used in edges.values_mut() {
                used.remove(&free);
            }
        }
        assert!(edges.is_empty(), "{name}: a circle among {edges:?}");
    }
}

#[test]
fn unsafe_is_only_in_sys_and_the_disk_mechanism_with_a_reason() {
    for path in all_sources() {
        let code = fs::read_to_string(&path).unwrap();
        let in_sys = path.starts_with(root().join("crates/sys"))
            || path == root().join("crates/simdisk/src/mechanism.rs");
        let lines: Vec<&str> = code.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap();
            if !["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                .iter()
                .any(|u| code.contains(u))
            {
                continue;
            }
            assert!(in_sys, "{}:{} holds unsafe code", path.display(), i + 1);
            let reason = lines[i.saturating_sub(6)..i].iter().any(|l| l.contains("SAFETY:"));
            assert!(reason, "{}:{} does not say why it is sound", path.display(), i + 1);
        }
    }
}

#[test]
fn every_file_begins_with_its_purpose() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not", path.display());
    }
}

/// `Error` is the usual name of an error of a module, and `Builder` of a builder.
#[test]
fn no_type_name_has_two_meanings() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in all_sources().into_iter().chain(sources(&root().join("tests"))) {
        for line in fs::read_to_string(&path).unwrap().lines() {
            let words = line.trim_start().split([' ', '(', '<', '{', ';', ':']);
            let mut words = words.filter(|word| !word.is_empty());
            let mut word = words.next();
            if word == Some("pub") {
                let next = words.next();
                let is_limited = ["crate)", "super)"].contains(&next.unwrap_or_default());
                word = if is_limited { words.next() } else { next };
            }
            if let (Some("struct" | "enum" | "trait"), Some(name)) = (word, words.next())
                // Types that a macro names.
                && !name.starts_with('$')
            {
                places.entry(name.to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
    assert!(places.len() > 500, "{} types were found", places.len());
    places
        .retain(|name, places| places.len() > 1 && !["Error", "Builder"].contains(&name.as_str()));
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn no_unfinished_or_disabled_code_remains() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("#[ign", "ore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    for path in all_sources().into_iter().chain(sources(&root().join("tests"))) {
        if path.ends_with("architecture.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for mark in marks {
            assert!(!text.contains(mark), "{} holds {mark}", path.display());
        }
    }
}

/// Returns the test programs in a directory of tests, and the modules of one.
fn files_of_tests(directory: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut files = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        let is_module = path.is_dir() && path.join("mod.rs").exists();
        if is_module || path.extension().is_some_and(|e| e == "rs") {
            let name = path.file_stem().unwrap().to_string_lossy();
            files.insert(name.into_owned());
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let names = text.lines().filter_map(|line| line.strip_prefix("mod "));
        modules.extend(names.filter_map(|name| Some(name.strip_suffix(';')?.to_owned())));
    }
    (files, modules)
}

/// Cargo finds test programs by itself, but not if some of them only run with root.
#[test]
fn every_file_of_tests_is_run() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let named = makefile.lines().find_map(|line| line.strip_prefix("ROOT_TESTS := "));
    let named: BTreeSet<&str> = named.unwrap().split(' ').collect();
    let mut with_root = BTreeSet::new();
    let own = BTreeMap::from([("tests".to_owned(), manifest(&root().join("tests")))]);
    for (name, manifest) in crates().into_iter().chain(own) {
        let listed = manifest.get("test").and_then(toml::Value::as_array);
        let listed = listed.into_iter().flatten();
        let word = |test: &toml::Value| test["name"].as_str().unwrap().to_owned();
        let is_off =
            |test: &&toml::Value| test.get("test").and_then(toml::Value::as_bool) == Some(false);
        with_root.extend(listed.clone().filter(is_off).map(word));
        if manifest["package"].get("autotests").is_none() {
            continue;
        }
        let listed: BTreeSet<String> = listed.map(word).collect();
        let directory = ["crates", "."].map(|below| root().join(below).join(&name).join("tests"));
        let directory = directory.into_iter().find(|d| d.exists()).unwrap();
        let (files, modules) = files_of_tests(&directory);
        let run: BTreeSet<String> = listed.union(&modules).cloned().collect();
        assert_eq!(files, run, "files and listed tests of {name}");
    }
    let with_root: BTreeSet<&str> = with_root.iter().map(String::as_str).collect();
    assert_eq!(named, with_root, "ROOT_TESTS of the Makefile, and `test = false`");
    let script = fs::read_to_string(root().join("scripts/run-tests.sh")).unwrap();
    let groups = script.lines().filter(|line| line.starts_with("end_to_end \""));
    let groups = groups.chain(script.lines().filter(|line| line.starts_with("end_to_end $")));
    let run: BTreeSet<&str> = groups.flat_map(str::split_whitespace).collect();
    let left_out: Vec<&&str> = named.iter().filter(|name| !run.contains(**name)).collect();
    assert!(left_out.is_empty(), "scripts/run-tests.sh does not run {left_out:?}");
}

/// Returns the names of all test functions, with and without the path of the file.
fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in all_sources().into_iter().chain(sources(&root().join("tests"))) {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        for line in text.lines().map(str::trim_start) {
            if let Some(name) = line.strip_prefix("fn ").and_then(|l| l.split('(').next()) {
                names.insert(format!("{file}::{name}"));
            }
        }
    }
    names
}

#[test]
fn every_promise_of_the_specification_is_held_by_a_test_that_exists() {
    let specification = fs::read_to_string(root().join("SPECIFICATION.md")).unwrap();
    let known = test_names();
    let mut promises = 0;
    let mut numbers = BTreeSet::new();
    for line in specification.lines().filter(|l| l.starts_with("| P")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, promise, tests, _] = cells[..] else { panic!("not three cells: {line}") };
        assert!(numbers.insert(number.to_owned()), "{number} occurs twice");
        assert!(!promise.is_empty());
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{number} names no test");
        for test in named {
            assert!(known.contains(test), "{number} names {test}, which does not exist");
        }
        promises += 1;
    }
    assert!(promises >= 20, "the specification has only {promises} promises");
}

#[test]
fn every_catalog_file_names_its_source() {
    for kind in ["filesystems", "suites", "studies"] {
        for entry in fs::read_dir(root().join("catalog").join(kind)).unwrap() {
            let mut path = entry.unwrap().path();
            // A study is a directory: its campaign and its published results.
            if path.is_dir() {
                path.push("study.toml");
            }
            let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            let source = table["source"].as_str().unwrap();
            assert!(source.len() > 10, "{} names none", path.display());
        }
    }
}
