//! `fsarena study show`: shows a published comparison.

use std::process::ExitCode;

use ::studies::Study;
use serde_json::{Value, json};

use crate::args::cli::GlobalArgs;
use crate::args::study_args::StudyShowArgs;
use crate::output::exit::ExitReason;
use crate::output::study_page;
use crate::output::text::{print, print_json};
use crate::settings::studies;

/// Shows a published comparison, with its figures as printed.
pub fn run(args: &StudyShowArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let study = studies::study(&args.study, globals)?;
    match globals.json {
        true => print_json(&in_json(&study))?,
        false => print(&study_page::text(&study))?,
    }
    Ok(ExitReason::Success.into())
}

fn in_json(study: &Study) -> Value {
    let figures = study.figures.cells().map(|(contender, figure, cell)| {
        json!({
            "contender": contender.name, "test": figure.test, "phase": figure.phase, "metric": figure.metric,
            "unit": cell.unit, "value": cell.value, "range": cell.range, "censored": cell.censored,
            "status": cell.status, "note": cell.note,
        })
    });
    let hardware = study.hardware.iter();
    let hardware = hardware.map(|(name, fact)| json!({ "name": name, "fact": fact }));
    json!({
        "name": study.name, "title": study.title, "source": study.source, "year": study.figures.year,
        "contenders": study.figures.contenders, "figures": figures.collect::<Vec<_>>(),
        "hardware": hardware.collect::<Vec<_>>(), "doubts": study.doubts, "does_not_add_up": study.inconsistencies(),
        "counterparts": study.counterparts,
    })
}
