//! `fsarena report`: a stored campaign in one of the formats; and the report at the end of a run.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use model::CampaignResults;
use report::{Format, Options};
use store::{CampaignId, Store};

use crate::cli::{Globals, ReportArgs};
use crate::exit::{BadInput, Code};
use crate::output::print;
use crate::paths;

/// Width of a table where standard output is no terminal.
const PIPED_WIDTH: usize = 120;

/// Writes the report that is asked for.
pub fn run(args: &ReportArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let format: Format = args
        .format
        .parse()
        .map_err(|e: report::UnknownFormat| BadInput(e.to_string()))?;
    let format = if globals.json && format == Format::Table {
        Format::Json
    } else {
        format
    };
    let store = paths::existing_store(globals)?;
    let results = store.load(paths::campaign_id(&store, args.id)?)?;
    let text = rendered(&results, format, args.output.is_none());
    match &args.output {
        Some(path) => write_file(path, &text)?,
        None => print(&text)?,
    }
    Ok(Code::Done.into())
}

/// What a completed campaign ends with: the table, and a page beside the database.
pub fn after_run(
    store: &Store,
    id: CampaignId,
    strict: bool,
    globals: &Globals,
) -> anyhow::Result<ExitCode> {
    let results = store.load(id)?;
    let page = paths::report_file(globals, id)?;
    write_file(&page, &rendered(&results, Format::Html, false))?;
    if globals.json {
        let text = serde_json::json!({ "event": "complete", "campaign": id, "report": page });
        print(&format!("{text}\n"))?;
    } else {
        print(&rendered(&results, Format::Table, true))?;
        print(&format!("\nreport: {}\n", page.display()))?;
    }
    let all_ok = results.cells.iter().all(|c| {
        c.result
            .as_ref()
            .is_some_and(|r| matches!(r.status, model::Status::Ok | model::Status::Unsupported))
    });
    Ok(if strict && !all_ok {
        Code::NotAllOk
    } else {
        Code::Done
    }
    .into())
}

fn rendered(results: &CampaignResults, format: Format, to_stdout: bool) -> String {
    let analysis = analyse::analyse(results);
    report::render(format, results, &analysis, &options(to_stdout))
}

fn options(to_stdout: bool) -> Options {
    let terminal = to_stdout && io::stdout().is_terminal();
    Options {
        width: if terminal {
            terminal_width()
        } else {
            PIPED_WIDTH
        },
        colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(PIPED_WIDTH, |(width, _)| usize::from(width.0))
}

/// Writes a file whole or not at all; what is no plain file (a pipe, a device) is written as it is.
fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if path.exists() && !path.is_file() {
        return fs::write(path, text).with_context(cannot);
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(cannot)?;
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, text).with_context(cannot)?;
    fs::rename(&partial, path).with_context(cannot)
}
