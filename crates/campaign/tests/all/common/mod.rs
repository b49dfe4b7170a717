//! Campaigns and results for the tests of the store.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeMap;

use model::{
    AccessPattern, BackendKind, Bytes, CacheState, Calibration, Campaign, Cell, CellId, CellResult,
    CommandRecord, CpuTime, Environment, Failure, Features, HarnessOverhead, Io, LatencyBucket,
    Metric, Nanos, Op, PageFaults, Phase, PhaseResult, RawDevicePerformance, RepeatedValue,
    SizeProfile, Status, Suite, SyncAtEnd, Test,
};

/// Returns a campaign with one suite of one test, whose seek phase contains a fraction.
pub fn campaign() -> Campaign {
    Campaign {
        name: "nightly".into(),
        contenders: Vec::new(),
        groups: Vec::new(),
        suites: vec![Suite {
            requires: model::ProgramRequirements::default(),
            archives: Vec::new(),
            baseline: None,
            name: "bonnie".into(),
            title: "Block I/O".into(),
            source: "a test".into(),
            tests: vec![test()],
        }],
        profile: SizeProfile::Quick,
        rounds: 4,
        stopping_rule: None,
        budget: None,
        clock: model::Clock::Real,
        guest: None,
        seed: u64::MAX,
        size: Bytes::mib(300),
        memory: None,
        device: None,
        work_dir: "/var/tmp/fsarena".into(),
        database: None,
        stall_timeout: model::Nanos::from_secs(60),
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: model::Nanos::from_secs(600),
        backend: BackendKind::Loop,
        skipped: Vec::new(),
        measured_by: None,
    }
}

fn test() -> Test {
    Test {
        name: "block".into(),
        suite: "bonnie".into(),
        title: "Block I/O".into(),
        rationale: "None.".into(),
        space: Bytes::mib(200),
        data: model::DataKind::default(),
        sweep: None,
        phases: vec![Phase {
            name: "seek".into(),
            cache: CacheState::Cold,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Io(Io {
                operations: Some(8000),
                threads: 5,
                ..Io::new("f", seek(0.1 + 0.2), Bytes::kib(8))
            }),
        }],
    }
}

/// Random seeks; `write_share` of the blocks are written back.
pub fn seek(write_share: f64) -> AccessPattern {
    AccessPattern::Seek { write_share }
}

/// Returns a calibration that uses every kind of field.
pub fn calibration() -> Calibration {
    let spread =
        |median| RepeatedValue { median, min: median * 0.9, max: median * 1.1, repetitions: 5 };
    Calibration {
        disturbance: None,
        taken: Nanos::from_secs(1_700_000_000),
        elapsed: Nanos(2_000_000_000),
        overhead: HarnessOverhead {
            operation: spread(120.5),
            clock: spread(25.25),
            histogram: spread(0.1 + 0.2),
            marking: spread(4e11),
            verification: spread(8e9),
        },
        raw_device: Some(RawDevicePerformance {
            sequential_read: Some(spread(1.5e9)),
            ..RawDevicePerformance::default()
        }),
        device: "a disk".into(),
    }
}

/// Returns a plan of `count` cells.
pub fn cells(count: u32) -> Vec<Cell> {
    (0..count)
        .map(|id| Cell {
            id: CellId(id),
            contender: "ext4".into(),
            suite: "bonnie".into(),
            test: "block".into(),
            round: id + 1,
            seed: u64::MAX - u64::from(id),
        })
        .collect()
}

/// Returns an environment that depends on the number.
pub fn environment(number: u32) -> Environment {
    Environment { program: format!("fsarena 0.{number}"), cpus: number, ..Environment::default() }
}

/// Returns the result of a successful phase.
pub fn phase(name: &str) -> PhaseResult {
    PhaseResult {
        hosts: Vec::new(),
        disk: None,
        profile: None,
        layout: None,
        timed: Vec::new(),
        phase: name.to_owned(),
        status: Status::Ok,
        failure: None,
        primary_metric: Metric::Throughput,
        cache: CacheState::Cold,
        ends: SyncAtEnd::Fsync,
        elapsed: Nanos::from_secs(2),
        operations: 100,
        bytes: Bytes::mib(100),
        bytes_written: Bytes::mib(100),
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
        latency: vec![LatencyBucket(Nanos(1000), 100)],
        open: vec![LatencyBucket(Nanos(2000), 1)],
        close: vec![LatencyBucket(Nanos(3000), 1)],
        sync: Vec::new(),
        offered_rate: None,
        content: None,
        timeline: None,
        verified: Bytes(0),
        role_of: None,
        stated: Vec::new(),
        survival: None,
        disk_faults: None,
        full: None,
        passes: Vec::new(),
    }
}

/// Returns a successful result with these phases.
pub fn result(phases: &[&str]) -> CellResult {
    CellResult {
        journal: Vec::new(),
        status: Status::Ok,
        failure: None,
        phases: phases.iter().map(|name| phase(name)).collect(),
        steps: vec![CommandRecord {
            step: "mkfs".into(),
            command: vec!["mkfs.ext4".into(), "/dev/loop0".into()],
            exit: Some(0),
            signal: None,
            elapsed: Nanos(5_000_000),
            output: "Done\n".into(),
        }],
        features: Features(BTreeMap::new()),
        kernel_log: Vec::new(),
        kernel_log_readable: true,
        started: Nanos::from_secs(1_700_000_000),
        elapsed: Nanos::from_secs(9),
        from_cache: false,
        remarks: Vec::new(),
        disturbance: None,
        mounted: None,
        age: None,
        first: None,
    }
}

/// Returns a failed result with this reason.
pub fn failed(reason: &str) -> CellResult {
    CellResult {
        status: Status::Failed,
        failure: Some(Failure { step: "mkfs".into(), reason: reason.into(), ..Failure::default() }),
        ..result(&[])
    }
}
