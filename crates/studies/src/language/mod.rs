//! The language of claims: one statement about figures, which reads like the sentence that it
//! formalises.
//!
//! See `docs/claims.md`. A statement is checked against the names of its study when it is read, so
//! that judging it never meets an unknown name.

mod parser;
mod tokens;
mod vocabulary;

use serde::Serialize;

use crate::claims::evaluate::range;

pub use parser::{parse, parse_cells, parse_paths};
pub use vocabulary::{RESERVED, Vocabulary};

/// Default share by which equal values may differ, and the tolerance of a number after `about`.
pub const DEFAULT_TOLERANCE: f64 = 0.05;

/// One statement and the figures it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// Text of the statement.
    pub text: String,
    /// Subjects that the statement compares: contenders or figures.
    pub subjects: Subject,
    /// The assertion.
    #[serde(rename = "what")]
    pub predicate: Predicate,
    /// The figures or contenders for which it is asserted.
    pub scope: Scope,
}

/// The two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Compares contenders, in each figure of the scope.
    Contenders,
    /// Compares figures, of each contender of the scope.
    Figures,
}

/// The scope of a statement: figures if it compares contenders, otherwise contenders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scope {
    /// Paths of the figures, or names of the contenders.
    #[serde(rename = "of")]
    pub names: Vec<String>,
    /// Number of them in which it must hold.
    #[serde(rename = "how")]
    pub quantifier: Quantifier,
}

/// Number of figures of a scope in which a statement must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantifier {
    /// In all.
    Every,
    /// In more than half.
    Most,
    /// In at least this number.
    AtLeast(usize),
    /// In their geometric mean.
    Mean,
}

/// The assertion of a statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predicate {
    /// Places, the better one first: every member of a place ranks before every member of the next.
    Order {
        /// The places; a single one means that its members are alike.
        places: Vec<RankPosition>,
        /// Minimum ratio by which it is better; 1 if no number is given.
        by: f64,
    },
    /// Rank of some contenders.
    Rank {
        /// Who.
        who: Vec<String>,
        /// Where.
        rank: RankClaim,
    },
    /// No contender has this rank in every figure of the scope.
    #[serde(rename = "nobody")]
    NoneOf(RankClaim),
    /// Ratio of two numbers, for every pair.
    Ratio {
        /// Whose number.
        who: Vec<String>,
        /// The ratio.
        times: NumberRange,
        /// Denominators of the ratio.
        than: Vec<String>,
    },
    /// Bounds of numbers, in the unit of the figure.
    Bound {
        /// Whose numbers.
        who: Vec<String>,
        /// The bounds.
        amount: NumberRange,
    },
    /// Outcome of some contenders.
    Outcome {
        /// Of whom.
        who: Vec<String>,
        /// What.
        outcome: OutcomePredicate,
    },
}

/// A rank in an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankPosition {
    /// Members of the place.
    pub members: Vec<String>,
    /// The share by which its members may differ, if they are alike.
    #[serde(rename = "alike")]
    pub tolerance: Option<f64>,
}

/// The first or last few of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankClaim {
    /// Whether ranks count from the worst.
    pub from_worst: bool,
    /// The first rank, from 1.
    pub first: usize,
    /// The last.
    pub last: usize,
    /// Among whom.
    #[serde(rename = "of")]
    pub among: Vec<String>,
}

/// A number of a statement, as a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRange {
    /// Text of the number.
    #[serde(rename = "said")]
    pub text: String,
    /// The minimum.
    pub low: f64,
    /// The maximum, or infinity if there is no limit.
    #[serde(serialize_with = "finite")]
    pub high: f64,
}

impl Statement {
    /// Returns the sizes and tolerances that decide the statement, as short text: `the same within
    /// 5 %`, `1.90 to 2.10 times`.
    pub fn taken_as(&self) -> Vec<String> {
        match &self.predicate {
            Predicate::Order { places, by } => {
                let alike = places.iter().find_map(|place| place.tolerance);
                let alike = alike.map(|within| format!("the same within {}", percent(within)));
                let ahead = (*by > 1.0).then(|| match *by < 2.0 {
                    true => format!("better by at least {}", percent(by - 1.0)),
                    false => format!("at least {by} times better"),
                });
                alike.into_iter().chain(ahead).collect()
            }
            Predicate::Ratio { times, .. } => vec![format!("{} times", times.meant())],
            Predicate::Bound { amount, .. } => vec![amount.meant()],
            Predicate::Rank { .. } | Predicate::NoneOf(_) | Predicate::Outcome { .. } => Vec::new(),
        }
    }
}

impl NumberRange {
    /// Returns the number as written, or its range if they differ.
    fn meant(&self) -> String {
        match self.text.starts_with("about") {
            true => range((self.low, self.high)),
            false => self.text.clone(),
        }
    }
}

/// Formats a share: `12 %`, or `2.5 %` if it is not a whole number.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// Serializes infinity as `null`, because JSON has no infinity. `null` means that there is no
/// limit.
fn finite<S: serde::Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match value.is_finite() {
        true => to.serialize_f64(*value),
        false => to.serialize_none(),
    }
}

/// Outcome of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomePredicate {
    /// The contender failed or crashed.
    Fails,
    /// It crashed.
    Crashes,
    /// The contender has a number.
    Completes,
    /// The number is meaningless.
    Invalid,
}

#[cfg(test)]
mod tests;
