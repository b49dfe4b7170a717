//! Filesystems with layers in guests: encryption and RAID below, an overlay and network filesystems
//! above.

use end_to_end::{Sandbox, run};
use model::Status;

#[test]
fn a_filesystem_runs_on_and_below_layers_and_the_report_has_their_price() {
    let sandbox = Sandbox::new();
    let stack = "overlay/ext4+luks+md-raid1";
    let contenders = [
        "ext4",
        "ext4+luks",
        "fuse2fs-ext4+thin",
        stack,
        "nfs/ext4",
        "samba/ext4",
        "sshfs/ext4",
        "casefold/ext4",
        "compression/btrfs",
        "project-quota/xfs",
    ];
    let mut command = sandbox.in_guests(sandbox.fsarena(), &contenders, "2");
    command.args(["--suite", "trial"]);
    run(&mut command).assert_code(0);
    let results = sandbox.results();
    for contender in contenders {
        let cell = end_to_end::cells_of(&results, contender)[0];
        assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
    }
    let stacked = &results.campaign.contenders[3];
    assert_eq!((stacked.name.as_str(), stacked.own.disks), (stack, Some(2)));
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    let price = "luks: ext4+luks costs ";
    assert!(report.contains("The price of layers") && report.contains(price), "{report}");
}

#[test]
fn a_mirror_loses_a_disk_and_is_rebuilt_and_a_thin_volume_runs_out() {
    let sandbox = Sandbox::new();
    let contenders = ["ext4+md-raid1", "btrfs+thin-overcommitted"];
    let mut command = sandbox.in_guests(sandbox.fsarena(), &contenders, "2");
    run(command.args(["--suite", "raid", "--suite", "full/full-bytes"]));
    let results = sandbox.results();
    let phases = |contender: &str, test: &str| {
        let mut cells = results.cells.iter();
        let cell =
            cells.find(|cell| (&*cell.cell.contender, &*cell.cell.test) == (contender, test));
        cell.unwrap().result.as_ref().unwrap().phases.clone()
    };
    for phase in phases(contenders[0], "raid") {
        assert_eq!(phase.status, Status::Ok, "{}: {:?}", phase.phase, phase.failure);
    }
    let refused = phases(contenders[1], "raid");
    let degrade = refused.iter().find(|phase| phase.phase == "degrade").unwrap();
    assert_eq!(degrade.status, Status::Unsupported);
    let [full, thin] = contenders.map(|one| phases(one, "full-bytes")[0].full.clone().unwrap());
    assert_eq!(full.first_failure.unwrap().name, "ENOSPC");
    assert!(thin.first_failure.is_some());
    assert!(thin.bytes.0 < full.bytes.0 * 3 / 4, "{} of {}", thin.bytes, full.bytes);
}

#[test]
fn a_layer_is_refused_outside_guests_and_with_too_few_disks() {
    let sandbox = Sandbox::new();
    let refused = |words: &[&str], reason: &str| {
        let mut command = sandbox.fsarena();
        let ended = run(command.args(["run", "--dry-run", "-s", "tree"]).args(words));
        assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    };
    refused(&["-c", "ext4+luks"], "a guest can run it: add --backend vm");
    refused(&["-c", "ext4+md-raid5@disks=2"], "`md-raid5` needs 3 disks or more: @disks=3");
    refused(&["-c", "luks/ext4"], "`luks` is a layer below filesystems: `ext4+luks`");
    refused(&["-c", "ext4+lukz"], "did you mean `luks`?");
}
