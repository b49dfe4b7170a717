//! Runs under different headings are no rounds, also in one directory. Titles name options that
//! differ.

use import::{NameSource, NamingOptions, ParsedInput, detect_only_format, read};

fn parsed(text: &str, from: Option<NameSource>) -> Result<ParsedInput, String> {
    let format = detect_only_format(text.as_bytes()).unwrap();
    let naming = NamingOptions { otherwise: "file".to_owned(), from, ..NamingOptions::default() };
    read(format, text.as_bytes(), &naming).map_err(|error| error.to_string())
}

const FS_MARK: &str = "\n#  fs_mark  -d  /mnt/a  -s  4096\n#\tVersion 3.3, 1 thread(s) starting at x\n\
    FSUse% Count Size Files/sec App\n1 50 4096 236.0 383\n\nreal 0m1.0s\n";
const IOR: &str = "IOR-3.3.0: MPI\nCommand line        : ior -w -o /mnt/a/t\nOptions: \n\
    xfersize            : 1 MiB\n\nResults: \n\naccess bw(MiB/s) iter\nwrite 100 0\nMax Write: 1\n\
    Summary of all tests:\nFinished            : x\n";
const MDTEST: &str = "-- started at 11/01/2019 13:22:48 --\n\nmdtest-1.9.3 was launched with 1 total task(s)\n\
    Command line used: mdtest \"-F\" \"-d\" \"/mnt/a\"\nPath: /mnt\n1 tasks, 10 files\n\n\
    SUMMARY rate: (of 1 iterations)\nFile creation : 9 9 9 0\n\n-- finished at 11/01/2019 19:14:57 --\n";
const IOZONE: &str = "Running it...\n\tIozone: Performance Test of File I/O\n\
    \tCommand line used: iozone -s 64 -r 4 -f /mnt/a/t\n\
    kB  reclen    write\n64       4   400000\n\niozone test complete.\n";

#[test]
fn runs_in_one_directory_under_different_headings_are_refused_and_named_by_them() {
    for run in [FS_MARK, IOR, MDTEST, IOZONE] {
        for [one, other] in [
            ["# Card A 32GB", "# Card B 16GB"],
            ["before tuning:", "a while later. After tuning:"],
            ["scheduler=none", "scheduler=bfq"],
        ] {
            if run == IOZONE && !one.starts_with('#') {
                continue;
            }
            let text = format!("{one}\n```\n{run}```\n\n{other}\n```\n{run}```\n");
            let error = parsed(&text, None).unwrap_err();
            assert!(error.contains("--contender-from title"), "{error}");
            let found = parsed(&text, Some(NameSource::Title)).unwrap();
            let names: Vec<&str> =
                found.reported.contenders.iter().map(|one| one.name.as_str()).collect();
            let wanted = [one, other].map(|text| text.trim_start_matches("# "));
            let wanted = wanted.map(|text| text.trim_start_matches("a while later. "));
            assert_eq!(names, wanted);
            // Runs under one heading are rounds.
            let rounds = format!("{one}\n{run}{run}");
            let found = parsed(&rounds, None).unwrap();
            assert_eq!(found.reported.figures.last().unwrap().round, 2, "{run}");
        }
    }
}

#[test]
fn iterations_fill_a_filesystem_only_if_their_files_are_counted_on() {
    let table = "FSUse% Count Size Files/sec App\n";
    let continued = format!("{table}1 50 4096 236.0 383\n2 100 4096 236.0 383\n");
    let again = format!("{table}1 50 4096 236.0 383\n2 50 4096 236.0 383\n");
    for (text, is_assumed) in [(continued, true), (again, false)] {
        let told = parsed(&text, None).unwrap().assumptions();
        assert_eq!(told.iter().any(|line| line.contains("fill one filesystem")), is_assumed);
    }
}

fn titles(text: &str) -> Vec<String> {
    let results = parsed(text, None).unwrap().into_results().unwrap();
    results.campaign.suites[0].tests.iter().map(|test| test.title.clone()).collect()
}

#[test]
fn titles_begin_with_the_options_that_differ() {
    let run = |options: &str| IOR.replacen("-w", &format!("-w {options}"), 1);
    let all = titles(&(run("") + &run("--posix.odirect")));
    assert_eq!(all, ["no --posix.odirect, xfersize 1 MiB", "--posix.odirect, xfersize 1 MiB"]);
}

#[test]
fn titles_of_fio_are_the_options_of_its_jobs() {
    let job = |name: &str, depth: u32| {
        format!(
            "{{\"jobname\":\"{name}\",\"job options\":{{\"rw\":\"randwrite\",\"bs\":\"4k\",\"iodepth\":\"{depth}\"}},\
             \"write\":{{\"total_ios\":1,\"bw_bytes\":4096,\"iops\":1,\"runtime\":5}}}}"
        )
    };
    let fio = |jobs: &str| format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{jobs}]}}");
    assert_eq!(titles(&fio(&job("a", 16))), ["randwrite, 4 KiB, iodepth 16"]);
    let both = [job("a", 16), job("a", 7)].join(",");
    assert_eq!(titles(&fio(&both)), ["randwrite, 4 KiB; a: iodepth 16; a-2: iodepth 7"]);
}

#[test]
fn the_file_of_ior_4_is_in_the_directory_of_its_contender() {
    for (path, file) in
        [("/tmp/x/testfile", "/tmp/x/testfile"), ("/tmp/x/testFile.00000000", "testFile")]
    {
        let text = format!(
            "IOR-4.0.0: MPI\nCommand line        : ior -w\nPath                : {path}\nOptions: \n\
             test filename       : {file}\n\naccess bw(MiB/s) iter\nwrite 100 0\n"
        );
        let found = parsed(&text, None).unwrap();
        assert_eq!(found.reported.contenders[0].name, "/tmp/x");
    }
}
