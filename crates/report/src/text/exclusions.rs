//! Reasons why a contender does not qualify for a use case, with the same text in every format.

use stats::{Advice, Candidate, ExclusionReason};

use crate::text::labels;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};

/// Returns every reason against a candidate, with failures combined; empty without reasons.
pub(crate) fn reasons(candidate: &Candidate) -> Vec<String> {
    let is_failure = |reason: &&ExclusionReason| matches!(reason, ExclusionReason::Failure { .. });
    let failures = candidate.ruled_out.iter().filter(is_failure).count();
    let is_no_result = |reason: &ExclusionReason| *reason == ExclusionReason::NoResults;
    let has_other = candidate.ruled_out.iter().any(|reason| !is_no_result(reason));
    let mut reasons = Vec::new();
    let mut named = false;
    for reason in &candidate.ruled_out {
        // More results would not help.
        if has_other && is_no_result(reason) {
            continue;
        }
        // One failure is enough here; the tables list all.
        if is_failure(&reason) && std::mem::replace(&mut named, true) {
            continue;
        }
        reasons.push(describe(reason));
    }
    if failures > 1 {
        let more = labels::pluralize(failures as u64 - 1, "more failure");
        reasons.push(format!("and {more}"));
    }
    reasons
}

/// Returns the excluded contenders, those with the same reasons together: their names, and the
/// reasons.
pub(crate) fn by_reason(advice: &Advice) -> Vec<(Vec<String>, String)> {
    let mut why: Vec<(Vec<String>, String)> = Vec::new();
    for candidate in &advice.ruled_out {
        let reason = reasons(candidate).join("; ");
        let name = sanitize_line(&candidate.contender);
        match why.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(name),
            None => why.push((vec![name], reason)),
        }
    }
    why
}

/// One reason.
pub(crate) fn describe(reason: &ExclusionReason) -> String {
    match reason {
        ExclusionReason::Baseline => "a baseline, which keeps nothing".to_owned(),
        ExclusionReason::MissingReader { read_by, why } => {
            let reads = if read_by.len() == 1 { "reads" } else { "read" };
            format!("only {} {reads} it: {}", labels::join_and(read_by), sanitize_paragraph(why))
        }
        ExclusionReason::MissingFeature { feature, found, why } => {
            format!("no {feature} ({}): {}", sanitize_line(found), sanitize_paragraph(why))
        }
        ExclusionReason::NoCrashRecovery { why } => format!(
            "needs a repair after a crash (no journal, no copy on write): {}",
            sanitize_paragraph(why)
        ),
        ExclusionReason::LostInPowerCuts { record, why } => {
            let measured = record.shipped.as_ref();
            let measured = measured.map_or_else(String::new, |source| format!("; {source}"));
            format!(
                "{} ({}{}): {}",
                labels::power_cuts(record),
                sanitize_line(&record.worst),
                sanitize_line(&measured),
                sanitize_paragraph(why)
            )
        }
        ExclusionReason::Failure { test, phase, outcome, rounds, of } => format!(
            "{}/{}: {outcome} in {rounds} of {of} rounds",
            sanitize_line(test),
            sanitize_line(phase)
        ),
        ExclusionReason::NotDurable { operations } => format!(
            "not durable: none of its {} flushed the disk's cache, unlike those of other filesystems",
            labels::pluralize(*operations, "synced write")
        ),
        ExclusionReason::NoResults => "has none of the results that count".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Feature, OperatingSystem};
    use stats::RoundOutcome;

    #[test]
    fn each_reason_is_listed_and_failures_are_counted() {
        let failure = |phase: &str| ExclusionReason::Failure {
            test: "tree".to_owned(),
            phase: phase.to_owned(),
            outcome: RoundOutcome::Crashed,
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
                failure("copy-in"),
                failure("list"),
                failure("remove"),
            ],
            not_probed: Vec::new(),
        };
        assert_eq!(
            reasons(&candidate),
            [
                "a baseline, which keeps nothing",
                "only Linux reads it: it is carried",
                "only Linux and Haiku read it: it is carried",
                "no hard-links (EPERM): copies are links",
                "not durable: none of its 48 synced writes flushed the disk's cache, unlike those of other filesystems",
                "tree/copy-in: crashed in 1 of 3 rounds",
                "and 2 more failures",
            ]
        );
    }
}
