//! Assembles the points of a sweep: axes, borders, and for each phase its row at each point.

use std::collections::{BTreeMap, BTreeSet};

use model::{Bytes, CampaignResults, Metric, Op, SweepAxis, Test};
use serde::Serialize;

use crate::ResultRow;
use crate::estimate::knee::{Knee, knee};

/// A sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Name of the suite.
    pub suite: String,
    /// The common name of all points.
    pub name: String,
    /// Names of the tests that are the points of the sweep, in order.
    pub tests: Vec<String>,
    /// The axes with their values in rising order.
    pub axes: BTreeMap<SweepAxis, Vec<u64>>,
    /// The largest size that fits the processor's cache, if recorded.
    pub cpu_cache: Option<Bytes>,
    /// Memory available to a cell: the campaign's limit, else the memory of the machine.
    pub memory: Option<Bytes>,
    /// The phases, in their order.
    pub phases: Vec<SweptPhase>,
}

/// A metric of a phase of a sweep: the primary metric and, for random I/O, also the throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweptPhase {
    /// Name of the phase.
    pub phase: String,
    /// Metric of the values.
    pub metric: Metric,
    /// The planned points.
    pub points: Vec<SweptRow>,
    /// The knee of the curve over concurrency, for each contender in the campaign's order. Empty
    /// unless concurrency alone varies and the phase depends on it.
    pub knees: Vec<Option<Knee>>,
}

/// A phase at one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweptRow {
    /// The value on each axis.
    pub at: BTreeMap<SweepAxis, u64>,
    /// Index of the row with the results, in [`crate::Analysis::rows`].
    pub row: usize,
}

/// One axis of a sweep at fixed values of the others, for a table or a curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepSlice<'a> {
    /// The axis that varies.
    pub axis: SweepAxis,
    /// The fixed values of the other axes.
    pub held: BTreeMap<SweepAxis, u64>,
    /// The points, with their values on the axis.
    pub points: Vec<(u64, &'a SweptRow)>,
}

impl Sweep {
    /// Returns a slice over each axis that varies. The other axes are fixed at the values with the
    /// most points. Of several such values, the largest are used.
    pub fn slices<'a>(&self, phase: &'a SweptPhase) -> Vec<SweepSlice<'a>> {
        let varies = self.axes.iter().filter(|(_, values)| values.len() > 1);
        let varies: Vec<SweepAxis> = varies.map(|(axis, _)| *axis).collect();
        let first = self.axes.keys().next().copied();
        // A sweep of one point also has one slice.
        let axes = if varies.is_empty() { first.into_iter().collect() } else { varies };
        axes.into_iter().filter_map(|axis| self.slice(phase, axis)).collect()
    }

    /// Returns the values at which the other axes are held while one varies. They are chosen over
    /// the whole sweep, so every phase is shown at the same values. Returns `None` if no point has
    /// the axis.
    pub fn fixed_axes(&self, axis: SweepAxis) -> Option<BTreeMap<SweepAxis, u64>> {
        let mut places: BTreeMap<BTreeMap<SweepAxis, u64>, BTreeSet<u64>> = BTreeMap::new();
        for point in self.phases.iter().flat_map(|phase| &phase.points) {
            let (held, value) = apart(&point.at, axis)?;
            places.entry(held).or_default().insert(value);
        }
        let place = places.into_iter().max_by(|a, b| {
            (a.1.len(), a.0.values().collect::<Vec<_>>()).cmp(&(b.1.len(), b.0.values().collect()))
        });
        Some(place?.0)
    }

    fn slice<'a>(&self, phase: &'a SweptPhase, axis: SweepAxis) -> Option<SweepSlice<'a>> {
        let held = self.fixed_axes(axis)?;
        let points = phase.points.iter();
        let points = points.filter_map(|point| {
            let (at, value) = apart(&point.at, axis)?;
            (at == held).then_some((value, point))
        });
        Some(SweepSlice { axis, points: points.collect(), held })
    }

    /// Returns labels for a table line between two sizes: the limits (such as the end of a cache)
    /// between the smaller size, which may be absent, and the larger one.
    pub fn memory_boundaries(&self, before: Option<u64>, size: u64) -> Vec<(&'static str, Bytes)> {
        let named = [("CPU cache ends", self.cpu_cache), ("memory ends", self.memory)];
        let crossed = |border: Bytes| size > border.0 && before.is_none_or(|b| b <= border.0);
        named
            .into_iter()
            .filter_map(|(words, border)| Some((words, border.filter(|b| crossed(*b))?)))
            .collect()
    }
}

/// Separates the value on an axis from the values on the others.
fn apart(
    at: &BTreeMap<SweepAxis, u64>,
    axis: SweepAxis,
) -> Option<(BTreeMap<SweepAxis, u64>, u64)> {
    let mut held = at.clone();
    let value = held.remove(&axis)?;
    Some((held, value))
}

/// Returns every sweep of a campaign, in the order of its suites.
pub(crate) fn sweeps(results: &CampaignResults, rows: &[ResultRow]) -> Vec<Sweep> {
    let campaign = &results.campaign;
    let environment = results.environments.last();
    let cpu_cache = environment.and_then(model::Environment::cpu_cache);
    let all = environment.map(|e| e.memory).filter(|memory| memory.0 > 0);
    // If contenders have different memory limits, there is no common memory size.
    let mut limits = campaign.contenders.iter().map(|c| campaign.memory_for(c));
    let is_one = limits.all(|limit| limit == campaign.memory);
    let memory = campaign.memory.or(all).filter(|_| is_one);
    let mut shown: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.shown) {
        shown.entry((row.suite.as_str(), row.test.as_str())).or_default().push(number);
    }
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let mut sweeps: Vec<Sweep> = Vec::new();
    for test in tests {
        let Some(point) = &test.sweep else { continue };
        let known = sweeps.iter().position(|s| s.suite == test.suite && s.name == point.sweep);
        let index = known.unwrap_or_else(|| {
            sweeps.push(Sweep {
                suite: test.suite.clone(),
                name: point.sweep.clone(),
                tests: Vec::new(),
                axes: BTreeMap::new(),
                cpu_cache,
                memory,
                phases: Vec::new(),
            });
            sweeps.len() - 1
        });
        let of_test = shown.get(&(test.suite.as_str(), test.name.as_str()));
        let of_test = of_test.map_or(&[][..], Vec::as_slice);
        take(&mut sweeps[index], test, &point.at, rows, of_test);
    }
    for sweep in &mut sweeps {
        let is_last = |t: &&Test| t.suite == sweep.suite && sweep.tests.last() == Some(&t.name);
        let tests = || campaign.suites.iter().flat_map(|suite| &suite.tests);
        if let Some(last) = tests().find(is_last) {
            find_knees(sweep, last, rows);
        }
    }
    sweeps
}

/// Adds a point to its sweep. `shown` contains the numbers of the rows of the point that tables
/// show.
fn take(
    sweep: &mut Sweep,
    test: &Test,
    at: &BTreeMap<SweepAxis, u64>,
    rows: &[ResultRow],
    shown: &[usize],
) {
    sweep.tests.push(test.name.clone());
    for (axis, value) in at {
        let values = sweep.axes.entry(*axis).or_default();
        if let Err(place) = values.binary_search(value) {
            values.insert(place, *value);
        }
    }
    for &row in shown {
        let of = &rows[row];
        let is_same = |p: &SweptPhase| p.phase == of.phase && p.metric == of.metric;
        let known = sweep.phases.iter().position(is_same);
        let index = known.unwrap_or_else(|| {
            sweep.phases.push(SweptPhase {
                phase: of.phase.clone(),
                metric: of.metric,
                points: Vec::new(),
                knees: Vec::new(),
            });
            sweep.phases.len() - 1
        });
        let at = at.clone();
        sweep.phases[index].points.push(SweptRow { at, row });
    }
}

/// Finds the knees of curves over which only concurrency varies. A phase follows the varied axis if
/// its concurrency at the last point, the largest, equals the value of the axis.
fn find_knees(sweep: &mut Sweep, last: &Test, rows: &[ResultRow]) {
    let varies = sweep.axes.iter().filter(|(_, values)| values.len() > 1);
    let varies: Vec<SweepAxis> = varies.map(|(axis, _)| *axis).collect();
    let [axis @ (SweepAxis::Threads | SweepAxis::Depth)] = varies[..] else {
        return;
    };
    let wanted = last.sweep.as_ref().and_then(|point| point.at.get(&axis).copied());
    for phase in &mut sweep.phases {
        let planned = last.phases.iter().find(|p| p.name == phase.phase);
        if planned.is_none_or(|p| concurrency(&p.op, axis) != wanted) {
            continue;
        }
        let contenders = phase.points.first().map_or(0, |p| rows[p.row].results.len());
        // A curve of throughput has its knee at the same place as the one of operations.
        let is_speed = matches!(phase.metric, Metric::Rate | Metric::Throughput);
        if !is_speed || !phase.points.iter().all(|point| rows[point.row].primary) {
            continue;
        }
        let curve = |contender: usize| -> Option<Vec<(u64, f64)>> {
            let points = phase.points.iter();
            points
                .map(|p| Some((p.at[&axis], rows[p.row].results[contender].estimate?.median)))
                .collect()
        };
        phase.knees = (0..contenders).map(|c| knee(&curve(c)?)).collect();
    }
}

/// Returns the concurrency of an operation along an axis.
fn concurrency(op: &Op, axis: SweepAxis) -> Option<u64> {
    match (op, axis) {
        (Op::Io(io), SweepAxis::Depth) => Some(u64::from(io.depth)),
        (Op::Io(_) | Op::Create(_) | Op::Metadata(_), SweepAxis::Threads) => {
            Some(u64::from(op.info().threads()))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
