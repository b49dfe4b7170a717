//! Use cases on the page: the documented weights and the resulting order, as tables, and the data
//! needed by the script to apply other weights.

use std::collections::{BTreeMap, BTreeSet};

use model::{Clock, WorkloadCategory};
use serde::{Serialize, Serializer};
use stats::inference::{
    self, FDR_LIMIT, FORECAST_ROUNDS, LogCosts, ModeratedEstimate, PairwiseEstimates, STALL_FACTOR,
    family_level,
};
use stats::{
    ABOUT_EQUAL, Analysis, Candidate, ComparisonVerdict, CostBound, ExclusionReason,
    MAX_USEFUL_BOUND, MIN_TESTED_WEIGHT, NeedKind, Recommendation, ResultRow, RoundOutcome,
    RowWeight, UseCaseScores, UseNeed, WeightedCategory, advise,
};

use crate::text::answer::excess_bound;
use crate::text::answer::is_budget_for_uses;
use crate::text::command::more_work;
use crate::text::conclusions::{self, describe_rank};
use crate::text::exclusions::{Exclusion, brief, one_fact_each, outcome, reasons};
use crate::text::labels;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph, short_names};
use crate::text::scale::three_digits;
use crate::text::summary;

/// A use case with its results.
pub(super) struct UseView {
    pub title: String,
    /// Answer with the documented weights.
    pub answer: String,
    /// Advice on how to settle open questions.
    pub settled_by: String,
    pub rationale: String,
    pub source: String,
    pub groups: Vec<UseGroupView>,
    pub order: Vec<OrderView>,
    /// Excluded contenders, each with a fact against it; empty if the answer lists them.
    pub excluded: String,
    /// Index and name of each excluded contender, and the reason.
    pub ruled_out: Vec<(usize, String, String)>,
    pub needs: NeedsView,
    /// Groups without weight and the reason; empty if every group counts.
    pub untested: String,
}

/// Needs of a use case: a row for each contender.
pub(super) struct NeedsView {
    /// Title of each need, and the consequence if it is not met.
    pub titles: Vec<(String, String)>,
    /// Name of each contender, and whether it meets each need.
    pub rows: Vec<(String, Vec<(&'static str, &'static str)>)>,
    /// Whether the use needs synced files to survive power cuts.
    pub power_cuts: bool,
}

/// A group of tests with its weight.
pub(super) struct UseGroupView {
    pub title: &'static str,
    pub weight: f64,
    pub rationale: String,
    pub tested: bool,
}

/// A contender with its cost.
pub(super) struct OrderView {
    pub number: usize,
    pub contender: String,
    /// Estimated cost as a multiple of the lowest.
    pub cost: String,
    /// The most that it costs more than the best.
    pub at_most: String,
    /// Comparison with the best.
    pub place: String,
    /// Losses in power cuts.
    pub power_cuts: String,
}

/// Data of a use case for the script.
#[derive(Serialize)]
pub(super) struct UseData {
    name: String,
    title: String,
    groups: Vec<UseGroupData>,
    /// Reasons against each contender.
    out: Vec<Vec<ExclusionData>>,
    /// Features that the use case needs but that were not tried, for each contender.
    untried: Vec<Vec<String>>,
    /// Margin of relevance: smaller differences are ignored.
    margin: f64,
    /// Maximum probability of a false claim about the use case.
    limit: f64,
}

/// A reason to exclude a contender. It holds if one of `rows` counts, or always if `rows` is
/// `None`.
#[derive(Serialize)]
struct ExclusionData {
    what: String,
    /// The reason in a few words.
    brief: String,
    /// Why it matters. Neighbouring reasons with the same text are joined.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<usize>>,
    /// Whether the reason is a failure. Only one failure is named.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failure: bool,
    /// Whether it is a skipped phase, the consequence of a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    skipped: bool,
}

/// Statistics of each pair of contenders in each result, enough to answer for any selection and any
/// weights.
#[derive(Serialize)]
pub(super) struct InferenceData {
    /// Index of the test of each result. Results of one test share noise.
    tests: Vec<usize>,
    /// Number of rounds of each result.
    rounds: Vec<usize>,
    /// Whether each result is a size, which no stall changes.
    #[serde(rename = "isSize")]
    is_size: Vec<bool>,
    /// Logarithm of the cost of each result and contender, by round; `None` if it is not
    /// comparable.
    costs: Vec<Vec<Option<Vec<Option<RoundedNumber>>>>>,
    /// For each result and pair: the mean difference of log costs, the variance of that mean if
    /// known, and the index of the quantiles for its degrees of freedom.
    pairs: Vec<Vec<Option<PairData>>>,
    /// Degrees of freedom of the quantiles.
    quantiles: Vec<Vec<RoundedNumber>>,
    /// These numbers.
    freedoms: Vec<f64>,
    /// Correlation of the noise of results of one test.
    correlation: f64,
    /// Whether values are free of noise.
    exact: bool,
    /// Whether the campaign ended depending on its results.
    #[serde(rename = "endsByResults")]
    ends_by_results: bool,
    /// The part of the log cost of a contender with one round that a stall may explain.
    stall: f64,
    /// Bound of a cost above which a contender is not recommended.
    #[serde(rename = "mostUseful")]
    most_useful: f64,
    /// Difference of bounds within which a contender that recovers from a crash comes first.
    #[serde(rename = "aboutEqual")]
    about_equal: f64,
    /// Number of times as many rounds for which a bound is forecast.
    #[serde(rename = "forecastRounds")]
    forecast_rounds: f64,
    #[serde(rename = "enoughTested")]
    enough_tested: f64,
    #[serde(rename = "falseLimit")]
    false_limit: f64,
    margin: f64,
    /// Suites that ran.
    suites: Vec<String>,
    /// Option for closer answers.
    #[serde(rename = "moreWork")]
    more_work: String,
    /// Whether a budget is spent on the answers for uses, not on those of groups.
    #[serde(rename = "budgetForUses")]
    budget_for_uses: bool,
    /// Time budget of the suites, if it was limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<String>,
    /// Title of the category for space.
    space: &'static str,
    /// Categories: the title and the weighted results of each, as in a use case.
    groups: Vec<(&'static str, Vec<(usize, f64)>)>,
}

/// Statistics of a pair in a result: mean, variance, index of the quantiles. Most pairs have only
/// the variance, because the mean follows from the costs of both, and the first quantiles apply.
#[derive(Serialize)]
#[serde(untagged)]
enum PairData {
    Variance(RoundedEstimate),
    All(RoundedNumber, Option<RoundedEstimate>, usize),
}

/// A number rounded to digits that do not affect an answer.
#[derive(Clone, Copy)]
struct RoundedNumber(f64);

impl RoundedNumber {
    fn rounded(value: f64) -> f64 {
        format!("{value:.8e}").parse().unwrap_or(value)
    }
}

impl Serialize for RoundedNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(Self::rounded(self.0))
    }
}

/// A number that is only an estimate, written with fewer digits.
#[derive(Clone, Copy)]
struct RoundedEstimate(f64);

impl Serialize for RoundedEstimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = format!("{:.6e}", self.0).parse().unwrap_or(self.0);
        serializer.serialize_f64(rounded)
    }
}

#[derive(Serialize)]
struct UseGroupData {
    title: &'static str,
    why: String,
    weight: f64,
    tested: bool,
    /// Suite that tests the category.
    suite: Option<String>,
    /// Index of each result in the inference, and its weight in the group.
    results: Vec<(usize, f64)>,
}

/// Returns the use cases. `command` repeats the campaign.
pub(super) fn views(analysis: &Analysis, command: &str) -> Vec<UseView> {
    analysis.uses.iter().map(|one| view(one, analysis, command)).collect()
}

/// Returns the index of the first use case with an answer, or else of the first use case.
pub(super) fn first_answered(analysis: &Analysis) -> usize {
    analysis.uses.iter().position(conclusions::is_answered).unwrap_or(0)
}

/// Indices of rows in the inference, by their indices in the analysis.
pub(super) type InferenceRows = BTreeMap<usize, usize>;

/// Returns the use cases and the data for their answers.
pub(super) fn data(analysis: &Analysis) -> (Vec<UseData>, InferenceData, InferenceRows) {
    let (estimates, rows) = analysis.estimates();
    let numbers: InferenceRows = rows.iter().enumerate().map(|(n, row)| (*row, n)).collect();
    let limit = family_level(analysis.uses.len(), analysis.ends_by_results);
    let of = |one| of_use(one, analysis, &numbers, limit);
    let uses = analysis.uses.iter().map(of).collect();
    (uses, inference(analysis, &estimates, &numbers), numbers)
}

fn inference(
    analysis: &Analysis,
    estimates: &PairwiseEstimates,
    numbers: &InferenceRows,
) -> InferenceData {
    let mut freedoms: Vec<f64> = Vec::new();
    let mut pair =
        |estimate: &Option<ModeratedEstimate>, costs: &LogCosts, pair: (usize, usize)| {
            let estimate = (*estimate)?;
            let freedom = match estimate.freedom.is_finite() {
                true => estimate.freedom,
                false => 1.0,
            };
            let known = freedoms.iter().position(|f| *f == freedom);
            let number = known.unwrap_or_else(|| {
                freedoms.push(freedom);
                freedoms.len() - 1
            });
            let variance = Some(RoundedEstimate(estimate.variance)).filter(|v| v.0.is_finite());
            let is_mean =
                (mean_of(costs, pair)? - estimate.mean).abs() < 1e-6 * estimate.variance.sqrt();
            Some(match variance {
                Some(variance) if number == 0 && is_mean => PairData::Variance(variance),
                variance => PairData::All(RoundedNumber(estimate.mean), variance, number),
            })
        };
    let count = analysis.contenders.len();
    let pairs = estimates.pairs().zip(estimates.costs()).map(|(row, costs)| {
        let places = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        row.iter().zip(places).map(|(estimate, place)| pair(estimate, costs, place)).collect()
    });
    let pairs = pairs.collect();
    let quantiles = freedoms
        .iter()
        .map(|freedom| inference::quantiles(*freedom).into_iter().map(RoundedNumber).collect());
    let groups = analysis.overall.groups.iter();
    InferenceData {
        tests: estimates.tests().collect(),
        rounds: estimates.rounds().collect(),
        is_size: estimates.costs().map(|costs| costs.is_size).collect(),
        costs: estimates.costs().map(costs).collect(),
        quantiles: quantiles.collect(),
        pairs,
        freedoms,
        correlation: estimates.correlation(),
        exact: analysis.clock == Clock::Virtual,
        ends_by_results: analysis.ends_by_results,
        stall: STALL_FACTOR.ln(),
        most_useful: MAX_USEFUL_BOUND,
        about_equal: ABOUT_EQUAL,
        forecast_rounds: FORECAST_ROUNDS,
        enough_tested: MIN_TESTED_WEIGHT,
        false_limit: FDR_LIMIT,
        margin: analysis.margin.0,
        suites: conclusions::CampaignScope::of(analysis)
            .suites
            .into_iter()
            .map(sanitize_line)
            .collect(),
        more_work: more_work(analysis),
        budget_for_uses: is_budget_for_uses(analysis),
        budget: analysis.budget.map(|budget| budget.to_string()),
        space: WorkloadCategory::Space.title(),
        groups: groups
            .map(|group| (group.group.title(), results(&group.shares, numbers)))
            .collect(),
    }
}

/// Returns the mean difference of log costs of two contenders, computed from the rounded costs of
/// the page.
fn mean_of(costs: &LogCosts, (one, other): (usize, usize)) -> Option<f64> {
    let rounds = costs.logs[one].iter().zip(&costs.logs[other]);
    let both = rounds
        .filter_map(|(a, b)| Some(RoundedNumber::rounded((*a)?) - RoundedNumber::rounded((*b)?)));
    let (count, sum) = both.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the cost of each contender in a row, by round.
fn costs(row: &LogCosts) -> Vec<Option<Vec<Option<RoundedNumber>>>> {
    let of_contender = |rounds: &Vec<Option<f64>>| {
        let any = rounds.iter().any(Option::is_some);
        any.then(|| rounds.iter().map(|log| log.map(RoundedNumber)).collect())
    };
    row.logs.iter().map(of_contender).collect()
}

/// Returns the results of a group, as indices in the inference with weights.
fn results(shares: &[RowWeight], numbers: &InferenceRows) -> Vec<(usize, f64)> {
    let number = |share: &RowWeight| Some((*numbers.get(&share.row)?, share.weight));
    shares.iter().filter_map(number).collect()
}

fn of_use(
    one: &UseCaseScores,
    analysis: &Analysis,
    numbers: &InferenceRows,
    limit: f64,
) -> UseData {
    let all = |group: &WeightedCategory| {
        let mut groups = analysis.overall.groups.iter();
        let of_group = groups.find(|of| of.group == group.group);
        of_group.map_or_else(Vec::new, |of| results(&of.shares, numbers))
    };
    let groups: Vec<UseGroupData> = one
        .groups
        .iter()
        .map(|group| UseGroupData {
            title: group.group.title(),
            why: sanitize_paragraph(&group.rationale),
            weight: group.weight,
            tested: !all(group).is_empty(),
            suite: group.tested_by.first().cloned(),
            results: all(group),
        })
        .collect();
    let counting: BTreeSet<usize> = groups.iter().flat_map(|g| &g.results).map(|r| r.0).collect();
    let of_inference: Vec<usize> = numbers.keys().copied().collect();
    let rows: Vec<(usize, &ResultRow)> =
        counting.iter().map(|number| (*number, &analysis.rows[of_inference[*number]])).collect();
    UseData {
        name: sanitize_line(&one.name),
        title: sanitize_line(&one.title),
        groups,
        out: one.candidates.iter().map(|c| against(c, &rows, analysis)).collect(),
        untried: one
            .candidates
            .iter()
            .map(|c| c.not_probed.iter().map(ToString::to_string).collect())
            .collect(),
        margin: one.margin.0,
        limit,
    }
}

/// Returns the reasons against a candidate, each with the rows that it depends on.
fn against(
    candidate: &Candidate,
    rows: &[(usize, &ResultRow)],
    analysis: &Analysis,
) -> Vec<ExclusionData> {
    let of = |wanted: &dyn Fn(&ResultRow) -> bool| {
        let some = rows.iter().filter(|(_, row)| wanted(row));
        Some(some.map(|(number, _)| *number).collect::<Vec<usize>>())
    };
    let place = analysis.contenders.iter().position(|name| *name == candidate.contender);
    let is_damage = |test: &str| {
        let mut cells = analysis.failures.iter();
        cells.any(|cell| {
            cell.contender == candidate.contender && cell.test == test && cell.is_damage()
        })
    };
    let rows_of = |reason: &ExclusionReason| match reason {
        ExclusionReason::Failure { test, phase, .. } => {
            let own = of(&|row| row.test == *test && row.phase == *phase);
            match own {
                Some(rows) if !rows.is_empty() => Some(rows),
                _ if is_damage(test) => None,
                _ => of(&|row| row.test == *test),
            }
        }
        ExclusionReason::NotDurable { .. } => {
            of(&|row| place.is_some_and(|place| row.results[place].set_apart))
        }
        _ => None,
    };
    let reason = |reason: &ExclusionReason| {
        let Exclusion { what, why } = Exclusion::of(reason);
        let outcome = outcome(reason);
        ExclusionData {
            what,
            brief: brief(reason),
            why,
            failure: outcome.is_some(),
            skipped: outcome == Some(RoundOutcome::Skipped),
            rows: rows_of(reason),
        }
    };
    // Missing results are noticed when results are counted.
    let reasons = candidate.ruled_out.iter().filter(|r| **r != ExclusionReason::NoResults);
    reasons.map(reason).collect()
}

fn is_tested(group: &WeightedCategory) -> bool {
    !group.results.is_empty()
}

fn view(one: &UseCaseScores, analysis: &Analysis, command: &str) -> UseView {
    let names = short_names(&analysis.contenders, super::WIDEST_NAME);
    let out = one.candidates.iter().map(why_ruled_out).enumerate();
    let advice = advise(one);
    UseView {
        title: sanitize_line(&one.title),
        answer: summary::sentence(&conclusions::use_case_conclusion(
            &advice,
            analysis,
            &conclusions::CampaignScope::of(analysis),
        )),
        excluded: match advice.recommendation {
            Recommendation::NoneQualifies => String::new(),
            _ => one_fact_each(&advice.ruled_out),
        },
        settled_by: conclusions::resolving_command(&advice, analysis, command),
        rationale: sanitize_paragraph(&one.rationale),
        source: sanitize_paragraph(&one.source),
        groups: one
            .groups
            .iter()
            .map(|group| UseGroupView {
                title: group.group.title(),
                weight: group.weight,
                rationale: sanitize_paragraph(&group.rationale),
                tested: is_tested(group),
            })
            .collect(),
        order: order(one, analysis, &names),
        ruled_out: out
            .filter(|(_, reasons)| !reasons.is_empty())
            .map(|(place, reasons)| (place, names[place].clone(), reasons))
            .collect(),
        needs: needs(one, &names),
        untested: untested(one),
    }
}

/// Returns the needs of a use case, as signs with their styles.
fn needs(one: &UseCaseScores, names: &[String]) -> NeedsView {
    let sign = |met: Option<bool>| match met {
        Some(true) => ("✓", "yes"),
        Some(false) => ("✗", "no"),
        None => ("?", "absent"),
    };
    let row = |(contender, name): (usize, &String)| {
        (name.clone(), one.needs.iter().map(|need| sign(need.met[contender])).collect())
    };
    let title = |need: &UseNeed| (need_title(&need.need), sanitize_paragraph(&need.why));
    NeedsView {
        titles: one.needs.iter().map(title).collect(),
        power_cuts: one.needs.iter().any(|need| need.need == NeedKind::PowerCuts),
        rows: names.iter().enumerate().map(row).collect(),
    }
}

fn need_title(need: &NeedKind) -> String {
    match need {
        NeedKind::CrashRecovery => "No repair after a crash".to_owned(),
        NeedKind::PowerCuts => "Synced files survive power cuts".to_owned(),
        NeedKind::Snapshots => "Snapshots".to_owned(),
        NeedKind::Feature(feature) => labels::feature(*feature).to_owned(),
        NeedKind::Readers(systems) => {
            let names: Vec<String> = systems.iter().map(ToString::to_string).collect();
            format!("Read by {}", conclusions::listed(&names, "or"))
        }
    }
}

/// Returns the ranked contenders, the one with the least bound first.
fn order(one: &UseCaseScores, analysis: &Analysis, names: &[String]) -> Vec<OrderView> {
    let power_cuts = |contender: usize| {
        let record = analysis.features.get(contender)?.power_cuts.as_ref()?;
        Some(labels::power_cuts(record))
    };
    let ranked = one.conclusion.bounds.iter();
    let view = |(index, bound): (usize, &CostBound)| {
        let place = one.places[bound.contender].as_ref()?;
        Some(OrderView {
            number: bound.contender,
            contender: names[bound.contender].clone(),
            cost: format!("{}×", three_digits(bound.ratio)),
            at_most: bound.at_most.map_or_else(|| "unknown".to_owned(), excess_bound),
            power_cuts: power_cuts(bound.contender).unwrap_or_else(|| "not tested".to_owned()),
            place: match place.verdict {
                ComparisonVerdict::Undecided { .. } if index == 0 => "first".to_owned(),
                _ => describe_rank(place),
            },
        })
    };
    ranked.enumerate().filter_map(view).collect()
}

/// Returns the reasons why a contender is ruled out, in one line; empty if it is not.
fn why_ruled_out(candidate: &Candidate) -> String {
    reasons(candidate).join("; ")
}

/// Returns a note on the untested groups and excluded results.
fn untested(one: &UseCaseScores) -> String {
    let missing: Vec<&str> = one
        .groups
        .iter()
        .filter(|group| !is_tested(group))
        .map(|group| group.group.title())
        .collect();
    let mut text = match missing.is_empty() {
        true => String::new(),
        false => format!("Without results, and so without weight: {}.", missing.join(", ")),
    };
    if !one.excluded_results.is_empty() {
        text += &format!(
            " {} excluded, because some qualified contenders lack them.",
            match one.excluded_results.len() {
                1 => "One result is".to_owned(),
                some => format!("{some} results are"),
            }
        );
    }
    text.trim().to_owned()
}
