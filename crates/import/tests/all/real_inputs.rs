//! Outputs of kinds that people publish: each gives the right value, test and contender.

use std::fs;
use std::path::Path;

use import::{NameSource, NamingOptions, ParsedInput, detect_format, merge, read};
use model::{ImportedResult, Metric, Status};

fn try_named(names: &[&str], naming: &NamingOptions) -> Result<ParsedInput, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let inputs: Result<Vec<_>, String> = names
        .iter()
        .map(|name| {
            let bytes = fs::read(directory.join(name)).unwrap();
            let format = detect_format(&bytes).ok_or_else(|| format!("{name} has no format"))?;
            read(format, &bytes, naming).map_err(|error| error.to_string())
        })
        .collect();
    merge(inputs?).map_err(|error| error.to_string())
}

#[track_caller]
fn parsed(text: &str) -> ParsedInput {
    let naming = NamingOptions { otherwise: "file".to_owned(), ..NamingOptions::default() };
    read(detect_format(text.as_bytes()).unwrap(), text.as_bytes(), &naming).unwrap()
}

fn named_from(names: &[&str], from: Option<NameSource>) -> Result<ParsedInput, String> {
    let naming = NamingOptions { otherwise: "file".to_owned(), from, ..NamingOptions::default() };
    try_named(names, &naming)
}

#[track_caller]
fn found(names: &[&str]) -> ParsedInput {
    named_from(names, None).unwrap()
}

/// Returns the results as `contender test/phase round`, each with its first value or its status.
fn results(found: &ParsedInput) -> Vec<String> {
    let text = |figure: &ImportedResult| {
        let ImportedResult { contender, test, phase, round, .. } = figure;
        let value = match (figure.status, figure.values.first()) {
            (Status::Ok, _) if figure.too_fast => "too fast".to_owned(),
            (Status::Ok, Some(first)) => format!("{} {}", first.metric, first.value),
            (Status::Ok, None) => "no value".to_owned(),
            (status, _) => format!("{status}: {}", figure.reason.as_deref().unwrap_or_default()),
        };
        format!("{contender} {test}/{phase} {round} {value}")
    };
    found.reported.figures.iter().map(text).collect()
}

/// Returns the results of one phase.
fn phase(found: &ParsedInput, phase: &str) -> Vec<String> {
    let all = results(found).into_iter();
    let is_of_phase = |text: &String| text.contains(&format!("/{phase} "));
    all.filter(is_of_phase).map(|text| text.replacen(&format!("/{phase} "), " ", 1)).collect()
}

fn contenders(found: &ParsedInput) -> Vec<&str> {
    found.reported.contenders.iter().map(|one| one.name.as_str()).collect()
}

fn value(found: &ParsedInput, phase: &str, metric: Metric) -> Option<f64> {
    let figure = found.reported.figures.iter().find(|figure| figure.phase == phase)?;
    figure.values.iter().find(|value| value.metric == metric).map(|value| value.value)
}

#[track_caller]
fn assert_told(told: &[String], words: &str) {
    assert!(told.iter().any(|line| line.contains(words)), "{words}: {told:?}");
}

#[test]
fn bonnie_versions_may_end_in_a_letter() {
    for version in ["1.93c", "1.93d", "1.94"] {
        let found = found(&[&format!("bonnie-version-{version}.csv")]);
        assert_eq!(phase(&found, "write"), ["boxa bonnie-block 1 throughput 30720000"]);
        assert_eq!(found.reported.program, format!("bonnie++ {version}"));
    }
}

#[test]
fn blanks_around_columns_of_bonnie_are_no_part_of_them() {
    for name in ["bonnie-blanks-around-numbers.csv", "bonnie-tab-after-plus.csv"] {
        let found = found(&[name]);
        assert_eq!(phase(&found, "write"), ["boxa bonnie-block 1 throughput 30720000"]);
        assert_eq!(phase(&found, "stat-seq"), ["boxa bonnie-files 1 too fast"]);
        assert_eq!(found.reported.figures.len(), 12);
    }
}

#[test]
fn rounds_of_one_machine_that_are_far_apart_are_questioned() {
    let found = found(&["bonnie-rounds-far-apart.csv"]);
    let told = found.assumptions();
    assert_told(&told, "boxa after the machine");
    assert_told(
        &told,
        "bonnie-block/read differs 30-fold; if they are not, split the file and use NAME=FILE",
    );
}

#[test]
fn quotation_marks_of_mails_are_no_part_of_an_output() {
    let bonnie = found(&["bonnie-quoted-mail.txt"]);
    assert_eq!(phase(&bonnie, "write"), ["boxa bonnie-block 1 throughput 30720000"]);
    let fs_mark = found(&["fs_mark-quoted-mail.txt"]);
    assert_eq!(results(&fs_mark), ["/mnt/alpha fs-mark/create 1 rate 500"]);
}

#[test]
fn all_versions_of_bonnie_in_a_file_are_named() {
    let found = found(&["bonnie-two-versions.csv"]);
    assert_eq!(found.reported.program, "bonnie++ 1.97, bonnie++ 1.03");
}

#[test]
fn sizes_of_bonnie_in_other_units_are_the_same_size() {
    let found = found(&["bonnie-size-in-two-units.csv"]);
    let wanted =
        ["boxa bonnie-block 1 throughput 30720000", "boxb bonnie-block 1 throughput 30720000"];
    assert_eq!(phase(&found, "write"), wanted);
}

#[test]
fn the_name_of_a_machine_may_contain_commas() {
    let found = found(&["bonnie-name-with-comma.csv"]);
    let wanted = ["raid5,6 disks bonnie-block 1 throughput 30720000"];
    assert_eq!(phase(&found, "write"), wanted);
}

#[test]
fn a_wrapped_line_of_bonnie_is_one_line() {
    let found = found(&["bonnie-wrapped-line.txt"]);
    assert_eq!(phase(&found, "create-seq"), ["boxa bonnie-files 1 rate 2000"]);
    assert_eq!(phase(&found, "delete-random"), ["boxa bonnie-files 1 rate 1800"]);
}

#[test]
fn a_round_that_was_too_fast_is_told() {
    let found = found(&["bonnie-too-fast-in-one-round.csv"]);
    let wanted = ["boxa bonnie-block 1 too fast", "boxa bonnie-block 2 rate 150.5"];
    assert_eq!(phase(&found, "seek"), wanted);
    let told = found.assumptions();
    assert_told(&told, "seek of boxa in 1 of 2 rounds");
    assert!(!told.iter().any(|line| line.contains("-fold")), "{told:?}");
}

#[test]
fn throughput_tests_of_iozone_have_their_sizes_in_all_versions() {
    let found = found(&["iozone-throughput-64m-Kbyte.txt", "iozone-throughput-1g-Kbyte.txt"]);
    let wanted = [
        "file iozone-throughput-64m-64k-4t/write 1 throughput 204800000",
        "file iozone-throughput-1g-1m-4t/write 1 throughput 51200000",
    ];
    assert_eq!(results(&found), wanted);
}

#[test]
fn threads_of_iozone_write_files_like_processes() {
    for name in ["iozone-throughput-threads.txt", "iozone-throughput-no-banner.txt"] {
        let wanted = ["file iozone-throughput-64m-64k-4t/write 1 throughput 204800000"];
        assert_eq!(results(&found(&[name])), wanted);
    }
}

#[test]
fn the_unit_of_a_throughput_is_at_its_line() {
    let found = found(&["iozone-throughput-operations-no-banner.txt"]);
    assert_eq!(results(&found), ["file iozone-throughput-operations-64m-64k-4t/write 1 rate 3200"]);
}

#[test]
fn modes_of_iozone_are_different_tests() {
    let names = ["buffered", "odirect", "sync", "fsync-close", "mmap"];
    let names = names.map(|mode| format!("iozone-mode-{mode}.txt"));
    let found = found(&names.each_ref().map(String::as_str));
    let wanted = [
        "/mnt/alpha iozone-64m-64k 1 throughput 1331200000",
        "/mnt/alpha iozone-direct-64m-64k 1 throughput 307200000",
        "/mnt/alpha iozone-sync-64m-64k 1 throughput 3072000",
        "/mnt/alpha iozone-close-fsync-64m-64k 1 throughput 204800000",
        "/mnt/alpha iozone-mmap-64m-64k 1 throughput 716800000",
    ];
    assert_eq!(phase(&found, "write"), wanted);
}

#[test]
fn a_file_of_iozone_may_be_the_filesystem() {
    let names = ["iozone-file-is-filesystem-ext.txt", "iozone-file-is-filesystem-zfs.txt"];
    let error = named_from(&names, None).unwrap_err();
    assert!(error.contains("`/testlun/ext9` and `/testlun/zfs9`"), "{error}");
    let each = named_from(&names, Some(NameSource::Path)).unwrap();
    assert_eq!(contenders(&each), ["/testlun/ext9", "/testlun/zfs9"]);
}

#[test]
fn values_without_columns_are_those_of_the_selected_tests_or_refused() {
    let known = found(&["iozone-collapsed-with-command-line.txt"]);
    let wanted = [
        "/mnt/alpha iozone-64m-64k/write 1 throughput 307200000",
        "/mnt/alpha iozone-64m-64k/rewrite 1 throughput 317440000",
        "/mnt/alpha iozone-64m-64k/random-read 1 throughput 113777664",
        "/mnt/alpha iozone-64m-64k/random-write 1 throughput 227555328",
    ];
    assert_eq!(results(&known), wanted);
    let error = named_from(&["refused/iozone-collapsed.txt"], None).unwrap_err();
    assert!(error.contains("line 2: 6 values are not below 15 headings"), "{error}");
}

/// Refuses runs under different headings, and takes the headings as names on request.
#[track_caller]
fn assert_headings(name: &str, headings: &[&str]) {
    let error = named_from(&[name], None).unwrap_err();
    assert!(error.contains("use --contender NAME for one, --contender-from title"), "{error}");
    let each = named_from(&[name], Some(NameSource::Title)).unwrap();
    assert_eq!(contenders(&each), headings);
    let naming = NamingOptions { given: Some("one".to_owned()), ..NamingOptions::default() };
    let rounds = try_named(&[name], &naming).unwrap();
    assert_eq!(contenders(&rounds), ["one"]);
}

#[test]
fn runs_under_different_headings_are_not_taken_for_rounds() {
    assert_headings("refused/iozone-two-headings.txt", &["case alpha disk", "case beta disk"]);
    assert_headings("refused/filebench-three-headings.txt", &["alpha", "beta", "gamma"]);
    assert_headings("refused/dbench-two-headings.txt", &["5.10:", "5.11:"]);
}

#[test]
fn tests_that_iozone_did_not_run_have_no_value() {
    let found = found(&["iozone-no-retest.txt"]);
    let wanted = [
        "/mnt/alpha iozone-64m-64k/write 1 throughput 307200000",
        "/mnt/alpha iozone-64m-64k/read 1 throughput 921600000",
    ];
    assert_eq!(results(&found), wanted);
    assert_told(&found.skipped, "rewrite, which was not run");
}

#[test]
fn cpu_blocks_of_a_spreadsheet_are_no_rates() {
    let found = found(&["iozone-spreadsheet-with-cpu.txt"]);
    let wanted =
        ["file iozone-64k-4k 1 throughput 921600000", "file iozone-64k-8k 1 throughput 931840000"];
    assert_eq!(phase(&found, "read"), wanted);
    assert_told(&found.skipped, "CPU utilization");
}

#[test]
fn directories_of_io500_are_tests_of_one_contender() {
    let ior = found(&["ior-io500-easy.txt", "ior-io500-hard.txt"]);
    let wanted =
        ["/scratch/fsx ior 1 throughput 104857600", "/scratch/fsx ior-2 1 throughput 31457280"];
    assert_eq!(phase(&ior, "write"), wanted);
    let mdtest = found(&["mdtest-io500-easy.txt", "mdtest-io500-hard.txt"]);
    let wanted = ["/scratch/fsx mdtest 1 rate 1000", "/scratch/fsx mdtest-2 1 rate 300"];
    assert_eq!(phase(&mdtest, "file-creation"), wanted);
}

#[test]
fn the_path_of_ior_is_a_directory() {
    assert_eq!(contenders(&found(&["ior-path-is-directory.txt"])), ["/volx/user"]);
}

#[test]
fn a_requested_operation_of_ior_without_a_row_failed() {
    let found = found(&["ior-read-missing.txt"]);
    let wanted = [
        "/mnt/alpha ior/write 1 throughput 104857600",
        "/mnt/alpha ior/read 1 failed: it was requested and has no result",
    ];
    assert_eq!(results(&found), wanted);
}

#[test]
fn reading_wrong_data_is_a_failure_of_ior() {
    let found = found(&["ior-incorrect-data.txt"]);
    let wanted = ["/mnt/alpha ior 1 failed: WARNING: Incorrect data on read (5 errors found)."];
    assert_eq!(phase(&found, "read"), wanted);
}

#[test]
fn ior_is_read_as_text_json_and_csv() {
    for (name, contender) in [("ior-4.0.json", "/mnt/alpha"), ("ior-4.0-table.csv", "file")] {
        let found = found(&[name]);
        let wanted = format!("{contender} ior/write 1 throughput 104857600");
        assert_eq!(results(&found), [wanted]);
        assert_eq!(value(&found, "write", Metric::Elapsed), Some(2.56));
    }
}

#[test]
fn times_of_opening_and_closing_are_read_from_ior() {
    let found = found(&["ior-open-and-close-times.txt"]);
    let wanted = [(Metric::OpenMax, 1.5), (Metric::CloseMax, 0.1), (Metric::Elapsed, 2.56)];
    for (metric, seconds) in wanted {
        assert_eq!(value(&found, "write", metric), Some(seconds));
    }
    assert_told(&found.skipped, "wr/rd(s)");
}

#[test]
fn equal_tests_in_one_run_of_ior_are_rounds() {
    let found = found(&["ior-two-equal-tests.txt"]);
    let wanted = ["/mnt/alpha ior 1 throughput 104857600", "/mnt/alpha ior 2 throughput 52428800"];
    assert_eq!(phase(&found, "write"), wanted);
}

#[test]
fn options_of_mdtest_are_different_tests() {
    let names =
        ["mdtest-empty-files.txt", "mdtest-files-of-3901.txt", "mdtest-unique-directories.txt"];
    let found = found(&names);
    let wanted = [
        "/mnt/alpha mdtest 1 rate 1000",
        "/mnt/alpha mdtest-2 1 rate 300",
        "/mnt/alpha mdtest-3 1 rate 3000",
    ];
    assert_eq!(phase(&found, "file-creation"), wanted);
}

#[test]
fn directories_of_one_name_are_different_contenders() {
    let mdtest = found(&["mdtest-same-last-directory.txt"]);
    let wanted = ["/nfsx/user/md mdtest 1 rate 200", "/beex/user/md mdtest 1 rate 900"];
    assert_eq!(phase(&mdtest, "file-creation"), wanted);
    let fs_mark = found(&["fs_mark-same-last-directory.txt"]);
    let wanted = ["/diska fs-mark/create 1 rate 500", "/diskb fs-mark/create 1 rate 50"];
    assert_eq!(results(&fs_mark), wanted);
}

#[test]
fn several_directories_name_no_contender() {
    let found = found(&["mdtest-two-directories.txt"]);
    assert_eq!(contenders(&found), ["file"]);
    assert_told(
        &found.assumptions(),
        "file after the input file, because it has several directories",
    );
}

#[test]
fn several_kernels_or_identifiers_of_tiobench_are_contenders() {
    let kernels = found(&["tiobench-two-kernels.txt"]);
    let wanted = [
        "5.10.1 tiobench-256m-4k-4t 1 throughput 20971520",
        "6.1.2 tiobench-256m-4k-4t 1 throughput 83886080",
    ];
    assert_eq!(phase(&kernels, "read"), wanted);
    assert_eq!(kernels.reported.environment.kernel, "");
    assert_eq!(contenders(&found(&["tiobench-two-identifiers.txt"])), ["alpha", "beta"]);
}

#[test]
fn numbers_and_directories_of_files_are_different_tests_of_fs_mark() {
    let names =
        ["fs_mark-1000-files.txt", "fs_mark-1000000-files.txt", "fs_mark-subdirectories.txt"];
    let wanted = [
        "/mnt/alpha fs-mark/create 1 rate 500",
        "/mnt/alpha fs-mark-2/create 1 rate 90",
        "/mnt/alpha fs-mark-3/create 1 rate 900",
    ];
    assert_eq!(results(&found(&names)), wanted);
}

#[test]
fn bytes_that_are_no_text_do_not_hide_a_table() {
    let found = found(&["fs_mark-bytes-not-utf8.txt"]);
    assert_eq!(results(&found), ["/mnt/alpha fs-mark/create 1 rate 500"]);
}

#[test]
fn iterations_that_fill_a_filesystem_are_told() {
    let found = found(&["fs_mark-filling-iterations.txt"]);
    assert_eq!(found.reported.figures.len(), 5);
    assert_told(&found.assumptions(), "they fill one filesystem");
}

#[test]
fn a_time_of_filebench_that_was_rounded_to_0_is_no_value() {
    let found = found(&["filebench-mean-rounded-to-0.txt"]);
    assert_eq!(value(&found, "all", Metric::LatencyMean), None);
    assert_eq!(value(&found, "statfile1", Metric::LatencyMean), None);
    assert_eq!(value(&found, "createfile1", Metric::LatencyMean), Some(0.3476));
}

#[test]
fn a_comma_of_filebench_may_be_a_decimal_point() {
    let found = found(&["filebench-decimal-comma.txt"]);
    assert_eq!(value(&found, "createfile1", Metric::LatencyMean), Some(0.0031));
    assert_eq!(value(&found, "all", Metric::LatencyMean), Some(0.005));
    assert_eq!(value(&found, "all", Metric::Throughput), Some(1.2 * 1024.0 * 1024.0));
}

#[test]
fn synchronous_modes_and_loads_of_dbench_are_different_tests() {
    let modes =
        ["dbench-plain.txt", "dbench-sync-open.txt", "dbench-sync-open-and-directories.txt"];
    let wanted = [
        "file dbench-8 1 throughput 300000000",
        "file dbench-8-sync-open 1 throughput 40000000",
        "file dbench-8-sync-open-sync-dirs 1 throughput 4000000",
    ];
    assert_eq!(phase(&found(&modes), "all"), wanted);
    let loads = found(&["dbench-load-client.txt", "dbench-load-nfs.txt"]);
    let wanted = ["file dbench-8 1 throughput 300000000", "file dbench-8-2 1 throughput 30000000"];
    assert_eq!(phase(&loads, "all"), wanted);
}

#[test]
fn the_value_of_a_parameter_may_occur_elsewhere_in_a_command() {
    let found = found(&["hyperfine-parameter-value-elsewhere.json"]);
    assert_eq!(contenders(&found), ["1", "2"]);
    let phases: Vec<&str> = found.reported.figures.iter().map(|f| f.phase.as_str()).collect();
    assert_eq!(phases, ["sort-threads-threads-list1.txt"; 4]);
}

#[test]
fn a_time_of_0_is_too_fast_for_hyperfine() {
    let found = found(&["hyperfine-times-of-0.json"]);
    assert_eq!(results(&found)[0], "true-ish hyperfine/command 1 too fast");
    assert_eq!(results(&found)[3], "work hyperfine/command 1 elapsed 1");
}

#[test]
fn failures_of_hyperfine_are_no_times() {
    let found = found(&["hyperfine-all-failed.json"]);
    assert_eq!(results(&found)[0], "broken hyperfine/command 1 failed: it ended with 1");
    assert_eq!(results(&found)[2], "killed hyperfine/command 1 failed: a signal ended it");
}

#[test]
fn two_commands_of_hyperfine_may_have_one_name() {
    let found = found(&["hyperfine-same-name-twice.json"]);
    let wanted = ["build command 1", "build command 2", "build-2 command 1", "build-2 command 2"];
    let shown = results(&found);
    let shown = shown.iter().map(|text| text.replace("hyperfine/", ""));
    assert!(shown.zip(wanted).all(|(text, wanted)| text.starts_with(wanted)));
}

#[test]
fn without_times_of_runs_the_mean_of_hyperfine_is_a_round() {
    let found = found(&["hyperfine-null-times.json"]);
    assert_eq!(results(&found), ["old hyperfine/command 1 elapsed 3"]);
}

#[test]
fn entries_and_runs_of_phoronix_without_a_result_failed() {
    let entry = found(&["phoronix-failed-entry.xml"]);
    assert_eq!(results(&entry)[0], "alpha copytree-1.0.0/copy 1 failed: no result");
    let run = found(&["phoronix-run-without-result.xml"]);
    let wanted = [
        "alpha copytree-1.0.0/copy 1 elapsed 12.4",
        "alpha copytree-1.0.0/copy 2 failed: no result",
        "alpha copytree-1.0.0/copy 3 elapsed 12.6",
    ];
    assert_eq!(results(&run), wanted);
    let zero = found(&["phoronix-average-0-seconds.xml"]);
    assert_eq!(results(&zero)[0], "alpha copytree-1.0.0/copy 1 failed: a result of 0");
}

#[test]
fn installing_a_test_of_phoronix_is_no_result() {
    let found = found(&["phoronix-install-time.xml"]);
    assert_eq!(found.reported.figures.len(), 2);
    assert_told(&found.skipped, "installation");
}

#[test]
fn modes_of_iozone_may_be_only_in_the_command_line() {
    let run = |options: &str| {
        format!(
            "Command line used: iozone {options} -s 64 -r 4\nkB  reclen    write\n64       4   400000\n\n"
        )
    };
    let text = run("-Ie") + &run("-+D -O") + &run("-a -+n -U /mnt/x") + &run("-k 8");
    let tests: Vec<String> =
        parsed(&text).reported.figures.into_iter().map(|figure| figure.test).collect();
    let wanted = [
        "iozone-direct-fsync-64k-4k",
        "iozone-dsync-operations-64k-4k",
        "iozone-unmount-64k-4k",
        "iozone-aio8-64k-4k",
    ];
    assert_eq!(tests, wanted);
}

#[test]
fn an_unknown_mode_of_iozone_is_part_of_the_test() {
    let run = |mode: &str| {
        format!(
            "\tIozone: Performance Test of File I/O\n\tRun began: Tue Jan  2 03:04:05 2024\n\n{mode}\tAuto Mode\n\
             \tCommand line used: iozone -a\n\tFile stride size set to 17 * record size.\n\
             kB  reclen    write\n64       4   400000\n\niozone test complete.\n"
        )
    };
    let found = parsed(&(run("") + &run("\tDedup activated 50 percent.\n") + &run("")));
    let wanted = [
        "file iozone-64k-4k 1 throughput 409600000",
        "file iozone-dedup-activated-50-percent-64k-4k 1 throughput 409600000",
        "file iozone-64k-4k 2 throughput 409600000",
    ];
    assert_eq!(phase(&found, "write"), wanted);
}

#[test]
fn bonnie_without_a_file_has_no_size() {
    let line = "boxa,,,,,,,,,,,,,,,16,2000,20,+++++,+++,2500,10,2100,21,+++++,+++,1800,9\n";
    let whole = line.replacen(",,,,,,,,,,,,,,,16", ",,,,,,,,,,,,,,16", 1);
    let found = parsed(&whole);
    assert_eq!(phase(&found, "create-seq"), ["boxa bonnie-files 1 rate 2000"]);
    assert_eq!(found.reported.figures.len(), 6);
}

#[test]
fn rows_of_ior_2_end_in_a_mark() {
    let text = "IOR-2.10.3: MPI Coordinated Test of Parallel I/O\n\nRun began: Tue Jan  2 03:04:05 2024\n\
        Command line used: ./IOR -a POSIX -e -w -r -o /mnt/alpha/t\nMachine: Linux n1\n\nSummary:\n\
        \tapi                = POSIX\n\ttest filename      = /mnt/alpha/t\n\txfersize           = 1 MiB\n\n\
        access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s) total(s)  iter\n\
        ------    ---------  ---------- ---------  --------   --------   -------- --------  ----\n\
        write     100.00     65536      1024.00    0.1        0.9        0.1      2.56      0    XXCEL\n\
        read      inf        65536      1024.00    0.1        0.9        0.1      0.00      0    XXCEL\n\n\
        Max Write: 100.00 MiB/sec (104.86 MB/sec)\n";
    let found = parsed(text);
    let wanted = [
        "/mnt/alpha ior/write 1 throughput 104857600",
        "/mnt/alpha ior/read 1 failed: it states a rate of inf",
    ];
    assert_eq!(results(&found), wanted);
    assert_eq!(found.tests["ior"].parameters, "xfersize 1 MiB, -e, api POSIX");
}

#[test]
fn an_error_of_ior_is_the_reason_of_a_missing_row() {
    let text = "IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n\
        Command line        : ior -w -r -i 2 -o /mnt/alpha/t\nOptions: \nrepetitions         : 2\n\n\
        access    bw(MiB/s)  IOPS       iter\nwrite     100.00     100.00     0\n\
        ior ERROR: write failed, errno 28, No space left on device (aiori-POSIX.c:500)\n";
    let found = parsed(text);
    let shown = results(&found);
    assert_eq!(shown.len(), 4);
    assert!(
        shown[1..].iter().all(|text| text.contains("failed: ior ERROR: write failed, errno 28"))
    );
}

#[test]
fn statistics_per_rank_of_mdtest_are_no_rates_of_the_whole() {
    let text = "mdtest-4.1.0 was launched with 2 total task(s) on 1 node(s)\n\
        Command line used: mdtest '-n' '10' '-Y' '-d' '/mnt/x'\n2 tasks, 20 files/directories\n\
        SUMMARY rate (in ops/sec): (of 1 iterations)\n   Operation     per Rank: Max  Min  Mean  per Iteration: Max Min Mean  Std Dev\n\
        File creation   9.000 7.000 8.000   16.000 14.000 15.000 0.000\nFile stat  nan nan nan nan\n-- finished at 01/02/2024 03:04:15 --\n";
    let wanted = [
        "/mnt/x mdtest/file-creation 1 rate 15",
        "/mnt/x mdtest/file-stat 1 failed: it states a rate of nan",
    ];
    assert_eq!(results(&parsed(text)), wanted);
}

#[test]
fn a_failed_run_of_dbench_or_fs_mark_is_no_number() {
    let dbench = parsed(
        "dbench version 4.00 - x\nChild failed with status 1\nThroughput 0 MB/sec  1 clients  1 procs\n",
    );
    assert_eq!(results(&dbench), ["file dbench-1/all 1 failed: Child failed with status 1"]);
    let fs_mark = parsed(
        "FSUse%        Count         Size    Files/sec     App Overhead\n100 0 4096 0.0 1\n",
    );
    assert_eq!(results(&fs_mark), ["file fs-mark/create 1 failed: it states 0.0 files per second"]);
}

#[test]
fn values_of_several_parameters_may_occur_in_each_other() {
    let command = |n: u32, size: u32| {
        format!(
            "{{\"command\":\"dd{n} bs={size} n={n} f1\",\"times\":[1],\"parameters\":{{\"n\":\"{n}\",\"size\":\"{size}\"}}}}"
        )
    };
    let all = [command(1, 10), command(1, 21), command(2, 10)].join(",");
    let found = parsed(&format!("{{\"results\":[{all}]}}"));
    let phases: Vec<&str> = found.reported.figures.iter().map(|f| f.phase.as_str()).collect();
    assert_eq!(phases, ["dd-n-bs-size-n-n-f1"; 3]);
    assert_eq!(contenders(&found), ["1 10", "1 21", "2 10"]);
}

#[test]
fn utf_16_is_text() {
    let text = "Throughput 205.5 MB/sec 4 procs\r\n";
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    assert_eq!(detect_format(&bytes).unwrap().name(), "dbench");
    let found = read(detect_format(&bytes).unwrap(), &bytes, &NamingOptions::default()).unwrap();
    assert_eq!(results(&found)[0], "unnamed dbench-4/all 1 throughput 205500000");
}

#[test]
fn a_prompt_before_a_run_of_iozone_states_its_options() {
    let run = |options: &str| {
        format!(
            "   ```bash\n   iozone {options} -t1 -i0 -r1k -s1g /tmp\n   ```\n   \
             Children see throughput for  1 initial writers  =  907733.81 kB/sec\n   \
             Parent sees throughput for  1 initial writers   =  907239.68 kB/sec\n"
        )
    };
    let found = parsed(&(run("-e") + &run("-B -G -e")));
    let tests: Vec<&str> = found.reported.figures.iter().map(|f| f.test.as_str()).collect();
    assert_eq!(tests, ["iozone-throughput-fsync-1t", "iozone-throughput-fsync-mmap-msync-1t"]);
}

#[test]
fn a_heading_holds_for_all_runs_below_it() {
    let text = "6.3.0\nThroughput 3655.33 MB/sec  8 clients  8 procs  max_latency=3D16.322 ms\n\
        Throughput 3651.73 MB/sec  8 clients  8 procs  max_latency=3D16.260 ms\n\
        6.3.0+next\nThroughput 3497.39 MB/sec  8 clients  8 procs  max_latency=3D12.380 ms\n";
    let naming = NamingOptions { from: Some(NameSource::Title), ..NamingOptions::default() };
    let format = detect_format(text.as_bytes()).unwrap();
    assert!(read(format, text.as_bytes(), &NamingOptions::default()).is_err());
    let found = read(format, text.as_bytes(), &naming).unwrap();
    let wanted = [
        "6.3.0 dbench-8 1 throughput 3655330000",
        "6.3.0 dbench-8 2 throughput 3651730000",
        "6.3.0+next dbench-8 1 throughput 3497390000",
    ];
    assert_eq!(phase(&found, "all"), wanted);
    assert_eq!(value(&found, "all", Metric::LatencyMax), Some(0.016322));
}

#[test]
fn an_error_of_iozone_is_a_failure_of_the_next_operation() {
    let text = "\tCommand line used: iozone -s 64m -r 4k -i 0 -i 1 -f /mnt/alpha/t\n\
        \x20                                               random    random\n\
        \x20             kB  reclen    write  rewrite    read    reread    read     write\n\
        \x20          65536       4   300000   310000\n\
        Error reading block 0 10000\nread: Input/output error\n\niozone: interrupted\n";
    let wanted = [
        "/mnt/alpha iozone-64m-4k/write 1 throughput 307200000",
        "/mnt/alpha iozone-64m-4k/rewrite 1 throughput 317440000",
        "/mnt/alpha iozone-64m-4k/read 1 failed: Error reading block 0 10000",
    ];
    assert_eq!(results(&parsed(text)), wanted);
}

#[test]
fn variables_of_filebench_are_parameters_and_its_directory_is_the_place() {
    let run = |files: u32| {
        format!(
            "Filebench Version 1.5-alpha3\n0.003:   File-server Version 3.0 personality\n0.003:     $dir=/mnt/alpha\n\
             0.003:     $nfiles={files}\n2.429: Running...\n18.109: Per-Operation Breakdown\n\
             statfile1   30174ops     1995ops/s   0.0mb/s      0.2ms/op [0.00ms - 87.07ms]\n\
             18.172: IO Summary: 332118 ops 21959.263 ops/s 1995/3995 rd/wr 525.1mb/s   6.7ms/op\n"
        )
    };
    let wanted =
        ["/mnt/alpha file-server 1 rate 21959.263", "/mnt/alpha file-server-2 1 rate 21959.263"];
    assert_eq!(phase(&parsed(&(run(1000) + &run(2000))), "all"), wanted);
}

#[test]
fn fs_mark_3_1_has_no_column_for_its_overhead() {
    let header = "[root@n1 tmp]# ./fs_mark -d /mnt/alpha -s 10240 -n 1000 -v\n\n\
        #  ./fs_mark  -d  /mnt/alpha  -s  10240  -n  1000\n\
        #       Version Version 3.1, 1 thread(s) starting at Mon Sep 26 18:44:33 2005\n\n";
    let plain = "FSUse%        Count         Size  Files/sec\n     3         1000        10240       44.6\n";
    let found = parsed(&(header.to_owned() + plain));
    assert_eq!(found.reported.program, "fs_mark 3.1");
    assert_eq!(results(&found), ["/mnt/alpha fs-mark/create 1 rate 44.6"]);
    let verbose = "FSUse%        Count         Size  Files/sec        CREAT (Min/Avg/Max)\n\
        3 1000 10240 43.5 24 111 17113 23 48 2937 14281 22811 219942 0 0 0 1 2 21 34 50 1180\n";
    let found = parsed(&(header.to_owned() + verbose));
    assert_eq!(value(&found, "create", Metric::SyncMax), Some(0.219942));
    assert_eq!(value(&found, "create", Metric::CloseMax), Some(0.000021));
}

#[test]
fn prompts_before_tables_of_ior_state_different_tests() {
    let text = "   $ mpirun -n 64 ./ior -t 1m -b 16m -s 16\n   ...\n\
        access bw(MiB/s) block(KiB) xfer(KiB) open(s)  wr/rd(s) close(s) total(s) iter\n\
        ------ --------- ---------- --------- -------- -------- -------- -------- ----\n\
        write  400       16384      1024.00   0.107961 38.34    32.48    38.34    2\n\
        read   -         -          -         -        -        -        0.5      2\n\n\
        read rates of files in the cache, which are far too high, follow\n\n\
        $ mpirun -n 64 ./ior -t 1m -b 16m -s 16 -F\n\
        access bw(MiB/s) block(KiB) xfer(KiB) open(s)  wr/rd(s) close(s) total(s) iter\n\
        write  800       16384      1024.00   0.107961 38.34    32.48    38.34    2\n";
    let wanted = ["file ior 1 throughput 419430400", "file ior-2 1 throughput 838860800"];
    assert_eq!(phase(&parsed(text), "write"), wanted);
}
