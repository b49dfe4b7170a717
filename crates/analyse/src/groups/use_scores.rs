//! A use with the results of a campaign: who comes into question, and how each does in each group of
//! tests that counts.
//!
//! A contender comes into question when it is of a class and has every feature that the use asks for, and
//! failed in none of the results that count. Of these, the results count that all who come into question
//! have: a mean over different results would compare nothing. What each of them scores in a group is
//! what [`crate::Overall`] says, over these results. Groups are weighed as there; the cost of a contender is
//! the median over rounds. Groups without results have no part in it.

use model::{Class, Feature, Group, Readers, System, Use};
use serde::{Deserialize, Serialize};

use crate::groups::overall::{give_places, of_rounds, standing, weighted_means};
use crate::{ContenderFeatures, Found, Overall, RoundOutcome, Row, Score, Share};

/// Why a contender does not come into question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RuledOut {
    /// It is a baseline, which keeps nothing.
    Baseline,
    /// None of the systems reads it that the use asks for.
    Readers {
        /// Which systems do.
        read_by: Vec<System>,
        /// What cannot be done without one of those.
        why: String,
    },
    /// It lacks a feature that the use cannot do without.
    Feature {
        /// The feature.
        feature: Feature,
        /// What the probe found.
        found: String,
        /// What breaks without it.
        why: String,
    },
    /// It failed in a result that counts.
    Failure {
        /// Name of the test.
        test: String,
        /// Name of the phase.
        phase: String,
        /// What became of it.
        outcome: RoundOutcome,
        /// In how many rounds.
        rounds: u32,
        /// Of how many.
        of: u32,
    },
    /// It has none of the results that count.
    NoResults,
}

/// A contender before a use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Name of the contender.
    pub contender: String,
    /// Every reason against it; empty where it comes into question.
    pub ruled_out: Vec<RuledOut>,
    /// Features that the use needs and that no cell tried.
    pub not_probed: Vec<Feature>,
}

/// A group that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeighedGroup {
    /// The group.
    pub group: Group,
    /// Its weight, beside those of the other groups.
    pub weight: f64,
    /// Why so much.
    pub why: String,
    /// The results that count; none where the group was not tested.
    pub results: Vec<Share>,
    /// For each contender, in the campaign's order, its score in each round: its cost as a multiple of
    /// the best median, 1 where it is as good. `None` where it does not come into question, or the
    /// round is not whole.
    pub rounds: Vec<Vec<Option<f64>>>,
}

/// A result that does not count, since some who come into question do not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Names of those who do not have it, with the word for what became of it.
    pub lacking: Vec<(String, String)>,
}

/// A use with the results of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UseScores {
    /// The use's word.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What such a machine does all day, and what was left out.
    pub rationale: String,
    /// Where the weights come from.
    pub source: String,
    /// Every contender, in the campaign's order.
    pub candidates: Vec<Candidate>,
    /// Every group that the use weighs, in its order.
    pub groups: Vec<WeighedGroup>,
    /// Results of these groups that do not count.
    pub left_out: Vec<LeftOut>,
}

impl UseScores {
    /// What the rows, scores and features of a campaign have to say about a use.
    pub(crate) fn of(
        one: &Use,
        rows: &[Row],
        overall: &Overall,
        features: &[ContenderFeatures],
    ) -> Self {
        let counting = counting(one, rows, overall);
        let mut candidates: Vec<Candidate> = features
            .iter()
            .map(|features| candidate(one, features))
            .collect();
        for (index, candidate) in candidates.iter_mut().enumerate() {
            candidate.ruled_out.extend(failures(index, &counting));
        }
        let comes: Vec<bool> = candidates.iter().map(|c| c.ruled_out.is_empty()).collect();
        let mut left_out = Vec::new();
        let groups = one.weights.iter().map(|weight| WeighedGroup {
            group: weight.group,
            weight: weight.weight,
            why: weight.why.clone(),
            ..of_group(weight.group, &comes, rows, overall, &mut left_out)
        });
        Self {
            groups: groups.collect(),
            name: one.name.clone(),
            title: one.title.clone(),
            rationale: one.rationale.clone(),
            source: one.source.clone(),
            candidates,
            left_out,
        }
    }

    /// The cost of each contender under weights of the groups, in the campaign's order; without a ratio
    /// for those who do not come into question. Groups of weight 0 or less count for nothing.
    pub fn weighed(&self, weight: impl Fn(&WeighedGroup) -> f64) -> Vec<Score> {
        let tested = self.groups.iter().filter(|g| !g.results.is_empty());
        let groups: Vec<_> = tested
            .map(|g| (g, weight(g)))
            .filter(|(_, w)| *w > 0.0)
            .collect();
        let of_contender = |contender: usize| {
            let parts = groups.iter().map(|(g, w)| (&g.rounds[contender][..], *w));
            let planned = parts.clone().map(|(rounds, _)| rounds.len()).max();
            let present = parts.filter(|(rounds, _)| rounds.iter().any(Option::is_some));
            let present: Vec<_> = present.collect();
            let means = weighted_means(&present, planned.unwrap_or(0));
            of_rounds(means, [present.len(), groups.len() - present.len(), 0])
        };
        let mut scores: Vec<Score> = (0..self.candidates.len()).map(of_contender).collect();
        give_places(&mut scores);
        scores
    }
}

/// The rows that the groups of a use are made of.
fn counting<'a>(one: &Use, rows: &'a [Row], overall: &Overall) -> Vec<&'a Row> {
    let groups = overall.groups.iter();
    groups
        .filter(|group| one.weight(group.group) > 0.0)
        .flat_map(|group| &group.shares)
        .map(|share| &rows[share.row])
        .collect()
}

fn candidate(one: &Use, features: &ContenderFeatures) -> Candidate {
    let mut ruled_out = Vec::new();
    let mut not_probed = Vec::new();
    if features.class == Class::Baseline {
        ruled_out.push(RuledOut::Baseline);
    }
    ruled_out.extend(one.readers.as_ref().and_then(|r| unread(r, features)));
    for need in &one.needs {
        let state = features.features.iter().find(|s| s.feature == need.feature);
        match state.map(|s| &s.found) {
            Some(Found::Yes | Found::UpTo(_)) => {}
            Some(Found::No(found) | Found::Varies(found)) => ruled_out.push(RuledOut::Feature {
                feature: need.feature,
                found: found.clone(),
                why: need.why.clone(),
            }),
            Some(Found::NotProbed) | None => not_probed.push(need.feature),
        }
    }
    Candidate {
        contender: features.contender.clone(),
        ruled_out,
        not_probed,
    }
}

/// Whether none of the systems asked for reads it; where nobody said who does, nothing is known against it.
fn unread(readers: &Readers, features: &ContenderFeatures) -> Option<RuledOut> {
    let read_by = features.facts.read_by.iter().map(|reader| reader.system);
    let read_by: Vec<System> = read_by.collect();
    let none = !read_by.is_empty() && !read_by.iter().any(|by| readers.one_of.contains(by));
    none.then(|| RuledOut::Readers {
        read_by,
        why: readers.why.clone(),
    })
}

/// What failed of the results that count, else whether there are none at all.
fn failures(contender: usize, counting: &[&Row]) -> Vec<RuledOut> {
    let mut found = Vec::new();
    for row in counting {
        let result = &row.results[contender];
        let failed = |(outcome, _): &(RoundOutcome, u32)| {
            outcome.is_failure() && *outcome != RoundOutcome::Unsupported
        };
        if let Some((outcome, rounds)) = result.words().into_iter().find(failed) {
            found.push(RuledOut::Failure {
                test: row.test.clone(),
                phase: row.phase.clone(),
                outcome,
                rounds,
                of: u32::try_from(result.rounds.len()).unwrap_or(u32::MAX),
            });
        }
    }
    let has_one = counting
        .iter()
        .any(|row| row.results[contender].is_comparable());
    if found.is_empty() && !has_one {
        found.push(RuledOut::NoResults);
    }
    found
}

/// A group over the results that all who come into question have.
fn of_group(
    group: Group,
    comes: &[bool],
    rows: &[Row],
    overall: &Overall,
    left_out: &mut Vec<LeftOut>,
) -> WeighedGroup {
    let shares = overall.groups.iter().find(|g| g.group == group);
    let mut results = Vec::new();
    for share in shares.map_or(&[][..], |g| &g.shares) {
        let row = &rows[share.row];
        let lacking = lacking(row, comes);
        if lacking.is_empty() {
            results.push(*share);
        } else {
            left_out.push(LeftOut {
                test: row.test.clone(),
                phase: row.phase.clone(),
                lacking,
            });
        }
    }
    let scores = standing(group, results.clone(), rows, comes.len()).scores;
    let rounds = scores.into_iter().zip(comes).map(|(score, comes)| {
        let none = vec![None; score.rounds.len()];
        if *comes { score.rounds } else { none }
    });
    WeighedGroup {
        group,
        weight: 0.0,
        why: String::new(),
        rounds: rounds.collect(),
        results,
    }
}

fn lacking(row: &Row, comes: &[bool]) -> Vec<(String, String)> {
    let results = row.results.iter().zip(comes);
    results
        .filter(|(result, comes)| **comes && !result.is_comparable())
        .map(|(result, _)| {
            let words: Vec<&str> = result.words().iter().map(|(o, _)| o.name()).collect();
            (result.contender.clone(), words.join("/"))
        })
        .collect()
}

#[cfg(test)]
#[path = "use_scores_tests.rs"]
mod tests;
