//! Snapshots, resizing and limits, with the programs of real filesystems.

use end_to_end::{Sandbox, cells_of, run};
use model::{Feature, PhaseResult, ProbeResult, Status};

#[test]
fn filesystems_are_resized_and_snapshots_taken_or_the_reason_is_told() {
    let sandbox = Sandbox::new();
    let contenders = ["ext4", "xfs", "btrfs"];
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--rounds", "1", "-s", "maintenance"]);
    for contender in contenders {
        command.args(["-c", contender]);
    }
    run(&mut command).assert_code(0);
    let results = sandbox.results();
    let phase = |contender: &str, name: &str| -> PhaseResult {
        let cells = cells_of(&results, contender);
        let mut phases = cells.iter().flat_map(|cell| &cell.phases);
        phases.find(|phase| phase.phase == name).unwrap().clone()
    };
    let reason = |result: &PhaseResult| result.failure.as_ref().unwrap().reason.clone();
    for contender in contenders {
        for name in ["fill-half", "read-fragmented", "remove-surplus"] {
            let result = phase(contender, name);
            assert_eq!(result.status, Status::Ok, "{contender}: {name}: {:?}", result.failure);
        }
        // Grown, or refused to a root without CAP_SYS_RESOURCE, and to that only.
        let grow = phase(contender, "grow");
        if grow.status != Status::Ok {
            assert_eq!((contender, grow.status), ("ext4", Status::Unsupported));
            assert!(reason(&grow).contains("CAP_SYS_RESOURCE"), "{grow:?}");
            continue;
        }
        for name in ["read-grown", "fsck-grown"] {
            assert_eq!(phase(contender, name).status, Status::Ok, "{contender}: {name}");
        }
    }
    for contender in ["ext4", "btrfs"] {
        for name in ["shrink", "read-shrunk", "defragment"] {
            assert_eq!(phase(contender, name).status, Status::Ok, "{contender}: {name}");
        }
    }
    let shrink = phase("xfs", "shrink");
    assert_eq!(shrink.status, Status::Unsupported);
    assert_eq!(reason(&shrink), "the catalog has no command to shrink it");
    for name in ["snapshot", "overwrite-shared", "send", "remove-snapshot", "scrub"] {
        let result = phase("btrfs", name);
        assert_eq!(result.status, Status::Ok, "{name}: {:?}", result.failure);
    }
    assert_eq!(phase("ext4", "overwrite-shared").status, Status::Skipped);
    // A task that only one filesystem can do excludes no other from an answer.
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(!report.contains("lacks results"), "{report}");
}

#[test]
fn limits_are_tried_and_not_believed() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--rounds", "1", "-s", "limits"]);
    run(command.args(["-c", "ext4", "-c", "xfs"])).assert_code(0);
    let results = sandbox.results();
    let found = |contender: &str, feature: Feature| -> ProbeResult {
        let cells = cells_of(&results, contender);
        cells[0].features.0[&feature].clone()
    };
    for contender in ["ext4", "xfs"] {
        for feature in [Feature::PosixAcls, Feature::Timestamps, Feature::Utf8Names] {
            assert_eq!(found(contender, feature), ProbeResult::Yes, "{contender}: {feature}");
        }
    }
    let links = ProbeResult::No("EMLINK after 65000".into());
    assert_eq!(found("ext4", Feature::ManyLinks), links);
    assert_eq!(found("xfs", Feature::ManyLinks), ProbeResult::Yes);
    // An attribute of ext4 shares one block, and one of XFS has up to 64 KiB.
    let ProbeResult::UpTo(size) = found("ext4", Feature::XattrSize) else { panic!() };
    assert!((3000..4096).contains(&size.0), "{size}");
    assert_eq!(found("xfs", Feature::XattrSize), ProbeResult::UpTo(model::Bytes::kib(64)));
}
