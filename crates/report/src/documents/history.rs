//! The history of a result: a sparkline, and a table with the level changes.

use stats::{History, HistoryPoint, Series};

use crate::UnitScale;
use crate::document::{Block, Document, Item, Table};
use crate::text::labels::moment;
use crate::text::labels::{self, arrow, percent};
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Bars of eight heights (Unicode, block elements).
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Marks a campaign without a value.
const NOTHING: char = '·';
/// Mark of a level change.
const CHANGE: char = '│';

/// Returns the history as a document.
pub fn history_report(history: &History) -> Document {
    let mut document = Document::default();
    for series in &history.series {
        add_series(series, &mut document);
    }
    let excluded = history.excluded.iter().map(|campaign| {
        Item::new(format!("campaign {}", campaign.campaign), sanitize_line(&campaign.reason))
    });
    document.list("Left out, since not comparable with the latest", excluded);
    document
}

fn add_series(series: &Series, document: &mut Document) {
    let medians = series.points.iter().filter_map(|p| Some(p.estimate?.median));
    let scale = UnitScale::for_metric(series.metric, medians);
    let title = format!(
        "{}, {}/{}:{} ({} {})",
        sanitize_line(&series.contender),
        sanitize_line(&series.test),
        sanitize_line(&series.phase),
        series.metric,
        scale.symbol(),
        arrow(series.direction)
    );
    let mut table =
        Table::new(&[">campaign", "begun", ">median", "interval", "change", "kernel", "name"]);
    for (place, point) in series.points.iter().enumerate() {
        table.push([
            point.campaign.to_string(),
            moment(point.started),
            point.estimate.map_or_else(|| point.outcomes.join("/"), |e| scale.number(e.median)),
            interval(point, &scale),
            change(series, place),
            release(&point.kernel),
            sanitize_line(&point.name),
        ]);
    }
    let variation = series.between_campaign_sd.zip(series.within).map(|(between, within)| {
        Block::Note(format!(
            "Campaigns vary by {} around their level, rounds of a campaign by {}.",
            percent(between),
            percent(within)
        ))
    });
    let content = [Block::Paragraph(sparkline(series)), Block::Table(table)];
    document.section(title, content.into_iter().chain(variation));
}

/// Returns one bar for each campaign, scaled from the smallest to the largest value, with a mark at
/// each level change.
pub(crate) fn sparkline(series: &Series) -> String {
    let medians = || series.points.iter().filter_map(|p| Some(p.estimate?.median));
    let least = medians().fold(f64::INFINITY, f64::min);
    let most = medians().fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: f64| {
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        BARS[((share * 8.0) as usize).min(7)]
    };
    let mut out = String::new();
    for (place, point) in series.points.iter().enumerate() {
        if series.changes.iter().any(|change| change.at == place) {
            out.push(CHANGE);
        }
        out.push(point.estimate.map_or(NOTHING, |e| bar(e.median)));
    }
    out
}

fn interval(point: &HistoryPoint, scale: &UnitScale) -> String {
    let estimate = point.estimate.filter(|e| e.rounds > 1);
    estimate.map_or_else(String::new, |e| labels::interval(&e, |v| scale.number(v)))
}

/// Returns the change at a campaign: `0.80 × (worse, p = 0.004)`.
pub(crate) fn change(series: &Series, place: usize) -> String {
    let change = series.changes.iter().find(|change| change.at == place);
    change.map_or_else(String::new, |change| {
        let way = match change.worse {
            Some(true) => "worse, ",
            Some(false) => "better, ",
            None => "",
        };
        let factor = three_digits(change.after / change.before);
        format!("{factor} × ({way}p {})", chance(change.p))
    })
}

/// Returns the release of a kernel, the second word of `uname`.
pub(crate) fn release(kernel: &str) -> String {
    let word = kernel.split_whitespace().nth(1).unwrap_or(kernel);
    sanitize_line(word)
}

/// Formats a p-value for use after `p`: `= 0.031`, `< 0.001`.
fn chance(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else if p < 0.1 {
        format!("= {p:.3}")
    } else {
        format!("= {p:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{DocumentOptions, terminal};
    use model::{CampaignResults, Nanos, Status};
    use stats::{AnalysedCampaign, analyse, fixture, history};

    fn campaign(id: i64) -> CampaignResults {
        let mut results = fixture::plain();
        results.id = id;
        results.started = Nanos(results.started.0 + id.unsigned_abs() * 86_400_000_000_000);
        for stored in &mut results.cells {
            let write = &mut stored.result.as_mut().unwrap().phases[0];
            let percent = if id <= 6 { 100 } else { 130 };
            write.elapsed = Nanos(write.elapsed.0 / 100 * percent + id.unsigned_abs() * 37 % 11);
            if id == 4 && stored.cell.round == 1 {
                write.status = Status::Failed;
            }
        }
        results
    }

    #[test]
    fn a_step_and_a_failure() {
        let pattern = "file/write".parse().unwrap();
        let contenders = ["fast".to_owned()];
        let mut collector = history(&pattern, &contenders);
        for id in (1..=12).rev() {
            let mut results = campaign(id);
            if id == 2 {
                results.campaign.backend = model::BackendKind::Dir;
            }
            let analysis = analyse(&results);
            collector.add(AnalysedCampaign::new(&results, &analysis));
        }
        let report = history_report(&collector.finish());
        insta::assert_snapshot!(terminal(&report, &DocumentOptions::FILE));
    }
}
