//! A latency histogram with three significant digits, optimised for the innermost loop.
//!
//! The buckets are those of an HDR histogram (G. Tene, HdrHistogram) with three digits, a lowest
//! value of 1 ns and no maximum: 2048 of one nanosecond, then 1024 for each further power of two.
//! Finding a bucket needs one count of leading zeros and one shift, without range checks.

use model::{LatencyBucket, Nanos};

/// Binary logarithm of the number of buckets per power of two: 1024 buckets give three significant
/// digits.
const FINE: u32 = 10;
/// Number of powers of two with 1024 buckets each, in addition to the first 2048 buckets.
const POWERS: usize = (u64::BITS - FINE - 1) as usize;

/// Number of buckets.
pub const BUCKETS: usize = (POWERS + 2) << FINE;

/// Histogram of latencies. Pages of it without any latency take no memory.
#[derive(Clone, Debug)]
pub struct Latency {
    counts: Vec<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS] }
    }
}

impl Latency {
    /// Adds one operation with the given latency in nanoseconds, and returns its bucket.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) -> usize {
        let bucket = bucket_of(nanoseconds);
        self.counts[bucket] += 1;
        bucket
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            // Write only nonzero counts, so that the other pages stay unallocated.
            if *count > 0 {
                *sum += count;
            }
        }
    }

    /// Returns the filled buckets in ascending order, each with its longest latency.
    pub fn buckets(&self) -> Vec<LatencyBucket> {
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(|(i, n)| LatencyBucket(Nanos(longest_in(i)), *n)).collect()
    }
}

/// Returns the bucket of a latency.
#[inline]
const fn bucket_of(nanoseconds: u64) -> usize {
    let power = u64::BITS - 1 - FINE - (nanoseconds | ((2 << FINE) - 1)).leading_zeros();
    ((power as usize) << FINE) + (nanoseconds >> power) as usize
}

/// Returns the longest latency of a bucket, in nanoseconds.
pub const fn longest_in(bucket: usize) -> u64 {
    let power = (bucket >> FINE).saturating_sub(1);
    let fine = (bucket - (power << FINE)) as u64;
    // The end of the last bucket does not fit into 64 bits.
    (((fine + 1) as u128) << power).wrapping_sub(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_those_of_an_hdr_histogram(
            values in proptest::collection::vec((0u32..42, any::<u64>()), 1..50),
        ) {
            let mut ours = Latency::default();
            let mut theirs = Histogram::<u64>::new_with_bounds(1, 1 << 50, 3).unwrap();
            for (power, value) in values {
                let value = value % (2 << power);
                ours.record(value);
                theirs.record(value).unwrap();
            }
            let steps = theirs.iter_recorded();
            let expected: Vec<LatencyBucket> = steps
                .map(|s| LatencyBucket(Nanos(s.value_iterated_to()), s.count_since_last_iteration()))
                .collect();
            prop_assert_eq!(ours.buckets(), expected);
        }
    }

    #[test]
    fn even_the_longest_time_has_a_bucket() {
        let mut latency = Latency::default();
        latency.record(u64::MAX);
        latency.record(0);
        let mut twice = latency.clone();
        twice.add(&latency);
        let expected = [(0, 2), (u64::MAX, 2)].map(|(t, n)| LatencyBucket(Nanos(t), n));
        assert_eq!(twice.buckets(), expected);
    }
}
