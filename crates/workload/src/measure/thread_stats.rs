//! Counts the calls, bytes and latencies of an operation, and defines the start and time limit of
//! its timed part.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Bytes, LatencyBucket, Nanos, PhaseResult};
use nix::unistd::close;
use sys::io::clock;

use crate::error::{OpContext, OpError};
use crate::hosts::HostShare;
use crate::measure::interval_recorder::IntervalRecorder;
use crate::measure::latency::Latency;
use crate::measure::meter::PhaseMeter;
use crate::workspace::CommandFacts;

/// Shortest phase whose values over time are kept.
const SHORTEST_TIMELINE: Nanos = Nanos::from_secs(10);

/// Interval at which a thread publishes its progress: short enough for a progress bar, long enough
/// to avoid contention on the counter.
const PROGRESS_INTERVAL: Nanos = Nanos(10_000_000);

/// Progress of an operation, shared with observers.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    /// Start of the timed part, in nanoseconds.
    begun: AtomicU64,
}

impl Progress {
    /// Returns the number of operations since the start of the phase.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the planned number of operations, if known.
    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|&n| n > 0)
    }

    /// Adds finished operations.
    pub fn add(&self, operations: u64) {
        self.done.fetch_add(operations, Ordering::Relaxed);
    }

    /// Sets the planned number of operations.
    pub fn plan(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Resets both counters.
    pub fn restart(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }
}

/// Counts of one thread in a phase.
#[derive(Debug)]
pub struct ThreadStats {
    /// Operations done.
    pub operations: u64,
    /// Bytes transferred in either direction; bytes read and written back count once.
    pub bytes: u64,
    /// Bytes written, which `bytes` includes.
    pub bytes_written: u64,
    /// Bytes read and compared with the expected content.
    pub verified: u64,
    /// Intended arrivals per second in an open loop.
    pub offered_rate: Option<u64>,
    /// Whether the time limit ended the phase early.
    pub time_limited: bool,
    /// Facts from the output of a command.
    pub output: CommandFacts,
    latency: Latency,
    syncing: Latency,
    opening: Latency,
    closing: Latency,
    intervals: IntervalRecorder,
    last: Nanos,
    /// End of the last operation, even if the next one starts later.
    last_end: Nanos,
    /// `bytes` at the end of the last operation.
    bytes_at_last: u64,
    at_most: Option<Nanos>,
    /// Maximum value if there is no limit, so that one comparison handles both cases.
    deadline: Nanos,
    progress: Arc<Progress>,
    /// Operations already added to `progress`.
    published: u64,
    publish_at: Nanos,
    /// Meter of the phase; `None` for additional threads.
    meter: Option<PhaseMeter>,
    /// Share of this host, if several hosts run the phase together.
    hosts: Option<HostShare>,
}

impl ThreadStats {
    /// Creates empty statistics of a phase that the meter measures.
    pub fn new(at_most: Option<Nanos>, progress: Arc<Progress>, meter: PhaseMeter) -> Self {
        Self::empty(at_most, progress, Some(meter))
    }

    fn empty(at_most: Option<Nanos>, progress: Arc<Progress>, meter: Option<PhaseMeter>) -> Self {
        Self {
            operations: 0,
            bytes: 0,
            bytes_written: 0,
            verified: 0,
            offered_rate: None,
            time_limited: false,
            output: CommandFacts::default(),
            latency: Latency::default(),
            syncing: Latency::default(),
            opening: Latency::default(),
            closing: Latency::default(),
            intervals: IntervalRecorder::default(),
            last: Nanos(0),
            last_end: Nanos(0),
            bytes_at_last: 0,
            at_most,
            deadline: Nanos(u64::MAX),
            progress,
            published: 0,
            publish_at: Nanos(0),
            meter,
            hosts: None,
        }
    }

    /// Limits the threads to those of this host.
    #[must_use]
    pub fn on_hosts(self, hosts: Option<HostShare>) -> Self {
        Self { hosts, ..self }
    }

    /// Returns true if several hosts run the phase together.
    pub const fn has_hosts(&self) -> bool {
        self.hosts.is_some()
    }

    /// Returns true if the first host runs the phase here, or the only one.
    pub fn is_first_host(&self) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.rank.number == 0)
    }

    /// Returns the threads that run on this host, of `threads` in total.
    pub fn local_threads(&self, threads: u32) -> Range<u32> {
        self.hosts.as_ref().map_or(0..threads, |hosts| hosts.threads(threads))
    }

    /// Waits until the other hosts are ready. Called right before [`Self::start_timed`].
    ///
    /// # Errors
    /// Returns an error if a host is lost.
    pub fn wait_for_hosts(&self) -> Result<(), OpError> {
        self.hosts.as_ref().map_or(Ok(()), |hosts| hosts.barrier.start())
    }

    /// Ends the timed part of this host, and waits for the other hosts. Takes the operations of the
    /// threads of this host, and returns those of all threads.
    ///
    /// # Errors
    /// Returns an error if the data cannot be synced, or if a host is lost.
    pub fn finish_with_hosts(&mut self, first: u32, done: Vec<u64>) -> Result<Vec<u64>, OpError> {
        let Some(hosts) = self.hosts.clone() else {
            return Ok(done);
        };
        let synced = hosts.sync();
        self.pause_timed();
        synced?;
        hosts.barrier.finish(first, &done)
    }

    /// Starts a timed part of `operations` operations. Must be called after all names, sizes and
    /// data are prepared, right before the first system call. The time limit applies to this part.
    pub fn start_timed(&mut self, operations: u64) {
        let planned = self.operations + operations;
        self.progress.total.store(planned, Ordering::Relaxed);
        if let Some(meter) = &mut self.meter {
            meter.restart();
        }
        let begun = clock::now();
        self.progress.begun.store(begun.0, Ordering::Relaxed);
        self.start_at(begun);
    }

    /// Ends a timed part. Work until the next [`Self::start_timed`] is not counted, so that a phase can
    /// be repeated with untimed work in between. Results are sums over the parts.
    pub fn pause_timed(&mut self) {
        if let Some(meter) = &mut self.meter {
            meter.pause();
        }
        self.publish(self.operations);
        self.intervals.finish(self.last_end, self.operations, self.bytes_at_last);
    }

    /// Returns the elapsed time of the finished timed parts ([`Self::pause_timed`]).
    pub fn elapsed(&self) -> Nanos {
        self.meter.as_ref().map_or(Nanos(0), PhaseMeter::elapsed)
    }

    /// Ends the last timed part if it is running, and stores the counts of all parts.
    pub fn finish(&mut self, result: &mut PhaseResult) {
        if let Some(meter) = &mut self.meter {
            meter.stop(None, result);
        }
        self.publish(self.operations);
        result.operations = self.operations;
        result.bytes = Bytes(self.bytes);
        result.bytes_written = Bytes(self.bytes_written);
        result.verified = Bytes(self.verified);
        result.offered_rate = self.offered_rate;
        result.time_limited = self.time_limited;
        result.unset = self.output.unset.clone();
        result.stated.clone_from(&self.output.values);
        result.latency = self.latencies();
        result.sync = self.syncing.buckets();
        result.open = self.opening.buckets();
        result.close = self.closing.buckets();
        if let [(_, ended)] = result.timed[..]
            && result.elapsed >= SHORTEST_TIMELINE
        {
            let mut timeline = self.intervals.timeline(ended);
            timeline.steady = timeline.find_steady_state(result.elapsed);
            result.timeline = Some(timeline);
        }
    }

    /// Creates statistics of the same phase for an additional thread, with the time limit of the
    /// current part.
    pub fn for_thread(&self) -> Self {
        let mut fork = Self::empty(self.at_most, Arc::clone(&self.progress), None);
        fork.last = clock::now();
        fork.deadline = self.deadline;
        fork
    }

    /// Starts the clock of statistics that were forked before the timed part began.
    pub fn start(&mut self) {
        self.start_at(clock::now());
    }

    fn start_at(&mut self, now: Nanos) {
        self.last = now;
        self.last_end = now;
        self.publish_at = now;
        let begun = Nanos(self.progress.begun.load(Ordering::Relaxed));
        self.intervals.start(begun, self.operations, self.bytes);
        self.bytes_at_last = self.bytes;
        if let Some(limit) = self.at_most {
            self.deadline = Nanos(self.last.0.saturating_add(limit.0));
        }
    }

    /// Adds the work of another thread, which has ended.
    pub fn merge(&mut self, other: &Self) {
        other.progress.add(other.operations - other.published);
        self.operations += other.operations;
        self.published += other.operations;
        self.bytes += other.bytes;
        self.bytes_written += other.bytes_written;
        self.verified += other.verified;
        self.time_limited |= other.time_limited;
        self.latency.add(&other.latency);
        self.syncing.add(&other.syncing);
        let mut intervals = other.intervals.clone();
        intervals.finish(other.last_end, other.operations, other.bytes_at_last);
        self.intervals.merge(intervals);
        self.intervals.leave_out(other.operations, self.bytes - self.bytes_at_last);
        self.bytes_at_last = self.bytes;
    }

    /// Records the time of a sync that is part of an operation.
    pub fn record_sync(&mut self, nanoseconds: u64) {
        self.syncing.record(nanoseconds);
    }

    /// Opens a file for requests and records the duration of the call separately.
    ///
    /// # Errors
    /// Returns an error if opening fails.
    pub fn record_open<T>(
        &mut self,
        open: impl FnOnce() -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        let begun = clock::now();
        let opened = open()?;
        self.opening.record(clock::since(begun).0);
        Ok(opened)
    }

    /// Closes a file after its requests and records the duration of the call separately.
    ///
    /// # Errors
    /// Returns an error if the filesystem reports a delayed error.
    pub fn record_close(&mut self, file: impl Into<OwnedFd>, path: &Path) -> Result<(), OpError> {
        let begun = clock::now();
        close(file.into()).with_call("close", path)?;
        self.closing.record(clock::since(begun).0);
        Ok(())
    }

    /// Returns the end of the previous operation, or the start of the timed part.
    pub const fn last(&self) -> Nanos {
        self.last
    }

    /// Counts an operation that ends now and started at the end of the previous one. This needs one
    /// clock reading per operation.
    #[inline]
    pub fn finish_op(&mut self) {
        let now = clock::now();
        self.record(self.last, now);
    }

    /// Counts operations of another program, whose latencies are unknown.
    pub fn count(&mut self, operations: u64) {
        self.last = clock::now();
        self.operations += operations;
        self.intervals.leave_out(operations, 0);
        self.publish(self.operations);
    }

    /// Counts an operation with its start and end time. The end time is also compared with the time
    /// limit.
    #[inline]
    pub fn record(&mut self, began: Nanos, ended: Nanos) {
        if ended >= self.publish_at {
            self.enter_interval(ended);
        }
        let bucket = self.latency.record(ended.0.saturating_sub(began.0));
        self.intervals.record(bucket);
        self.last = ended;
        self.last_end = ended;
        self.bytes_at_last = self.bytes;
        self.operations += 1;
    }

    /// Does the same as [`ThreadStats::finish_op`] for an operation that read bytes.
    #[inline]
    pub fn finish_read(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.finish_op();
    }

    /// Does the same as [`ThreadStats::finish_op`] for an operation that wrote bytes.
    #[inline]
    pub fn finish_write(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.bytes_written += bytes as u64;
        self.finish_op();
    }

    /// Sets the start of the operation that the next [`ThreadStats::finish_op`] finishes: the start of the
    /// timed part if opening a file belongs to its first request, or the intended start in an open
    /// loop.
    pub const fn set_op_start(&mut self, at: Nanos) {
        self.last = at;
    }

    /// Returns true if the time limit is reached before an operation that starts at `at`, and marks
    /// the phase as cut short.
    #[inline]
    pub const fn is_time_up_at(&mut self, at: Nanos) -> bool {
        let over = at.0 >= self.deadline.0;
        self.time_limited |= over;
        over
    }

    /// Returns the latencies counted so far in ascending order, without empty buckets.
    pub fn latencies(&self) -> Vec<LatencyBucket> {
        self.latency.buckets()
    }

    /// Returns true if the time limit has been reached, and marks the phase as cut short.
    #[inline]
    pub const fn is_time_up(&mut self) -> bool {
        let over = self.last.0 >= self.deadline.0;
        self.time_limited |= over;
        over
    }

    /// Publishes the progress, and closes the interval if the operation that ends now is after it.
    #[cold]
    fn enter_interval(&mut self, ended: Nanos) {
        self.publish(self.operations + 1);
        self.intervals.advance(ended, self.last_end, self.operations, self.bytes_at_last);
        let next = Nanos(ended.0 + PROGRESS_INTERVAL.0);
        self.publish_at = next.min(self.intervals.end());
    }

    fn publish(&mut self, operations: u64) {
        self.progress.add(operations - self.published);
        self.published = operations;
    }
}

/// Totals of a group of threads in a phase.
#[derive(Clone, Debug, Default)]
pub struct ThreadTotals {
    operations: u64,
    bytes: u64,
    bytes_written: u64,
    verified: u64,
    cut_short: bool,
    latency: Latency,
    syncing: Latency,
}

impl ThreadTotals {
    /// Adds the work of one thread.
    pub fn add(&mut self, thread: &ThreadStats) {
        self.operations += thread.operations;
        self.bytes += thread.bytes;
        self.bytes_written += thread.bytes_written;
        self.verified += thread.verified;
        self.cut_short |= thread.time_limited;
        self.latency.add(&thread.latency);
        self.syncing.add(&thread.syncing);
    }

    /// Writes the totals into a result.
    pub fn write(&self, result: &mut PhaseResult) {
        result.operations = self.operations;
        result.bytes = Bytes(self.bytes);
        result.bytes_written = Bytes(self.bytes_written);
        result.verified = Bytes(self.verified);
        result.time_limited = self.cut_short;
        result.latency = self.latency.buckets();
        result.sync = self.syncing.buckets();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(at_most: Option<Nanos>) -> ThreadStats {
        ThreadStats::new(at_most, Arc::default(), PhaseMeter::start(None, None))
    }

    #[test]
    fn threads_add_up() {
        let mut first = stats(None);
        let mut second = first.for_thread();
        first.finish_read(10);
        second.finish_write(5);
        second.finish_op();
        first.merge(&second);
        assert_eq!((first.operations, first.bytes, first.bytes_written), (3, 15, 5));
        let counted: u64 = first.latency.buckets().iter().map(|b| b.1).sum();
        assert_eq!(counted, 3);
        first.pause_timed();
        assert_eq!(first.progress.done(), 3);
    }

    #[test]
    fn progress_is_published_rarely_and_completely_at_the_end() {
        let mut stats = stats(None);
        stats.start_timed(5);
        let begun = stats.last();
        for i in 1..=4 {
            stats.record(begun, Nanos(begun.0 + i));
        }
        assert_eq!(stats.progress.done(), 1, "the first operation is published");
        stats.record(begun, Nanos(begun.0 + 1 + PROGRESS_INTERVAL.0));
        assert_eq!(stats.progress.done(), 5);
        stats.finish_op();
        stats.pause_timed();
        assert_eq!(stats.progress.done(), 6);
        stats.start_timed(4);
        assert_eq!(stats.progress.total(), Some(10));
    }

    #[test]
    fn parts_are_summed_up() {
        let mut stats = stats(None);
        stats.start_timed(1);
        stats.finish_read(7);
        stats.pause_timed();
        let first = stats.elapsed();
        stats.start_timed(1);
        stats.finish_read(7);
        stats.pause_timed();
        assert!(stats.elapsed() > first);
        assert_eq!((stats.operations, stats.bytes), (2, 14));
    }

    #[test]
    fn latency_counts_from_the_intended_start() {
        let mut stats = stats(None);
        stats.start_timed(1);
        let late_by = 5_000_000_000;
        stats.set_op_start(Nanos(stats.last().0 - late_by));
        stats.finish_op();
        assert!(stats.latency.buckets()[0].0.0 >= late_by);
    }

    #[test]
    fn a_pause_before_an_operation_is_part_of_a_stall() {
        let mut stats = stats(None);
        stats.start_timed(3);
        let begun = stats.last();
        let after = |ms: u64| Nanos(begun.0 + ms * 1_000_000);
        stats.record(begun, after(1));
        stats.set_op_start(after(4_000));
        stats.record(after(4_000), after(4_001));
        let ended = after(4_001);
        stats.intervals.finish(stats.last_end, stats.operations, 0);
        let stall = stats.intervals.timeline(ended).stall.unwrap();
        assert_eq!((stall.at, stall.length), (Nanos(1_000_000), Nanos(4_000_000_000)));
    }

    #[test]
    fn time_runs_out_only_with_a_limit() {
        let mut endless = stats(None);
        endless.finish_op();
        assert!(!endless.is_time_up() && !endless.time_limited);
        let mut none_left = stats(Some(Nanos(0)));
        none_left.start_timed(1);
        none_left.finish_op();
        assert!(none_left.is_time_up() && none_left.time_limited);
    }
}
