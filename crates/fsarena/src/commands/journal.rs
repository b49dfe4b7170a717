//! `fsarena journal`: what simulated disks were asked for in a cell, and where the time went.

use std::fs;
use std::process::ExitCode;

use anyhow::Context;
use model::StoredCell;
use serde_json::json;

use crate::arguments::cli::Globals;
use crate::arguments::journal_args::{FORMATS, JournalArgs};
use crate::journals::{self, TIMES};
use crate::output::disk_map;
use crate::output::exit::{BadInput, Code};
use crate::output::text::{print, print_json, table};
use crate::paths;

/// Writes what is asked for.
pub fn run(args: &JournalArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let results = store.load(paths::campaign_id(&store, args.id)?)?;
    let cell = journals::cell(&results, args.cell)?;
    let text = if args.format == FORMATS[0] {
        let result = cell.result.as_ref();
        let result = result.ok_or_else(|| BadInput("the cell was not run yet".to_owned()))?;
        if globals.json {
            let phases = result.phases.iter();
            let work =
                phases.filter_map(|p| Some(json!({"phase": p.phase, "disk": p.disk.as_ref()?})));
            print_json(&work.collect())?;
            return Ok(Code::Done.into());
        }
        let place = &cell.cell;
        format!(
            "{} · {} · round {} (cell {}): where the time went, in per cent of each phase\n{}\n{NOTES}",
            place.contender,
            place.test,
            place.round,
            place.id.0,
            table(TIMES, &journals::times(result))
        )
    } else {
        let mut journal = journals::of_cell(&store, &results, cell)?;
        if let Some(phase) = &args.phase {
            journal = journal.only(phase)?;
        }
        match args.format.as_str() {
            "csv" => journal.csv(),
            "map" => disk_map::svg(&title(cell, args.phase.as_deref()), &journal),
            _ => journal.blkparse(),
        }
    };
    match &args.output {
        None => print(&text)?,
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(Code::Done.into())
}

/// Whose requests a picture shows.
fn title(cell: &StoredCell, phase: Option<&str>) -> String {
    let place = &cell.cell;
    let phase = phase.map_or(String::new(), |phase| format!(" · {phase}"));
    format!("{} · {}{phase}", place.contender, place.test)
}

/// What the columns of the table mean.
const NOTES: &str = "\
Outside the disk: no request was in it, so that programs and filesystem worked. Flash: read, programmed or made free.\n\
Flush: the disk emptied its cache for one. Queue: it did something else first. Metadata: bytes that the filesystem called so, its journal among them.\n\
Amplified: bytes that flash was programmed with for each byte written.\n";
