//! The sweeps of the page: for each phase a curve for each slice, and the table of all its points.

use analyse::{Analysis, Slice, Sweep, SweptPhase};
use model::{Axis, CampaignResults, Test};

use super::{EntryView, entry, sweep_id};
use crate::line_chart::{Curve, LineChart, draw};
use crate::overview::line;
use crate::scale::Scale;
use crate::sweeps::{first_point, over, title};
use crate::text::{clean, prose};
use crate::words;

/// A sweep with all its phases.
pub(super) struct SweepView {
    pub id: String,
    pub name: String,
    pub title: String,
    pub rationale: String,
    pub source: String,
    /// Where the caches end, and where no curve bends.
    pub borders: String,
    /// Heads of the columns that say where a point lies.
    pub axes: Vec<&'static str>,
    pub phases: Vec<PhaseView>,
}

/// A phase of a sweep.
pub(super) struct PhaseView {
    pub name: String,
    pub unit: String,
    pub curves: Vec<CurveView>,
    pub points: Vec<PointView>,
}

/// A curve for each contender over one axis.
pub(super) struct CurveView {
    pub caption: String,
    pub svg: String,
}

/// A point of the table.
pub(super) struct PointView {
    pub at: Vec<String>,
    pub entries: Vec<EntryView>,
}

pub(super) fn sweeps(results: &CampaignResults, analysis: &Analysis) -> Vec<SweepView> {
    let views = analysis.sweeps.iter();
    views
        .filter_map(|sweep| Some(view(sweep, first_point(results, sweep)?, results, analysis)))
        .collect()
}

fn view(sweep: &Sweep, test: &Test, results: &CampaignResults, analysis: &Analysis) -> SweepView {
    let name = clean(&sweep.name);
    let source = results
        .campaign
        .suites
        .iter()
        .find(|s| s.name == sweep.suite);
    SweepView {
        id: sweep_id(&name, analysis),
        title: title(test),
        rationale: prose(&test.rationale),
        source: source.map(|s| clean(&s.source)).unwrap_or_default(),
        borders: borders(sweep),
        axes: sweep.axes.keys().map(|axis| axis.name()).collect(),
        phases: sweep
            .phases
            .iter()
            .map(|phase| of_phase(sweep, phase, analysis))
            .collect(),
        name,
    }
}

/// Where the caches end, where the sweep is one of sizes.
fn borders(sweep: &Sweep) -> String {
    if !sweep.axes.contains_key(&Axis::Size) {
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

fn of_phase(sweep: &Sweep, phase: &SweptPhase, analysis: &Analysis) -> PhaseView {
    let rows = || phase.points.iter().map(|point| &analysis.rows[point.row]);
    let figures = rows().flat_map(|row| &row.figures);
    let medians: Vec<f64> = figures.filter_map(|f| Some(f.estimate?.median)).collect();
    let unit = rows().next().map(|row| (row.unit, row.direction));
    let scale = unit.map(|(unit, _)| Scale::of(unit, medians));
    let points = phase.points.iter().zip(rows()).filter_map(|(point, row)| {
        let line = line(row, String::new(), scale.as_ref()?);
        let at = point.at.iter();
        Some(PointView {
            at: at.map(|(axis, value)| axis.show(*value)).collect(),
            entries: line.entries.iter().map(entry).collect(),
        })
    });
    PhaseView {
        name: clean(&phase.phase),
        unit: unit
            .zip(scale.as_ref())
            .map_or_else(String::new, |((_, direction), scale)| {
                format!("{} {}", scale.symbol(), words::arrow(direction))
            }),
        points: points.collect(),
        curves: scale.as_ref().map_or_else(Vec::new, |scale| {
            let slices = sweep.slices(phase);
            let several = slices.iter().filter(|slice| slice.points.len() > 1);
            several
                .map(|slice| curve(sweep, phase, slice, scale, analysis))
                .collect()
        }),
    }
}

fn curve(
    sweep: &Sweep,
    phase: &SweptPhase,
    slice: &Slice<'_>,
    scale: &Scale,
    analysis: &Analysis,
) -> CurveView {
    let value = |contender: usize, row: usize| {
        let estimate = analysis.rows[row].figures[contender].estimate?;
        Some(scale.scaled(estimate.median))
    };
    let contenders = analysis.contenders.iter().enumerate();
    let curves = contenders.map(|(index, name)| Curve {
        name: clean(name),
        values: slice
            .points
            .iter()
            .map(|(_, point)| value(index, point.row))
            .collect(),
    });
    let caption = over(slice);
    let mut before = None;
    let mut rules = Vec::new();
    for (place, (size, _)) in slice.points.iter().enumerate() {
        if slice.axis == Axis::Size {
            let borders = sweep.borders(before, *size);
            rules.extend(borders.into_iter().map(|(words, _)| (place, words)));
        }
        before = Some(*size);
    }
    let chart = LineChart {
        description: format!(
            "Line chart: {} {caption}, a line for each contender; the table below it has the numbers.",
            clean(&phase.phase)
        ),
        ticks: slice
            .points
            .iter()
            .map(|(value, _)| slice.axis.show(*value))
            .collect(),
        rules,
        curves: curves.collect(),
    };
    CurveView {
        caption,
        svg: draw(&chart),
    }
}
