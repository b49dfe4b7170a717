//! Order in which the threads of a phase visit positions, and the progress of each; pure.
//!
//! No structure here grows with the number of positions: an order can be computed in both
//! directions.

use std::ops::Range;

use crate::files::permutation::Permutation;

/// Share of one thread: a range of positions, visited in sequential or random order.
#[derive(Clone, Debug)]
pub struct VisitOrder {
    start: u64,
    length: u64,
    shuffled: Option<Permutation>,
}

impl VisitOrder {
    /// Creates the sequential order of a range.
    pub const fn sequential(range: &Range<u64>) -> Self {
        Self { start: range.start, length: range.end - range.start, shuffled: None }
    }

    /// Shuffles the positions; the seed and the purpose determine the order.
    pub fn shuffled(self, seed: u64, purpose: &str) -> Self {
        Self { shuffled: Some(Permutation::new(seed, purpose, self.length)), ..self }
    }

    /// Positions visited.
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Returns the number of a step over all threads. The steps of an order follow those of the
    /// previous order.
    pub const fn ordinal(&self, step: u64) -> u64 {
        self.start + step
    }

    /// Returns the position visited at a step.
    pub fn position(&self, step: u64) -> u64 {
        let within = self.shuffled.as_ref().map_or(step, |p| p.item(step));
        self.start + within
    }

    fn step(&self, position: u64) -> u64 {
        let within = position - self.start;
        self.shuffled.as_ref().map_or(within, |p| p.place(within))
    }
}

/// Splits `0..total` evenly; the first ranges get one more if it does not divide evenly.
pub fn split_evenly(total: u64, threads: u32) -> Vec<Range<u64>> {
    let threads = u64::from(threads.max(1));
    let start = |i: u64| total / threads * i + i.min(total % threads);
    (0..threads).map(|i| start(i)..start(i + 1)).collect()
}

/// Progress of the threads of a phase along their orders.
#[derive(Clone, Debug, Default)]
pub struct VisitProgress {
    orders: Vec<VisitOrder>,
    done: Vec<u64>,
}

impl VisitProgress {
    /// Creates a part from visit orders and the number of finished steps in each.
    pub fn new(orders: Vec<VisitOrder>, done: Vec<u64>) -> Self {
        Self { orders, done }
    }

    /// Returns true if all visits were completed.
    pub fn is_whole(&self) -> bool {
        self.orders.iter().zip(&self.done).all(|(t, &d)| t.len() == d)
    }

    /// Returns true if a position was visited.
    pub fn contains(&self, position: u64) -> bool {
        let after = self.orders.partition_point(|t| t.start <= position);
        // Empty orders start at the same position as the next order.
        let Some(i) = after.checked_sub(1) else {
            return false;
        };
        let order = &self.orders[i];
        position - order.start < order.length && order.step(position) < self.done[i]
    }

    /// Returns the visited ordinals and positions, thread after thread.
    pub fn visited(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let orders = self.orders.iter().zip(&self.done);
        orders.flat_map(|(order, &done)| {
            (0..done).map(move |step| (order.ordinal(step), order.position(step)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_cover_everything_once(total in 0u64..10_000, threads in 1u32..100) {
            let shares = split_evenly(total, threads);
            prop_assert_eq!(shares.len(), threads as usize);
            prop_assert_eq!(shares[0].start, 0);
            prop_assert_eq!(shares[shares.len() - 1].end, total);
            prop_assert!(shares.windows(2).all(|s| s[0].end == s[1].start));
            let lengths = shares.iter().map(|s| s.end - s.start);
            let (least, most) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }
}
