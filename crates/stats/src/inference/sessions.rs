//! Compares two series of sessions, or two contenders on several hosts.
//!
//! A campaign is a session. Its rounds cannot show effects that all of them share, such as the
//! location of files or other load in that hour, so two runs of the same campaign differ by more
//! than their rounds do. If there are several sessions, the mean of each is one value, and the
//! variation of these means decides (T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable
//! time", ISMM 2013: the repetitions of the highest level are the ones that count).

//! A host is a block: effects of the host, such as its processor and its disk, affect both
//! contenders on it. They cancel in the difference of the contenders on the host, which is one
//! value. A contender may perform better on some hosts than on others. This appears as variation of
//! the values, which decides: with H hosts, t with H − 1 degrees of freedom (R. A. Fisher, "The
//! design of experiments", 1935, randomised blocks; G. E. P. Box, J. S. Hunter and W. G. Hunter,
//! "Statistics for experimenters", 2nd ed., 2005, ch. 4).

use super::moderated::{ModeratedEstimate, prior_weight};
use super::paired::{BlockDesign, PairedResult};
use super::prior::{Prior, PriorVariance, PriorWeighting, SeriesTable};
use super::scale::{by_squares, mean_and_squares};

/// Estimates the difference in cost of each result between after and before. The values of either
/// side are means of sessions with equal noise, or of hosts, which have a value on both sides.
/// `None` if no values can be compared.
pub(super) fn estimates(
    table: SeriesTable,
    results: &[PairedResult],
    pairing: BlockDesign,
) -> Vec<Option<ModeratedEstimate>> {
    let of = match pairing {
        BlockDesign::ByHost => Sums::of_blocks,
        _ => Sums::of,
    };
    let sums: Vec<Option<Sums>> = results.iter().map(of).collect();
    let known = results.iter().zip(&sums).filter_map(|(result, sums)| {
        let sums = sums.as_ref()?;
        Some((result.row, result.contender, by_squares(sums.squares, sums.freedom)?))
    });
    let known: Vec<_> = known.collect();
    let prior = Prior::fit(table, &known, PriorWeighting::Cautious);
    let both = results.iter().zip(&sums);
    both.map(|(result, sums)| {
        let expected = prior.as_ref().map(|p| p.expected(result.row, result.contender));
        Some(sums.as_ref()?.estimate(expected, table.independent_columns * table.down))
    })
    .collect()
}

/// Sums over the sessions, or the hosts, of a result.
struct Sums {
    /// After minus before.
    difference: f64,
    /// Sum of squared deviations. For sessions, they are deviations from the mean of each side. For
    /// hosts, they are deviations of the differences from their mean.
    squares: f64,
    /// Number of sessions minus one for each side, or number of hosts minus one.
    freedom: f64,
    /// 1 divided by the sessions before plus 1 divided by the sessions after, or 1 divided by the
    /// hosts.
    inverses: f64,
}

impl Sums {
    fn of(result: &PairedResult) -> Option<Self> {
        let values = |side: &[Option<f64>]| side.iter().flatten().copied().collect::<Vec<f64>>();
        let sides = [values(&result.before), values(&result.after)];
        let counts = [sides[0].len() as f64, sides[1].len() as f64];
        let [before, after] = [mean_and_squares(&sides[0]), mean_and_squares(&sides[1])];
        (counts[0] > 0.0 && counts[1] > 0.0).then(|| Self {
            difference: after.0 - before.0,
            squares: before.1 + after.1,
            freedom: counts[0] + counts[1] - 2.0,
            inverses: 1.0 / counts[0] + 1.0 / counts[1],
        })
    }

    fn of_blocks(result: &PairedResult) -> Option<Self> {
        let both = result.before.iter().zip(&result.after);
        let differences: Vec<f64> = both.filter_map(|(a, b)| Some((*b)? - (*a)?)).collect();
        let (difference, squares) = mean_and_squares(&differences);
        (!differences.is_empty()).then(|| Self {
            difference,
            squares,
            freedom: differences.len() as f64 - 1.0,
            inverses: 1.0 / differences.len() as f64,
        })
    }

    /// Returns the estimate. The degrees of freedom stay those of the sessions, because the effect
    /// of a session is in all results. So other results cannot make the variance much more certain.
    fn estimate(&self, expected: Option<PriorVariance>, independent: f64) -> ModeratedEstimate {
        let variance = match expected {
            Some(expected) => {
                let belief = expected.freedom
                    * prior_weight(self.squares, self.freedom, expected, independent);
                (belief * expected.variance + self.squares) / (belief + self.freedom)
            }
            None if self.freedom > 0.0 => self.squares / self.freedom,
            None => f64::INFINITY,
        };
        ModeratedEstimate {
            mean: self.difference,
            variance: variance * self.inverses,
            freedom: self.freedom.max(1.0),
            is_nothing: self.difference == 0.0 && self.squares == 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::{
        BlockDesign, ComparisonResult, ComparisonVerdict, Margin, compare_pairs, overall,
    };

    fn result(row: usize, before: &[f64], after: &[f64]) -> PairedResult {
        let some = |values: &[f64]| values.iter().map(|v| Some(*v)).collect();
        PairedResult { row, test: row, contender: 0, before: some(before), after: some(after) }
    }

    /// Two sessions on each side differ by 1 %. The standard error of their difference is
    /// √(0.5·(0.01² + 0.01²)/2·(1/2 + 1/2)).
    #[test]
    fn one_result_is_a_t_test_of_its_sessions() {
        let all =
            overall(&[result(0, &[0.0, 0.01], &[0.5, 0.51])], BlockDesign::BySession, Margin(0.05));
        let compared = all[0].1.unwrap();
        assert!((compared.ratio - 0.5f64.exp()).abs() < 1e-9);
        // 4.303 is the quantile for two degrees of freedom; tails are computed from 400 draws.
        let reach = 4.303 * (0.5 * 0.0001f64).sqrt();
        assert!((compared.high.ln() - 0.5 - reach).abs() < 0.05 * reach, "{compared:?}");
        assert!(matches!(compared.verdict, ComparisonVerdict::WorseByAtLeast(_)));
    }

    /// Three hosts, and one of them takes three times as long: the standard error is that of the
    /// differences, √(0.01²/3).
    #[test]
    fn the_speed_of_a_host_cancels_in_the_difference() {
        let host = [0.0, 3.0f64.ln(), -0.4];
        let other = [0.30, 3.0f64.ln() + 0.31, -0.4 + 0.32];
        let all = overall(&[result(0, &host, &other)], BlockDesign::ByHost, Margin(0.05));
        let compared = all[0].1.unwrap();
        assert!((compared.ratio - 0.31f64.exp()).abs() < 1e-9);
        // 4.303 is the quantile for two degrees of freedom; tails are computed from 400 draws.
        let reach = 4.303 * (0.0001f64 / 3.0).sqrt();
        let found = compared.high.ln() - 0.31;
        assert!((found - reach).abs() < 0.05 * reach, "{compared:?}");
        assert!(matches!(compared.verdict, ComparisonVerdict::WorseByAtLeast(_)));
        let sides = overall(&[result(0, &host, &other)], BlockDesign::BySession, Margin(0.05));
        assert!(matches!(sides[0].1.unwrap().verdict, ComparisonVerdict::Undecided { .. }));
    }

    #[test]
    fn one_host_is_no_evidence_about_others() {
        let all = overall(&[result(0, &[0.0], &[2.0])], BlockDesign::ByHost, Margin(0.05));
        let verdict = all[0].1.map(|compared| compared.verdict);
        assert!(matches!(verdict, None | Some(ComparisonVerdict::Undecided { .. })), "{verdict:?}");
    }

    /// An effect that all results of a session share does not become significant by having many
    /// results. If each session were a round, the same numbers would show a difference.
    #[test]
    fn a_session_that_is_slow_in_everything_is_no_regression() {
        let wave = |row: usize, session: usize| 0.001 * ((7 * row + 3 * session) % 5) as f64;
        let shift = [0.0, 0.06, 0.17, 0.23];
        let value = |row, session: usize| shift[session] + wave(row, session);
        let of_row = |row| {
            let side = |sessions: [usize; 2]| sessions.map(|session| value(row, session));
            result(row, &side([0, 1]), &side([2, 3]))
        };
        let results: Vec<PairedResult> = (0..40).map(of_row).collect();
        let called_worse = |pairing| {
            let compared = compare_pairs(&results, pairing, Margin(0.01)).into_iter().flatten();
            let worse =
                |c: &ComparisonResult| matches!(c.verdict, ComparisonVerdict::WorseByAtLeast(_));
            compared.filter(worse).count()
        };
        assert_eq!(called_worse(BlockDesign::BySession), 0);
        assert_eq!(called_worse(BlockDesign::Unpaired), 40);
    }
}
