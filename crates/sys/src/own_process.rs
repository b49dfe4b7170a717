//! A process without other tests, for tests that measure their process. Parallel tests of the same
//! process start programs and use processor time at any moment.

use std::process::Command;

/// Environment variable that is set in the new process.
const VARIABLE: &str = "FSARENA_TEST_IN_OWN_PROCESS";

/// Repeats a test of a module in a new process without other tests, unless this is that process.
/// Returns true in the new process, in which the test then does its work.
///
/// # Panics
/// Panics if the test fails in the new process.
pub fn is_own_process(module: &str, test: &str) -> bool {
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let (_, module) = module.split_once("::").expect("a path below the crate");
    let test = format!("{module}::{test}");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{test} in its own process:\n{stdout}{stderr}");
    false
}
