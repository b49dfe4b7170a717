//! A calibration as text and numbers, and each phase's share of the raw device.

use model::{Calibration, CampaignResults, RawDevicePerformance, RepeatedValue, Unit};
use stats::{Analysis, RawDeviceRange, ResultRow};

use crate::UnitScale;
use crate::document::Block;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock, test_blocks};
use crate::text::sanitize::sanitize_line;

/// One result of a calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationLine {
    /// Name of the measurement.
    pub quantity: String,
    /// The median with its unit, or a note that it is missing.
    pub median: String,
    /// Smallest and largest value, in the same unit.
    pub range: String,
}

/// Returns the overhead of fsarena itself, one result per line.
pub fn overhead_lines(calibration: &Calibration) -> Vec<CalibrationLine> {
    let cost = &calibration.overhead;
    let seconds = |spread: RepeatedValue| RepeatedValue {
        median: spread.median * 1e-9,
        min: spread.min * 1e-9,
        max: spread.max * 1e-9,
        ..spread
    };
    [
        ("an operation without I/O", Unit::Seconds, seconds(cost.operation)),
        ("reading the clock", Unit::Seconds, seconds(cost.clock)),
        ("entering a latency", Unit::Seconds, seconds(cost.histogram)),
        ("marking data, a core", Unit::BytesPerSecond, cost.marking),
        ("verifying data, a core", Unit::BytesPerSecond, cost.verification),
    ]
    .map(|(what, unit, spread)| line(what.to_owned(), unit, Some(spread)))
    .into()
}

/// Returns the performance of the raw device, one result per line; empty if it was not measured.
pub fn raw_device_lines(calibration: &Calibration) -> Vec<CalibrationLine> {
    let Some(raw_device) = &calibration.raw_device else {
        return Vec::new();
    };
    let (long, short) =
        (RawDevicePerformance::SEQUENTIAL_BLOCK, RawDevicePerformance::RANDOM_BLOCK);
    let depth = RawDevicePerformance::DEPTH;
    let sequential = |what: &str| format!("sequential {what}, {long}");
    let random = |what: &str, depth: u32| format!("random {what}, {short}, depth {depth}");
    let (bytes, operations) = (Unit::BytesPerSecond, Unit::PerSecond);
    vec![
        line(sequential("read"), bytes, raw_device.sequential_read),
        line(sequential("write"), bytes, raw_device.sequential_write),
        line(random("read", 1), operations, raw_device.random_read),
        line(random("write", 1), operations, raw_device.random_write),
        line(random("read", depth), operations, raw_device.queued_read),
        line(random("write", depth), operations, raw_device.queued_write),
    ]
}

fn line(what: String, unit: Unit, spread: Option<RepeatedValue>) -> CalibrationLine {
    let Some(spread) = spread else {
        return CalibrationLine {
            quantity: what,
            median: "not measured".to_owned(),
            range: String::new(),
        };
    };
    let scale = UnitScale::for_values(unit, [spread.median]);
    let number = |value| scale.number(value);
    CalibrationLine {
        quantity: what,
        median: scale.with_unit(spread.median),
        range: format!("{}…{}", number(spread.min), number(spread.max)),
    }
}

/// Returns a calibration as pairs of a name and a value, for a list of facts.
pub(crate) fn facts(results: &CampaignResults) -> Vec<(String, String)> {
    let Some(calibration) = &results.calibration else {
        return Vec::new();
    };
    let value = |line: CalibrationLine| match line.range.as_str() {
        "" => (line.quantity, line.median),
        range => (line.quantity, format!("{} ({range})", line.median)),
    };
    let mut facts: Vec<_> = overhead_lines(calibration).into_iter().map(value).collect();
    facts.push(("raw device".to_owned(), sanitize_line(&calibration.device)));
    facts.extend(raw_device_lines(calibration).into_iter().map(value));
    facts
}

/// Title of the table of shares.
pub(crate) const TITLE: &str = "Share of the raw device's performance";

/// Returns the phases with at least one result as a share of the raw device, as a table like the
/// overview.
pub(crate) fn shares<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    // A sweep has hundreds of points. CSV and JSON contain them.
    let mut blocks = test_blocks(results, analysis, share_line);
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// Returns the reason for shares above 100 %, if there are any.
pub(crate) fn note(analysis: &Analysis) -> Option<Block> {
    let is_above = |row: &ResultRow| {
        let range = row.raw_device.zip(row.raw_device_range);
        let most = 100.0 * range.map_or(1.0, |(middle, range)| range.min / middle);
        row.results.iter().filter_map(|result| result.raw_device_share).any(|share| share > most)
    };
    let note = "Above 100 %: a cache below the filesystem served the test but not the measurement of the device, or the filesystem merged small requests.";
    analysis.rows.iter().any(is_above).then(|| Block::Note(note.to_owned()))
}

fn share_line(row: &ResultRow) -> Option<PhaseLine<'_>> {
    let raw_device = row.raw_device?;
    let scale = UnitScale::for_metric(row.metric, [raw_device]);
    let shares = row.results.iter().map(|result| result.raw_device_share);
    let entries: Vec<TableCell> =
        shares.map(|share| entry(share, raw_device, row.raw_device_range)).collect();
    let any = entries.iter().any(|entry| entry.tone == Style::Plain);
    any.then(|| PhaseLine {
        row: Some(row),
        label: sanitize_line(&row.phase),
        rule: None,
        unit: match row.raw_device_range {
            None => format!("% of {}", scale.with_unit(raw_device)),
            Some(RawDeviceRange { min: least, max: most }) => {
                format!("% of {}…{}", scale.number(least), scale.with_unit(most))
            }
        },
        entries,
    })
}

/// Returns a share, or its range if readings of the raw device differ: the largest reading gives
/// the smallest share.
fn entry(share: Option<f64>, raw_device: f64, range: Option<RawDeviceRange>) -> TableCell {
    let number = |share| UnitScale::for_values(Unit::Percent, [share]).number(share);
    let (text, tone) = match (share, range) {
        (Some(share), None) => (number(share), Style::Plain),
        (Some(share), Some(RawDeviceRange { min: least, max: most })) => {
            let of = |reading| number(share * raw_device / reading);
            (format!("{}…{}", of(most), of(least)), Style::Plain)
        }
        (None, _) => ("-".to_owned(), Style::Missing),
    };
    TableCell { text, signs: String::new(), tone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn a_calibration_in_lines() {
        let results = fixture::calibrated();
        let facts = facts(&results);
        let lines: Vec<String> =
            facts.iter().map(|(what, value)| format!("{what}: {value}")).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn of_a_raw_device_that_was_not_steady_shares_are_ranges() {
        let mut results = fixture::calibrated();
        let read = |results: &CampaignResults| {
            let analysis = analyse(results);
            let blocks = shares(results, &analysis);
            let mut lines = blocks.iter().flat_map(|block| &block.lines);
            let line = lines.find(|line| line.label == "read").unwrap();
            (line.unit.clone(), line.entries[0].text.clone())
        };
        let raw_device = |results: &mut CampaignResults, least: f64, most: f64| {
            let calibration = results.calibration.as_mut().unwrap();
            let read = &mut calibration.raw_device.as_mut().unwrap().sequential_read;
            let read = read.as_mut().unwrap();
            (read.min, read.max) = (least * read.median, most * read.median);
        };
        raw_device(&mut results, 0.96, 1.05);
        let (unit, steady) = read(&results);
        assert_eq!((unit.as_str(), steady.contains('…')), ("% of 80.0 MB/s", false));
        raw_device(&mut results, 0.5, 2.0);
        let (unit, range) = read(&results);
        assert_eq!(unit, "% of 40.0…160 MB/s");
        let share: f64 = steady.parse().unwrap();
        let ends: Vec<f64> = range.split('…').map(|end| end.parse().unwrap()).collect();
        assert!((ends[0] - share / 2.0).abs() < 0.1, "{range} of {steady}");
        assert!((ends[1] - share * 2.0).abs() < 0.1, "{range} of {steady}");
    }

    #[test]
    fn shares_above_the_raw_device_are_explained() {
        let mut results = fixture::calibrated();
        assert!(note(&analyse(&results)).is_some());
        results.calibration.as_mut().unwrap().raw_device = None;
        assert_eq!(note(&analyse(&results)), None);
    }

    #[test]
    fn only_phases_that_met_the_device_have_shares() {
        let mut results = fixture::calibrated();
        let cells = results.cells.iter_mut().filter_map(|c| c.result.as_mut());
        for phase in cells.flat_map(|result| &mut result.phases) {
            if phase.phase == "read" {
                phase.device = None;
            }
        }
        let analysis = analyse(&results);
        let blocks = shares(&results, &analysis);
        let phases: Vec<_> =
            blocks.iter().flat_map(|b| &b.lines).map(|l| l.label.as_str()).collect();
        assert_eq!(phases, ["write"]);
        assert!(shares(&fixture::plain(), &analyse(&fixture::plain())).is_empty());
    }
}
