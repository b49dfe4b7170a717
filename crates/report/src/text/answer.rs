//! The answer to a use or a group of tests as text: the contender to take, the most that it costs,
//! the second, and those that cost clearly more. Decisions are made by the analysis
//! ([`stats::Conclusion`]); the script of the page has the same sentences.

use std::fmt;

use model::{Clock, WorkloadCategory};
use stats::{
    Analysis, Candidate, Conclusion, CostBound, ExclusionReason, Inferior, ShortlistState,
};

use crate::text::command::more_work;
use crate::text::conclusions::{
    format_excess, is_one_seed, is_single, least_excess, listed, most_rounds, names, round_down,
    shortened,
};
use crate::text::labels::{self, percent};
use crate::text::scale::{three_digits, three_digits_up};

/// Maximum number of contenders named after the first, if the noise is unknown.
const MAX_NEXT: usize = 3;
/// Maximum number of close contenders that are all named.
const MAX_CLOSE: usize = 3;
/// Bound from which a cost is named as a multiple.
const MAX_PER_CENT: f64 = 1.0;
/// Largest forecast of a bound that is worth more work.
const MAX_HOPE: f64 = 1.0;
/// Start of the sentence with the bound of the filesystem to take.
const COST: &str = ". It ";
/// Start of that sentence if no other filesystem costs less.
const NO_COST: &str = ". No other ";
/// Start of a bound that is too large to help.
const NO_PROMISE: &str = ", but it may cost up to";
/// Separates a bound from the one that more work would bring.
const HOPE: &str = "; ";

/// Subject of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// A use case.
    Use,
    /// A group of tests, or all groups together.
    Group(Option<WorkloadCategory>),
}

/// An answer; its text has several sentences.
pub(crate) struct AnswerText<'a> {
    pub question: Question,
    /// Whether only space counts: the disk that the same files need.
    pub is_about_space: bool,
    /// Contenders that do not qualify.
    pub ruled_out: &'a [Candidate],
    pub conclusion: &'a Conclusion,
    pub analysis: &'a Analysis,
}

impl fmt::Display for AnswerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cuts = self.power_cuts();
        let sentences = [Some(self.first()), cuts, self.second(), self.worse(), self.unranked()];
        let sentences: Vec<String> = sentences.into_iter().flatten().collect();
        write!(f, "{}.", sentences.join(". "))
    }
}

impl AnswerText<'_> {
    fn first(&self) -> String {
        let conclusion = self.conclusion;
        let named = || shortened(&self.names(&conclusion.shortlist), "or");
        match (conclusion.answer, conclusion.first()) {
            // It is the only contender, or the only one with results that count.
            (ShortlistState::Single, _) if conclusion.unranked.is_empty() => {
                let (take, others) = match self.question {
                    Question::Group(_) => ("", "no other is comparable"),
                    Question::Use if self.analysis.contenders.len() == 1 => {
                        ("take ", "no other was compared")
                    }
                    Question::Use if self.ruled_out.iter().any(lacks_only_results) => {
                        ("take ", "no other has results that count")
                    }
                    Question::Use => ("take ", "all others are ruled out"),
                };
                format!("{take}{}: {others}", named())
            }
            (ShortlistState::Single, _) => format!("only {} has all results", named()),
            (_, None) => "no filesystem has all results".to_owned(),
            (_, Some(first)) => match first.useful() {
                Some(most) => self.promise(first, most),
                None => self.no_promise(first),
            },
        }
    }

    /// Returns the losses of the contender to take, if known.
    pub fn power_cuts(&self) -> Option<String> {
        let pick = self.conclusion.pick().filter(|_| self.question == Question::Use)?;
        let record = self.analysis.features.get(pick)?.power_cuts.as_ref()?;
        Some(format!("{} {}", self.name(pick), labels::power_cuts(record)))
    }

    /// Returns the contender to take with the most that it costs ([`promise`] finds it in an answer).
    fn promise(&self, first: &CostBound, most: f64) -> String {
        let name = self.name(first.contender);
        let (sure, close) = (self.certainty(), self.close());
        match (self.question, most > 0.0) {
            (Question::Use, false) => {
                let less = format!("{} less{}", self.verb(), self.unit());
                format!("take {name}{}{NO_COST}{less} {sure}", self.advantage(first))
            }
            (Question::Use, true) => format!(
                "{close}take {name}{}{COST}{} at most {} more{} than the best here {sure}",
                self.advantage(first),
                self.verb(),
                round_up(most),
                self.unit()
            ),
            (Question::Group(_), false) => {
                format!("no other {} less{} than {name}", self.verb(), self.unit())
            }
            (Question::Group(_), true) => format!(
                "{close}{name} {} at most {} more{} than the best",
                self.verb(),
                round_up(most),
                self.unit()
            ),
        }
    }

    /// Returns the contenders that are close, and may cost less than the first.
    fn close(&self) -> String {
        let conclusion = self.conclusion;
        let names = self.names(&conclusion.close);
        match names.len() {
            // The reason for a displacement has the same fact.
            _ if conclusion.displaced.is_some() => String::new(),
            0 => String::new(),
            1..=MAX_CLOSE => format!("{} are close: ", listed(&names, "and")),
            many => format!("{} and {} others are close: ", names[0], many - 1),
        }
    }

    /// Returns the reason that the contender comes before a cheaper one.
    fn advantage(&self, first: &CostBound) -> String {
        let features = self.analysis.features.get(first.contender);
        let recovery = features.and_then(|features| features.crash_recovery);
        self.conclusion.displaced.zip(recovery).map_or_else(String::new, |(other, recovery)| {
            format!(": within 5 % of {}, and it {}", self.name(other), recovery.description())
        })
    }

    /// Returns the contender that came first, and why nothing useful is known about its cost.
    fn no_promise(&self, first: &CostBound) -> String {
        let name = self.name(first.contender);
        let is_lowest = self.conclusion.bounds.iter().all(|bound| first.ratio <= bound.ratio);
        let came = match is_lowest {
            true => format!("{name} came first"),
            false => format!("{name} is least likely to cost much more"),
        };
        let Some(most) = first.stated() else {
            let why = match (is_single(self.analysis), most_rounds(self.analysis)) {
                (true, _) => "one number each does not show how far they vary",
                (false, Some(1)) => "one round does not show the noise (--rounds 5 does)",
                (false, _) if first.at_most.is_some() => "the rounds vary too much for a bound",
                (false, _) => "the rounds are too few to tell how results vary",
            };
            return format!("{came}{}, but {why}", self.next());
        };
        let bound = match most < MAX_PER_CENT {
            true => format!("{} more{}", round_up(most), self.unit()),
            false => format!("{} times as much{}", three_digits_up(1.0 + most), self.unit()),
        };
        let is_useful = |share: &f64| *share < most / 1.2 && *share <= MAX_HOPE;
        let forecast = first.forecast.filter(|_| self.more_work_helps());
        let hope = forecast.filter(is_useful).map_or_else(String::new, |share| {
            format!("{HOPE}{} would bring about {}", more_work(self.analysis), round_up(share))
        });
        format!("{came}{NO_PROMISE} {bound}{hope}")
    }

    /// Returns true if more work would be done for this answer. A budget is spent on the answers for
    /// uses, if there are some.
    fn more_work_helps(&self) -> bool {
        self.question == Question::Use || !is_budget_for_uses(self.analysis)
    }

    /// Returns the next contenders with their costs so far.
    fn next(&self) -> String {
        let bounds = &self.conclusion.bounds;
        let lowest = bounds.first().map_or(1.0, |first| first.ratio);
        let next = bounds.iter().skip(1).take(MAX_NEXT);
        let next: Vec<String> = next
            .map(|bound| {
                format!("{} ({}×)", self.name(bound.contender), three_digits(bound.ratio / lowest))
            })
            .collect();
        match next.is_empty() {
            true => String::new(),
            false => format!(" before {}", listed(&next, "and")),
        }
    }

    /// Returns the second contender if a useful bound of its cost is known.
    fn runner_up(&self) -> Option<&CostBound> {
        let [first, second, ..] = &self.conclusion.bounds[..] else { return None };
        let is_known = second.useful().is_some() || is_one_seed(self.analysis);
        (first.useful().is_some() && is_known).then_some(second)
    }

    fn second(&self) -> Option<String> {
        let second = self.runner_up()?;
        let name = self.name(second.contender);
        let most = second.at_most?;
        let worse = self.conclusion.worse.iter().find(|one| one.contender == second.contender);
        let cost = match worse {
            Some(worse) if worse.exact => format!("Second: {name}, {}", format_excess(most)),
            Some(worse) => format!(
                "Second: {name}, at least {} and at most {} more",
                percent(round_down(worse.at_least)),
                round_up(most)
            ),
            None if most > 0.0 => format!("Second: {name}, at most {} more", round_up(most)),
            None => format!("Second: {name}, which is no worse"),
        };
        Some(format!("{cost}{}", self.power_cuts_of_second(second.contender)))
    }

    /// Returns the losses of the second, or that they are untested. Untested power cuts of the first
    /// are in the last sentence.
    fn power_cuts_of_second(&self, second: usize) -> String {
        let features = self.analysis.features.get(second);
        let record = features.and_then(|features| features.power_cuts.as_ref());
        match record {
            Some(record) if self.question == Question::Use && record.lost > 0 => {
                format!("; it {}", labels::power_cuts(record))
            }
            None if self.power_cuts().is_some() => "; its power cuts are untested".to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the contenders that cost clearly more: the nearest by name, the others as a group.
    fn worse(&self) -> Option<String> {
        let named = self.runner_up().map(|second| second.contender);
        let mut worse: Vec<&Inferior> =
            self.conclusion.worse.iter().filter(|one| Some(one.contender) != named).collect();
        worse.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let (nearest, others) = worse.split_first()?;
        let least = others.iter().map(|one| one.at_least).fold(f64::INFINITY, f64::min);
        // A nearest with a larger bound than all others would say less than all together.
        if others.len() > 1 && least <= nearest.at_least {
            let verb = if self.is_about_space { "need" } else { "cost" };
            let least = format_excess(round_down(least));
            return Some(format!("{} others {verb} at least {least}", worse.len()));
        }
        let cost = format!("{} {} {}", self.name(nearest.contender), self.verb(), bound(nearest));
        Some(match others {
            [] => cost,
            [other] => format!("{cost}, {} {}", self.name(other.contender), bound(other)),
            _ => {
                let least = format_excess(round_down(least));
                format!("{cost}, {} others at least {least}", others.len())
            }
        })
    }

    fn unranked(&self) -> Option<String> {
        let unranked = &self.conclusion.unranked[..];
        let lack = match unranked.len() {
            0 => return None,
            1 => "lacks results that others have",
            _ => "lack results that others have",
        };
        Some(format!("{} {lack}", shortened(&self.names(unranked), "and")))
    }

    /// Returns the scope of the answer's bounds.
    fn certainty(&self) -> &'static str {
        match self.analysis.clock {
            Clock::Virtual if is_one_seed(self.analysis) => "with this seed",
            Clock::Virtual => "with these seeds",
            Clock::Real => "(95 %)",
        }
    }

    const fn verb(&self) -> &'static str {
        match self.is_about_space {
            true => "needs",
            false => "costs",
        }
    }

    const fn unit(&self) -> &'static str {
        match self.is_about_space {
            true => " disk",
            false => "",
        }
    }

    fn name(&self, contender: usize) -> String {
        names(&self.analysis.contenders).swap_remove(contender)
    }

    fn names(&self, contenders: &[usize]) -> Vec<String> {
        contenders.iter().map(|contender| self.name(*contender)).collect()
    }
}

/// Whether a contender is ruled out only because it has no result.
fn lacks_only_results(candidate: &Candidate) -> bool {
    candidate.ruled_out.iter().all(|reason| *reason == ExclusionReason::NoResults)
}

/// Returns true if the campaign has a budget, and answers for uses on which it is spent.
pub(crate) fn is_budget_for_uses(analysis: &Analysis) -> bool {
    let mut uses = analysis.uses.iter();
    analysis.budget.is_some() && uses.any(|one| one.conclusion.first().is_some())
}

/// Returns the beginning of an answer that names the first filesystem with its bound. Empty if the
/// answer has no bound.
pub(crate) fn promise(answer: &str) -> &str {
    let starts = [COST, NO_COST, NO_PROMISE].into_iter().filter_map(|start| answer.find(start));
    let Some(start) = starts.min().map(|start| start + 1) else { return "" };
    let ends = [". ", HOPE].into_iter().filter_map(|end| answer[start..].find(end));
    ends.min().map_or(answer.trim_end_matches('.'), |end| &answer[..start + end])
}

/// Returns the beginning of an answer with the bound, and with the losses in power cuts if the
/// answer has them.
pub(crate) fn promise_and_losses(answer: &str) -> &str {
    let promise = promise(answer);
    // Without a bound, the first sentence names the filesystem.
    let named = match promise {
        "" => answer.find(". ").map_or("", |end| &answer[..end]),
        promise => promise,
    };
    // A forecast may be between bound and losses.
    let Some(start) = answer[named.len()..].find(". ") else { return promise };
    let start = named.len() + start + 2;
    let rest = &answer[start..];
    let end = rest.find(". ").unwrap_or(rest.trim_end_matches('.').len());
    match rest[..end].contains(labels::POWER_CUT) {
        true => &answer[..start + end],
        false => promise,
    }
}

/// Returns `at least 12 % more`, or `12 % more` if it is known exactly.
fn bound(worse: &Inferior) -> String {
    least_excess(worse.at_least, worse.exact)
}

/// Formats the most that a contender costs more than the best for a table: `+9 %`.
pub(crate) fn excess_bound(share: f64) -> String {
    match share > 0.0 {
        true => format!("+{}", round_up(share)),
        false => NO_EXCESS.to_owned(),
    }
}

/// Bound of a contender that costs no more than the best.
pub(crate) const NO_EXCESS: &str = "+0 %";

/// Formats a share as a whole number of per cent, rounded up, at least 1 %.
fn round_up(share: f64) -> String {
    // Rounding errors in the last digits must not raise a whole number.
    format!("{} %", (100.0 * share - 1e-6).ceil().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_kept_with_the_bound_and_with_what_more_work_would_bring() {
        let losses = "a lost synced files in 1 of 9 earlier simulated power cuts";
        let rest = "Second: b, at most 9 % more.";
        for promise in [
            "take a. It costs at most 4 % more than the best here (95 %)",
            &format!("a is first{NO_PROMISE} 66 % more; --rounds 6 would bring 23 %"),
        ] {
            let answer = format!("{promise}. {losses}. {rest}");
            assert_eq!(promise_and_losses(&answer), format!("{promise}. {losses}"));
        }
        let without =
            &format!("a is first{NO_PROMISE} 66 % more; --rounds 6 would bring 1 %. Second: b.");
        assert_eq!(promise_and_losses(without), promise(without));
    }
}
