//! The overall view as a table: a row for each category, and the mean over all categories.

use model::{CampaignResults, Unit};
use stats::{Analysis, CategoryScore};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{LACKING, NO_RESULT, PhaseLine, TestBlock, rank_symbol};
use crate::text::answer::excess_bound;
use crate::text::conclusions::is_single;
use crate::text::labels;
use crate::text::sanitize::sanitize_line;
use crate::text::summary;

/// A contender that has all results, if no other has.
const NO_RIVAL: &str = "no rival";

/// Returns the overall view: a row for each test category, the mean over all of them, and the most
/// that each contender costs over all. Returns `None` without other contenders to compare. If there are several disks, it
/// compares the contenders on each disk.
pub(crate) fn overall<'a>(
    results: &'a CampaignResults,
    analysis: &Analysis,
    disk: Option<&str>,
) -> Option<TestBlock<'a>> {
    let overall = &analysis.overall;
    let first = results.campaign.suites.iter().flat_map(|s| &s.tests).next()?;
    if analysis.contenders.len() < 2 || overall.groups.is_empty() {
        return None;
    }
    let mut lines: Vec<PhaseLine<'_>> = overall
        .groups
        .iter()
        .map(|group| line(group.group.title().to_owned(), &group.scores))
        .collect();
    if overall.groups.len() > 1 {
        let all = line("all groups".to_owned(), &overall.total);
        lines
            .push(PhaseLine { rule: Some("all groups, each weighing the same".to_owned()), ..all });
    }
    lines.extend(bounds(&overall.total));
    Some(TestBlock {
        test: first,
        number: None,
        name: match disk {
            Some(disk) => format!("overall, on {}", sanitize_line(disk)),
            None => "overall".to_owned(),
        },
        title: format!(
            "cost as a multiple of the lowest, {}",
            match is_single(analysis) {
                true => "of one number each".to_owned(),
                false => summary::fewer_runs(results, analysis).unwrap_or_else(|| {
                    labels::replicates(analysis.clock, results.campaign.rounds)
                }),
            }
        ),
        lines,
    })
}

/// Returns the explanation of the table, with the numbers of results that contenders lack.
pub(crate) fn note(analysis: &Analysis) -> String {
    let scores = analysis.contenders.iter().zip(&analysis.overall.total);
    let lacking = scores.filter(|(_, score)| score.missing > 0 && score.counted > 0);
    let lacking = lacking.map(|(name, score)| {
        let results = labels::pluralize(score.missing as u64, "result");
        format!("{} lacks {results}", sanitize_line(name))
    });
    let lacking: Vec<String> = lacking.collect();
    let lacking = match lacking.is_empty() {
        true => String::new(),
        false => format!(" {}.", lacking.join(", ")),
    };
    format!(
        "Overall: the estimates of the answers, as multiples of the best in the rounds that both have (do not divide columns); rows above are medians over rounds.{lacking}"
    )
}

/// Returns the line with the most that each contender costs more than the best over all, without
/// signs.
fn bounds(scores: &[CategoryScore]) -> Option<PhaseLine<'static>> {
    let most = |score: &CategoryScore| score.place?.at_most;
    scores.iter().any(|score| most(score).is_some()).then(|| PhaseLine {
        row: None,
        label: "at most".to_owned(),
        rule: None,
        unit: String::new(),
        entries: scores
            .iter()
            .map(|score| TableCell {
                text: most(score).map_or_else(|| NO_RESULT.to_owned(), excess_bound),
                signs: String::new(),
                tone: if most(score).is_some() { Style::Plain } else { Style::Missing },
            })
            .collect(),
    })
}

/// Returns true if every missing result exists and is not ranked: those of a baseline, and times
/// without synced writes.
const fn is_set_apart(score: &CategoryScore) -> bool {
    score.set_apart > 0 && score.missing <= score.set_apart
}

fn line(label: String, scores: &[CategoryScore]) -> PhaseLine<'static> {
    let scale = UnitScale::for_values(Unit::Ratio, []);
    let entry = |score: &CategoryScore| match &score.place {
        None => TableCell {
            text: match (score.set_apart, score.counted, score.missing) {
                (0, 1.., 0) => NO_RIVAL,
                (0, ..) => NO_RESULT,
                _ => "not ranked",
            }
            .to_owned(),
            signs: (score.missing > 0 && !is_set_apart(score))
                .then_some(LACKING)
                .into_iter()
                .collect(),
            tone: Style::Missing,
        },
        Some(place) => {
            let (tone, sign) = rank_symbol(Some(place));
            let signs = sign.into_iter().collect();
            TableCell { text: scale.number(place.ratio), signs, tone }
        }
    };
    PhaseLine {
        row: None,
        label,
        rule: None,
        unit: format!("{} ↓", scale.symbol()),
        entries: scores.iter().map(entry).collect(),
    }
}
