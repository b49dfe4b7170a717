//! Mixes of roles on real filesystems: each role has results alone and together with the others,
//! and reads return the written data.

use std::collections::BTreeMap;

use end_to_end::{Sandbox, cells_of, run};
use model::{Metric, PhaseResult, Status};

fn numbers(phase: &PhaseResult) -> BTreeMap<Metric, f64> {
    let all = phase.measurements().into_iter();
    all.map(|number| (number.metric, number.value)).collect()
}

#[test]
fn every_role_has_results_alone_and_in_the_mix() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["ext4", "ext2"], "mixes");
    let screen = run(&mut command).assert_code(0).stdout;
    // Groups of tests count no role, and the roles are what was asked.
    assert!(screen.contains(" mix.deliver"), "{screen}");
    let results = sandbox.results();
    for contender in ["ext4", "ext2"] {
        let cells = cells_of(&results, contender);
        assert_eq!(cells.len(), 4);
        let phases = cells.iter().flat_map(|cell| &cell.phases);
        let phases: Vec<&PhaseResult> = phases.collect();
        for phase in &phases {
            assert_eq!(phase.status, Status::Ok, "{contender}: {phase:?}");
        }
        let phase = |name: &str| {
            let mut all = phases.iter();
            let found = all.find(|phase| phase.phase == name);
            numbers(found.unwrap_or_else(|| panic!("{contender}: no phase {name}")))
        };
        for name in ["alone.deliver", "mix.deliver", "alone.commit", "mix.commit"] {
            let numbers = phase(name);
            for metric in [
                Metric::Rate,
                Metric::LatencyP50,
                Metric::LatencyP95,
                Metric::LatencyP99,
                Metric::LatencyMax,
                Metric::SyncP50,
                Metric::SyncP95,
                Metric::SyncP99,
                Metric::SyncMax,
            ] {
                assert!(numbers[&metric] > 0.0, "{contender}, {name}: {metric}");
            }
            let is_role = name.starts_with("mix.");
            assert_eq!(numbers.contains_key(&Metric::Elapsed), !is_role, "{name}");
            assert_eq!(numbers.contains_key(&Metric::DeviceWritten), !is_role);
        }
        for name in ["alone.backup", "mix.backup"] {
            assert!(phase(name)[&Metric::Throughput] > 0.0);
        }
    }
    let report = |words: &[&str]| {
        let mut command = sandbox.fsarena();
        command.arg("report").args(words);
        run(&mut command).assert_code(0).stdout
    };
    let table = report(&[]);
    for line in [
        "Roles alone and combined",
        "deliver sync-p99, with collect and backup",
        "commit sync-p99, times worse",
        "mix.deliver latency-p99",
    ] {
        assert!(table.contains(line), "{line}:\n{table}");
    }
    let page = report(&["--format", "html"]);
    assert!(page.contains("id=\"interference\"") && page.contains("mix.deliver"));
    let csv = report(&["--format", "csv"]);
    let of_role = ",mixes,mail-server,mix.deliver,1,sync-p99,s,lower,";
    assert!(csv.contains(of_role), "{csv}");
    // Every command accepts the name of a role as a part of a result's name.
    let mut history = sandbox.fsarena();
    history.args(["history", "mail-server/mix.deliver:sync-p99"]);
    let said = run(&mut history).assert_code(0).stdout;
    assert!(said.contains("mix.deliver") && said.contains("ext4"), "{said}");
    let mut compare = sandbox.fsarena();
    let only = ["--only", "mail-server/mix.deliver:sync-p99"];
    compare.args(["compare", "ext4", "ext2", "--within", "1"]).args(only);
    let said = run(&mut compare).assert_code(0).stdout;
    assert!(said.contains("mix.deliver"), "{said}");
    sandbox.assert_clean();
}

const VERIFIED: &str = r#"
name = "verified"
title = "Mixes whose reads are compared"
source = "made for a test"

[[test]]
name = "verified"
rationale = "Every byte that a role reads is compared, from the device as well."
space = "32 MiB"

[[test.phase]]
name = "spool"
op = "create"
set = "spool"
files = 60
directories = 4
size = "20 KiB"
spread = "log-normal"
order = "random"
fsync = false
cache = "warm"
ends = "syncfs"

[[test.phase]]
name = "table"
op = "write"
file = "table"
size = "4 MiB"
block = "64 KiB"
cache = "warm"
ends = "fsync"

[[test.phase]]
name = "change"
op = "mix"
verify = true
cache = "warm"
ends = "call"
role = [
    { name = "rewrite", threads = 3, cycles = 60, set = "spool", steps = ["delete", "create", "write", "close", "open", "append 5000", "fsync", "close"] },
    { name = "pages", threads = 2, cycles = 200, file = "table", steps = ["random-write 8 KiB", "random-read 4 KiB"] },
    { name = "log", threads = 2, cycles = 40, steps = ["log 3 KiB", "fdatasync"] },
]

[[test.phase]]
name = "check"
op = "mix"
verify = true
cache = "cold"
ends = "call"
role = [
    { name = "read", threads = 2, cycles = 200, set = "spool", steps = ["stat", "open", "read", "close"] },
    { name = "stream", threads = 2, cycles = 64, file = "table", steps = ["stream 64 KiB"] },
]

[[test.phase]]
name = "read-table"
op = "read"
file = "table"
block = "64 KiB"
verify = true
cache = "cold"
ends = "call"
"#;

#[test]
fn roles_read_the_written_data_after_a_remount() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("verified", VERIFIED);
    run(&mut sandbox.campaign(&["ext4", "exfat-fuse"], "verified")).assert_code(0);
    let results = sandbox.results();
    for contender in ["ext4", "exfat-fuse"] {
        for cell in cells_of(&results, contender) {
            assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
            let phase = |name: &str| {
                let found = cell.phases.iter().find(|phase| phase.phase == name);
                found.unwrap_or_else(|| panic!("{contender}: no phase {name}"))
            };
            for (name, cycles) in [
                ("change.rewrite", 60),
                ("change.pages", 200),
                ("change.log", 40),
                ("check.read", 200),
                ("check.stream", 64),
            ] {
                let role = phase(name);
                assert_eq!(role.operations, cycles, "{contender}: {name}");
                assert_eq!(role.verified.0 > 0, !matches!(name, "change.rewrite" | "change.log"));
            }
            assert_eq!(phase("check.stream").bytes.0, 4 << 20);
        }
    }
    sandbox.assert_clean();
}
