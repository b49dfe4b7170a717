//! Journals of simulated disks: out of a stored campaign, and as text that reads back.

use std::collections::BTreeMap;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use disk::journal::{self, Entry};
use disk::{Operation, Part, Request, Served};
use model::{
    Bytes, CampaignResults, CellId, CellResult, DiskModel, JournalPart, Nanos, StoredCell,
};
use store::Store;

use crate::output::exit::BadInput;

/// The head of a journal as CSV.
const CSV_HEAD: &str = "arrived_ns,phase,disk,operation,sector,sectors,forced,metadata,depth,time_ns,waiting_ns,\
                        command_ns,seek_ns,rotation_ns,transfer_ns,flash_ns,collection_ns,flush_ns";

/// The requests of a cell, in the order in which they came to a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// Each with its phase; what was done outside of phases has none.
    pub entries: Vec<(Option<String>, Entry)>,
    /// The disk that they went to, where that is known, and its size.
    pub disk: Option<(DiskModel, Bytes)>,
}

/// The cell that is meant: by its number, or the first that has a simulated disk.
///
/// # Errors
/// When there is none.
pub fn cell(results: &CampaignResults, number: Option<u32>) -> Result<&StoredCell, BadInput> {
    let has_disk = |cell: &&StoredCell| {
        let phases = cell.result.iter().flat_map(|result| &result.phases);
        { phases }.any(|phase| phase.disk.is_some())
    };
    match number {
        Some(number) => results.cells.iter().find(|c| c.cell.id == CellId(number)).ok_or_else(|| {
            BadInput(format!("campaign {} has no cell {number}: see `fsarena show {}`", results.id, results.id))
        }),
        None => results.cells.iter().find(has_disk).ok_or_else(|| {
            BadInput(format!(
                "no cell of campaign {} has a simulated disk: `fsarena run --backend vm --disk hdd-2003-7200` has",
                results.id
            ))
        }),
    }
}

/// Everything that a cell asked of its simulated disks.
///
/// # Errors
/// When that was not kept, or is damaged.
pub fn of_cell(
    store: &Store,
    results: &CampaignResults,
    cell: &StoredCell,
) -> anyhow::Result<Journal> {
    let parts = store.journal(store::CampaignId(results.id), cell.cell.id)?;
    if parts.is_empty() {
        let id = cell.cell.id.0;
        return Err(BadInput(format!(
            "cell {id} has no journal: only simulated disks in guests keep one (--backend vm --disk NAME)"
        ))
        .into());
    }
    let mut entries = Vec::new();
    for part in &parts {
        entries.extend(
            unpacked(part)?
                .into_iter()
                .map(|entry| (part.phase.clone(), entry)),
        );
    }
    Ok(Journal {
        entries: in_order(entries),
        disk: disk_of(results, cell),
    })
}

fn unpacked(part: &JournalPart) -> anyhow::Result<Vec<Entry>> {
    let packed = STANDARD
        .decode(&part.packed)
        .context("the journal of the disk is damaged")?;
    Ok(journal::unpack(&packed)?)
}

/// Records come when a request is done; disks are asked in the order in which requests come.
fn in_order(mut entries: Vec<(Option<String>, Entry)>) -> Vec<(Option<String>, Entry)> {
    entries.sort_by_key(|(_, entry)| entry.served.request.arrived);
    entries
}

fn disk_of(results: &CampaignResults, cell: &StoredCell) -> Option<(DiskModel, Bytes)> {
    let campaign = &results.campaign;
    let contender = campaign
        .contenders
        .iter()
        .find(|c| c.name == cell.cell.contender)?;
    let tests = campaign
        .suites
        .iter()
        .filter(|suite| suite.name == cell.cell.suite);
    let test = tests
        .flat_map(|suite| &suite.tests)
        .find(|test| test.name == cell.cell.test)?;
    let machine = campaign.machine_of(contender, test)?;
    let model = machine.model()?.clone();
    let size = machine::simulated_size(&machine, campaign.size);
    let size = machine::disk_size(contender, size, machine.disks, None);
    Some((model, size))
}

impl Journal {
    /// The requests of one phase alone.
    ///
    /// # Errors
    /// When it has none.
    pub fn only(mut self, phase: &str) -> Result<Self, BadInput> {
        let named: std::collections::BTreeSet<String> = self
            .entries
            .iter()
            .filter_map(|(phase, _)| phase.clone())
            .collect();
        self.entries.retain(|(of, _)| of.as_deref() == Some(phase));
        match self.entries.is_empty() {
            false => Ok(self),
            true => Err(BadInput(format!(
                "the disk was asked for nothing in a phase `{phase}`; it was in: {}",
                named.into_iter().collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// The entries of each disk.
    pub fn by_disk(&self) -> BTreeMap<u32, Vec<Entry>> {
        let mut disks: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
        for (_, entry) in &self.entries {
            disks.entry(entry.disk).or_default().push(*entry);
        }
        disks
    }

    /// A line for each request, with the parts of its time.
    pub fn csv(&self) -> String {
        let mut text = format!("{CSV_HEAD}\n");
        for (phase, entry) in &self.entries {
            let Served { request, parts, .. } = entry.served;
            let times: Vec<String> = parts.iter().map(|part| part.0.to_string()).collect();
            text += &format!(
                "{},{},{},{},{},{},{},{},{},{},{}\n",
                request.arrived.0,
                phase.as_deref().unwrap_or_default(),
                entry.disk,
                request.operation.name(),
                request.sector,
                request.sectors,
                u8::from(request.forced),
                u8::from(entry.is_metadata()),
                entry.depth,
                entry.served.time().0,
                times.join(",")
            );
        }
        text
    }

    /// The same as blkparse(1) prints it: a line when a request goes to the disk (D) and one when it is done (C).
    pub fn blkparse(&self) -> String {
        let mut events: Vec<(Nanos, char, &Entry)> = Vec::new();
        for (_, entry) in &self.entries {
            events.push((entry.served.request.arrived, 'D', entry));
            events.push((entry.served.completed, 'C', entry));
        }
        events.sort_by_key(|(time, action, _)| (*time, *action));
        let begin = events.first().map_or(0, |(time, ..)| time.0);
        let mut text = String::new();
        for (number, (time, action, entry)) in (1..).zip(events) {
            let since = time.0 - begin;
            let request = &entry.served.request;
            let place = match request.operation {
                Operation::Flush => String::new(),
                _ => format!("{} + {} ", request.sector, request.sectors),
            };
            text += &format!(
                "{:>3},{:<3} {:>2} {number:>8} {:>5}.{:09} {:>5} {action:>2} {:>3} {place}[fsarena]\n",
                0,
                entry.disk,
                0,
                since / 1_000_000_000,
                since % 1_000_000_000,
                0,
                kind(entry)
            );
        }
        text
    }

    /// Reads what [`Journal::csv`] wrote.
    ///
    /// # Errors
    /// When it is something else; the error names the line.
    pub fn of_csv(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(CSV_HEAD) {
            return Err("its first line is not that of a journal of fsarena".to_owned());
        }
        let mut entries = Vec::new();
        for (number, line) in (2..).zip(lines) {
            let entry = entry_of(line).ok_or_else(|| format!("line {number} is no request"))?;
            entries.push(entry);
        }
        match entries.is_empty() {
            true => Err("it holds no request".to_owned()),
            false => Ok(Self {
                entries: in_order(entries),
                disk: None,
            }),
        }
    }
}

/// `RWBS` of blkparse(1): what it does, and how.
fn kind(entry: &Entry) -> String {
    let operation = match entry.served.request.operation {
        Operation::Read => "R",
        Operation::Write => "W",
        Operation::Flush => "F",
        Operation::Discard => "D",
    };
    let forced = if entry.served.request.forced { "F" } else { "" };
    let metadata = if entry.is_metadata() { "M" } else { "" };
    format!("{operation}{forced}{metadata}")
}

fn entry_of(line: &str) -> Option<(Option<String>, Entry)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [
        arrived,
        phase,
        disk,
        operation,
        sector,
        sectors,
        forced,
        metadata,
        depth,
        time,
        parts @ ..,
    ] = &fields[..]
    else {
        return None;
    };
    let mut own = [Nanos(0); Part::ALL.len()];
    if parts.len() != own.len() {
        return None;
    }
    for (to, from) in own.iter_mut().zip(parts) {
        *to = Nanos(from.parse().ok()?);
    }
    let arrived: u64 = arrived.parse().ok()?;
    let time: u64 = time.parse().ok()?;
    let operation = Operation::ALL
        .into_iter()
        .find(|o| o.name() == *operation)?;
    let forced = *forced == "1";
    let entry = Entry {
        served: Served {
            request: Request {
                arrived: Nanos(arrived),
                operation,
                sector: sector.parse().ok()?,
                sectors: sectors.parse().ok()?,
                forced,
                tag: 0,
            },
            completed: Nanos(arrived.checked_add(time)?),
            parts: own,
        },
        depth: depth.parse().ok()?,
        flags: Entry::flags(forced, *metadata == "1"),
        disk: disk.parse().ok()?,
    };
    let phase = (!phase.is_empty()).then(|| (*phase).to_owned());
    Some((phase, entry))
}

/// What the disk of a cell did in each phase that was measured: where the time went.
pub fn times(result: &CellResult) -> Vec<[String; 14]> {
    let mut rows = Vec::new();
    for phase in &result.phases {
        let Some(work) = &phase.disk else { continue };
        let all: u64 = work.times().iter().map(|(_, time)| time.0).sum();
        let share = |time: Nanos| match (time.0, all) {
            (0, _) | (_, 0) => "·".to_owned(),
            (time, all) => {
                let percent = time as f64 / all as f64 * 100.0;
                if percent < 0.5 {
                    "<1".to_owned()
                } else {
                    format!("{percent:.0}")
                }
            }
        };
        let of = |part: u64, whole: u64, digits: usize| match whole {
            0 => "·".to_owned(),
            whole => format!("{:.digits$}", part as f64 / whole as f64),
        };
        let metadata = work.metadata.0 * 100;
        rows.push([
            phase.phase.clone(),
            phase.wall.to_string(),
            work.requests.to_string(),
            work.bytes.to_string(),
            of(metadata, work.bytes.0, 0),
            of(work.seeks, work.requests, 2),
            share(work.outside),
            share(work.seek),
            share(work.rotation),
            share(Nanos(work.command.0 + work.transfer.0)),
            share(Nanos(work.flash.0 + work.collection.0)),
            share(work.flush),
            share(work.waiting),
            work.write_amplification()
                .map_or("·".to_owned(), |wa| format!("{wa:.2}")),
        ]);
    }
    rows
}

/// What the columns of [`times`] are called.
pub const TIMES: [&str; 14] = [
    "phase",
    "took",
    "requests",
    "bytes",
    "metadata %",
    "seeks each",
    "outside the disk %",
    "seek %",
    "rotation %",
    "transfer %",
    "flash %",
    "flush %",
    "queue %",
    "amplified",
];

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn journal() -> Journal {
        let entry = |arrived, operation, sector, sectors, forced| Entry {
            served: Served {
                request: Request {
                    arrived: Nanos(arrived),
                    operation,
                    sector,
                    sectors,
                    forced,
                    tag: 0,
                },
                completed: Nanos(arrived + 36),
                parts: [1, 2, 3, 4, 5, 6, 7, 8].map(Nanos),
            },
            depth: 1,
            flags: Entry::flags(forced, sector == 8),
            disk: 0,
        };
        let phase = Some("write".to_owned());
        Journal {
            entries: vec![
                (None, entry(1_000_000_100, Operation::Read, 8, 8, false)),
                (
                    phase.clone(),
                    entry(1_000_000_200, Operation::Write, 16, 8, true),
                ),
                (phase, entry(1_000_000_300, Operation::Flush, 0, 0, false)),
            ],
            disk: None,
        }
    }

    #[test]
    fn a_journal_as_text_reads_back() {
        assert_eq!(Journal::of_csv(&journal().csv()).unwrap(), journal());
        let error = Journal::of_csv(&format!("{CSV_HEAD}\n1,2\n")).unwrap_err();
        assert_eq!(error, "line 2 is no request");
        assert!(Journal::of_csv("a,b\n").is_err());
        assert!(Journal::of_csv(CSV_HEAD).is_err());
        assert_eq!(journal().only("write").unwrap().entries.len(), 2);
        let error = journal().only("read").unwrap_err().0;
        assert!(error.ends_with("it was in: write"), "{error}");
    }

    #[test]
    fn blkparse_would_print_the_same() {
        let expected = "  0,0    0        1     0.000000000     0  D  RM 8 + 8 [fsarena]\n\
                        \x20 0,0    0        2     0.000000036     0  C  RM 8 + 8 [fsarena]\n\
                        \x20 0,0    0        3     0.000000100     0  D  WF 16 + 8 [fsarena]\n\
                        \x20 0,0    0        4     0.000000136     0  C  WF 16 + 8 [fsarena]\n\
                        \x20 0,0    0        5     0.000000200     0  D   F [fsarena]\n\
                        \x20 0,0    0        6     0.000000236     0  C   F [fsarena]\n";
        assert_eq!(journal().blkparse(), expected);
    }
}
