//! Cells in addition to the plan: rounds that a stopping rule, a budget or the user wants, and tests
//! that do not fit into a budget.

use std::collections::VecDeque;

use model::{Cell, Nanos};
use stats::StopReason;
use sys::io::clock;

use crate::run::campaign::{CampaignRun, Outcome};
use crate::run::rounds::{self, BudgetStep};
use crate::run::{CampaignError, CellBackend, ResultSink};

impl<L: ResultSink, B: CellBackend> CampaignRun<'_, L, B> {
    /// Plans and stores the rounds that the campaign got in addition.
    pub(super) fn plan_further_rounds(&mut self, planned_rounds: u32) -> Outcome<(), L, B> {
        if self.campaign.budget.is_some() {
            return Ok(());
        }
        for round in planned_rounds + 1..=self.campaign.rounds {
            let planned = u32::try_from(self.plan.len()).unwrap_or(u32::MAX);
            self.add(crate::plan::further_round(&self.campaign, round, planned))?;
        }
        Ok(())
    }

    pub(super) fn further_cells(&mut self) -> Outcome<bool, L, B> {
        match self.campaign.budget {
            Some(budget) => self.cells_within(budget),
            None => self.further_round(),
        }
    }

    /// Removes the tests at the front that exceed the remaining budget and have no started cells.
    /// The first test of a campaign runs regardless of its duration.
    pub(super) fn leave_out_what_does_not_fit(&mut self, waiting: &mut VecDeque<Cell>) {
        let Some(budget) = self.campaign.budget else {
            return;
        };
        while let Some(first) = waiting.front() {
            let is_of_it = |cell: &&Cell| (&cell.suite, &cell.test) == (&first.suite, &first.test);
            let block: Vec<Cell> = waiting.iter().take_while(is_of_it).cloned().collect();
            let running = self.running.values().map(|running| &running.cell);
            let finished = self.plan.iter().filter(|c| self.finished.contains(&c.id));
            let mut begun = running.chain(finished).peekable();
            if begun.peek().is_none() || begun.any(|cell| is_of_it(&cell)) {
                return;
            }
            if self.time_of(&block) <= self.left_of(budget) {
                return;
            }
            waiting.drain(..block.len());
            let test = (block[0].suite.clone(), block[0].test.clone());
            if self.left_out.insert(test) {
                self.observer.note(&format!(
                    "{} does not fit into the remaining budget and is skipped",
                    block[0].test
                ));
            }
        }
    }

    /// Estimates the duration of these cells when the backend runs them in parallel.
    fn time_of(&self, cells: &[Cell]) -> Nanos {
        let abreast = (self.backend.parallel_cells() as u64).max(1);
        Nanos(self.forecast.total_time(cells).0 / abreast)
    }

    /// Warns if the first round would exceed the budget.
    pub(super) fn warn_of_budget(&self) {
        let Some(budget) = self.campaign.budget else {
            return;
        };
        let (left, _) = self.time_left();
        if self.finished.is_empty() && left > self.left_of(budget) {
            self.observer.note(&format!(
                "one round of all tests takes about {left}, longer than the budget of {budget}: tests that do not fit are skipped; use a longer budget, or fewer contenders or suites (-c, -s), to run all of them"
            ));
        }
    }

    /// Returns the unused part of a budget.
    pub(super) fn left_of(&self, budget: Nanos) -> Nanos {
        let spent = self.earlier.0.saturating_add(clock::since(self.begun).0);
        Nanos(budget.0.saturating_sub(spent))
    }

    /// Plans and stores the next cells that shrink the bounds of answers most and fit into the
    /// budget. Returns false if no cells qualify.
    ///
    /// The choice depends only on stored results and on the remaining time.
    fn cells_within(&mut self, budget: Nanos) -> Outcome<bool, L, B> {
        let results = self.ledger.load().map_err(CampaignError::Ledger)?;
        let abreast = (self.backend.parallel_cells() as u64).max(1);
        let left = Nanos(self.left_of(budget).0.saturating_mul(abreast));
        match rounds::next(&results, self.uses, left) {
            BudgetStep::Run(cells) => {
                let planned = u32::try_from(self.plan.len()).unwrap_or(u32::MAX);
                self.add(crate::plan::renumber_after(planned, cells))?;
                return Ok(true);
            }
            BudgetStep::Settled => self.observer.note(
                "no further round: each answer is close enough, or more rounds cannot narrow it",
            ),
            BudgetStep::NothingFits => self
                .observer
                .note("the budget is spent: no further test that could narrow an answer fits"),
        }
        Ok(false)
    }

    /// Appends cells to the plan and stores them.
    fn add(&mut self, cells: Vec<Cell>) -> Outcome<(), L, B> {
        self.ledger.extend_plan(&cells).map_err(CampaignError::Ledger)?;
        if let Some(written) = self.written.as_mut() {
            written.reserve(self.writes.total(&cells));
        }
        self.forecast.plan(&cells);
        self.plan.extend(cells);
        Ok(())
    }

    /// Plans and stores one more round if the stopping rule requires it. Returns false if there are
    /// enough rounds.
    ///
    /// The decision depends only on stored results, so it is the same after a kill.
    fn further_round(&mut self) -> Outcome<bool, L, B> {
        if self.campaign.stopping_rule.is_none() {
            return Ok(false);
        }
        let results = self.ledger.load().map_err(CampaignError::Ledger)?;
        let Some(stop) = rounds::stop(&results) else {
            return Ok(false);
        };
        self.observer.note(&rounds::stop_message(&stop));
        if stop.reason != StopReason::IntervalsWide {
            return Ok(false);
        }
        let planned = u32::try_from(results.cells.len()).unwrap_or(u32::MAX);
        let cells =
            crate::plan::further_round(&self.campaign, results.campaign.rounds + 1, planned);
        self.add(cells)?;
        Ok(true)
    }
}
