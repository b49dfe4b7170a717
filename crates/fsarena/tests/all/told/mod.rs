//! Assertions on the errors of refused requests.

use std::process::Output;

/// Asserts an exit code and a one-line error that contains certain words.
///
/// # Panics
/// Panics if the exit code or the error differs.
#[track_caller]
pub fn assert_told(output: &Output, code: i32, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(words), "{said}");
}
