//! `fsarena disk replay`: replays a journal on simulated disks, without a guest.

use std::path::Path;
use std::process::ExitCode;

use config::Catalog;
use model::{Bytes, DiskModel, Nanos, SimulatedDiskStats};
use serde_json::{Value, json};
use simdisk::request_log::{self, LoggedRequest};
use simdisk::{
    CompletedRequest, DiskCounters, LoadModel, MechanismParams, SECTOR, SimulatedDisk, replay,
};
use sys::fs::plain_file;

use crate::args::cli::GlobalArgs;
use crate::args::disk_args::ReplayArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{line, print, print_json, table};
use crate::paths;
use crate::request_logs::{self, Journal};
use crate::settings::select_campaign;
use crate::settings::validate::reject_duplicates;

/// Name that stands for every disk of the catalog.
const ALL: &str = "all";
/// Maximum memory for the tables of a simulated disk during a replay. Enough for a flash disk of
/// 400 GB.
const MAX_MEMORY: Bytes = Bytes::mib(1024);
/// Maximum size of a journal as CSV, in bytes.
const MAX_JOURNAL_FILE_SIZE: u64 = 1 << 30;
/// Seed of the simulated disk, the same as in a guest.
const SEED: u64 = 1;

/// Replays the journal and reports the time on each disk.
pub fn run(args: &ReplayArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let (journal, name) = journal_of(args, globals)?;
    let disks = disks(args, &catalog)?;
    let kind = if args.open { LoadModel::Open } else { LoadModel::Closed };
    let rows: Vec<(DiskModel, Result<ReplayOutcome, String>)> = disks
        .into_iter()
        .map(|model| {
            let outcome = serve(&journal, &model, kind);
            (model, outcome)
        })
        .collect();
    if globals.json {
        print_json(&in_full(&journal, &rows))?;
    } else {
        print(&text(&name, &journal, &rows, kind))?;
    }
    let served = rows.iter().any(|(_, outcome)| outcome.is_ok());
    let code = if served { ExitReason::Success } else { ExitReason::Environment };
    Ok(code.into())
}

/// Returns the journal and its display name.
fn journal_of(args: &ReplayArgs, globals: &GlobalArgs) -> anyhow::Result<(Journal, String)> {
    let named = args.source.as_deref();
    if let Some(path) = named.filter(|named| select_campaign::is_other_file(named)) {
        if args.cell.is_some() {
            let why = format!("--cell is for campaigns, and {path} is a file: leave it out");
            return Err(UsageError(why).into());
        }
        let bytes = plain_file::read(Path::new(path), MAX_JOURNAL_FILE_SIZE)
            .map_err(|error| UsageError(format!("cannot read {path}: {error}")))?;
        let read = match String::from_utf8(bytes) {
            Ok(text) => Journal::from_csv(&text),
            Err(_) => Err("it is no text".to_owned()),
        };
        let read = read.map_err(|why| {
            let how = "`fsarena disk requests --format csv` writes one";
            UsageError(format!("{path} is no journal: {why}; {how}"))
        })?;
        return Ok((read, line(path)));
    }
    let (results, store) = select_campaign::select(named, globals)?.in_database()?;
    let cell = request_logs::cell(&results, args.cell, None)?;
    let place = &cell.cell;
    let (id, contender, test) = (place.id.0, line(&place.contender), line(&place.test));
    let name = format!("cell {id}, {contender} in {test}");
    Ok((request_logs::load_cell(&store, &results, cell)?, name))
}

fn disks(args: &ReplayArgs, catalog: &Catalog) -> anyhow::Result<Vec<DiskModel>> {
    if args.disk.iter().any(|name| name == ALL) {
        return Ok(catalog.disks().map(|disk| disk.model.clone()).collect());
    }
    reject_duplicates("disk", args.disk.iter())?;
    let named = args.disk.iter().map(|name| Ok(catalog.disk(name)?));
    named.collect()
}

/// Result of a journal on a disk.
struct ReplayOutcome {
    served: Vec<CompletedRequest>,
    counts: DiskCounters,
    /// Time components from the first request to the last.
    work: SimulatedDiskStats,
    /// Whether every request took exactly as long as in the journal.
    is_the_same: bool,
}

fn serve(journal: &Journal, model: &DiskModel, kind: LoadModel) -> Result<ReplayOutcome, String> {
    let mut all = ReplayOutcome {
        served: Vec::new(),
        counts: DiskCounters::default(),
        work: SimulatedDiskStats::default(),
        is_the_same: true,
    };
    let mut entries = Vec::new();
    for recorded in journal.by_disk().into_values() {
        let size = size(journal, &recorded);
        if let Some(holds) = model.capacity().filter(|holds| *holds < size) {
            return Err(format!("holds {holds}, and the journal reaches to {size}"));
        }
        let parameters = MechanismParams::new(model, size, SEED);
        let needed = parameters.memory().map_err(|error| error.to_string())?;
        if needed as u64 > MAX_MEMORY.0 {
            let needed = Bytes(needed as u64);
            return Err(format!(
                "a disk of {size} would take {needed} of memory here, more than {MAX_MEMORY}"
            ));
        }
        let mut disk = SimulatedDisk::new(&parameters).map_err(|error| error.to_string())?;
        let requests: Vec<_> =
            recorded.iter().map(|entry| (entry.served.request, entry.served.completed)).collect();
        let served = replay(&mut disk, &requests, kind).map_err(|error| error.to_string())?;
        let counts = disk.counters();
        all.counts.slots_written += counts.slots_written;
        all.counts.slots_programmed += counts.slots_programmed;
        for (before, now) in recorded.iter().zip(&served) {
            let same = before.served.completed == now.completed && before.served.parts == now.parts;
            all.is_the_same &= same;
            entries.push(LoggedRequest { served: *now, ..*before });
        }
        all.served.extend(served);
    }
    let begin = all.served.iter().map(|s| s.request.arrived).min();
    let end = all.served.iter().map(|s| s.completed).max();
    all.work = request_log::stats_within(
        &entries,
        &[(begin.unwrap_or_default(), end.unwrap_or_default())],
    );
    Ok(all)
}

/// Returns the size of the disk of a journal, or the minimum size that fits its requests.
fn size(journal: &Journal, entries: &[LoggedRequest]) -> Bytes {
    let end = |entry: &LoggedRequest| {
        let request = &entry.served.request;
        request.sector + u64::from(request.sectors)
    };
    let least = entries.iter().map(end).max().unwrap_or(0) * SECTOR;
    // A journal that contains only flushes has no locations.
    let least = Bytes(least.max(1).next_multiple_of(1 << 20));
    journal.disk.as_ref().map_or(least, |(_, size)| *size)
}

impl ReplayOutcome {
    fn took(&self) -> Nanos {
        self.work.times().iter().map(|(_, time)| *time).fold(Nanos(0), |a, b| Nanos(a.0 + b.0))
    }

    fn quantile(&self, share: f64) -> Nanos {
        let mut times: Vec<Nanos> = self.served.iter().map(CompletedRequest::time).collect();
        times.sort_unstable();
        let place = (times.len() as f64 * share).ceil() as usize;
        times.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }
}

const HEAD: [&str; 12] = [
    "disk",
    "took",
    "median",
    "99 %",
    "outside the disk %",
    "seek %",
    "rotation %",
    "transfer %",
    "flash %",
    "flush %",
    "queue %",
    "amplified",
];

fn text(
    name: &str,
    journal: &Journal,
    rows: &[(DiskModel, Result<ReplayOutcome, String>)],
    kind: LoadModel,
) -> String {
    let from = match &journal.disk {
        Some((model, size)) => format!(" of {} ({size})", model.name),
        None => String::new(),
    };
    let outside = journal.entries.iter().filter(|(phase, _)| phase.is_none());
    let outside = outside.count();
    let how = match kind {
        LoadModel::Open => "Each request is sent at its recorded time, even if the disk is slower",
        LoadModel::Closed => {
            "Each request is sent after the requests that it waited for, with the recorded pauses"
        }
    };
    let lines: Vec<[String; 12]> =
        rows.iter().map(|(model, outcome)| row(model, outcome)).collect();
    let mut text = format!(
        "{name}: {} requests{from}, {outside} of them outside of phases (mkfs, mount, preparation).\n{how}.\n\n{}",
        journal.entries.len(),
        table(HEAD, &lines)
    );
    for (model, outcome) in rows {
        if let Err(why) = outcome {
            text += &format!("{}: {why}.\n", model.name);
        }
        let is_own = journal.disk.as_ref().is_some_and(|(own, _)| own == model);
        if let (true, Ok(outcome), LoadModel::Closed) = (is_own, outcome, kind) {
            let name = &model.name;
            text += &match outcome.is_the_same {
                true => format!(
                    "{name}: every request took as long as in the guest, to the nanosecond.\n"
                ),
                false => format!(
                    "{name}: times differ from the guest: the model or the journal has changed.\n"
                ),
            };
        }
    }
    text
}

fn row(model: &DiskModel, outcome: &Result<ReplayOutcome, String>) -> [String; 12] {
    let name = model.name.clone();
    let Ok(outcome) = outcome else {
        let mut row: [String; 12] = Default::default();
        [row[0], row[1]] = [name, "impossible".to_owned()];
        return row;
    };
    let took = outcome.took();
    let share = |time: Nanos| match time.0 {
        0 => "·".to_owned(),
        time => format!("{:.0}", time as f64 / took.0.max(1) as f64 * 100.0),
    };
    let work = &outcome.work;
    let amplified = outcome.counts.write_amplification();
    [
        name,
        took.to_string(),
        outcome.quantile(0.5).to_string(),
        outcome.quantile(0.99).to_string(),
        share(work.outside),
        share(work.seek),
        share(work.rotation),
        share(Nanos(work.command.0 + work.transfer.0)),
        share(Nanos(work.flash.0 + work.collection.0)),
        share(work.flush),
        share(work.waiting),
        amplified.filter(|_| work.flash.0 > 0).map_or("·".to_owned(), |wa| format!("{wa:.2}")),
    ]
}

fn in_full(journal: &Journal, rows: &[(DiskModel, Result<ReplayOutcome, String>)]) -> Value {
    let disks = rows.iter().map(|(model, outcome)| match outcome {
        Err(why) => json!({"disk": model.name, "impossible": why}),
        Ok(outcome) => json!({
            "disk": model.name,
            "took_ns": outcome.took().0,
            "median_ns": outcome.quantile(0.5).0,
            "p99_ns": outcome.quantile(0.99).0,
            "work": outcome.work,
            "counts": outcome.counts,
            "same_as_journal": outcome.is_the_same,
        }),
    });
    json!({"requests": journal.entries.len(), "disks": disks.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_logs::text::tests::journal;

    #[test]
    fn requests_outside_of_phases_are_counted() {
        let told =
            |journal: &Journal| text("cell 3, ext4 in tree", journal, &[], LoadModel::Closed);
        let mut journal = journal();
        let one = "cell 3, ext4 in tree: 3 requests, 1 of them outside of phases (mkfs, mount, preparation).\n";
        assert!(told(&journal).starts_with(one), "{}", told(&journal));
        for (phase, _) in &mut journal.entries {
            *phase = None;
        }
        assert!(told(&journal).contains("3 requests, 3 of them outside of phases"));
    }
}
