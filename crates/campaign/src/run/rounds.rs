//! Decides whether a campaign has enough rounds, and formats that decision. Pure.

use std::collections::BTreeSet;

use model::{CampaignResults, Cell, UseCase};
use stats::{StopDecision, StopReason, UnresolvedPair};

/// Applies the stopping rule to the stored results. Returns `None` if the campaign has none.
pub fn stop(results: &CampaignResults) -> Option<StopDecision> {
    results.campaign.stopping_rule?;
    stats::analyse(results).stop
}

/// Returns true if another round must run according to the stored results.
pub fn needs_more_rounds(results: &CampaignResults, uses: &[UseCase]) -> bool {
    let has_time =
        |budget| results.total_cell_time() < budget && !unresolved_pairs(results, uses).is_empty();
    results.campaign.budget.is_some_and(has_time)
        || stop(results).is_some_and(|stop| stop.reason == StopReason::IntervalsWide)
}

/// Returns the pairs that could settle an open answer of a test category or use case.
pub fn unresolved_pairs(results: &CampaignResults, uses: &[UseCase]) -> BTreeSet<UnresolvedPair> {
    let mut analysis = stats::analyse(results);
    analysis.score_use_cases(uses, &stats::SuitesByGroup::default());
    analysis.unresolved_pairs()
}

/// Returns the cells of the next round that could settle an open answer, grouped by test.
pub fn next(results: &CampaignResults, uses: &[UseCase]) -> Vec<Vec<Cell>> {
    let campaign = &results.campaign;
    if campaign.rounds >= crate::plan::max_rounds(campaign) {
        return Vec::new();
    }
    let open = unresolved_pairs(results, uses);
    let contenders = &campaign.contenders;
    let number = |cell: &Cell| contenders.iter().position(|c| c.name == cell.contender);
    crate::plan::cells_of_round(campaign, campaign.rounds + 1, |cell| {
        let test = (cell.suite.clone(), cell.test.clone());
        number(cell).is_some_and(|contender| open.contains(&(contender, test)))
    })
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

/// Formats the open answers after `rounds` rounds as one line.
pub fn unresolved_message(rounds: u32, blocks: &[Vec<Cell>]) -> String {
    let after = match rounds {
        1 => "after 1 round".to_owned(),
        rounds => format!("after {rounds} rounds"),
    };
    if blocks.is_empty() {
        return format!("{after} every answer is settled, or cannot be settled by more rounds");
    }
    let cells = || blocks.iter().flatten();
    let contenders: BTreeSet<&str> = cells().map(|cell| cell.contender.as_str()).collect();
    let tests = match blocks.len() {
        1 => "1 test".to_owned(),
        tests => format!("{tests} tests"),
    };
    let contenders = contenders.len();
    format!(
        "{after} answers are open between {contenders} contenders in {tests}: running another round of these"
    )
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
