//! Number of rounds of each test: fixed, or until results are precise enough or a budget is spent.

use config::{DEFAULT_MAX_ROUNDS, Settings};
use model::{Nanos, StoppingRule};

use crate::output::exit::UsageError;

/// Number of rounds, and the reason for adding more.
pub struct RoundCounts {
    /// Minimum number of rounds.
    pub count: u32,
    /// Rule for adding rounds.
    pub until: Option<StoppingRule>,
    /// Time to spend on undecided answers after the first round.
    pub budget: Option<Nanos>,
}

impl RoundCounts {
    /// Returns the rounds of the settings, else `usual`.
    ///
    /// # Errors
    /// Returns an error if limits of a rule are given without the rule, or allow fewer rounds than
    /// the minimum.
    pub fn resolve(settings: &Settings, usual: u32) -> Result<Self, UsageError> {
        if settings.budget.is_some() {
            // The second round is only for answers that the first leaves open.
            return Ok(Self { count: 1, until: None, budget: settings.budget });
        }
        let count = settings.rounds.unwrap_or(usual);
        Ok(Self { count, until: until(settings, count)?, budget: None })
    }
}

/// Returns the rule for adding rounds to the fixed ones.
fn until(settings: &Settings, rounds: u32) -> Result<Option<StoppingRule>, UsageError> {
    let Settings { until_width, until_share, max_rounds, max_time, .. } = *settings;
    let has_limits = until_share.is_some() || max_rounds.is_some() || max_time.is_some();
    match (until_width, max_rounds) {
        (None, _) if has_limits => Err(UsageError(
            "--until-share, --max-rounds and --max-time limit what --until-width adds: give it, too"
                .into(),
        )),
        (None, _) => Ok(None),
        (Some(_), Some(most)) if most < rounds => Err(UsageError(format!(
            "--max-rounds {most} is less than the {rounds} rounds there are anyway"
        ))),
        (Some(width), _) => Ok(Some(StoppingRule {
            width,
            share: until_share.unwrap_or(1.0),
            max_rounds: max_rounds.unwrap_or(DEFAULT_MAX_ROUNDS.max(rounds)),
            max_time,
        })),
    }
}
