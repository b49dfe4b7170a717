//! `fsarena agree`: two campaigns on different clocks or machines, and how far they agree on who is better.

use std::process::ExitCode;

use analyse::{Analysed, Margin, agreement};
use model::CampaignResults;
use report::{Form, Sides};
use serde_json::json;

use crate::arguments::cli::{AgreeArgs, Globals};
use crate::output::exit::{BadInput, Code};
use crate::output::text::{print, print_json};
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
    let form = if args.markdown {
        Form::Markdown
    } else {
        Form::Text
    };
    print(&report::agreement_text(&found, sides, form))?;
    Ok(Code::Done.into())
}

/// What the sides are called: by their clocks where these differ, else as campaigns.
fn names(first: &CampaignResults, second: &CampaignResults) -> [String; 2] {
    let clock = |results: &CampaignResults| results.campaign.clock.name().to_owned();
    match first.campaign.clock == second.campaign.clock {
        false => [first, second].map(clock),
        true => [first, second].map(chosen::called),
    }
}
