//! Values over time of long phases: the speed as a line of bars, the longest stall and the start of
//! the steady state.

use model::{CampaignResults, Nanos, PhaseResult};
use stats::{
    ContenderTimeline, PhaseTimelines, SeriesKind, StallRecord, TimelineSeries, speed, timelines,
};

use crate::UnitScale;
use crate::document::Block;
use crate::document::table::{Row, Table};
use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;

/// Title of the section.
pub(crate) const TITLE: &str = "Values over time";

/// Meaning of the columns.
pub(crate) const NOTE: &str = "Over time: equal parts of the phase in the first round, from 0 to the highest of all; · is a part without any. Phases below 10 s are too short. Longest stall: time without a finished operation, over all rounds. Steady: in the first round, from then on five windows of at least a second differ by at most 20 % and change by at most 10 %, and the rest has the same mean within 20 %.";

/// Number of bars in a line.
const BARS: usize = 24;
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Shortest stall with a sentence.
const LONG_STALL: Nanos = Nanos::from_secs(1);

/// Returns the table with a sentence about each long stall. `most` limits the phases to those with
/// the longest stalls. Empty if no phase has values over time.
pub(crate) fn blocks(results: &CampaignResults, most: usize) -> Vec<Block> {
    let mut phases = timelines(results);
    let all = phases.len();
    if all == 0 {
        return Vec::new();
    }
    if all > most {
        phases.sort_by_key(|phase| std::cmp::Reverse(longest(phase)));
        phases.truncate(most);
    }
    let columns = [
        "contender",
        "over time",
        ">took",
        ">lowest",
        ">highest",
        ">longest stall",
        ">steady from",
    ];
    let mut table = Table { labels: 0, ..Table::new(&columns) };
    for phase in &phases {
        add(&mut table, phase);
    }
    if table.is_empty() {
        return Vec::new();
    }
    let sentences = phases.iter().flat_map(stall_sentences);
    let left = match all - phases.len() {
        0 => String::new(),
        left => {
            format!("The page shows {} more (`--format html`).", pluralize(left as u64, "phase"))
        }
    };
    let blocks = [
        Block::Table(table),
        Block::list(sentences),
        Block::Note(NOTE.to_owned()),
        Block::Note(left),
    ];
    blocks.into_iter().filter(|block| !block.is_empty()).collect()
}

fn longest(phase: &PhaseTimelines<'_>) -> Nanos {
    let stalls = phase.contenders.iter().filter_map(|one| one.stall);
    stalls.map(|one| one.stall.length).max().unwrap_or_default()
}

fn add(table: &mut Table, phase: &PhaseTimelines<'_>) {
    let longest = phase.contenders.iter().map(|one| one.result.elapsed.0).max().unwrap_or(0);
    let series = phase.contenders.iter().map(|one| {
        // All lines have the same scale of time.
        let share = one.result.elapsed.0 as f64 / longest.max(1) as f64;
        let most = (BARS as f64 * share).round().max(1.0) as usize;
        // A command without writes has no values.
        let is_shown = |one: &TimelineSeries| {
            one.kind != SeriesKind::Written || one.values.iter().any(|value| *value > 0.0)
        };
        speed(one.result, most).filter(is_shown)
    });
    let series: Vec<Option<TimelineSeries>> = series.collect();
    let Some(kind) = series.iter().flatten().map(|one| one.kind).next() else { return };
    let values = || series.iter().flatten().flat_map(|one| &one.values).copied();
    let highest = values().fold(0.0, f64::max);
    let scale = UnitScale::for_values(kind.unit(), values());
    let name = format!("{} {}", sanitize_line(phase.test), sanitize_line(phase.phase));
    table.rows.push(Row::Group(name, title(kind).to_owned()));
    for (one, series) in phase.contenders.iter().zip(&series) {
        let Some(series) = series else { continue };
        let lowest = series.values.iter().copied().fold(f64::INFINITY, f64::min);
        let top = series.values.iter().copied().fold(0.0, f64::max);
        let stall = one.stall.map_or_else(|| "–".to_owned(), |one| duration(one.stall.length));
        table.push([
            sanitize_line(one.contender),
            bars(series, highest),
            duration(one.result.elapsed),
            if lowest.is_finite() { scale.with_unit(lowest) } else { "–".to_owned() },
            scale.with_unit(top),
            stall,
            steady(one),
        ]);
    }
    for (name, elapsed) in &phase.short {
        let blank = || "–".to_owned();
        let cells = [sanitize_line(name), "too short".to_owned(), duration(*elapsed)];
        table.push(cells.into_iter().chain(std::iter::repeat_with(blank).take(4)));
    }
}

/// Returns the title of a series.
pub(crate) const fn title(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::Throughput => "throughput",
        SeriesKind::Rate => "operations",
        SeriesKind::Written => "written to the device",
    }
}

/// Returns the speed of a phase over time as a line of bars, if it has values over time.
pub fn speed_bars(result: &PhaseResult) -> Option<String> {
    let series = speed(result, BARS)?;
    let highest = series.values.iter().copied().fold(0.0, f64::max);
    Some(bars(&series, highest))
}

/// Returns values as a line of bars, up to the highest of them.
pub fn bar_line(values: &[f64]) -> String {
    bars_up_to(values, values.iter().copied().fold(0.0, f64::max))
}

fn bars(series: &TimelineSeries, highest: f64) -> String {
    bars_up_to(&series.values, highest)
}

fn bars_up_to(values: &[f64], highest: f64) -> String {
    let bar = |value: &f64| match (value / highest * HEIGHTS.len() as f64).ceil() as usize {
        0 => '·',
        height => HEIGHTS[height.min(HEIGHTS.len()) - 1],
    };
    values.iter().map(bar).collect()
}

fn steady(one: &ContenderTimeline<'_>) -> String {
    if one.timeline.intervals.is_empty() {
        return "–".to_owned();
    }
    match one.timeline.steady {
        None => "never".to_owned(),
        Some(state) if state.from == Nanos(0) => "the start".to_owned(),
        Some(state) => duration(state.from),
    }
}

/// Returns a sentence for each contender with a long stall, with the work of the device.
fn stall_sentences(phase: &PhaseTimelines<'_>) -> Vec<String> {
    let stalls = phase.contenders.iter().filter_map(|one| Some((one, one.stall?)));
    let long = stalls.filter(|(_, record)| record.stall.length >= LONG_STALL);
    let sentence = |(one, record): (&ContenderTimeline<'_>, StallRecord<'_>)| {
        let StallRecord { round, stall, .. } = record;
        format!(
            "{}: no operation finished for {} in {} {} (round {round}, after {}){}.",
            sanitize_line(one.contender),
            duration(stall.length),
            sanitize_line(phase.test),
            sanitize_line(phase.phase),
            duration(stall.at),
            device_work(&record),
        )
    };
    long.map(sentence).collect()
}

/// Returns the work of the device during a stall.
fn device_work(record: &StallRecord<'_>) -> String {
    let StallRecord { stall, timeline, .. } = record;
    let end = Nanos(stall.at.0.saturating_add(stall.length.0));
    let during = timeline.samples.iter().filter(|one| (stall.at..=end).contains(&one.at));
    let device: Vec<_> = during.filter_map(|one| one.device).collect();
    if device.is_empty() {
        return String::new();
    }
    let written = device.iter().map(|one| one.written.0 as f64).sum();
    let read: f64 = device.iter().map(|one| one.read.0 as f64).sum();
    let flushes = device.iter().map(|one| one.flushes).fold(0, u64::saturating_add);
    let bytes = |value: f64| UnitScale::for_values(model::Unit::Bytes, [value]).with_unit(value);
    format!(
        "; the device read {}, wrote {} and got {} in this time",
        bytes(read),
        bytes(written),
        match flushes {
            1 => "1 flush".to_owned(),
            flushes => format!("{flushes} flushes"),
        }
    )
}

/// Formats a time with its unit.
pub(crate) fn duration(time: Nanos) -> String {
    let seconds = time.as_secs_f64();
    UnitScale::for_values(model::Unit::Seconds, [seconds]).with_unit(seconds)
}

#[cfg(test)]
mod tests {
    use model::{Bytes, DeviceSample, MachineSample, Stall, Timeline};

    use super::*;

    #[test]
    fn bars_show_where_nothing_finished() {
        let series = |values: &[f64]| TimelineSeries {
            kind: SeriesKind::Rate,
            window: Nanos(1),
            values: values.to_vec(),
        };
        assert_eq!(bars(&series(&[0.0, 1.0, 50.0, 100.0]), 100.0), "·▁▄█");
        assert_eq!(bars(&series(&[0.0]), 0.0), "·", "no value at all");
    }

    #[test]
    fn a_stall_says_what_the_device_did() {
        let sample = |second, written, flushes| MachineSample {
            at: Nanos::from_secs(second),
            dirty: None,
            device: Some(DeviceSample { read: Bytes(0), written: Bytes(written), flushes }),
        };
        let timeline = Timeline {
            samples: vec![sample(1, 7, 7), sample(3, 2_000_000, 1), sample(4, 3_000_000, 0)],
            ..Timeline::default()
        };
        let stall = Stall { at: Nanos::from_secs(2), length: Nanos::from_secs(2) };
        let record = StallRecord { round: 1, stall, timeline: &timeline };
        let expected = "; the device read 0 B, wrote 5.00 MB and got 1 flush in this time";
        assert_eq!(device_work(&record), expected);
        let nothing = Timeline::default();
        assert_eq!(device_work(&StallRecord { timeline: &nothing, ..record }), "");
    }
}
