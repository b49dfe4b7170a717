//! Outcome of a result in one round: a status, or the reason for its absence.

use std::fmt;

use model::Status;
use serde::Serialize;

/// Outcome of a phase in one round, from the point of view of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RoundOutcome {
    /// It completed, and the result is valid.
    Ok,
    /// The filesystem cannot do this.
    Unsupported,
    /// An error number, a wrong byte, or a program that exited with an error.
    Failed,
    /// An oops, a panic, or the death of a FUSE process or an agent.
    Crashed,
    /// No progress before the timeout.
    Hung,
    /// An earlier step failed.
    Skipped,
    /// A total over a step that failed.
    Invalid,
    /// The operation completed too soon to be timed by the program that measured it: at least as
    /// fast as any number.
    TooFast,
    /// The operation completed, but this metric could not be measured: no block device, no single
    /// operations.
    NotMeasured,
    /// The cell has not run yet.
    NotRun,
    /// No such cell was planned, because no open answer needed it.
    NotNeeded,
    /// The program that measured the campaign has no such result.
    #[serde(rename = "none")]
    Absent,
}

impl RoundOutcome {
    /// Every outcome, in the order of the reports.
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::Unsupported,
        Self::Failed,
        Self::Crashed,
        Self::Hung,
        Self::Skipped,
        Self::Invalid,
        Self::TooFast,
        Self::NotMeasured,
        Self::NotRun,
        Self::NotNeeded,
        Self::Absent,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => Status::Ok.name(),
            Self::Unsupported => Status::Unsupported.name(),
            Self::Failed => Status::Failed.name(),
            Self::Crashed => Status::Crashed.name(),
            Self::Hung => Status::Hung.name(),
            Self::Skipped => Status::Skipped.name(),
            Self::Invalid => Status::Invalid.name(),
            Self::TooFast => "too fast",
            Self::NotMeasured => "not measured",
            Self::NotRun => "not run yet",
            Self::NotNeeded => "not needed",
            Self::Absent => "none",
        }
    }

    /// Whether a cell was planned.
    pub const fn is_planned(self) -> bool {
        !matches!(self, Self::NotNeeded | Self::Absent)
    }

    /// Whether the phase was tried and failed.
    pub const fn is_failure(self) -> bool {
        self.is_planned()
            && !matches!(self, Self::Ok | Self::TooFast | Self::NotMeasured | Self::NotRun)
    }
}

impl From<Status> for RoundOutcome {
    fn from(status: Status) -> Self {
        match status {
            Status::Ok => Self::Ok,
            Status::Unsupported => Self::Unsupported,
            Status::Failed => Self::Failed,
            Status::Crashed => Self::Crashed,
            Status::Hung => Self::Hung,
            Status::Skipped => Self::Skipped,
            Status::Invalid => Self::Invalid,
        }
    }
}

impl fmt::Display for RoundOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_distinct_name() {
        let words: std::collections::BTreeSet<_> =
            RoundOutcome::ALL.iter().map(|o| o.name()).collect();
        assert_eq!(words.len(), RoundOutcome::ALL.len());
    }
}
