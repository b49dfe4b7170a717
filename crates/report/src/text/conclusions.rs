//! Answers as text: the suitable contenders for each use case, and the result of each test
//! category. Every report uses the same text; all decisions are made by the analysis
//! ([`stats::Conclusion`], [`stats::advise`]).

use std::collections::BTreeSet;

use model::{Clock, Nanos, PEERS, RECORDING, WorkloadCategory};
use stats::{
    Advice, Analysis, ComparisonResult, ComparisonVerdict, Conclusion, CostBound,
    MIN_TESTED_WEIGHT, Margin, Rank, Recommendation, ShortlistState, UseCaseScores, advise,
};

use crate::text::answer::{AnswerText, Question};
use crate::text::command::{closer_answer, more_work};
use crate::text::exclusions::one_fact_each;
use crate::text::labels::percent;
use crate::text::sanitize::{sanitize_line, short_names};
use crate::text::scale::three_digits;

/// Maximum width of a contender's name in a sentence.
const NAME_COLUMNS: usize = 40;
/// Suite that probes every feature.
pub(crate) const FEATURE_SUITE: &str = "lifecycle";
/// Maximum number of contenders named in a sentence.
const MAX_NAMES: usize = 5;

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConclusionText {
    /// The question: a use case or a test category.
    pub question: String,
    /// The answer: `ext4; xfs costs at least 12 % more.`
    pub answer: String,
}

/// Returns the answer for each use case, in order. One sentence for all use cases without advice
/// follows, then the use cases for which every contender is ruled out.
pub(crate) fn use_case_conclusions(analysis: &Analysis) -> Vec<ConclusionText> {
    conclusions_of(analysis, |_| true)
}

fn conclusions_of(
    analysis: &Analysis,
    is_shown: fn(&UseCaseScores) -> bool,
) -> Vec<ConclusionText> {
    let ran = CampaignScope::of(analysis);
    let advised = analysis.uses.iter().filter(|one| is_shown(one)).map(advise);
    let (open, answered): (Vec<Advice>, Vec<Advice>) =
        advised.partition(|advice| advice.recommendation == Recommendation::NoAdvice);
    let sentence = |advice: &Advice| ConclusionText {
        question: sanitize_line(&advice.scores.title),
        answer: use_case_conclusion(advice, analysis, &ran),
    };
    let (nobody, answered): (Vec<Advice>, Vec<Advice>) = answered
        .into_iter()
        .partition(|advice| advice.recommendation == Recommendation::NoneQualifies);
    let without = match &open[..] {
        [] => None,
        [one] => Some(sentence(one)),
        several => Some(without_advice(several, &ran)),
    };
    let answered = answered.iter().map(sentence).chain(without);
    answered.chain(nobody.iter().map(sentence)).collect()
}

/// Returns one sentence for several use cases without advice, with the missing tests and features
/// of all.
fn without_advice(open: &[Advice], ran: &CampaignScope<'_>) -> ConclusionText {
    let titles: Vec<String> = open.iter().map(|one| sanitize_line(&one.scores.title)).collect();
    let short = open.iter().filter(|one| one.scores.tested < MIN_TESTED_WEIGHT);
    let groups = distinct(short.flat_map(|one| &one.untested).map(|u| u.group.title().to_owned()));
    let untried = open.iter().flat_map(|one| &one.untried);
    let features = distinct(untried.map(|(feature, _)| feature.to_string()));
    let mut lacking = Vec::new();
    if !groups.is_empty() {
        lacking.push(format!("no result counts for {}", some_of(&groups)));
    }
    if !features.is_empty() {
        lacking.push(format!("support for {} was not tested", some_of(&features)));
    }
    let why = match lacking.is_empty() {
        true => "no filesystem has every result that counts".to_owned(),
        false => lacking.join(", and "),
    };
    let missing = open.iter().flat_map(missing_suites).collect();
    ConclusionText {
        question: titles.join("; "),
        answer: format!("no advice, since {why}{}.", run_again(&missing, ran)),
    }
}

fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    distinct
}

/// Returns the first words, and the number of further ones.
fn some_of(words: &[String]) -> String {
    match words.len().saturating_sub(MAX_NAMES) {
        0 | 1 => listed(words, "and"),
        more => format!("{} and {more} more", words[..MAX_NAMES].join(", ")),
    }
}

/// Returns the answer for each category, and for all of them together.
pub(crate) fn category_conclusions(analysis: &Analysis) -> Vec<ConclusionText> {
    let sentence = |conclusion: &Conclusion| ConclusionText {
        question: match conclusion.group {
            Some(group) => group.title().to_owned(),
            None => "all groups, each weighing the same".to_owned(),
        },
        answer: AnswerText {
            question: Question::Group(conclusion.group),
            is_about_space: conclusion.group == Some(WorkloadCategory::Space),
            ruled_out: &[],
            conclusion,
            analysis,
        }
        .to_string(),
    };
    analysis.conclusions.iter().map(sentence).collect()
}

/// Returns the answers for each test category and for all together, for each disk if there are
/// several.
pub(crate) fn category_conclusions_by_disk(analysis: &Analysis) -> Vec<Vec<ConclusionText>> {
    let of_part = |(disk, part): (Option<&str>, &Analysis)| {
        let on = disk.map_or_else(String::new, |disk| format!("On {}, ", sanitize_line(disk)));
        let sentences = category_conclusions(part).into_iter();
        let sentences = sentences
            .map(|one| ConclusionText { question: format!("{on}{}", one.question), ..one });
        sentences.collect()
    };
    split_by_disk(analysis).into_iter().map(of_part).collect()
}

/// Returns the parts that are answered separately: the whole analysis, or each disk with its name
/// if contenders are on several disks.
pub(crate) fn split_by_disk(analysis: &Analysis) -> Vec<(Option<&str>, &Analysis)> {
    let by_disk = analysis.by_disk.iter();
    let parts: Vec<_> = by_disk.map(|of| (Some(of.disk.as_str()), &of.analysis)).collect();
    match parts.is_empty() {
        true => vec![(None, analysis)],
        false => parts,
    }
}

/// Returns the answers for chosen use cases that are the same on every disk, and the other ones of
/// each disk.
pub(crate) fn use_case_conclusions_by_disk(
    analysis: &Analysis,
    is_shown: fn(&UseCaseScores) -> bool,
) -> (Vec<ConclusionText>, Vec<Vec<ConclusionText>>) {
    let parts = split_by_disk(analysis).into_iter();
    let mut own: Vec<Vec<_>> = parts.map(|(_, part)| conclusions_of(part, is_shown)).collect();
    let mut everywhere = own.first().cloned().unwrap_or_default();
    everywhere.retain(|one| own.iter().all(|of_part| of_part.contains(one)));
    own.iter_mut().for_each(|of_part| of_part.retain(|one| !everywhere.contains(one)));
    (everywhere, own)
}

/// Whether a contender was found for a use case.
pub(crate) fn is_answered(one: &UseCaseScores) -> bool {
    let none = [Recommendation::NoAdvice, Recommendation::NoneQualifies];
    !none.contains(&advise(one).recommendation)
}

/// Returns a note on the confidence of the answers; empty if no answer depends on it.
pub(crate) fn confidence_text(analysis: &Analysis) -> String {
    let bounds = analysis.uses.iter().flat_map(|one| &one.conclusion.bounds);
    let sure = match bounds.clone().any(|bound| bound.at_most.is_some()) {
        false => String::new(),
        true if is_one_seed(analysis) => {
            "Exact for this seed of simulated time; other seeds may give another order (--rounds 3)."
                .to_owned()
        }
        true if analysis.clock == Clock::Virtual => {
            "True of each round of simulated time that was run.".to_owned()
        }
        true => "Cost is the time (for space: the disk) that the same work takes. The best is the best of all that qualify in this run. An upper bound holds with 95 % confidence for all filesystems of a use together, a lower bound for all uses together.".to_owned(),
    };
    let is_usual = analysis.margin == Margin::default() || analysis.margin.0 == 0.0;
    let margin = match is_usual || sure.is_empty() {
        true => String::new(),
        false => format!("Differences below {} count as equal.", percent(analysis.margin.0)),
    };
    let open = match is_any_open(analysis) && !is_single(analysis) {
        true => more_rounds(analysis),
        false => String::new(),
    };
    let parts = [sure, margin, open].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// Whether more rounds would give a closer answer to a use.
pub(crate) fn is_any_open(analysis: &Analysis) -> bool {
    analysis.uses.iter().any(|one| is_open(&advise(one), analysis))
}

/// Whether more rounds would give a closer answer.
pub(crate) fn is_open(advice: &Advice, analysis: &Analysis) -> bool {
    let is_close =
        |bound: &CostBound| bound.at_most.is_some_and(|share| share <= advice.scores.margin.0);
    match advice.recommendation {
        // More rounds of simulated time are more seeds, which never lower a bound.
        _ if analysis.clock == Clock::Virtual => false,
        Recommendation::Take | Recommendation::Unsure => {
            !advice.scores.conclusion.first().is_some_and(is_close)
        }
        _ => false,
    }
}

/// Returns the option for closer answers as a sentence; empty for results of other programs, which cannot
/// be measured again.
fn more_rounds(analysis: &Analysis) -> String {
    if analysis.measured_elsewhere {
        return String::new();
    }
    format!("`fsarena resume` with `{}` brings closer bounds.", more_work(analysis))
}

/// Returns the confidence of one answer, in one line.
pub(crate) fn confidence_line(analysis: &Analysis) -> String {
    match analysis.clock {
        Clock::Virtual if is_one_seed(analysis) => {
            "exact for this seed of simulated time; other seeds may say otherwise".to_owned()
        }
        Clock::Virtual => "true of each round of simulated time that was run".to_owned(),
        Clock::Real => {
            "95 % for all filesystems of a use together, in this run; another day may differ more"
                .to_owned()
        }
    }
}

/// Returns true if the campaign ran in virtual time with only one round.
pub(crate) fn is_one_seed(analysis: &Analysis) -> bool {
    analysis.clock == Clock::Virtual && most_rounds(analysis) == Some(1)
}

/// Returns true if other programs measured the results and gave one number each, without a
/// variation.
pub(crate) fn is_single(analysis: &Analysis) -> bool {
    analysis.measured_elsewhere && most_rounds(analysis) == Some(1)
}

/// Returns the largest number of rounds of any result.
pub(crate) fn most_rounds(analysis: &Analysis) -> Option<usize> {
    let results = analysis.rows.iter().flat_map(|row| &row.results);
    results.map(|result| result.rounds.len()).max()
}

/// Facts about a campaign that determine which further tests would help.
pub(crate) struct CampaignScope<'a> {
    /// Its suites.
    pub suites: BTreeSet<&'a str>,
    /// Time budget of the campaign, if it was limited.
    pub budget: Option<Nanos>,
    /// Whether another program measured the results.
    pub elsewhere: bool,
}

impl<'a> CampaignScope<'a> {
    pub fn of(analysis: &'a Analysis) -> Self {
        Self {
            suites: analysis.rows.iter().map(|row| row.suite.as_str()).collect(),
            budget: analysis.budget,
            elsewhere: analysis.measured_elsewhere,
        }
    }
}

/// Returns the answer for one use case.
pub(crate) fn use_case_conclusion(
    advice: &Advice,
    analysis: &Analysis,
    ran: &CampaignScope<'_>,
) -> String {
    match advice.recommendation {
        Recommendation::NoneQualifies => no_candidate_text(advice),
        Recommendation::NoAdvice => no_advice(advice, ran),
        _ => {
            let mut groups = advice.scores.groups.iter().filter(|group| group.weight > 0.0);
            let text = AnswerText {
                question: Question::Use,
                is_about_space: groups.all(|one| one.group == WorkloadCategory::Space),
                ruled_out: &advice.ruled_out,
                conclusion: &advice.scores.conclusion,
                analysis,
            };
            let is_untested = text.power_cuts().is_none();
            format!("{text}{}", not_tested(advice, is_untested))
        }
    }
}

/// Start of the last sentence of an answer, on what no test tried.
pub(crate) const NOT_TESTED: &str = " Not tested: ";
/// That sentence if power cuts were not tested.
pub(crate) const UNTESTED_POWER_CUTS: &str = " Not tested: power cuts";

/// Returns the power cuts, if untested, and the groups with a weight that no test tried, as a
/// sentence.
fn not_tested(advice: &Advice, are_power_cuts_untested: bool) -> String {
    let cuts = are_power_cuts_untested.then(|| "power cuts".to_owned());
    let titles: Vec<&str> = advice.untested.iter().map(|one| one.group.title()).collect();
    let groups = (!titles.is_empty()).then(|| {
        let share = percent(1.0 - advice.scores.tested);
        format!("{share} of the weight ({})", titles.join(", "))
    });
    let parts: Vec<String> = cuts.into_iter().chain(groups).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{NOT_TESTED}{}.", listed(&parts, "and")),
    }
}

/// Returns the command for a closer answer. `command` repeats the campaign. Empty if the answer
/// contains a command.
pub(crate) fn resolving_command(advice: &Advice, analysis: &Analysis, command: &str) -> String {
    match advice.recommendation {
        Recommendation::NoneQualifies | Recommendation::NoAdvice => String::new(),
        _ if is_open(advice, analysis) => closer_answer(analysis, command),
        // There is no bound, and no other to separate.
        _ if advice.scores.conclusion.answer == ShortlistState::Single => String::new(),
        _ => settled_text(analysis).to_owned(),
    }
}

/// Returns the text for an answer that more rounds would not bring closer.
pub(crate) const fn settled_text(analysis: &Analysis) -> &'static str {
    match analysis.clock {
        Clock::Real => "The bound is small. More rounds would only separate the others.",
        Clock::Virtual => "The bound is exact. More rounds have other seeds, and may raise it.",
    }
}

/// Lists the excluded contenders, each with a fact against it.
pub(crate) fn no_candidate_text(advice: &Advice) -> String {
    format!("nothing; every filesystem is ruled out: {}.", one_fact_each(&advice.ruled_out))
}

/// Returns the tests that are missing, and the options that would run them.
fn no_advice(advice: &Advice, ran: &CampaignScope<'_>) -> String {
    let mut why = Vec::new();
    if advice.scores.tested < MIN_TESTED_WEIGHT {
        let groups: Vec<&str> = advice.untested.iter().map(|u| u.group.title()).collect();
        let groups = listed(&groups, "and");
        why.push(match advice.scores.tested > 0.0 {
            true => {
                let tested = percent(advice.scores.tested);
                format!("only {tested} of the weight has results, and not {groups}")
            }
            false => format!("no group with a weight has a result that counts: {groups}"),
        });
    }
    if !advice.untried.is_empty() {
        let features: Vec<String> = advice.untried.iter().map(|(f, _)| f.to_string()).collect();
        why.push(format!(
            "{} {} not tested",
            listed(&features, "and"),
            if features.len() == 1 { "was" } else { "were" }
        ));
    }
    if why.is_empty() {
        why.push("no filesystem has every result that counts".to_owned());
    }
    let run = run_again(&missing_suites(advice), ran);
    format!("no advice, since {}{run}.", why.join("; "))
}

/// Names the suites to run. Results of another campaign do not affect this answer, so the whole set
/// runs again. A test of the campaign's suites without a result did not fit into the budget.
fn run_again(missing: &BTreeSet<&str>, ran: &CampaignScope<'_>) -> String {
    if missing.is_empty() || ran.elsewhere {
        return String::new();
    }
    if missing.is_subset(&ran.suites) {
        // A suite that ran without a result failed.
        return ran.budget.map_or_else(String::new, |budget| {
            format!(": run the same with a larger --budget than {budget}")
        });
    }
    let all = suite_options(missing, ran);
    let beside = match (ran.suites.contains(PEERS), ran.suites.contains(RECORDING)) {
        (true, _) => " in addition to your programs",
        (_, true) => " in addition to your trace",
        _ => "",
    };
    format!(": run the same with `{all}`{beside}")
}

/// Returns the options that run the suites of a campaign and the missing ones.
fn suite_options(missing: &BTreeSet<&str>, ran: &CampaignScope<'_>) -> String {
    // No catalog contains these, so `-s` does not know them.
    let is_named = |suite: &&&str| ![PEERS, RECORDING].contains(*suite);
    let all = ran.suites.union(missing).filter(is_named);
    let all: Vec<String> = all.map(|suite| format!("-s {suite}")).collect();
    all.join(" ")
}

/// Returns one sentence on all uses if none has an answer: the tests that would bring one, or the
/// reason that no tests would.
pub(crate) fn no_advice_by_use(analysis: &Analysis) -> Option<String> {
    let ran = CampaignScope::of(analysis);
    let parts = split_by_disk(analysis);
    let uses: Vec<&UseCaseScores> = parts.iter().flat_map(|(_, part)| &part.uses).collect();
    // Tests of losses, features or space when full weigh in no use.
    let is_about_cost = !analysis.conclusions.is_empty();
    if uses.is_empty() || !is_about_cost || uses.iter().any(|one| is_answered(one)) {
        return None;
    }
    let advice: Vec<Advice> = uses.into_iter().map(advise).collect();
    let open = advice.iter().filter(|one| one.recommendation == Recommendation::NoAdvice);
    let open: Vec<&Advice> = open.collect();
    let missing: BTreeSet<&str> = open.iter().flat_map(|one| missing_suites(one)).collect();
    let lacking = missing.difference(&ran.suites).map(|suite| format!("-s {suite}"));
    let lacking: Vec<String> = lacking.collect();
    let why = match ran.budget {
        _ if open.is_empty() => "every filesystem is ruled out".to_owned(),
        _ if !ran.elsewhere && !lacking.is_empty() => format!("run also `{}`", lacking.join(" ")),
        Some(budget) if !ran.elsewhere && !missing.is_empty() => {
            format!("run the same with a larger --budget than {budget}")
        }
        _ => "too few results count".to_owned(),
    };
    Some(format!("No advice by use: {why}."))
}

/// Returns the suites that would provide the missing results.
fn missing_suites(advice: &Advice) -> BTreeSet<&str> {
    let is_enough = advice.scores.tested >= MIN_TESTED_WEIGHT;
    let groups = advice.scores.groups.iter();
    let groups = groups.filter(|group| group.results.is_empty() && !is_enough);
    let suites = groups.filter_map(|group| group.tested_by.first());
    let features = (!advice.untried.is_empty()).then_some(FEATURE_SUITE);
    suites.map(String::as_str).chain(features).collect()
}

/// Returns the text of a place in a table: `best`, `costs at least 12 % more`.
pub(crate) fn describe_rank(place: &Rank) -> String {
    match place.verdict {
        ComparisonVerdict::BetterByAtLeast(_) => "best".to_owned(),
        ComparisonVerdict::WorseByAtLeast(share) => {
            format!("costs {}", least_excess(share, place.exact))
        }
        ComparisonVerdict::EqualWithin(margin) => format!("equal within {}", percent(margin.0)),
        ComparisonVerdict::Identical => "identical".to_owned(),
        ComparisonVerdict::Undecided { .. } => "no clear difference".to_owned(),
    }
}

/// Returns `at least 12 % more`, or `12 % more` if it is known exactly.
pub(crate) fn least_excess(share: f64, exact: bool) -> String {
    match exact {
        true => format_excess(share),
        false => format!("at least {}", format_excess(round_down(share))),
    }
}

/// Rounds a share down to the digits that [`format_excess`] shows. A lower bound that is rounded up
/// claims too much.
pub(crate) fn round_down(share: f64) -> f64 {
    let (value, most) = match share < MIN_MULTIPLE {
        true => (100.0 * share, 1.0),
        false => (1.0 + share, 2.0),
    };
    if value <= 0.0 {
        return share;
    }
    let step = 10.0f64.powf(value.log10().floor() - most);
    let step = if share < MIN_MULTIPLE { step.clamp(1e-6, 1.0) } else { step };
    // The error of a computed bound must not lower a whole number.
    let down = (value / step + 1e-3).floor() * step;
    if share < MIN_MULTIPLE { down / 100.0 } else { down - 1.0 }
}

/// Returns the verdict on the later side compared with the earlier one.
pub(crate) fn describe(compared: &ComparisonResult, unit: &str) -> String {
    match &compared.verdict {
        ComparisonVerdict::WorseByAtLeast(share) => {
            format!("costs {}", least_excess(*share, compared.is_exact()))
        }
        ComparisonVerdict::BetterByAtLeast(share) => {
            let saved = share / (1.0 + share);
            match compared.is_exact() {
                true => format!("costs {} less", percent(saved)),
                false => format!("costs at least {} less", percent(round_down(saved))),
            }
        }
        ComparisonVerdict::EqualWithin(margin) => format!("equal within {}", percent(margin.0)),
        ComparisonVerdict::Identical => "identical".to_owned(),
        ComparisonVerdict::Undecided { rounds } => match rounds {
            Some(rounds) => format!("not enough {unit}: {rounds} would do"),
            None => format!("not enough {unit}"),
        },
    }
}

/// Share from which an excess is shown as a multiple.
const MIN_MULTIPLE: f64 = 0.995;

/// Formats an excess: `12 % more`, `3.40 times as much`.
pub(crate) fn format_excess(share: f64) -> String {
    match share < MIN_MULTIPLE {
        true => format!("{} more", percent(share)),
        false => format!("{} times as much", three_digits(1.0 + share)),
    }
}

/// Returns names as a list: `a, b and c`.
pub(crate) fn listed<T: AsRef<str>>(names: &[T], last_word: &str) -> String {
    match names {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {last_word} {}", first.join(", "), last.as_ref())
        }
    }
}

/// Returns the names of contenders for use in sentences.
pub(crate) fn names(contenders: &[String]) -> Vec<String> {
    short_names(contenders, NAME_COLUMNS)
}

/// Returns names as a list. A long list is shortened to the first few names.
pub(crate) fn shortened(names: &[String], last_word: &str) -> String {
    match names.len() {
        few if few <= MAX_NAMES => listed(names, last_word),
        many => format!(
            "{} {last_word} {} others",
            names[..MAX_NAMES - 1].join(", "),
            many - (MAX_NAMES - 1)
        ),
    }
}

#[cfg(test)]
#[path = "conclusions_tests.rs"]
mod tests;
