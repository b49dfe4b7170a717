//! `fsarena report`: writes a stored campaign in one of the formats. Also prints the last screen of a
//! run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use campaign::store::{CampaignId, Store};
use model::{CampaignResults, ResultSelector};
use report::render::{markdown, terminal};
use report::{Detail, DocumentOptions, ReportFormat, study_report};
use stats::Analysis;
use sys::fs::safe_path::{self, SafeDir};

use crate::args::cli::GlobalArgs;
use crate::args::report_args::ReportArgs;
use crate::commands::changes;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError, error_chain};
use crate::output::output_file;
use crate::output::text::{layout, print, print_json, print_note, print_unwrapped, screen_layout};
use crate::paths;
use crate::request_logs::maps;
use crate::settings::analysis::{analysed, margin};
use crate::settings::validate::reject_unmatched_only;
use crate::settings::{select_campaign, studies};

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
    let format = format(args)?;
    let catalog = paths::catalog(globals)?;
    let study = args.study.as_ref().map(|name| studies::load_from(name, &catalog)).transpose()?;
    let (results, store) = match &study {
        Some(study) => {
            let reported = study.reported(&catalog).ok_or_else(|| no_numbers(&study.name))?;
            (reported.into_results("published").map_err(UsageError)?, None)
        }
        None => {
            let selected = select_campaign::select(args.campaign.campaign.as_deref(), globals)?;
            (selected.results, selected.store)
        }
    };
    // A study has separate questions, and answers few of the use cases here.
    let analysis = match study {
        Some(_) => stats::analyse_with_margin(&results, margin(args.relevant), catalog.withheld()),
        None => analysed(&results, &catalog, args.relevant),
    };
    if let Some(directory) = &args.charts {
        return charts(&results, &analysis, (directory.as_path(), args.only.as_slice()), globals);
    }
    if format == PARQUET {
        #[cfg(feature = "parquet")]
        let bytes = report::parquet(&results, &analysis);
        #[cfg(not(feature = "parquet"))]
        let bytes = Err(output_file::NO_PARQUET.to_owned());
        return output_file::write_parquet(args.output.as_deref(), bytes);
    }
    let format: ReportFormat = format.parse().map_err(UsageError)?;
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
    match format {
        ReportFormat::Table if args.output.is_none() => print(&text)?,
        _ => return output_file::write_or_print(args.output.as_deref(), &text),
    }
    Ok(ExitReason::Success.into())
}

/// Returns the requested format, or the format for the ending of the output file.
pub fn format(args: &ReportArgs) -> Result<&str, UsageError> {
    const ENDINGS: [(&str, &str); 6] = [
        ("txt", "table"),
        ("html", "html"),
        ("md", "markdown"),
        ("csv", "csv"),
        ("json", "json"),
        ("parquet", PARQUET),
    ];
    output_file::format(args.format.as_deref(), args.output.as_deref(), &ENDINGS)
}

fn no_numbers(study: &str) -> UsageError {
    UsageError(format!(
        "cannot report on {study}: it published no usable number; see `fsarena study show {study}` for its measurements"
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

/// Writes the charts of selected results into a directory, as SVG and as PNG. A chart that cannot be drawn does not
/// prevent the others.
fn charts(
    results: &CampaignResults,
    analysis: &Analysis,
    (directory, only): (&Path, &[ResultSelector]),
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    reject_unmatched_only(only, &results.campaign.suites)?;
    SafeDir::shared_or_new(directory)?;
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    let rasterizer = report::Rasterizer::new();
    for chart in report::charts(results, analysis, only) {
        let chart = match chart {
            Ok(chart) => chart,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let path = |ending: &str| directory.join(format!("{}.{ending}", chart.name));
        output_file::write(&path("svg"), chart.svg.as_bytes())?;
        match rasterizer.png(&chart.svg) {
            Ok(png) => output_file::write(&path("png"), &png)?,
            Err(reason) => {
                let chart = format!("the chart {} as PNG", chart.name);
                errors.push(report::ChartError { chart, reason });
            }
        }
        names.push(chart.name);
    }
    if globals.json {
        print_json(&serde_json::json!(names))?;
    } else if !globals.quiet {
        let directory = directory.display();
        print(&format!("{} charts, each as .svg and .png, in {directory}\n", names.len()))?;
    }
    match errors.pop() {
        None => Ok(ExitReason::Success.into()),
        Some(last) => {
            for error in errors {
                print_note(&error.to_string());
            }
            Err(last.into())
        }
    }
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

/// Prints the last screen of a completed campaign, and writes its page to the directory of the
/// database.
pub fn after_run(
    store: &Store,
    id: CampaignId,
    strict: bool,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let results = select_campaign::load(store, id)?;
    let analysis = analysed(&results, &paths::catalog(globals)?, None);
    let page = write_page(store, &results, &analysis, globals);
    if globals.json {
        let page = page.as_ref().ok();
        let text = serde_json::json!({ "event": "complete", "campaign": id, "report": page });
        print(&format!("{text}\n"))?;
    } else {
        let command = |verb: &str| paths::command_line(globals, verb, &id.to_string());
        let page = page.as_deref().ok();
        let screen = report::last_screen(&results, &analysis, page, &command);
        let layout = screen_layout();
        let width = layout.width.min(report::SCREEN_COLUMNS);
        print_unwrapped(&terminal(&screen, &DocumentOptions { width, ..layout }))?;
    }
    page.map_err(|error| {
        EnvironmentError(format!(
            "cannot write the page of campaign {id}: {}; the results are stored: `{}` writes it",
            error_chain(&error),
            paths::command_line(globals, "report", &format!("{id} --format html -o FILE"))
        ))
    })?;
    let all_ok = results.cells.iter().all(|c| {
        c.result
            .as_ref()
            .is_some_and(|r| matches!(r.status, model::Status::Ok | model::Status::Unsupported))
    });
    Ok(if strict && !all_ok { ExitReason::SomeFailed } else { ExitReason::Success }.into())
}
