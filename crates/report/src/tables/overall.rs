//! The overall view as a table: a row for each category, and the mean over all categories.

use model::{CampaignResults, Unit};
use stats::{Analysis, CategoryScore, RobustEstimate};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{LACKING, NO_RESULT, PhaseLine, TestBlock, rank_symbol};
use crate::text::conclusions::is_single;
use crate::text::labels;
use crate::text::sanitize::sanitize_line;

/// Returns the overall view: a row for each test category, and the mean over all of them with its
/// interval. Returns `None` without other contenders to compare. If there are several disks, it
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
        .map(|group| line(group.group.title().to_owned(), &group.scores, |e| e.median))
        .collect();
    if overall.groups.len() > 1 {
        let all = line("all groups".to_owned(), &overall.total, |e| e.median);
        lines
            .push(PhaseLine { rule: Some("all groups, each weighing the same".to_owned()), ..all });
    }
    lines.extend(interval_lines(&overall.total));
    Some(TestBlock {
        test: first,
        number: None,
        name: match disk {
            Some(disk) => format!("overall, on {}", sanitize_line(disk)),
            None => "overall".to_owned(),
        },
        title: format!(
            "geometric means of ratios to the best, {}",
            match is_single(analysis) {
                true => "of one number each".to_owned(),
                false => labels::replicates(analysis.clock, results.campaign.rounds),
            }
        ),
        lines,
    })
}

/// Returns the explanation of the table, with the numbers of results that contenders lack.
pub(crate) fn note(analysis: &Analysis) -> String {
    let scores = analysis.contenders.iter().zip(&analysis.overall.total);
    let lacking = scores.filter(|(_, score)| score.missing > 0 && score.ratio.is_some());
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
        "Overall: medians over rounds, as multiples of the best of each row; bounds in answers are of means.{lacking}"
    )
}

/// Returns lines with the interval bounds of the last row, without signs.
fn interval_lines(scores: &[CategoryScore]) -> Vec<PhaseLine<'static>> {
    let confidences = scores.iter().filter_map(|s| Some(s.ratio?.interval.confidence));
    let least = confidences.fold(f64::INFINITY, f64::min);
    if !least.is_finite() || least == 0.0 {
        return Vec::new();
    }
    let plain = |label: String, of: fn(&RobustEstimate) -> f64| {
        let mut line = line(label, scores, of);
        for entry in &mut line.entries {
            entry.signs.clear();
            entry.tone = match entry.tone {
                Style::Missing => Style::Missing,
                _ => Style::Plain,
            };
        }
        line
    };
    let percent = labels::percent(least);
    vec![
        plain(format!("{percent} interval, from"), |e| e.interval.low),
        plain("to".to_owned(), |e| e.interval.high),
    ]
}

fn line(
    label: String,
    scores: &[CategoryScore],
    of: fn(&RobustEstimate) -> f64,
) -> PhaseLine<'static> {
    let scale = UnitScale::for_values(Unit::Ratio, []);
    let entry = |score: &CategoryScore| {
        let Some(ratio) = &score.ratio else {
            return TableCell {
                text: if score.set_apart > 0 { "not ranked" } else { NO_RESULT }.to_owned(),
                signs: String::new(),
                tone: Style::Missing,
            };
        };
        let (tone, sign) = rank_symbol(score.place.as_ref());
        let lacking = (score.missing > 0).then_some(LACKING);
        TableCell {
            text: scale.number(of(ratio)),
            signs: sign.into_iter().chain(lacking).collect(),
            tone,
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
