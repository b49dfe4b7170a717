//! `fsarena compare`: two campaigns, or two contenders of one, side by side; a guard for scripts.

use std::process::ExitCode;

use analyse::{Analysed, CannotCompare, Differences, Wanted, analyse};
use report::{Form, Sides};
use serde_json::json;

use crate::arguments::cli::{CompareArgs, Globals};
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::text::{line, print, print_json};
use crate::request::chosen;

/// Writes the comparison; ends with 1 where a threshold is given and passed.
pub fn run(args: &CompareArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let wanted = Wanted {
        contenders: args.contenders.clone(),
        results: args.only.clone(),
        every_metric: args.all,
    };
    let (found, before, after) = match &args.within {
        Some(campaign) => contenders(args, campaign, &wanted, globals)?,
        None => campaigns(args, &wanted, globals)?,
    };
    show(args, &found, &before, &after, globals)?;
    let Some(threshold) = args.threshold else {
        return Ok(Code::Done.into());
    };
    // A guard that cannot bark is none, unless something failed outright.
    if let (Some(needed), true) = (found.rounds_needed, found.new_failures.is_empty()) {
        return Err(Refused(format!(
            "no regression can be shown among {} figures with so few rounds: {needed} rounds on each \
             side can, or fewer figures (--only)",
            found.changes.len()
        ))
        .into());
    }
    let regressed = found.regressions(threshold).next().is_some();
    Ok(if regressed || !found.new_failures.is_empty() {
        Code::NotAllOk
    } else {
        Code::Done
    }
    .into())
}

/// What was compared, and what its sides are called.
type Compared = (Differences, String, String);

fn campaigns(args: &CompareArgs, wanted: &Wanted, globals: &Globals) -> anyhow::Result<Compared> {
    let before = chosen::campaign(Some(&args.before), globals)?;
    let after = chosen::campaign(Some(&args.after), globals)?;
    let (old, new) = (analyse(&before), analyse(&after));
    let found = analyse::compare_campaigns(
        Analysed::new(&before, &old),
        Analysed::new(&after, &new),
        wanted,
    );
    let found = found.map_err(refused)?;
    Ok((found, chosen::called(&before), chosen::called(&after)))
}

fn contenders(
    args: &CompareArgs,
    campaign: &str,
    wanted: &Wanted,
    globals: &Globals,
) -> anyhow::Result<Compared> {
    let results = chosen::campaign(Some(campaign), globals)?;
    let analysis = analyse(&results);
    let side = Analysed::new(&results, &analysis);
    let found = analyse::compare_contenders(side, &args.before, &args.after, wanted);
    let found = found.map_err(refused)?;
    Ok((found, line(&args.before), line(&args.after)))
}

/// What must not be mixed is refused; what is not there was asked for by mistake.
fn refused(error: CannotCompare) -> anyhow::Error {
    let text = match &error {
        CannotCompare::NoContender(name) => {
            format!("there is no contender `{}` to compare", line(name))
        }
        _ => error.to_string(),
    };
    match error {
        CannotCompare::Clocks(..) | CannotCompare::Backends(..) => Refused(text).into(),
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
        let regressions = args.threshold.map(|t| found.regressions(t).count());
        let value = json!({
            "before": before,
            "after": after,
            "threshold": args.threshold,
            "regressions": regressions,
            "differences": found,
        });
        print_json(&value)?;
        return Ok(());
    }
    let sides = Sides {
        before,
        after,
        threshold: args.threshold,
    };
    let form = if args.markdown {
        Form::Markdown
    } else {
        Form::Text
    };
    print(&report::compare_text(found, sides, form))?;
    Ok(())
}
