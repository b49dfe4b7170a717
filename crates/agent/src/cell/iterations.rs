//! Decides whether to repeat a phase because it was too short to time or because its passes differ
//! too much. Pure: the inputs are the results of the passes and the elapsed time.

use model::{Iteration, IterationPolicy, Nanos};

/// Finished passes of a phase, with the limits for more.
#[derive(Debug)]
pub struct Iterations {
    scaling: Option<IterationPolicy>,
    done: Vec<Iteration>,
}

impl Iterations {
    /// Creates an empty list of passes. Without `scaling`, the phase has a single pass.
    pub fn new(scaling: Option<IterationPolicy>) -> Self {
        Self { scaling, done: Vec::new() }
    }

    /// Adds a finished pass.
    pub fn add(&mut self, pass: Iteration) {
        self.done.push(pass);
    }

    /// Returns true if another pass is needed, given the time since the start of the first,
    /// including preparation.
    ///
    /// A single pass of sufficient length is enough: its operations are already averaged, and the
    /// round is the replicate.
    pub fn needs_more(&self, since_first: Nanos) -> bool {
        let Some(scaling) = &self.scaling else {
            return false;
        };
        if self.done.len() >= scaling.passes as usize || since_first >= scaling.limit {
            return false;
        }
        let timed: u64 = self.done.iter().map(|pass| pass.elapsed.0).sum();
        let too_wide = || self.done.len() > 1 && self.half_width() > scaling.width;
        timed < scaling.at_least.0 || too_wide()
    }

    /// Returns the passes if the phase has more than one.
    pub fn several(self) -> Vec<Iteration> {
        if self.done.len() > 1 { self.done } else { Vec::new() }
    }

    /// Half the width of the 95 % interval of the passes' mean rate, as a share of that mean, by
    /// Student's t distribution: t · s / √n.
    fn half_width(&self) -> f64 {
        let rates: Vec<f64> = self.done.iter().map(rate).collect();
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        student(rates.len() - 1) * deviation / count.sqrt() / mean
    }
}

/// Rate of a pass per second: bytes if it moved any, otherwise operations, otherwise passes.
fn rate(pass: &Iteration) -> f64 {
    let work = [pass.bytes.0, pass.operations, 1];
    let work = work.into_iter().find(|work| *work > 0).unwrap_or(1);
    // A clock that did not advance gives a huge rate instead of an infinite one.
    work as f64 / pass.elapsed.0.max(1) as f64 * 1e9
}

/// The 97.5 % quantile of Student's t distribution, by degrees of freedom from 1.
///
/// Source: NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2; beyond it the first term
/// of Cornish and Fisher's expansion, which is within 0.001 there.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    const NORMAL: f64 = 1.959_964;
    match freedom {
        0 => f64::INFINITY,
        n if n <= TABLE.len() => TABLE[n - 1],
        n => NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * n as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use proptest::prelude::*;

    const MILLISECOND: u64 = 1_000_000;

    fn scaling() -> IterationPolicy {
        IterationPolicy {
            at_least: Nanos(10 * MILLISECOND),
            width: 0.1,
            passes: 20,
            limit: Nanos(1000 * MILLISECOND),
        }
    }

    fn passes(walls: &[u64]) -> Iterations {
        let mut passes = Iterations::new(Some(scaling()));
        for wall in walls {
            passes.add(Iteration { elapsed: Nanos(*wall), operations: 7, bytes: Bytes(4096) });
        }
        passes
    }

    #[test]
    fn a_pass_that_is_long_enough_is_enough() {
        assert!(!passes(&[10 * MILLISECOND]).needs_more(Nanos(0)));
        assert!(passes(&[10 * MILLISECOND - 1]).needs_more(Nanos(0)));
        assert!(passes(&[10 * MILLISECOND]).several().is_empty());
    }

    #[test]
    fn one_pass_without_scaling() {
        let mut once = Iterations::new(None);
        once.add(Iteration { elapsed: Nanos(1), operations: 0, bytes: Bytes(0) });
        assert!(!once.needs_more(Nanos(0)));
    }

    #[test]
    fn passes_that_differ_want_more_and_passes_that_agree_do_not() {
        let agree = passes(&[4 * MILLISECOND; 3]);
        assert!(!agree.needs_more(Nanos(0)));
        assert_eq!(agree.several().len(), 3);
        let differ = passes(&[4 * MILLISECOND, 8 * MILLISECOND, 4 * MILLISECOND]);
        assert!(differ.needs_more(Nanos(0)));
    }

    #[test]
    fn the_interval_of_three_rates_by_hand() {
        // Rates 90, 100, 110: mean 100, s = 10, t = 4.303: 4.303 · 10 / √3 / 100.
        let mut passes = Iterations::new(Some(scaling()));
        for bytes in [90, 100, 110] {
            passes.add(Iteration {
                elapsed: Nanos(1_000_000_000),
                operations: 1,
                bytes: Bytes(bytes),
            });
        }
        assert!((passes.half_width() - 0.248_4).abs() < 1e-4);
    }

    #[test]
    fn limits_hold_however_short_the_passes_are() {
        let short = passes(&[1; 19]);
        assert!(short.needs_more(Nanos(0)));
        assert!(!short.needs_more(scaling().limit));
        assert!(!passes(&[1; 20]).needs_more(Nanos(0)), "so many passes");
        assert!(passes(&[0]).needs_more(Nanos(0)), "stopped clock");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in
            [(1, 12.706), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980)]
        {
            assert!((student(freedom) - quantile).abs() < 2e-3, "{freedom}");
        }
    }

    proptest! {
        #[test]
        fn more_passes_need_a_reason_and_are_limited(walls in prop::collection::vec(1u64..20 * MILLISECOND, 1..40)) {
            let mut so_far = passes(&[]);
            let mut gone = 0;
            for wall in walls {
                so_far.add(Iteration { elapsed: Nanos(wall), operations: 1, bytes: Bytes(1) });
                gone += wall;
                if so_far.needs_more(Nanos(gone)) {
                    prop_assert!(so_far.done.len() < 20);
                } else {
                    let timed: u64 = so_far.done.iter().map(|p| p.elapsed.0).sum();
                    let narrow = so_far.done.len() < 2 || so_far.half_width() <= 0.1;
                    let done = timed >= 10 * MILLISECOND && narrow;
                    prop_assert!(done || so_far.done.len() >= 20 || gone >= 1000 * MILLISECOND);
                    break;
                }
            }
        }
    }
}
