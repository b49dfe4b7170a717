//! Campaigns of several databases in one mounted directory do not interfere.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the first campaign of a new database in a directory.
fn run_first_campaign(directory: &Path, seed: &str) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fsarena"))
        .args(["run", "--profile", "smoke", "-s", "tree", "--dir"])
        .arg(directory)
        .args(["--seed", seed, "--strict"])
        .env("XDG_DATA_HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// `kill_and_resume` tests that the leftovers of the same database are removed.
#[test]
fn leftovers_of_other_databases_stay() {
    let directory = tempfile::tempdir().unwrap();
    // The directory that the first cell of another database's first campaign leaves with the seed
    // 10.
    let other = directory.path().join("fsarena-1-a-0");
    fs::create_dir_all(other.join("work")).unwrap();
    fs::write(other.join(".made-by-fsarena"), "").unwrap();
    for seed in ["11", "10"] {
        run_first_campaign(directory.path(), seed);
        assert!(other.join("work").exists(), "another process may be working in the directory");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "its own files are gone");
    }
}
