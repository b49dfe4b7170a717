//! Mixes on a directory: the work of each role, its reproducibility, and the detection of damage.

use super::*;
use crate::PhaseMeter;
use crate::ops::perform as perform_op;
use model::op::{MixStep, SizeDistribution};
use model::{
    AccessPattern, Bytes, CacheState, Create, EntryKind, FileSharing, Io, LatencyBucket, Op, Phase,
    TraversalOrder,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const FILES: u64 = 40;
const TABLE: u64 = 256 << 10;

fn role(name: &str, threads: u32, cycles: u64, steps: &[&str]) -> Role {
    let steps: Vec<MixStep> = steps.iter().map(|step| step.parse().unwrap()).collect();
    let uses = |of: &[&str]| steps.iter().any(|step| of.contains(&step.name()));
    let set = uses(&["create", "open", "stat", "delete"]);
    let file = uses(&["random-read", "random-write", "stream"]);
    Role {
        name: name.into(),
        threads,
        cycles,
        rate: None,
        set: set.then(|| "spool".into()),
        file: file.then(|| "table".into()),
        steps,
    }
}

fn deliver(threads: u32, cycles: u64) -> Role {
    let steps =
        ["delete", "create", "write", "append 5000", "fsync", "close", "open", "read", "close"];
    role("deliver", threads, cycles, &steps)
}

fn mix(roles: &[Role]) -> Mix {
    Mix { roles: roles.to_vec(), until: None, verify: true }
}

fn nobody() -> ThreadStats {
    ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None))
}

/// Creates a workspace with a set and a file.
fn workspace(place: &Path) -> CellWorkspace {
    let mut ws = CellWorkspace::new(place, 9);
    for op in [
        Op::Create(Create {
            set: "spool".into(),
            kind: EntryKind::File,
            entries: FILES,
            directories: 3,
            depth: 1,
            size: Bytes::kib(6),
            spread: SizeDistribution::LogNormal,
            order: TraversalOrder::Random,
            fsync: false,
            fsync_directory: false,
            threads: 1,
            sharing: FileSharing::Shared,
        }),
        Op::Io(Io {
            size: Some(Bytes(TABLE)),
            ..Io::new("table", AccessPattern::Write, Bytes::kib(64))
        }),
    ] {
        perform_op(&op, SyncAtEnd::Call, &mut ws, &mut nobody()).unwrap();
    }
    ws
}

fn run(ws: &mut CellWorkspace, mix: &Mix) -> Result<ThreadStats, OpError> {
    assert_eq!(model::op::OpInfo::check(mix), Ok(()));
    let mut stats = nobody();
    perform_op(&Op::Mix(mix.clone()), SyncAtEnd::Syncfs, ws, &mut stats).map(|()| stats)
}

fn of_role(ws: &CellWorkspace, mix: &Mix, role: &str) -> PhaseResult {
    let part = RoleResult { mix_phase: "mix".into(), role: role.into(), mix: mix.clone() };
    let mut result = PhaseResult::not_run(&Phase {
        name: "mix.role".into(),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Call,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op: Op::RoleResult(part.clone()),
    });
    role_result(ws, &part, &mut result).unwrap();
    result
}

fn counted(buckets: &[LatencyBucket]) -> u64 {
    buckets.iter().map(|bucket| bucket.1).sum()
}

/// Returns every file below a directory with its content.
fn held(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![place.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(place).unwrap();
                all.insert(name.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn each_role_does_its_cycles_and_is_counted_by_itself() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = workspace(place.path());
    let look = role("look", 3, 50, &["stat", "open", "read", "close"]);
    let pages = role("pages", 2, 30, &["random-read 4 KiB", "random-write 8 KiB", "fdatasync"]);
    let mix = mix(&[deliver(2, 25), look, pages]);
    let stats = run(&mut ws, &mix).unwrap();
    assert_eq!(stats.operations, 25 + 50 + 30);
    let of = |role| of_role(&ws, &mix, role);
    let (deliver, look, pages) = (of("deliver"), of("look"), of("pages"));
    for (result, cycles, syncs) in [(&deliver, 25, 25), (&look, 50, 0), (&pages, 30, 30)] {
        assert_eq!(
            (result.operations, counted(&result.latency), counted(&result.sync)),
            (cycles, cycles, syncs)
        );
        assert!(result.elapsed > Nanos(0) && result.elapsed <= stats.elapsed());
        assert_eq!(result.role_of.as_deref(), Some("mix"));
    }
    assert_eq!(pages.bytes_written, Bytes(30 * 8192));
    assert_eq!(pages.bytes, Bytes(30 * 12288));
    assert_eq!((look.bytes_written, look.verified), (Bytes(0), look.bytes));
    let all = [&deliver, &look, &pages].map(|result| result.bytes.0);
    assert_eq!(stats.bytes, all.iter().sum::<u64>());
    // The content of each file matches the state in the workspace.
    let known = &ws.mixed["spool"];
    let there = held(&place.path().join("spool"));
    assert_eq!(there.len() as u64, FILES);
    let sizes = known.files().iter().map(|slot| slot.entry.size).sum::<u64>();
    assert_eq!(there.values().map(|held| held.len() as u64).sum::<u64>(), sizes);
}

#[test]
fn equal_seeds_give_equal_files_for_any_thread_order() {
    let made = || {
        let place = tempfile::tempdir().unwrap();
        let mut ws = workspace(place.path());
        let arrive = role("arrive", 3, 20, &["create", "write", "close"]);
        let expunge = role("expunge", 2, 10, &["delete"]);
        let pages = role("pages", 3, 40, &["random-write 4 KiB"]);
        let mix = mix(&[deliver(3, 30), arrive, expunge, pages]);
        // Twice: the second run continues from the state of the first.
        for files in [FILES + 10, FILES + 20] {
            run(&mut ws, &mix).unwrap();
            assert_eq!(ws.mixed["spool"].files().len() as u64, files);
        }
        held(place.path())
    };
    let first = made();
    assert_eq!(first.len() as u64, FILES + 20 + 1);
    assert!(first == made(), "other names or other content");
}

#[test]
fn all_end_with_the_role_that_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = workspace(place.path());
    let mut slow = role("slow", 1, 5, &["open", "read", "close"]);
    // It would run for a century; the mix does not wait for it.
    slow.rate = Some(1);
    let backup = role("backup", 2, 3, &["stream 64 KiB"]);
    let mix = Mix { until: Some("deliver".into()), ..mix(&[deliver(2, 40), backup, slow]) };
    run(&mut ws, &mix).unwrap();
    let of = |role| of_role(&ws, &mix, role);
    assert_eq!(of("deliver").operations, 40);
    assert_eq!(of("slow").offered_rate, Some(1));
    let backup = of("backup");
    assert_eq!(backup.bytes.0, backup.operations << 16);
    assert!(backup.operations > 0, "it began before the other ended");
}

#[test]
fn a_pause_takes_time_but_does_not_count_as_latency() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = workspace(place.path());
    let mix = mix(&[role("think", 1, 4, &["stat", "think 3 ms"])]);
    let mut stats = run(&mut ws, &mix).unwrap();
    let mut result = of_role(&ws, &mix, "think");
    let pauses = 4 * 3_000_000;
    assert!(result.elapsed.0 >= pauses);
    let latency = |r: &PhaseResult| r.latency.iter().map(|b| b.0.0 * b.1).sum::<u64>();
    // A bucket is named by its longest latency, which is up to 0.1 % above the recorded ones.
    assert!(latency(&result) <= (result.elapsed.0 - pauses) * 1001 / 1000 + 4);
    stats.finish(&mut result);
    assert_eq!(counted(&result.latency), 4);
}

#[test]
fn damage_to_a_file_a_block_or_a_log_is_found() {
    let corrupt = |mix: &Mix, damage: &dyn Fn(&Path)| {
        let place = tempfile::tempdir().unwrap();
        let mut ws = workspace(place.path());
        run(&mut ws, mix).unwrap();
        damage(place.path());
        match run(&mut ws, mix).unwrap_err() {
            OpError::Corrupt { path, .. } => path,
            other => panic!("{other}"),
        }
    };
    let zeroed = |path: &Path| {
        let size = fs::metadata(path).unwrap().len();
        fs::write(path, vec![0; size as usize]).unwrap();
    };
    let read = mix(&[role("look", 1, 200, &["open", "read", "close"])]);
    let found = corrupt(&read, &|place| {
        let set = place.join("spool");
        held(&set).keys().for_each(|name| zeroed(&set.join(name)));
    });
    assert!(found.to_string_lossy().contains("spool"), "{found:?}");
    let size = mix(&[role("look", 1, 200, &["stat"])]);
    corrupt(&size, &|place| {
        let set = place.join("spool");
        held(&set).keys().for_each(|name| fs::write(set.join(name), "").unwrap());
    });
    let pages = mix(&[role("pages", 2, 50, &["random-write 4 KiB", "random-read 4 KiB"])]);
    assert!(corrupt(&pages, &|place| zeroed(&place.join("table"))).ends_with("table"));
    let log = mix(&[role("access", 2, 10, &["log 3 KiB", "fdatasync"])]);
    let found = corrupt(&log, &|place| {
        fs::write(place.join("_access.log"), "x").unwrap();
    });
    assert!(found.ends_with("_access.log"));
}

#[test]
fn an_error_in_one_thread_ends_all_threads() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = workspace(place.path());
    fs::remove_dir_all(place.path().join("spool/d00001")).unwrap();
    let endless = role("endless", 2, u64::from(u32::MAX), &["random-read 4 KiB"]);
    let mix = mix(&[role("look", 1, 500, &["stat"]), endless]);
    let error = run(&mut ws, &mix).unwrap_err();
    assert!(error.to_string().starts_with("stat of "), "{error}");
    let part = RoleResult { mix_phase: "mix".into(), role: "look".into(), mix };
    let op = Op::RoleResult(part.clone());
    let refused = perform_op(&op, SyncAtEnd::Call, &mut ws, &mut nobody()).unwrap_err();
    assert!(matches!(refused, OpError::Unsupported { .. }), "{refused}");
    let mut blank = of_nothing(&op);
    let unsupported = role_result(&ws, &part, &mut blank).unwrap_err();
    assert!(unsupported.to_string().contains("phase `mix` did not complete"));
}

fn of_nothing(op: &Op) -> PhaseResult {
    PhaseResult::not_run(&Phase {
        name: "p".into(),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Call,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op: op.clone(),
    })
}

#[test]
fn the_time_limit_ends_every_role() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = workspace(place.path());
    let mix = mix(&[deliver(2, 1 << 40), role("look", 1, 1 << 40, &["stat"])]);
    let limit = Some(Nanos(1_000_000));
    let mut stats = ThreadStats::new(limit, Arc::default(), PhaseMeter::start(None, None));
    perform(&mut ws, &mut stats, &mix, SyncAtEnd::Call).unwrap();
    assert!(stats.time_limited);
    assert!(of_role(&ws, &mix, "look").time_limited);
}
