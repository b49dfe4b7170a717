//! `fsarena compare`: two campaigns, or two contenders of one, side by side; a guard for scripts.

use std::process::ExitCode;

use analyse::{Analysed, Analysis, CannotCompare, Differences, Margin, Wanted, analyse};
use model::{CampaignResults, Clock};
use report::Sides;
use serde_json::json;

use crate::arguments::cli::Globals;
use crate::arguments::compare_args::CompareArgs;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::text::{line, print_in, print_json};
use crate::request::chosen;

/// Writes the comparison; ends with 1 where a threshold is given and passed.
pub fn run(args: &CompareArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    require_order(args.threshold, args.detect)?;
    let wanted = Wanted {
        contenders: args.contenders.clone(),
        results: args.only.clone(),
        every_metric: args.all,
        margin: margin(args),
    };
    let (found, before, after) = match &args.within {
        Some(campaign) => contenders(args, campaign, &wanted, globals)?,
        None => campaigns(args, &wanted, globals)?,
    };
    show(args, &found, &before, &after, globals)?;
    let is_guard = args.threshold.is_some();
    let is_worse = found.regressions().next().is_some() || found.worse_overall().next().is_some();
    let regressed = is_worse || !found.new_failures.is_empty();
    if is_guard && regressed {
        return Ok(Code::NotAllOk.into());
    }
    require_sight(args.detect, &found)?;
    Ok(Code::Done.into())
}

/// Refuses a guard that is to see what it does not look for.
pub fn require_order(threshold: Option<f64>, detect: Option<f64>) -> Result<(), BadInput> {
    match threshold.zip(detect) {
        Some((threshold, detect)) if detect < threshold => Err(BadInput(
            "what costs less than --threshold more is not looked for: --detect must not be below it".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Whether all that was to be found would have been.
pub fn require_sight(detect: Option<f64>, found: &Differences) -> anyhow::Result<()> {
    let seen = found.detectable().unwrap_or(f64::INFINITY);
    match detect {
        Some(wanted) if seen > wanted => Err(Refused(format!(
            "a result that costs {} % more might be missed in so few rounds: take more of them, or compare fewer results \
             (--only)",
            (1000.0 * wanted).round() / 10.0
        ))
        .into()),
        _ => Ok(()),
    }
}

/// What is of no relevance: below the threshold of a guard nothing is.
fn margin(args: &CompareArgs) -> Margin {
    let share = args.threshold.or(args.relevant);
    share.map_or_else(Margin::default, Margin)
}

/// What was compared, and what its sides are called.
type Compared = (Differences, String, String);

fn campaigns(args: &CompareArgs, wanted: &Wanted, globals: &Globals) -> anyhow::Result<Compared> {
    let mut before = chosen::sessions(&args.before, globals)?;
    let mut after = chosen::sessions(&args.after, globals)?;
    if before[0] == after[0] {
        let why = format!(
            "both sides are {}: name two campaigns",
            chosen::called(&before[0])
        );
        return Err(BadInput(why).into());
    }
    // In virtual time every session says the same.
    if before[0].campaign.clock == Clock::Virtual {
        before.truncate(1);
        after.truncate(1);
    }
    before.retain(|one| *one != after[0]);
    after.retain(|one| *one != before[0]);
    let sides = [before, after];
    let analyses = sides
        .each_ref()
        .map(|side| side.iter().map(analyse).collect());
    let [old, new] = [0, 1].map(|side| analysed(&sides[side], &analyses[side]));
    let found = analyse::compare_sessions(&old, &new, wanted).map_err(refused)?;
    let [before, after] = sides.each_ref().map(|side| called(side));
    Ok((found, before, after))
}

/// `campaign 3 “nightly”`, `3 campaigns “nightly”`.
fn called(sessions: &[CampaignResults]) -> String {
    match sessions {
        [one] => chosen::called(one),
        several => format!(
            "{} campaigns “{}”",
            several.len(),
            line(&several[0].campaign.name)
        ),
    }
}

fn analysed<'a>(results: &'a [CampaignResults], analyses: &'a Vec<Analysis>) -> Vec<Analysed<'a>> {
    let both = results.iter().zip(analyses);
    both.map(|(results, analysis)| Analysed::new(results, analysis))
        .collect()
}

fn contenders(
    args: &CompareArgs,
    campaign: &str,
    wanted: &Wanted,
    globals: &Globals,
) -> anyhow::Result<Compared> {
    let mut hosts = chosen::on_hosts(campaign, globals)?;
    if hosts.len() > 1 {
        let analyses = hosts.iter().map(analyse).collect();
        let both = analysed(&hosts, &analyses);
        let found = analyse::compare_over_hosts(&both, &args.before, &args.after, wanted);
        return Ok((
            found.map_err(refused)?,
            line(&args.before),
            line(&args.after),
        ));
    }
    let results = hosts.remove(0);
    let analysis = analyse(&results);
    let side = Analysed::new(&results, &analysis);
    let found = analyse::compare_contenders(side, &args.before, &args.after, wanted);
    let failed = analysis
        .failures
        .iter()
        .find(|f| f.contender == args.before);
    let found = match (found, failed) {
        (Err(CannotCompare::NothingInCommon), Some(failed)) => {
            let (name, id) = (line(&args.before), results.id);
            let (test, reason) = (line(&failed.test), line(&failed.reason));
            let why = format!(
                "nothing can be compared, since {name} failed in {test}: {reason} (campaign {id})"
            );
            return Err(Refused(why).into());
        }
        (found, _) => found.map_err(refused)?,
    };
    Ok((found, line(&args.before), line(&args.after)))
}

/// What must not be mixed is refused; what is not there was asked for by mistake.
pub fn refused(error: CannotCompare) -> anyhow::Error {
    let text = match &error {
        CannotCompare::NoContender(name) => {
            format!("there is no contender `{}` to compare", line(name))
        }
        CannotCompare::Clocks(..) => {
            format!("{error}; `fsarena agree` says how far they agree on who is better")
        }
        _ => error.to_string(),
    };
    match error {
        CannotCompare::Clocks(..)
        | CannotCompare::Backends(..)
        | CannotCompare::NoHostHasBoth(..) => Refused(text).into(),
        CannotCompare::NoContender(_) | CannotCompare::NothingInCommon => BadInput(text).into(),
    }
}

fn show(
    args: &CompareArgs,
    found: &Differences,
    before: &str,
    after: &str,
    globals: &Globals,
) -> anyhow::Result<()> {
    if globals.json {
        let regressions = args.threshold.map(|_| found.regressions().count());
        let value = json!({
            "before": before,
            "after": after,
            "threshold": args.threshold,
            "regressions": regressions,
            "detectable": found.detectable(),
            "differences": found,
        });
        print_json(&value)?;
        return Ok(());
    }
    let sides = Sides { before, after };
    print_in(args.markdown, |form| {
        report::compare_text(found, sides, form)
    })?;
    Ok(())
}
