//! Counts the operations of a thread in intervals of equal length, so that a long phase shows its
//! values over time.

use model::{Bytes, LatencyBucket, Nanos, Stall, Timeline, TimelineInterval};

use crate::measure::latency::{BUCKETS, longest_in};

/// Length of an interval at first.
const SHORTEST: Nanos = Nanos(100_000_000);
/// Number of intervals at which pairs of them become one: 3.4 minutes of the shortest.
const MOST: u64 = 2048;
/// Binary logarithm of the number of buckets of a latency histogram that are one bucket here: a
/// bucket is at most 1/4 of its value.
const COARSE: u32 = 8;

/// Counts of a thread, of the current interval and of those before it.
#[derive(Clone, Debug)]
pub struct IntervalRecorder {
    /// Start of the first interval.
    begun: Nanos,
    length: Nanos,
    current: u64,
    latency: Vec<u32>,
    /// Operations and bytes at the start of the current interval.
    before: (u64, u64),
    first: Option<Nanos>,
    closed: Vec<RecordedInterval>,
}

#[derive(Clone, Debug)]
struct RecordedInterval {
    counts: TimelineInterval,
    /// End of its first and of its last operation.
    first: Nanos,
    last: Nanos,
}

impl Default for IntervalRecorder {
    fn default() -> Self {
        Self {
            begun: Nanos(0),
            length: SHORTEST,
            current: 0,
            latency: vec![0; BUCKETS >> COARSE],
            before: (0, 0),
            first: None,
            closed: Vec::new(),
        }
    }
}

impl IntervalRecorder {
    /// Forgets everything, and starts the first interval.
    pub fn start(&mut self, at: Nanos, operations: u64, bytes: u64) {
        self.latency.fill(0);
        self.closed.clear();
        (self.begun, self.length, self.current) = (at, SHORTEST, 0);
        (self.before, self.first) = ((operations, bytes), None);
    }

    /// Adds an operation to the current interval, with its bucket of the latency histogram.
    #[inline]
    pub fn record(&mut self, bucket: usize) {
        self.latency[bucket >> COARSE] += 1;
    }

    /// Returns the end of the current interval.
    pub fn end(&self) -> Nanos {
        Nanos(self.begun.0.saturating_add((self.current + 1).saturating_mul(self.length.0)))
    }

    /// Closes the current interval if the next operation ends after it. `last` is the end of the
    /// last operation, `operations` and `bytes` are the sums up to that one.
    #[cold]
    pub fn advance(&mut self, next: Nanos, last: Nanos, operations: u64, bytes: u64) {
        if self.first.is_none() && operations == self.before.0 {
            self.first = Some(next);
        }
        if next < self.end() {
            return;
        }
        self.close(last, operations, bytes);
        self.current = next.0.saturating_sub(self.begun.0) / self.length.0;
        while self.current >= MOST {
            self.halve();
        }
        self.first = Some(next);
    }

    fn close(&mut self, last: Nanos, operations: u64, bytes: u64) {
        let (operations_before, bytes_before) =
            std::mem::replace(&mut self.before, (operations, bytes));
        if operations == operations_before {
            return;
        }
        let filled = self.latency.iter().enumerate().filter(|(_, count)| **count > 0);
        let latency = filled.map(|(bucket, count)| {
            let longest = longest_in(((bucket + 1) << COARSE) - 1);
            LatencyBucket(Nanos(longest), u64::from(*count))
        });
        let counts = TimelineInterval {
            index: self.current as u32,
            operations: operations - operations_before,
            bytes: Bytes(bytes - bytes_before),
            latency: latency.collect(),
        };
        self.closed.push(RecordedInterval { counts, first: self.first.unwrap_or(last), last });
        self.latency.fill(0);
    }

    /// Doubles the length of the intervals.
    fn halve(&mut self) {
        self.length.0 *= 2;
        self.current /= 2;
        for interval in &mut self.closed {
            interval.counts.index /= 2;
        }
        self.closed = joined(std::mem::take(&mut self.closed));
    }

    /// Closes the last interval.
    pub fn finish(&mut self, last: Nanos, operations: u64, bytes: u64) {
        self.close(last, operations, bytes);
        self.first = None;
    }

    /// Leaves operations and bytes out that were not recorded one by one, or in another thread.
    pub const fn leave_out(&mut self, operations: u64, bytes: u64) {
        self.before.0 += operations;
        self.before.1 += bytes;
    }

    /// Adds the finished intervals of another thread, which began at the same time.
    pub fn merge(&mut self, mut other: Self) {
        while other.length < self.length {
            other.halve();
        }
        while self.length < other.length {
            self.halve();
        }
        self.closed.append(&mut other.closed);
        self.closed.sort_by_key(|interval| interval.counts.index);
        self.closed = joined(std::mem::take(&mut self.closed));
    }

    /// Returns the intervals of a phase that ended at a time, with its longest stall. A stall that is
    /// shorter than an interval may be missed. A single operation has no values over time.
    pub fn timeline(&self, ended: Nanos) -> Timeline {
        if self.closed.iter().map(|interval| interval.counts.operations).sum::<u64>() < 2 {
            return Timeline { interval: self.length, ..Timeline::default() };
        }
        let ends = self.closed.iter().map(|interval| interval.last);
        let starts = self.closed.iter().map(|interval| interval.first).chain([ended]);
        let gaps = [self.begun].into_iter().chain(ends).zip(starts);
        let stall = gaps.map(|(from, to)| Stall {
            at: Nanos(from.0.saturating_sub(self.begun.0)),
            length: Nanos(to.0.saturating_sub(from.0)),
        });
        Timeline {
            interval: self.length,
            intervals: self.closed.iter().map(|interval| interval.counts.clone()).collect(),
            stall: stall.max_by_key(|stall| stall.length),
            ..Timeline::default()
        }
    }
}

/// Joins successive intervals with the same index.
fn joined(intervals: Vec<RecordedInterval>) -> Vec<RecordedInterval> {
    let mut joined: Vec<RecordedInterval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match joined.last_mut() {
            Some(last) if last.counts.index == next.counts.index => {
                last.counts.operations += next.counts.operations;
                last.counts.bytes.0 += next.counts.bytes.0;
                last.counts.latency = sum(&last.counts.latency, &next.counts.latency);
                last.first = last.first.min(next.first);
                last.last = last.last.max(next.last);
            }
            _ => joined.push(next),
        }
    }
    joined
}

/// Returns the sum of two ascending histograms with the same buckets.
fn sum(one: &[LatencyBucket], other: &[LatencyBucket]) -> Vec<LatencyBucket> {
    let mut all: Vec<LatencyBucket> = one.iter().chain(other).copied().collect();
    all.sort_by_key(|bucket| bucket.0);
    all.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::latency::Latency;

    const MS: u64 = 1_000_000;

    /// Records operations that end at these times, each with 10 bytes, and that take 1 ms.
    fn recorder(ends: &[u64], begun: u64) -> IntervalRecorder {
        let mut recorder = IntervalRecorder::default();
        let mut latency = Latency::default();
        recorder.start(Nanos(begun), 0, 0);
        let mut last = Nanos(begun);
        for (done, end) in ends.iter().enumerate() {
            let done = done as u64;
            if *end >= recorder.end().0 || done == 0 {
                recorder.advance(Nanos(*end), last, done, 10 * done);
            }
            recorder.record(latency.record(MS));
            last = Nanos(*end);
        }
        let done = ends.len() as u64;
        recorder.finish(last, done, 10 * done);
        recorder
    }

    fn operations(timeline: &Timeline) -> Vec<(u32, u64, u64)> {
        let of = |one: &TimelineInterval| (one.index, one.operations, one.bytes.0);
        timeline.intervals.iter().map(of).collect()
    }

    #[test]
    fn operations_belong_to_the_interval_in_which_they_end() {
        let begun = 7_000 * MS;
        let ends = [10, 99, 100, 450].map(|ms| begun + ms * MS);
        let timeline = recorder(&ends, begun).timeline(Nanos(begun + 500 * MS));
        assert_eq!(operations(&timeline), [(0, 2, 20), (1, 1, 10), (4, 1, 10)]);
        let stall = Stall { at: Nanos(100 * MS), length: Nanos(350 * MS) };
        assert_eq!(timeline.stall, Some(stall));
    }

    #[test]
    fn a_phase_can_stall_at_its_start_and_at_its_end() {
        let late = recorder(&[900 * MS, 910 * MS], 0).timeline(Nanos(1_000 * MS));
        assert_eq!(late.stall, Some(Stall { at: Nanos(0), length: Nanos(900 * MS) }));
        let early = recorder(&[5 * MS, 10 * MS], 0).timeline(Nanos(1_000 * MS));
        assert_eq!(early.stall, Some(Stall { at: Nanos(10 * MS), length: Nanos(990 * MS) }));
    }

    #[test]
    fn a_single_operation_is_no_stall() {
        for ends in [&[][..], &[900 * MS]] {
            let timeline = recorder(ends, 0).timeline(Nanos(1_000 * MS));
            assert_eq!((timeline.stall, timeline.intervals.len()), (None, 0));
        }
    }

    #[test]
    fn another_thread_that_works_ends_a_stall() {
        let mut one = recorder(&[10 * MS, 990 * MS], 0);
        let other = recorder(&[400 * MS], 0);
        one.merge(other);
        let timeline = one.timeline(Nanos(1_000 * MS));
        assert_eq!(operations(&timeline), [(0, 1, 10), (4, 1, 10), (9, 1, 10)]);
        assert_eq!(timeline.stall, Some(Stall { at: Nanos(400 * MS), length: Nanos(590 * MS) }));
    }

    #[test]
    fn a_long_phase_has_longer_intervals() {
        let hour = 3_600_000 * MS;
        let ends: Vec<u64> = (1..=7200).map(|i| i * hour / 7200).collect();
        let mut long = recorder(&ends, 0);
        assert_eq!(long.length, Nanos(3_200 * MS));
        assert!(long.closed.len() as u64 <= MOST);
        assert_eq!(long.closed.iter().map(|one| one.counts.operations).sum::<u64>(), 7200);
        long.merge(recorder(&[10 * MS], 0));
        assert_eq!((long.length, long.closed[0].counts.operations), (Nanos(3_200 * MS), 7));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_each_longer_stall_is_found(
            gaps in proptest::collection::vec(1u64..2_000_000, 2..300),
        ) {
            let ends: Vec<u64> = gaps.iter().scan(0, |at, gap| {
                *at += gap * 1_000;
                Some(*at)
            }).collect();
            let recorder = recorder(&ends, 0);
            let timeline = recorder.timeline(Nanos(*ends.last().unwrap()));
            let count: u64 = timeline.intervals.iter().map(|one| one.operations).sum();
            prop_assert_eq!(count, ends.len() as u64);
            for interval in &timeline.intervals {
                let in_histogram: u64 = interval.latency.iter().map(|bucket| bucket.1).sum();
                prop_assert_eq!(in_histogram, interval.operations);
            }
            let longest = 1_000 * gaps.iter().max().unwrap();
            let found = timeline.stall.unwrap().length.0;
            prop_assert!(found <= longest);
            prop_assert!(found == longest || longest <= timeline.interval.0);
        }
    }
}
