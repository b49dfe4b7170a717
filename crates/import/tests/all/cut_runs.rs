//! Runs that were cut off are failures or are refused, and values with too few digits are no values.

use import::{NamingOptions, ParsedInput, detect_only_format, read};
use model::{Metric, Status};

fn parsed(text: &str) -> Result<ParsedInput, String> {
    let format = detect_only_format(text.as_bytes()).unwrap();
    let naming = NamingOptions { otherwise: "file".to_owned(), ..NamingOptions::default() };
    read(format, text.as_bytes(), &naming).map_err(|error| error.to_string())
}

/// Returns test, phase and status of each result.
#[track_caller]
fn results(text: &str) -> Vec<String> {
    let found = parsed(text).unwrap();
    let figures = found.reported.figures.iter();
    let shown = figures.map(|figure| match figure.status {
        Status::Ok => format!("{}/{}", figure.test, figure.phase),
        status => format!("{}/{} {status}", figure.test, figure.phase),
    });
    shown.collect()
}

#[test]
fn requested_operations_of_ior_without_a_row_failed() {
    let head = |options: &str| {
        format!(
            "IOR-3.3.0: MPI Coordinated Test of Parallel I/O\nCommand line        : ior {options} -o /mnt/a/t\n\
             Options: \nxfersize            : 1 MiB\n\n"
        )
    };
    let table = "access bw(MiB/s) iter\n------ --------- ----\n";
    let whole = head("-t 1m") + table + "write 100 0\nread 200 0\nFinished : x\n";
    assert_eq!(results(&whole), ["ior/write", "ior/read"]);
    let cut = ["ior-2/write failed", "ior-2/read failed"];
    for rest in ["", table] {
        let all = results(&(whole.clone() + &head("-t 1m -e") + rest));
        assert_eq!(all[..2], ["ior/write", "ior/read"]);
        assert_eq!(all[2..].len(), cut.len(), "{all:?}");
        assert!(all[2..].iter().all(|text| text.ends_with("failed")), "{all:?}");
    }
    let write_only = head("-t 1m") + table + "write 100 0\n";
    assert_eq!(results(&write_only), ["ior/write", "ior/read failed"]);
    let script = head("-f script") + table;
    assert!(parsed(&script).unwrap_err().contains("this run of IOR has no result"));
}

#[test]
fn runs_of_dbench_filebench_and_fs_mark_without_a_result_are_refused() {
    let dbench = "dbench version 4.00 - x\n Operation Count AvgLat MaxLat\n Close 10 0.020 5.500\n";
    let whole = "Throughput 300.0 MB/sec  8 clients  8 procs  max_latency=61.000 ms\n";
    let filebench = "Filebench Version 1.5\n1.0: Per-Operation Breakdown\na1 5ops 50ops/s\n";
    let summary = "1.0: IO Summary: 5 ops 50.000 ops/s\n";
    let fs_mark = "#  fs_mark  -d  /mnt/a  -s  4096\nFSUse% Count Size Files/sec App\n";
    for (begin, end) in [(dbench, whole), (filebench, summary), (fs_mark, "1 50 4096 236.0 383\n")]
    {
        let complete = format!("{begin}{end}");
        parsed(&complete).unwrap();
        for cut in [format!("{complete}{begin}"), format!("{begin}{complete}")] {
            let error = parsed(&cut).unwrap_err();
            assert!(error.starts_with("line ") && error.contains("cut off"), "{error}");
        }
    }
}

#[test]
fn iterations_of_fs_mark_without_a_line_failed() {
    let text = "#  fs_mark  -d  /mnt/a  -s  4096  -L  4\nFSUse% Count Size Files/sec App\n\
                1 50 4096 236.0 383\n1 100 4096 230.0 383\n";
    let wanted = [["fs-mark/create"; 2], ["fs-mark/create failed"; 2]].concat();
    assert_eq!(results(text), wanted);
}

#[test]
fn requested_operations_of_mdtest_without_a_row_failed() {
    let head = "mdtest-4.0.0 was launched with 1 total task(s) on 1 node(s)\n\
                Command line used: mdtest '-C' '-T' '-F' '-n' '10' '-d' '/mnt/a'\n1 tasks, 10 files\n\
                SUMMARY rate: (of 1 iterations)\n";
    let rows =
        "File creation 9 9 9 0\nFile stat 9 9 9 0\nTree creation 9 9 9 0\nTree removal 0 0 0 0\n";
    let all = ["mdtest/file-creation", "mdtest/file-stat", "mdtest/tree-creation"];
    assert_eq!(results(&format!("{head}{rows}")), all);
    let cut = results(&format!("{head}File creation 9 9 9 0\n"));
    let wanted = ["mdtest/file-creation", "mdtest/file-stat failed", "mdtest/tree-creation failed"];
    assert_eq!(cut, wanted);
    let error = parsed(&format!("{head}{rows}\n{head}")).unwrap_err();
    assert!(error.contains("has no row"), "{error}");
}

fn value(found: &ParsedInput, phase: &str, metric: Metric) -> Option<f64> {
    let figure = found.reported.figures.iter().find(|figure| figure.phase == phase)?;
    figure.values.iter().find(|value| value.metric == metric).map(|value| value.value)
}

#[test]
fn small_rates_of_filebench_follow_from_operations_and_time() {
    let text = "10.5: Run took 1000 seconds...\n10.5: Per-Operation Breakdown\n\
                open1 574ops 1ops/s 0.0mb/s 0.3ms/op 8us/op-cpu [0ms - 593ms]\n\
                read1 400000ops 400ops/s 0.0mb/s 0.185 us/op [0.000 us - 12.000 us]\n\
                10.5: IO Summary: 2000 ops, 2.000 ops/s, (0/1 r/w), 1.0mb/s, 17us cpu/op, 32.9ms latency\n";
    let found = parsed(text).unwrap();
    assert_eq!(value(&found, "open1", Metric::Rate), Some(0.574));
    assert_eq!(value(&found, "read1", Metric::Rate), Some(400.0));
    assert_eq!(value(&found, "open1", Metric::LatencyMean), None);
    assert_eq!(value(&found, "read1", Metric::LatencyMean), Some(0.185 / 1e6));
    assert_eq!(value(&found, "read1", Metric::LatencyMax), Some(12.0 / 1e6));
    assert_eq!(value(&found, "all", Metric::LatencyMax), None);
    assert_eq!(found.skipped, ["latencies that are rounded by more than 5 %"]);
}

#[test]
fn latencies_of_dbench_with_one_digit_are_no_values() {
    let text = "dbench version 4.00 - x\n Operation Count AvgLat MaxLat\n Close 10 0.003 5.500\n\
                Throughput 300.0 MB/sec  8 clients  8 procs\n";
    let found = parsed(text).unwrap();
    assert_eq!(value(&found, "close", Metric::LatencyMean), None);
    assert_eq!(value(&found, "close", Metric::LatencyMax), Some(0.0055));
    assert_eq!(found.skipped, ["latencies that are rounded by more than 5 %"]);
}
