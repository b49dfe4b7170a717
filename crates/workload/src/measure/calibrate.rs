//! Overhead of fsarena: the request loop without a request, and its components.
//!
//! Every result is measured several times without access to a file.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use model::{
    AccessPattern, Bytes, HarnessOverhead, Io, IoEngine, Nanos, Op, RawDevicePerformance,
    RepeatedValue, SeededRng, SyncAtEnd,
};
use sys::io::clock;

use crate::data::pattern::{BlockIdentity, Pattern};
use crate::error::OpError;
use crate::measure::latency::Latency;
use crate::measure::meter::PhaseMeter;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::perform;
use crate::workspace::CellWorkspace;

/// Calls between two clock readings, so many that the readings do not matter.
const BATCH: u64 = 1000;
/// Size of a request whose data is stamped and compared.
const REQUEST: usize = RawDevicePerformance::SEQUENTIAL_BLOCK.0 as usize;
/// Size of a file that does not exist, with more requests than the time limit allows.
const SIZE: Bytes = Bytes(1 << 40);
/// An arbitrary version of an arbitrary file.
const ORIGIN: BlockIdentity = BlockIdentity { file: 1, generation: 1 };

/// Measures the overhead of fsarena on this machine. Each result is measured `repetitions` times
/// for at least `each`; the results alternate, so that other load affects all of them equally.
///
/// # Errors
/// Returns an error if the process cannot open a file.
///
/// # Panics
/// Panics if `repetitions` is zero.
pub fn overhead(repetitions: u32, each: Nanos) -> Result<HarnessOverhead, OpError> {
    let (mut read_clock, mut enter) = (clock_reader(), histogram_filler());
    let (mut mark, mut verify) = (marker(), verifier());
    let mut values: [Vec<f64>; 5] = Default::default();
    for _ in 0..repetitions {
        let turn = [
            operation(each)?,
            nanoseconds(each, &mut read_clock),
            nanoseconds(each, &mut enter),
            bytes_per_second(each, &mut mark),
            bytes_per_second(each, &mut verify),
        ];
        for (values, value) in values.iter_mut().zip(turn) {
            values.push(value);
        }
    }
    let spread = |values: Vec<f64>| {
        RepeatedValue::from_values(&values).expect("each is taken at least once")
    };
    let [operation, clock, histogram, marking, verification] = values.map(spread);
    Ok(HarnessOverhead { operation, clock, histogram, marking, verification })
}

/// Nanoseconds per operation of a random-read phase with the null I/O engine, which runs the same
/// code as a real measurement.
fn operation(at_least: Nanos) -> Result<f64, OpError> {
    let job = Io {
        size: Some(SIZE),
        engine: IoEngine::Null,
        ..Io::new("nothing", AccessPattern::RandomRead, RawDevicePerformance::RANDOM_BLOCK)
    };
    // No file can exist below this path.
    let mut workspace = CellWorkspace::new(Path::new("/dev/null"), 1);
    let mut stats = ThreadStats::new(Some(at_least), Arc::default(), PhaseMeter::start(None, None));
    perform(&Op::Io(job), SyncAtEnd::Call, &mut workspace, &mut stats)?;
    stats.pause_timed();
    Ok(stats.elapsed().0 as f64 / stats.operations as f64)
}

fn clock_reader() -> impl FnMut() {
    || {
        black_box(clock::now());
    }
}

fn histogram_filler() -> impl FnMut() {
    let mut latency = Latency::default();
    let mut chance = SeededRng::substream(1, "calibrate");
    // Latencies within two powers of two, like those of one request kind.
    let values: Vec<u64> = (0..64).map(|_| 10_000 + chance.below(30_000)).collect();
    let mut next = 0;
    move || {
        latency.record(values[next % values.len()]);
        next += 1;
    }
}

fn marker() -> impl FnMut() {
    let mut pattern = Pattern::new(1, REQUEST);
    let mut offset = 0;
    move || {
        black_box(pattern.fill(ORIGIN, offset, REQUEST));
        offset += REQUEST as u64;
    }
}

fn verifier() -> impl FnMut() {
    let mut pattern = Pattern::new(1, REQUEST);
    let data = pattern.fill(ORIGIN, 0, REQUEST).to_vec();
    move || {
        let found = pattern.check(ORIGIN, 0, black_box(&data));
        found.expect("data matches its pattern");
    }
}

/// Measures the nanoseconds per call of a function, called repeatedly for at least the given time.
fn nanoseconds(at_least: Nanos, mut thing: impl FnMut()) -> f64 {
    per_call(at_least, || {
        for _ in 0..BATCH {
            thing();
        }
    }) / BATCH as f64
}

/// Measures bytes per second of a function that processes one request of data per call.
fn bytes_per_second(at_least: Nanos, thing: impl FnMut()) -> f64 {
    1e9 * REQUEST as f64 / per_call(at_least, thing)
}

fn per_call(at_least: Nanos, mut call: impl FnMut()) -> f64 {
    // Uncounted warm-up call, so that memory and caches are in their later state.
    call();
    let start = clock::now();
    let mut calls = 0_u64;
    loop {
        call();
        calls += 1;
        let elapsed = clock::since(start);
        if elapsed >= at_least && elapsed.0 > 0 {
            return elapsed.0 as f64 / calls as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_has_the_requested_repetitions() {
        let cost = overhead(3, Nanos(100_000)).unwrap();
        for result in [cost.operation, cost.clock, cost.histogram, cost.marking, cost.verification]
        {
            assert_eq!(result.repetitions, 3);
            assert!(result.min > 0.0, "{result:?}");
        }
    }

    #[test]
    fn calls_repeat_until_the_time_has_elapsed() {
        let mut calls = 0_u32;
        let cost = per_call(Nanos(200_000), || calls += 1);
        assert!(calls >= 2, "one for nothing, one that counts");
        assert!(cost * f64::from(calls) >= 200_000.0);
        let mut once = 0_u32;
        per_call(Nanos(0), || once += 1);
        assert!(once >= 2);
    }
}
