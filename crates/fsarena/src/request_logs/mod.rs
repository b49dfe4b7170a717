//! Journals of simulated disks, read from a stored campaign.

pub mod maps;
pub mod regions;
pub mod text;
pub mod times;

use std::collections::BTreeMap;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use campaign::store::Store;
use model::{Bytes, CampaignResults, CellId, CellRecord, DiskModel, Nanos, RequestLogChunk};
use simdisk::request_log::{self, LoggedRequest};

use crate::output::exit::UsageError;
use crate::output::text::line;

/// The requests of a cell, in the order in which the disk received them.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// Requests with their phase. Requests outside of phases have none.
    pub entries: Vec<(Option<String>, LoggedRequest)>,
    /// The disk that served the requests, if known, and its size.
    pub disk: Option<(DiskModel, Bytes)>,
    /// Start and end of the timed parts of each phase, if known.
    pub timed: BTreeMap<String, Vec<(Nanos, Nanos)>>,
}

/// Selects a cell: by its number, or the first with a simulated disk, in the given phase if
/// possible.
///
/// # Errors
/// Returns an error if no cell matches.
pub fn cell<'a>(
    results: &'a CampaignResults,
    number: Option<u32>,
    phase: Option<&str>,
) -> Result<&'a CellRecord, UsageError> {
    let phases = |cell: &'a CellRecord| {
        let phases = cell.result.iter().flat_map(|result| &result.phases);
        phases.filter(|phase| phase.disk.is_some())
    };
    let has_disk = |cell: &&'a CellRecord| phases(cell).next().is_some();
    let has_phase = |cell: &&'a CellRecord| {
        let is_it = |wanted| phases(cell).any(|phase| phase.phase == wanted);
        phase.is_none_or(is_it)
    };
    match number {
        Some(number) => {
            results.cells.iter().find(|c| c.cell.id == CellId(number)).ok_or_else(|| {
                UsageError(format!(
                    "campaign {} has no cell {number}: see `fsarena show {}`",
                    results.id, results.id
                ))
            })
        }
        None => {
            let in_phase = |cell: &&'a CellRecord| has_disk(cell) && has_phase(cell);
            let found = results.cells.iter().find(in_phase);
            let found = found.or_else(|| results.cells.iter().find(has_disk));
            found.ok_or_else(|| without_disk(results))
        }
    }
}

/// Returns the error if no cell of a campaign has a simulated disk.
fn without_disk(results: &CampaignResults) -> UsageError {
    let id = results.id;
    UsageError(match results.campaign.machines().any(|m| m.model().is_some()) {
        true => format!(
            "no cell of campaign {id} has succeeded yet; see its progress with `fsarena show {id}`"
        ),
        false => format!(
            "no cell of campaign {id} has a simulated disk; `fsarena run --backend vm --disk hdd-2003-7200` runs cells with one"
        ),
    })
}

/// The error for a phase without disk requests.
pub fn unknown_phase_error<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> UsageError {
    UsageError(format!(
        "no disk requests in phase `{}`; phases with requests: {}",
        line(wanted),
        known.collect::<Vec<_>>().join(", ")
    ))
}

/// Reads all requests of a cell to its simulated disks.
///
/// # Errors
/// Returns an error if the journal was not stored or is damaged.
pub fn load_cell(
    store: &Store,
    results: &CampaignResults,
    cell: &CellRecord,
) -> anyhow::Result<Journal> {
    let parts = store.journal(campaign::store::CampaignId(results.id), cell.cell.id)?;
    if parts.is_empty() {
        let id = cell.cell.id.0;
        return Err(UsageError(format!(
            "cell {id} has no journal: only simulated disks in guests keep one (--backend vm --disk NAME)"
        ))
        .into());
    }
    let (mut entries, mut timed) = (Vec::new(), BTreeMap::new());
    for part in &parts {
        if let Some(phase) = part.phase.as_ref().filter(|_| !part.timed.is_empty()) {
            timed.insert(phase.clone(), part.timed.clone());
        }
        entries.extend(unpacked(part)?.into_iter().map(|entry| (part.phase.clone(), entry)));
    }
    Ok(Journal { entries: in_order(entries), disk: disk_of(results, cell), timed })
}

fn unpacked(part: &RequestLogChunk) -> anyhow::Result<Vec<LoggedRequest>> {
    let packed = STANDARD.decode(&part.packed).context("the journal of the disk is damaged")?;
    Ok(request_log::unpack(&packed)?)
}

/// Sorts records by arrival. They are logged when a request completes, but disks get requests in
/// order of arrival.
fn in_order(
    mut entries: Vec<(Option<String>, LoggedRequest)>,
) -> Vec<(Option<String>, LoggedRequest)> {
    entries.sort_by_key(|(_, entry)| entry.served.request.arrived);
    entries
}

fn disk_of(results: &CampaignResults, cell: &CellRecord) -> Option<(DiskModel, Bytes)> {
    let campaign = &results.campaign;
    let contender = campaign.contenders.iter().find(|c| c.name == cell.cell.contender)?;
    let tests = campaign.suites.iter().filter(|suite| suite.name == cell.cell.suite);
    let test = tests.flat_map(|suite| &suite.tests).find(|test| test.name == cell.cell.test)?;
    backend::simulated_disk(campaign, contender, test)
}

impl Journal {
    /// Keeps only the requests of one phase.
    ///
    /// # Errors
    /// Returns an error if the phase has no requests.
    pub fn for_phase(mut self, phase: &str) -> Result<Self, UsageError> {
        let named: std::collections::BTreeSet<String> =
            self.entries.iter().filter_map(|(phase, _)| phase.clone()).collect();
        self.entries.retain(|(of, _)| of.as_deref() == Some(phase));
        self.timed.retain(|of, _| of == phase);
        match self.entries.is_empty() {
            false => Ok(self),
            true => Err(unknown_phase_error(phase, named.iter().map(String::as_str))),
        }
    }

    /// Keeps only the requests of the timed parts, or all requests if the timed parts are unknown.
    pub fn timed_only(mut self) -> Self {
        let spans = self.spans();
        self.entries.retain(|(_, entry)| request_log::completes_within(entry, &spans));
        self
    }

    /// Returns start and end of the timed parts of all phases. If they are unknown, returns the
    /// span from the first to the last request.
    pub fn spans(&self) -> Vec<(Nanos, Nanos)> {
        if !self.timed.is_empty() {
            return self.timed.values().flatten().copied().collect();
        }
        let served = || self.entries.iter().map(|(_, entry)| &entry.served);
        let begin = served().map(|served| served.request.arrived).min();
        let end = served().map(|served| served.completed).max();
        begin.zip(end).into_iter().collect()
    }

    /// Returns the number of sectors of the disk. If it is unknown, returns the end of the highest
    /// requested sector.
    pub fn sectors(&self) -> u64 {
        let requests = self.entries.iter().map(|(_, entry)| &entry.served.request);
        let reached = requests.map(|request| request.sector + u64::from(request.sectors)).max();
        let disk = self.disk.as_ref().map(|(_, size)| size.0 / simdisk::SECTOR);
        disk.or(reached).unwrap_or_default().max(1)
    }

    /// Returns the entries without their phases.
    pub fn entries(&self) -> Vec<LoggedRequest> {
        self.entries.iter().map(|(_, entry)| *entry).collect()
    }

    /// Returns the entries of each disk.
    pub fn by_disk(&self) -> BTreeMap<u32, Vec<LoggedRequest>> {
        let mut disks: BTreeMap<u32, Vec<LoggedRequest>> = BTreeMap::new();
        for (_, entry) in &self.entries {
            disks.entry(entry.disk).or_default().push(*entry);
        }
        disks
    }
}

#[cfg(test)]
mod tests {
    use model::SimulatedDiskStats;

    use super::*;

    /// Creates a campaign in which only these cells have a simulated disk.
    fn with_disks(cells: &[usize]) -> CampaignResults {
        let mut results = stats::fixture::plain();
        for number in cells {
            let result = results.cells[*number].result.as_mut().unwrap();
            for phase in &mut result.phases {
                phase.disk = Some(SimulatedDiskStats::default());
            }
        }
        results
    }

    #[test]
    fn skips_cells_without_a_disk() {
        let mut results = with_disks(&[2, 4]);
        let found = |results: &CampaignResults, number, phase| {
            let found = cell(results, number, phase).map(|stored| stored.cell.id);
            found.map_err(|why| why.0)
        };
        let ids: Vec<CellId> = results.cells.iter().map(|stored| stored.cell.id).collect();
        assert_eq!(found(&results, None, None), Ok(ids[2]));
        // If the first cell lacks the phase, the next one is chosen.
        let phases = &mut results.cells[2].result.as_mut().unwrap().phases;
        phases.retain(|phase| phase.phase != "read");
        assert_eq!(found(&results, None, Some("read")), Ok(ids[4]));
        assert_eq!(found(&results, None, Some("write")), Ok(ids[2]));
        assert_eq!(found(&results, None, Some("none")), Ok(ids[2]), "its phases are named");
        // A cell named by the user is accepted with or without a simulated disk.
        assert_eq!(found(&results, Some(ids[0].0), None), Ok(ids[0]));
        let refused = found(&results, Some(9999), None).unwrap_err();
        assert!(refused.contains("has no cell 9999"), "{refused}");
        let refused = found(&with_disks(&[]), None, None).unwrap_err();
        assert!(refused.contains("has a simulated disk"), "{refused}");
    }
}
