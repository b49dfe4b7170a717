//! Memory of an analysis with many contenders. No other test runs in this process, because memory is
//! measured for the whole process.

use std::fs;

use stats::analyse;
use stats::fixture::{Simulated, simulated};

/// Returns the largest memory that this process has used, in bytes.
fn most_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// There are many more pairs than results: 4,950 for 100 contenders in each row. Once, each pair
/// took 94 bytes.
#[test]
fn a_pair_of_contenders_in_a_row_takes_at_most_48_bytes() {
    const CONTENDERS: u32 = 100;
    let what = Simulated { contenders: CONTENDERS, tests: 1, rounds: 2, slower: 0.2, drift: 0.05 };
    let results = simulated(1, what);
    let before = most_memory();
    let rows = analyse(&results).rows.len();
    let pairs = rows * (CONTENDERS * (CONTENDERS - 1) / 2) as usize;
    let used = most_memory() - before;
    assert!(used < pairs * 48, "{used} bytes for {pairs} pairs in {rows} rows");
}
