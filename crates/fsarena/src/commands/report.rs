//! `fsarena report`: writes a stored campaign in one of the formats. Also writes the report at the
//! end of a run.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::studies::Study;
use campaign::store::{CampaignId, Store};
use model::CampaignResults;
use report::{DocumentOptions, ReportFormat};
use stats::Analysis;
use sys::fs::safe_path;

use crate::args::cli::GlobalArgs;
use crate::args::report_args::ReportArgs;
use crate::commands::changes;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError, error_chain};
use crate::output::text::{
    line, print, print_json, print_unwrapped, terminal_width, wrap_with_margin,
};
use crate::output::{claims_text, output_file};
use crate::paths;
use crate::request_logs::maps;
use crate::settings::analysis::{analysed, margin};
use crate::settings::studies;

/// Name of the format that only some builds support.
pub const PARQUET: &str = "parquet";
/// Width of a table if standard output is not a terminal.
const PIPED_WIDTH: usize = 120;

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
    let options = options(args.output.is_none());
    let text = match format {
        ReportFormat::Html => match (&store, &study) {
            (Some(store), _) => page(store, &results, &analysis, None),
            (None, Some(study)) => report::study_page(study, &results, &analysis),
            (None, None) => report::page(&results, &analysis, &report::DiskMaps::default(), None),
        },
        ReportFormat::Table => {
            let head = study.as_ref().map_or_else(String::new, study_head);
            head + &report::render(format, &results, &analysis, &options)
        }
        ReportFormat::Markdown => match &study {
            Some(study) => report::study_markdown(study, &results, &analysis),
            None => report::render(format, &results, &analysis, &options),
        },
        format => report::render(format, &results, &analysis, &options),
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

/// Returns the title of the study, and the verdicts on its claims.
fn study_head(study: &Study) -> String {
    let claims = claims_text::summary(&study.evaluate_claims());
    let (title, name) = (line(&study.title), line(&study.name));
    let text = format!("“{title}”. By its own figures, {claims} (fsarena claims {name}).");
    let left_out = report::excluded_figures(study)
        .map_or_else(String::new, |text| wrap_with_margin("", &text));
    wrap_with_margin("", &text) + &left_out
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

/// Writes the page of a campaign to the directory of the database, and returns its path.
fn write_page(
    store: &Store,
    results: &CampaignResults,
    analysis: &Analysis,
    globals: &GlobalArgs,
) -> anyhow::Result<PathBuf> {
    let (reports, name) = (paths::reports(globals)?, paths::page(globals, CampaignId(results.id))?);
    let html = page(store, results, analysis, None);
    reports.replace(&name, safe_path::default_mode(), html.as_bytes())?;
    Ok(reports.path().join(name))
}

/// Prints the table of a completed campaign, and writes its page to the directory of the database.
pub fn after_run(
    store: &Store,
    id: CampaignId,
    strict: bool,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let results = store.load(id)?;
    let analysis = analysed(&results, &paths::catalog(globals)?, None);
    let page = write_page(store, &results, &analysis, globals);
    if globals.json {
        let page = page.as_ref().ok();
        let text = serde_json::json!({ "event": "complete", "campaign": id, "report": page });
        print(&format!("{text}\n"))?;
    } else {
        let options = options(true);
        print(&report::render(ReportFormat::Table, &results, &analysis, &options))?;
        if let Ok(page) = &page {
            print(&format!("\nreport: {}\n", page.display()))?;
        }
    }
    page.map_err(|error| {
        EnvironmentError(format!(
            "cannot write the page of campaign {id}: {}; the results are stored: `fsarena report {id} --format html -o FILE` \
             writes it",
            error_chain(&error)
        ))
    })?;
    let all_ok = results.cells.iter().all(|c| {
        c.result
            .as_ref()
            .is_some_and(|r| matches!(r.status, model::Status::Ok | model::Status::Unsupported))
    });
    Ok(if strict && !all_ok { ExitReason::SomeFailed } else { ExitReason::Success }.into())
}

fn options(to_stdout: bool) -> DocumentOptions {
    // A terminal may not report its width.
    let is_terminal = to_stdout && io::stdout().is_terminal();
    let width = terminal_width().filter(|_| is_terminal);
    DocumentOptions {
        width: width.unwrap_or(PIPED_WIDTH),
        colour: is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
