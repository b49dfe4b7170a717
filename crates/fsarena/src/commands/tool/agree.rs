//! `fsarena tool agree`: shows how well two campaigns on different clocks or machines agree on which
//! contender is better.

use std::process::ExitCode;

use model::CampaignResults;
use report::SideLabels;
use serde_json::json;
use stats::{AnalysedCampaign, Margin, agreement, strip_disk_suffix};

use crate::args::cli::GlobalArgs;
use crate::args::tool_args::AgreeArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{print_document, print_json};
use crate::paths;
use crate::settings::analysis::analysed;
use crate::settings::select_campaign;

/// Writes the agreement.
pub fn run(args: &AgreeArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let first = select_campaign::select(Some(&args.first), globals)?.results;
    let second = select_campaign::select(Some(&args.second), globals)?.results;
    if first == second {
        let why = format!(
            "both sides are {}: name two campaigns",
            select_campaign::campaign_label(&first)
        );
        return Err(UsageError(why).into());
    }
    let [first, second] = called_alike(first, second);
    let analyses = [&first, &second].map(|results| analysed(results, &catalog, args.relevant));
    let found = agreement(
        AnalysedCampaign::new(&first, &analyses[0]),
        AnalysedCampaign::new(&second, &analyses[1]),
        args.relevant.map_or_else(Margin::default, Margin),
    )
    .map_err(|why| UsageError(why.to_string()))?;
    let [before, after] = names(&first, &second);
    if globals.json {
        print_json(&json!({ "first": before, "second": after, "agreement": found }))?;
        return Ok(ExitReason::Success.into());
    }
    let sides = SideLabels { before: &before, after: &after };
    print_document(args.markdown, &report::agreement_report(&found, sides))?;
    Ok(ExitReason::Success.into())
}

/// Returns both campaigns with disk names removed from contender names, if each filesystem is on
/// only one disk in either. A filesystem is on a real disk in one campaign and on a simulated one
/// in the other.
fn called_alike(first: CampaignResults, second: CampaignResults) -> [CampaignResults; 2] {
    match (strip_disk_suffix(&first), strip_disk_suffix(&second)) {
        (Some(first), Some(second)) => [first, second],
        _ => [first, second],
    }
}

/// Returns the names of the sides: their clocks if these differ, else their campaigns.
fn names(first: &CampaignResults, second: &CampaignResults) -> [String; 2] {
    let clock = |results: &CampaignResults| results.campaign.clock.name().to_owned();
    match first.campaign.clock == second.campaign.clock {
        false => [first, second].map(clock),
        true => [first, second].map(select_campaign::campaign_label),
    }
}

#[cfg(test)]
mod tests {
    use stats::fixture::{on_disks, plain};

    use super::*;

    #[test]
    fn matches_contenders_that_differ_only_in_their_disk() {
        let real = plain();
        let simulated = on_disks(plain(), &["ideal"; 3]);
        let both = called_alike(real.clone(), simulated);
        let analyses = both.each_ref().map(stats::analyse);
        let [first, second] =
            [0, 1].map(|side| AnalysedCampaign::new(&both[side], &analyses[side]));
        let found = agreement(first, second, Margin::default()).unwrap();
        assert_eq!(found.only_in_one, Vec::<String>::new());
        assert_eq!(found.all.same_order, found.all.both_different);
        assert!(found.all.both_different > 0);
        // Contenders with the same filesystem keep the disk in their names.
        let mut several = plain();
        several.campaign.contenders[1].name = "fast".to_owned();
        let several = on_disks(several, &["ssd", "hdd"]);
        let [_, kept] = called_alike(real, several);
        assert_eq!(kept.campaign.contenders[1].name, "fast@hdd");
    }
}
