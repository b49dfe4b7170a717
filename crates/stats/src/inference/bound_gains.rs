//! Finds the tests whose repetition shrinks the bound of an answer most, and the contenders that
//! need no repetition.

use std::collections::BTreeMap;

use super::estimates::PairwiseEstimates;
use super::multiple_comparisons_best::Contrast;
use super::sum::variance_by_test;

/// A contender that costs more than this multiple of the cheapest is far behind.
const FAR_BEHIND_FACTOR: f64 = 3.0;
/// Rounds after which a contender that is far behind is not run again: a stall may have slowed a
/// first round. With one round, 17 % of bounds broke in simulated campaigns with stalls.
const MIN_ROUNDS_BEFORE_DROP: usize = 2;
/// A contender that costs more than this multiple of the cheapest is not run again after one round:
/// no stall takes that long.
const DROP_FACTOR: f64 = 10.0;

/// Largest error of a bound, as a logarithm, that more rounds are expected to shrink; also the error
/// while the noise is unknown.
const MAX_ERROR: f64 = 1.0;
/// Share of the margin below which no rounds are spent on a bound: half of it is known well enough.
const SETTLED_SHARE: f64 = 0.5;
/// Assumed variance of a row whose noise is unknown: large, so that tests with such rows come first.
const UNKNOWN_VARIANCE: f64 = 1.0;

impl PairwiseEstimates {
    /// Returns by how much one more round of each test is expected to shrink the bound of a
    /// contender, by the number of the test. Empty if the bound is at most half the margin,
    /// or if more rounds cannot shrink it.
    ///
    /// The bound is d + c against one rival ([`Self::at_most`]), and the error c grows with the
    /// square root of a variance, to which each test contributes. A test with n rounds loses
    /// 1/(n + 1) of its contribution in one more round, and c loses half of that share.
    pub fn bound_gains(&self, asked: Contrast<'_>, contender: usize) -> BTreeMap<usize, f64> {
        let bound = self.at_most(asked)[contender];
        if self.costs.exact
            || bound.is_some_and(|bound| bound.most <= asked.margin.log() * SETTLED_SHARE)
        {
            return BTreeMap::new();
        }
        let used = asked.used();
        let compared = || {
            let others = (0..self.costs.contenders).filter(|other| asked.takes_part[*other]);
            others.filter(|other| *other != contender)
        };
        let rival = match bound {
            Some(bound) => bound.rival,
            None => compared().find(|other| self.parts(&used, contender, *other).is_some()),
        };
        let parts = rival.and_then(|rival| self.parts(&used, contender, rival));
        let Some((rival, mut parts)) = rival.zip(parts) else {
            return BTreeMap::new();
        };
        let difference: f64 = parts.iter().map(|part| part.share * part.estimate.mean).sum();
        let error = bound.map_or(MAX_ERROR, |bound| (bound.most - difference).min(MAX_ERROR));
        let unknown = parts.iter_mut().filter(|part| !part.estimate.variance.is_finite());
        unknown.for_each(|part| part.estimate.variance = UNKNOWN_VARIANCE);
        let variances = variance_by_test(&parts, self.correlation());
        let whole: f64 = variances.values().sum();
        let gain = |(test, variance): (usize, f64)| {
            let mut rows = used.iter().map(|(row, _)| &self.costs.rows[*row]);
            let row = rows.find(|row| row.test == test)?;
            let rounds = row.differences(contender, rival).1.len();
            Some((test, error * variance / whole / (rounds + 1) as f64 / 2.0))
        };
        variances.into_iter().filter(|(_, variance)| *variance > 0.0).filter_map(gain).collect()
    }
}

/// Selects the contenders of a shortlist that run a test again. Each is given with its cost as a
/// multiple of the lowest. Selects contenders that are not far behind or have run only once, or all
/// if fewer than two would remain.
pub fn rerun_candidates(shortlist: &[(usize, f64)], ran: impl Fn(usize) -> usize) -> Vec<usize> {
    let is_near = |(one, ratio): &&(usize, f64)| {
        *ratio <= FAR_BEHIND_FACTOR || (ran(*one) < MIN_ROUNDS_BEFORE_DROP && *ratio <= DROP_FACTOR)
    };
    let near: Vec<usize> = shortlist.iter().filter(is_near).map(|(one, _)| *one).collect();
    match near.len() {
        0 | 1 => shortlist.iter().map(|(one, _)| *one).collect(),
        _ => near,
    }
}
