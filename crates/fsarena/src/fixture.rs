//! A cell with every kind of evidence, and a small campaign, for this crate's tests.

use std::collections::BTreeMap;

use catalog::Catalog;
use model::{
    Bytes, CacheState, Campaign, Cell, CellId, CellResult, CpuTime, End, Failure, Faults, Feature,
    Features, LatencyBucket, Metric, Nanos, Pass, PhaseResult, Profile, Status, StepRecord,
    StoredCell, Support, SystemError,
};

/// Two contenders in three rounds, and no suite yet.
pub fn campaign() -> Campaign {
    let catalog = Catalog::builtin().expect("the catalog that is compiled in is right");
    let contender = |name| catalog.contender(name).expect("it is in the catalog");
    Campaign {
        name: "two of them".into(),
        suites: Vec::new(),
        profile: Profile::Study,
        seed: 7,
        size: Bytes::mib(20_000),
        memory: Some(Bytes::mib(512)),
        ..orchestrate::in_memory::campaign(["ext4", "xfs"].map(contender).into(), 3)
    }
}

/// A cell whose second phase found the filesystem full.
pub fn failed_cell() -> StoredCell {
    StoredCell {
        cell: Cell {
            id: CellId(12),
            contender: "ext4:data=journal".into(),
            suite: "bonnie".into(),
            test: "bonnie-block".into(),
            round: 2,
            seed: 7,
        },
        result: Some(CellResult {
            journal: Vec::new(),
            status: Status::Failed,
            failure: Some(full()),
            phases: vec![
                PhaseResult {
                    passes: [3, 1].map(pass).into(),
                    ..phase("write", Status::Ok, None)
                },
                phase("rewrite", Status::Failed, Some(full())),
            ],
            steps: vec![mkfs()],
            features: Features(BTreeMap::from([
                (Feature::HardLinks, Support::Yes),
                (Feature::Xattrs, Support::No("EOPNOTSUPP".into())),
            ])),
            kernel_log: vec![model::KernelEvent::of_line(
                "EXT4-fs (loop0): \u{1b}[31mwarning",
            )],
            kernel_log_readable: true,
            started: Nanos::from_secs(1_760_000_000),
            elapsed: Nanos::from_secs(90),
            from_cache: false,
            remarks: Vec::new(),
            disturbance: None,
            mounted: None,
            age: None,
            first: None,
        }),
    }
}

fn pass(half_seconds: u64) -> Pass {
    Pass {
        wall: Nanos(half_seconds * 500_000_000),
        operations: 128,
        bytes: Bytes(100_000_000),
    }
}

fn full() -> Failure {
    Failure {
        step: "rewrite".into(),
        reason: "pwrite of 8 KiB to `big`: no space left".into(),
        error: Some(SystemError {
            call: "pwrite".into(),
            errno: 28,
            name: "ENOSPC".into(),
        }),
        stacks: vec!["agent (thread 7, state D):\n[<0>] wait\n".into()],
    }
}

fn mkfs() -> StepRecord {
    StepRecord {
        step: "mkfs".into(),
        command: ["mkfs.ext4", "-L", "two words", "/dev/loop0"]
            .map(String::from)
            .into(),
        exit: Some(0),
        signal: None,
        elapsed: Nanos(12_300_000),
        output: "Creating journal\n\tdone\n".into(),
    }
}

fn phase(name: &str, status: Status, failure: Option<Failure>) -> PhaseResult {
    PhaseResult {
        disk: None,
        profile: None,
        layout: None,
        timed: Vec::new(),
        phase: name.into(),
        status,
        failure,
        primary_metric: Metric::Throughput,
        cache: CacheState::Cold,
        ends: End::Fsync,
        wall: Nanos::from_secs(2),
        operations: 256,
        bytes: Bytes(200_000_000),
        bytes_written: Bytes(200_000_000),
        cut_short: false,
        too_fast: false,
        cpu: CpuTime::default(),
        faults: Faults::default(),
        device: None,
        space_before: None,
        space_after: None,
        device_size: None,
        memory: None,
        latency: vec![LatencyBucket(Nanos(1_000_000), 256)],
        sync: Vec::new(),
        open: Vec::new(),
        close: Vec::new(),
        offered_rate: None,
        verified: Bytes(0),
        role_of: None,
        stated: Vec::new(),
        passes: Vec::new(),
    }
}
