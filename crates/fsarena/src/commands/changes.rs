//! `fsarena report --campaigns`: a page about several campaigns, with the changes and the history
//! of every result.

use std::collections::BTreeSet;
use std::process::ExitCode;

use campaign::store::{CampaignId, Store};
use model::{CampaignResults, ResultSelector};
use report::{CampaignHead, HistoryOverview, ReportFormat};
use serde_json::json;
use stats::{
    AnalysedCampaign, CampaignComparison, CompareFilter, History, Margin, analyse,
    compare_campaigns, history,
};

use crate::args::cli::GlobalArgs;
use crate::args::report_args::ReportArgs;
use crate::commands::compare::refused;
use crate::commands::report::format;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::output_file;
use crate::output::text::print_json;
use crate::paths;
use crate::settings::select_campaign;

/// Writes the page, or its contents as JSON.
pub fn run(args: &ReportArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let named = args.campaigns.iter();
    let ids = named.map(|named| select_campaign::campaign_id(&store, Some(named)));
    let ids: BTreeSet<CampaignId> = ids.collect::<anyhow::Result<_>>()?;
    let ids: Vec<CampaignId> = ids.into_iter().collect();
    if ids.len() < 2 {
        return Err(UsageError(
            "--campaigns takes two campaigns or more: --campaigns 3,4".to_owned(),
        )
        .into());
    }
    let formats = [ReportFormat::Table, ReportFormat::Html].map(ReportFormat::name);
    let format = format(args)?;
    if !formats.contains(&format) {
        let why = format!("several campaigns are a page: --format html, and not {format}");
        return Err(UsageError(why).into());
    }
    let FoundCampaign { campaigns, differences, history } = found(&store, &ids, args.relevant)?;
    if globals.json {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        print_json(&json!({ "campaigns": ids, "differences": differences, "history": history }))?;
        return Ok(ExitReason::Success.into());
    }
    let page = report::changes_page(HistoryOverview {
        campaigns: &campaigns,
        differences: &differences,
        history: &history,
    });
    output_file::write_or_print(args.output.as_deref(), &page)
}

struct FoundCampaign {
    campaigns: Vec<CampaignHead>,
    differences: CampaignComparison,
    history: History,
}

/// Loads and compares the campaigns. Keeps the first and the last in memory, plus one of the others
/// at a time.
fn found(
    store: &Store,
    ids: &[CampaignId],
    relevant: Option<f64>,
) -> anyhow::Result<FoundCampaign> {
    let ends = [ids[0], ids[ids.len() - 1]].map(|id| select_campaign::load(store, id));
    let [first, last] = ends;
    let (first, last) = (first?, last?);
    let wanted = CompareFilter {
        margin: relevant.map_or_else(Margin::default, Margin),
        ..CompareFilter::default()
    };
    let (of_first, of_last) = (analyse(&first), analyse(&last));
    let sides = [AnalysedCampaign::new(&first, &of_first), AnalysedCampaign::new(&last, &of_last)];
    let differences = compare_campaigns(sides[0], sides[1], &wanted).map_err(refused)?;
    let everything = every_result();
    let mut collector = history(&everything, &[]);
    let mut campaigns = Vec::new();
    let mut take = |results: &CampaignResults, campaign: AnalysedCampaign<'_>| {
        collector.add(campaign);
        campaigns.push(CampaignHead::from_results(results));
    };
    // The latest comes first, because it defines comparability.
    take(&last, sides[1]);
    for id in ids[1..ids.len() - 1].iter().rev() {
        let results = select_campaign::load(store, *id)?;
        let analysis = analyse(&results);
        take(&results, AnalysedCampaign::new(&results, &analysis));
    }
    take(&first, sides[0]);
    campaigns.reverse();
    Ok(FoundCampaign { campaigns, differences, history: collector.finish() })
}

/// Returns a selector for the primary result of every phase.
pub fn every_result() -> ResultSelector {
    "*/*".parse().expect("it names every result")
}
