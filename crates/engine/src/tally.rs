//! Counts what an operation does: calls, bytes, latency; says when its measured part begins, and when
//! its time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;
use model::{Bytes, LatencyBucket, Nanos, PhaseResult};
use sys::clock;

use crate::meter::Meter;

/// Longest latency that is told from longer ones: an hour.
const LONGEST: u64 = 3_600_000_000_000;
/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;

/// How far an operation has come; shared with whoever watches.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Operations done since the phase began.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Operations planned, where that is known.
    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|&n| n > 0)
    }

    /// Begins to count anew.
    pub fn restart(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }
}

/// What one thread has done in a phase.
#[derive(Debug)]
pub struct Tally {
    /// Operations done.
    pub operations: u64,
    /// Bytes moved, either way; each once where it is read and written back.
    pub bytes: u64,
    /// Of these, bytes written.
    pub bytes_written: u64,
    /// Whether the time limit came before the end.
    pub cut_short: bool,
    latency: Histogram<u64>,
    last: Nanos,
    at_most: Option<Nanos>,
    deadline: Option<Nanos>,
    progress: Arc<Progress>,
    /// Absent in the tally of a further thread.
    meter: Option<Meter>,
}

impl Tally {
    /// An empty tally of a phase that the meter measures.
    pub fn new(at_most: Option<Nanos>, progress: Arc<Progress>, meter: Meter) -> Self {
        Self {
            operations: 0,
            bytes: 0,
            bytes_written: 0,
            cut_short: false,
            latency: Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are valid"),
            last: Nanos(0),
            at_most,
            deadline: None,
            progress,
            meter: Some(meter),
        }
    }

    /// The preparation is done and the measured part begins, of so many operations: the only call
    /// that stands between making up names, sizes and data and the first system call.
    pub fn begin(&mut self, operations: u64) {
        self.progress.total.store(operations, Ordering::Relaxed);
        if let Some(meter) = &mut self.meter {
            meter.restart();
        }
        self.last = clock::now();
        self.deadline = self.at_most.map(|limit| Nanos(self.last.0 + limit.0));
    }

    /// The measured part is over: writes down what was counted.
    pub fn end(&self, result: &mut PhaseResult) {
        if let Some(meter) = &self.meter {
            meter.stop(None, result);
        }
        result.operations = self.operations;
        result.bytes = Bytes(self.bytes);
        result.bytes_written = Bytes(self.bytes_written);
        result.cut_short = self.cut_short;
        result.latency = self.latency_buckets();
    }

    /// A tally of the same phase for a further thread.
    pub fn fork(&self) -> Self {
        Self {
            operations: 0,
            bytes: 0,
            bytes_written: 0,
            cut_short: false,
            latency: Histogram::new_from(&self.latency),
            last: clock::now(),
            at_most: self.at_most,
            deadline: self.deadline,
            progress: Arc::clone(&self.progress),
            meter: None,
        }
    }

    /// Adds what another thread has done.
    pub fn join(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.bytes_written += other.bytes_written;
        self.cut_short |= other.cut_short;
        self.latency
            .add(&other.latency)
            .expect("both have the same bounds");
    }

    /// Counts an operation that ended now and began when the one before it ended: one clock reading
    /// for each operation.
    pub fn lap(&mut self) {
        let now = clock::now();
        self.latency.saturating_record(now.0 - self.last.0);
        self.last = now;
        self.operations += 1;
        self.progress.done.fetch_add(1, Ordering::Relaxed);
    }

    /// [`Tally::lap`] for an operation that read bytes.
    pub fn lap_read(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.lap();
    }

    /// [`Tally::lap`] for an operation that wrote bytes.
    pub fn lap_written(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.bytes_written += bytes as u64;
        self.lap();
    }

    /// Whether the phase's time is over; remembers that it was cut short.
    pub fn out_of_time(&mut self) -> bool {
        let over = self.deadline.is_some_and(|deadline| self.last >= deadline);
        self.cut_short |= over;
        over
    }

    /// The latencies counted so far, ascending, empty buckets left out.
    fn latency_buckets(&self) -> Vec<LatencyBucket> {
        self.latency
            .iter_recorded()
            .map(|step| {
                LatencyBucket(
                    Nanos(step.value_iterated_to()),
                    step.count_since_last_iteration(),
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let mut first = Tally::new(None, Arc::default(), Meter::start(None, None));
        let mut second = first.fork();
        first.lap_read(10);
        second.lap_written(5);
        second.lap();
        first.join(&second);
        assert_eq!(
            (first.operations, first.bytes, first.bytes_written),
            (3, 15, 5)
        );
        assert_eq!(first.latency_buckets().iter().map(|b| b.1).sum::<u64>(), 3);
        assert_eq!(first.progress.done(), 3);
    }

    #[test]
    fn time_is_over_only_where_there_is_a_limit() {
        let mut endless = Tally::new(None, Arc::default(), Meter::start(None, None));
        endless.lap();
        assert!(!endless.out_of_time() && !endless.cut_short);
        let mut none_left = Tally::new(Some(Nanos(0)), Arc::default(), Meter::start(None, None));
        none_left.begin(1);
        none_left.lap();
        assert!(none_left.out_of_time() && none_left.cut_short);
    }
}
