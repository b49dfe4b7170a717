//! Sweeps, condensed: for each axis a slice with one row for each value, the other axes held. Lines
//! mark the end of the processor's cache and of memory, and the knees of curves over concurrency.
//!
//! All points are in CSV, JSON and the page; the table shows a readable selection.

use model::{CampaignResults, SweepAxis, Test};
use stats::{Analysis, ENOUGH, Knee, ResultRow, Sweep, SweepSlice, SweptPhase};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock, line};
use crate::text::sanitize::{sanitize_line, width};
use crate::text::scale::three_digits;

/// Returns the blocks of all sweeps, one for each axis that varies.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let sweeps = analysis.sweeps.iter();
    sweeps
        .filter_map(|sweep| Some((sweep, first_point(results, sweep)?)))
        .flat_map(|(sweep, test)| of_sweep(sweep, test, analysis))
        .collect()
}

/// Returns the test that is the first point of a sweep.
pub(crate) fn first_point<'a>(results: &'a CampaignResults, sweep: &Sweep) -> Option<&'a Test> {
    let mut tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let point = |t: &&Test| t.suite == sweep.suite && sweep.tests.first() == Some(&t.name);
    tests.find(point)
}

/// Returns the title of a sweep: the title of its points without the point.
pub(crate) fn title(test: &Test) -> String {
    let title = sanitize_line(&test.title);
    let point = test.sweep.iter().flat_map(|point| &point.at).next();
    let begin = point.map(|(axis, value)| format!(": {axis} {}", axis.format_long(*value)));
    match begin.and_then(|begin| title.rfind(&begin)) {
        Some(at) => title[..at].to_owned(),
        None => title,
    }
}

fn of_sweep<'a>(sweep: &'a Sweep, test: &'a Test, analysis: &'a Analysis) -> Vec<TestBlock<'a>> {
    let phases: Vec<(&SweptPhase, Vec<SweepSlice<'_>>)> =
        sweep.phases.iter().map(|phase| (phase, sweep.slices(phase))).collect();
    let names = sweep.phases.iter().map(|phase| width(&sanitize_line(&phase.phase)));
    let widest = names.max().unwrap_or(0);
    let mut blocks: Vec<TestBlock<'a>> = Vec::new();
    for axis in SweepAxis::ALL {
        let of_axis = || {
            phases.iter().filter_map(|(phase, slices)| {
                Some((*phase, slices.iter().find(|s| s.axis == axis)?))
            })
        };
        let Some((_, any)) = of_axis().next() else {
            continue;
        };
        blocks.push(TestBlock {
            test,
            number: None,
            name: sanitize_line(&sweep.name),
            title: format!("{}, {}", title(test), slice_label(any)),
            lines: of_axis()
                .flat_map(|(phase, slice)| lines(sweep, phase, widest, slice, analysis))
                .collect(),
        });
    }
    blocks
}

/// Length of the longest bar, in characters.
const BAR: f64 = 40.0;

/// Returns bars of the largest file of each sweep: a title and its lines, one for each contender of
/// each phase.
pub(crate) fn largest_file(
    results: &CampaignResults,
    analysis: &Analysis,
    names: &[String],
) -> Vec<(String, String)> {
    let sweeps = analysis.sweeps.iter().filter_map(|sweep| {
        let test = first_point(results, sweep)?;
        let phases = sweep.phases.iter().filter_map(|phase| {
            let slices = sweep.slices(phase);
            let slice = slices.iter().find(|slice| slice.axis == SweepAxis::Size)?;
            let (size, point) = slice.points.last()?;
            let row = &analysis.rows[point.row];
            let held = slice.held.iter().map(|(axis, value)| (*axis, *value));
            let at = [(SweepAxis::Size, *size)].into_iter().chain(held);
            let at: Vec<String> =
                at.map(|(axis, value)| format!("{axis} {}", axis.format_long(value))).collect();
            Some(format!(
                "{} ({})\n{}",
                sanitize_line(&phase.phase),
                at.join(", "),
                bars(row, names)
            ))
        });
        let phases: Vec<String> = phases.collect();
        (!phases.is_empty()).then(|| {
            let title = format!("{}, the largest file", title(test));
            (title, phases.join("\n"))
        })
    });
    sweeps.collect()
}

/// Returns a line with a bar for each contender, from 0 to the largest value.
fn bars(row: &ResultRow, names: &[String]) -> String {
    let medians = row.results.iter().map(|result| Some(result.estimate?.median));
    let medians: Vec<Option<f64>> = medians.collect();
    let largest = medians.iter().flatten().copied().fold(0.0, f64::max);
    let scale = UnitScale::for_metric(row.metric, medians.iter().flatten().copied());
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let bar = |(name, median): (&String, &Option<f64>)| {
        let space = " ".repeat(widest.saturating_sub(width(name)));
        match median {
            Some(value) => {
                let length = if largest > 0.0 { value / largest * BAR } else { 0.0 };
                let bar = "█".repeat(length.clamp(0.0, BAR).round() as usize);
                format!("  {name}{space}  {bar} {} {}\n", scale.number(*value), scale.symbol())
            }
            None => format!("  {name}{space}  none\n"),
        }
    };
    names.iter().zip(&medians).map(bar).collect()
}

/// Returns the description of a slice: `by size (block 64 KiB)`.
pub(crate) fn slice_label(slice: &SweepSlice<'_>) -> String {
    let held = slice.held.iter();
    let held: Vec<String> =
        held.map(|(axis, value)| format!("{axis} {}", axis.format_long(*value))).collect();
    match held.is_empty() {
        true => format!("by {}", slice.axis),
        false => format!("by {} ({})", slice.axis, held.join(", ")),
    }
}

fn lines<'a>(
    sweep: &Sweep,
    phase: &'a SweptPhase,
    columns: usize,
    slice: &SweepSlice<'a>,
    analysis: &'a Analysis,
) -> Vec<PhaseLine<'a>> {
    let rows = || slice.points.iter().map(|(_, point)| &analysis.rows[point.row]);
    let results = rows().flat_map(|row| &row.results);
    let medians = results.filter_map(|result| Some(result.estimate?.median));
    // All points of the curve have the same scale, so that numbers below each other can be
    // compared.
    let Some(metric) = rows().next().map(|row| row.metric) else {
        return Vec::new();
    };
    let scale = UnitScale::for_metric(metric, medians);
    let shown: Vec<String> = slice.points.iter().map(|(v, _)| slice.axis.format_long(*v)).collect();
    let widest = shown.iter().map(|text| width(text)).max().unwrap_or(0);
    let name = sanitize_line(&phase.phase);
    let mut lines = Vec::new();
    let mut before = None;
    for ((value, _), (row, shown)) in slice.points.iter().zip(rows().zip(&shown)) {
        let label = format!("{name:columns$} {shown:>widest$}");
        let mut next = line(row, label, &scale);
        if slice.axis == SweepAxis::Size {
            let ended = sweep.memory_boundaries(before, *value).into_iter();
            let ended: Vec<String> =
                ended.map(|(words, size)| format!("{words} ({size})")).collect();
            next.rule = (!ended.is_empty()).then(|| ended.join(", "));
        }
        before = Some(*value);
        lines.push(next);
    }
    if phase.knees.iter().any(Option::is_some) {
        lines.extend(knees(&name, slice.axis, &phase.knees));
    }
    lines
}

/// End of the label of a line with knees.
pub(crate) const KNEE: &str = "knee, N*";
/// Meaning of that label.
pub(crate) const KNEE_MEANING: &str =
    "knee, N*: more than this mostly wait for the busiest resource";

/// Returns the knees of the curves of a phase: N*, and the smallest concurrency with nearly the
/// maximum, followed by `+` if the curve still rises at its end.
fn knees<'a>(phase: &str, axis: SweepAxis, knees: &[Option<Knee>]) -> [PhaseLine<'a>; 2] {
    let crossing = |knee: &Knee| three_digits(knee.crossing);
    let enough = |knee: &Knee| match knee.still_rising {
        true => format!("{}+", knee.enough_at),
        false => knee.enough_at.to_string(),
    };
    let row = |label: String, show: &dyn Fn(&Knee) -> String| PhaseLine {
        row: None,
        label,
        rule: None,
        unit: axis.to_string(),
        entries: knees.iter().map(|knee| entry(knee.as_ref().map(show))).collect(),
    };
    [
        row(format!("{phase} {KNEE}"), &crossing),
        row(format!("{phase} {:.0} % at", 100.0 * ENOUGH), &enough),
    ]
}

fn entry(text: Option<String>) -> TableCell {
    TableCell {
        tone: if text.is_some() { Style::Plain } else { Style::Missing },
        text: text.unwrap_or_else(|| "unknown".to_owned()),
        signs: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn a_sweep_is_as_many_blocks_as_axes_vary() {
        let results = fixture::swept();
        let analysis = analyse(&results);
        let titles: Vec<String> =
            blocks(&results, &analysis).into_iter().map(|b| b.title).collect();
        assert_eq!(
            titles,
            [
                "One file at many sizes, by size (block 64 KiB)",
                "One file at many sizes, by block (size 1 GiB)",
                "Random reads, by threads"
            ]
        );
    }

    #[test]
    fn rules_are_above_the_first_size_that_does_not_fit() {
        let results = fixture::swept();
        let analysis = analyse(&results);
        let blocks = blocks(&results, &analysis);
        let rules: Vec<(&str, usize)> = blocks[0]
            .lines
            .iter()
            .take(4)
            .map(|line| (line.label.as_str(), usize::from(line.rule.is_some())))
            .collect();
        assert_eq!(
            rules,
            [("write 64 KiB", 0), ("write 16 MiB", 0), ("write 64 MiB", 1), ("write  1 GiB", 1)]
        );
        assert!(blocks[1].lines.iter().all(|line| line.rule.is_none()));
    }

    #[test]
    fn knee_is_unknown_if_a_point_of_the_curve_failed() {
        let mut results = fixture::swept();
        for stored in &mut results.cells {
            if stored.cell.test == "threads-8t" && stored.cell.contender == "lame" {
                stored.result = None;
            }
        }
        let analysis = analyse(&results);
        let blocks = blocks(&results, &analysis);
        let line = blocks[2].lines.iter().find(|l| l.label.contains("N*")).unwrap();
        let texts: Vec<&str> = line.entries.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(texts, ["3.00", "unknown"]);
    }
}
