//! Paths of the programs under test, and results of a run of fsarena.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Says that `make test` has built the fsarena binary.
const BUILT: &str = "FSARENA_TESTS_BUILT";

/// Returns the path of the fsarena binary with the same profile as the running test. Builds it on
/// the first call, because cargo builds for a test only the binaries of its own package.
///
/// Any test of its package builds the binary. The build covers the whole workspace, as `make test`
/// does: the features of the package alone differ, and everything would be compiled again.
///
/// # Panics
/// Panics if it does not build.
pub fn fsarena() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let directory = build_directory();
        if std::env::var_os(BUILT).is_some() {
            return directory.join("fsarena");
        }
        let profile = match directory.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let target = directory.ancestors().nth(2).expect("TARGET/TRIPLE/PROFILE");
        let built = Command::new(env!("CARGO"))
            .args(["test", "--no-run", "--quiet", "--workspace"])
            .args(["--test", "all"])
            .args(["--profile", profile, "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.is_ok_and(|s| s.success()), "fsarena does not build");
        directory.join("fsarena")
    })
}

/// Returns the path of the driver with faults, which cargo builds before any test of this package.
pub fn faultfs() -> PathBuf {
    build_directory().join("faultfs")
}

/// Returns the cache directory that is shared between runs of the tests: guests and cell results.
pub fn cache() -> PathBuf {
    build_directory().join("guests")
}

/// Returns `TARGET/TRIPLE/PROFILE`, two levels above the program of the test.
fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own program");
    let directory = test.ancestors().nth(2).expect("tests are located in PROFILE/deps");
    directory.to_owned()
}

/// Result of a run of fsarena.
#[derive(Clone, Debug)]
pub struct CommandOutput {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("fsarena speaks UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl CommandOutput {
    /// Requires an exit code.
    ///
    /// # Panics
    /// Panics with all output if the exit code differs.
    #[track_caller]
    pub fn assert_code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "exit code; standard error:\n{}\nstandard output:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }
}
