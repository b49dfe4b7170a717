//! Imports recordings of strace and fio with other options and of other versions: one file in
//! `samples/` each.

use std::fs;
use std::path::Path;

use trace::{Trace, TracedKind, detect_format, import};

fn read(name: &str, below: &str) -> Result<Trace, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    let text = fs::read(path).unwrap();
    import(&text, detect_format(&text), Some(below.as_bytes())).map_err(|error| error.to_string())
}

/// Returns the name and the start of each operation, in microseconds.
fn operations(trace: &Trace) -> Vec<(&str, u64)> {
    trace.operations.iter().map(|o| (o.call.name(), o.began.0 / 1000)).collect()
}

fn strace(name: &str) -> Trace {
    read(name, "/srv/d").unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn an_iolog_of_version_3_counts_microseconds() {
    let trace = read("fio-iolog-3-microseconds.iolog", "/").unwrap();
    let times = [("open", 100), ("write", 120), ("write", 2_000_000), ("close", 2_000_500)];
    assert_eq!(operations(&trace), times);
    let trace = read("fio-iolog-2-wait.iolog", "/").unwrap();
    assert_eq!(operations(&trace)[2], ("write", 1_500_000));
}

#[test]
fn a_trim_lays_out_no_data() {
    let trace = read("fio-iolog-3-trim-only.iolog", "/").unwrap();
    assert_eq!(trace.before[0].kind, TracedKind::File { size: 0 });
    assert_eq!(operations(&trace).len(), 3);
}

#[test]
fn times_of_strace_since_the_call_before_are_added() {
    let trace = strace("strace-relative.txt");
    let times = [
        ("open", 0),
        ("write", 100),
        ("write", 2_000_100),
        ("close", 2_000_110),
        ("open", 2_500_110),
        ("close", 2_500_130),
    ];
    assert_eq!(operations(&trace), times);
    let threads = strace("strace-relative-threads.txt");
    let times =
        [("open", 0), ("write", 100), ("open", 300_100), ("close", 300_110), ("close", 300_120)];
    assert_eq!(operations(&threads), times);
}

#[test]
fn times_of_day_are_read_and_pass_midnight() {
    let trace = strace("strace-time-of-day.txt");
    assert_eq!(operations(&trace), [("open", 0), ("write", 200), ("close", 300)]);
    let trace = strace("strace-time-of-day-threads.txt");
    assert_eq!(operations(&trace), [("open", 0), ("write", 200)]);
    assert_eq!(trace.operations[0].duration.0, 50_000);
    let text = b"7 23:59:59.999999 mkdir(\"/w/a\", 0700) = 0\n7 00:00:00.000001 mkdir(\"/w/b\", 0700) = 0\n";
    let trace = import(text, detect_format(text), Some(b"/w")).unwrap();
    assert_eq!(operations(&trace), [("mkdir", 0), ("mkdir", 2)]);
}

#[test]
fn messages_of_strace_are_skipped() {
    let trace = strace("strace-attached-first.txt");
    assert_eq!(operations(&trace), [("open", 0), ("write", 200), ("close", 300)]);
    let trace = strace("strace-attached-later.txt");
    assert_eq!(operations(&trace), [("open", 0), ("mkdir", 200)]);
    let within = b"7 1.0 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 8 attached\n\
        , child_tidptr=0x7f) = 8\n8 1.5 mkdir(\"/w/a\", 0700) = 0\n";
    let trace = import(within, detect_format(within), Some(b"/w")).unwrap();
    assert_eq!(operations(&trace).last(), Some(&("mkdir", 500_000)));
    assert_eq!(trace.operations.last().unwrap().process, 1);
}

#[test]
fn other_languages_and_brackets_are_read() {
    assert_eq!(operations(&strace("strace-pid-brackets.txt")), [("open", 0), ("write", 200)]);
    assert_eq!(operations(&strace("strace-foreign-messages.txt")), [("unlink", 0), ("mkdir", 100)]);
    let comma = strace("strace-decimal-comma.txt");
    assert_eq!(comma.operations[0].duration.0, 50_000);
}

#[test]
fn a_cut_last_line_is_reported() {
    let trace = strace("strace-cut-off.txt");
    assert_eq!(operations(&trace), [("open", 0)]);
    let told = |trace: &Trace| trace.header.limitations.iter().any(|l| l.contains("cut off"));
    assert!(told(&trace));
    assert!(!told(&strace("strace-pid-brackets.txt")));
}

#[test]
fn recordings_that_cannot_be_read_are_named() {
    for (name, cause) in [
        ("strace-whole-seconds.txt", "line 1: times in whole seconds (strace -t)"),
        ("blkparse.txt", "line 1: blktrace records requests to a device"),
        ("fio-iolog-1.iolog", "line 1: only iologs of version 2 and 3 are read"),
    ] {
        let error = read(name, "/srv/d").unwrap_err();
        assert!(error.starts_with(cause) && error.lines().count() == 1, "{error}");
    }
}
