//! `fsarena journal`: what simulated disks were asked for in a cell, and where the time went.

use std::path::Path;
use std::process::ExitCode;

use model::{DiskWork, PhaseResult, StoredCell};
use serde_json::json;

use crate::arguments::cli::Globals;
use crate::arguments::journal_args::JournalArgs;
#[cfg(not(feature = "parquet"))]
use crate::commands::report::NO_PARQUET;
use crate::journals::times::TIMES;
use crate::journals::{self, Journal, regions};
#[cfg(not(feature = "parquet"))]
use crate::output::exit::Refused;
use crate::output::exit::{BadInput, Code};
use crate::output::text::{print, print_json, table};
use crate::output::{disk_map, output_file};
use crate::paths;

/// Writes what is asked for.
pub fn run(args: &JournalArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let results = store.load(paths::campaign_id(&store, args.id)?)?;
    let cell = journals::cell(&results, args.cell, args.phase.as_deref())?;
    if args.format == "table" {
        return times(cell, args, globals);
    }
    let mut journal = journals::of_cell(&store, &results, cell)?;
    if let Some(phase) = &args.phase {
        journal = journal.only(phase)?;
    }
    let phase = args.phase.as_deref();
    let text = match args.format.as_str() {
        "parquet" => return parquet(&journal, args.output.as_deref()),
        "csv" => journal.csv(),
        "map" if phase.is_some() => disk_map::svg(&title(cell, phase), &journal.measured()),
        "map" => disk_map::svg(&title(cell, phase), &journal),
        "regions" if globals.json => format!("{:#}\n", regions::in_full(&journal)),
        "regions" => format!(
            "{}: shares of each sixteenth of the disk\n{}\n{REGIONS}",
            title(cell, phase),
            table(regions::HEADS, &regions::rows(&journal))
        ),
        _ => journal.blkparse(),
    };
    written(&text, args.output.as_deref())
}

/// Where the time of each phase went.
fn times(cell: &StoredCell, args: &JournalArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let phases = phases(cell, args.phase.as_deref())?;
    if globals.json {
        let work = phases
            .iter()
            .map(|(phase, work)| json!({"phase": phase.phase, "disk": work}));
        print_json(&work.collect())?;
        return Ok(Code::Done.into());
    }
    let place = &cell.cell;
    let text = format!(
        "{} · {} · round {} (cell {}): where the time went, in per cent of each phase\n{}\n{NOTES}",
        place.contender,
        place.test,
        place.round,
        place.id.0,
        table(TIMES, &journals::times::times(&phases))
    );
    written(&text, args.output.as_deref())
}

/// The phases of a cell in which a simulated disk was measured, or the one that is asked for.
fn phases<'a>(
    cell: &'a StoredCell,
    wanted: Option<&str>,
) -> Result<Vec<(&'a PhaseResult, &'a DiskWork)>, BadInput> {
    let result = cell.result.as_ref();
    let result = result.ok_or_else(|| BadInput("the cell was not run yet".to_owned()))?;
    let phases = result.phases.iter();
    let measured: Vec<_> = phases.filter_map(|p| Some((p, p.disk.as_ref()?))).collect();
    let Some(wanted) = wanted else {
        return Ok(measured);
    };
    let of = measured
        .iter()
        .copied()
        .filter(|(p, _)| p.phase == wanted)
        .collect::<Vec<_>>();
    match of.is_empty() {
        false => Ok(of),
        true => Err(journals::no_phase(
            wanted,
            measured.iter().map(|(p, _)| p.phase.as_str()),
        )),
    }
}

/// Writes a text to where it was asked for.
fn written(text: &str, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    match output {
        None => print(text)?,
        Some(path) => output_file::write(path, text.as_bytes())?,
    }
    Ok(Code::Done.into())
}

/// Writes every request as Parquet.
#[cfg(feature = "parquet")]
fn parquet(journal: &Journal, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    let path = output.ok_or_else(|| BadInput("Parquet is no text: name a file with -o".into()))?;
    let bytes = journal.parquet().map_err(anyhow::Error::msg)?;
    output_file::write(path, &bytes)?;
    Ok(Code::Done.into())
}

/// Says that this program was built without Parquet.
#[cfg(not(feature = "parquet"))]
fn parquet(_: &Journal, _: Option<&Path>) -> anyhow::Result<ExitCode> {
    Err(Refused(NO_PARQUET.into()).into())
}

/// Whose requests a picture shows.
fn title(cell: &StoredCell, phase: Option<&str>) -> String {
    let place = &cell.cell;
    let phase = phase.map_or(String::new(), |phase| format!(" · {phase}"));
    format!("{} · {}{phase}", place.contender, place.test)
}

/// What the columns of the regions mean.
const REGIONS: &str = "\
From: where the region begins. The other columns: how much of all bytes read, written and discarded, of all bytes that\n\
the filesystem calls metadata, of all bytes of its journal, and of all time in the disk falls to the region, in per cent;\n\
· is none. A request counts where it begins; flushes have no place.\n";

/// What the columns of the table mean.
const NOTES: &str = "\
Outside the disk: no request was in it, so that programs and filesystem worked. Flash: read, programmed or made free.\n\
Flush: the disk emptied its cache for one. Queue: it did something else first. Metadata: bytes that the filesystem calls so.\n\
Journal: bytes of the filesystem's own journal; ? where its place is not known, and what it calls metadata is above.\n\
Amplified: bytes that flash was programmed with for each byte written.\n";
