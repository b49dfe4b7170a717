//! `fsarena guard`: two contenders of one campaign, interleaved, and whether the second is worse.
//!
//! Each round has both, one after the other in an order of its own, so that what differs between hours of a machine does not
//! come between them.

use std::process::ExitCode;

use orchestrate::Ended;

use crate::arguments::cli::{CompareArgs, Globals, GuardArgs};
use crate::arguments::run_args::RunArgs;
use crate::commands::compare;
use crate::commands::run::{self, Ran};
use crate::output::exit::BadInput;
use crate::output::text::{line, remark};
use crate::stop;

/// Rounds where nobody says how many.
const ROUNDS: u32 = 7;

/// Runs both and compares them; ends with 1 where the second is worse.
pub fn run(args: &GuardArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let wanted = campaign(args)?;
    match run::campaign(&wanted, 0, globals, &stop)? {
        Ran::Planned(code) => Ok(code),
        Ran::Campaign {
            ended: Ok(Ended::Complete),
            id,
            store,
        } => {
            let campaign = store.load(id)?.campaign;
            // A baseline may stand behind them.
            let [old, new, ..] = &campaign.contenders[..] else {
                return Err(BadInput("a guard compares two contenders".to_owned()).into());
            };
            let asked = CompareArgs {
                before: old.name.clone(),
                after: new.name.clone(),
                within: Some(id.to_string()),
                contenders: Vec::new(),
                only: args.only.clone(),
                all: false,
                relevant: None,
                threshold: Some(args.threshold),
                detect: args.detect,
                markdown: args.markdown,
            };
            compare::run(&asked, globals)
        }
        Ran::Campaign { ended, id, store } => {
            let code = run::finish(ended, id, &store, false, globals)?;
            let campaign = store.load(id)?.campaign;
            let names: Vec<String> = campaign.contenders.iter().map(|c| line(&c.name)).collect();
            let (names, threshold) = (names.join(" "), 100.0 * args.threshold);
            remark(&format!(
                "then for the verdict: fsarena compare --within {id} {names} --threshold {threshold}%"
            ));
            Ok(code)
        }
    }
}

/// The campaign that has both.
fn campaign(args: &GuardArgs) -> anyhow::Result<RunArgs> {
    let run = &args.run;
    if !run.contenders.is_empty() || !run.directories.is_empty() {
        let why = "OLD and NEW are the contenders of a guard: leave -c and --dir out".to_owned();
        return Err(BadInput(why).into());
    }
    if run.sessions.is_some() {
        let why = "a guard runs both sides in one campaign: leave --sessions out".to_owned();
        return Err(BadInput(why).into());
    }
    if run.age.is_some() {
        let why = "a guard has two contenders: give each its own age, as in ext4@age=agrawal, and leave --age out".to_owned();
        return Err(BadInput(why).into());
    }
    compare::require_order(Some(args.threshold), args.detect)?;
    let has_rule = run.budget.is_some() || run.until_width.is_some();
    Ok(RunArgs {
        contenders: vec![args.old.clone(), args.new.clone()],
        rounds_by_default: (!has_rule).then_some(ROUNDS),
        ..run.clone()
    })
}
