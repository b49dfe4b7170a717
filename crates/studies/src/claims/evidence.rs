//! Evidence for claims: numbers with their bounds, and comparisons of two numbers.
//!
//! A claim can be judged by the printed figures of a study ([`crate::Published`]) and by later
//! measurements ([`crate::Measured`]).

use serde::Serialize;

/// Reason for a contender that is not in the campaign.
pub(crate) const NOT_IN_CAMPAIGN: &str = "not part of the campaign";

/// One figure of one contender, or the mean of several.
#[derive(Clone, Copy, Debug)]
pub struct FigureRef<'a> {
    /// The contender, as the study calls it.
    pub contender: &'a str,
    /// The figures by path; of several, their geometric mean is meant.
    pub figures: &'a [String],
}

/// The known value of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedValue {
    /// A number, with its bounds.
    Number(MeasuredNumber),
    /// It failed, crashed or means nothing: the word, and why.
    Outcome(String, String),
    /// Nothing is known, for this reason.
    #[serde(rename = "nothing")]
    Unknown(String),
}

/// A number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredNumber {
    /// The least that it can be, in its unit.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
    /// As it is shown, with its digits and without a unit.
    pub shown: String,
    /// The unit.
    pub unit: String,
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The least that the first number divided by the second can be.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Whether the first is better.
    pub order: Ranking,
}

/// Which of two is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The first.
    Better,
    /// The second.
    Worse,
    /// Neither.
    Same,
    /// The second, or neither.
    NotBetter,
    /// The first, or neither.
    NotWorse,
    /// The numbers do not decide.
    #[serde(rename = "open")]
    Undecided,
}

impl Ranking {
    /// Returns the order as seen from the second number.
    pub const fn reversed(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            Self::NotBetter => Self::NotWorse,
            Self::NotWorse => Self::NotBetter,
            Self::Same | Self::Undecided => self,
        }
    }

    /// Whether nothing rules out that the first is better.
    pub const fn may_be_better(self) -> bool {
        match self {
            Self::Better | Self::NotWorse | Self::Undecided => true,
            Self::Worse | Self::Same | Self::NotBetter => false,
        }
    }
}

/// Evidence for claims.
pub trait Evidence {
    /// Returns the known value of a figure.
    fn value(&self, place: FigureRef<'_>) -> ObservedValue;

    /// Compares two numbers. Returns `None` if either is missing.
    fn compare(&self, one: FigureRef<'_>, other: FigureRef<'_>) -> Option<Comparison>;

    /// Whether a higher number is the better one.
    fn is_higher_better(&self, figure: &str) -> bool;

    /// Whether a number here is as much the machine's as the filesystem's, and that of the study was another one: times and
    /// rates, shares of a processor, page faults.
    fn is_other_machine(&self, place: FigureRef<'_>) -> bool;

    /// Returns the reason why a measured figure does not apply to the study: it depends on the size
    /// of the volume, which differs.
    fn out_of_scale(&self, _figure: &str) -> Option<String> {
        None
    }

    /// Whether it was measured again, so that more rounds could settle what is open.
    fn is_measured(&self) -> bool;
}
