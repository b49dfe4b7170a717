//! A backend for collecting: cells end with the results from the directory.

use std::collections::VecDeque;

use campaign::run::{CellBackend, CellUpdate};
use model::wire::AbortReason;
use model::{Calibration, Cell, CellId, Environment, Test};

use crate::{BatchError, ResultDirectory, ResultState};

/// A backend that returns the results stored in a plan directory. Cells without a result are left
/// to a later session.
pub struct CollectBackend<'a> {
    results: &'a ResultDirectory<'a>,
    environment: Environment,
    begun: VecDeque<CellId>,
}

impl<'a> CollectBackend<'a> {
    /// Creates the backend from the results of a directory.
    pub fn new(results: &'a ResultDirectory<'a>, environment: &Environment) -> Self {
        Self { results, environment: environment.clone(), begun: VecDeque::new() }
    }
}

impl CellBackend for CollectBackend<'_> {
    type Error = BatchError;

    fn can_run(&self, cell: &Cell) -> bool {
        self.results.state(cell.id) == ResultState::Ready
    }

    fn environment(&mut self) -> Result<Environment, BatchError> {
        Ok(self.environment.clone())
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, BatchError> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, _: &Test) {
        self.begun.push_back(cell.id);
    }

    fn next_update(&mut self) -> CellUpdate {
        let cell = self.begun.pop_front();
        let cell = cell.expect("who waits has begun a cell that has not ended");
        ended(self.results, cell).unwrap_or(CellUpdate::Aborted(cell, AbortReason::Interrupted))
    }
}

/// Returns the outcome of a ready cell, or `None` if its result files have been removed.
pub fn ended(results: &ResultDirectory<'_>, cell: CellId) -> Option<CellUpdate> {
    match results.load(cell) {
        Ok(result) => result.map(|result| CellUpdate::Finished(cell, Box::new(result))),
        Err(differing) => {
            let reason = differing.to_string();
            Some(CellUpdate::Aborted(cell, AbortReason::EnvironmentFault(reason)))
        }
    }
}
