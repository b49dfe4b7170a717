//! `fsarena disk requests`: shows the requests to simulated disks in a cell, and their time components.

use std::process::ExitCode;

use model::{CampaignResults, CellRecord, PhaseResult, SimulatedDiskStats};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::disk_args::RequestsArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{print_json, table};
use crate::output::{disk_map, output_file};
use crate::request_logs::times::{self, REQUESTS, TIMES};
use crate::request_logs::{self, regions};
use crate::settings::select_campaign;

/// Formats for the endings of output files.
const ENDINGS: [(&str, &str); 4] =
    [("txt", "table"), ("csv", "csv"), ("svg", "map"), ("parquet", "parquet")];

/// Writes the requested format.
pub fn run(args: &RequestsArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let format = output_file::format(args.format.as_deref(), args.output.as_deref(), &ENDINGS)?;
    let (results, store) =
        select_campaign::select(args.campaign.campaign.as_deref(), globals)?.in_database()?;
    let cell = request_logs::cell(&results, args.cell, args.phase.as_deref())?;
    if format == "table" {
        let flags_metadata = flags_metadata(&results, &cell.cell.contender);
        return work_of(cell, flags_metadata, args, globals);
    }
    let mut journal = request_logs::load_cell(&store, &results, cell)?;
    if let Some(phase) = &args.phase {
        journal = journal.for_phase(phase)?;
    }
    let phase = args.phase.as_deref();
    let text = match format {
        "parquet" => {
            return output_file::write_parquet(args.output.as_deref(), journal.parquet());
        }
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
    output_file::write_or_print(args.output.as_deref(), &text)
}

/// Returns the time components and the requests of each phase.
fn work_of(
    cell: &CellRecord,
    flags_metadata: bool,
    args: &RequestsArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let phases = phases(cell, args.phase.as_deref())?;
    if globals.json {
        let work = phases.iter().map(|(phase, work)| json!({"phase": phase.phase, "disk": work}));
        print_json(&work.collect())?;
        return Ok(ExitReason::Success.into());
    }
    let place = &cell.cell;
    let text = format!(
        "{} · {} · round {} (cell {})\n\nTime components, in per cent of each phase\n{}\nRequests to the disk\n{}\n{NOTES}",
        place.contender,
        place.test,
        place.round,
        place.id.0,
        table(TIMES, &times::times(&phases)),
        table(REQUESTS, &times::requests(&phases, flags_metadata))
    );
    output_file::write_or_print(args.output.as_deref(), &text)
}

/// Returns true if any request of a contender in any phase was flagged as metadata.
fn flags_metadata(results: &CampaignResults, contender: &str) -> bool {
    let cells = results.cells.iter();
    let own = cells.filter(|stored| stored.cell.contender == contender);
    let phases = own.flat_map(|stored| stored.result.iter().flat_map(|result| &result.phases));
    SimulatedDiskStats::has_metadata_flags(phases.filter_map(|phase| phase.disk.as_ref()))
}

/// Returns the phases of a cell with a simulated disk, or only the named phase.
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
    let of = measured.iter().copied().filter(|(p, _)| p.phase == wanted).collect::<Vec<_>>();
    match of.is_empty() {
        false => Ok(of),
        true => Err(request_logs::unknown_phase_error(
            wanted,
            measured.iter().map(|(p, _)| p.phase.as_str()),
        )),
    }
}

/// Returns the title of a picture.
fn title(cell: &CellRecord, phase: Option<&str>) -> String {
    let place = &cell.cell;
    let phase = phase.map_or(String::new(), |phase| format!(" · {phase}"));
    format!("{} · {}{phase}", place.contender, place.test)
}

/// Explanation of the columns of the regions.
const REGIONS: &str = "From: start of the region. The other columns: the region's share of all bytes read, written and discarded, of all bytes\nmarked as metadata by the filesystem, of all bytes of its journal, and of all time in the disk, in per cent;\n· means none. A request counts for the region in which it starts; flushes have no location.\n";

/// Explanation of the columns of the tables.
const NOTES: &str = "CPU: no request was in the disk, so that programs and filesystem worked.\nFlash: read, programmed or erased. Flush: the disk wrote back its cache for a flush.\nQueue: the disk served another request first. · means none.\nSeeks: arm movements per request.\nMetadata: bytes that the filesystem flags as such, outside its journal; ? if it\nflags no request at all, like JFS.\nJournal: bytes of the filesystem's journal; ? if its location is unknown, in which\ncase flagged journal bytes count as metadata.\nAmplified: bytes programmed into flash per byte written.\n";
