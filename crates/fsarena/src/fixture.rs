//! A cell with every kind of evidence, and a small campaign, for this crate's tests.

use std::collections::BTreeMap;

use config::Catalog;
use model::{
    Bytes, CacheState, Campaign, Cell, CellId, CellRecord, CellResult, CommandRecord, CpuTime,
    Failure, Feature, Features, Iteration, LatencyBucket, Metric, Nanos, PageFaults, PhaseResult,
    ProbeResult, SizeProfile, Status, SyncAtEnd, SyscallError,
};

/// Creates a campaign with two contenders, three rounds and no suite.
pub fn campaign() -> Campaign {
    let catalog = Catalog::builtin().expect("the catalog that is compiled in is right");
    let contender = |name| catalog.contender(name).expect("it is in the catalog");
    Campaign {
        name: "two of them".into(),
        suites: Vec::new(),
        profile: SizeProfile::Study,
        seed: 7,
        size: Bytes::mib(20_000),
        memory: Some(Bytes::mib(512)),
        ..campaign::run::in_memory::campaign(["ext4", "xfs"].map(contender).into(), 3)
    }
}

/// Creates a cell whose second phase failed because the filesystem was full.
pub fn failed_cell() -> CellRecord {
    CellRecord {
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
                PhaseResult { passes: [3, 1].map(pass).into(), ..phase("write", Status::Ok, None) },
                phase("rewrite", Status::Failed, Some(full())),
            ],
            steps: vec![mkfs()],
            features: Features(BTreeMap::from([
                (Feature::HardLinks, ProbeResult::Yes),
                (Feature::Xattrs, ProbeResult::No("EOPNOTSUPP".into())),
            ])),
            kernel_log: vec![model::KernelEvent::from_line("EXT4-fs (loop0): \u{1b}[31mwarning")],
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

fn pass(half_seconds: u64) -> Iteration {
    Iteration {
        elapsed: Nanos(half_seconds * 500_000_000),
        operations: 128,
        bytes: Bytes(100_000_000),
    }
}

fn full() -> Failure {
    Failure {
        step: "rewrite".into(),
        reason: "pwrite of 8 KiB to `big`: no space left".into(),
        error: Some(SyscallError { call: "pwrite".into(), errno: 28, name: "ENOSPC".into() }),
        stacks: vec!["agent (thread 7, state D):\n[<0>] wait\n".into()],
    }
}

fn mkfs() -> CommandRecord {
    CommandRecord {
        step: "mkfs".into(),
        command: ["mkfs.ext4", "-L", "two words", "/dev/loop0"].map(String::from).into(),
        exit: Some(0),
        signal: None,
        elapsed: Nanos(12_300_000),
        output: "Creating journal\n\tdone\n".into(),
    }
}

fn phase(name: &str, status: Status, failure: Option<Failure>) -> PhaseResult {
    PhaseResult {
        hosts: Vec::new(),
        disk: None,
        profile: None,
        layout: None,
        timed: Vec::new(),
        timeline: None,
        phase: name.into(),
        status,
        failure,
        primary_metric: Metric::Throughput,
        cache: CacheState::Cold,
        ends: SyncAtEnd::Fsync,
        elapsed: Nanos::from_secs(2),
        operations: 256,
        bytes: Bytes(200_000_000),
        bytes_written: Bytes(200_000_000),
        time_limited: false,
        unset: None,
        too_fast: false,
        cpu: CpuTime::default(),
        faults: PageFaults::default(),
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
        content: None,
        verified: Bytes(0),
        role_of: None,
        stated: Vec::new(),
        survival: None,
        disk_faults: None,
        full: None,
        passes: Vec::new(),
    }
}
