//! Finds the tests that a campaign with a budget runs next: the ones that shrink the bounds of its
//! answers most.
//!
//! The answers are those of the uses, or of the groups of tests if no use has one. A test is run by
//! the contenders that may be the best of an open answer that depends on the test, without those far
//! behind ([`rerun_candidates`]). This decides which cells run, not the answers: [`crate::inference`] derives those from all measurements.

use std::collections::{BTreeMap, BTreeSet};

use crate::inference::{Contrast, Margin, rerun_candidates};
use crate::scores::overall::row_weights;
use crate::{Analysis, Conclusion, Rank};

/// A test that can shrink the bound of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTest {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Contenders that run it, as indexes in the campaign's order.
    pub contenders: BTreeSet<usize>,
    /// Expected decrease of the bounds of all answers by one more round, as logarithms.
    pub gain: f64,
}

/// An answer with the rows that it depends on.
struct OpenQuestion<'a> {
    conclusion: &'a Conclusion,
    places: Vec<Option<Rank>>,
    /// Weights of rows of the analysis.
    weights: BTreeMap<usize, f64>,
    margin: Margin,
}

impl OpenQuestion<'_> {
    fn is_answered(&self) -> bool {
        self.conclusion.bounds.len() > 1
    }

    /// Returns the contenders that may be the best, with their costs as multiples of the lowest.
    fn shortlist(&self) -> Vec<(usize, f64)> {
        let ratio = |one: usize| Some((one, self.places[one].as_ref()?.ratio));
        self.conclusion.shortlist.iter().filter_map(|one| ratio(*one)).collect()
    }
}

impl Analysis {
    /// Returns the tests that can shrink the bound of an answer; empty if each bound is at most
    /// half the margin, or cannot shrink. Failed cells are not repeated.
    pub fn open_tests(&self) -> Vec<OpenTest> {
        let (estimates, rows) = self.estimates();
        let names: BTreeMap<usize, (&String, &String)> = estimates
            .tests()
            .zip(&rows)
            .map(|(test, row)| (test, (&self.rows[*row].suite, &self.rows[*row].test)))
            .collect();
        let mut open: BTreeMap<usize, OpenTest> = BTreeMap::new();
        for question in self.questions() {
            let weights: Vec<f64> = rows
                .iter()
                .map(|row| question.weights.get(row).copied().unwrap_or_default())
                .collect();
            let takes_part: Vec<bool> = question.places.iter().map(Option::is_some).collect();
            let asked = Contrast {
                weights: &weights,
                takes_part: &takes_part,
                margin: question.margin,
                family: 1,
            };
            let first = question.conclusion.bounds[0].contender;
            let shortlist = question.shortlist();
            for (test, gain) in estimates.bound_gains(asked, first) {
                let (suite, name) = names[&test];
                let one = open.entry(test).or_insert_with(|| OpenTest {
                    suite: suite.clone(),
                    test: name.clone(),
                    contenders: BTreeSet::new(),
                    gain: 0.0,
                });
                one.gain += gain;
                let ran = |contender| self.rounds_of(suite, name, contender);
                one.contenders.extend(rerun_candidates(&shortlist, ran));
            }
        }
        let mut open: Vec<OpenTest> = open.into_values().collect();
        for one in &mut open {
            let has_failed = |contender: usize| {
                let name = &self.contenders[contender];
                self.failures.iter().any(|failure| {
                    (&failure.contender, &failure.suite, &failure.test)
                        == (name, &one.suite, &one.test)
                })
            };
            one.contenders.retain(|contender| !has_failed(*contender));
        }
        open.retain(|one| one.contenders.len() > 1);
        open
    }

    /// Returns the number of rounds in which a contender ran a test.
    fn rounds_of(&self, suite: &str, test: &str, contender: usize) -> usize {
        let rows = self.rows.iter().filter(|row| row.suite == suite && row.test == test);
        let rounds = rows.filter_map(|row| Some(row.results[contender].estimate?.rounds as usize));
        rounds.max().unwrap_or(0)
    }

    /// Returns the answers that have a bound, or could have one: of the uses, or else of the groups
    /// of tests.
    fn questions(&self) -> Vec<OpenQuestion<'_>> {
        let uses = self.uses.iter().map(|one| {
            let weights = one.groups.iter().filter(|group| !group.results.is_empty());
            let weights = weights.flat_map(|group| row_weights(&group.results, group.weight));
            OpenQuestion {
                conclusion: &one.conclusion,
                places: one.places.clone(),
                weights: weights.collect(),
                margin: one.margin,
            }
        });
        let uses: Vec<OpenQuestion<'_>> = uses.filter(OpenQuestion::is_answered).collect();
        if !uses.is_empty() {
            return uses;
        }
        let of_groups = self.conclusions.iter().map(|conclusion| {
            let groups = self.overall.groups.iter();
            let groups = groups.filter(|g| conclusion.group.is_none_or(|group| group == g.group));
            let scores = match conclusion.group {
                Some(_) => groups.clone().next().map(|group| &group.scores),
                None => Some(&self.overall.total),
            };
            OpenQuestion {
                conclusion,
                places: scores.into_iter().flatten().map(|score| score.place).collect(),
                weights: groups.flat_map(|group| row_weights(&group.shares, 1.0)).collect(),
                margin: self.margin,
            }
        });
        of_groups.filter(OpenQuestion::is_answered).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::Cell;

    use super::*;
    use crate::{analyse, fixture};

    fn first_round() -> model::CampaignResults {
        let mut results = fixture::plain();
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        results
    }

    #[test]
    fn answers_within_the_margin_request_no_tests() {
        let analysis = analyse(&fixture::plain());
        assert_eq!(analysis.open_tests(), [], "its rounds settle all");
    }

    #[test]
    fn open_answers_request_the_tests_that_they_depend_on() {
        let analysis = analyse(&first_round());
        let open = analysis.open_tests();
        assert!(!open.is_empty());
        for one in &open {
            assert!(one.gain > 0.0 && one.contenders.len() > 1, "{one:?}");
            let mut rows = analysis.rows.iter();
            assert!(rows.any(|row| (&row.suite, &row.test) == (&one.suite, &one.test)));
        }
    }

    #[test]
    fn a_failed_test_is_not_repeated() {
        let mut results = first_round();
        let before = analyse(&results).open_tests();
        let failed = &mut results.cells[0];
        let name = failed.cell.contender.clone();
        failed.result.as_mut().unwrap().status = model::Status::Failed;
        let (suite, test) = (failed.cell.suite.clone(), failed.cell.test.clone());
        let analysis = analyse(&results);
        let number = analysis.contenders.iter().position(|one| *one == name).unwrap();
        let runs = |open: &[OpenTest]| {
            open.iter().any(|one| {
                (&one.suite, &one.test) == (&suite, &test) && one.contenders.contains(&number)
            })
        };
        assert!(runs(&before) && !runs(&analysis.open_tests()));
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
