//! Assertions on the errors of refused requests.

use std::process::Output;

/// Demands an exit code, and one line with certain words in it.
///
/// # Panics
/// When it is something else.
#[track_caller]
pub fn assert_told(output: &Output, code: i32, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(words), "{said}");
}
