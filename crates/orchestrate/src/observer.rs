//! What a person, or a program, may see while a campaign runs.

use model::{Bytes, Calibration, Cell, CellResult, Nanos};
use wire::CellEvent;

/// How far a campaign has come.
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
    /// What the campaign has written, where that is a disk of this machine's.
    pub written: Option<Bytes>,
}

/// Sees what happens; nothing that it does has a part in what comes next.
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
