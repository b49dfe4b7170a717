//! Hostile inputs: arbitrary bytes, invalid numbers, and excessive sizes.

use import::{ImportError, InputFormat, MAX_RESULTS, NamingOptions, detect_format, merge, read};
use proptest::prelude::*;

fn told(format: InputFormat, text: &str) -> String {
    let naming = NamingOptions { otherwise: "here".to_owned(), ..NamingOptions::default() };
    let error: ImportError = read(format, text.as_bytes(), &naming).unwrap_err();
    let told = error.to_string();
    assert!(told.lines().count() == 1 && told.len() < 2000, "{told}");
    told
}

fn try_all(bytes: &[u8]) {
    let naming = NamingOptions::default();
    detect_format(bytes);
    for format in InputFormat::ALL {
        if let Ok(found) = read(format, bytes, &naming) {
            if let Ok(both) = merge(vec![found.clone(), found.clone()]) {
                both.into_results().unwrap();
            }
            found.into_results().unwrap();
        }
    }
}

/// Strings that parsers search for, so that random inputs reach more code.
const PIECES: [&str; 47] = [
    "kB reclen write rewrite read\n",
    "64 4 1 2 3\n",
    "\"Writer report\"\n",
    "\"4\" \"8\"\n",
    "\"64\" 1 2\n",
    "Children see throughput for 2 readers = 1.5 kB/sec\n",
    "Output is in ops/sec\n",
    "OPS Mode. Output is in operations per second.\n",
    "Run began: Thu Nov 26 00:58:37 2026\n",
    "Each process writes a 1024 kByte file in 64 kByte records\n",
    "4 tasks, 1000 files/directories\n",
    "xfersize = 1 MiB\n",
    "#\tVersion 3.3, 1 thread(s) starting at Wed Nov 25 12:21:19 2026\n",
    "6: 1: IO Summary: 5 ops, 6 ops/s, 2ms latency\n",
    "{\"fio version\":\"fio-3\",",
    "\"jobs\":[{\"jobname\":\"a\",\"read\":{\"total_ios\":1}}]}",
    "{\"results\":[{\"command\":\"a\",\"times\":[1]}]}",
    "Sequential Reads\n",
    "a 16 4096 1 78.55 33.10% 0.049 4.50 0.0 0.0 237\n",
    "FSUse% Count Size\n",
    "76 50 4096 236.0 383\n",
    "IOR-3.3.0: MPI\n",
    "access bw(MiB/s) total(s) iter\n",
    "write 1 2 0\n",
    "SUMMARY rate (of 3 iterations)\n",
    "File creation : 1 2 3 4\n",
    "1.0: Per-Operation Breakdown\n",
    "a 1ops 2ops/s 3mb/s 4ms/op\n",
    "1: IO Summary: 5 ops 6 ops/s\n",
    "Operation Count AvgLat MaxLat\n",
    "Close 1 2 3\n",
    "Throughput 3 MB/sec 2 clients\n",
    "<PhoronixTestSuite><Result>",
    "<Scale>IOPS</Scale><Data><Entry><Value>1</Value></Entry></Data></Result></PhoronixTestSuite>",
    "\"",
    ",",
    "\n",
    "nan",
    "1e400",
    "-1",
    "+++++",
    "99999999999999999999",
    "é",
    "\u{0}",
    "1.98,2.00,",
    " ",
    "0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_all(&bytes);
    }

    #[test]
    fn no_pieces_are_a_panic(pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..20)) {
        try_all(pieces.concat().as_bytes());
    }
}

#[test]
fn invalid_numbers_are_refused_with_the_line_number() {
    for bad in ["nan", "inf", "-1", "1e400", "1e99", "0x10"] {
        let line = format!("1.98,2,a,1,1,8M,,1,1,,,{bad},1{}", ",".repeat(37));
        let told = told(InputFormat::Bonnie, &format!("\n{line}\n"));
        assert!(told.starts_with("line 2: "), "{told}");
    }
    let fio = |value: &str| {
        format!(
            "{{\"fio version\":\"3\",\n\"jobs\":[{{\"jobname\":\"a\",\"read\":{{\"total_ios\":1,\"bw\":{value}}}}}]}}"
        )
    };
    assert!(told(InputFormat::Fio, &fio("1e400")).starts_with("line 2: number out of range"));
    let sizes = "kB reclen write\n99999999999999999999999 4 1\n";
    assert!(told(InputFormat::Iozone, sizes).contains("the size of the file"));
    assert!(told(InputFormat::Fio, &fio("NaN")).starts_with("line 2: "));
}

#[test]
fn truncated_input_is_reported_as_cut_off() {
    assert!(told(InputFormat::Fio, "{\"fio version\":\"3\",\"jobs\":[").contains("cut off"));
    assert!(
        told(InputFormat::Bonnie, "1.98,2.00,a,1,1,8M,,1,1,,,1,1,,,,,,,,,,,,,,,,,,,,,,,")
            .contains("cut off")
    );
    assert!(told(InputFormat::Tiobench, "Random Reads\na b 3").contains("cut off"));
    let whole = include_str!("../samples/bonnie-2.00.csv").lines().next().unwrap();
    for end in ["1.98,2.00a,zz,1,17956", "1.98,2.0", "1.9", "host,300M,1,2"] {
        let text = format!("{whole}\n{end}");
        assert!(told(InputFormat::Bonnie, &text).contains("cut off"), "{end}");
    }
    assert!(told(InputFormat::FsMark, "FSUse% Count\n1 2 3").contains("columns where fs_mark"));
}

#[test]
fn unlimited_nesting_or_repetition_is_refused() {
    let deep =
        format!("{{\"fio version\":\"3\",\"global options\":{{\"x\":{}", "[".repeat(100_000));
    assert!(told(InputFormat::Fio, &deep).contains("recursion"));
    let deep = "<a>".repeat(50_000);
    assert!(told(InputFormat::Phoronix, &deep).starts_with("line 1: it is no XML"));
    let laughs = "<!DOCTYPE a [<!ENTITY b \"ha\"><!ENTITY c \"&b;&b;\">]><PhoronixTestSuite>&c;</PhoronixTestSuite>";
    assert!(told(InputFormat::Phoronix, laughs).contains("DTD"));
    let wide = ",".repeat(1 << 20);
    assert!(told(InputFormat::Bonnie, &wide).contains("columns"));
    assert!(told(InputFormat::Csv, &wide).contains("columns"));
    assert!(
        told(InputFormat::Iozone, &format!("kB reclen\n{}", "4 ".repeat(1 << 20)))
            .contains("headings")
    );
}

#[test]
fn more_than_a_campaign_holds_is_refused() {
    let line = "76 50 4096 236.0 383\n";
    let many = format!("FSUse% Count Size\n{}", line.repeat(1001));
    assert!(
        told(InputFormat::FsMark, &many)
            .starts_with("line 1002: fs-mark/create has more than 1000")
    );
    // Few results, but too many cells.
    let lines = (0..500).map(|n| format!("c{n},s,t{n},p,1,rate,2,ok\n"));
    let header = "contender,suite,test,phase,round,metric,value,status\n";
    let many = header.to_owned() + &lines.collect::<String>();
    assert!(told(InputFormat::Csv, &many).contains(&format!("more than {MAX_RESULTS} cells")));
    // Few cells, but too many results for the tables of a report, or pairs of contenders.
    let too_many = "are more than a report can compare: take fewer contenders";
    let lines = (0..150).map(|n| format!("c{n},s,t,p{n},1,rate,2,ok\n"));
    let many = header.to_owned() + &lines.collect::<String>();
    assert!(told(InputFormat::Csv, &many).contains(too_many));
    let commands = |count: usize| {
        let commands = (0..count).map(|n| format!("{{\"command\":\"c{n}\",\"times\":[1]}}"));
        format!("{{\"results\":[{}]}}", commands.collect::<Vec<_>>().join(","))
    };
    assert!(told(InputFormat::Hyperfine, &commands(1001)).contains(too_many));
    let most = read(InputFormat::Hyperfine, commands(1000).as_bytes(), &NamingOptions::default());
    assert_eq!(most.unwrap().into_results().unwrap().campaign.contenders.len(), 1000);
}

#[test]
fn names_never_run_into_each_other() {
    let text =
        "{\"results\":[{\"command\":\"a b\",\"times\":[1]},{\"command\":\"a  b\",\"times\":[2]}]}";
    let found = read(InputFormat::Hyperfine, text.as_bytes(), &NamingOptions::default()).unwrap();
    assert_eq!(found.into_results().unwrap().campaign.contenders.len(), 2);
}

/// Each result would copy them.
#[test]
fn long_names_and_options_are_refused() {
    let long = "/A".repeat(200_000);
    let ior = format!("IOR-3.3.0: x\nPath : {long}\naccess bw(MiB/s) iter\nwrite 1 0\n");
    assert!(told(InputFormat::Ior, &ior).starts_with("the name of a contender has 400000 bytes"));
    let filebench = format!(
        "1.0: $dir={long}\n1.0: Per-Operation Breakdown\na 1ops 2ops/s\n1: IO Summary: 5 ops 6 ops/s\n"
    );
    assert!(told(InputFormat::Filebench, &filebench).contains("has 400000 bytes, more than 4096"));
    let workload = format!("1.0: {long} Version 3.0 personality successfully loaded\n");
    let workload = format!("{workload}1: IO Summary: 5 ops 6 ops/s\n");
    assert!(told(InputFormat::Filebench, &workload).starts_with("line 2: the name of a test has"));
    let fs_mark = format!("# ./fs_mark -d {long} -n 1\nFSUse% Count Size\n76 50 4096 236.0 383\n");
    assert!(told(InputFormat::FsMark, &fs_mark).contains("has 400000 bytes, more than 4096"));
    let command = format!("{{\"results\":[{{\"command\":\"{long}\",\"times\":[1]}}]}}");
    assert!(told(InputFormat::Hyperfine, &command).contains("has 400000 bytes, more than 4096"));
    let fio = |global: &str, jobs: usize, name: &str| {
        let job = |n| {
            format!(
                "{{\"jobname\":\"{name}\",\"job options\":{{\"a\":\"{n}\"}},\"read\":{{\"total_ios\":1}}}}"
            )
        };
        let jobs: Vec<String> = (0..jobs).map(job).collect();
        let options = format!("\"global options\":{{\"description\":\"{global}\"}}");
        let jobs = jobs.join(",");
        told(
            InputFormat::Fio,
            &format!("{{\"fio version\":\"fio-3.33\",{options},\"jobs\":[{jobs}]}}"),
        )
    };
    assert!(fio(&long, 1, "a").contains("option `description` has more than 65536 bytes"));
    assert!(fio(&long[..60_000], 4000, "a").contains("have more than 64 MiB: import it in parts"));
    assert!(fio("", 9, &long[..30_000]).contains("the name of a phase has 30000 bytes"));
}

/// Work that grows with the square of these inputs would take minutes.
#[test]
fn long_inputs_take_linear_work() {
    let many =
        |count: usize, line: &dyn Fn(usize) -> String| -> String { (0..count).map(line).collect() };
    let ior = format!(
        "IOR-3.3.0: x\naccess bw(MiB/s)\n{}{}",
        many(100_000, &|_| "read 1\n".into()),
        many(100_000, &|_| "WARNING: (1 errors found) incorrect data on write\n".into()),
    );
    assert!(told(InputFormat::Ior, &ior).contains("has more than 1000 rounds"));
    let hosts = many(20_000, &|n| format!("{{\"hostname\":\"h{n}\"}},"));
    let clients = many(20_000, &|n| {
        format!("{{\"jobname\":\"a\",\"hostname\":\"c{n}\",\"read\":{{\"total_ios\":1}}}},")
    });
    let fio = format!(
        "{{\"fio version\":\"fio-3\",\"global options\":[{}],\"client_stats\":[{}]}}",
        hosts.trim_end_matches(','),
        clients.trim_end_matches(',')
    );
    let found = read(InputFormat::Fio, fio.as_bytes(), &NamingOptions::default()).unwrap();
    assert_eq!(found.reported.figures.len(), 1);
    let results = many(40_000, &|n| {
        format!(
            "<Result><Identifier>t</Identifier><Scale>MB/s</Scale><Description>{n}</Description><Data><Entry><Identifier>s</Identifier><Value>1</Value></Entry></Data></Result>\n"
        )
    });
    let xml = format!("<PhoronixTestSuite>\n{results}</PhoronixTestSuite>");
    let found = read(InputFormat::Phoronix, xml.as_bytes(), &NamingOptions::default()).unwrap();
    assert_eq!(found.into_results().unwrap().cells.len(), 1);
}

#[test]
fn a_value_may_occur_often_in_a_command() {
    let command = "a_".repeat(65);
    let text = format!(
        "{{\"results\":[{{\"command\":\"{command}\",\"times\":[1],\"parameters\":{{\"p\":\"a\"}}}}]}}"
    );
    let found = read(InputFormat::Hyperfine, text.as_bytes(), &NamingOptions::default()).unwrap();
    assert_eq!(found.reported.figures[0].contender, "a");
    // Values with the names of parameters would grow with each parameter.
    let value = "{q}".repeat(60);
    let parameters = ["p", "q", "r"].map(|name| format!("\"{name}\":\"{value}\"")).join(",");
    let benchmark = |command: &str| {
        format!("{{\"command\":\"{command}\",\"times\":[1],\"parameters\":{{{parameters}}}}}")
    };
    let commands = [benchmark(&"{p} ".repeat(1000)), benchmark(&"{q} ".repeat(1000))].join(",");
    let text = format!("{{\"results\":[{commands}]}}");
    read(InputFormat::Hyperfine, text.as_bytes(), &NamingOptions::default()).unwrap();
}
