//! Sweeps of the page: for each phase, the table of all its points, and the numbers from which the
//! script draws curves and surfaces.

use model::{CampaignResults, SweepAxis, Test};
use serde::Serialize;
use stats::{Analysis, ResultRow, Sweep, SweptPhase};

use super::data::{Metrics, RowData};
use super::{EntryView, entry, sweep_id};
use crate::tables::overview::line;
use crate::tables::sweeps::{first_point, title};
use crate::text::labels;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};
use crate::text::scale::UnitScale;

/// A sweep with all its phases.
pub(super) struct SweepView {
    pub id: String,
    /// Index in the data of the script.
    pub number: usize,
    pub name: String,
    pub title: String,
    pub rationale: String,
    pub source: String,
    /// Sizes of the caches, and curves without a knee.
    pub borders: String,
    /// Headings of the columns that locate a point.
    pub axes: Vec<&'static str>,
    pub phases: Vec<SweepPhaseView>,
}

/// A phase of a sweep.
pub(super) struct SweepPhaseView {
    pub name: String,
    pub unit: String,
    pub points: Vec<PointView>,
}

/// A point of the table.
pub(super) struct PointView {
    pub at: Vec<String>,
    pub entries: Vec<EntryView>,
}

/// Data of a sweep for the script.
#[derive(Serialize)]
pub(super) struct SweepData<'a> {
    name: String,
    /// Indices of the tests that are points of the sweep.
    tests: Vec<usize>,
    axes: Vec<AxisData>,
    /// For each axis, the points at which the other axes are held initially; `None` for the axis
    /// itself.
    held: Vec<Vec<Option<usize>>>,
    borders: Vec<BoundaryData>,
    phases: Vec<SweptData<'a>>,
}

/// An axis with its values in ascending order, and their labels.
#[derive(Serialize)]
struct AxisData {
    name: &'static str,
    values: Vec<u64>,
    shown: Vec<String>,
}

/// A file size limit up to which files fit a cache or memory.
#[derive(Serialize)]
struct BoundaryData {
    words: &'static str,
    size: u64,
}

/// A phase at all points of a sweep.
#[derive(Serialize)]
struct SweptData<'a> {
    name: String,
    points: Vec<PointData<'a>>,
}

/// A point, with the index of its value on each axis.
#[derive(Serialize)]
struct PointData<'a> {
    at: Vec<usize>,
    row: RowData<'a>,
}

/// Returns the data of all sweeps for the script.
pub(super) fn data<'a>(
    results: &CampaignResults,
    analysis: &'a Analysis,
    metrics: &Metrics<'_>,
) -> Vec<SweepData<'a>> {
    let all: Vec<&Test> = results.campaign.suites.iter().flat_map(|s| &s.tests).collect();
    let point = |sweep: &Sweep, name: &String| {
        let mut tests = all.iter();
        tests.position(|test| test.suite == sweep.suite && test.name == *name)
    };
    let of_sweep = |sweep: &Sweep| SweepData {
        name: sanitize_line(&sweep.name),
        tests: sweep.tests.iter().filter_map(|name| point(sweep, name)).collect(),
        held: sweep.axes.keys().map(|axis| held(sweep, *axis)).collect(),
        axes: sweep
            .axes
            .iter()
            .map(|(axis, values)| AxisData {
                name: axis.name(),
                values: values.clone(),
                shown: values.iter().map(|value| axis.format_long(*value)).collect(),
            })
            .collect(),
        borders: [("CPU cache ends", sweep.cpu_cache), ("memory ends", sweep.memory)]
            .into_iter()
            .filter_map(|(words, size)| Some(BoundaryData { words, size: size?.0 }))
            .collect(),
        phases: sweep.phases.iter().map(|phase| swept(sweep, phase, analysis, metrics)).collect(),
    };
    analysis.sweeps.iter().map(of_sweep).collect()
}

/// Returns the index of a value on an axis.
fn place(sweep: &Sweep, axis: SweepAxis, value: u64) -> Option<usize> {
    sweep.axes.get(&axis)?.binary_search(&value).ok()
}

fn held(sweep: &Sweep, axis: SweepAxis) -> Vec<Option<usize>> {
    let held = sweep.fixed_axes(axis).unwrap_or_default();
    let others = sweep.axes.keys();
    others.map(|other| place(sweep, *other, *held.get(other)?)).collect()
}

fn swept<'a>(
    sweep: &Sweep,
    phase: &SweptPhase,
    analysis: &'a Analysis,
    metrics: &Metrics<'_>,
) -> SweptData<'a> {
    let scale = scale(phase, analysis);
    let points = phase.points.iter().filter_map(|point| {
        Some(PointData {
            at: point
                .at
                .iter()
                .map(|(axis, value)| place(sweep, *axis, *value).unwrap_or_default())
                .collect(),
            row: RowData::for_sweep_point(&analysis.rows[point.row], scale?, metrics),
        })
    });
    SweptData { name: sanitize_line(&phase.phase), points: points.collect() }
}

/// Returns one scale for all points of a phase, so that they can be compared.
fn scale(phase: &SweptPhase, analysis: &Analysis) -> Option<UnitScale> {
    let rows = || phase.points.iter().map(|point| &analysis.rows[point.row]);
    let results = rows().flat_map(|row: &ResultRow| &row.results);
    let medians: Vec<f64> = results.filter_map(|f| Some(f.estimate?.median)).collect();
    Some(UnitScale::for_metric(rows().next()?.metric, medians))
}

pub(super) fn sweeps(results: &CampaignResults, analysis: &Analysis) -> Vec<SweepView> {
    let views = analysis.sweeps.iter().enumerate();
    views
        .filter_map(|(number, sweep)| {
            let test = first_point(results, sweep)?;
            Some(view(number, sweep, test, results, analysis))
        })
        .collect()
}

fn view(
    number: usize,
    sweep: &Sweep,
    test: &Test,
    results: &CampaignResults,
    analysis: &Analysis,
) -> SweepView {
    let name = sanitize_line(&sweep.name);
    let source = results.campaign.suites.iter().find(|s| s.name == sweep.suite);
    SweepView {
        id: sweep_id(&name, analysis),
        number,
        title: title(test),
        rationale: sanitize_paragraph(&test.rationale),
        source: source.map(|s| sanitize_line(&s.source)).unwrap_or_default(),
        borders: borders(sweep),
        axes: sweep.axes.keys().map(|axis| axis.name()).collect(),
        phases: sweep.phases.iter().map(|phase| of_phase(phase, analysis)).collect(),
        name,
    }
}

/// Describes the sizes up to which files fit the caches. Returns an empty text if the sweep has no
/// axis of sizes.
fn borders(sweep: &Sweep) -> String {
    if !sweep.axes.contains_key(&SweepAxis::Size) {
        return String::new();
    }
    let fit = |what: &str, size: Option<model::Bytes>| match size {
        Some(size) => format!("files up to {size} fit {what}"),
        None => format!("how large {what} is was not recorded"),
    };
    let cache = fit("the processor's cache", sweep.cpu_cache);
    let memory = fit("the memory that a cell may use", sweep.memory);
    format!("At most, {cache}, and {memory}.")
}

fn of_phase(phase: &SweptPhase, analysis: &Analysis) -> SweepPhaseView {
    let rows = || phase.points.iter().map(|point| &analysis.rows[point.row]);
    let scale = scale(phase, analysis);
    let points = phase.points.iter().zip(rows()).filter_map(|(point, row)| {
        let line = line(row, String::new(), scale.as_ref()?);
        let at = point.at.iter();
        Some(PointView {
            at: at.map(|(axis, value)| axis.format_long(*value)).collect(),
            entries: line.entries.iter().map(entry).collect(),
        })
    });
    let direction = rows().next().map(|row| row.direction);
    SweepPhaseView {
        name: sanitize_line(&phase.phase),
        unit: direction.zip(scale.as_ref()).map_or_else(String::new, |(direction, scale)| {
            format!("{} {}", scale.symbol(), labels::arrow(direction))
        }),
        points: points.collect(),
    }
}
