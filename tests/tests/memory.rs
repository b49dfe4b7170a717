//! A memory limit applies to a cell including its page cache, and the control group is removed.

use std::fs;
use std::path::Path;

use end_to_end::suites::{READ_AGAIN, read_again};
use end_to_end::{DirectoryEntry, Sandbox, cells_of, run};
use model::{CampaignResults, CellResult, Status};

const SIZE: u64 = 64 << 20;

/// Mounts, and prints its control groups.
const MOUNT: &str = "mount -o \"$1\" \"$2\" \"$3\" && cat /proc/self/cgroup";

/// Mount points of control groups with memory limits: cgroup v1 and v2.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];

/// Returns the results of a campaign file with these additional lines.
fn campaign(lines: &str) -> (Sandbox, CampaignResults) {
    let sandbox = Sandbox::exclusive();
    sandbox.add_suite("again", READ_AGAIN);
    let mount = ["sh", "-c", MOUNT, "sh", "{options}", "{device}", "{mountpoint}"];
    sandbox.add(&DirectoryEntry::ext4("watched").mount(&mount));
    let file = sandbox.path("campaign.toml");
    let text = "contenders = [\"watched\"]\nsuites = [\"again\"]\nprofile = \"smoke\"\n\
                rounds = 1\nsize = \"160 MiB\"\n";
    fs::write(&file, format!("{text}{lines}\n")).unwrap();
    let mut command = sandbox.fsarena();
    command.arg("run").arg(file).arg("--work-dir");
    run(command.arg(sandbox.path("work"))).assert_code(0);
    let results = sandbox.results();
    sandbox.assert_clean();
    (sandbox, results)
}

fn cell(results: &CampaignResults) -> &CellResult {
    let cell = cells_of(results, "watched")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    cell
}

/// Returns fsarena's memory control group of the cell, as a path below the hierarchy.
fn group(cell: &CellResult) -> Option<&str> {
    let mount = cell.steps.iter().find(|s| s.step == "mount").unwrap();
    let mut paths = mount.output.lines().filter_map(|l| l.split(':').nth(2));
    paths.find(|path| path.contains("/fsarena-") && !path.contains("/fsarena-devices-"))
}

#[test]
fn files_larger_than_the_limit_do_not_stay_in_memory() {
    let (_sandbox, results) = campaign("memory = \"24 MiB\"");
    let cell = cell(&results);
    let group = group(cell).expect("the cell ran in a separate control group");
    let read = read_again(cell);
    assert!(read >= SIZE / 2, "only {read} bytes were read again");
    for hierarchy in HIERARCHIES {
        let path = Path::new(hierarchy).join(group.trim_start_matches('/'));
        assert!(!path.exists(), "{} is left", path.display());
    }
}

#[test]
fn without_a_limit_files_stay_in_memory() {
    let (_sandbox, results) = campaign("");
    let cell = cell(&results);
    assert_eq!(group(cell), None);
    assert_eq!(read_again(cell), 0);
}

const SWEEP: &str = r#"
name = "sizes"
title = "Files that fit and files that do not"
source = "made for a test"

[[test]]
name = "sizes"
title = "Read twice"
rationale = "What does not fit into memory has to be read from the device each time."
space = "$size"

[test.sweep]
size = ["4 MiB", "96 MiB"]

[[test.phase]]
name = "write"
op = "write"
file = "f"
size = "$size"
block = "64 KiB"
cache = "warm"
ends = "fsync"

[[test.phase]]
name = "again"
op = "read"
file = "f"
block = "64 KiB"
repeat = false
cache = "warm"
ends = "call"
"#;

#[test]
fn a_sweep_shows_the_effect_of_the_limit() {
    let sandbox = Sandbox::exclusive();
    sandbox.add_suite("sizes", SWEEP);
    sandbox.add(&DirectoryEntry::ext4("made"));
    let mut command = sandbox.campaign(&["made"], "sizes");
    run(command.args(["--size", "200 MiB", "--memory", "32 MiB"])).assert_code(0);
    let results = sandbox.results();
    let read = |test: &str| {
        let cell = results.cells.iter().find(|c| c.cell.test == test).unwrap();
        read_again(cell.result.as_ref().unwrap())
    };
    assert_eq!(read("sizes-4m"), 0, "it fits");
    assert!(read("sizes-96m") >= SIZE, "it does not fit");
    let table = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    // The size of a processor cache may lie between the same two rows.
    assert!(table.contains("memory ends (32 MiB)"), "{table}");
    sandbox.assert_clean();
}

#[test]
fn a_kill_for_want_of_memory_names_the_limit() {
    let sandbox = Sandbox::exclusive();
    sandbox.add_suite(
        "greedy",
        &READ_AGAIN
            .replace("\"again\"", "\"greedy\"")
            .replace("block = \"64 KiB\"", "block = \"14 MiB\""),
    );
    sandbox.add(&DirectoryEntry::ext4("made"));
    let mut command = sandbox.campaign(&["made"], "greedy");
    run(command.args(["--size", "160 MiB", "--memory", "16 MiB"])).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "made")[0];
    assert_eq!(cell.status, Status::Crashed, "{:?}", cell.failure);
    let reason = &cell.failure.as_ref().unwrap().reason;
    assert!(reason.contains("limit of 16 MiB that --memory sets"), "{reason}");
    sandbox.assert_clean();
}
