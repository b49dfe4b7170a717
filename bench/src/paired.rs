//! Statistics of pairs of results: the ratio of two sides and its uncertainty. Pure.

use serde::Serialize;
use stats::{Interval, median, median_interval};

/// Result of several pairs, each measured back to back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedComparison {
    /// Our median, in the unit of the result.
    pub ours: f64,
    /// The peer's median.
    pub peer: f64,
    /// Our median divided by the peer's median.
    pub ratio: f64,
    /// Smallest ratio of a pair.
    pub lowest: f64,
    /// Largest ratio of a pair.
    pub highest: f64,
    /// Confidence interval of the median ratio of all pairs, from order statistics.
    pub interval: Interval,
    /// Number of pairs.
    pub pairs: usize,
}

/// Compares pairs of (engine, peer). Returns `None` if there are no pairs or a result is not
/// positive.
pub fn compare(pairs: &[(f64, f64)]) -> Option<PairedComparison> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if !pairs.iter().all(|&(a, b)| positive(a) && positive(b)) {
        return None;
    }
    let (ours, peer): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
    let (ours, peer) = (median(&ours)?, median(&peer)?);
    Some(PairedComparison {
        ours,
        peer,
        ratio: ours / peer,
        lowest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        highest: ratios.iter().copied().fold(0.0, f64::max),
        interval: median_interval(&ratios)?,
        pairs: pairs.len(),
    })
}

/// Returns the order of the sides in a round. Each side is first equally often, so that effects on
/// the next side cancel out.
pub fn order(round: usize, sides: usize) -> Vec<usize> {
    (0..sides).map(|i| (round + i) % sides).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn five_pairs_by_hand() {
        let pairs = [(10.0, 10.0), (30.0, 10.0), (20.0, 10.0), (12.0, 10.0), (14.0, 10.0)];
        let c = compare(&pairs).unwrap();
        assert_eq!((c.ours, c.peer, c.ratio), (14.0, 10.0, 1.4));
        assert_eq!((c.lowest, c.highest, c.pairs), (1.0, 3.0, 5));
        assert_eq!((c.interval.low, c.interval.high), (1.0, 3.0));
        assert_eq!(c.interval.confidence, 0.9375);
    }

    #[test]
    fn no_pairs_or_an_invalid_result_give_no_comparison() {
        assert_eq!(compare(&[]), None);
        assert_eq!(compare(&[(1.0, 0.0)]), None);
        assert_eq!(compare(&[(f64::NAN, 1.0)]), None);
    }

    proptest! {
        #[test]
        fn ratio_is_within_the_spread_and_inverts_with_the_sides(
            pairs in prop::collection::vec((0.001f64..1e12, 0.001f64..1e12), 1..20)
        ) {
            let c = compare(&pairs).unwrap();
            let slack = 1e-9;
            prop_assert!(c.lowest * (1.0 - slack) <= c.ratio);
            prop_assert!(c.ratio <= c.highest * (1.0 + slack));
            prop_assert!(c.lowest <= c.interval.low && c.interval.high <= c.highest);
            let turned: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let t = compare(&turned).unwrap();
            prop_assert!((t.ratio * c.ratio - 1.0).abs() < slack);
        }

        #[test]
        fn faster_by_a_factor_is_a_ratio_of_that_factor(
            peer in prop::collection::vec(0.001f64..1e9, 1..20), factor in 0.01f64..100.0
        ) {
            let pairs: Vec<_> = peer.iter().map(|p| (p * factor, *p)).collect();
            let c = compare(&pairs).unwrap();
            prop_assert!((c.ratio / factor - 1.0).abs() < 1e-9);
            prop_assert!((c.highest / c.lowest - 1.0).abs() < 1e-9);
        }

        #[test]
        fn every_side_is_in_every_round_and_begins_as_often(sides in 1usize..6, cycles in 1usize..4) {
            let mut firsts = vec![0; sides];
            for round in 0..sides * cycles {
                let mut order = order(round, sides);
                firsts[order[0]] += 1;
                order.sort_unstable();
                prop_assert_eq!(order, (0..sides).collect::<Vec<_>>());
            }
            prop_assert!(firsts.iter().all(|&n| n == cycles));
        }
    }
}
