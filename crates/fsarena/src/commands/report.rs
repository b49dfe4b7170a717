//! `fsarena report`: writes a stored campaign in one of the formats. Also writes the report at the
//! end of a run.

use std::path::Path;
use std::process::ExitCode;

use campaign::store::{CampaignId, Store};
use model::CampaignResults;
use report::render::{markdown, terminal};
use report::{Detail, DocumentOptions, ReportFormat, study_report};
use stats::Analysis;
use sys::fs::safe_path;

use crate::args::cli::GlobalArgs;
use crate::args::report_args::ReportArgs;
use crate::commands::changes;
#[cfg(not(feature = "parquet"))]
use crate::output::exit::EnvironmentError;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::output_file;
use crate::output::text::{layout, print, print_json, print_unwrapped};
use crate::paths;
use crate::request_logs::maps;
use crate::settings::analysis::{analysed, margin};
use crate::settings::studies;

/// Name of the format that only some builds support.
pub const PARQUET: &str = "parquet";

/// Writes the requested report.
pub fn run(args: &ReportArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    if args.schema {
        print_unwrapped(report::JSON_SCHEMA)?;
        return Ok(ExitReason::Success.into());
    }
    if !args.campaigns.is_empty() {
        return changes::run(args, globals);
    }
    let catalog = paths::catalog(globals)?;
    let store = match args.study {
        Some(_) => None,
        None => Some(paths::existing_store(globals)?),
    };
    let study = match &args.study {
        Some(name) => Some(studies::load_from(name, &catalog)?),
        None => None,
    };
    let results = match (&study, &store) {
        (Some(study), _) => study
            .reported(&catalog)
            .ok_or_else(|| no_numbers(&study.name))?
            .into_results("published")
            .map_err(UsageError)?,
        (None, Some(store)) => store.load(paths::campaign_id(store, args.id)?)?,
        (None, None) => return Err(UsageError("name a campaign or a study".to_owned()).into()),
    };
    // A study has separate questions, and answers few of the use cases here.
    let analysis = match study {
        Some(_) => stats::analyse_with_margin(&results, margin(args.relevant), catalog.withheld()),
        None => analysed(&results, &catalog, args.relevant),
    };
    if let Some(directory) = &args.charts {
        return charts(&results, &analysis, directory, globals);
    }
    if args.format == PARQUET {
        return parquet(&results, &analysis, args.output.as_deref());
    }
    let format: ReportFormat =
        args.format.parse().map_err(|e: report::UnknownFormat| UsageError(e.to_string()))?;
    let format =
        if globals.json && format == ReportFormat::Table { ReportFormat::Json } else { format };
    let options = match args.output {
        Some(_) => DocumentOptions::FILE,
        None => layout(),
    };
    let text = match (format, &study) {
        (ReportFormat::Html, Some(study)) => report::study_page(study, &results, &analysis),
        (ReportFormat::Html, None) => match &store {
            Some(store) => page(store, &results, &analysis, None),
            None => report::page(&results, &analysis, &report::DiskMaps::default(), None),
        },
        (ReportFormat::Table, Some(study)) => {
            terminal(&study_report(study, &results, &analysis, Detail::Brief), &options)
        }
        (ReportFormat::Markdown, Some(study)) => {
            markdown(&study_report(study, &results, &analysis, Detail::Full))
        }
        (format, _) => report::render(format, &results, &analysis, &options),
    };
    match &args.output {
        Some(path) => output_file::write(path, text.as_bytes())?,
        None if format == ReportFormat::Table => print(&text)?,
        None => print_unwrapped(&text)?,
    }
    Ok(ExitReason::Success.into())
}

fn no_numbers(study: &str) -> UsageError {
    UsageError(format!(
        "cannot report on {study}: it published no usable number; see `fsarena show study {study}` for its measurements"
    ))
}

/// Returns the page, with maps of the requests to simulated disks and a link to the index of its
/// site.
pub fn page(
    store: &Store,
    results: &CampaignResults,
    analysis: &Analysis,
    index: Option<&'static str>,
) -> String {
    let maps = maps::of_campaign(store, results);
    report::page(results, analysis, &maps, index)
}

/// Writes every chart into a directory, as SVG and as PNG.
fn charts(
    results: &CampaignResults,
    analysis: &Analysis,
    directory: &Path,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let charts = report::charts(results, analysis);
    let rasterizer = report::Rasterizer::new();
    for chart in &charts {
        let path = |ending: &str| directory.join(format!("{}.{ending}", chart.name));
        output_file::write(&path("svg"), chart.svg.as_bytes())?;
        let png = rasterizer.png(&chart.svg);
        let png = png.map_err(|why| anyhow::anyhow!("cannot draw {}: {why}", chart.name))?;
        output_file::write(&path("png"), &png)?;
    }
    if globals.json {
        let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        print_json(&serde_json::json!(names))?;
    } else if !globals.quiet {
        let directory = directory.display();
        print(&format!("{} charts, each as .svg and .png, in {directory}\n", charts.len()))?;
    }
    Ok(ExitReason::Success.into())
}

/// Writes the table of rounds as Parquet.
#[cfg(feature = "parquet")]
fn parquet(
    results: &CampaignResults,
    analysis: &Analysis,
    output: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let path =
        output.ok_or_else(|| UsageError("Parquet is no text: name a file with -o".into()))?;
    let bytes = report::parquet(results, analysis).map_err(anyhow::Error::msg)?;
    output_file::write(path, &bytes)?;
    Ok(ExitReason::Success.into())
}

/// Error for a build without Parquet support, with the command that adds it.
#[cfg(not(feature = "parquet"))]
pub const NO_PARQUET: &str =
    "this fsarena was built without Parquet: cargo build --release --features parquet";

/// Returns an error, because this build has no Parquet support.
#[cfg(not(feature = "parquet"))]
fn parquet(_: &CampaignResults, _: &Analysis, _: Option<&Path>) -> anyhow::Result<ExitCode> {
    Err(EnvironmentError(NO_PARQUET.into()).into())
}

/// Prints the table of a completed campaign, and writes its page to the directory of the database.
pub fn after_run(
    store: &Store,
    id: CampaignId,
    strict: bool,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let results = store.load(id)?;
    let (reports, name) = (paths::reports(globals)?, paths::page(globals, id)?);
    let analysis = analysed(&results, &paths::catalog(globals)?, None);
    let html = page(store, &results, &analysis, None);
    reports.replace(&name, safe_path::default_mode(), html.as_bytes())?;
    let page = reports.path().join(name);
    if globals.json {
        let text = serde_json::json!({ "event": "complete", "campaign": id, "report": page });
        print(&format!("{text}\n"))?;
    } else {
        print(&report::render(ReportFormat::Table, &results, &analysis, &layout()))?;
        print(&format!("\nreport: {}\n", page.display()))?;
    }
    let all_ok = results.cells.iter().all(|c| {
        c.result
            .as_ref()
            .is_some_and(|r| matches!(r.status, model::Status::Ok | model::Status::Unsupported))
    });
    Ok(if strict && !all_ok { ExitReason::SomeFailed } else { ExitReason::Success }.into())
}
