//! Suites that several tests run.

use model::CellResult;

/// A file that is read twice: the second time from memory, if it fits.
pub const READ_AGAIN: &str = r#"
name = "again"
title = "The same file twice"
source = "made for a test"

[[test]]
name = "again"
title = "The same file twice"
rationale = "What does not fit into memory has to be read once more."
space = "64 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "64 MiB", block = "64 KiB", cache = "warm", ends = "fsync" },
  { name = "once", op = "read", file = "f", block = "64 KiB", cache = "warm", ends = "call" },
  { name = "again", op = "read", file = "f", block = "64 KiB", repeat = false, cache = "warm", ends = "call" },
]
"#;

/// Returns the bytes that the second read of [`READ_AGAIN`] took from the device.
///
/// # Panics
/// Panics if the cell belongs to another suite or uses no device.
pub fn read_again(cell: &CellResult) -> u64 {
    let mut phases = cell.phases.iter();
    let again = phases.find(|p| p.phase == "again").expect("a phase again");
    again.device.expect("it lives on a device").read_bytes.0
}
