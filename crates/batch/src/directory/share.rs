//! The ledger of a worker, whose results are files in the plan directory.

use std::collections::BTreeMap;

use campaign::run::ResultSink;
use model::{
    Calibration, Campaign, CampaignResults, Cell, CellId, CellRecord, CellResult, Environment,
    Status, ToolVersion,
};

use crate::directory::result_file::{self, ResultFile};
use crate::{Batch, BatchEntry, BatchError, RunKind};

/// Step at which a cell fails if the host could not provide its resources.
const PROVISION: &str = "provision";

/// Entries of a plan directory for one host to run. Entries with a valid result are excluded.
pub struct WorkerShare<'a> {
    batch: &'a Batch,
    campaign: Campaign,
    entries: Vec<BatchEntry>,
    /// Index of each cell in `entries`.
    places: BTreeMap<CellId, usize>,
    host: &'a str,
    send: Option<&'a dyn Fn(&str)>,
}

impl<'a> WorkerShare<'a> {
    /// Creates a ledger of the entries that still have to run, and returns separately those whose
    /// other run was on this host. `campaign` is the planned campaign with the paths of this host.
    pub fn new(
        batch: &'a Batch,
        campaign: &Campaign,
        entries: Vec<BatchEntry>,
        host: &'a str,
    ) -> (Self, Vec<BatchEntry>) {
        let left = entries.into_iter().filter(|entry| !result_file::is_done(batch, entry));
        let (elsewhere, entries): (Vec<BatchEntry>, Vec<BatchEntry>) = left.partition(|entry| {
            let other = match entry.half {
                RunKind::First => RunKind::Verification,
                RunKind::Verification => RunKind::First,
            };
            let other = ResultFile::load(batch, entry, other);
            other.is_some_and(|other| other.host == host)
        });
        let share = Self {
            batch,
            campaign: campaign.clone(),
            places: entries.iter().map(BatchEntry::id).zip(0..).collect(),
            entries,
            host,
            send: None,
        };
        (share, elsewhere)
    }

    /// Creates a ledger of all these entries for a host that does not share the directory. Each
    /// result is sent in its file format instead of being stored.
    pub fn over_connection(
        batch: &'a Batch,
        campaign: &Campaign,
        entries: Vec<BatchEntry>,
        host: &'a str,
        send: &'a dyn Fn(&str),
    ) -> Self {
        Self {
            batch,
            campaign: campaign.clone(),
            places: entries.iter().map(BatchEntry::id).zip(0..).collect(),
            entries,
            host,
            send: Some(send),
        }
    }

    /// Returns the number of entries to run.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the kind of the entries if all have the same kind.
    pub fn run_kind(&self) -> Option<RunKind> {
        let half = self.entries.first()?.half;
        self.entries.iter().all(|entry| entry.half == half).then_some(half)
    }

    /// Returns true if no entries have to run.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl ResultSink for WorkerShare<'_> {
    type Error = BatchError;

    fn load(&self) -> Result<CampaignResults, BatchError> {
        let cell = |entry: &BatchEntry| CellRecord { cell: entry.cell.clone(), result: None };
        Ok(CampaignResults {
            id: 0,
            started: self.batch.plan().planned,
            campaign: self.campaign.clone(),
            environments: Vec::new(),
            calibration: None,
            cells: self.entries.iter().map(cell).collect(),
        })
    }

    /// Requires the planned emulator, because another version gives different results.
    fn begin_session(&mut self, environment: &Environment) -> Result<(), BatchError> {
        let planned = &self.batch.plan().environment.tools;
        if environment.tools == *planned {
            return Ok(());
        }
        Err(BatchError::ToolMismatch {
            host: self.host.to_owned(),
            here: words(&environment.tools),
            planned: words(planned),
        })
    }

    /// Results do not depend on the calibration of this host.
    fn calibrate(&mut self, _: &Calibration) -> Result<(), BatchError> {
        Ok(())
    }

    /// A campaign with a fixed number of rounds gets no further cells.
    fn extend_plan(&mut self, _: &[Cell]) -> Result<(), BatchError> {
        Ok(())
    }

    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), BatchError> {
        let place = self.places.get(&cell.id);
        let entry = place.map(|place| &self.entries[*place]);
        let entry = entry.filter(|entry| entry.cell == *cell);
        let entry = entry.ok_or_else(|| BatchError::Damaged {
            path: self.batch.path().to_owned(),
            what: format!("cell {} is not an entry of this worker", cell.id.0),
        })?;
        // A contender that does not fit is unsupported on every host.
        let failure = result.failure.as_ref().filter(|f| f.step == PROVISION);
        if let Some(failure) = failure.filter(|_| result.status != Status::Unsupported) {
            return Err(BatchError::NotRun {
                cell: name(cell),
                host: self.host.to_owned(),
                reason: failure.reason.clone(),
            });
        }
        let file = ResultFile {
            plan: self.batch.plan_id().clone(),
            cell: entry.name.clone(),
            half: entry.half,
            host: self.host.to_owned(),
            result: result.clone(),
        };
        if let Some(send) = self.send {
            send(&file.text(self.batch.key()));
            return Ok(());
        }
        Ok(file.keep(self.batch, entry)?)
    }
}

/// Formats a cell as readable text.
pub fn name(cell: &Cell) -> String {
    format!("{} × {}, round {}", cell.contender, cell.test, cell.round)
}

fn words(tools: &[ToolVersion]) -> String {
    match tools {
        [] => "no QEMU".to_owned(),
        tools => {
            let versions: Vec<&str> = tools.iter().map(|tool| &*tool.version).collect();
            versions.join(", ")
        }
    }
}
