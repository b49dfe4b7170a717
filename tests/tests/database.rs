//! A database on a full or read-only disk, or locked by another program: errors are one line with
//! the database's name and a hint, for reading and writing commands.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use end_to_end::gate::Gate;
use end_to_end::{CommandOutput, Sandbox, program, run};

/// A filesystem that is unmounted at the end of the test.
struct MountedDatabase(PathBuf);

impl MountedDatabase {
    fn tmpfs(sandbox: &Sandbox, name: &str, size: &str) -> Self {
        let path = sandbox.path(name);
        fs::create_dir(&path).unwrap();
        succeed(
            Command::new("mount")
                .args(["-t", "tmpfs", "-o", &format!("mode=700,size={size}"), "none"])
                .arg(&path),
        );
        Self(path)
    }

    fn make_read_only(&self) {
        succeed(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0));
    }
}

impl Drop for MountedDatabase {
    fn drop(&mut self) {
        // The sandbox reports mounts that remain.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn succeed(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Returns a campaign of some rounds in a directory, with a database in another place.
fn campaign(sandbox: &Sandbox, database: &Path) -> Command {
    let place = sandbox.path("place");
    fs::create_dir_all(&place).unwrap();
    let mut command = with(sandbox, database, &["run", "--profile", "smoke"]);
    command
        .args(["--suite", "names", "--rounds", "2", "--quiet"])
        .arg("--work-dir")
        .arg(sandbox.path("work"))
        .arg("--dir")
        .arg(place);
    command
}

fn with(sandbox: &Sandbox, database: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program::fsarena());
    command
        .arg("--db")
        .arg(database)
        .arg("--catalog")
        .arg(sandbox.path("catalog"))
        .args(words)
        .env("XDG_DATA_HOME", sandbox.path("data"))
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn assert_told(ended: CommandOutput, code: i32, database: &Path, words: &str) {
    let ended = ended.assert_code(code);
    let said = ended.stderr.trim_end();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(words), "{said}");
    assert!(said.contains(database.to_str().unwrap()), "{said}");
}

/// Fills all remaining space.
fn fill(directory: &Path) -> PathBuf {
    let path = directory.join("filler");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    for size in [65_536, 4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    path
}

/// Runs a command while calls on the database and its log fail, as on a failing disk.
fn with_fault(database: &Path, fault: &str, command: &Command) -> CommandOutput {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("inject={fault}")]);
    for suffix in ["", "-wal"] {
        strace.arg("-P").arg(format!("{}{suffix}", database.display()));
    }
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        strace.env(name, value);
    }
    run(strace.stdin(Stdio::null()))
}

/// SQLite calls a page damaged that the disk does not return.
#[test]
fn a_failing_disk_is_not_called_damage() {
    let sandbox = Sandbox::new();
    let database = sandbox.path("whole.db");
    run(&mut campaign(&sandbox, &database)).assert_code(0);
    let before = run(&mut with(&sandbox, &database, &["report"])).assert_code(0).stdout;
    let wrong = "cannot read the database";
    for first in [1, 2, 4, 8, 16] {
        let fault = format!("pread64:error=EIO:when={first}+");
        for command in [
            with(&sandbox, &database, &["report"]),
            with(&sandbox, &database, &["list", "campaigns"]),
            campaign(&sandbox, &database),
        ] {
            let ended = with_fault(&database, &fault, &command);
            if ended.code != Some(0) {
                assert_told(ended.clone(), 3, &database, wrong);
                assert!(ended.stderr.contains("Input/output error"), "{}", ended.stderr);
            }
        }
    }
    assert_eq!(run(&mut with(&sandbox, &database, &["report", "1"])).stdout, before);
}

#[test]
fn a_campaign_continues_after_its_disk_failed() {
    for call in ["pwrite64:error=EIO", "pwrite64:error=EROFS", "fsync:error=EIO"] {
        // Before and after the campaign is stored, and between its cells.
        for first in [1, 4, 8, 60, 80, 90] {
            let sandbox = Sandbox::new();
            let database = sandbox.path("fails.db");
            let fault = format!("{call}:when={first}+");
            let ended = with_fault(&database, &fault, &campaign(&sandbox, &database));
            if ended.code == Some(0) {
                continue;
            }
            assert_told(ended, 3, &database, "cannot write the database");
            let stored = run(&mut with(&sandbox, &database, &["list", "campaigns", "--json"]));
            if stored.assert_code(0).stdout.contains("\"planned\"") {
                run(&mut with(&sandbox, &database, &["resume", "--quiet"])).assert_code(0);
                run(&mut with(&sandbox, &database, &["report"])).assert_code(0);
            }
        }
    }
}

#[test]
fn a_full_disk_loses_no_results_and_all_reading_commands_work() {
    let sandbox = Sandbox::new();
    let disk = MountedDatabase::tmpfs(&sandbox, "disk", "8m");
    let database = disk.0.join("fsarena.db");
    run(&mut campaign(&sandbox, &database)).assert_code(0);
    let look = |words: &[&str]| run(&mut with(&sandbox, &database, words)).assert_code(0).stdout;
    let before = look(&["report", "--format", "json"]);
    let filler = fill(&disk.0);
    assert_eq!(look(&["report", "--format", "json"]), before);
    look(&["list", "campaigns"]);
    for database in [&database, &disk.0.join("new.db")] {
        let ended = run(&mut campaign(&sandbox, database));
        assert_told(ended, 3, database, "full");
    }
    assert!(!disk.0.join("new.db").exists(), "no empty database remains");
    fs::remove_file(filler).unwrap();
    assert_eq!(look(&["report", "--format", "json"]), before);
    run(&mut campaign(&sandbox, &database)).assert_code(0);
}

#[test]
fn a_read_only_disk_is_looked_at_and_not_written_to() {
    let sandbox = Sandbox::new();
    let disk = MountedDatabase::tmpfs(&sandbox, "disk", "8m");
    let database = disk.0.join("fsarena.db");
    run(&mut campaign(&sandbox, &database)).assert_code(0);
    disk.make_read_only();
    for words in [&["report"][..], &["list", "campaigns"], &["show"]] {
        run(&mut with(&sandbox, &database, words)).assert_code(0);
    }
    for mut command in [campaign(&sandbox, &database), with(&sandbox, &database, &["resume"])] {
        assert_told(run(&mut command), 3, &database, "read-only");
    }
    let new = disk.0.join("new.db");
    assert_told(run(&mut campaign(&sandbox, &new)), 3, &new, "cannot create");
}

/// The wait is limited to the time that another campaign may need to store a cell.
#[test]
fn a_locked_database_is_reported() {
    let sandbox = Sandbox::new();
    let database = sandbox.path("held.db");
    run(&mut campaign(&sandbox, &database)).assert_code(0);
    let holder = rusqlite::Connection::open(&database).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    run(&mut with(&sandbox, &database, &["report"])).assert_code(0);
    for mut command in [campaign(&sandbox, &database), with(&sandbox, &database, &["resume"])] {
        assert_told(run(&mut command), 3, &database, "locked");
    }
}

/// Both databases may be located in one directory, which also contains the pages of both.
#[test]
fn pages_of_two_databases_have_two_names() {
    let sandbox = Sandbox::new();
    for name in ["fsarena.db", "other.db"] {
        run(&mut campaign(&sandbox, &sandbox.path(name))).assert_code(0);
    }
    let pages = fs::read_dir(sandbox.path("reports")).unwrap();
    let mut pages: Vec<_> = pages.map(|page| page.unwrap().file_name()).collect();
    pages.sort();
    assert_eq!(pages, ["campaign-1.html", "other-campaign-1.html"]);
}

/// Two databases in one directory have the same work directory and, in guests, the same seed.
#[test]
fn campaigns_of_two_databases_run_at_the_same_time_and_a_lock_names_its_holder() {
    let sandbox = Sandbox::new();
    let gate = Gate::in_a_test(&sandbox);
    fs::create_dir(sandbox.path("place")).unwrap();
    let campaign = |database: &str, suite: &str| {
        let run = ["run", "--profile", "smoke", "--rounds", "1", "--seed", "1", "--suite", suite];
        let mut command = with(&sandbox, &sandbox.path(database), &run);
        command.arg("--dir").arg(sandbox.path("place"));
        command
    };
    let first = campaign("one.db", "gate").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let waiting = gate.reached();
    run(&mut campaign("other.db", "names")).assert_code(0);
    let mut resume = with(&sandbox, &sandbox.path("one.db"), &["resume", "1"]);
    let refused = run(&mut resume).assert_code(3).stderr;
    let line = refused.lines().last().unwrap_or_default();
    assert!(line.contains("cannot run campaign 1: process "), "{refused}");
    assert!(line.contains(" (fsarena) of user root has held "), "{refused}");
    assert!(line.ends_with("; wait for its end"), "{refused}");
    waiting.release();
    let mut first = first.unwrap();
    assert!(first.wait().unwrap().success());
}
