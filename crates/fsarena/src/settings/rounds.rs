//! Number of rounds of each test: fixed, or until results are precise enough or a budget is spent.

use config::{RoundSettings, Settings};
use model::{Nanos, StoppingRule};

use crate::args::run_args::RunArgs;
use crate::output::exit::UsageError;

/// Default maximum of rounds if rounds are added.
const MAX_ROUNDS: u32 = 20;

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
    /// Returns the rounds of the command line, else of the file, else `usual`.
    ///
    /// # Errors
    /// Returns an error if limits of a rule are given without the rule, or allow fewer rounds than
    /// the minimum.
    pub fn resolve(args: &RunArgs, file: &Settings, usual: u32) -> Result<Self, UsageError> {
        let asks_otherwise = args.rounds.is_some() || args.until_width.is_some();
        let of_file = file.rule.budget.filter(|_| !asks_otherwise);
        if let Some(budget) = args.budget.or(of_file) {
            // The second round is only for answers that the first leaves open.
            return Ok(Self { count: 1, until: None, budget: Some(budget) });
        }
        let said = args.rounds.or(file.rounds).or(args.rounds_by_default);
        let count = said.unwrap_or(usual);
        Ok(Self { count, until: until(args, &file.rule, count)?, budget: None })
    }
}

/// Returns the rule for adding rounds to the fixed ones.
fn until(
    args: &RunArgs,
    file: &RoundSettings,
    rounds: u32,
) -> Result<Option<StoppingRule>, UsageError> {
    let rule = RoundSettings {
        until_width: args.until_width.or(file.until_width),
        until_share: args.until_share.or(file.until_share),
        max_rounds: args.max_rounds.or(file.max_rounds),
        max_time: args.max_time.or(file.max_time),
        budget: None,
    };
    let Some(width) = rule.until_width else {
        return match rule == RoundSettings::default() {
            true => Ok(None),
            false => Err(UsageError(
                "--until-share, --max-rounds and --max-time limit what --until-width adds: give it, too"
                    .into(),
            )),
        };
    };
    if let Some(most) = rule.max_rounds.filter(|most| *most < rounds) {
        let complaint =
            format!("--max-rounds {most} is less than the {rounds} rounds there are anyway");
        return Err(UsageError(complaint));
    }
    Ok(Some(StoppingRule {
        width,
        share: rule.until_share.unwrap_or(1.0),
        max_rounds: rule.max_rounds.unwrap_or(MAX_ROUNDS.max(rounds)),
        max_time: rule.max_time,
    }))
}
