//! The language of claims: one statement about figures, which reads like the sentence that it stands for.
//!
//! `docs/claims.md` describes it. A statement is checked against the words of its study when it is read, so that what is
//! judged later names nothing that is not there.

mod parser;
mod tokens;
mod vocabulary;

use serde::Serialize;

use crate::evaluate::range;

pub use parser::{parse, parse_cells, parse_paths};
pub use vocabulary::{RESERVED, Vocabulary};

/// A share by which two may differ and be called the same, and a number that is called `about`, where none is stated.
pub const DEFAULT_TOLERANCE: f64 = 0.05;

/// One statement: what is said, and of which figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// As it is written.
    pub text: String,
    /// Whether contenders or figures are set against each other.
    pub subjects: Subject,
    /// What is said.
    #[serde(rename = "what")]
    pub predicate: Predicate,
    /// Where it is said to hold.
    pub scope: Scope,
}

/// What stands on the sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Contenders, in each figure of the scope.
    Contenders,
    /// Figures, of each contender of the scope.
    Figures,
}

/// Where a statement is said to hold: figures if it sets contenders against each other, else contenders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scope {
    /// The figures by path, or the contenders by name.
    #[serde(rename = "of")]
    pub names: Vec<String>,
    /// In how many of them.
    #[serde(rename = "how")]
    pub quantifier: Quantifier,
}

/// In how many figures of a scope a statement is said to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantifier {
    /// In all.
    Every,
    /// In more than half.
    Most,
    /// In so many.
    AtLeast(usize),
    /// In their geometric mean.
    Mean,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predicate {
    /// Places, the better one first: everybody of a place ranks before everybody of the next.
    Order {
        /// The places; a single one says that its members are alike.
        places: Vec<RankPosition>,
        /// How many times better at least; 1 where no number is said.
        by: f64,
    },
    /// Where some stand.
    Rank {
        /// Who.
        who: Vec<String>,
        /// Where.
        rank: RankClaim,
    },
    /// That nobody stands there in every figure of the scope.
    #[serde(rename = "nobody")]
    NoneOf(RankClaim),
    /// How many times the number of one is that of another, of every pair.
    Ratio {
        /// Whose number.
        who: Vec<String>,
        /// How many times.
        times: NumberRange,
        /// Whose number that many times.
        than: Vec<String>,
    },
    /// Between which bounds numbers are, in the unit of the figure.
    Bound {
        /// Whose numbers.
        who: Vec<String>,
        /// The bounds.
        amount: NumberRange,
    },
    /// What became of them.
    Outcome {
        /// Of whom.
        who: Vec<String>,
        /// What.
        outcome: OutcomePredicate,
    },
}

/// A place of an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankPosition {
    /// Who has it.
    pub members: Vec<String>,
    /// The share by which its members may differ, where they are said to be alike.
    #[serde(rename = "alike")]
    pub tolerance: Option<f64>,
}

/// Some of the first or the last among some.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankClaim {
    /// Whether places count from the worst.
    pub from_worst: bool,
    /// The first place that is meant, from 1.
    pub first: usize,
    /// The last.
    pub last: usize,
    /// Among whom.
    #[serde(rename = "of")]
    pub among: Vec<String>,
}

/// A number that is said, as the range that is meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRange {
    /// As it is written.
    #[serde(rename = "said")]
    pub text: String,
    /// The least that is meant.
    pub low: f64,
    /// The most; infinite where there is no end.
    #[serde(serialize_with = "finite")]
    pub high: f64,
}

impl Statement {
    /// Which sizes and tolerances decide about it, in few words: `the same within 5 %`, `1.90 to 2.10 times`.
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
    /// As it is written, where that is the range itself.
    fn meant(&self) -> String {
        match self.text.starts_with("about") {
            true => range((self.low, self.high)),
            false => self.text.clone(),
        }
    }
}

/// `12 %`, and of what is no whole number `2.5 %`.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// JSON knows no infinity: `null` is no end.
fn finite<S: serde::Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match value.is_finite() {
        true => to.serialize_f64(*value),
        false => to.serialize_none(),
    }
}

/// What became of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomePredicate {
    /// It failed or crashed.
    Fails,
    /// It crashed.
    Crashes,
    /// It has a number.
    Completes,
    /// Its number means nothing.
    Invalid,
}

#[cfg(test)]
mod tests;
