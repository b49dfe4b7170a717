//! Checks whether the times of bonnie++ and fio include opening and closing of their file, as
//! docs/agreement.md states.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::{Sandbox, run};

/// Delay of a call by strace, in milliseconds. Longer than all other work of fio in this test.
const DELAY: u64 = 8_000;

/// Returns fio's time to write a small file, in milliseconds, while strace delays one kind of call
/// on that file.
fn runtime_of_fio(file: &Path, held_up: &str) -> u64 {
    let microseconds = DELAY * 1000;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-P"]).arg(file);
    strace.args(["-e", &format!("trace={held_up}")]);
    strace.args(["-e", &format!("inject={held_up}:delay_enter={microseconds}")]);
    strace.args(["fio", "--name=job", "--output-format=json", "--thread"]);
    strace.args(["--rw=write", "--bs=64k", "--size=256k", "--ioengine=psync"]);
    // The file is opened and closed only once, because fio does not create it in advance.
    strace.args(["--create_on_open=1", "--fallocate=none", "--invalidate=0"]);
    strace.arg(format!("--filename={}", file.display()));
    let said = run(&mut strace).assert_code(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&said).expect("fio reports in JSON");
    let runtime = report["jobs"][0]["write"]["runtime"].as_u64();
    runtime.expect("fio reports the write time")
}

#[test]
fn the_time_of_fio_holds_opening_and_not_closing() {
    let sandbox = Sandbox::new();
    let of = |held_up: &str| runtime_of_fio(&sandbox.path(held_up), held_up);
    let (opening, closing) = (of("openat"), of("close"));
    assert!(opening >= DELAY, "{opening} ms with a slow open");
    assert!(closing < DELAY, "{closing} ms with a slow close");
}

/// bonnie++ reads its clocks with calls that include `getrusage`, which strace shows.
#[test]
fn the_times_of_bonnie_hold_closing_and_not_opening() {
    let sandbox = Sandbox::new();
    let (directory, trace) = (sandbox.path("bonnie"), sandbox.path("bonnie.trace"));
    fs::create_dir(&directory).expect("a sandbox is writable");
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-e", "trace=openat,close,fsync,getrusage,read,write", "-o"]);
    strace.arg(&trace).args(["bonnie++", "-d"]).arg(&directory);
    strace.args("-s 16M -r 8M -n 0 -u root -f -q -m x".split(' '));
    run(&mut strace).assert_code(0);
    let trace = fs::read_to_string(&trace).expect("strace has written what it saw");
    let mut calls: Vec<char> = trace.lines().filter_map(letter).collect();
    calls.dedup();
    let calls: String = calls.into_iter().collect();
    // Order of calls: open, clock, blocks, fsync, close, clock.
    let phases = calls.matches("orbscr").count();
    assert_eq!(phases, 3, "writing, rewriting, reading: {calls}");
}

/// Returns the letter of a call: (o)pen of the file, (r)ead of the clock, (b)lock I/O, (s)ync,
/// (c)lose. Returns `None` for other calls.
fn letter(line: &str) -> Option<char> {
    let call = line.split('(').next().unwrap_or_default();
    match call {
        "openat" if line.contains("Bonnie.") => Some('o'),
        "getrusage" => Some('r'),
        "read" | "write" if line.contains(", 8192)") => Some('b'),
        "fsync" => Some('s'),
        "close" => Some('c'),
        _ => None,
    }
}
