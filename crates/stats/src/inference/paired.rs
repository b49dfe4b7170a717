//! Compares two series: a contender in two campaigns, or two contenders of one campaign.
//!
//! All compared results are one family, like the rows of a report. At most [`FDR_LIMIT`] of the
//! verdicts "different" is false. Without any difference, at most this share of comparisons
//! contains such a verdict.

use std::collections::BTreeMap;

use serde::Serialize;

use super::FDR_LIMIT;
use super::estimates::{PairwiseEstimates, all_pairs};
use super::margin::{ComparisonVerdict, Margin, exact, rounds_needed};
use super::moderated::{ModeratedEstimate, PairSeries, moderate};
use super::multiplicity::level;
use super::prior::SeriesTable;
use super::sessions;
use super::sum::{ChiSquareDraws, SumTerm, WeightedSum};

/// Relation between the rounds of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockDesign {
    /// Nothing.
    Unpaired,
    /// Both sides have the same rounds or the same seeds.
    PairedByRound,
    /// Paired rounds whose values are free of noise, as in virtual time: one round is enough.
    Deterministic,
    /// Means of sessions instead of rounds ([`super::sessions`]).
    BySession,
    /// Means of hosts instead of rounds. Each host has both sides and is a block
    /// ([`super::sessions`]).
    ByHost,
}

/// A result on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedResult {
    /// The number of the row, which is equal for all contenders.
    pub row: usize,
    /// The number of the test, as in [`super::LogCosts`].
    pub test: usize,
    /// The number of its contender; a comparison may have several contenders.
    pub contender: usize,
    /// The log cost in each round before.
    pub before: Vec<Option<f64>>,
    /// The log cost in each round after.
    pub after: Vec<Option<f64>>,
}

/// Comparison of a result after with the same result before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonResult {
    /// The cost after as a multiple of the cost before.
    pub ratio: f64,
    /// The lower end of the 95 % interval, not corrected for other comparisons.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Verdict.
    pub verdict: ComparisonVerdict,
    /// The smallest regression that would be detected at this level of noise, as a share.
    pub detectable: f64,
}

/// Compares each result after with the same result before. Returns `None` for results that are not
/// comparable.
pub fn compare_pairs(
    results: &[PairedResult],
    pairing: BlockDesign,
    margin: Margin,
) -> Vec<Option<ComparisonResult>> {
    judged(results, &estimates(results, pairing), pairing, margin)
}

impl PairwiseEstimates {
    /// Compares every pair of contenders in every row, the second relative to the first, in the
    /// order of [`PairwiseEstimates::pairs`]. All pairs are one family.
    pub fn every_pair(&self, margin: Margin) -> Vec<Vec<Option<ComparisonResult>>> {
        let contenders = self.costs.contenders;
        let pairs: Vec<(usize, usize)> = all_pairs(contenders).collect();
        let rows = self.costs.rows.iter().enumerate();
        let results: Vec<PairedResult> = rows
            .flat_map(|(row, costs)| {
                pairs.iter().enumerate().map(move |(pair, (one, other))| PairedResult {
                    row,
                    test: costs.test,
                    contender: pair,
                    before: costs.logs[*one].clone(),
                    after: costs.logs[*other].clone(),
                })
            })
            .collect();
        let estimates: Vec<Option<ModeratedEstimate>> = self
            .pairs()
            .flatten()
            .map(|estimate| estimate.map(ModeratedEstimate::reversed))
            .collect();
        let pairing = match self.costs.exact {
            true => BlockDesign::Deterministic,
            false => BlockDesign::PairedByRound,
        };
        let judged = judged(&results, &estimates, pairing, margin);
        judged.chunks(pairs.len().max(1)).map(<[_]>::to_vec).collect()
    }
}

/// Returns the verdicts on results that are one family, from the estimate of each.
fn judged(
    results: &[PairedResult],
    estimates: &[Option<ModeratedEstimate>],
    pairing: BlockDesign,
    margin: Margin,
) -> Vec<Option<ComparisonResult>> {
    let of_all = |of: &dyn Fn(&ModeratedEstimate) -> f64| {
        let tested = estimates.iter().flatten().filter(|e| !e.is_nothing);
        level(tested.map(of).collect(), FDR_LIMIT)
    };
    let levels =
        [of_all(&|e| chance_of_difference(e, margin)), of_all(&|e| e.tost_p_value(margin.log()))];
    let both = results.iter().zip(estimates);
    both.map(|(result, estimate)| {
        let estimate = estimate.as_ref()?;
        if let Some(exact) = certain(&[(result, 1.0)], pairing, margin) {
            return Some(exact);
        }
        let reach = |chance| estimate.mean - estimate.lower_bound(chance);
        Some(ComparisonResult::of(
            estimate.mean,
            verdict(estimate, result.rounds(), levels, margin),
            reach(FDR_LIMIT / 2.0),
            margin.log() + reach(levels[0] / 2.0),
        ))
    })
    .collect()
}

/// Compares each contender after with before over all its results with equal weights. The
/// contenders are the family.
pub fn overall(
    results: &[PairedResult],
    pairing: BlockDesign,
    margin: Margin,
) -> Vec<(usize, Option<ComparisonResult>)> {
    let mut contenders: BTreeMap<usize, Vec<&PairedResult>> = BTreeMap::new();
    for result in results {
        contenders.entry(result.contender).or_default().push(result);
    }
    let limit = FDR_LIMIT / contenders.len().max(1) as f64;
    contenders
        .into_iter()
        .map(|(contender, results)| {
            let compared = of_contender(&results, pairing, limit, margin);
            (contender, compared)
        })
        .collect()
}

fn of_contender(
    results: &[&PairedResult],
    pairing: BlockDesign,
    limit: f64,
    margin: Margin,
) -> Option<ComparisonResult> {
    let share = 1.0 / results.len() as f64;
    let weighed: Vec<(&PairedResult, f64)> = results.iter().map(|r| (*r, share)).collect();
    if let Some(exact) = certain(&weighed, pairing, margin) {
        return Some(exact);
    }
    let tests = by_test(results, pairing);
    let sums: Vec<PairedResult> = tests.iter().map(|(_, sum)| sum.clone()).collect();
    let estimates = estimates(&sums, pairing).into_iter().zip(&tests);
    let parts = estimates.map(|(estimate, (count, sum))| {
        Some(SumTerm { share: *count * share, test: sum.test, estimate: estimate? })
    });
    let parts: Vec<SumTerm> = parts.collect::<Option<_>>()?;
    let draws = ChiSquareDraws::new(parts.len(), parts.iter().map(|part| part.estimate));
    let sum = draws.sum(&parts, 1.0);
    let rounds = results.iter().map(|r| r.rounds()).max().unwrap_or(0);
    let reach = |chance: f64| match sum.variance > 0.0 {
        true => super::student::find_root(chance, |error| sum.chance_above(error)),
        false => 0.0,
    };
    Some(ComparisonResult::of(
        sum.value,
        verdict_of_sum(&sum, reach(limit / 2.0), limit, rounds, margin),
        reach(FDR_LIMIT / 2.0),
        margin.log() + reach(limit / 2.0),
    ))
}

fn verdict_of_sum(
    sum: &WeightedSum,
    reach: f64,
    limit: f64,
    rounds: usize,
    margin: Margin,
) -> ComparisonVerdict {
    let way = sum.value.abs() - margin.log();
    if sum.is_nothing {
        ComparisonVerdict::Identical
    } else if way > reach {
        let worse = ComparisonVerdict::worse(sum.value.abs() - reach);
        if sum.value > 0.0 { worse } else { worse.reversed() }
    } else if way <= 0.0 && sum.chance_above(-way) <= limit {
        ComparisonVerdict::EqualWithin(margin)
    } else {
        let chance = |error: f64| sum.chance_above(error);
        ComparisonVerdict::Undecided {
            rounds: rounds_needed(sum.value, margin, rounds, limit / 2.0, chance),
        }
    }
}

impl ComparisonResult {
    /// Returns true if the share in the verdict is the exact difference and not a bound, because
    /// all values are equal.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Returns the comparison of before with after.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            ratio: 1.0 / self.ratio,
            low: bounded(1.0 / self.high),
            high: bounded(1.0 / self.low),
            verdict: self.verdict.reversed(),
            detectable: self.detectable,
        }
    }

    /// Creates the result from a difference of log costs and the size of the error.
    fn of(difference: f64, verdict: ComparisonVerdict, reach: f64, detectable: f64) -> Self {
        Self {
            ratio: difference.exp(),
            low: bounded((difference - reach).exp()),
            high: bounded((difference + reach).exp()),
            verdict,
            detectable: bounded(detectable.exp_m1()),
        }
    }
}

/// Limits a value to finite numbers, because JSON has no infinity.
const fn bounded(value: f64) -> f64 {
    value.clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// Returns the mean of the results of each test, over rounds with all results, and the number of
/// results. Effects of a session or a host affect all tests, so all tests then count as one.
fn by_test(results: &[&PairedResult], pairing: BlockDesign) -> Vec<(f64, PairedResult)> {
    let mut tests: BTreeMap<usize, Vec<&PairedResult>> = BTreeMap::new();
    for result in results {
        let test = if matches!(pairing, BlockDesign::BySession | BlockDesign::ByHost) {
            0
        } else {
            result.test
        };
        tests.entry(test).or_default().push(result);
    }
    let mean = |sides: Vec<&Vec<Option<f64>>>| -> Vec<Option<f64>> {
        let rounds = sides.iter().map(|side| side.len()).min().unwrap_or(0);
        let of_round = |round: usize| {
            let sum: Option<f64> = sides.iter().map(|side| side[round]).sum();
            sum.map(|sum| sum / sides.len() as f64)
        };
        (0..rounds).map(of_round).collect()
    };
    let tests = tests.into_iter();
    tests
        .map(|(test, results)| {
            let sum = PairedResult {
                row: test,
                test,
                contender: results[0].contender,
                before: mean(results.iter().map(|r| &r.before).collect()),
                after: mean(results.iter().map(|r| &r.after).collect()),
            };
            (results.len() as f64, sum)
        })
        .collect()
}

/// Compares weighted sums of values without noise. The interval spans the rounds.
fn certain(
    results: &[(&PairedResult, f64)],
    pairing: BlockDesign,
    margin: Margin,
) -> Option<ComparisonResult> {
    if pairing != BlockDesign::Deterministic {
        return None;
    }
    let rounds = results.iter().map(|(result, _)| result.rounds()).min()?;
    let of_round = |round: usize| -> Option<f64> {
        let parts = results.iter();
        parts.map(|(r, share)| Some(share * (r.after[round]? - r.before[round]?))).sum()
    };
    let differences: Vec<f64> = (0..rounds).filter_map(of_round).collect();
    let verdict = exact(&differences, margin)?;
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let ends = differences.iter().copied();
    Some(ComparisonResult {
        low: ends.clone().fold(mean, f64::min).exp(),
        high: ends.fold(mean, f64::max).exp(),
        ..ComparisonResult::of(mean, verdict, 0.0, margin.log())
    })
}

fn verdict(
    estimate: &ModeratedEstimate,
    rounds: usize,
    levels: [f64; 2],
    margin: Margin,
) -> ComparisonVerdict {
    let [differs, equals] = levels;
    let sides = [(*estimate, false), (estimate.reversed(), true)];
    for (side, is_better) in sides {
        if side.mean > margin.log() && chance_of_difference(&side, margin) <= differs {
            let worse = ComparisonVerdict::worse(side.lower_bound(differs / 2.0).max(margin.log()));
            return if is_better { worse.reversed() } else { worse };
        }
    }
    if estimate.is_nothing {
        ComparisonVerdict::Identical
    } else if estimate.tost_p_value(margin.log()) <= equals {
        ComparisonVerdict::EqualWithin(margin)
    } else {
        let far = estimate.mean.abs() > margin.log();
        let level = if far { differs / 2.0 } else { equals };
        let chance = |error: f64| estimate.error_probability(error);
        ComparisonVerdict::Undecided {
            rounds: rounds_needed(estimate.mean, margin, rounds, level, chance),
        }
    }
}

/// Returns the p value of a difference beyond the margin in either direction: a test for each
/// direction, at half the level.
fn chance_of_difference(estimate: &ModeratedEstimate, margin: Margin) -> f64 {
    let sides = [*estimate, estimate.reversed()];
    let chances = sides.map(|side| side.p_value(margin.log()));
    (2.0 * chances[0].min(chances[1])).min(1.0)
}

/// Estimates the difference in cost of each result between after and before.
fn estimates(results: &[PairedResult], pairing: BlockDesign) -> Vec<Option<ModeratedEstimate>> {
    let sides = if pairing == BlockDesign::Unpaired { 2 } else { 1 };
    let end =
        |of: &dyn Fn(&PairedResult) -> usize| results.iter().map(of).max().map_or(0, |n| n + 1);
    let table = SeriesTable {
        rows: end(&|result| result.row),
        columns: sides * end(&|result| result.contender),
        independent_columns: (sides * count(results.iter().map(|result| result.contender))) as f64,
        down: count(results.iter().map(|result| result.test)) as f64,
    };
    if matches!(pairing, BlockDesign::BySession | BlockDesign::ByHost) {
        return sessions::estimates(table, results, pairing);
    }
    let series = |result: &PairedResult, side: usize, values: Vec<f64>| {
        let column = sides * result.contender + side;
        PairSeries::from_values(result.row, column, &values, 0)
    };
    if pairing != BlockDesign::Unpaired {
        let differences = results.iter().map(|result| {
            let rounds = result.after.iter().zip(&result.before);
            let values = rounds.filter_map(|(after, before)| Some((*after)? - (*before)?));
            series(result, 0, values.collect())
        });
        let series: Vec<PairSeries> = differences.collect();
        return moderate(table, || series.iter().cloned()).collect();
    }
    let both = results.iter().flat_map(|result| {
        let values = |side: &[Option<f64>]| side.iter().flatten().copied().collect();
        let before = series(result, 0, values(&result.before));
        [before, series(result, 1, values(&result.after))]
    });
    let series: Vec<PairSeries> = both.collect();
    let sides: Vec<Option<ModeratedEstimate>> =
        moderate(table, || series.iter().cloned()).collect();
    sides.chunks(2).map(|sides| difference(sides[0]?, sides[1]?)).collect()
}

/// Returns after minus before, from independent rounds (B. L. Welch, Biometrika 34, 1947; F. E.
/// Satterthwaite, Biometrics 2, 1946).
fn difference(before: ModeratedEstimate, after: ModeratedEstimate) -> Option<ModeratedEstimate> {
    let variance = before.variance + after.variance;
    let by_freedom =
        before.variance.powi(2) / before.freedom + after.variance.powi(2) / after.freedom;
    let mean = after.mean - before.mean;
    Some(ModeratedEstimate {
        mean,
        variance,
        freedom: match variance > 0.0 && variance.is_finite() {
            true => variance * variance / by_freedom,
            false => 1.0,
        },
        is_nothing: variance == 0.0 && mean == 0.0,
    })
}

fn count(numbers: impl Iterator<Item = usize>) -> usize {
    numbers.collect::<std::collections::BTreeSet<usize>>().len()
}

impl PairedResult {
    /// Returns the number of rounds that both sides have.
    fn rounds(&self) -> usize {
        self.before.len().min(self.after.len())
    }
}

#[cfg(test)]
#[path = "paired_tests.rs"]
mod tests;
