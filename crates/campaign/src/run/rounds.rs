//! Decides whether a campaign has enough rounds and which cells run next within a budget, and
//! formats these decisions. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::{CampaignResults, Cell, Nanos, UseCase};
use stats::{Analysis, OpenTest, StopDecision, StopReason, SuitesByGroup};

/// Next step of a campaign with a budget.
#[derive(Clone, Debug, PartialEq)]
pub enum BudgetStep {
    /// Run these cells: one more round of a test.
    Run(Vec<Cell>),
    /// End: more rounds shrink no bound that is above half the margin.
    Settled,
    /// End: no test that could shrink a bound fits into the remaining time.
    NothingFits,
}

/// Applies the stopping rule to the stored results. Returns `None` if the campaign has none.
pub fn stop(results: &CampaignResults) -> Option<StopDecision> {
    results.campaign.stopping_rule?;
    stats::analyse(results).stop
}

/// Returns true if more cells must run according to the stored results.
pub fn needs_more_rounds(results: &CampaignResults, uses: &[UseCase]) -> bool {
    let has_next = |budget: Nanos| {
        let left = Nanos(budget.0.saturating_sub(results.total_cell_time().0));
        matches!(next(results, uses, left), BudgetStep::Run(_))
    };
    results.campaign.budget.is_some_and(has_next)
        || stop(results).is_some_and(|stop| stop.reason == StopReason::IntervalsWide)
}

/// Returns the next cells within a budget with this time left for cells that run one after another:
/// those of the test with the largest gain per second ([`OpenTest::gain`]). A cell is expected to
/// take as long as the earlier ones of its contender and test took on average.
pub fn next(results: &CampaignResults, uses: &[UseCase], left: Nanos) -> BudgetStep {
    let campaign = &results.campaign;
    let mut open = analyse(results, uses).open_tests();
    let mut rounds: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for Cell { suite, test, round, .. } in results.cells.iter().map(|stored| &stored.cell) {
        let last = rounds.entry((suite, test)).or_default();
        *last = (*round).max(*last);
    }
    let round = |one: &OpenTest| rounds.get(&(&*one.suite, &*one.test)).map_or(1, |last| last + 1);
    let most = crate::plan::max_rounds(campaign);
    open.retain(|one| round(one) <= most);
    if open.is_empty() {
        return BudgetStep::Settled;
    }
    let timed = open.iter().map(|one| (time(results, one), one));
    let fitting = timed.filter(|(time, _)| *time <= left.as_secs_f64());
    let best = fitting.max_by(|(a, one), (b, other)| (one.gain / a).total_cmp(&(other.gain / b)));
    let Some((_, best)) = best else {
        return BudgetStep::NothingFits;
    };
    let names: BTreeSet<&str> =
        best.contenders.iter().map(|one| &*campaign.contenders[*one].name).collect();
    let cells = crate::plan::cells_of_round(campaign, round(best), |cell| {
        (&cell.suite, &cell.test) == (&best.suite, &best.test) && names.contains(&*cell.contender)
    });
    BudgetStep::Run(cells)
}

fn analyse(results: &CampaignResults, uses: &[UseCase]) -> Analysis {
    let mut analysis = stats::analyse(results);
    analysis.score_use_cases(uses, &SuitesByGroup::default());
    analysis
}

/// Returns the expected seconds of one more round of a test.
fn time(results: &CampaignResults, test: &OpenTest) -> f64 {
    let of_contender = |contender: &usize| {
        let name = &results.campaign.contenders[*contender].name;
        let cells = results.cells.iter().filter(|stored| {
            let cell = &stored.cell;
            (&cell.contender, &cell.suite, &cell.test) == (name, &test.suite, &test.test)
        });
        let times = cells.filter_map(|stored| Some(stored.result.as_ref()?.elapsed.as_secs_f64()));
        let (sum, count) = times.fold((0.0, 0.0), |(sum, count), time| (sum + time, count + 1.0));
        sum / f64::max(count, 1.0)
    };
    test.contenders.iter().map(of_contender).sum()
}

/// Formats the decision as one line.
pub fn stop_message(stop: &StopDecision) -> String {
    // Round to a thousandth of a per cent, which is finer than any filesystem result needs.
    let width = (stop.until.width * 1e5).round() / 1e3;
    let wide = format!(
        "after {}, {} of {} results are wider than ±{width} % or not known yet",
        match stop.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        },
        stop.wide.len(),
        stop.counted,
    );
    match stop.reason {
        StopReason::IntervalsNarrow => format!("{wide}: that is enough"),
        StopReason::MaxRounds => format!("{wide}, and there are as many rounds as may be"),
        StopReason::MaxTime => format!("{wide}, and the time for further rounds is used up"),
        StopReason::Running | StopReason::IntervalsWide => format!("{wide}: one more round"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::StoppingRule;

    fn with(reason: StopReason) -> String {
        stop_message(&StopDecision {
            until: StoppingRule { width: 0.05, share: 1.0, max_rounds: 20, max_time: None },
            reason,
            rounds: 6,
            counted: 24,
            wide: Vec::new(),
        })
    }

    #[test]
    fn each_reason_has_its_words() {
        let start = "after 6 rounds, 0 of 24 results are wider than ±5 % or not known yet";
        assert_eq!(with(StopReason::IntervalsNarrow), format!("{start}: that is enough"));
        assert_eq!(with(StopReason::IntervalsWide), format!("{start}: one more round"));
        let most = with(StopReason::MaxRounds);
        assert_eq!(most, format!("{start}, and there are as many rounds as may be"));
        let late = with(StopReason::MaxTime);
        assert_eq!(late, format!("{start}, and the time for further rounds is used up"));
    }
}
