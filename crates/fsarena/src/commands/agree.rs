//! `fsarena agree`: two campaigns on different clocks or machines, and how far they agree on who is better.

use std::process::ExitCode;

use analyse::{Analysed, Margin, agreement, without_disks};
use model::CampaignResults;
use report::Sides;
use serde_json::json;

use crate::arguments::cli::Globals;
use crate::arguments::compare_args::AgreeArgs;
use crate::output::exit::{BadInput, Code};
use crate::output::text::{print_in, print_json};
use crate::paths;
use crate::request::analysed::analysed;
use crate::request::chosen;

/// Writes the agreement.
pub fn run(args: &AgreeArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let first = chosen::campaign(Some(&args.first), globals)?;
    let second = chosen::campaign(Some(&args.second), globals)?;
    if first == second {
        let why = format!(
            "both sides are {}: name two campaigns",
            chosen::called(&first)
        );
        return Err(BadInput(why).into());
    }
    let [first, second] = called_alike(first, second);
    let analyses = [&first, &second].map(|results| analysed(results, &catalog, args.relevant));
    let found = agreement(
        Analysed::new(&first, &analyses[0]),
        Analysed::new(&second, &analyses[1]),
        args.relevant.map_or_else(Margin::default, Margin),
    )
    .map_err(|why| BadInput(why.to_string()))?;
    let [before, after] = names(&first, &second);
    if globals.json {
        print_json(&json!({ "first": before, "second": after, "agreement": found }))?;
        return Ok(Code::Done.into());
    }
    let sides = Sides {
        before: &before,
        after: &after,
    };
    print_in(args.markdown, |form| {
        report::agreement_text(&found, sides, form)
    })?;
    Ok(Code::Done.into())
}

/// Both with contenders that are called without their disks, where each filesystem is on one disk in either: what is on a real
/// disk in one campaign is on a simulated one in the other.
fn called_alike(first: CampaignResults, second: CampaignResults) -> [CampaignResults; 2] {
    match (without_disks(&first), without_disks(&second)) {
        (Some(first), Some(second)) => [first, second],
        _ => [first, second],
    }
}

/// What the sides are called: by their clocks where these differ, else as campaigns.
fn names(first: &CampaignResults, second: &CampaignResults) -> [String; 2] {
    let clock = |results: &CampaignResults| results.campaign.clock.name().to_owned();
    match first.campaign.clock == second.campaign.clock {
        false => [first, second].map(clock),
        true => [first, second].map(chosen::called),
    }
}

#[cfg(test)]
mod tests {
    use analyse::fixture::{on_disks, plain};

    use super::*;

    #[test]
    fn a_contender_on_a_disk_of_its_own_is_the_one_without() {
        let real = plain();
        let simulated = on_disks(plain(), &["ideal"; 3]);
        let both = called_alike(real.clone(), simulated);
        let analyses = both.each_ref().map(analyse::analyse);
        let [first, second] = [0, 1].map(|side| Analysed::new(&both[side], &analyses[side]));
        let found = agreement(first, second, Margin::default()).unwrap();
        assert_eq!(found.only_in_one, Vec::<String>::new());
        assert_eq!(found.all.same_order, found.all.both_different);
        assert!(found.all.both_different > 0);
        // Two of one filesystem keep their disks' names.
        let mut several = plain();
        several.campaign.contenders[1].name = "fast".to_owned();
        let several = on_disks(several, &["ssd", "hdd"]);
        let [_, kept] = called_alike(real, several);
        assert_eq!(kept.campaign.contenders[1].name, "fast@hdd");
    }
}
