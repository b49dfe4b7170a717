//! I/O engines, from a suite to the stored result, on real filesystems. Each engine verifies the
//! data that it reads, direct I/O reaches the device, and no ring prevents an unmount.

use end_to_end::{Sandbox, cells_of, run};
use model::{CacheState, Metric, Status};

const SIZE: u64 = 8 << 20;

/// Number of consecutive cold phases; each starts with an unmount right after a ring was used.
const REMOUNTS: usize = 20;

fn suite() -> String {
    let mut text = String::from(
        r#"
name = "ways"
title = "Every way to a file"
source = "made for a test"

[[test]]
name = "ways"
title = "Every way to a file"
rationale = "Each way reads what each other way has written."
space = "32 MiB"
phase = [
"#,
    );
    let mut phase = |name: &str, keys: &str, cache: &str| {
        let line = format!(
            r#"  {{ name = "{name}", file = "f", repeat = false, cache = "{cache}", ends = "call", {keys} }},"#
        );
        text.push_str(&line);
        text.push('\n');
    };
    let ring = r#"engine = "io_uring", iodepth = 32, threads = 2"#;
    phase("write", &format!(r#"op = "write", size = "8 MiB", block = "64 KiB", {ring}"#), "warm");
    for i in 0..REMOUNTS {
        let op = if i % 2 == 0 { "read" } else { "rewrite" };
        phase(
            &format!("ring-{i}"),
            &format!(r#"op = "{op}", block = "4 KiB", verify = true, {ring}"#),
            "cold",
        );
    }
    let mapped = r#"engine = "mmap", block = "4 KiB""#;
    phase("mapped-write", &format!(r#"op = "random-write", {mapped}"#), "warm");
    phase("mapped-read", &format!(r#"op = "read", verify = true, {mapped}"#), "cold");
    phase("direct-write", r#"op = "overwrite", block = "64 KiB""#, "direct");
    phase("direct-read", r#"op = "read", block = "64 KiB", verify = true"#, "direct");
    phase(
        "direct-ring",
        &format!(r#"op = "read", block = "64 KiB", verify = true, {ring}"#),
        "direct",
    );
    phase(
        "paced",
        r#"op = "random-read", block = "4 KiB", operations = 500, rate = 20000"#,
        "warm",
    );
    phase("direct-odd", r#"op = "read", block = "100""#, "direct");
    text.push_str("]\n");
    text
}

#[test]
fn every_way_verifies_and_no_mount_stays_busy() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("ways", &suite());
    let mut command = sandbox.campaign(&["ext4", "xfs", "btrfs"], "ways");
    run(command.args(["--size", "320MiB"])).assert_code(0);
    let results = sandbox.results();
    for contender in ["ext4", "xfs", "btrfs"] {
        let cell = cells_of(&results, contender)[0];
        let phase = |name: &str| cell.phases.iter().find(|p| p.phase == name).unwrap();
        for phase in cell.phases.iter().filter(|p| p.phase != "direct-odd") {
            assert_eq!(
                phase.status,
                Status::Ok,
                "{contender} {}: {:?}",
                phase.phase,
                phase.failure
            );
            if phase.cache == CacheState::Cold {
                let read = phase.device.expect("it lives on a device").read_bytes.0;
                assert!(read >= SIZE && phase.verified.0 == SIZE, "{contender} {}", phase.phase);
            }
        }
        for name in ["direct-read", "direct-ring"] {
            let phase = phase(name);
            assert_eq!((phase.cache, phase.verified.0), (CacheState::Direct, SIZE));
            let read = phase.device.expect("it lives on a device").read_bytes.0;
            assert!(read >= SIZE, "{contender} {name} read {read} from the device");
        }
        assert_eq!(phase("paced").offered_rate, Some(20_000));
        let odd = phase("direct-odd");
        assert_eq!(odd.status, Status::Unsupported, "{contender}: {:?}", odd.failure);
    }
    sandbox.assert_clean();
}

#[test]
fn each_way_to_write_a_page_has_a_result_or_the_refusal() {
    let sandbox = Sandbox::new();
    let contenders = ["ext4", "xfs"];
    let mut command = sandbox.campaign(&contenders, "page-writes");
    run(command.args(["--size", "320MiB"])).assert_code(0);
    let results = sandbox.results();
    for contender in contenders {
        let cells = cells_of(&results, contender);
        let phases: Vec<_> = cells.into_iter().flat_map(|cell| &cell.phases).collect();
        let status = |name: &str| {
            let phase = phases.iter().find(|phase| phase.phase == name).unwrap();
            let reason = phase.failure.as_ref().map_or("", |failure| failure.reason.as_str());
            match phase.status {
                Status::Unsupported => assert!(reason.contains("RWF_"), "{name}: {reason}"),
                status => assert_eq!(status, Status::Ok, "{contender} {name}: {reason}"),
            }
            phase
        };
        let [fsync, flagged] = ["fsync", "direct-o-dsync"].map(status);
        assert_eq!(fsync.operations, flagged.operations);
        let flushes = |phase: &model::PhaseResult| phase.device.map(|device| device.flushes);
        assert!(flushes(fsync) >= Some(16) && flushes(flagged) >= Some(1), "{flagged:?}");
        for phase in &phases {
            status(&phase.phase);
        }
    }
}

#[test]
fn compression_of_new_files_is_a_result() {
    let sandbox = Sandbox::new();
    let contenders = ["btrfs", "btrfs:compress=zstd"];
    let mut command = sandbox.campaign(&contenders, "large-file");
    let screen = run(command.args(["--size", "320MiB", "--data", "text"])).assert_code(0).stdout;
    assert!(screen.contains("data: text"), "{screen}");
    let results = sandbox.results();
    let ratio = |contender: &str| {
        let phases = cells_of(&results, contender).into_iter().flat_map(|cell| &cell.phases);
        let numbers = phases.filter(|phase| phase.phase == "copy-in").flat_map(|phase| {
            assert_eq!(phase.status, Status::Ok, "{contender}: {:?}", phase.failure);
            phase.measurements()
        });
        let of_content = numbers.filter(|number| number.metric == Metric::Compression);
        of_content.map(|number| number.value).next().expect("the file is new")
    };
    let [plain, compressed] = contenders.map(ratio);
    assert!((0.9..1.05).contains(&plain), "{plain}");
    assert!(compressed > 2.0, "{compressed}");
    let said = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(said.contains("copy-in compression"), "{said}");

    let random = Sandbox::new();
    run(random.campaign(&contenders, "large-file").args(["--size", "320MiB"])).assert_code(0);
    let said = run(random.fsarena().arg("report")).assert_code(0).stdout;
    assert!(said.contains("write data that does not compress"), "{said}");
    let refused = run(sandbox.campaign(&["ext4"], "etcd").args(["--data", "text", "--dry-run"]));
    assert!(refused.stderr.contains("no test of these suites writes data"), "{}", refused.stderr);
}
