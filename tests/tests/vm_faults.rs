//! Faults of simulated disks: checksums find flipped bits, and failed writes are reported.

use std::fs;

use end_to_end::{Sandbox, cells_of, run};
use model::{DiskFaults, FaultCounts, FaultVerdict, Status};

/// A fault after the steps, and the faults during them.
const SUITE: &str = r#"
name = "damage"
title = "Damage"
source = "fsync(2) of the Linux man-pages"

[[test]]
name = "damage"
title = "Damage"
rationale = "A file is written and synced on a disk with faults."
space = "1 MiB"

[[test.phase]]
name = "flip"
op = "disk-fault"
fault = "bit-flip"
prepare = ["write old 2"]
steps = ["write new 8", "fsync new", "sync"]
faults = 14

[[test.phase]]
name = "unreadable"
op = "disk-fault"
fault = "unreadable-block"
prepare = ["write old 2"]
steps = ["write new 8", "fsync new", "sync"]
faults = 14

[[test.phase]]
name = "sticky"
op = "disk-fault"
fault = "write-error-sticky"
prepare = ["write old 2"]
steps = ["write new 8", "fsync new", "overwrite new", "fsync new", "sync"]
faults = 8

[[test.phase]]
name = "flush"
op = "disk-fault"
fault = "flush-error"
prepare = ["write old 2"]
steps = ["write new 8", "fsync new", "overwrite new", "fsync new", "fsync new", "sync"]
faults = 8
"#;

fn add_suite(sandbox: &Sandbox) {
    let suites = sandbox.path("catalog/suites");
    fs::create_dir_all(&suites).unwrap();
    fs::write(suites.join("damage.toml"), SUITE).unwrap();
}

#[test]
fn faults_of_the_disk_are_reported_or_found() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4", "btrfs"], "1");
    let told = run(command.args(["--suite", "damage"])).assert_code(0);
    let results = sandbox.results();
    let faults = |contender: &str| -> [DiskFaults; 4] {
        let cell = cells_of(&results, contender).remove(0);
        assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
        [0, 1, 2, 3].map(|phase| cell.phases[phase].disk_faults.clone().unwrap())
    };
    let [flip, unreadable, sticky, flush] = faults("ext4");
    let [checked, _, _, _] = faults("btrfs");
    for one in [&flip, &checked] {
        assert!(one.data.faults >= 4 && one.other.faults > 0, "{one:?}");
    }
    assert!(flip.data.wrong > 0, "ext4 has no checksums of data: {flip:?}");
    let wrong = flip.described.iter().find(|fault| fault.verdict == FaultVerdict::Wrong).unwrap();
    assert!(wrong.place.starts_with("bit ") && !wrong.effect.is_empty(), "{wrong:?}");
    let FaultCounts { wrong, reported, .. } = checked.data;
    assert!(wrong == 0 && reported > 0, "{checked:?}");
    // A block that cannot be read is an error for the reader, never wrong data.
    let FaultCounts { wrong, reported, .. } = unreadable.data;
    assert!(
        wrong == 0 && reported > 0 && unreadable.reported_by.contains_key("read: EIO"),
        "{unreadable:?}"
    );
    for one in [&sticky, &flush] {
        let total = one.total();
        assert!(total.wrong == 0 && total.reported > 0, "{one:?}");
        let calls: Vec<&String> = one.reported_by.keys().collect();
        assert!(calls.iter().any(|call| call.starts_with("fsync: ")), "{calls:?}");
    }
    assert!(told.stdout.contains("flipped bits in data"), "{}", told.stdout);
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    for text in ["Faults of the disk", "wrong without an error", "read: EIO"] {
        assert!(report.contains(text), "{text}: {report}");
    }
    let page = run(sandbox.fsarena().args(["report", "--format", "html"])).assert_code(0).stdout;
    assert!(page.contains("id=\"disk-faults\""), "the page lacks the section");
}

#[test]
fn disk_faults_need_a_simulated_disk() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--rounds", "1", "--contender", "ext4"]);
    run(command.args(["--suite", "damage"]).arg("--work-dir").arg(sandbox.path("work")));
    let results = sandbox.results();
    let cell = cells_of(&results, "ext4").remove(0);
    assert_eq!(cell.phases[0].status, Status::Unsupported);
    let why = &cell.phases[0].failure.as_ref().unwrap().reason;
    assert!(why.contains("--backend vm"), "{why}");
}
