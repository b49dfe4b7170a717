//! Several disks that are images of this machine: a pool of the filesystem, or a stripe of the
//! kernel; and refusals for a single device or a directory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use end_to_end::{Sandbox, cells_of, run};
use model::{Bytes, CampaignResults, CellResult, Status};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

const SUITE: &str = r#"
name = "spread"
title = "One file over disks"
source = "made for a test"

[[test]]
name = "spread"
title = "One file over disks"
rationale = "With a look at its disks."
space = "48 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "32 MiB", block = "1 MiB", cache = "warm", ends = "fsync" },
  { name = "look", op = "exec", command = "sh -c 'btrfs filesystem df . || true'" },
  { name = "verify", op = "read", file = "f", block = "1 MiB", verify = true, cache = "cold", ends = "call" },
]
"#;

/// Returns a campaign on images of 128 MiB.
fn campaign(sandbox: &Sandbox, contenders: &[&str]) -> Command {
    sandbox.add_suite("spread", SUITE);
    let mut command = sandbox.campaign(contenders, "spread");
    command.args(["--size", "128MiB"]);
    command
}

/// Returns the result of a contender's cell over this number of disks.
fn over<'a>(results: &'a CampaignResults, contender: &str, disks: u32) -> &'a CellResult {
    let test = format!("spread-{disks}x");
    let mut cells = results.cells.iter();
    let cell = cells.find(|c| c.cell.contender == contender && c.cell.test == test);
    cell.unwrap().result.as_ref().unwrap()
}

/// Counts the loop devices in a command line of the cell.
fn devices(cell: &CellResult, step: &str) -> usize {
    let step = cell.steps.iter().find(|found| found.step == step).unwrap();
    let words = step.command.iter();
    words.filter(|word| word.starts_with("/dev/loop")).count()
}

fn said(cell: &CellResult) -> &str {
    let step = cell.steps.iter().find(|found| found.step == "exec");
    &step.unwrap().output
}

#[test]
fn btrfs_is_a_pool_of_images_and_ext4_a_stripe_or_unsupported_with_the_reason() {
    let sandbox = Sandbox::new();
    let mut command = campaign(&sandbox, &["btrfs", "ext4"]);
    run(command.args(["--disks", "1,2"])).assert_code(0);
    let shown = sandbox.report();
    assert!(shown.contains("All disks are images on one disk of this machine"), "{shown}");
    let results = sandbox.results();
    for disks in [1, 2] {
        let cell = over(&results, "btrfs", disks);
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
        assert_eq!(devices(cell, "mkfs"), disks as usize);
        assert_eq!(said(cell).contains("Data, RAID0"), disks > 1, "{}", said(cell));
        // If only one of two devices were counted, the sum would be half as large.
        let bytes = cell.phases[0].device.expect("they are counted").write_bytes;
        assert!(bytes >= Bytes::mib(32), "{bytes}");
    }
    let mut steps = over(&results, "btrfs", 2).steps.iter();
    let mount = steps.find(|step| step.step == "mount").unwrap();
    let options = mount.command.join(" ");
    assert_eq!(options.matches("device=/dev/loop").count(), 2, "{options}");
    assert_eq!(over(&results, "ext4", 1).status, Status::Ok);
    let striped = over(&results, "ext4", 2);
    match Path::new("/sys/module/md_mod").exists() {
        true => assert_eq!(striped.status, Status::Ok, "{:?}", striped.failure),
        false => {
            assert_eq!(striped.status, Status::Unsupported);
            let reason = &striped.phases[0].failure.as_ref().unwrap().reason;
            assert!(
                reason.starts_with("no md in this kernel") && reason.contains("--backend vm"),
                "{reason}"
            );
        }
    }
    sandbox.assert_clean();
}

/// The campaign is killed with all its child processes, in the middle of a cell on two images.
#[test]
fn a_killed_campaign_over_several_images_resumes_and_cleans_up() {
    let sandbox = Sandbox::new();
    let mut command = campaign(&sandbox, &["btrfs@disks=2"]);
    command.args(["--rounds", "2", "--json"]).process_group(0);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let events = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut begun = events.map_while(Result::ok);
    assert!(begun.any(|line| line.contains("\"cell-begin\"")));
    killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    run(sandbox.fsarena().arg("resume")).assert_code(0);
    let results = sandbox.results();
    let cells = cells_of(&results, "btrfs@disks=2");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
        assert_eq!(devices(cell, "mkfs"), 2);
    }
    sandbox.assert_clean();
}

#[test]
fn several_disks_are_refused_if_there_is_only_one() {
    let sandbox = Sandbox::new();
    let refused = |options: &[&str], complaint: &str| {
        let mut command = sandbox.fsarena();
        command.args(["run", "--suite", "trial"]).args(options);
        let ended = run(&mut command).assert_code(2);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(complaint), "{}", ended.stderr);
    };
    refused(
        &["--contender", "ext4@nvme-consumer"],
        "ext4@nvme-consumer: per-contender disks need --backend vm",
    );
    refused(&["--contender", "ext4@nvmee"], "there is no disk `nvmee`");
    let image = sandbox.path("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    refused(
        &["-c", "ext4", "--disks", "1,2", "--device", image.to_str().unwrap()],
        "runs over several disks, and --device is one disk",
    );
    let place = sandbox.path("place");
    fs::create_dir(&place).unwrap();
    refused(
        &["--disks", "2", "--dir", place.to_str().unwrap()],
        "runs over several disks, and a mounted directory has a fixed number of disks",
    );
}
