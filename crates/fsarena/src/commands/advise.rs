//! `fsarena advise`: recommends a contender of a campaign for a use case, with the reasons.

use std::process::ExitCode;

use anyhow::Context;
use campaign::store::{CampaignSummary, Store};
use config::Catalog;
use model::{CampaignResults, Clock, Filesystem, SnapshotSupport, UseCase};
use serde_json::{Value, json};
use stats::{Advice, Analysis, PerDiskAnalysis};

use crate::args::cli::GlobalArgs;
use crate::args::report_args::AdviseArgs;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::text::{print_document, print_json, print_unwrapped, wrap_with_margin};
use crate::paths;
use crate::settings::analysis::analysed;
use crate::settings::select_campaign;

/// Maximum number of campaigns in virtual time that are searched for a second opinion.
const MAX_SEARCHED: usize = 5;

/// The campaigns in virtual time that may have a second opinion, the latest first.
struct SimulatedCampaigns(Vec<(CampaignResults, Analysis)>);

impl SimulatedCampaigns {
    /// Loads the campaigns in virtual time that share contenders with a campaign in real time.
    fn load(
        results: &CampaignResults,
        store: Option<&Store>,
        catalog: &Catalog,
        relevant: Option<f64>,
    ) -> anyhow::Result<Self> {
        let Some(store) = store.filter(|_| results.campaign.clock == Clock::Real) else {
            return Ok(Self(Vec::new()));
        };
        let contenders = || results.campaign.contenders.iter();
        let is_comparable = |one: &&CampaignSummary| {
            let shared = contenders().filter(|known| one.contenders.contains(&known.name)).count();
            one.campaign.clock == Clock::Virtual && one.done > 0 && shared > 1
        };
        let known = store.campaigns()?;
        let latest = known.iter().rev().filter(is_comparable).take(MAX_SEARCHED);
        let loaded = latest.map(|one| {
            let results = select_campaign::load(store, one.id)?;
            let analysis = analysed(&results, catalog, relevant);
            Ok((results, analysis))
        });
        Ok(Self(loaded.collect::<anyhow::Result<_>>()?))
    }

    /// Returns the opinion of the latest campaign that has one.
    fn opinion(&self, advice: &Advice) -> Option<String> {
        self.0.iter().find_map(|(results, analysis)| {
            let scores = analysis.uses.iter().find(|one| one.name == advice.scores.name)?;
            report::second_opinion(advice, &stats::advise(scores), results)
        })
    }
}

/// Returns one sentence for each use case.
fn all(
    results: &CampaignResults,
    analysis: &Analysis,
    simulated: &SimulatedCampaigns,
    has_store: bool,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    if globals.json {
        let of = |analysis: &Analysis| -> Vec<Value> {
            let uses = analysis.uses.iter();
            let value = |one| {
                let advice = stats::advise(one);
                let answer = report::answer_text(&advice, analysis);
                json!({ "use": one.name, "answer": answer, "advice": advice })
            };
            uses.map(value).collect()
        };
        let by_disk = analysis.by_disk.iter();
        let by_disk: Vec<Value> =
            by_disk.map(|part| json!({ "disk": part.disk, "uses": of(&part.analysis) })).collect();
        print_json(&json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "uses": of(analysis),
            "by_disk": by_disk,
        }))?;
    } else {
        let opinion = |advice: &Advice| simulated.opinion(advice);
        print_document(false, &report::answers_report(analysis, results, &opinion, has_store))?;
    }
    Ok(ExitReason::Success.into())
}

/// Returns the filesystems with snapshots that the campaign lacks, if the use needs snapshots.
fn others_with_snapshots(
    wanted: &UseCase,
    catalog: &Catalog,
    results: &CampaignResults,
) -> Option<String> {
    wanted.snapshots.as_ref()?;
    let contenders = || results.campaign.contenders.iter();
    let is_compared = |name: &str| contenders().any(|one| one.filesystem.name == name);
    let takes_some = |one: &&Filesystem| {
        let snapshots = one.facts.snapshots.as_ref();
        snapshots.is_some_and(SnapshotSupport::is_some) && one.unavailable.is_none()
    };
    let others = catalog.filesystems().filter(takes_some).map(|one| one.name.as_str());
    let others: Vec<&str> = others.filter(|name| !is_compared(name)).collect();
    (!others.is_empty())
        .then(|| format!("Not compared, and with snapshots: {}.", others.join(", ")))
}

/// Writes the advice.
pub fn run(args: &AdviseArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let wanted = args.for_use.as_ref().map(|name| catalog.use_case(name)).transpose()?;
    let selected = select_campaign::select(args.campaign.campaign.as_deref(), globals)?;
    let (results, store) = (selected.results, selected.store);
    if results.cells.iter().all(|cell| cell.result.is_none()) {
        let why = format!(
            "{} has no results yet: name another one, or wait",
            select_campaign::campaign_label(&results)
        );
        return Err(EnvironmentError(why).into());
    }
    let analysis = analysed(&results, &catalog, args.relevant);
    let simulated = SimulatedCampaigns::load(&results, store.as_ref(), &catalog, args.relevant)?;
    let Some(wanted) = wanted else {
        return all(&results, &analysis, &simulated, store.is_some(), globals);
    };
    let of = |analysis: &Analysis| {
        let mut uses = analysis.uses.iter();
        let scores = uses.find(|scores| scores.name == wanted.name);
        scores.map(stats::advise).context("the use is not in the catalog")
    };
    let by_disk = analysis.by_disk.iter();
    let by_disk = by_disk.map(|part| Ok((part, of(&part.analysis)?)));
    let by_disk: Vec<_> = by_disk.collect::<anyhow::Result<_>>()?;
    if globals.json {
        let on_disk = |part: &PerDiskAnalysis, advice: &Advice| {
            let answer = report::answer_text(advice, &part.analysis);
            json!({ "disk": part.disk, "answer": answer, "advice": advice })
        };
        let disks = by_disk.iter().map(|(part, advice)| on_disk(part, advice));
        let disks: Vec<Value> = disks.collect();
        let advice = of(&analysis)?;
        let value = json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "use": wanted,
            "second_opinion": simulated.opinion(&advice),
            "answer": report::answer_text(&advice, &analysis),
            "advice": advice,
            "by_disk": disks,
        });
        print_json(&value)?;
    } else if by_disk.is_empty() {
        let advice = of(&analysis)?;
        let opinion = simulated.opinion(&advice);
        let document = report::advice_report(&advice, &analysis, &results, None, opinion);
        print_document(false, &document)?;
        if let Some(others) = others_with_snapshots(wanted, &catalog, &results) {
            print_unwrapped(&format!("\n{}", wrap_with_margin("", &others)))?;
        }
    } else {
        // A contender on another disk is not an alternative.
        for (number, (part, advice)) in by_disk.iter().enumerate() {
            if number > 0 {
                print_unwrapped("\n")?;
            }
            let disk = Some(part.disk.as_str());
            let advice = report::advice_report(advice, &part.analysis, &results, disk, None);
            print_document(false, &advice)?;
        }
    }
    Ok(ExitReason::Success.into())
}
