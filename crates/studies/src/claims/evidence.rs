//! Evidence for claims: numbers with their bounds, and comparisons of two numbers.
//!
//! A claim can be judged by the printed figures of a study ([`crate::PublishedEvidence`]) and by later
//! measurements ([`crate::CampaignEvidence`]).

use std::fmt;

use serde::{Serialize, Serializer};
use stats::RoundOutcome;

/// Reference to one figure of a contender, or to the mean of several.
#[derive(Clone, Copy, Debug)]
pub struct FigureRef<'a> {
    /// Name of the contender in the study.
    pub contender: &'a str,
    /// Paths of the figures. Several figures stand for their geometric mean.
    pub figures: &'a [String],
}

/// The known value of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedValue {
    /// A number, with its bounds.
    Number(MeasuredNumber),
    /// Failure, crash or meaningless value: the outcome and the reason.
    Outcome(RoundOutcome, String),
    /// The value is unknown for this reason.
    #[serde(rename = "nothing")]
    Unknown(Unknown),
}

/// Reason for an unknown value or an open statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The campaign has no such contender.
    NotInCampaign,
    /// The campaign has no such result.
    NoResult,
    /// The study has no such figure.
    NoFigure,
    /// The test has no value: it was not measured, or it ended otherwise, for this reason if known.
    Outcome(RoundOutcome, String),
    /// A stated number does not apply to later measurements.
    OtherMachine,
    /// A note of the study, or numbers that decide nothing.
    Text(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInCampaign => "not part of the campaign",
            Self::NoResult => "the campaign has no such result",
            Self::NoFigure => "the study has no such figure",
            Self::Outcome(outcome, why) if why.is_empty() => outcome.name(),
            Self::Outcome(outcome, why) => return write!(f, "{outcome}: {why}"),
            Self::OtherMachine => {
                "a number from the study's machine does not apply to another machine"
            }
            Self::Text(text) => text,
        })
    }
}

impl Serialize for Unknown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredNumber {
    /// Minimum of the number, in its unit.
    pub low: f64,
    /// Maximum of the number.
    pub high: f64,
    /// Displayed number, with its digits and without a unit.
    pub shown: String,
    /// The unit.
    pub unit: String,
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Minimum of the first number divided by the second.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Ranking of the two numbers.
    pub order: Ranking,
}

/// Ranking of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The first.
    Better,
    /// The second.
    Worse,
    /// Neither.
    Same,
    /// The second is better, or neither.
    NotBetter,
    /// The first is better, or neither.
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

    /// Returns true if the first may be better.
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

    /// Returns true if higher numbers are better.
    fn is_higher_better(&self, figure: &str) -> bool;

    /// Returns true if a number depends on the machine as much as on the filesystem, and the study
    /// used a different machine. This applies to times and rates, shares of a processor, and page
    /// faults.
    fn is_other_machine(&self, place: FigureRef<'_>) -> bool;

    /// Returns the reason why a measured figure does not apply to the study: it depends on the size
    /// of the volume, which differs.
    fn out_of_scale(&self, _figure: &str) -> Option<String> {
        None
    }

    /// Returns true if the figures were measured again, so that more rounds could decide open
    /// claims.
    fn is_measured(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: verdicts compared texts, so a study's own words could pass for a reason.
    #[test]
    fn a_note_with_the_words_of_a_reason_is_a_note() {
        for reason in [Unknown::NotInCampaign, Unknown::OtherMachine, Unknown::NoFigure] {
            let note = Unknown::Text(reason.to_string());
            assert_eq!(note.to_string(), reason.to_string());
            assert_ne!(note, reason);
        }
    }

    #[test]
    fn an_outcome_is_shown_with_its_reason_if_known() {
        let of = |why: &str| Unknown::Outcome(RoundOutcome::Crashed, why.to_owned()).to_string();
        assert_eq!((of("").as_str(), of("oops").as_str()), ("crashed", "crashed: oops"));
    }
}
