//! Values over time as pictures: speed, latency, unwritten data and writes of the device as lines, and
//! the latencies of each contender as a heat map.

use std::fmt::Write as _;

use model::{CampaignResults, LatencyBucket, Nanos, TimelineInterval, Unit};
use stats::{ContenderTimeline, PhaseTimelines, SeriesKind, speed, timelines, written};

use crate::UnitScale;
use crate::document::Document;
use crate::render::{html, safe_html};
use crate::tables::timelines::{blocks, duration, title};
use crate::text::sanitize::{sanitize_line, shorten};

const WIDTH: f64 = 660.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 520.0;
const TOP: f64 = 18.0;
/// Height of a line of text.
const LINE: f64 = 13.0;
/// Maximum number of points of a line.
const POINTS: usize = 120;
/// Maximum number of columns of a heat map.
const COLUMNS: usize = 60;
/// Height of a row of a heat map.
const ROW: f64 = 12.0;
/// Number of shades of a heat map.
const SHADES: usize = 5;
/// Maximum width of a contender's name.
const NAME: usize = 20;
/// Lines of latency, each with its share of operations.
const LATENCIES: [(&str, f64); 4] = [
    ("latency, median", 0.5),
    ("latency, 99th percentile", 0.99),
    ("latency, 99.9th percentile", 0.999),
    ("longest latency", 1.0),
];

/// Values over time of all phases.
pub(super) struct TimelinesView {
    /// The table, as HTML.
    pub table: String,
    pub phases: Vec<TimelineView>,
}

/// Pictures of one phase.
pub(super) struct TimelineView {
    pub title: String,
    /// The pictures, as SVG.
    pub lines: Vec<String>,
    pub heat_maps: Vec<String>,
}

/// Returns the section, or `None` if no phase has values over time.
pub(super) fn view(results: &CampaignResults) -> Option<TimelinesView> {
    let phases = timelines(results);
    let table = html(&Document { blocks: blocks(results, usize::MAX) });
    (!phases.is_empty())
        .then(|| TimelinesView { table, phases: phases.iter().map(of_phase).collect() })
}

fn of_phase(phase: &PhaseTimelines<'_>) -> TimelineView {
    let mut lines = Vec::new();
    let end = end(phase);
    let all = phase.contenders.iter();
    let speeds = all.clone().filter_map(|one| Some((one, speed(one.result, POINTS)?)));
    let speeds: Vec<_> = speeds.collect();
    if let Some((_, first)) = speeds.first() {
        let kind = first.kind;
        let series = speeds.iter().map(|(one, series)| ChartLine {
            contender: one,
            points: middles(series.window, &series.values),
        });
        lines.push(chart(title(kind), kind.unit(), phase, series.collect()));
    }
    for (title, share) in LATENCIES {
        let timed = all.clone().filter(|one| has_latency(one));
        let series: Vec<ChartLine<'_>> =
            timed.map(|one| ChartLine { contender: one, points: percentile(one, share) }).collect();
        if !series.is_empty() {
            lines.push(chart(title, Unit::Seconds, phase, series));
        }
    }
    let dirty = all.clone().map(|one| {
        let samples = one.timeline.samples.iter();
        let every = one.timeline.samples.len().div_ceil(POINTS).max(1);
        let points = samples.step_by(every);
        let points = points.filter_map(|sample| Some((sample.at, sample.dirty?.0 as f64)));
        ChartLine { contender: one, points: points.collect() }
    });
    let dirty: Vec<ChartLine<'_>> = dirty.filter(|series| !series.points.is_empty()).collect();
    if !dirty.is_empty() {
        let title = "data of the machine that is not written yet";
        lines.push(chart(title, Unit::Bytes, phase, dirty));
    }
    if speeds.first().is_some_and(|(_, series)| series.kind != SeriesKind::Written) {
        let written = all.clone().filter_map(|one| Some((one, written(one.result, POINTS)?)));
        let written = written.map(|(one, series)| ChartLine {
            contender: one,
            points: middles(series.window, &series.values),
        });
        let written: Vec<ChartLine<'_>> = written.collect();
        if !written.is_empty() {
            let kind = SeriesKind::Written;
            lines.push(chart(title(kind), kind.unit(), phase, written));
        }
    }
    TimelineView {
        title: sanitize_line(&format!("{} {}", phase.test, phase.phase)),
        lines,
        heat_maps: all.filter(|one| has_latency(one)).map(|one| heat_map(one, end)).collect(),
    }
}

/// Returns the end of the time axis of a phase.
fn end(phase: &PhaseTimelines<'_>) -> Nanos {
    phase.contenders.iter().map(|one| one.result.elapsed).max().unwrap_or_default()
}

/// A line of a chart.
struct ChartLine<'a> {
    contender: &'a ContenderTimeline<'a>,
    /// Times since the start of the phase, with their values.
    points: Vec<(Nanos, f64)>,
}

fn has_latency(one: &ContenderTimeline<'_>) -> bool {
    one.timeline.intervals.iter().any(|interval| !interval.latency.is_empty())
}

/// Returns each value in the middle of its window.
fn middles(window: Nanos, values: &[f64]) -> Vec<(Nanos, f64)> {
    let at =
        |place: usize| Nanos(window.0.saturating_mul(place as u64).saturating_add(window.0 / 2));
    values.iter().enumerate().map(|(place, value)| (at(place), *value)).collect()
}

/// Joins the intervals of each of at most `most` windows.
fn joined(one: &ContenderTimeline<'_>, most: usize) -> (Nanos, Vec<(usize, TimelineInterval)>) {
    let timeline = one.timeline;
    let last = timeline.intervals.last().map_or(0, |interval| interval.index as usize);
    let length = last / most + 1;
    let mut windows: Vec<(usize, TimelineInterval)> = Vec::new();
    for interval in &timeline.intervals {
        let place = interval.index as usize / length;
        match windows.last_mut() {
            Some((at, window)) if *at == place => window.latency.extend(&interval.latency),
            _ => windows.push((place, interval.clone())),
        }
    }
    for (_, window) in &mut windows {
        window.latency.sort_by_key(|bucket| bucket.0);
    }
    (Nanos(timeline.interval.0.saturating_mul(length as u64)), windows)
}

fn percentile(one: &ContenderTimeline<'_>, quantile: f64) -> Vec<(Nanos, f64)> {
    let (window, windows) = joined(one, POINTS);
    let at =
        |place: usize| Nanos(window.0.saturating_mul(place as u64).saturating_add(window.0 / 2));
    let points = windows.iter();
    points.map(|(place, window)| (at(*place), window.quantile(quantile).as_secs_f64())).collect()
}

/// Draws lines over time.
fn chart(
    title: &str,
    unit: Unit,
    phase: &PhaseTimelines<'_>,
    series: Vec<ChartLine<'_>>,
) -> String {
    let values = || series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
    let high = values().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let scale = UnitScale::for_values(unit, [high]);
    let end = end(phase);
    let bottom = TOP + (LINE * series.len() as f64).max(110.0);
    let x = |at: Nanos| LEFT + (RIGHT - LEFT) * at.0 as f64 / end.0.max(1) as f64;
    let y = |value: f64| bottom - (bottom - TOP) * (value / high).clamp(0.0, 1.0);
    let mut out = format!(
        "<svg class=\"chart lines over-time\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">",
        bottom + 34.0,
        safe_html(&sanitize_line(&format!("{title} over time in {} {}", phase.test, phase.phase))),
    );
    for share in [0.0, 0.5, 1.0] {
        let value = high * share;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {:.1}H{RIGHT}\"/><text class=\"level\" x=\"{}\" y=\"{:.1}\">{}</text>",
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            scale.number(value),
        );
    }
    let above = format!("{title}, {}", scale.axis());
    let _ = write!(out, "<text class=\"unit-above\" x=\"2\" y=\"{}\">{above}</text>", TOP - 7.0);
    times(&mut out, end, bottom);
    for (place, one) in series.iter().enumerate() {
        let class = class(one.contender);
        let mut path = String::new();
        for (at, value) in &one.points {
            let pen = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{pen}{:.0} {:.0}", x(*at), y(*value));
        }
        let _ = write!(
            out,
            "<g class=\"series {class}\"><path class=\"line\" d=\"{path}\"/><text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text></g>",
            RIGHT + 8.0,
            TOP + LINE * (place as f64 + 0.8),
            name(one.contender),
        );
    }
    out + "</svg>"
}

/// Draws the times below a chart.
fn times(out: &mut String, end: Nanos, bottom: f64) {
    let scale = UnitScale::for_values(Unit::Seconds, [end.as_secs_f64()]);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            LEFT + (RIGHT - LEFT) * share,
            bottom + 15.0,
            scale.with_unit(end.as_secs_f64() * share),
        );
    }
}

/// Returns the classes of a contender's colour and dashes, which are those of the other charts.
fn class(one: &ContenderTimeline<'_>) -> String {
    format!("k{} dash{}", one.number % 8, one.number / 8 % 3)
}

fn name(one: &ContenderTimeline<'_>) -> String {
    safe_html(&shorten(&sanitize_line(one.contender), NAME))
}

/// Draws the latencies of a contender: columns are times, rows are powers of two of the latency, and
/// darker cells have more of the operations of their column.
fn heat_map(one: &ContenderTimeline<'_>, end: Nanos) -> String {
    let (window, windows) = joined(one, COLUMNS);
    let row_of = |bucket: &LatencyBucket| bucket.0.0.max(1).ilog2();
    let rows = || windows.iter().flat_map(|(_, window)| window.latency.iter().map(row_of));
    let (low, high) = (rows().min().unwrap_or(0), rows().max().unwrap_or(0));
    let width = (RIGHT - LEFT) * window.0 as f64 / end.0.max(1) as f64;
    let bottom = TOP + ROW * f64::from(high - low + 1);
    let mut shades = vec![String::new(); SHADES];
    for (place, window) in &windows {
        let counts = window.latency.iter();
        let all: f64 = counts.map(|bucket| bucket.1 as f64).sum();
        for row in low..=high {
            let same = window.latency.iter().filter(|bucket| row_of(bucket) == row);
            let count: f64 = same.map(|bucket| bucket.1 as f64).sum();
            if count == 0.0 {
                continue;
            }
            // The root keeps rare latencies visible.
            let share = (count / all).sqrt();
            let shade = ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1;
            let x = LEFT + width * *place as f64;
            let y = bottom - ROW * (f64::from(row - low) + 0.5);
            let _ = write!(shades[shade], "M{x:.1} {y:.0}h{:.1}", width.min(RIGHT - x));
        }
    }
    let mut out = format!(
        "<svg class=\"chart lines over-time\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"latencies of {} over time\">",
        bottom + 34.0,
        name(one),
    );
    let _ = write!(
        out,
        "<text class=\"unit-above\" x=\"2\" y=\"{}\">latency, up to</text><g class=\"heat-map {}\">",
        TOP - 7.0,
        class(one),
    );
    for (shade, path) in shades.iter().enumerate() {
        let _ = write!(out, "<path class=\"shade{shade}\" d=\"{path}\"/>");
    }
    let _ = write!(
        out,
        "</g><text class=\"end {}\" x=\"{}\" y=\"{}\">{}</text>",
        class(one),
        RIGHT + 8.0,
        TOP + LINE * 0.8,
        name(one),
    );
    for row in (low..=high).rev().step_by(2) {
        let _ = write!(
            out,
            "<text class=\"level\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            bottom - ROW * f64::from(row - low) - 2.0,
            duration(Nanos(2_u64.saturating_pow(row + 1))),
        );
    }
    times(&mut out, end, bottom);
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use model::{Bytes, DeviceSample, MachineSample, Stall, Timeline};
    use stats::fixture;

    use super::*;

    fn results() -> CampaignResults {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            let Some(result) = &mut stored.result else { continue };
            let phase = &mut result.phases[0];
            phase.elapsed = Nanos::from_secs(12);
            let interval = |index| TimelineInterval {
                index,
                operations: 3,
                bytes: Bytes(3 << 20),
                latency: vec![
                    LatencyBucket(Nanos(1_000_000), 2),
                    LatencyBucket(Nanos(64_000_000), 1),
                ],
            };
            phase.timeline = Some(Timeline {
                interval: Nanos(100_000_000),
                intervals: (0..50).chain(80..120).map(interval).collect(),
                stall: Some(Stall { at: Nanos::from_secs(5), length: Nanos::from_secs(3) }),
                ..Timeline::default()
            });
        }
        results
    }

    #[test]
    fn a_phase_has_lines_of_each_contender_and_a_heat_map_each() {
        let results = results();
        let view = view(&results).unwrap();
        let contenders = results.campaign.contenders.len();
        let phase = &view.phases[0];
        assert_eq!(phase.lines.len(), 1 + LATENCIES.len(), "speed and latencies");
        assert_eq!(phase.lines[0].matches("class=\"line\"").count(), contenders);
        assert_eq!(phase.heat_maps.len(), contenders);
        assert!(phase.heat_maps[0].contains("shade4"));
        assert!(view.table.contains("no operation finished for 3.00 s"));
        assert!(super::view(&fixture::plain()).is_none());
    }

    #[test]
    fn nothing_of_a_name_becomes_markup() {
        let mut results = results();
        let name = "<b>&\"".to_owned();
        for stored in &mut results.cells {
            stored.cell.contender.clone_from(&name);
        }
        results.campaign.contenders[0].name = name;
        let view = view(&results).unwrap();
        let pictures =
            view.phases.iter().flat_map(|phase| phase.lines.iter().chain(&phase.heat_maps));
        assert!(
            pictures
                .map(String::as_str)
                .chain([view.table.as_str()])
                .all(|text| !text.contains("<b>"))
        );
    }

    /// A document from elsewhere may have any values.
    #[test]
    fn no_value_is_too_large() {
        let mut results = results();
        let cells = results.cells.iter_mut().filter_map(|stored| stored.result.as_mut());
        for (place, cell) in cells.enumerate() {
            let phase = &mut cell.phases[0];
            phase.elapsed = Nanos([u64::MAX, 1, 0][place % 3]);
            let interval = |index| TimelineInterval {
                index,
                operations: u64::MAX,
                bytes: Bytes(u64::MAX),
                latency: vec![LatencyBucket(Nanos(u64::MAX), u64::MAX); 2],
            };
            let sample = |at| MachineSample {
                at: Nanos(at),
                dirty: Some(Bytes(u64::MAX)),
                device: Some(DeviceSample {
                    read: Bytes(u64::MAX),
                    written: Bytes(u64::MAX),
                    flushes: u64::MAX,
                }),
            };
            phase.timeline = Some(Timeline {
                interval: Nanos([0, 1, u64::MAX][place % 3]),
                intervals: [0, 1, u32::MAX].map(interval).to_vec(),
                stall: Some(Stall { at: Nanos(u64::MAX), length: Nanos(u64::MAX) }),
                samples: [0, u64::MAX, 5].map(sample).to_vec(),
                steady: None,
            });
        }
        let view = view(&results).unwrap();
        assert!(
            view.phases.iter().flat_map(|phase| &phase.lines).all(|line| !line.contains("NaN"))
        );
        assert!(!stats::analyse(&results).rows.is_empty());
    }
}
