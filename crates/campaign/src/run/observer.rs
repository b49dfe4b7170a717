//! Progress of a running campaign, for users and programs.

use model::wire::CellEvent;
use model::{Bytes, Calibration, Cell, CellResult, Nanos};

/// Progress of a campaign.
#[derive(Clone, Copy, Debug, Default)]
pub struct CampaignProgress {
    /// Number of cells with a result.
    pub done: u64,
    /// Number of cells of the campaign.
    pub total: u64,
    /// Estimated remaining time.
    pub time_left: Nanos,
    /// Whether the remaining time is that of a budget, which may end with unused time.
    pub within_budget: bool,
    /// Estimated time until the next cell ends; part of the remaining time.
    pub next: Nanos,
    /// Bytes written by the campaign, if it writes to a disk of this machine.
    pub written: Option<Bytes>,
}

/// Receives progress. An observer never affects the campaign.
pub trait Observer {
    /// Reports a message that does not concern a cell.
    fn note(&self, _text: &str) {}
    /// Reports that the calibration of harness and raw device starts.
    fn calibrating(&self) {}
    /// Reports that the calibration is complete.
    fn calibrated(&self, _calibration: &Calibration) {}
    /// A cell begins.
    fn begin(&self, _cell: &Cell, _position: CampaignProgress) {}
    /// Reports an event of a running cell.
    fn event(&self, _cell: &Cell, _event: &CellEvent) {}
    /// Reports that the result of a cell was stored.
    fn end(&self, _cell: &Cell, _result: &CellResult, _position: CampaignProgress) {}
    /// Reports that a running cell ended without a result.
    fn cell_aborted(&self, _cell: &Cell) {}
}

/// Nobody looks.
impl Observer for () {}
