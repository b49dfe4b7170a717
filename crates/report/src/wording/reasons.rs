//! Why a contender does not qualify for a use, in words; the same in every format.

use analyse::{Candidate, RuledOut};

use crate::wording::text::{clean, prose};
use crate::wording::words;

/// Every reason against a candidate, the failures together; nothing where there is none.
pub(crate) fn reasons(candidate: &Candidate) -> Vec<String> {
    let is_failure = |reason: &&RuledOut| matches!(reason, RuledOut::Failure { .. });
    let failures = candidate.ruled_out.iter().filter(is_failure).count();
    let mut reasons = Vec::new();
    let mut named = false;
    for reason in &candidate.ruled_out {
        // One is enough to see what happened; the tables have all.
        if is_failure(&reason) && std::mem::replace(&mut named, true) {
            continue;
        }
        reasons.push(in_words(reason));
    }
    if failures > 1 {
        let more = words::counted(failures as u64 - 1, "failure");
        reasons.push(format!("and {more} more"));
    }
    reasons
}

/// One reason.
pub(crate) fn in_words(reason: &RuledOut) -> String {
    match reason {
        RuledOut::Baseline => "a baseline, which keeps nothing".to_owned(),
        RuledOut::Readers { read_by, why } => {
            let reads = if read_by.len() == 1 { "reads" } else { "read" };
            format!("only {} {reads} it: {}", words::listed(read_by), prose(why))
        }
        RuledOut::Feature {
            feature,
            found,
            why,
        } => format!("no {feature} ({}): {}", clean(found), prose(why)),
        RuledOut::Failure {
            test,
            phase,
            outcome,
            rounds,
            of,
        } => format!(
            "{}/{}: {outcome} in {rounds} of {of} rounds",
            clean(test),
            clean(phase)
        ),
        RuledOut::NotDurable { operations } => format!(
            "not durable: none of its {} made the disk empty its cache, where those of others did",
            words::counted(*operations, "synced write")
        ),
        RuledOut::NoResults => "has none of the results that count".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::RoundOutcome;
    use model::{Feature, System};

    #[test]
    fn each_reason_is_said_and_failures_are_counted() {
        let failure = |phase: &str| RuledOut::Failure {
            test: "tree".to_owned(),
            phase: phase.to_owned(),
            outcome: RoundOutcome::Crashed,
            rounds: 1,
            of: 3,
        };
        let candidate = Candidate {
            contender: "fat".to_owned(),
            ruled_out: vec![
                RuledOut::Baseline,
                RuledOut::Readers {
                    read_by: vec![System::Linux],
                    why: "it is\ncarried".to_owned(),
                },
                RuledOut::Readers {
                    read_by: vec![System::Linux, System::Haiku],
                    why: "it is carried".to_owned(),
                },
                RuledOut::Feature {
                    feature: Feature::HardLinks,
                    found: "EPERM".to_owned(),
                    why: "copies are links".to_owned(),
                },
                RuledOut::NotDurable { operations: 48 },
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
                "not durable: none of its 48 synced writes made the disk empty its cache, where those of others did",
                "tree/copy-in: crashed in 1 of 3 rounds",
                "and 2 failures more",
            ]
        );
    }
}
