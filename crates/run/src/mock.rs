//! An executor without a disk: it plays events that a script gives it, so that scheduling, resuming
//! and reporting can be tested alone.

use model::CellResult;
use wire::{Event, Job};

use crate::{Collector, Ending, Executor, Stopped};

/// Plays, for each job, the events and the ending that a script returns.
pub struct MockExecutor<F>(F);

impl<F: FnMut(&Job) -> (Vec<Event>, Ending)> MockExecutor<F> {
    /// An executor that plays this script.
    pub const fn new(script: F) -> Self {
        Self(script)
    }
}

impl<F: FnMut(&Job) -> (Vec<Event>, Ending)> Executor for MockExecutor<F> {
    fn execute(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        let (events, ending) = (self.0)(job);
        let mut collector = Collector::new(&job.test);
        for event in events {
            observe(&event);
            collector.take(event);
        }
        Ok(collector.finish(ending, Some(Vec::new())))
    }
}
