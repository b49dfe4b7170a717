//! Tests shares that were calculated by hand.

use model::{Bytes, DeviceCounters, Mkfs, Nanos, RemoveFile};
use proptest::prelude::*;

use super::*;
use crate::{MetricResult, analyse, fixture};

fn spread(median: f64) -> Option<RepeatedValue> {
    RepeatedValue::from_values(&[median])
}

fn device() -> RawDevicePerformance {
    RawDevicePerformance {
        sequential_read: spread(400e6),
        sequential_write: spread(100e6),
        random_read: spread(1_000.0),
        random_write: spread(500.0),
        queued_read: spread(8_000.0),
        queued_write: spread(2_000.0),
    }
}

fn calibration() -> Calibration {
    let cost = |value| spread(value).unwrap();
    Calibration {
        disturbance: None,
        taken: Nanos(0),
        elapsed: Nanos(0),
        overhead: HarnessOverhead {
            operation: cost(100.0),
            clock: cost(20.0),
            histogram: cost(5.0),
            marking: cost(1e11),
            verification: cost(1e9),
        },
        raw_device: Some(device()),
        device: String::new(),
    }
}

fn phase(access: AccessPattern, cache: CacheState, ends: SyncAtEnd) -> Phase {
    let io = Io::new("f", access, RawDevicePerformance::RANDOM_BLOCK);
    fixture::phase("p", Op::Io(io), cache, ends)
}

/// Returns the result of a phase that transferred 50 MB to and from the device in a second.
fn done(phase: &Phase) -> PhaseResult {
    let mut result = fixture::phase_result(phase, Nanos::from_secs(1), 1_000, Bytes(50_000_000));
    result.device = Some(DeviceCounters {
        read_bytes: Bytes(50_000_000),
        write_bytes: Bytes(50_000_000),
        ..DeviceCounters::default()
    });
    result
}

/// Returns the share of a phase with 50 MB/s or, if its metric is a rate, 200 operations per
/// second.
fn share(phase: &Phase) -> Option<f64> {
    let calibration = calibration();
    let bounds = RawDeviceBounds { calibration: Some(&calibration), processors: 2 };
    let metric = phase.op.primary_metric();
    let value = if metric == Metric::Rate { 200.0 } else { 50e6 };
    bounds
        .raw_device_share(phase, metric, value, &done(phase))
        .map(|share| (share * 1e6).round() / 1e6)
}

#[test]
fn reads_and_writes_front_to_back_are_shares_of_the_sequential_rates() {
    use CacheState::{Cold, Direct, FadviseDontNeed, Warm};
    assert_eq!(share(&phase(AccessPattern::Read, Cold, SyncAtEnd::Call)), Some(12.5));
    assert_eq!(
        share(&phase(AccessPattern::ReadBackward, FadviseDontNeed, SyncAtEnd::Call)),
        Some(12.5)
    );
    assert_eq!(share(&phase(AccessPattern::Write, Warm, SyncAtEnd::Fsync)), Some(50.0));
    assert_eq!(share(&phase(AccessPattern::Append, Warm, SyncAtEnd::Syncfs)), Some(50.0));
    assert_eq!(share(&phase(AccessPattern::Overwrite, Direct, SyncAtEnd::Call)), Some(50.0));
    // Reading and writing each byte: 1 / (1/400 + 1/100) = 80 MB/s.
    assert_eq!(share(&phase(AccessPattern::Rewrite, Cold, SyncAtEnd::Fsync)), Some(62.5));
}

#[test]
fn cached_data_has_no_share_of_the_raw_device() {
    use CacheState::{Cold, Warm};
    assert_eq!(share(&phase(AccessPattern::Read, Warm, SyncAtEnd::Call)), None);
    assert_eq!(share(&phase(AccessPattern::RandomRead, Warm, SyncAtEnd::Call)), None);
    assert_eq!(share(&phase(AccessPattern::Write, Warm, SyncAtEnd::Call)), None);
    assert_eq!(share(&phase(AccessPattern::RecordRewrite, Warm, SyncAtEnd::Fsync)), None);
    assert_eq!(
        share(&phase(AccessPattern::Rewrite, Warm, SyncAtEnd::Fsync)),
        None,
        "it is written to the device but read from memory"
    );
    let cold = phase(AccessPattern::Read, Cold, SyncAtEnd::Call);
    let mut memory = done(&cold);
    memory.device = None;
    assert!(!touched_the_device(&cold.op, &memory));
    let mut untouched = done(&cold);
    untouched.device = Some(DeviceCounters::default());
    assert!(!touched_the_device(&cold.op, &untouched));
}

#[test]
fn random_requests_are_shares_of_the_random_rates() {
    use CacheState::{Cold, Direct, Warm};
    let read = phase(AccessPattern::RandomRead, Cold, SyncAtEnd::Call);
    assert_eq!(share(&read), Some(20.0));
    let write = phase(AccessPattern::RandomWrite, Direct, SyncAtEnd::Fsync);
    assert_eq!(share(&write), Some(40.0));
    let written_back = phase(AccessPattern::RandomWrite, Warm, SyncAtEnd::Fsync);
    assert_eq!(share(&written_back), Some(10.0), "the kernel queues");
    // Half of the operations at 1000/s, half at 500/s: 1 / (0.5/1000 + 0.5/500) = 666.7/s.
    let mix = phase(AccessPattern::RandomMix { read_share: 0.5 }, Direct, SyncAtEnd::Fsync);
    assert_eq!(share(&mix), Some(30.0));
    // Each operation reads, and one in ten also writes: 1 / (1/1000 + 0.1/500) = 833.3/s.
    let seek = phase(AccessPattern::Seek { write_share: 0.1 }, Direct, SyncAtEnd::Call);
    assert_eq!(share(&seek), Some(24.0));
}

#[test]
fn several_requests_at_a_time_are_compared_with_several() {
    let several = |depth, threads| {
        let mut phase = phase(AccessPattern::RandomRead, CacheState::Cold, SyncAtEnd::Call);
        if let Op::Io(io) = &mut phase.op {
            (io.depth, io.threads) = (depth, threads);
        }
        phase
    };
    assert_eq!(share(&several(32, 1)), Some(2.5));
    assert_eq!(share(&several(1, 4)), Some(2.5));
    let mut alone = device();
    alone.queued_read = None;
    let Op::Io(io) = several(32, 1).op else {
        panic!("it is one");
    };
    assert_eq!(random(&io, CacheState::Cold, &alone), Some(1_000.0));
}

#[test]
fn longer_random_requests_include_the_transfer_time() {
    let mut io = Io::new("f", AccessPattern::RandomRead, Bytes(4096 + 400_000));
    // 1 ms for the first 4 KiB and 1 ms for 400 kB at 400 MB/s.
    let rate = random(&io, CacheState::Cold, &device()).unwrap();
    assert!((rate - 500.0).abs() < 1e-9, "{rate}");
    io.block = Bytes(512);
    assert_eq!(random(&io, CacheState::Cold, &device()), Some(1_000.0));
}

#[test]
fn phases_without_file_data_have_no_raw_device_speed() {
    let mut null = Io::new("f", AccessPattern::Read, Bytes(4096));
    null.engine = IoEngine::Null;
    for op in [Op::Mkfs(Mkfs), Op::RemoveFile(RemoveFile { file: "f".into() }), Op::Io(null)] {
        assert_eq!(raw_device_of(&op, CacheState::Cold, &device()), None, "{op:?}");
    }
    let read = phase(AccessPattern::Read, CacheState::Cold, SyncAtEnd::Call);
    let mut without = calibration();
    without.raw_device = None;
    let bounds = |calibration| RawDeviceBounds { calibration, processors: 1 };
    assert_eq!(bounds(Some(&without)).raw_device(&read, Metric::Throughput), None);
    assert_eq!(bounds(None).raw_device(&read, Metric::Throughput), None);
    let known = calibration();
    assert_eq!(bounds(Some(&known)).raw_device(&read, Metric::Elapsed), None);
}

#[test]
fn overhead_includes_operations_marks_and_comparisons() {
    let calibration = calibration();
    let mut bounds = RawDeviceBounds { calibration: Some(&calibration), processors: 2 };
    let phase = phase(AccessPattern::Read, CacheState::Cold, SyncAtEnd::Call);
    let mut result = done(&phase);
    result.operations = 500_000;
    let of = |bounds: &RawDeviceBounds<'_>, result: &PhaseResult, metric| {
        bounds.overhead_share(&phase, metric, result)
    };
    // 500 000 × 100 ns = 50 ms of a second.
    assert_eq!(of(&bounds, &result, Metric::Throughput), Some(5.0));
    assert_eq!(of(&bounds, &result, Metric::LatencyP50), None);
    // Additionally, 50 MB are compared at 1 GB/s: another 50 ms.
    result.verified = Bytes(50_000_000);
    assert_eq!(of(&bounds, &result, Metric::Elapsed), Some(10.0));
    // Additionally, 1 GB is marked at 100 GB/s: another 10 ms.
    result.bytes_written = Bytes(1_000_000_000);
    assert_eq!(of(&bounds, &result, Metric::Rate), Some(11.0));
    bounds.calibration = None;
    assert_eq!(of(&bounds, &result, Metric::Rate), None);
}

#[test]
fn threads_share_the_overhead_up_to_the_number_of_processors() {
    let calibration = calibration();
    let mut phase = phase(AccessPattern::Read, CacheState::Cold, SyncAtEnd::Call);
    if let Op::Io(io) = &mut phase.op {
        io.threads = 8;
    }
    let mut result = done(&phase);
    result.operations = 1_000_000;
    let of = |processors| {
        let bounds = RawDeviceBounds { calibration: Some(&calibration), processors };
        bounds.overhead_share(&phase, Metric::Rate, &result)
    };
    assert_eq!((of(0), of(1), of(2)), (Some(10.0), Some(10.0), Some(5.0)));
    assert_eq!((of(8), of(64)), (Some(1.25), Some(1.25)));
}

#[test]
fn a_result_has_the_median_share_of_its_rounds() {
    let results = fixture::calibrated();
    let analysis = analyse(&results);
    let measured = |phase: &str, metric| -> &[MetricResult] {
        let row = analysis.rows.iter().find(|r| r.phase == phase && r.metric == metric);
        &row.unwrap().results
    };
    let near = |share: Option<f64>, wanted: f64| {
        let share = share.unwrap();
        assert!((share - wanted).abs() < 1e-9, "{share}, not {wanted}");
    };
    for (result, wanted) in measured("write", Metric::Throughput).iter().zip([80.0, 40.0, 20.0]) {
        near(result.raw_device_share, wanted);
    }
    near(measured("read", Metric::Throughput)[0].raw_device_share, 125.0);
    assert_eq!(measured("read", Metric::Rate)[0].raw_device_share, None);
    let flagged = |phase| -> Vec<bool> {
        let measured = measured(phase, Metric::Throughput).iter();
        measured.map(MetricResult::is_largely_overhead).collect()
    };
    assert_eq!(flagged("write"), [true, false, false]);
    assert_eq!(flagged("read"), [true, true, true]);
}

#[test]
fn without_a_calibration_shares_are_absent() {
    let analysis = analyse(&fixture::plain());
    for row in &analysis.rows {
        assert_eq!(row.raw_device, None);
        for result in &row.results {
            assert_eq!((result.raw_device_share, result.overhead_share), (None, None));
            assert!(!result.is_largely_overhead());
        }
    }
}

fn any_access() -> impl Strategy<Value = AccessPattern> {
    prop_oneof![
        Just(AccessPattern::Write),
        Just(AccessPattern::Rewrite),
        Just(AccessPattern::Read),
        Just(AccessPattern::RandomRead),
        Just(AccessPattern::RandomWrite),
        (0.0..=1.0).prop_map(|read_share| AccessPattern::RandomMix { read_share }),
        (0.0..=1.0).prop_map(|write_share| AccessPattern::Seek { write_share }),
    ]
}

proptest! {
    /// A phase that is as fast as its raw device has a share of 100 %, and shares grow in
    /// proportion to the value.
    #[test]
    fn shares_are_in_proportion(access in any_access(), block in 512u64..1 << 24, depth in 1u32..64) {
        let mut phase = phase(access, CacheState::Direct, SyncAtEnd::Fsync);
        if let Op::Io(io) = &mut phase.op {
            (io.block, io.depth) = (Bytes(block), depth);
        }
        let calibration = calibration();
        let bounds = RawDeviceBounds { calibration: Some(&calibration), processors: 1 };
        let metric = phase.op.primary_metric();
        let raw_device = bounds.raw_device(&phase, metric).unwrap();
        prop_assert!(raw_device.is_finite() && raw_device > 0.0);
        let share = |value| bounds.raw_device_share(&phase, metric, value, &done(&phase)).unwrap();
        prop_assert!((share(raw_device) - 100.0).abs() < 1e-9);
        prop_assert!((share(raw_device / 3.0) - 100.0 / 3.0).abs() < 1e-9);
    }

    /// No random access is faster than the sequential rates allow.
    #[test]
    fn no_raw_device_of_random_requests_is_above_the_sequential_one(block in 1u64 << 13..1 << 24) {
        let io = Io::new("f", AccessPattern::RandomRead, Bytes(block));
        let rate = random(&io, CacheState::Cold, &device()).unwrap();
        prop_assert!(rate * ((block - 4096) as f64) < 400e6);
    }
}
