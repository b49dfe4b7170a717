//! The knee of a curve of throughput over concurrency. Pure.
//!
//! Uses the asymptotic bounds of operational analysis (P. J. Denning, J. P. Buzen, The Operational
//! Analysis of Queueing Network Models, ACM Computing Surveys 10(3), 1978): at concurrency N,
//! throughput is at most N times that at 1, and at most the capacity of the busiest resource. The
//! two bounds cross at N* = X_max / X_1; at higher concurrency some operation always waits.

use serde::Serialize;

/// Share of the maximum throughput that is good enough: higher concurrency gains little.
pub const ENOUGH: f64 = 0.9;

/// The knee of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// Throughput at concurrency 1, in the metric's unit.
    #[serde(rename = "one")]
    pub single_throughput: f64,
    /// The largest throughput.
    #[serde(rename = "most")]
    pub max_throughput: f64,
    /// The smallest concurrency with the largest throughput.
    #[serde(rename = "most_at")]
    pub concurrency_at_max: u64,
    /// N*: the concurrency at which the bounds cross.
    pub crossing: f64,
    /// The smallest concurrency that reaches [`ENOUGH`] of the maximum.
    pub enough_at: u64,
    /// Whether the curve still rises at its end, so that the maximum may be beyond its last point.
    pub still_rising: bool,
}

/// Returns the knee of a curve of concurrency and throughput, in rising order of concurrency.
/// Returns `None` if throughput at 1 is unknown or not above 0, or if there are fewer than two
/// points.
pub fn knee(curve: &[(u64, f64)]) -> Option<Knee> {
    let (first, one) = *curve.first()?;
    if first != 1 || one <= 0.0 || curve.len() < 2 {
        return None;
    }
    let (most_at, most) =
        curve.iter().copied().reduce(|best, point| if point.1 > best.1 { point } else { best })?;
    let enough = curve.iter().find(|(_, x)| *x >= ENOUGH * most)?;
    let last = curve[curve.len() - 1].0;
    Some(Knee {
        single_throughput: one,
        max_throughput: most,
        concurrency_at_max: most_at,
        crossing: most / one,
        enough_at: enough.0,
        still_rising: enough.0 == last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREADS: [u64; 6] = [1, 2, 4, 8, 16, 32];

    /// Returns a curve along its bounds: linear up to the capacity, then flat.
    fn bounded(one: f64, capacity: f64) -> Vec<(u64, f64)> {
        let at = |n: u64| (n, (n as f64 * one).min(capacity));
        THREADS.map(at).to_vec()
    }

    #[test]
    fn a_curve_along_its_bounds_has_its_knee_at_their_crossing() {
        let knee = knee(&bounded(100.0, 600.0)).unwrap();
        assert_eq!(
            (knee.single_throughput, knee.max_throughput, knee.concurrency_at_max),
            (100.0, 600.0, 8)
        );
        assert_eq!((knee.crossing, knee.enough_at), (6.0, 8));
        assert!(!knee.still_rising);
    }

    #[test]
    fn a_curve_that_never_flattens_is_still_rising() {
        let knee = knee(&bounded(100.0, 1e9)).unwrap();
        assert!(knee.still_rising && knee.concurrency_at_max == 32 && knee.crossing == 32.0);
    }

    #[test]
    fn a_curve_that_falls_from_the_beginning_bends_at_one() {
        let falling = [(1, 100.0), (2, 80.0), (4, 60.0)];
        let knee = knee(&falling).unwrap();
        assert_eq!((knee.crossing, knee.concurrency_at_max, knee.enough_at), (1.0, 1, 1));
    }

    #[test]
    fn a_closed_queue_of_two_equal_stations_by_hand() {
        // Two balanced stations of 1 s each: X(N) = N / (N + 1) by mean value analysis.
        let curve: Vec<(u64, f64)> = THREADS.map(|n| (n, n as f64 / (n as f64 + 1.0))).to_vec();
        let knee = knee(&curve).unwrap();
        // 90 % of 32/33 is below 8/9.
        assert_eq!((knee.concurrency_at_max, knee.enough_at), (32, 8));
        assert!((knee.crossing - 64.0 / 33.0).abs() < 1e-12);
    }

    #[test]
    fn a_curve_without_throughput_at_one_has_no_knee() {
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[(1, 5.0)]), None);
        assert_eq!(knee(&[(2, 5.0), (4, 6.0)]), None);
        assert_eq!(knee(&[(1, 0.0), (2, 6.0)]), None);
    }

    proptest! {
        #[test]
        fn the_crossing_is_on_both_bounds(one in 0.1..1e6f64, factor in 1.0..32.0f64) {
            let knee = knee(&bounded(one, one * factor)).unwrap();
            prop_assert!((knee.crossing - factor).abs() <= 1e-9 * factor);
            prop_assert!(knee.enough_at <= knee.concurrency_at_max);
            prop_assert!(knee.enough_at as f64 >= ENOUGH * factor - 1e-9);
        }
    }
}
