//! Any result reads back equal, including arbitrary strings and numbers reported by the tools of a
//! filesystem.

use crate::common;
use std::collections::BTreeMap;

use campaign::store::Store;
use model::{
    Bytes, CacheState, CellResult, CommandRecord, CpuTime, DataKind, DeviceCounters, Failure,
    Feature, Features, HostNoise, HostWork, Iteration, KernelEvent, KernelMemoryUse, LatencyBucket,
    Metric, Nanos, PageFaults, PhaseResult, ProbeResult, SpaceUsage, Stall, Status, SteadyState,
    SyncAtEnd, SyscallError, Timeline,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn status() -> impl Strategy<Value = Status> {
    select(vec![
        Status::Ok,
        Status::Unsupported,
        Status::Failed,
        Status::Crashed,
        Status::Hung,
        Status::Skipped,
        Status::Invalid,
    ])
}

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    any::<u64>().prop_map(Bytes)
}

/// Generates any characters, including NUL, quotes and line ends.
fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..20).prop_map(String::from_iter)
}

fn failure() -> impl Strategy<Value = Failure> {
    let error = (text(), any::<i32>(), text()).prop_map(|(call, errno, name)| SyscallError {
        call,
        errno,
        name,
    });
    (text(), text(), option::of(error), vec(text(), 0..3))
        .prop_map(|(step, reason, error, stacks)| Failure { step, reason, error, stacks })
}

fn step() -> impl Strategy<Value = CommandRecord> {
    (text(), vec(text(), 0..4), any::<Option<i32>>(), any::<Option<i32>>(), nanos(), text())
        .prop_map(|(step, command, exit, signal, elapsed, output)| CommandRecord {
            step,
            command,
            exit,
            signal,
            elapsed,
            output,
        })
}

fn features() -> impl Strategy<Value = Features> {
    let support = prop_oneof![
        Just(ProbeResult::Yes),
        bytes().prop_map(ProbeResult::UpTo),
        text().prop_map(ProbeResult::No)
    ];
    btree_map(select(Feature::ALL.to_vec()), support, 0..6).prop_map(Features)
}

fn space() -> impl Strategy<Value = SpaceUsage> {
    (bytes(), bytes(), bytes(), any::<u64>(), any::<u64>()).prop_map(
        |(total, free, available, inodes, inodes_free)| SpaceUsage {
            total,
            free,
            available,
            inodes,
            inodes_free,
        },
    )
}

fn device() -> impl Strategy<Value = DeviceCounters> {
    (any::<[u64; 4]>(), bytes(), bytes(), bytes()).prop_map(
        |([reads, writes, flushes, discards], read_bytes, write_bytes, discard_bytes)| {
            DeviceCounters {
                reads,
                read_bytes,
                writes,
                write_bytes,
                flushes,
                discards,
                discard_bytes,
            }
        },
    )
}

/// Generates a phase with arbitrary counts, based on a successful phase.
fn phase() -> impl Strategy<Value = PhaseResult> {
    let words = (
        text(),
        status(),
        option::of(failure()),
        select(vec![Metric::Throughput, Metric::Rate, Metric::Capacity]),
        select(vec![CacheState::Cold, CacheState::Warm, CacheState::None]),
        select(vec![SyncAtEnd::Call, SyncAtEnd::Fsync, SyncAtEnd::Syncfs]),
    );
    let counts = (
        any::<[u64; 10]>(),
        option::of(device()),
        option::of(space()),
        option::of(space()),
        any::<bool>(),
        vec((nanos(), any::<u32>()), 0..5),
    );
    (words, counts).prop_map(
        |(
            (phase, status, failure, primary_metric, cache, ends),
            (n, device, before, after, cut, slow),
        )| {
            PhaseResult {
                hosts: vec![HostWork {
                    host: phase.clone(),
                    elapsed: Nanos(n[3]),
                    operations: n[1] / 2,
                    bytes: Bytes(n[2]),
                    at_first_end: before.map(|_| n[4]),
                }],
                disk: None,
                profile: None,
                layout: None,
                timed: Vec::new(),
                phase,
                status,
                failure,
                primary_metric,
                cache,
                ends,
                elapsed: Nanos(n[0]),
                offered_rate: before.map(|_| n[1]),
                content: after.map(|_| DataKind::Text),
                timeline: before.map(|_| Timeline {
                    stall: Some(Stall { at: Nanos(n[0]), length: Nanos(n[1]) }),
                    steady: Some(SteadyState { from: Nanos(n[2]), rate: 2.5, throughput: 1e9 }),
                    ..Timeline::default()
                }),
                verified: Bytes(n[2]),
                passes: vec![Iteration {
                    elapsed: Nanos(n[0]),
                    operations: n[1],
                    bytes: Bytes(n[2]),
                }],
                too_fast: cut,
                operations: n[1],
                bytes: Bytes(n[2]),
                bytes_written: Bytes(n[3]),
                time_limited: cut,
                unset: None,
                cpu: CpuTime {
                    user: Nanos(n[4] / 2),
                    system: Nanos(n[5] / 2),
                    driver: Nanos(n[6]),
                    machine: Nanos(n[7]),
                },
                faults: PageFaults { minor: n[8], major: n[9] },
                device,
                space_before: before,
                space_after: after,
                device_size: Some(Bytes(n[0])),
                memory: before.map(|_| KernelMemoryUse {
                    kernel: device.map(|_| Bytes(n[1])),
                    driver: Some(Bytes(n[2])),
                }),
                latency: slow
                    .into_iter()
                    .map(|(n, count)| LatencyBucket(n, u64::from(count)))
                    .collect(),
                open: vec![LatencyBucket(Nanos(n[0]), 1)],
                close: Vec::new(),
                sync: Vec::new(),
                role_of: None,
                stated: Vec::new(),
                survival: None,
                disk_faults: None,
                full: None,
            }
        },
    )
}

fn result() -> impl Strategy<Value = CellResult> {
    (
        status(),
        option::of(failure()),
        vec(phase(), 0..4),
        vec(step(), 0..4),
        features(),
        vec(text(), 0..4),
        any::<bool>(),
        nanos(),
        nanos(),
        any::<bool>(),
        vec(text(), 0..2),
    )
        .prop_map(
            |(
                status,
                failure,
                phases,
                steps,
                features,
                kernel_log,
                kernel_log_readable,
                started,
                elapsed,
                from_cache,
                remarks,
            )| {
                CellResult {
                    journal: Vec::new(),
                    status,
                    mounted: from_cache.then_some(KernelMemoryUse {
                        kernel: None,
                        driver: Some(Bytes(elapsed.0)),
                    }),
                    failure,
                    phases,
                    steps,
                    features,
                    kernel_log: kernel_log.into_iter().map(KernelEvent::from_line).collect(),
                    kernel_log_readable,
                    started,
                    elapsed,
                    from_cache,
                    age: None,
                    remarks,
                    disturbance: Some(HostNoise { elapsed, ..HostNoise::default() }),
                    first: None,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn results_read_back_equal(results in vec(result(), 1..5), share in 0.0f64..1.0) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("results.db")).unwrap();
        let mut campaign = common::campaign();
        if let model::Op::Io(io) = &mut campaign.suites[0].tests[0].phases[0].op {
            io.access = common::seek(share);
        }
        let cells = common::cells(results.len() as u32);
        let id = store.begin_campaign(&campaign, &cells, Nanos(1)).unwrap();
        store.begin_session(id, &common::environment(1), Nanos(2)).unwrap();
        for (cell, result) in cells.iter().zip(&results) {
            store.record(id, cell, result).unwrap();
        }
        let loaded = store.load(id).unwrap();
        prop_assert_eq!(loaded.campaign, campaign);
        let read: BTreeMap<_, _> = loaded.cells.into_iter().map(|c| (c.cell.id, c.result)).collect();
        for (cell, result) in cells.iter().zip(results) {
            prop_assert_eq!(read[&cell.id].as_ref(), Some(&result));
        }
    }
}
