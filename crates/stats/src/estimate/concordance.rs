//! Rank correlation of two series: Kendall's tau-b (M. G. Kendall, Biometrika 33, 1945). Pairs are
//! counted individually, so that pairs of many small series can be added.

use std::cmp::Ordering;

/// Counts of pairs by their order in two series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KendallCounts {
    /// Pairs in the same order in both series.
    pub concordant: u64,
    /// Pairs in opposite orders.
    pub discordant: u64,
    /// Equal in the first series only.
    tied_in_first: u64,
    /// Equal in the second series only.
    tied_in_second: u64,
}

impl KendallCounts {
    /// Counts a pair, given by the difference between its second and its first element in either
    /// series.
    pub fn add(&mut self, first: f64, second: f64) {
        let way = |difference: f64| difference.total_cmp(&0.0);
        match (way(first + 0.0), way(second + 0.0)) {
            (Ordering::Equal, Ordering::Equal) => {}
            (Ordering::Equal, _) => self.tied_in_first += 1,
            (_, Ordering::Equal) => self.tied_in_second += 1,
            (a, b) if a == b => self.concordant += 1,
            _ => self.discordant += 1,
        }
    }

    /// Returns (C − D) / √((C + D + T₁)(C + D + T₂)): 1 if all orders are the same, −1 if all are
    /// reversed; `None` if all pairs of one series are tied.
    pub fn tau_b(&self) -> Option<f64> {
        let ordered = self.concordant + self.discordant;
        let all = |tied: u64| (ordered + tied) as f64;
        let whole = (all(self.tied_in_first) * all(self.tied_in_second)).sqrt();
        let more = self.concordant as f64 - self.discordant as f64;
        (whole > 0.0).then(|| more / whole)
    }
}

/// Returns Kendall's tau-b over several pairs of series; only pairs within one series are compared.
/// 1 if all orders are the same, −1 if all are reversed; `None` if all pairs of one side are tied.
/// (M. G. Kendall, Biometrika 33, 1945.)
pub fn tau_b(series: impl IntoIterator<Item = Vec<(f64, f64)>>) -> Option<f64> {
    let mut counted = KendallCounts::default();
    for pairs in series {
        for (place, a) in pairs.iter().enumerate() {
            for b in &pairs[place + 1..] {
                counted.add(b.0 - a.0, b.1 - a.1);
            }
        }
    }
    counted.tau_b()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: &[f64], second: &[f64]) -> KendallCounts {
        let mut counted = KendallCounts::default();
        for a in 0..first.len() {
            for b in a + 1..first.len() {
                counted.add(first[b] - first[a], second[b] - second[a]);
            }
        }
        counted
    }

    #[test]
    fn known_values() {
        let rising = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(of(&rising, &[2.0, 3.0, 5.0, 9.0]).tau_b(), Some(1.0));
        assert_eq!(of(&rising, &[4.0, 3.0, 2.0, 1.0]).tau_b(), Some(-1.0));
        // 1 of 6 pairs is reversed.
        assert_eq!(of(&rising, &[1.0, 3.0, 2.0, 4.0]).tau_b(), Some(4.0 / 6.0));
        // One pair is tied in the second series: 5 / √(6 · 5).
        let tied = of(&rising, &[1.0, 2.0, 2.0, 3.0]).tau_b().unwrap();
        assert!((tied - 5.0 / 30.0f64.sqrt()).abs() < 1e-12, "{tied}");
        assert_eq!(of(&rising, &[7.0; 4]).tau_b(), None);
        assert_eq!(of(&[], &[]).tau_b(), None);
    }
}
