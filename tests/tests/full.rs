//! Full filesystems keep synced files, or report which they lose.

use std::fs;

use end_to_end::{Sandbox, cells_of, run};
use model::{FullResult, FullStep, Status};

/// One test for each kind of files, small enough for an image of 320 MiB.
const SUITE: &str = r#"
name = "filled"
title = "Filled"
source = "write(2) of the Linux man-pages"

[[test]]
name = "filled-bytes"
title = "Bytes"
rationale = "Files with data fill the filesystem."
space = "8 MiB"

[[test.phase]]
name = "bytes"
op = "fill"
fill = "bytes"
size = "4 MiB"
bytes = "1 GiB"
names = 1

[[test]]
name = "filled-names"
title = "Names"
rationale = "Empty files up to a limit."
space = "8 MiB"

[[test.phase]]
name = "names"
op = "fill"
fill = "names"
size = "4 KiB"
bytes = "4 KiB"
names = 2500
"#;

fn add_suite(sandbox: &Sandbox) {
    fs::write(sandbox.path("catalog/suites/filled.toml"), SUITE).unwrap();
}

#[test]
fn full_filesystems_keep_synced_files_and_can_be_emptied() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let contenders = ["ext4", "xfs", "btrfs"];
    let mut command = sandbox.campaign(&contenders, "filled");
    let screen = run(command.args(["--size", "320MiB"])).assert_code(0).stdout;
    let answer = "ext4, xfs and btrfs kept all synced files";
    assert!(screen.contains(answer), "{screen}");
    let results = sandbox.results();
    for contender in contenders {
        let full = |test: &str| -> FullResult {
            let cells = cells_of(&results, contender);
            let mut phases = cells.iter().flat_map(|cell| &cell.phases);
            let phase = phases.find(|phase| phase.phase == test).unwrap();
            assert_eq!(phase.status, Status::Ok, "{contender}: {:?}", phase.failure);
            phase.full.clone().unwrap()
        };
        let bytes = full("bytes");
        let error = bytes.first_failure.as_ref().unwrap();
        assert_eq!(error.name, "ENOSPC", "{contender}");
        assert!(bytes.bytes.0 > 100 << 20, "{contender}: {bytes:?}");
        let names = full("names");
        assert_eq!((names.files, &names.first_failure), (2500, &None), "{contender}");
        assert_eq!((names.removed, &names.replace), (250, &Some(FullStep::Done)), "{contender}");
        for full in [&bytes, &names] {
            assert_eq!((full.lost(), full.lost_after_mount), (0, Some(0)), "{contender}: {full:?}");
            for step in [&full.remount, &full.check, &full.remove, &full.write_again] {
                assert_eq!(step, &Some(FullStep::Done), "{contender}: {full:?}");
            }
        }
    }
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    for text in ["At 100 % full", "write: ENOSPC", "2500 files"] {
        assert!(report.contains(text), "{text}: {report}");
    }
    let page = run(sandbox.fsarena().args(["report", "--format", "html"])).assert_code(0).stdout;
    assert!(page.contains("id=\"full\""));
}

#[test]
fn the_directory_of_a_user_is_never_filled() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let directory = sandbox.path("mine");
    fs::create_dir(&directory).unwrap();
    fs::write(sandbox.path("catalog/suites/near.toml"), NEAR).unwrap();
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--rounds", "1", "-s", "filled", "-s", "near"]);
    run(command.arg("--dir").arg(&directory));
    let results = sandbox.results();
    let phases = results.cells.iter().flat_map(|cell| &cell.result.as_ref().unwrap().phases);
    let fills = ["bytes", "names", "occupy", "too-large"];
    let fills = phases.filter(|phase| fills.contains(&phase.phase.as_str()));
    let statuses: Vec<Status> = fills.map(|phase| phase.status).collect();
    assert_eq!(statuses, [Status::Unsupported; 5]);
}

/// Takes the space, and then removes half of the files that take it.
const NEAR: &str = r#"
name = "near"
title = "Near"
source = "df(1)"

[[test]]
name = "near"
title = "Near"
rationale = "df shows the share before and after."
space = "8 MiB"

[test.sweep]
used = [60, 97]

[[test.phase]]
name = "occupy"
op = "occupy"
used = "$used"
size = "1 MiB"
bytes = "1 GiB"
cache = "warm"
ends = "syncfs"

[[test.phase]]
name = "occupied"
op = "exec"
command = "sh -c 'test $(df --output=pcent . | tail -1 | tr -d %) -ge 58'"

[[test.phase]]
name = "vacate"
op = "vacate"
removed = 50
cache = "warm"
ends = "syncfs"

[[test.phase]]
name = "vacated"
op = "exec"
command = "sh -c 'sync .; test $(df --output=pcent . | tail -1 | tr -d %) -le 58'"

[[test]]
name = "near-limit"
title = "Limit"
rationale = "The space is larger than the files may be."
space = "8 MiB"

[[test.phase]]
name = "too-large"
op = "occupy"
used = 90
size = "1 MiB"
bytes = "2 MiB"
cache = "warm"
ends = "syncfs"
"#;

#[test]
fn a_share_of_the_space_is_taken_and_half_of_it_given_back() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("catalog/suites/near.toml"), NEAR).unwrap();
    let contenders = ["ext4", "xfs", "btrfs"];
    let mut command = sandbox.campaign(&contenders, "near");
    run(command.args(["--size", "320MiB"])).assert_code(0);
    let results = sandbox.results();
    for contender in contenders {
        for cell in cells_of(&results, contender) {
            for phase in &cell.phases {
                let wanted = match phase.phase.as_str() {
                    "too-large" => Status::Unsupported,
                    _ => Status::Ok,
                };
                assert_eq!(
                    phase.status, wanted,
                    "{contender} {}: {:?}",
                    phase.phase, phase.failure
                );
            }
            let operations = |name: &str| {
                let phase = cell.phases.iter().find(|phase| phase.phase == name)?;
                Some((phase.operations, phase.bytes.0))
            };
            if let Some((_, written)) = operations("occupy") {
                let (removed, _) = operations("vacate").unwrap();
                assert_eq!(removed, (written >> 20) / 2, "{contender}");
            }
        }
    }
}

#[test]
fn files_are_replaced_again_and_again_in_a_soak() {
    let sandbox = Sandbox::new();
    let contenders = ["ext4", "btrfs"];
    run(sandbox.campaign(&contenders, "soak").args(["--size", "512MiB"])).assert_code(0);
    let results = sandbox.results();
    for contender in contenders {
        let cell = cells_of(&results, contender).remove(0);
        let written = |phase: &str| {
            let phase = cell.phases.iter().find(|result| result.phase == phase).unwrap();
            assert_eq!(phase.status, Status::Ok, "{contender}: {:?}", phase.failure);
            phase.device.expect("its device is counted").write_bytes.0
        };
        let (fill, replace) = (written("fill"), written("replace"));
        assert!(replace > fill * 3 / 2, "{contender}: {fill} filled, {replace} replaced");
    }
    let mut plan = sandbox.fsarena();
    plan.args(["run", "--dry-run", "--profile", "soak", "-c", "ext4"]);
    let plan = run(plan.arg("--work-dir").arg(sandbox.path("work"))).assert_code(0).stdout;
    assert!(plan.contains("size 8 GiB") && plan.contains("soak         soak "), "{plan}");
}
