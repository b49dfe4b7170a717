//! Finds open answers and the cells that could settle them.
//!
//! An answer is open if its shortlist contains several contenders that are not shown to be equal.
//! Another round of these contenders, in the tests that the answer depends on, could settle it; a
//! round of other contenders could not. A contender with a much higher cost than the first runs
//! again only if no other remains to be compared, because too few rounds may be its only reason to
//! be on the shortlist. This decides which cells run, not the verdicts: [`crate::inference`]
//! derives verdicts from all measurements.

use std::collections::BTreeSet;

use crate::{Analysis, Conclusion, Rank, RowWeight, ShortlistState};

/// A contender that costs more than this multiple of the first is far behind.
const FAR_BEHIND_FACTOR: f64 = 3.0;
/// Rounds after which a contender that is far behind is not run again: a stall may have slowed a
/// first round.
const MIN_ROUNDS_BEFORE_DROP: usize = 2;
/// A contender that costs more than this multiple of the first is not run again after one round: no
/// stall takes that long.
const DROP_FACTOR: f64 = 10.0;

/// A contender, as an index in the campaign's order, in a test of a suite.
pub type UnresolvedPair = (usize, (String, String));

impl Analysis {
    /// Returns the cells that could settle open answers; empty if all answers are settled. Failed
    /// cells are not retried.
    pub fn unresolved_pairs(&self) -> BTreeSet<UnresolvedPair> {
        let mut pairs = BTreeSet::new();
        for conclusion in &self.conclusions {
            let groups = self.overall.groups.iter();
            let groups = groups.filter(|g| conclusion.group.is_none_or(|group| group == g.group));
            let scores = match conclusion.group {
                Some(_) => groups.clone().next().map(|group| &group.scores),
                None => Some(&self.overall.total),
            };
            let places = scores.into_iter().flatten().map(|score| score.place);
            let shares = groups.flat_map(|group| &group.shares);
            self.add_open(conclusion, &places.collect::<Vec<_>>(), shares, &mut pairs);
        }
        for one in &self.uses {
            let shares = one.groups.iter().flat_map(|group| &group.results);
            self.add_open(&one.conclusion, &one.places, shares, &mut pairs);
        }
        pairs.retain(|(contender, (suite, test))| {
            let contender = &self.contenders[*contender];
            !self
                .failures
                .iter()
                .any(|f| (&f.contender, &f.suite, &f.test) == (contender, suite, test))
        });
        pairs
    }

    fn add_open<'a>(
        &self,
        conclusion: &Conclusion,
        places: &[Option<Rank>],
        shares: impl Iterator<Item = &'a RowWeight>,
        pairs: &mut BTreeSet<UnresolvedPair>,
    ) {
        if !matches!(conclusion.answer, ShortlistState::NotEnoughRounds { .. }) {
            return;
        }
        let ratio = |one: usize| places.get(one).copied().flatten().map(|place| place.ratio);
        let shortlist = conclusion.shortlist.iter();
        let shortlist = shortlist.filter_map(|one| Some((*one, ratio(*one)?)));
        let shortlist = shortlist.collect::<Vec<_>>();
        for share in shares {
            let row = &self.rows[share.row];
            let ran = |one: usize| row.results[one].estimate.map_or(0, |of| of.rounds);
            let test = (row.suite.clone(), row.test.clone());
            let again = rerun_candidates(&shortlist, |one| ran(one) as usize);
            pairs.extend(again.into_iter().map(|one| (one, test.clone())));
        }
    }
}

/// Selects the contenders of a shortlist that run a test again. Each is given with its cost as a
/// multiple of the first's. Selects contenders that are not far behind or have run only once, or
/// all if fewer than two would remain.
pub(crate) fn rerun_candidates(
    shortlist: &[(usize, f64)],
    ran: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let is_near = |(one, ratio): &&(usize, f64)| {
        *ratio <= FAR_BEHIND_FACTOR || (ran(*one) < MIN_ROUNDS_BEFORE_DROP && *ratio <= DROP_FACTOR)
    };
    let near: Vec<usize> = shortlist.iter().filter(is_near).map(|(one, _)| *one).collect();
    match near.len() {
        0 | 1 => shortlist.iter().map(|(one, _)| *one).collect(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use model::Cell;

    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn a_contender_far_behind_runs_only_if_no_other_remains() {
        let shortlist = [(4, 1.0), (2, 1.3), (0, 7.0)];
        assert_eq!(rerun_candidates(&shortlist, |_| 1), [4, 2, 0], "a second look");
        assert_eq!(rerun_candidates(&shortlist, |_| 2), [4, 2], "and no third");
        assert_eq!(rerun_candidates(&[(4, 1.0), (0, 7.0)], |_| 2), [4, 0]);
        let hopeless = [(4, 1.0), (2, 1.3), (0, 70.0)];
        assert_eq!(rerun_candidates(&hopeless, |_| 1), [4, 2]);
    }

    #[test]
    fn only_open_answers_request_the_tests_they_depend_on() {
        let mut results = fixture::plain();
        assert!(analyse(&results).unresolved_pairs().is_empty(), "its rounds settle all");
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        let analysis = analyse(&results);
        let open = analysis.unresolved_pairs();
        assert!(!open.is_empty());
        let tests: BTreeSet<_> = open.iter().map(|(_, test)| test).collect();
        let rows = analysis.rows.iter();
        assert!(tests.iter().all(|(suite, test)| {
            rows.clone().any(|row| row.suite == *suite && row.test == *test)
        }));
    }

    #[test]
    fn an_unneeded_round_does_not_make_a_campaign_incomplete() {
        let mut results = fixture::plain();
        results.campaign.budget = Some(model::Nanos::from_secs(600));
        let name = results.campaign.contenders[2].name.clone();
        let is_planned = |c: &Cell| c.round == 1 || c.contender != name;
        results.cells.retain(|stored| is_planned(&stored.cell));
        let analysis = analyse(&results);
        let third = &analysis.rows[0].results[2];
        assert!(third.is_comparable() && third.outcome_counts().is_empty(), "{third:?}");
        assert_eq!(third.estimate.map(|e| e.rounds), Some(1));
    }
}
