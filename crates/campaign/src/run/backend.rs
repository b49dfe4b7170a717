//! The interface to the machines that run cells.

use model::wire::{AbortReason, CellEvent};
use model::{Calibration, Cell, CellId, CellResult, Environment, Test};

/// Runs cells: on the kernel of this machine, in guests, on other hosts, or only in memory.
pub trait CellBackend {
    /// Errors that are not results of a cell.
    type Error: std::error::Error;

    /// Returns the maximum number of cells that run in parallel.
    fn parallel_cells(&self) -> usize {
        1
    }

    /// Returns the maximum number of cells submitted at a time, including cells that wait for a
    /// free slot.
    fn queue_depth(&self) -> usize {
        self.parallel_cells()
    }

    /// Returns true if the backend can run this cell in this session. Other cells are left for
    /// another host.
    fn can_run(&self, _cell: &Cell) -> bool {
        true
    }

    /// Returns the environment of the cells, for the record.
    ///
    /// # Errors
    /// Returns an error if the environment cannot be determined.
    fn environment(&mut self) -> Result<Environment, Self::Error>;

    /// Measures the harness overhead and the raw device before the first cell. Returns `None` if
    /// the measurement would not apply to the cells, or if the user interrupted it.
    ///
    /// # Errors
    /// Returns an error if the measurement fails.
    fn calibrate(&mut self) -> Result<Option<Calibration>, Self::Error>;

    /// Starts a cell. [`Self::next_update`] reports its outcome.
    fn start(&mut self, cell: &Cell, test: &Test);

    /// Waits for the next update of the started cells. Each cell has exactly one final update, even
    /// after an interrupt.
    fn next_update(&mut self) -> CellUpdate;
}

/// An update of the running cells.
#[derive(Debug)]
pub enum CellUpdate {
    /// An event of a running cell.
    Event(CellId, CellEvent),
    /// A cell finished with a result.
    Finished(CellId, Box<CellResult>),
    /// A cell ended without a result.
    Aborted(CellId, AbortReason),
    /// The outcome of a cell is unknown: the connection to its machine was lost, and all its
    /// processes there have ended.
    ConnectionLost(CellId, String),
    /// A message to the user that does not concern a cell.
    Note(String),
}
