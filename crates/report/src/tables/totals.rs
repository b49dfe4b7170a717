//! Totals over the steps of tests, as a table like the overview's: the counted value, and every
//! attempt below it.

use model::{CampaignResults, Unit};
use stats::{Analysis, Attempt, RoundOutcome, Total};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{LOWER_BOUND, NOT_DURABLE, PhaseLine, TestBlock};
use crate::text::sanitize::sanitize_line;

/// Title of the table.
pub(crate) const TITLE: &str = "Time of each step";
/// Explanation of the table.
pub(crate) const NOTE: &str = "Several phases can be one step; the time is that of one pass. A total is the median over its rounds, which are listed below it. It is invalid if a step failed in one of them: a sum over fewer steps would be a smaller number for less work. ‡: some of its syncs never reach the disk, so it does less work than the others.";

/// Maximum number of attempts shown. JSON contains all of them.
const MAX_ATTEMPTS: u32 = 10;

/// The steps that are listed above a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepFilter {
    /// Every one.
    All,
    /// All steps of tests with a step of several phases, and no steps of other tests. Their phases
    /// are enough.
    OfGroups,
}

/// The attempts that are listed below a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptFilter {
    /// Every one.
    All,
    /// All attempts of tests with an attempt that is invalid or does not count, and no attempts of
    /// other tests. On a terminal, the median and its sum of steps are enough.
    OfBroken,
}

/// Returns one block for each test with several steps: its steps, its total and its attempts.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
    steps: StepFilter,
    attempts: AttemptFilter,
) -> Vec<TestBlock<'a>> {
    let tests = || results.campaign.suites.iter().flat_map(|s| &s.tests);
    let totals = analysis.totals.iter();
    // A total over one step would repeat that step.
    let totals = totals.filter(|total| total.steps.len() > 1);
    let blocks = totals.filter_map(|total| {
        let is_it = |test: &model::Test| test.suite == total.suite && test.name == total.test;
        let number = tests().position(is_it)?;
        let test = tests().nth(number)?;
        let has_groups = || test.phases.iter().any(|p| !p.is_preparation() && p.step() != p.name);
        let mut lines = Vec::new();
        if steps == StepFilter::All || has_groups() {
            lines.extend(step_lines(total));
        }
        lines.extend(total_lines(total, analysis, attempts));
        Some(TestBlock {
            test,
            number: Some(number),
            name: sanitize_line(&total.test),
            title: format!("{} steps, one after the other", total.steps.len()),
            lines,
        })
    });
    blocks.collect()
}

/// Returns the line of a total and those of its attempts.
fn total_lines<'a>(total: &Total, analysis: &Analysis, shown: AttemptFilter) -> Vec<PhaseLine<'a>> {
    let attempts = || total.contenders.iter().flat_map(|of| &of.attempts);
    let scale = UnitScale::for_values(Unit::Seconds, attempts().filter_map(|a| a.seconds));
    let line = |label: String, entries: Vec<TableCell>| PhaseLine {
        row: None,
        label,
        rule: None,
        unit: format!("{} ↓", scale.symbol()),
        entries,
    };
    let sums = total.contenders.iter().zip(&analysis.contenders);
    let sums = sums.map(|(of, contender)| {
        let median = of.estimate.map(|estimate| estimate.median);
        let mut sum = entry(median, of.outcome, of.is_lower_bound(), &scale);
        if median.is_some() && !is_durable(contender, total, analysis) {
            sum.signs.push(NOT_DURABLE);
        }
        sum
    });
    let mut lines = vec![line("total".to_owned(), sums.collect())];
    let is_broken = |attempt: &Attempt| attempt.outcome == RoundOutcome::Invalid || !attempt.counts;
    if shown == AttemptFilter::OfBroken && !attempts().any(is_broken) {
        return lines;
    }
    let rounds = attempts().map(|attempt| attempt.round).max().unwrap_or(0);
    for round in 1..=rounds.min(MAX_ATTEMPTS) {
        let of = |counts: bool| {
            let attempts = total.contenders.iter().map(move |of| {
                let mut attempts = of.attempts.iter();
                attempts.find(|a| a.round == round && a.counts == counts)
            });
            attempts.collect::<Vec<_>>()
        };
        if of(false).iter().any(Option::is_some) {
            let label = format!("round {round}, disturbed");
            lines.push(line(label, entries(&of(false), &scale)));
        }
        lines.push(line(format!("round {round}"), entries(&of(true), &scale)));
    }
    lines
}

/// Returns a line for each step with its seconds, scaled for the line.
fn step_lines<'a>(total: &Total) -> impl Iterator<Item = PhaseLine<'a>> {
    total.steps.iter().enumerate().map(|(place, step)| {
        let times = total.contenders.iter().map(|of| {
            let step = of.steps.get(place)?;
            Some((step.estimate?.median, step.time_limited))
        });
        let times: Vec<Option<(f64, bool)>> = times.collect();
        let seconds = times.iter().flatten().map(|(seconds, _)| *seconds);
        let scale = UnitScale::for_values(Unit::Seconds, seconds);
        let entry = |time: &Option<(f64, bool)>| match *time {
            Some((seconds, limited)) => entry(Some(seconds), RoundOutcome::Ok, limited, &scale),
            None => none(),
        };
        PhaseLine {
            row: None,
            label: sanitize_line(step),
            rule: None,
            unit: format!("{} ↓", scale.symbol()),
            entries: times.iter().map(entry).collect(),
        }
    })
}

/// Returns true if every sync of a contender within the steps is known to reach the disk.
fn is_durable(contender: &str, total: &Total, analysis: &Analysis) -> bool {
    let rows = analysis.rows.iter();
    let steps = rows.filter(|row| row.test == total.test && row.suite == total.suite);
    let mut results = steps.flat_map(|row| &row.results);
    !results.any(|result| result.contender == contender && result.not_durable)
}

fn entries(attempts: &[Option<&Attempt>], scale: &UnitScale) -> Vec<TableCell> {
    let shown = |attempt: &Option<&Attempt>| match attempt {
        Some(a) => entry(a.seconds, a.outcome, a.time_limited, scale),
        None => none(),
    };
    attempts.iter().map(shown).collect()
}

fn none() -> TableCell {
    TableCell { text: "none".to_owned(), signs: String::new(), tone: Style::Missing }
}

fn entry(
    seconds: Option<f64>,
    outcome: RoundOutcome,
    is_lower_bound: bool,
    scale: &UnitScale,
) -> TableCell {
    let number = |value| match is_lower_bound {
        true => format!("{LOWER_BOUND}{}", scale.number(value)),
        false => scale.number(value),
    };
    TableCell {
        text: seconds.map_or_else(|| outcome.to_string(), number),
        signs: String::new(),
        tone: match (seconds, outcome) {
            (Some(_), _) => Style::Plain,
            (None, outcome) if outcome.is_failure() => Style::Failed,
            (None, _) => Style::Missing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    /// Returns the entry of a contender in a line of the totals of test `tree`.
    fn shown(results: &CampaignResults, label: &str, contender: &str) -> TableCell {
        let analysis = analyse(results);
        let blocks = blocks(results, &analysis, StepFilter::All, AttemptFilter::All);
        let tree = blocks.iter().find(|block| block.name == "tree").unwrap();
        let line = tree.lines.iter().find(|line| line.label == label).unwrap();
        let place = analysis.contenders.iter().position(|c| c == contender);
        line.entries[place.unwrap()].clone()
    }

    /// In the second round, ZFS on FUSE crashed in the fourth step.
    #[test]
    fn total_over_a_failed_step_is_invalid_with_attempts_below() {
        let results = fixture::realistic();
        for label in ["total", "round 2"] {
            let entry = shown(&results, label, "zfs-fuse");
            assert_eq!((entry.text.as_str(), entry.tone), ("invalid", Style::Failed));
        }
        for label in ["round 1", "round 3"] {
            let entry = shown(&results, label, "zfs-fuse");
            assert!(entry.text.parse::<f64>().is_ok(), "{entry:?}");
        }
        assert_eq!(shown(&results, "total", "ext4").tone, Style::Plain);
    }

    #[test]
    fn total_over_syncs_that_never_reach_the_disk_is_marked() {
        let results = fixture::realistic();
        let mut analysis = analyse(&results);
        let marked = |analysis: &Analysis| -> Vec<bool> {
            let blocks = blocks(&results, analysis, StepFilter::All, AttemptFilter::All);
            let tree = blocks.iter().find(|block| block.name == "tree").unwrap();
            let total = tree.lines.iter().find(|line| line.label == "total").unwrap();
            let totals = total.entries.iter();
            totals.map(|e| e.signs.contains(NOT_DURABLE)).collect()
        };
        assert!(!marked(&analysis).contains(&true));
        let row = analysis.rows.iter_mut().find(|row| row.test == "tree");
        row.unwrap().results[0].not_durable = true;
        let marked = marked(&analysis);
        assert!(marked[0] && !marked[1..].contains(&true), "{marked:?}");
    }

    #[test]
    fn terminal_shows_attempts_only_of_broken_totals() {
        let results = fixture::realistic();
        let analysis = analyse(&results);
        for block in blocks(&results, &analysis, StepFilter::All, AttemptFilter::OfBroken) {
            let place = block.lines.iter().position(|line| line.label == "total").unwrap();
            let is_broken = block.lines[place].entries.iter().any(|e| e.text == "invalid");
            let attempts = if is_broken { 3 } else { 0 };
            assert_eq!(block.lines.len(), place + 1 + attempts, "{}", block.name);
        }
    }

    #[test]
    fn each_step_has_its_seconds() {
        let results = fixture::realistic();
        let analysis = analyse(&results);
        for (block, total) in blocks(&results, &analysis, StepFilter::All, AttemptFilter::All)
            .iter()
            .zip(&analysis.totals)
        {
            let labels = block.lines.iter().take(total.steps.len()).map(|line| &line.label);
            assert_eq!(labels.collect::<Vec<_>>(), total.steps.iter().collect::<Vec<_>>());
            for (line, place) in block.lines.iter().zip(0..total.steps.len()) {
                let has_time = |of: &stats::ContenderTotal| of.steps[place].estimate.is_some();
                let times: Vec<bool> = total.contenders.iter().map(has_time).collect();
                let shown: Vec<bool> = line.entries.iter().map(|e| e.text != "none").collect();
                assert_eq!(shown, times, "{}", line.label);
            }
        }
    }

    #[test]
    fn without_groups_of_phases_steps_can_be_left_out() {
        let mut results = fixture::realistic();
        let first = |results: &CampaignResults| {
            let analysis = analyse(results);
            let blocks = blocks(results, &analysis, StepFilter::OfGroups, AttemptFilter::All);
            let tree = blocks.into_iter().find(|block| block.name == "tree").unwrap();
            tree.lines.first().unwrap().label.clone()
        };
        assert_eq!(first(&results), "total");
        let mut tests = results.campaign.suites.iter_mut().flat_map(|suite| &mut suite.tests);
        let tree = tests.find(|test| test.name == "tree").unwrap();
        for phase in tree.phases.iter_mut().take(2) {
            phase.step = Some("both".to_owned());
        }
        assert_eq!(first(&results), "both");
    }

    #[test]
    fn step_that_its_limit_ended_is_a_lower_bound() {
        let mut results = fixture::realistic();
        let mut cells = results.cells.iter_mut().filter(|stored| stored.cell.test == "tree");
        let cell = cells.find(|stored| stored.cell.contender == "ext4").unwrap();
        cell.result.as_mut().unwrap().phases[0].time_limited = true;
        let label =
            analyse(&results).totals.iter().find(|t| t.test == "tree").unwrap().steps[0].clone();
        assert!(shown(&results, &label, "ext4").text.starts_with(LOWER_BOUND));
        assert!(!shown(&results, &label, "xfs").text.starts_with(LOWER_BOUND));
    }

    #[test]
    fn disturbed_first_run_is_listed_before_its_repetition() {
        let mut results = fixture::realistic();
        let is_it = |cell: &model::Cell| cell.test == "tree" && cell.contender == "xfs";
        let mut stored = results.cells.iter_mut();
        let stored = stored.find(|stored| is_it(&stored.cell)).unwrap();
        let result = stored.result.as_mut().unwrap();
        result.first = Some(Box::new(result.clone()));
        let first = shown(&results, "round 1, disturbed", "xfs");
        assert_eq!(first, shown(&results, "round 1", "xfs"));
        let other = shown(&results, "round 1, disturbed", "ext4");
        assert_eq!((other.text.as_str(), other.tone), ("none", Style::Missing));
    }
}
