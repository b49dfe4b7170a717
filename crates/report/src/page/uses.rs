//! Uses on the page: the weights as documented and the order that follows from them, as tables; and what
//! the script needs to weigh anew.

use analyse::{Analysis, Candidate, UseScores, WeighedGroup, advise};
use serde::{Serialize, Serializer};

use crate::wording::answers::{self, of_place};
use crate::wording::reasons::reasons;
use crate::wording::scale::three_digits;
use crate::wording::text::{clean, prose, short_names};

/// A use with what it comes to.
pub(super) struct UseView {
    pub title: String,
    /// The answer with the weights as documented.
    pub answer: String,
    pub rationale: String,
    pub source: String,
    pub groups: Vec<GroupView>,
    pub order: Vec<OrderView>,
    /// Place and name of each contender that is ruled out, and why.
    pub ruled_out: Vec<(usize, String, String)>,
    /// What does not count and why; empty where everything does.
    pub untested: String,
}

/// A group of tests with its weight.
pub(super) struct GroupView {
    pub title: &'static str,
    pub weight: f64,
    pub why: String,
    pub tested: bool,
}

/// A contender with its cost.
pub(super) struct OrderView {
    pub number: usize,
    pub contender: String,
    pub cost: String,
    pub interval: String,
    /// What it is beside the best.
    pub place: String,
}

/// A use as the script knows it.
#[derive(Serialize)]
pub(super) struct UseData {
    title: String,
    /// The answer with the weights as documented.
    answer: String,
    groups: Vec<GroupData>,
    /// Why each contender is ruled out; empty where it is not.
    out: Vec<String>,
}

#[derive(Serialize)]
struct GroupData {
    title: &'static str,
    why: String,
    weight: f64,
    tested: bool,
    /// The scores of each contender, by round; nothing where it has none.
    scores: Vec<Option<Vec<Option<Digits>>>>,
}

/// A score with as many digits as make no difference in the three that are shown.
struct Digits(f64);

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = format!("{:.6e}", self.0).parse().unwrap_or(self.0);
        serializer.serialize_f64(rounded)
    }
}

pub(super) fn views(analysis: &Analysis) -> Vec<UseView> {
    analysis
        .uses
        .iter()
        .map(|one| view(one, analysis))
        .collect()
}

pub(super) fn data(analysis: &Analysis) -> Vec<UseData> {
    let of = |one| of_use(one, &analysis.contenders);
    analysis.uses.iter().map(of).collect()
}

fn of_use(one: &UseScores, contenders: &[String]) -> UseData {
    let scores = |rounds: &Vec<Option<f64>>| {
        let any = rounds.iter().any(Option::is_some);
        any.then(|| rounds.iter().map(|score| score.map(Digits)).collect())
    };
    let groups = one.groups.iter().map(|group| GroupData {
        title: group.group.title(),
        why: prose(&group.why),
        weight: group.weight,
        tested: is_tested(group),
        scores: group.rounds.iter().map(scores).collect(),
    });
    UseData {
        title: clean(&one.title),
        answer: answers::of_use(&advise(one), contenders),
        groups: groups.collect(),
        out: one.candidates.iter().map(why_ruled_out).collect(),
    }
}

fn is_tested(group: &WeighedGroup) -> bool {
    !group.results.is_empty()
}

fn view(one: &UseScores, analysis: &Analysis) -> UseView {
    let names = short_names(&analysis.contenders, super::WIDEST_NAME);
    let out = one.candidates.iter().map(why_ruled_out).enumerate();
    UseView {
        title: clean(&one.title),
        answer: answers::of_use(&advise(one), &analysis.contenders),
        rationale: prose(&one.rationale),
        source: prose(&one.source),
        groups: one
            .groups
            .iter()
            .map(|group| GroupView {
                title: group.group.title(),
                weight: group.weight,
                why: prose(&group.why),
                tested: is_tested(group),
            })
            .collect(),
        order: order(one, &names),
        ruled_out: out
            .filter(|(_, reasons)| !reasons.is_empty())
            .map(|(place, reasons)| (place, names[place].clone(), reasons))
            .collect(),
        untested: untested(one),
    }
}

/// Those who qualify, the cheapest first.
fn order(one: &UseScores, names: &[String]) -> Vec<OrderView> {
    let scores = one.weighed(|group| group.weight);
    let mut known: Vec<_> = scores
        .iter()
        .enumerate()
        .filter_map(|(place, score)| Some((place, score.ratio?)))
        .collect();
    known.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    known
        .into_iter()
        .map(|(place, ratio)| OrderView {
            number: place,
            contender: names[place].clone(),
            cost: format!("{}×", three_digits(ratio.median)),
            place: one.places[place]
                .as_ref()
                .map_or_else(String::new, of_place),
            interval: match ratio.rounds {
                1 => "one round".to_owned(),
                _ => {
                    let interval = ratio.interval;
                    format!(
                        "{} … {}",
                        three_digits(interval.low),
                        three_digits(interval.high)
                    )
                }
            },
        })
        .collect()
}

/// Why a contender is ruled out, in a line; empty where it is not.
fn why_ruled_out(candidate: &Candidate) -> String {
    reasons(candidate).join("; ")
}

/// On how much of the weight the order does not rest.
fn untested(one: &UseScores) -> String {
    let missing: Vec<&str> = one
        .groups
        .iter()
        .filter(|group| !is_tested(group))
        .map(|group| group.group.title())
        .collect();
    let mut text = match missing.is_empty() {
        true => String::new(),
        false => format!("Not tested, and so without weight: {}.", missing.join(", ")),
    };
    if !one.left_out.is_empty() {
        text += &format!(
            " {} left out, since not all who qualify have them.",
            match one.left_out.len() {
                1 => "One result is".to_owned(),
                some => format!("{some} results are"),
            }
        );
    }
    text.trim().to_owned()
}
