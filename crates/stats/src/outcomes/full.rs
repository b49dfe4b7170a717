//! Behaviour of each contender when it is full.

use std::cmp::Reverse;

use model::{CampaignResults, CellResult, FullResult, FullStep, Op, Status};

/// Behaviour of a contender in a phase that fills it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullRecord {
    /// Name of the contender.
    pub contender: String,
    /// Name of the phase.
    pub phase: String,
    /// The worst round, or the reason that no round has a result.
    pub outcome: Result<FullResult, String>,
}

/// Returns the record of each contender and phase that fills it, contenders first.
pub fn full(results: &CampaignResults) -> Vec<FullRecord> {
    let tests = || results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let phases = || {
        tests().flat_map(|test| {
            let fills = test.phases.iter().filter(|phase| matches!(phase.op, Op::Fill(_)));
            fills.map(move |phase| (test.name.as_str(), phase.name.as_str()))
        })
    };
    let contenders = results.campaign.contenders.iter();
    let records = contenders.flat_map(|contender| {
        phases().filter_map(|(test, phase)| {
            let cells = results.cells.iter().filter(|stored| {
                stored.cell.contender == contender.name && stored.cell.test == test
            });
            let cells = cells.filter_map(|stored| stored.result.as_ref());
            let outcome = worst(cells.filter_map(|cell| outcome(phase, cell)))?;
            Some(FullRecord { contender: contender.name.clone(), phase: phase.to_owned(), outcome })
        })
    });
    records.collect()
}

/// Returns the result of a cell in a phase, or the reason that it has none.
fn outcome(phase: &str, cell: &CellResult) -> Option<Result<FullResult, String>> {
    let result = cell.phases.iter().find(|result| result.phase == phase)?;
    Some(match (result.status, &result.full) {
        (Status::Ok, Some(full)) => Ok(full.clone()),
        _ => {
            let failure = result.failure.as_ref().or(cell.failure.as_ref());
            Err(failure.map_or_else(String::new, |failure| failure.reason.clone()))
        }
    })
}

fn worst(
    rounds: impl Iterator<Item = Result<FullResult, String>>,
) -> Option<Result<FullResult, String>> {
    rounds.min_by_key(|round| match round {
        Ok(full) => (false, Reverse(full.lost()), Reverse(failed(full))),
        Err(_) => (true, Reverse(0), Reverse(0)),
    })
}

/// Returns the number of steps that failed.
fn failed(full: &FullResult) -> usize {
    let steps = [&full.replace, &full.remount, &full.check, &full.remove, &full.write_again];
    steps.into_iter().flatten().filter(|step| FullStep::has_failed(step)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_round_counts_and_a_reason_only_without_results() {
        let refused = FullStep::Failed { reason: "no".into(), error: None };
        let whole = FullResult { files: 9, ..FullResult::default() };
        let stuck = FullResult { remove: Some(refused), ..whole.clone() };
        let lossy = FullResult { lost_when_full: 1, ..whole.clone() };
        let reason = || Err("failed".to_owned());
        let rounds = [Ok(whole.clone()), reason(), Ok(stuck.clone())];
        assert_eq!(worst(rounds.into_iter()), Some(Ok(stuck.clone())));
        assert_eq!(worst([Ok(stuck), Ok(lossy.clone())].into_iter()), Some(Ok(lossy)));
        assert_eq!(worst([reason()].into_iter()), Some(reason()));
    }
}
