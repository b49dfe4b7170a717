//! Different parameters make a different test or phase, in one file and across files.

use import::{InputFormat, NamingOptions, ParsedInput, expected, merge, read};
use model::ImportedResult;

fn found(format: InputFormat, text: &str, contender: &str) -> ParsedInput {
    let naming = NamingOptions { given: Some(contender.to_owned()), ..NamingOptions::default() };
    read(format, text.as_bytes(), &naming).unwrap()
}

/// Returns contender, test, phase and round of each result.
fn places(found: &ParsedInput) -> Vec<String> {
    let figures = found.reported.figures.iter();
    let place = |figure: &ImportedResult| {
        let ImportedResult { contender, test, phase, round, .. } = figure;
        format!("{contender} {test}/{phase} {round}")
    };
    figures.map(place).collect()
}

fn fs_mark(method: &str, size: u32) -> String {
    format!(
        "#\tVersion 3.3, 1 thread(s) starting at Wed Nov 25 12:21:19 2026\n#\tSync method: {method}\n\
         FSUse% Count Size\n76 50 {size} 236.0 383\n"
    )
}

#[test]
fn files_of_other_sizes_and_other_syncs_are_other_tests() {
    let one = fs_mark("INBAND FSYNC: fsync() per file", 4096);
    let other = fs_mark("NO SYNC: Test does not issue sync()", 4096);
    let large = fs_mark("NO SYNC: Test does not issue sync()", 8192);
    let all = found(InputFormat::FsMark, &format!("{one}{other}{large}{one}"), "a");
    let of_one_file = [
        "a fs-mark/create 1",
        "a fs-mark-2/create 1",
        "a fs-mark-3/create 1",
        "a fs-mark/create 2",
    ];
    assert_eq!(places(&all), of_one_file);
    assert!(all.reported.started.is_some());
    // Each file numbers its tests from 1.
    let both = [
        found(InputFormat::FsMark, &one, "a"),
        found(InputFormat::FsMark, &other, "b"),
        found(InputFormat::FsMark, &format!("{other}{one}"), "c"),
    ];
    let both = merge(both.to_vec()).unwrap();
    let of_all = [
        "a fs-mark/create 1",
        "b fs-mark-2/create 1",
        "c fs-mark-2/create 1",
        "c fs-mark/create 1",
    ];
    assert_eq!(places(&both), of_all);
    let tests = both.into_results().unwrap().campaign.suites.remove(0).tests;
    assert_eq!(tests[1].title, "NO SYNC, 50 files of 4096 bytes, threads 1");
}

#[test]
fn another_size_or_number_of_files_is_another_test_of_bonnie() {
    let line = |size: &str, files: &str| {
        format!(
            "1.98,2.00,a,1,17,{size},,8192,5,,,100,1,,,,,,,,,{files},,,,,90,1{}\n",
            ",".repeat(22)
        )
    };
    let text = format!(
        "format_version,bonnie_version,name{}\n{}{}{}",
        ",".repeat(47),
        line("8M", "1"),
        line("16M", "1"),
        line("8M", "2")
    );
    let all = found(InputFormat::Bonnie, &text, "a");
    let wanted = [
        "a bonnie-block/write 1",
        "a bonnie-files/create-seq 1",
        "a bonnie-block-2/write 1",
        "a bonnie-files/create-seq 2",
        "a bonnie-block/write 2",
        "a bonnie-files-2/create-seq 1",
    ];
    assert_eq!(places(&all), wanted);
}

#[test]
fn too_quick_phases_keep_their_maximum_latency() {
    let line = format!(
        "1.98,2.00,a,1,17,8M,,8192,5,,,+++++,+++{},12us{}\n",
        ",".repeat(26),
        ",".repeat(10)
    );
    let all = found(InputFormat::Bonnie, &line, "a");
    let [figure] = all.reported.figures.as_slice() else {
        panic!("{:?}", places(&all));
    };
    assert_eq!(figure.values[0].metric, model::Metric::LatencyMax);
    assert_eq!(figure.values.len(), 1);
    let results = all.into_results().unwrap();
    let phase = &results.campaign.suites[0].tests[0].phases[0];
    assert_eq!(phase.op.primary_metric(), model::Metric::Throughput);
}

#[test]
fn ior_options_distinguish_tests_across_files() {
    let run = |block: &str| {
        format!(
            "IOR-3.3.0: MPI\nBegan : Mon Mar  8 23:08:17 2021\ntasks : 10\nrepetitions : 1\nxfersize : {block}\n\
             access bw(MiB/s) iter\nwrite 5 0\n"
        )
    };
    let (one, other) = (run("1 MiB"), run("2 MiB"));
    let files = [
        found(InputFormat::Ior, &one, "a"),
        found(InputFormat::Ior, &format!("{other}{one}"), "b"),
    ];
    let all = merge(files.to_vec()).unwrap();
    let wanted = ["a ior/write 1", "b ior-2/write 1", "b ior/write 1"];
    assert_eq!(places(&all), wanted);
    assert!(all.reported.started.is_some());
    let tests = all.into_results().unwrap().campaign.suites.remove(0).tests;
    assert_eq!(tests[1].title, "xfersize 2 MiB, tasks 10");
}

#[test]
fn tiobench_of_another_size_is_another_point() {
    let line =
        |size: u32, block: u32| format!("x {size} {block} 1 78.55 33.10% 0.049 4.50 0.0 0.0 237\n");
    let text = format!("Random Reads\n{}{}{}", line(16, 4096), line(32, 4096), line(16, 512));
    let all = found(InputFormat::Tiobench, &text, "a");
    let wanted = [
        "a tiobench-16m-4k-1t/random-read 1",
        "a tiobench-32m-4k-1t/random-read 1",
        "a tiobench-16m-512-1t/random-read 1",
    ];
    assert_eq!(places(&all), wanted);
}

fn fio(jobs: &str) -> String {
    format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{jobs}]}}")
}

fn job(name: &str, group: u32, options: &str, side: &str) -> String {
    let did = "{\"total_ios\":1,\"bw_bytes\":4096,\"iops\":1}";
    format!(
        "{{\"jobname\":\"{name}\",\"groupid\":{group},\"job options\":{options},\"{side}\":{did}}}"
    )
}

#[test]
fn jobs_of_one_name_that_do_something_else_are_other_phases() {
    let write = "{\"rw\":\"write\",\"bs\":\"4k\"}";
    let same = "{\"rw\":\"write\",\"bs\":\"4096\"}";
    let jobs = [
        job("a", 0, write, "write"),
        job("a", 0, same, "write"),
        job("a", 1, "{\"rw\":\"read\"}", "read"),
        job("a", 2, write, "write"),
    ];
    let all = found(InputFormat::Fio, &fio(&jobs.join(",")), "x");
    assert_eq!(places(&all), ["x fio/a 1", "x fio/a-2 1", "x fio/a-3 1"]);
    // Across files, jobs are matched by their parameters and not by their order.
    let other = [
        job("b", 0, write, "write"),
        job("a", 1, "{\"rw\":\"write\",\"bs\":\"1m\"}", "write"),
        job("a", 2, same, "write"),
    ];
    let both = vec![
        found(InputFormat::Fio, &fio(&jobs[0]), "x"),
        found(InputFormat::Fio, &fio(&other.join(",")), "y"),
    ];
    let wanted = ["x fio/a 1", "y fio/b 1", "y fio/a-2 1", "y fio/a 1"];
    assert_eq!(places(&merge(both).unwrap()), wanted);
}

#[test]
fn predicted_phases_of_fio_match_its_output() {
    let arguments = ["--name=a", "--rw=write", "--name=a", "--rw=read", "--stonewall"];
    let foreseen = expected(InputFormat::Fio, &arguments).unwrap();
    let jobs = [
        job("a", 0, "{\"name\":\"a\",\"rw\":\"write\"}", "write"),
        job("a", 1, "{\"name\":\"a\",\"rw\":\"read\"}", "read"),
    ];
    let all = found(InputFormat::Fio, &fio(&jobs.join(",")), "x");
    let phases = all.reported.figures.iter().map(|figure| &figure.phase);
    assert!(phases.eq(foreseen.iter().map(|phase| &phase.phase)));
}

#[test]
fn fio_2_bandwidth_is_in_kibibytes() {
    let side = "{\"io_bytes\":64,\"bw\":2,\"iops\":1.5,\"runtime\":10,\"clat\":{\"max\":3}}";
    let text = format!(
        "{{\"fio version\":\"fio-2.1\",\"jobs\":[{{\"jobname\":\"a\",\"write\":{side}}}]}}"
    );
    let all = found(InputFormat::Fio, &text, "x");
    let first = all.reported.figures[0].values[0];
    assert_eq!((first.metric, first.value), (model::Metric::Throughput, 2048.0));
    assert_eq!(all.skipped, [""; 0]);
}

#[test]
fn the_longest_latency_of_fio_is_the_exact_one() {
    let clat = "{\"N\":2,\"max\":1030,\"mean\":700,\"bins\":{\"400\":1,\"1020\":1}}";
    let side = format!("{{\"total_ios\":2,\"bw_bytes\":1,\"clat_ns\":{clat}}}");
    let all = found(InputFormat::Fio, &fio(&format!("{{\"jobname\":\"a\",\"read\":{side}}}")), "x");
    let results = all.into_results().unwrap();
    let phase = &results.cells[0].result.as_ref().unwrap().phases[0];
    let number = |metric| {
        let all = phase.measurements();
        all.iter().find(|one| one.metric == metric).unwrap().value
    };
    assert_eq!(number(model::Metric::LatencyMax), 1030e-9);
    assert_eq!(number(model::Metric::LatencyMean), 700e-9);
}

#[test]
fn an_impossible_rate_of_fio_is_refused() {
    for rate in ["-1", "1e30"] {
        let text = fio(&format!(
            "{{\"jobname\":\"a\",\"read\":{{\"total_ios\":1,\"bw_bytes\":{rate},\"runtime\":5}}}}"
        ));
        let error = read(InputFormat::Fio, text.as_bytes(), &NamingOptions::default()).unwrap_err();
        assert!(error.to_string().contains("a rate of a is no number"), "{error}");
    }
}

#[test]
fn truncated_lines_and_invalid_numbers_are_reported() {
    let table = "kB  reclen    write  rewrite\n    64       4   400000   300000\n";
    assert_eq!(found(InputFormat::Iozone, table, "a").reported.figures.len(), 2);
    let cut = &table[..table.len() - 4];
    let error = read(InputFormat::Iozone, cut.as_bytes(), &NamingOptions::default()).unwrap_err();
    assert_eq!(error.line, Some(2));
    let table = "kB  reclen    write  rewrite\n    64       4      nan   300000\n   128       4   400000   300000\n";
    let all = found(InputFormat::Iozone, table, "a");
    assert_eq!(all.reported.figures.len(), 3);
    assert_eq!(all.skipped, ["an invalid value of write"]);
    let cut = "Random Reads\nx 16 4096 1 78.55 33.10% 0.049 4.50 0.0 0.0 237\nx 16 40";
    let error = read(InputFormat::Tiobench, cut.as_bytes(), &NamingOptions::default()).unwrap_err();
    assert_eq!(error.line, Some(3));
}

#[test]
fn dbench_3_processes_are_clients() {
    let all = found(InputFormat::Dbench, "Throughput 205.664 MB/sec 4 procs\n", "a");
    assert_eq!(places(&all), ["a dbench-4/all 1"]);
}

#[test]
fn another_scale_or_other_arguments_are_another_phase() {
    let result = |scale: &str, arguments: &str| {
        format!(
            "<Result><Identifier>pts/fio-1</Identifier><Arguments>{arguments}</Arguments><Description>Read</Description>\
             <Scale>{scale}</Scale><Data><Entry><Identifier>x</Identifier><Value>1</Value></Entry></Data></Result>"
        )
    };
    let results = [result("MB/s", "4k"), result("IOPS", "4k"), result("MB/s", "2m")];
    let text = format!("<PhoronixTestSuite>{}</PhoronixTestSuite>", results.concat());
    let all = found(InputFormat::Phoronix, &text, "a");
    let wanted = ["a fio-1/read 1", "a fio-1/read-2 1", "a fio-1/read-3 1"];
    assert_eq!(places(&all), wanted);
}
