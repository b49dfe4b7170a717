//! `fsarena journal`: what simulated disks were asked for in a cell, and where the time went.

use std::path::Path;
use std::process::ExitCode;

use model::{CampaignResults, CellRecord, PhaseResult, SimulatedDiskStats};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::journal_args::JournalArgs;
#[cfg(not(feature = "parquet"))]
use crate::commands::report::NO_PARQUET;
#[cfg(not(feature = "parquet"))]
use crate::output::exit::EnvironmentError;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{line, print_json, print_unwrapped, table};
use crate::output::{disk_map, output_file};
use crate::paths;
use crate::request_logs::times::{self, REQUESTS, TIMES};
use crate::request_logs::{self, Journal, regions};

/// Writes what is asked for.
pub fn run(args: &JournalArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    require_directory(args.output.as_deref())?;
    let store = paths::existing_store(globals)?;
    let results = store.load(paths::campaign_id(&store, args.id)?)?;
    let cell = request_logs::cell(&results, args.cell, args.phase.as_deref())?;
    if args.format == "table" {
        let flags_metadata = flags_metadata(&results, &cell.cell.contender);
        return work_of(cell, flags_metadata, args, globals);
    }
    let mut journal = request_logs::load_cell(&store, &results, cell)?;
    if let Some(phase) = &args.phase {
        journal = journal.for_phase(phase)?;
    }
    let phase = args.phase.as_deref();
    let text = match args.format.as_str() {
        "parquet" => return parquet(&journal, args.output.as_deref()),
        "csv" => journal.csv(),
        "map" if phase.is_some() => disk_map::svg(&title(cell, phase), &journal.timed_only()),
        "map" => disk_map::svg(&title(cell, phase), &journal),
        "regions" if globals.json => format!("{:#}\n", regions::to_json(&journal)),
        "regions" => format!(
            "{}: shares of each sixteenth of the disk\n{}\n{REGIONS}",
            title(cell, phase),
            table(regions::HEADS, &regions::rows(&journal))
        ),
        _ => journal.blkparse(),
    };
    written(&text, args.output.as_deref())
}

/// Where the time of each phase went, and what the disk was asked for.
fn work_of(
    cell: &CellRecord,
    flags_metadata: bool,
    args: &JournalArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let phases = phases(cell, args.phase.as_deref())?;
    if globals.json {
        let work = phases
            .iter()
            .map(|(phase, work)| json!({"phase": phase.phase, "disk": work}));
        print_json(&work.collect())?;
        return Ok(ExitReason::Success.into());
    }
    let place = &cell.cell;
    let text = format!(
        "{} · {} · round {} (cell {})\n\nWhere the time went, in per cent of each phase\n{}\n\
         What the disk was asked for\n{}\n{NOTES}",
        place.contender,
        place.test,
        place.round,
        place.id.0,
        table(TIMES, &times::times(&phases)),
        table(REQUESTS, &times::requests(&phases, flags_metadata))
    );
    written(&text, args.output.as_deref())
}

/// Whether any request of a contender's was flagged as metadata, in all that it did.
fn flags_metadata(results: &CampaignResults, contender: &str) -> bool {
    let cells = results.cells.iter();
    let own = cells.filter(|stored| stored.cell.contender == contender);
    let phases = own.flat_map(|stored| stored.result.iter().flat_map(|result| &result.phases));
    SimulatedDiskStats::has_metadata_flags(phases.filter_map(|phase| phase.disk.as_ref()))
}

/// The phases of a cell in which a simulated disk was measured, or the one that is asked for.
fn phases<'a>(
    cell: &'a CellRecord,
    wanted: Option<&str>,
) -> Result<Vec<(&'a PhaseResult, &'a SimulatedDiskStats)>, UsageError> {
    let result = cell.result.as_ref();
    let result = result.ok_or_else(|| UsageError("the cell was not run yet".to_owned()))?;
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
        true => Err(request_logs::unknown_phase_error(
            wanted,
            measured.iter().map(|(p, _)| p.phase.as_str()),
        )),
    }
}

/// A directory that is not there is a slip of the finger.
fn require_directory(output: Option<&Path>) -> Result<(), UsageError> {
    let directory = output.and_then(Path::parent);
    let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
    match directory.filter(|directory| !directory.is_dir()) {
        None => Ok(()),
        Some(none) => Err(UsageError(format!(
            "-o: there is no directory {}: make it, or name another file",
            line(&none.display().to_string())
        ))),
    }
}

/// Writes a text to where it was asked for.
fn written(text: &str, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    match output {
        None => print_unwrapped(text)?,
        Some(path) => output_file::write(path, text.as_bytes())?,
    }
    Ok(ExitReason::Success.into())
}

/// Writes every request as Parquet.
#[cfg(feature = "parquet")]
fn parquet(journal: &Journal, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    let path =
        output.ok_or_else(|| UsageError("Parquet is no text: name a file with -o".into()))?;
    let bytes = journal.parquet().map_err(anyhow::Error::msg)?;
    output_file::write(path, &bytes)?;
    Ok(ExitReason::Success.into())
}

/// Says that this program was built without Parquet.
#[cfg(not(feature = "parquet"))]
fn parquet(_: &Journal, _: Option<&Path>) -> anyhow::Result<ExitCode> {
    Err(EnvironmentError(NO_PARQUET.into()).into())
}

/// Whose requests a picture shows.
fn title(cell: &CellRecord, phase: Option<&str>) -> String {
    let place = &cell.cell;
    let phase = phase.map_or(String::new(), |phase| format!(" · {phase}"));
    format!("{} · {}{phase}", place.contender, place.test)
}

/// What the columns of the regions mean.
const REGIONS: &str = "\
From: where the region begins. The other columns: how much of all bytes read, written and discarded, of all bytes that\n\
the filesystem calls metadata, of all bytes of its journal, and of all time in the disk falls to the region, in per cent;\n\
· is none. A request counts where it begins; flushes have no place.\n";

/// What the columns of the tables mean.
const NOTES: &str = "\
CPU: no request was in the disk, so that programs and filesystem worked.\n\
Flash: read, programmed or made free. Flush: the disk emptied its cache for one.\n\
Queue: the disk did something else first. · is none.\n\
Seeks: how often the arm moved for each request.\n\
Metadata: bytes that the filesystem flags as such, outside its journal; ? where it\n\
flags no request at all, as JFS does.\n\
Journal: bytes of the filesystem's own journal; ? where its place is not known, and\n\
what it flags as metadata is in the column before.\n\
Amplified: bytes that flash was programmed with for each byte written.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_is_refused_and_not_made() {
        let place = tempfile::tempdir().unwrap();
        let none = place.path().join("none/map.svg");
        let refused = require_directory(Some(&none)).unwrap_err().0;
        assert!(
            refused.starts_with("-o: there is no directory "),
            "{refused}"
        );
        assert!(!place.path().join("none").exists());
        for there in [place.path().join("map.svg"), "map.svg".into()] {
            assert!(require_directory(Some(&there)).is_ok());
        }
        assert!(require_directory(None).is_ok());
    }
}
