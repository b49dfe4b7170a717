//! `fsarena compare`: compares two campaigns, or two contenders of one campaign. Scripts can use
//! its exit code.

use std::process::ExitCode;

use model::{CampaignResults, Clock};
use report::SideLabels;
use serde_json::json;
use stats::{
    AnalysedCampaign, Analysis, CampaignComparison, CompareFilter, IncomparableCampaigns, Margin,
    analyse,
};

use crate::args::cli::GlobalArgs;
use crate::args::compare_args::CompareArgs;
use crate::output::exit::{EnvironmentError, ExitReason, UndecidedError, UsageError};
use crate::output::text::{line, print_document, print_json};
use crate::settings::select_campaign::{Campaigns, campaign_label};
use crate::settings::validate::reject_unmatched_only;

/// Writes the comparison. Exits with 1 if a threshold is given and exceeded.
pub fn run(args: &CompareArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    require_order(args.threshold, args.detect)?;
    let compared = match &args.within {
        Some(campaign) => contenders(args, &Campaigns::new(globals).by_host(campaign)?)?,
        None => campaigns(args, globals)?,
    };
    conclude(args, compared, globals)
}

/// Compares two contenders of a campaign that is already loaded, on one or several hosts.
pub fn within(
    args: &CompareArgs,
    hosts: &[CampaignResults],
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    conclude(args, contenders(args, hosts)?, globals)
}

fn conclude(
    args: &CompareArgs,
    (found, before, after): Compared,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    show(args, &found, &before, &after, globals)?;
    let is_guard = args.threshold.is_some();
    let is_worse = found.regressions().next().is_some() || found.worse_overall().next().is_some();
    let regressed = is_worse || !found.new_failures.is_empty();
    if is_guard && regressed {
        return Ok(ExitReason::SomeFailed.into());
    }
    require_power(args.detect, &found)?;
    if args.must_decide {
        require_decision(&found)?;
    }
    Ok(ExitReason::Success.into())
}

fn filter(args: &CompareArgs) -> CompareFilter {
    CompareFilter {
        contenders: args.contenders.clone(),
        results: args.only.clone(),
        every_metric: args.all,
        margin: margin(args),
    }
}

/// Rejects a `--detect` value below the threshold, because smaller differences are not reported.
pub fn require_order(threshold: Option<f64>, detect: Option<f64>) -> Result<(), UsageError> {
    match threshold.zip(detect) {
        Some((threshold, detect)) if detect < threshold => Err(UsageError(
            "what costs less than --threshold more is not looked for: --detect must not be below it".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Returns an error if the comparison could have missed a difference of the size `--detect`.
pub fn require_power(detect: Option<f64>, found: &CampaignComparison) -> anyhow::Result<()> {
    let seen = found.minimum_detectable_effect().unwrap_or(f64::INFINITY);
    match detect {
        Some(wanted) if seen > wanted => Err(UndecidedError(format!(
            "too few rounds to detect a result that costs {} % more; add rounds, or compare fewer results (--only)",
            (1000.0 * wanted).round() / 10.0
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Returns an error if the rounds decide no result, neither that it is worse nor that it is not.
pub fn require_decision(found: &CampaignComparison) -> Result<(), UndecidedError> {
    match found.decides_nothing() {
        true => Err(UndecidedError(
            "no result is decided: too few rounds; add rounds (--rounds), or compare fewer results (--only)".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Returns the margin of relevance. With a threshold, it is the threshold.
fn margin(args: &CompareArgs) -> Margin {
    let share = args.threshold.or(args.relevant);
    share.map_or_else(Margin::default, Margin)
}

/// The differences and the names of both sides.
type Compared = (CampaignComparison, String, String);

fn campaigns(args: &CompareArgs, globals: &GlobalArgs) -> anyhow::Result<Compared> {
    let known = Campaigns::new(globals);
    let mut before = known.sessions(&args.before)?;
    let mut after = known.sessions(&args.after)?;
    if before[0] == after[0] {
        let why = format!("both sides are {}: name two campaigns", campaign_label(&before[0]));
        return Err(UsageError(why).into());
    }
    let suites = [&before[0], &after[0]].into_iter().flat_map(|side| &side.campaign.suites);
    reject_unmatched_only(&args.only, suites)?;
    // In virtual time all sessions are equal.
    if before[0].campaign.clock == Clock::Virtual {
        before.truncate(1);
        after.truncate(1);
    }
    before.retain(|one| *one != after[0]);
    after.retain(|one| *one != before[0]);
    let sides = [before, after];
    let analyses = sides.each_ref().map(|side| side.iter().map(analyse).collect());
    let [old, new] = [0, 1].map(|side| analysed(&sides[side], &analyses[side]));
    let found = stats::compare_sessions(&old, &new, &filter(args)).map_err(refused)?;
    let [before, after] = sides.each_ref().map(|side| called(side));
    Ok((found, before, after))
}

/// Returns a description of the sessions: `campaign 3 “nightly”`, `3 campaigns “nightly”`.
fn called(sessions: &[CampaignResults]) -> String {
    match sessions {
        [one] => campaign_label(one),
        several => format!("{} campaigns “{}”", several.len(), line(&several[0].campaign.name)),
    }
}

fn analysed<'a>(
    results: &'a [CampaignResults],
    analyses: &'a Vec<Analysis>,
) -> Vec<AnalysedCampaign<'a>> {
    let both = results.iter().zip(analyses);
    both.map(|(results, analysis)| AnalysedCampaign::new(results, analysis)).collect()
}

fn contenders(args: &CompareArgs, hosts: &[CampaignResults]) -> anyhow::Result<Compared> {
    if args.before == args.after {
        let why = format!("both sides are {}: name two filesystems", line(&args.before));
        return Err(UsageError(why).into());
    }
    reject_unmatched_only(&args.only, &hosts[0].campaign.suites)?;
    let wanted = filter(args);
    let [results] = hosts else {
        let analyses = hosts.iter().map(analyse).collect();
        let both = analysed(hosts, &analyses);
        let found = stats::compare_over_hosts(&both, &args.before, &args.after, &wanted);
        return Ok((found.map_err(refused)?, line(&args.before), line(&args.after)));
    };
    let analysis = analyse(results);
    let side = AnalysedCampaign::new(results, &analysis);
    let found = stats::compare_contenders(side, &args.before, &args.after, &wanted);
    let failed = analysis.failures.iter().find(|f| f.contender == args.before);
    let found = match (found, failed) {
        (Err(IncomparableCampaigns::NoCommonResults), Some(failed)) => {
            let (name, id) = (line(&args.before), results.id);
            let (test, reason) = (line(&failed.test), line(&failed.reason));
            let why = format!(
                "nothing can be compared, since {name} failed in {test}: {reason} (campaign {id})"
            );
            return Err(EnvironmentError(why).into());
        }
        (found, _) => found.map_err(refused)?,
    };
    Ok((found, line(&args.before), line(&args.after)))
}

/// Converts the error: a refusal for campaigns that must not be mixed, a usage error for names that
/// do not exist.
pub fn refused(error: IncomparableCampaigns) -> anyhow::Error {
    let text = match &error {
        IncomparableCampaigns::Clocks(..) => {
            format!("{error}; use `fsarena tool agree` to compare their rankings")
        }
        _ => line(&error.to_string()),
    };
    match error {
        IncomparableCampaigns::Clocks(..)
        | IncomparableCampaigns::Backends(..)
        | IncomparableCampaigns::NoHostRanBoth(..) => EnvironmentError(text).into(),
        IncomparableCampaigns::NoContender { .. } | IncomparableCampaigns::NoCommonResults => {
            UsageError(text).into()
        }
    }
}

fn show(
    args: &CompareArgs,
    found: &CampaignComparison,
    before: &str,
    after: &str,
    globals: &GlobalArgs,
) -> anyhow::Result<()> {
    if globals.json {
        let regressions = args.threshold.map(|_| found.regressions().count());
        let value = json!({
            "before": before,
            "after": after,
            "threshold": args.threshold,
            "regressions": regressions,
            "detectable": found.minimum_detectable_effect(),
            "differences": found,
        });
        print_json(&value)?;
        return Ok(());
    }
    let sides = SideLabels { before, after };
    print_document(args.markdown, &report::comparison(found, sides))?;
    Ok(())
}
