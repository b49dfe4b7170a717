//! The position of a running campaign, and the time left.

use model::Nanos;
use sys::io::clock;

use crate::plan::ActiveCell;
use crate::run::campaign::{CampaignRun, FORECAST_THROTTLE_ABOVE, MIN_FORECAST_INTERVAL};
use crate::run::write_budget::WriteBudget;
use crate::run::{CampaignProgress, CellBackend, ResultSink};

impl<L: ResultSink, B: CellBackend> CampaignRun<'_, L, B> {
    pub(super) fn position(&self) -> CampaignProgress {
        let (planned, next) = self.time_left();
        // Within a budget, further tests are planned when those of the plan have ended.
        let left = self.campaign.budget.map_or(planned, |all| self.left_of(all).max(planned));
        CampaignProgress {
            done: self.finished.len() as u64,
            total: self.plan.len() as u64,
            time_left: left,
            within_budget: self.campaign.budget.is_some(),
            next,
            written: self.written.map(WriteBudget::used),
        }
    }

    /// Estimates the remaining time, and the time until the next cell ends.
    pub(super) fn time_left(&self) -> (Nanos, Nanos) {
        if let Some((estimated, left)) = self.estimated.get()
            && self.running.len() >= FORECAST_THROTTLE_ABOVE
            && clock::since(estimated) < MIN_FORECAST_INTERVAL
        {
            return left;
        }
        // When more cells are submitted than can run, it is unknown which of them are running.
        let known = self.backend.queue_depth() == self.backend.parallel_cells();
        let running = self.running.values().filter(|_| known);
        let going = running.map(|running| ActiveCell {
            cell: &running.cell,
            elapsed: clock::since(running.since),
        });
        let going: Vec<ActiveCell<'_>> = going.collect();
        let abreast = self.backend.parallel_cells() as u64;
        let left = self.forecast.time_left(&going, abreast);
        self.estimated.set(Some((clock::now(), left)));
        left
    }
}
