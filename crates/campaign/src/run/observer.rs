//! Progress of a running campaign, for users and programs.

use model::wire::CellEvent;
use model::{Bytes, Calibration, Cell, CellResult, Nanos};

/// Progress of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct CampaignProgress {
    /// Cells that have a result.
    pub done: u64,
    /// Cells of the campaign.
    pub total: u64,
    /// About how much time is left.
    pub time_left: Nanos,
    /// Of that, about how much passes until the next cell ends.
    pub next: Nanos,
    /// Bytes written by the campaign, if it writes to a disk of this machine.
    pub written: Option<Bytes>,
}

/// Receives progress. An observer never affects the campaign.
pub trait Observer {
    /// Something that is about no cell.
    fn note(&self, _text: &str) {}
    /// The harness and the raw device are about to be measured.
    fn calibrating(&self) {}
    /// They have been.
    fn calibrated(&self, _calibration: &Calibration) {}
    /// A cell begins.
    fn begin(&self, _cell: &Cell, _position: CampaignProgress) {}
    /// Something happens in a cell.
    fn event(&self, _cell: &Cell, _event: &CellEvent) {}
    /// A cell has its result, and that is stored.
    fn end(&self, _cell: &Cell, _result: &CellResult, _position: CampaignProgress) {}
    /// A cell that ran has no result.
    fn cell_aborted(&self, _cell: &Cell) {}
}

/// Nobody looks.
impl Observer for () {}
