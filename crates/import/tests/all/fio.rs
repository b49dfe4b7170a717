//! Values of fio's output in all its forms: one file in `samples/` each.

use std::fs;
use std::path::Path;

use import::{InputFormat, NamingOptions, ParsedInput, detect_format, expected, merge, read};
use model::{ImportedResult, Metric, Nanos, Status, WorkloadCategory};

fn bytes(directory: &str, name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory).join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn naming() -> NamingOptions {
    NamingOptions { otherwise: "file".to_owned(), ..NamingOptions::default() }
}

fn sample(name: &str) -> ParsedInput {
    let bytes = bytes("samples", &format!("fio-{name}.json"));
    assert_eq!(detect_format(&bytes), Some(InputFormat::Fio), "{name}");
    read(InputFormat::Fio, &bytes, &naming()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the only result.
fn only(name: &str) -> ImportedResult {
    let found = sample(name).reported.figures;
    let [figure] = found.as_slice() else { panic!("{name}: {} results", found.len()) };
    figure.clone()
}

fn value(figure: &ImportedResult, metric: Metric) -> Option<f64> {
    let found = figure.values.iter().find(|value| value.metric == metric);
    // Sums of fractions are compared to nine digits.
    found.map(|found| format!("{:.9e}", found.value).parse().unwrap())
}

/// Returns contender, phase, round and rate of each result.
fn rates(found: &ParsedInput) -> Vec<String> {
    let figures = found.reported.figures.iter();
    let shown = |figure: &ImportedResult| {
        let rate = value(figure, Metric::Rate).unwrap_or(-1.0);
        format!("{} {} {}: {rate}", figure.contender, figure.phase, figure.round)
    };
    figures.map(shown).collect()
}

fn merged(names: &[&str]) -> ParsedInput {
    merge(names.iter().map(|name| sample(name)).collect()).unwrap()
}

#[test]
fn latencies_without_a_count_are_read() {
    let figure = only("3.15-latency-without-count");
    let latency = [
        (Metric::LatencyMean, 50e-6),
        (Metric::LatencyP50, 40e-6),
        (Metric::LatencyP99, 90e-6),
        (Metric::LatencyMax, 500e-6),
    ];
    for (metric, seconds) in latency {
        assert_eq!(value(&figure, metric), Some(seconds), "{metric}");
    }
    let figure = only("3.15-sync-without-count");
    let sync = [(Metric::SyncP50, 0.7e-3), (Metric::SyncP99, 2.5e-3), (Metric::SyncMax, 8e-3)];
    for (metric, seconds) in sync {
        assert_eq!(value(&figure, metric), Some(seconds), "{metric}");
    }
}

#[test]
fn writes_synced_one_by_one_are_durable_writes() {
    let figure = only("3.15-sync-without-count");
    assert_eq!(figure.group, Some(WorkloadCategory::Durable));
    assert_eq!(figure.values[0].metric, Metric::Rate);
    let foreseen = expected(InputFormat::Fio, &["--name=wal", "--rw=write", "--fsync=1"]).unwrap();
    assert_eq!((foreseen[0].group, foreseen[0].metric), (figure.group, Metric::Rate));
}

#[test]
fn total_latencies_stand_in_for_completion_latencies_and_are_called_so() {
    for name in ["3.33-total-latency-percentiles", "3.33-no-completion-latency"] {
        let found = sample(name);
        let figure = &found.reported.figures[0];
        assert_eq!(value(figure, Metric::LatencyMean), Some(52e-6), "{name}");
        assert_eq!(value(figure, Metric::LatencyP99), Some(90e-6), "{name}");
        assert_eq!(value(figure, Metric::LatencyMax), Some(520e-6), "{name}");
        assert!(found.skipped[0].contains("completion latencies of"), "{name}");
    }
}

#[test]
fn latencies_of_fio_2_are_microseconds() {
    let figure = only("2.1.4-no-options");
    assert_eq!(value(&figure, Metric::LatencyMean), Some(3e-6));
    assert_eq!(value(&figure, Metric::LatencyMax), Some(9e-6));
    let side = "{\"io_bytes\":64,\"bw\":2,\"iops\":2,\"runtime\":9,\
        \"clat\":{\"max\":9,\"mean\":3,\"percentile\":{\"99.00\":8,\"0.00\":0}}}";
    let text = format!(
        "{{\"fio version\":\"fio-2.0.10\",\"jobs\":[{{\"jobname\":\"a\",\"read\":{side}}}]}}"
    );
    let found = read(InputFormat::Fio, text.as_bytes(), &naming()).unwrap();
    assert_eq!(value(&found.reported.figures[0], Metric::LatencyP99), Some(8e-6));
}

/// A percentile is the end of a bin of latencies, which may be beyond the longest one.
#[test]
fn no_percentile_exceeds_the_maximum() {
    let side = "{\"io_bytes\":64,\"bw\":2,\"iops\":2,\"runtime\":9,\
        \"clat_ns\":{\"max\":9000,\"mean\":3000,\"N\":9,\"percentile\":{\"50.000000\":3024,\"99.000000\":9024}}}";
    let text = format!(
        "{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"a\",\"read\":{side}}}]}}"
    );
    let found = read(InputFormat::Fio, text.as_bytes(), &naming()).unwrap();
    let figure = &found.reported.figures[0];
    assert_eq!(value(figure, Metric::LatencyP50), Some(3.024e-6));
    assert_eq!(value(figure, Metric::LatencyP99), Some(9e-6));
    assert_eq!(value(figure, Metric::LatencyMax), Some(9e-6));
}

#[test]
fn a_job_without_options_has_no_known_purpose() {
    assert_eq!(only("2.1.4-no-options").group, None);
}

#[test]
fn the_last_report_of_a_run_counts() {
    let figure = only("3.33-status-interval");
    assert_eq!(value(&figure, Metric::Throughput), Some(20e6));
    assert_eq!(value(&figure, Metric::Elapsed), Some(10.0));
    assert!(sample("3.33-status-interval").skipped[0].contains("--status-interval"));
}

#[test]
fn a_cut_last_report_leaves_the_one_before() {
    let whole = bytes("samples", "fio-3.33-status-interval.json");
    let found = read(InputFormat::Fio, &whole[..whole.len() - 200], &naming()).unwrap();
    assert_eq!(value(&found.reported.figures[0], Metric::Throughput), Some(60e6));
    assert!(found.skipped.iter().any(|line| line.contains("cut off")), "{:?}", found.skipped);
}

#[test]
fn each_appended_run_is_read() {
    let found = sample("3.33-two-runs-appended");
    assert_eq!(rates(&found), ["/mnt/alpha a 1: 10000", "/mnt/beta a 1: 20000"]);
    let one = bytes("samples", "fio-3.33-uniform.json");
    let later = String::from_utf8(one.clone()).unwrap().replace("1700001000", "1700002000");
    let twice = [one, later.into_bytes()].concat();
    let found = read(InputFormat::Fio, &twice, &naming()).unwrap();
    assert_eq!(rates(&found), ["/mnt/alpha d 1: 7324", "/mnt/alpha d 2: 7324"]);
}

#[test]
fn short_runs_one_after_the_other_are_two_rounds() {
    let run = |second: u64, bytes: u64, mean: u64| {
        let side = format!(
            "{{\"io_bytes\":{bytes},\"bw_bytes\":5,\"iops\":7,\"runtime\":900,\"total_ios\":9,\
             \"clat_ns\":{{\"mean\":{mean}}}}}"
        );
        format!(
            "{{\"fio version\":\"fio-3.33\",\"timestamp\":{second},\"jobs\":[\
             {{\"jobname\":\"a\",\"elapsed\":1,\"read\":{side}}}]}}\n"
        )
    };
    let both = run(1_700_000_000, 4096, 500) + &run(1_700_000_001, 4096, 600);
    let found = read(InputFormat::Fio, both.as_bytes(), &naming()).unwrap();
    assert_eq!(rates(&found), ["file a 1: 7", "file a 2: 7"]);
    let grown = run(1_700_000_000, 4096, 500) + &run(1_700_000_001, 8192, 600);
    let found = read(InputFormat::Fio, grown.as_bytes(), &naming()).unwrap();
    assert_eq!(rates(&found), ["file a 1: 7"]);
}

#[test]
fn a_job_that_verifies_keeps_its_name() {
    let side = "{\"io_bytes\":8,\"bw_bytes\":5,\"iops\":7,\"runtime\":9,\"total_ios\":9}";
    let options = "{\"rw\":\"write\",\"verify\":\"crc32c\"}";
    let text = format!(
        "{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"a\",\"job options\":{options},\
         \"read\":{side},\"write\":{side}}}]}}"
    );
    let found = read(InputFormat::Fio, text.as_bytes(), &naming()).unwrap();
    assert_eq!(rates(&found), ["file a-read 1: 7", "file a 1: 7"]);
}

#[test]
fn hosts_are_added_up_once() {
    let figure = only("3.33-clients");
    assert_eq!(value(&figure, Metric::Rate), Some(4882.0));
    assert_eq!(value(&figure, Metric::Throughput), Some(20e6));
    assert_eq!(figure.contender, "/mnt/alpha");
}

#[test]
fn a_real_report_of_two_hosts_adds_each_job_up() {
    let found = sample("3.33-two-hosts");
    assert_eq!(rates(&found), ["/mnt/ext4 w 1: 1000", "/mnt/ext4 r 1: 16000"]);
}

#[test]
fn real_reports_of_a_running_job_are_one_round() {
    let found = sample("3.33-status-interval-two-jobs");
    let shown: Vec<_> =
        found.reported.figures.iter().map(|f| (f.phase.as_str(), f.round)).collect();
    assert_eq!(shown, [("a", 1), ("b", 1)]);
    assert_eq!(value(&found.reported.figures[1], Metric::Elapsed), Some(0.502));
    let reason = only("3.33-stopped-by-user").reason;
    assert_eq!(reason.as_deref(), Some("interrupted by signal 2 after 1.533 s of 60 s"));
}

#[test]
fn reads_and_writes_together_are_one_phase_unless_each_is_stated() {
    let figure = only("3.33-mixed");
    assert_eq!(value(&figure, Metric::Rate), Some(10000.0));
    assert_eq!(value(&figure, Metric::Throughput), Some(40.96e6));
    assert_eq!(figure.group, None);
    let found = sample("3.33-mixed-and-plain");
    assert_eq!(rates(&found), ["/mnt/alpha plain 1: 7500", "/mnt/alpha mix 1: 10000"]);
    let found = sample("3.33-mixed-and-both-sides");
    assert_eq!(rates(&found), ["/mnt/alpha b-read 1: 5000", "/mnt/alpha b-write 1: 5000"]);
    let arguments = ["--name=mix", "--rw=randrw", "--unified_rw_reporting=1"];
    let foreseen = expected(InputFormat::Fio, &arguments).unwrap();
    assert_eq!((foreseen.len(), foreseen[0].phase.as_str()), (1, "mix"));
}

#[test]
fn jobs_with_errors_fail_with_the_cause() {
    let figure = only("3.33-continued-after-errors");
    assert_eq!(figure.status, Status::Failed);
    let reason = figure.reason.unwrap();
    assert_eq!(reason, "4000 requests failed, the first with: No space left on device (ENOSPC)");
    let found = sample("3.33-disk-full").reported.figures;
    assert_eq!([found[0].status, found[1].status], [Status::Ok, Status::Failed]);
    assert_eq!(found[1].reason.as_deref(), Some("No space left on device (ENOSPC)"));
}

#[test]
fn an_interrupted_job_fails() {
    let figure = only("3.33-interrupted");
    let reason = figure.reason.unwrap();
    assert_eq!(reason, "interrupted by signal 2 after 3 s of 600 s");
    assert_eq!((figure.status, figure.values.len()), (Status::Failed, 0));
}

#[test]
fn other_options_are_never_rounds_of_one_phase() {
    for (one, other) in [
        ("3.33-zipf", "3.33-uniform"),
        ("3.33-buffered", "3.33-unbuffered"),
        ("3.33-zeros", "3.33-random-data"),
    ] {
        let phases = merged(&[one, other]).reported.figures;
        let phases: Vec<_> = phases.iter().map(|figure| figure.phase.as_str()).collect();
        assert_eq!(phases, ["d", "d-2"], "{one}");
    }
}

#[test]
fn other_spellings_are_rounds_of_one_phase() {
    let found = merged(&["3.33-runtime-10m", "3.33-runtime-600", "3.33-block-4kib"]);
    let rounds: Vec<_> =
        found.reported.figures.iter().map(|f| (f.phase.as_str(), f.round)).collect();
    assert_eq!(rounds, [("t", 1), ("t", 2), ("t", 3)]);
}

#[test]
fn requests_in_less_than_a_millisecond_have_no_rate() {
    let figure = only("3.33-too-fast");
    assert!(figure.too_fast && value(&figure, Metric::Rate).is_none());
    let results = sample("3.33-too-fast").into_results().unwrap();
    let phase = &results.campaign.suites[0].tests[0].phases[0];
    assert_eq!(phase.op.primary_metric(), Metric::Rate);
}

#[test]
fn text_around_the_json_and_other_encodings_are_read() {
    for name in ["3.33-utf16", "3.33-text-with-brace", "3.33-behind-prompt"] {
        assert_eq!(value(&only(name), Metric::Rate), Some(1000.0), "{name}");
    }
    let lines = bytes("samples", "fio-3.33-zipf.json");
    let text = String::from_utf8(lines).unwrap().replace('\n', "\r\n");
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    for text in [format!("\u{feff}{text}"), quoted] {
        let found = read(InputFormat::Fio, text.as_bytes(), &naming()).unwrap();
        assert_eq!(rates(&found), ["/mnt/alpha d 1: 21972"]);
    }
}

#[test]
fn other_outputs_of_fio_are_named() {
    for kind in ["terse", "normal"] {
        let bytes = bytes("samples/refused", &format!("fio-3.33-{kind}.txt"));
        assert_eq!(detect_format(&bytes), Some(InputFormat::Fio));
        let error = read(InputFormat::Fio, &bytes, &naming()).unwrap_err().to_string();
        assert!(error.contains(kind) && error.contains("--output-format=json"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn numbers_that_are_none_are_no_values() {
    let text = "{\"fio version\" : \"fio-3.1\",\n\"jobs\" : [{\"jobname\" : \"a\",\n\"read\" : {\n\
        \"total_ios\" : 5,\n\"bw_agg\" : -nan,\n\"iops\" : nan,\n\"runtime\" : 0}}]}";
    let found = read(InputFormat::Fio, text.as_bytes(), &naming()).unwrap();
    let figure = &found.reported.figures[0];
    assert!(figure.too_fast && value(figure, Metric::Rate).is_none());
}

#[test]
fn one_filesystem_is_one_contender_and_two_are_two() {
    let found = sample("3.33-two-jobs-two-filesystems");
    assert_eq!(rates(&found), ["/mnt/alpha a 1: 10000", "/mnt/beta b 1: 1000"]);
    let found = sample("3.33-one-job-two-filesystems");
    assert_eq!(rates(&found), ["/mnt/alpha a 1: 10000", "/mnt/beta a 1: 1000"]);
    let found = sample("3.33-one-job-two-directories");
    assert_eq!(rates(&found), ["/mnt/alpha/t a 1: 10000", "/mnt/beta/t a 1: 1000"]);
    assert_eq!(only("3.33-windows-file").contender, "file");
}

#[test]
fn a_job_in_several_places_is_of_none_of_them() {
    for (name, places) in [
        ("3.33-several-devices", "/dev/sdx, /dev/sdy, /dev/sdz"),
        ("3.33-file-named-twice", "/mnt/alpha, /mnt/beta"),
    ] {
        let found = sample(name);
        assert_eq!(found.reported.figures[0].contender, "file", "{name}");
        assert!(found.skipped[0].ends_with(places), "{:?}", found.skipped);
    }
}

#[test]
fn the_processor_time_of_grouped_threads_is_their_sum() {
    assert_eq!(value(&only("3.33-grouped-threads"), Metric::Cpu), Some(200.0));
}

#[test]
fn a_run_starts_before_it_is_reported() {
    let started = sample("3.36-one-day").reported.started;
    assert_eq!(started, Some(Nanos(1_699_913_600_000_000_000)));
    let started = sample("3.33-zipf").reported.started;
    assert_eq!(started, Some(Nanos(1_699_999_990_000_000_000)));
}
