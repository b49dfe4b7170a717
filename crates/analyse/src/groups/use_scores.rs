//! A use with the figures of a campaign: who comes into question, and how each does in each group of
//! tests that counts.
//!
//! A contender comes into question when it is of a class and has every feature that the use asks for, and
//! failed in none of the figures that count. Of these, the figures count that all who come into question
//! have: a mean over different figures would compare nothing. What each of them scores in a group is
//! what [`crate::Overall`] says, over these figures. Weighing is one formula, the same here and in the
//! page: with weights w and the scores s of the groups in one round,
//!
//! > cost = exp( Σ w · ln s / Σ w ),
//!
//! and the cost of a contender is the median over rounds. Groups without figures have no part in it.

use model::{Class, Feature, Group, Readers, System, Use};
use serde::{Deserialize, Serialize};

use crate::groups::overall::standing;
use crate::{ContenderFeatures, Found, GroupStanding, Outcome, Overall, Row, Score, Share};

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
    /// It failed in a figure that counts.
    Failure {
        /// Name of the test.
        test: String,
        /// Name of the phase.
        phase: String,
        /// What became of it.
        outcome: Outcome,
        /// In how many rounds.
        rounds: u32,
        /// Of how many.
        of: u32,
    },
    /// It has none of the figures that count.
    NoFigures,
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
    /// The figures that count; none where the group was not tested.
    pub figures: Vec<Share>,
    /// For each contender, in the campaign's order, its score in each round: its cost as a multiple of
    /// the best median, 1 where it is as good. `None` where it does not come into question, or the
    /// round is not whole.
    pub rounds: Vec<Vec<Option<f64>>>,
}

/// A figure that does not count, since some who come into question do not have it.
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

/// A use with the figures of a campaign.
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
    /// Figures of these groups that do not count.
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
    /// for those who do not come into question.
    pub fn weighed(&self, weight: impl Fn(&WeighedGroup) -> f64) -> Vec<Score> {
        let tested = self.groups.iter().filter(|g| !g.figures.is_empty());
        let groups: Vec<&WeighedGroup> = tested.collect();
        let standings = groups.iter().map(|group| GroupStanding {
            group: group.group,
            shares: group.figures.clone(),
            scores: group.rounds.iter().map(|r| score(r, group)).collect(),
        });
        let overall = Overall {
            groups: standings.collect(),
            total: Vec::new(),
            crossovers: Vec::new(),
        };
        overall.weighed(|wanted| {
            let group = groups.iter().find(|g| g.group == wanted);
            group.map_or(0.0, |g| weight(g))
        })
    }
}

/// A score as the overall view has it; only its rounds count in the weighing.
fn score(rounds: &[Option<f64>], group: &WeighedGroup) -> Score {
    let any = rounds.iter().any(Option::is_some);
    let figures = u32::try_from(group.figures.len()).unwrap_or(u32::MAX);
    Score {
        rounds: rounds.to_vec(),
        ratio: None,
        counted: if any { figures } else { 0 },
        missing: if any { 0 } else { figures },
        set_apart: 0,
        place: None,
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

/// What failed of the figures that count, else whether there are none at all.
fn failures(contender: usize, counting: &[&Row]) -> Vec<RuledOut> {
    let mut found = Vec::new();
    for row in counting {
        let figure = &row.figures[contender];
        let failed = |(outcome, _): &(Outcome, u32)| {
            outcome.is_failure() && *outcome != Outcome::Unsupported
        };
        if let Some((outcome, rounds)) = figure.words().into_iter().find(failed) {
            found.push(RuledOut::Failure {
                test: row.test.clone(),
                phase: row.phase.clone(),
                outcome,
                rounds,
                of: u32::try_from(figure.rounds.len()).unwrap_or(u32::MAX),
            });
        }
    }
    let has_one = counting
        .iter()
        .any(|row| row.figures[contender].is_comparable());
    if found.is_empty() && !has_one {
        found.push(RuledOut::NoFigures);
    }
    found
}

/// A group over the figures that all who come into question have.
fn of_group(
    group: Group,
    comes: &[bool],
    rows: &[Row],
    overall: &Overall,
    left_out: &mut Vec<LeftOut>,
) -> WeighedGroup {
    let shares = overall.groups.iter().find(|g| g.group == group);
    let mut figures = Vec::new();
    for share in shares.map_or(&[][..], |g| &g.shares) {
        let row = &rows[share.row];
        let lacking = lacking(row, comes);
        if lacking.is_empty() {
            figures.push(*share);
        } else {
            left_out.push(LeftOut {
                test: row.test.clone(),
                phase: row.phase.clone(),
                lacking,
            });
        }
    }
    let scores = standing(group, figures.clone(), rows, comes.len()).scores;
    let rounds = scores.into_iter().zip(comes).map(|(score, comes)| {
        let none = vec![None; score.rounds.len()];
        if *comes { score.rounds } else { none }
    });
    WeighedGroup {
        group,
        weight: 0.0,
        why: String::new(),
        rounds: rounds.collect(),
        figures,
    }
}

fn lacking(row: &Row, comes: &[bool]) -> Vec<(String, String)> {
    let figures = row.figures.iter().zip(comes);
    figures
        .filter(|(figure, comes)| **comes && !figure.is_comparable())
        .map(|(figure, _)| {
            let words: Vec<&str> = figure.words().iter().map(|(o, _)| o.name()).collect();
            (figure.contender.clone(), words.join("/"))
        })
        .collect()
}

#[cfg(test)]
#[path = "use_scores_tests.rs"]
mod tests;
