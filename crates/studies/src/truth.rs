//! What came of a statement, or of a part of one, and what several come to together.

use crate::verdict::{DecidingValues, UnknownReason};

/// Whether something that is said is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Holds,
    Partly,
    Fails,
    /// Numbers are there, and do not say.
    Open,
    /// Numbers are not there.
    Unknown,
}

/// What came of a statement or of a part of one.
#[derive(Clone, Debug)]
pub struct StatementResult {
    pub truth: Truth,
    /// What is not as it is said.
    pub off: Vec<String>,
    /// Why nothing is known, or what is open, and of whom.
    pub reasons: Vec<UnknownReason>,
    /// The numbers that decide.
    pub values: Vec<DecidingValues>,
}

/// What several come to of which each is said: all hold, none does, or some do.
pub fn combine(findings: Vec<StatementResult>) -> StatementResult {
    let truths: Vec<Truth> = findings.iter().map(|finding| finding.truth).collect();
    let has = |truth| truths.contains(&truth);
    let truth = match () {
        () if has(Truth::Partly) || has(Truth::Holds) && has(Truth::Fails) => Truth::Partly,
        () if has(Truth::Open) => Truth::Open,
        () if has(Truth::Fails) => Truth::Fails,
        () if has(Truth::Holds) => Truth::Holds,
        () => Truth::Unknown,
    };
    collect(truth, findings)
}

pub fn collect(truth: Truth, findings: Vec<StatementResult>) -> StatementResult {
    let mut all = StatementResult::new(truth);
    for finding in findings {
        all.off.extend(finding.off);
        for why in finding.reasons {
            add(&mut all.reasons, why);
        }
        for values in finding.values {
            match all.values.iter_mut().find(|known| known.is_of(&values)) {
                Some(known) => known.join(values),
                None => all.values.push(values),
            }
        }
    }
    all
}

/// Adds a reason to those that are known: of the same figures it is one more of whom it is so, of the same who one more
/// figure.
fn add(all: &mut Vec<UnknownReason>, why: UnknownReason) {
    let mut same = all.iter_mut().filter(|known| known.reason == why.reason);
    match same.find(|known| known.figures == why.figures || known.contenders == why.contenders) {
        Some(known) if known.figures == why.figures => join(&mut known.contenders, why.contenders),
        Some(known) => join(&mut known.figures, why.figures),
        None => all.push(why),
    }
}

fn join(all: &mut Vec<String>, more: Vec<String>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

impl StatementResult {
    pub const fn new(truth: Truth) -> Self {
        Self {
            truth,
            off: Vec::new(),
            reasons: Vec::new(),
            values: Vec::new(),
        }
    }

    pub fn deviating(truth: Truth, off: String) -> Self {
        Self {
            off: vec![off],
            ..Self::new(truth)
        }
    }

    pub fn unknown(who: &str, reason: &str) -> Self {
        let (who, reason) = (vec![who.to_owned()], reason.to_owned());
        Self {
            reasons: vec![UnknownReason {
                contenders: who,
                figures: Vec::new(),
                reason,
            }],
            ..Self::new(Truth::Unknown)
        }
    }

    pub fn open(reason: String) -> Self {
        let who = Vec::new();
        Self {
            reasons: vec![UnknownReason {
                contenders: who,
                figures: Vec::new(),
                reason,
            }],
            ..Self::new(Truth::Open)
        }
    }
}
