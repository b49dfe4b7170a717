//! Where cells run, as far as a campaign has to know.

use model::{Calibration, Cell, CellId, CellResult, Environment, Test};
use wire::{AbortReason, CellEvent};

/// A way to run cells: on this machine's kernel, in guests, on another host, or in memory alone.
pub trait CellBackend {
    /// What can go wrong beside the cells.
    type Error: std::error::Error;

    /// How many cells may run side by side.
    fn parallel_cells(&self) -> usize {
        1
    }

    /// How many cells may be handed over at once: those that cannot run yet wait there.
    fn queue_depth(&self) -> usize {
        self.parallel_cells()
    }

    /// Whether it can run this cell in this session; what it cannot is left for another.
    fn can_run(&self, _cell: &Cell) -> bool {
        true
    }

    /// What the cells run on, for the record.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn environment(&mut self) -> Result<Environment, Self::Error>;

    /// Measures, before the first cell, the harness overhead and the raw device; nothing where that would say nothing
    /// of what cells run on, and where the user asked to stop meanwhile.
    ///
    /// # Errors
    /// When it cannot be measured.
    fn calibrate(&mut self) -> Result<Option<Calibration>, Self::Error>;

    /// Begins a cell. Whatever becomes of it is told by [`Backend::next`].
    fn start(&mut self, cell: &Cell, test: &Test);

    /// Waits for the next news of the cells that were started. Each of them comes to exactly one end, also after the
    /// user asked to stop.
    fn next_update(&mut self) -> CellUpdate;
}

/// What is heard of the cells that run.
#[derive(Debug)]
pub enum CellUpdate {
    /// Something happens in a cell.
    Event(CellId, CellEvent),
    /// A cell has its result.
    Finished(CellId, Box<CellResult>),
    /// A cell has none.
    Aborted(CellId, AbortReason),
    /// Nobody knows what became of a cell: the connection to its machine was lost, and all that it had started
    /// there has ended.
    ConnectionLost(CellId, String),
    /// Something for the user that is about no cell.
    Note(String),
}
