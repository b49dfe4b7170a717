//! Running cells, their elapsed time, and the remaining time, estimated from stored results.

use std::cmp::Reverse;

use campaign::plan::{ActiveCell, Forecast, PastDurations, ThroughputModel};
use model::{Campaign, CampaignResults, Cell, Nanos};

use crate::watch::state::RunningCell;

/// Inputs of the time estimate in addition to finished cells.
pub struct ForecastContext {
    /// Assumed speed of the machine.
    pub pace: ThroughputModel,
    /// Run times of cells in earlier campaigns.
    pub experience: PastDurations,
    /// Number of cells that run in parallel.
    pub parallel_cells: usize,
}

impl ForecastContext {
    /// Returns the forecast of cell times from the results so far.
    pub fn forecast(&self, results: &CampaignResults) -> Forecast {
        let campaign: &Campaign = &results.campaign;
        let mut forecast = Forecast::new(campaign, self.pace, &self.experience);
        forecast.plan(results.cells.iter().map(|stored| &stored.cell));
        for stored in &results.cells {
            if let Some(result) = &stored.result {
                forecast.record_result(&stored.cell, result);
            }
        }
        forecast
    }

    /// Returns the running cells. They start in plan order, each when another one ends. `session`
    /// is the start of the current session, `now` the current calendar time.
    pub fn running(
        &self,
        results: &CampaignResults,
        session: Nanos,
        now: Nanos,
    ) -> Vec<RunningCell> {
        let waiting = results.cells.iter().filter(|stored| stored.result.is_none());
        let cells: Vec<&Cell> =
            waiting.take(self.parallel_cells).map(|stored| &stored.cell).collect();
        let ends = results.cells.iter().filter_map(|stored| {
            let result = stored.result.as_ref().filter(|result| !result.from_cache)?;
            Some(result.started.0.saturating_add(result.elapsed.0))
        });
        let mut ends: Vec<u64> = ends.collect();
        ends.sort_unstable_by_key(|end| Reverse(*end));
        let last_first = cells.into_iter().rev().zip(0..);
        let running = last_first.map(|(cell, place): (&Cell, usize)| {
            let begun = ends.get(place).copied().unwrap_or(0).max(session.0);
            let elapsed = Nanos(now.0.saturating_sub(begun));
            RunningCell { cell: cell.clone(), elapsed, live: None }
        });
        let mut running: Vec<RunningCell> = running.collect();
        running.reverse();
        running
    }

    /// Estimates the remaining time, which is at least the rest of a budget.
    pub fn time_left(
        &self,
        results: &CampaignResults,
        forecast: &Forecast,
        running: &[RunningCell],
    ) -> Nanos {
        let spent = running.iter().map(|running| running.elapsed.0).max().unwrap_or(0)
            + results.total_cell_time().0;
        let rest = results.campaign.budget.map(|all| Nanos(all.0.saturating_sub(spent)));
        let going = running
            .iter()
            .map(|running| ActiveCell { cell: &running.cell, elapsed: running.elapsed });
        let going: Vec<ActiveCell<'_>> = going.collect();
        let (planned, _) = forecast.time_left(&going, self.parallel_cells as u64);
        planned.max(rest.unwrap_or(Nanos(0)))
    }
}

#[cfg(test)]
mod tests {
    use campaign::run::in_memory;
    use model::Status;

    use super::*;

    fn basis(abreast: usize) -> ForecastContext {
        ForecastContext {
            pace: ThroughputModel::default(),
            experience: PastDurations::default(),
            parallel_cells: abreast,
        }
    }

    /// Returns a campaign with two contenders and three rounds. The first cells ended after the
    /// given seconds each.
    fn campaign(ends: &[u64]) -> CampaignResults {
        let contenders = crate::fixture::campaign().contenders;
        let campaign = in_memory::campaign(contenders, 3);
        let mut results = in_memory::MemorySink::new(&campaign).read().clone();
        for (stored, end) in results.cells.iter_mut().zip(ends) {
            let mut result = in_memory::ok_result(&in_memory::test());
            result.started = Nanos::from_secs(end - 1);
            result.elapsed = Nanos::from_secs(1);
            stored.result = Some(result);
        }
        results
    }

    fn seconds(running: &[RunningCell]) -> Vec<(u32, f64)> {
        let of = |one: &RunningCell| (one.cell.id.0, one.elapsed.as_secs_f64());
        running.iter().map(of).collect()
    }

    #[test]
    fn the_first_cell_without_a_result_runs_since_the_last_one_ended() {
        let results = campaign(&[100, 110]);
        let (session, now) = (Nanos::from_secs(90), Nanos::from_secs(117));
        let running = basis(1).running(&results, session, now);
        assert_eq!(seconds(&running), [(2, 7.0)]);
        let resumed = basis(1).running(&results, Nanos::from_secs(115), now);
        assert_eq!(seconds(&resumed), [(2, 2.0)], "not since the last session");
        let over = basis(1).running(&campaign(&[1, 2, 3, 4, 5, 6]), session, now);
        assert_eq!(over, []);
    }

    #[test]
    fn of_cells_that_run_side_by_side_each_began_when_another_ended() {
        let results = campaign(&[100, 110, 104]);
        let (session, now) = (Nanos::from_secs(90), Nanos::from_secs(120));
        let running = basis(2).running(&results, session, now);
        assert_eq!(seconds(&running), [(3, 16.0), (4, 10.0)]);
    }

    #[test]
    fn remaining_time_follows_finished_cells_and_elapsed_time() {
        let mut results = campaign(&[100, 110]);
        let basis = basis(1);
        let left = |results: &CampaignResults, now| {
            let running = basis.running(results, Nanos(0), Nanos::from_secs(now));
            let forecast = basis.forecast(results);
            basis.time_left(results, &forecast, &running).as_secs_f64()
        };
        let at_first = left(&results, 110);
        assert!((3.5..4.5).contains(&at_first), "{at_first}");
        assert!(left(&results, 111) < at_first);
        for stored in &mut results.cells {
            stored.result = Some(model::CellResult::with_status(Status::Failed));
        }
        assert_eq!(left(&results, 200), 0.0);
        results.campaign.budget = Some(Nanos::from_secs(60));
        assert_eq!(left(&results, 200), 60.0, "nothing has run");
    }
}
