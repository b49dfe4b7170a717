//! A sandbox for one test with its own database, catalog and work directory. Nothing remains after
//! the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{CampaignResults, CellRecord, CellResult};
use nix::unistd::Uid;
use tempfile::TempDir;

use crate::entries::{self, DirectoryEntry};
use crate::leak_check;
use crate::program::{self, CommandOutput};

/// Base settings of every campaign. They are in a file, because options on the command line
/// override it.
const CAMPAIGN: &str = r#"
contenders = ["tmpfs"]
profile = "smoke"
rounds = 1
seed = 7
size = "64 MiB"
"#;
const CAMPAIGN_FILE: &str = "small.toml";

/// A sandbox for one test. On drop, no mount, device or process may refer to it.
#[derive(Debug)]
pub struct Sandbox {
    directory: TempDir,
    /// Lock of a sandbox that runs exclusively.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Sandbox {
    /// Creates a sandbox whose catalog contains the suites of [`entries`].
    ///
    /// # Panics
    /// Panics without root. The tests are about mounting, and none is skipped.
    pub fn new() -> Self {
        assert!(
            Uid::effective().is_root(),
            "the end-to-end tests need root: they mount filesystems"
        );
        let directory = tempfile::Builder::new()
            .prefix("fsarena-e2e-")
            .tempdir()
            .expect("the directory for temporary files is writable");
        let sandbox = Self { directory, _turn: None };
        for sub in ["catalog/filesystems", "catalog/suites", "work"] {
            fs::create_dir_all(sandbox.path(sub)).expect("a sandbox is writable");
        }
        sandbox.add_suite("trial", entries::TRIAL);
        sandbox.add_suite("wide", entries::WIDE);
        sandbox.add_suite("names", entries::NAMES);
        sandbox.add_suite("abilities", entries::ABILITIES);
        fs::write(sandbox.path(CAMPAIGN_FILE), CAMPAIGN).expect("a sandbox is writable");
        sandbox
    }

    /// Creates the only exclusive sandbox of this process, for tests that depend on this machine's
    /// page cache. Any other campaign drops it.
    ///
    /// # Panics
    /// Panics as [`Sandbox::new`] does.
    pub fn exclusive() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sandbox = Self::new();
        sandbox._turn = Some(turn);
        sandbox
    }

    /// Returns a path in the sandbox.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the directory of the sandbox.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Adds a suite to the sandbox's catalog.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn add_suite(&self, name: &str, text: &str) {
        let file = self.path("catalog/suites").join(format!("{name}.toml"));
        fs::write(file, text).expect("a sandbox is writable");
    }

    /// Adds a filesystem to the sandbox's catalog.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn add(&self, entry: &DirectoryEntry) {
        let file = self.path("catalog/filesystems").join(entry.file_name());
        fs::write(file, entry.toml()).expect("a sandbox is writable");
    }

    /// Adds a filesystem on the fault driver.
    pub fn add_faulty(&self, name: &str, faults: &[&str]) {
        self.add(&DirectoryEntry::faulty(name, &program::faultfs(), faults));
    }

    /// Returns an fsarena command with the sandbox's database and catalog, for further arguments.
    pub fn fsarena(&self) -> Command {
        let mut command = Command::new(program::fsarena());
        command
            .arg("--db")
            .arg(self.path("fsarena.db"))
            .arg("--catalog")
            .arg(self.path("catalog"))
            .env("XDG_DATA_HOME", self.path("data"))
            // Tests run in parallel, and their measured values are not used.
            .env("FSARENA_RUN_DIR", self.root())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// Returns `fsarena run` of a small campaign in the sandbox's work directory. Additional
    /// options override it.
    pub fn campaign(&self, contenders: &[&str], suite: &str) -> Command {
        let mut command = self.fsarena();
        command
            .arg("run")
            .arg(self.path(CAMPAIGN_FILE))
            .args(["--suite", suite, "--work-dir"])
            .arg(self.path("work"));
        for contender in contenders {
            command.args(["--contender", contender]);
        }
        command
    }

    /// Adds the arguments of `fsarena run` in guests in virtual time, with the given number of
    /// parallel cells, for the user who runs the command.
    pub fn in_guests(&self, mut fsarena: Command, contenders: &[&str], jobs: &str) -> Command {
        fsarena
            .args(["run", "--backend", "vm", "--clock", "virtual"])
            .args(["--jobs", jobs, "--profile", "smoke", "--rounds", "1"])
            .arg("--work-dir")
            .arg(self.path("work"))
            .env("XDG_CACHE_HOME", program::cache());
        for contender in contenders {
            fsarena.args(["--contender", contender]);
        }
        fsarena
    }

    /// Adds the disk `slow`. On it, processor time, which changes with the program, does not affect
    /// the outcome.
    ///
    /// # Panics
    /// Panics if the catalog cannot be written.
    pub fn add_slow_disk(&self) {
        const SLOW: &str = "name = \"slow\"\ntitle = \"Slow disk\"\nproduct = \"made for a test\"\n\
                            kind = \"ideal\"\ncommand = \"62500 ns\"\nlink = \"64 MiB\"\n\
                            [sources]\ncommand = \"a test\"\nlink = \"a test\"\n";
        let disks = self.path("catalog/disks");
        fs::create_dir_all(&disks).expect("a sandbox is writable");
        fs::write(disks.join("slow.toml"), SLOW).expect("a sandbox is writable");
    }

    /// Returns all stored data of the last campaign.
    ///
    /// # Panics
    /// Panics if `fsarena report` fails.
    pub fn results(&self) -> CampaignResults {
        results_of(run(self.fsarena().args(["report", "--format", "json"])))
    }

    /// Returns the whole report of the latest campaign as text.
    ///
    /// # Panics
    /// Panics if `fsarena report` fails.
    #[track_caller]
    pub fn report(&self) -> String {
        run(self.fsarena().arg("report")).assert_code(0).stdout
    }

    /// Returns resources that runs left in the sandbox, after waiting for the kernel to clean up.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found = leak_check::find_lasting(self.root());
        let files = fs::read_dir(self.path("work")).into_iter().flatten().flatten();
        found.extend(files.map(|file| format!("file: {}", file.path().display())));
        found
    }

    /// Checks that runs left no resources.
    ///
    /// # Panics
    /// Panics if some remain.
    #[track_caller]
    pub fn assert_clean(&self) {
        let left = self.leftovers();
        assert!(left.is_empty(), "left behind:\n{}", left.join("\n"));
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A second panic would hide the first.
        if !std::thread::panicking() {
            let left = leak_check::find_lasting(self.root());
            assert!(left.is_empty(), "left behind:\n{}", left.join("\n"));
        }
    }
}

/// Runs a command and waits for it to finish.
///
/// # Panics
/// Panics if the command cannot be started.
pub fn run(command: &mut Command) -> CommandOutput {
    CommandOutput::from(command.output().expect("the program can be started"))
}

/// Returns the stored data of a campaign, parsed from its JSON report.
///
/// # Panics
/// Panics if there is no valid report.
#[track_caller]
pub fn results_of(report: CommandOutput) -> CampaignResults {
    let report = report.assert_code(0);
    let mut document: serde_json::Value =
        serde_json::from_str(&report.stdout).expect("the report is JSON");
    serde_json::from_value(document["results"].take()).expect("it holds the campaign's results")
}

/// Returns the results of one contender, in planned order.
///
/// # Panics
/// Panics if one of its cells has no result: a finished campaign has all results.
pub fn cells_of<'a>(results: &'a CampaignResults, contender: &str) -> Vec<&'a CellResult> {
    let result = |stored: &'a CellRecord| {
        let result = stored.result.as_ref();
        result.unwrap_or_else(|| panic!("no result for {:?}", stored.cell))
    };
    results.cells.iter().filter(|stored| stored.cell.contender == contender).map(result).collect()
}
