//! Result of a statement, or of a part of one, and the combination of several results.

use crate::claims::evidence::Unknown;
use crate::claims::verdict::{DecidingValues, UnknownReason};

/// Truth of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Holds,
    Partly,
    Fails,
    /// Numbers exist, but do not decide.
    Open,
    /// Numbers are missing.
    Unknown,
}

/// Result of a statement or of a part of one.
#[derive(Clone, Debug)]
pub struct StatementResult {
    pub truth: Truth,
    /// Deviations from the statement.
    pub off: Vec<String>,
    /// Reasons why the result is unknown or open, with the contenders.
    pub reasons: Vec<UnknownReason>,
    /// The numbers that decide the statement.
    pub values: Vec<DecidingValues>,
}

/// Combines the findings of statements that must all hold: all hold, none holds, or some do.
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

/// Adds a reason. If a known reason has the same figures, its contenders are extended; if it has
/// the same contenders, its figures are extended.
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
        Self { truth, off: Vec::new(), reasons: Vec::new(), values: Vec::new() }
    }

    pub fn deviating(truth: Truth, off: String) -> Self {
        Self { off: vec![off], ..Self::new(truth) }
    }

    pub fn unknown(who: &str, reason: Unknown) -> Self {
        let contenders = vec![who.to_owned()];
        Self {
            reasons: vec![UnknownReason { contenders, figures: Vec::new(), reason }],
            ..Self::new(Truth::Unknown)
        }
    }

    pub fn open(reason: String) -> Self {
        let (contenders, figures, reason) = (Vec::new(), Vec::new(), Unknown::Text(reason));
        Self {
            reasons: vec![UnknownReason { contenders, figures, reason }],
            ..Self::new(Truth::Open)
        }
    }
}
