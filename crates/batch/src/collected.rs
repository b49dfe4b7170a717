//! The backend of who collects: cells end with the results that are in the directory.

use std::collections::VecDeque;

use model::{Calibration, Cell, CellId, Environment, Test};
use orchestrate::{Backend, News};
use wire::Stopped;

use crate::{BatchError, Results, State};

/// Results that are there; cells without are left for another session.
pub struct Collected<'a> {
    results: &'a Results<'a>,
    environment: Environment,
    begun: VecDeque<CellId>,
}

impl<'a> Collected<'a> {
    /// Those of a directory.
    pub fn new(results: &'a Results<'a>, environment: &Environment) -> Self {
        Self {
            results,
            environment: environment.clone(),
            begun: VecDeque::new(),
        }
    }
}

impl Backend for Collected<'_> {
    type Error = BatchError;

    fn takes(&self, cell: &Cell) -> bool {
        self.results.state(cell.id) == State::Ready
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

    fn next(&mut self) -> News {
        let cell = self.begun.pop_front();
        let cell = cell.expect("who waits has begun a cell that has not ended");
        ended(self.results, cell).unwrap_or(News::Stopped(cell, Stopped::Interrupted))
    }
}

/// The end of a cell that is ready; nothing where its files are not there any more.
pub fn ended(results: &Results<'_>, cell: CellId) -> Option<News> {
    match results.take(cell) {
        Ok(result) => result.map(|result| News::Ended(cell, Box::new(result))),
        Err(differing) => {
            let reason = differing.to_string();
            Some(News::Stopped(cell, Stopped::Withdrawn(reason)))
        }
    }
}
