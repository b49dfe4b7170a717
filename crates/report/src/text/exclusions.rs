//! Reasons why a contender does not qualify for a use case, with the same text in every format.

use std::fmt;

use stats::{Advice, Candidate, ExclusionReason, RoundOutcome};

use crate::text::conclusions::listed;
use crate::text::labels;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};

/// Returns every reason against a candidate as text, with failures combined; empty without reasons.
pub(crate) fn reasons(candidate: &Candidate) -> Vec<String> {
    exclusions(candidate).iter().map(ToString::to_string).collect()
}

/// Returns every reason against a candidate, with failures combined.
fn exclusions(candidate: &Candidate) -> Vec<Exclusion> {
    let (failures, mut others): (Vec<&ExclusionReason>, Vec<&ExclusionReason>) =
        candidate.ruled_out.iter().partition(|reason| outcome(reason).is_some());
    // More results would not help.
    if !failures.is_empty() || others.len() > 1 {
        others.retain(|reason| **reason != ExclusionReason::NoResults);
    }
    // A skipped phase is the consequence of a failure.
    let causes: Vec<&ExclusionReason> =
        failures.iter().copied().filter(|reason| is_cause(reason)).collect();
    let failures = if causes.is_empty() { failures } else { causes };
    // One failure is enough here; the tables list all.
    let named = others.into_iter().chain(failures.first().copied()).map(Exclusion::of);
    let mut reasons = joined(named);
    if failures.len() > 1 {
        let more = labels::pluralize(failures.len() as u64 - 1, "more failure");
        reasons.push(Exclusion { what: format!("and {more}"), why: String::new() });
    }
    reasons
}

/// Joins neighbouring exclusions that have the same reason.
fn joined(exclusions: impl Iterator<Item = Exclusion>) -> Vec<Exclusion> {
    let mut joined: Vec<Exclusion> = Vec::new();
    for one in exclusions {
        match joined.last_mut() {
            Some(last) if !one.why.is_empty() && last.why == one.why => {
                last.what += &format!(", and {}", one.what);
            }
            _ => joined.push(one),
        }
    }
    joined
}

/// Returns the outcome of a reason that is a failure.
pub(crate) const fn outcome(reason: &ExclusionReason) -> Option<RoundOutcome> {
    match reason {
        ExclusionReason::Failure { outcome, .. } => Some(*outcome),
        _ => None,
    }
}

/// Returns the excluded contenders, those with the same reasons together: their names, and the
/// reasons.
pub(crate) fn by_reason(advice: &Advice) -> Vec<(Vec<String>, String)> {
    grouped(&advice.ruled_out, |candidate| reasons(candidate).join("; "))
}

/// Lists the excluded contenders, each with one fact against it: a failure, or else the first.
pub(crate) fn one_fact_each(ruled_out: &[Candidate]) -> String {
    let fact = |candidate: &Candidate| {
        let reasons = || candidate.ruled_out.iter();
        // A missing result is only the reason if there is no other.
        let other = reasons().find(|reason| **reason != ExclusionReason::NoResults);
        let first = reasons().find(|reason| is_cause(reason)).or(other);
        first.or_else(|| reasons().next()).map_or_else(String::new, brief)
    };
    let groups = grouped(ruled_out, fact).into_iter();
    let groups = groups.map(|(names, fact)| format!("{} ({fact})", listed(&names, "and")));
    groups.collect::<Vec<_>>().join("; ")
}

/// Whether a reason is a failure, and not the consequence of one.
fn is_cause(reason: &ExclusionReason) -> bool {
    outcome(reason).is_some_and(|outcome| outcome != RoundOutcome::Skipped)
}

/// Returns a reason in a few words, without its evidence.
pub(crate) fn brief(reason: &ExclusionReason) -> String {
    match reason {
        ExclusionReason::Baseline => "a baseline".to_owned(),
        ExclusionReason::MissingFeature { feature, .. } => format!("no {feature}"),
        ExclusionReason::NoCrashRecovery { .. } => "needs a repair after a crash".to_owned(),
        ExclusionReason::NoSnapshots { .. } => "takes no snapshots".to_owned(),
        ExclusionReason::LostInPowerCuts { record, .. } => labels::power_cuts(record),
        ExclusionReason::Failure { test, phase, outcome, .. } => {
            format!("{}/{}: {outcome}", sanitize_line(test), sanitize_line(phase))
        }
        ExclusionReason::NotDurable { .. } => "not durable".to_owned(),
        ExclusionReason::MissingReader { .. } | ExclusionReason::NoResults => {
            Exclusion::of(reason).what
        }
    }
}

/// Returns the names of the contenders that have the same text, with the text.
fn grouped(
    candidates: &[Candidate],
    text: impl Fn(&Candidate) -> String,
) -> Vec<(Vec<String>, String)> {
    let mut why: Vec<(Vec<String>, String)> = Vec::new();
    for candidate in candidates {
        let reason = text(candidate);
        let name = sanitize_line(&candidate.contender);
        match why.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(name),
            None => why.push((vec![name], reason)),
        }
    }
    why
}

/// A reason against a contender as text.
pub(crate) struct Exclusion {
    /// The fact about the contender.
    pub what: String,
    /// Why it matters for the use; empty if the fact explains itself.
    pub why: String,
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, why } = self;
        if why.is_empty() { f.write_str(what) } else { write!(f, "{what}: {why}") }
    }
}

impl Exclusion {
    /// Describes a reason.
    pub fn of(reason: &ExclusionReason) -> Self {
        let (what, why) = match reason {
            ExclusionReason::Baseline => ("a baseline, which keeps nothing".to_owned(), ""),
            ExclusionReason::MissingReader { read_by, why } => {
                let reads = if read_by.len() == 1 { "reads" } else { "read" };
                (format!("only {} {reads} it", labels::join_and(read_by)), why.as_str())
            }
            ExclusionReason::MissingFeature { feature, found, why } => {
                (format!("no {feature} ({})", sanitize_line(found)), why.as_str())
            }
            ExclusionReason::NoCrashRecovery { why } => (
                "needs a repair after a crash, for lack of a journal and of copy on write"
                    .to_owned(),
                why.as_str(),
            ),
            ExclusionReason::NoSnapshots { why } => ("takes no snapshots".to_owned(), why.as_str()),
            ExclusionReason::LostInPowerCuts { record, why } => {
                let measured = record.shipped.as_ref();
                let measured = measured.map_or_else(String::new, |source| format!("; {source}"));
                let what = format!(
                    "{} ({}{})",
                    labels::power_cuts(record),
                    sanitize_line(&record.worst),
                    sanitize_line(&measured)
                );
                (what, why.as_str())
            }
            ExclusionReason::Failure { test, phase, outcome, reason, rounds, of } => {
                let (test, phase) = (sanitize_line(test), sanitize_line(phase));
                let rounds = match of {
                    1 => String::new(),
                    _ => format!(" in {rounds} of {of} rounds"),
                };
                let why = match reason.is_empty() {
                    true => String::new(),
                    false => format!(": {}", sanitize_line(reason)),
                };
                (format!("{test}/{phase}: {outcome}{rounds}{why}"), "")
            }
            ExclusionReason::NotDurable { operations } => {
                let what = format!(
                    "not durable: none of its {} flushed the disk's cache, unlike those of other filesystems",
                    labels::pluralize(*operations, "synced write")
                );
                (what, "")
            }
            ExclusionReason::NoResults => ("no result that counts".to_owned(), ""),
        };
        Self { what, why: sanitize_paragraph(why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Feature, OperatingSystem};

    #[test]
    fn each_reason_is_listed_and_failures_are_counted() {
        let failure = |phase: &str, outcome: RoundOutcome| ExclusionReason::Failure {
            test: "tree".to_owned(),
            phase: phase.to_owned(),
            outcome,
            reason: "no space\nleft".to_owned(),
            rounds: 1,
            of: 3,
        };
        let candidate = Candidate {
            contender: "fat".to_owned(),
            ruled_out: vec![
                ExclusionReason::Baseline,
                ExclusionReason::MissingReader {
                    read_by: vec![OperatingSystem::Linux],
                    why: "it is\ncarried".to_owned(),
                },
                ExclusionReason::MissingReader {
                    read_by: vec![OperatingSystem::Linux, OperatingSystem::Haiku],
                    why: "it is carried".to_owned(),
                },
                ExclusionReason::MissingFeature {
                    feature: Feature::HardLinks,
                    found: "EPERM".to_owned(),
                    why: "copies are links".to_owned(),
                },
                ExclusionReason::NotDurable { operations: 48 },
                failure("before", RoundOutcome::Skipped),
                failure("copy-in", RoundOutcome::Crashed),
                failure("list", RoundOutcome::Skipped),
                failure("remove", RoundOutcome::Failed),
            ],
            not_probed: Vec::new(),
        };
        assert_eq!(
            reasons(&candidate),
            [
                "a baseline, which keeps nothing",
                "only Linux reads it, and only Linux and Haiku read it: it is carried",
                "no hard-links (EPERM): copies are links",
                "not durable: none of its 48 synced writes flushed the disk's cache, unlike those of other filesystems",
                "tree/copy-in: crashed in 1 of 3 rounds: no space left",
                "and 1 more failure",
            ]
        );
    }
}
