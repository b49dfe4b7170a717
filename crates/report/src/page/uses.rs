//! Uses on the page: the weights as documented and the order that follows from them, as tables; and what
//! the script needs to weigh anew.

use analyse::inference::{self, Estimate, Estimates, MOST_ROUNDS, limit};
use analyse::{Analysis, Candidate, ENOUGH_TESTED, Share, UseScores, WeighedGroup, advise};
use model::Clock;
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
    /// As a multiple of the first's.
    pub cost: String,
    /// What it is beside the best.
    pub place: String,
}

/// A use as the script knows it.
#[derive(Serialize)]
pub(super) struct UseData {
    title: String,
    groups: Vec<GroupData>,
    /// Why each contender is ruled out; empty where it is not.
    out: Vec<String>,
    /// The answer where all of them are.
    nothing: String,
    /// Features that it needs and that nobody tried on some who qualify.
    untried: Vec<String>,
    /// What is of no relevance.
    margin: f64,
    /// The chance of a false claim about it.
    limit: f64,
}

/// What is known of each pair of contenders in each result, from which any weights are answered.
#[derive(Serialize)]
pub(super) struct InferenceData {
    /// The test of each result.
    tests: Vec<usize>,
    /// How many rounds it has.
    rounds: Vec<usize>,
    /// Of each result and pair the mean difference of log costs, the variance of that mean, where anything is known of it,
    /// and which quantiles belong to its degrees of freedom.
    pairs: Vec<Vec<Option<PairData>>>,
    /// Quantiles of f/χ² for each number f of degrees of freedom that occurs.
    quantiles: Vec<Vec<Close>>,
    /// How far the noise of results of one test goes together.
    correlation: f64,
    /// Whether values are free of noise.
    exact: bool,
    #[serde(rename = "mostRounds")]
    most_rounds: u32,
    #[serde(rename = "farBehind")]
    far_behind: f64,
    #[serde(rename = "enoughTested")]
    enough_tested: f64,
    /// The suites that ran.
    suites: Vec<String>,
    /// The time that they had, where that was limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<String>,
}

type PairData = (Close, Option<Close>, usize);

/// A number with as many digits as make no difference to an answer.
struct Close(f64);

impl Serialize for Close {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = format!("{:.9e}", self.0).parse().unwrap_or(self.0);
        serializer.serialize_f64(rounded)
    }
}

#[derive(Serialize)]
struct GroupData {
    title: &'static str,
    why: String,
    weight: f64,
    tested: bool,
    /// The suite that tests it.
    suite: Option<String>,
    /// The number of each result that counts among those of the inference, and its share in the group.
    results: Vec<(usize, f64)>,
    /// In virtual time the scores of each contender, by round; nothing where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

/// The uses, and what they are answered from; nothing where there are none.
pub(super) fn data(analysis: &Analysis) -> (Vec<UseData>, Option<InferenceData>) {
    if analysis.uses.is_empty() {
        return (Vec::new(), None);
    }
    let (estimates, rows) = analysis.estimates();
    let limit = limit(analysis.uses.len());
    let is_exact = analysis.clock == Clock::Virtual;
    let of = |one| of_use(one, &rows, limit, is_exact);
    let uses = analysis.uses.iter().map(of).collect();
    (uses, Some(inference(analysis, &estimates)))
}

fn inference(analysis: &Analysis, estimates: &Estimates) -> InferenceData {
    let mut quantiles: Vec<(f64, Vec<Close>)> = Vec::new();
    let mut pair = |estimate: &Option<Estimate>| {
        let estimate = (*estimate)?;
        let freedom = match estimate.freedom.is_finite() {
            true => estimate.freedom,
            false => 1.0,
        };
        let known = quantiles.iter().position(|(f, _)| *f == freedom);
        let number = known.unwrap_or_else(|| {
            let all = inference::quantiles(freedom).into_iter().map(Close);
            quantiles.push((freedom, all.collect()));
            quantiles.len() - 1
        });
        let variance = Some(estimate.variance).filter(|v| v.is_finite());
        Some((Close(estimate.mean), variance.map(Close), number))
    };
    let pairs = estimates
        .pairs()
        .map(|row| row.iter().map(&mut pair).collect());
    InferenceData {
        tests: estimates.tests().collect(),
        rounds: estimates.rounds().collect(),
        pairs: pairs.collect(),
        quantiles: quantiles.into_iter().map(|(_, all)| all).collect(),
        correlation: estimates.correlation(),
        exact: analysis.clock == Clock::Virtual,
        most_rounds: MOST_ROUNDS,
        far_behind: answers::FAR_BEHIND,
        enough_tested: ENOUGH_TESTED,
        suites: answers::Ran::of(analysis)
            .suites
            .into_iter()
            .map(clean)
            .collect(),
        budget: analysis.budget.map(|budget| budget.to_string()),
    }
}

fn of_use(one: &UseScores, rows: &[usize], limit: f64, is_exact: bool) -> UseData {
    let scores = |rounds: &Vec<Option<f64>>| {
        let any = rounds.iter().any(Option::is_some);
        any.then(|| rounds.iter().map(|score| score.map(Digits)).collect())
    };
    let results = |group: &WeighedGroup| {
        let whole: f64 = group.results.iter().map(|share| share.weight).sum();
        let number = |share: &Share| {
            let number = rows.iter().position(|row| *row == share.row)?;
            Some((number, share.weight / whole))
        };
        group.results.iter().filter_map(number).collect()
    };
    let groups = one.groups.iter().map(|group| GroupData {
        title: group.group.title(),
        why: prose(&group.why),
        weight: group.weight,
        tested: is_tested(group),
        suite: group.tested_by.first().cloned(),
        results: results(group),
        scores: match is_exact {
            true => group.rounds.iter().map(scores).collect(),
            false => Vec::new(),
        },
    });
    let advice = advise(one);
    let untried = &advice.untried;
    UseData {
        title: clean(&one.title),
        groups: groups.collect(),
        out: one.candidates.iter().map(why_ruled_out).collect(),
        nothing: answers::nothing(&advice),
        untried: untried
            .iter()
            .map(|(feature, _)| feature.to_string())
            .collect(),
        margin: one.margin.0,
        limit,
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
        answer: answers::of_use(
            &advise(one),
            &analysis.contenders,
            &answers::Ran::of(analysis),
        ),
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

/// Those who are ranked, the cheapest first.
fn order(one: &UseScores, names: &[String]) -> Vec<OrderView> {
    let places = one.places.iter().enumerate();
    let mut ranked: Vec<_> = places
        .filter_map(|(number, place)| Some((number, place.as_ref()?)))
        .collect();
    ranked.sort_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let ranked = ranked.into_iter();
    ranked
        .map(|(number, place)| OrderView {
            number,
            contender: names[number].clone(),
            cost: format!("{}×", three_digits(place.ratio)),
            place: of_place(place),
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
