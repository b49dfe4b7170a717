//! Data of the campaign for the page's script, as one block of JSON. It is kept short, because a
//! page with twenty contenders contains a hundred thousand rounds. Numbers are rounded here, as in
//! every other format.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::{
    CampaignResults, Clock, Direction, DriverKind, HostSetting, Metric, PosixClass,
    RecoveryMechanism,
};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use stats::{Analysis, MetricResult, ResultRow, median, median_interval};

use super::disk::{self, DiskMaps};
use super::phases::{notes, reading_order};
use super::{heat_map, phase_id, sweeps, uses};
use crate::UnitScale;
use crate::tables::overview::{LOWER_BOUND, entry, row_scale, status_counts};
use crate::text::command::{closer_answer, rerun_command};
use crate::text::conclusions::{self, describe_rank};
use crate::text::labels;
use crate::text::labels::moment;
use crate::text::sanitize::{sanitize_line, short_names};
use crate::text::scale::three_digits;
use crate::text::summary;
use crate::text::title::{self, headline};

/// Maximum length of a name in the margin of a chart, in columns of text.
const LABEL_COLUMNS: usize = 16;

/// Returns where and when the results were measured. The part that a narrow chart cuts is last.
fn source(results: &CampaignResults) -> String {
    let machine = results.environments.last();
    let host = machine.and_then(|machine| machine.condition(HostSetting::HOST)).map(sanitize_line);
    let parts = [
        (results.id > 0).then(|| format!("campaign {}", results.id)),
        (results.started.0 > 0).then(|| labels::day(results.started)),
        host,
        machine.map(summary::processor),
        title::kernel(results),
        Some(title::place(results)),
        Some(results.campaign.profile.to_string()),
    ];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// The data for the script.
#[derive(Serialize)]
pub(super) struct PageData<'a> {
    /// Description of the campaign in one line.
    title: String,
    /// Start date of the campaign.
    date: String,
    /// Where and when the results were measured, for pictures.
    source: String,
    /// Number of the campaign in its store.
    number: i64,
    /// Command that repeats the campaign.
    command: &'a str,
    /// Texts for answers that leave nothing open, and for answers that more rounds may not settle.
    settled: [String; 2],
    contenders: Vec<ContenderData>,
    groups: Vec<GroupData>,
    metrics: Vec<MetricData>,
    /// Texts of captions.
    notes: Vec<String>,
    tests: Vec<TestData>,
    phases: Vec<PhaseData<'a>>,
    sweeps: Vec<sweeps::SweepData<'a>>,
    uses: Vec<uses::UseData>,
    /// Whether contenders use several disks, with separate groups for each disk.
    #[serde(rename = "byDisk", skip_serializing_if = "std::ops::Not::not")]
    by_disk: bool,
    /// The use case shown initially: the first that has an answer.
    #[serde(rename = "firstUse")]
    first_use: usize,
    inference: uses::InferenceData,
    /// The confidence that an interval reaches, in percent, by the number of rounds.
    confidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<disk::SimulationData>,
    /// Upper ends of the steps of the colour scale, as ratios to the best.
    steps: [f64; 6],
}

#[derive(Serialize)]
struct ContenderData {
    name: String,
    /// For sentences.
    said: String,
    /// For tables.
    label: String,
    /// Short name for the margins of charts.
    short: String,
    /// Mechanism that keeps it consistent when the power fails, such as `has a journal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<&'static str>,
    /// Losses in power cuts, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cuts: Option<String>,
}

#[derive(Serialize)]
struct GroupData {
    title: String,
    /// Contenders of the group. A contender may be in several groups.
    members: Vec<usize>,
    /// Whether the campaign defines the group. Other groups follow from probed features.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    named: bool,
}

#[derive(Serialize)]
struct MetricData {
    name: &'static str,
    title: &'static str,
    definition: &'static str,
}

#[derive(Serialize)]
struct TestData {
    name: String,
    title: String,
    /// The total over all steps for each contender, in seconds; `None` if the total is invalid.
    /// Empty for tests with one step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    totals: Vec<Option<ShortNumber>>,
}

#[derive(Serialize)]
struct PhaseData<'a> {
    id: String,
    test: usize,
    name: String,
    /// The step, if it may have several phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    rows: Vec<RowData<'a>>,
    /// The activity of the simulated disk of each contender, if it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk: Vec<Option<disk::DiskData>>,
}

/// A row. Field names have one letter, since there are thousands of rows.
#[derive(Serialize)]
pub(super) struct RowData<'a> {
    /// Index of the row's metric.
    m: usize,
    /// Index of the row in the inference, if contenders are ranked by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    i: Option<usize>,
    /// Unit of all numbers of the row.
    u: &'static str,
    /// Label of an axis, if it is more than the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<&'static str>,
    /// 1 if more is better, −1 if less is better, 0 if neither.
    d: i8,
    /// Whether whole numbers are shown without decimals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    whole: bool,
    /// Whether the row is drawn next to the primary metric of the phase.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    beside: bool,
    /// Decimal places, if they are equal for all numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    digits: Option<usize>,
    /// Caption texts, as indices into [`PageData::notes`].
    n: Vec<usize>,
    /// Order of the contenders in the table, if the row is ordered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    o: Vec<usize>,
    /// For each contender of a primary metric, the ratio of the best result to its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    r: Vec<Option<ShortNumber>>,
    /// One result for each contender.
    f: Vec<ResultData<'a>>,
}

/// A result in the scale of its row: median, signs, place, variation, rounds, and the ends of its
/// interval if these differ from those of the rounds. Most results have no sign and no place, and a
/// median that follows from their rounds: these are written as bare numbers, the variation and the
/// rounds.
struct ResultData<'a> {
    row: &'a ResultRow,
    result: &'a MetricResult,
    scale: UnitScale,
}

/// Index of each phase in [`PageData::phases`], by the indices of its test and of the phase within it.
pub(crate) type PhaseNumbers = BTreeMap<(usize, usize), usize>;

/// Suite, test, phase and metric of a row.
type RowKey<'a> = (&'a str, &'a str, &'a str, Metric);

fn row_key(row: &ResultRow) -> RowKey<'_> {
    (&row.suite, &row.test, &row.phase, row.metric)
}

/// Metrics that occur, in the order of the reports, and the indices of rows in the inference.
pub(super) struct Metrics<'a> {
    all: RefCell<Vec<Metric>>,
    ranked: BTreeMap<RowKey<'a>, usize>,
    /// Texts of captions without duplicates.
    notes: RefCell<Vec<String>>,
}

impl<'a> Metrics<'a> {
    fn of(analysis: &'a Analysis, rows: &uses::InferenceRows) -> Self {
        let seen: BTreeSet<Metric> = analysis.rows.iter().map(|row| row.metric).collect();
        let ranked = rows.iter();
        Self {
            all: RefCell::new(seen.into_iter().collect()),
            ranked: ranked.map(|(row, number)| (row_key(&analysis.rows[*row]), *number)).collect(),
            notes: RefCell::default(),
        }
    }

    /// Returns the indices of caption texts, adding new texts.
    fn noted(&self, notes: Vec<String>) -> Vec<usize> {
        let mut known = self.notes.borrow_mut();
        notes.into_iter().map(|note| intern(&mut known, note)).collect()
    }

    /// Returns the index of a metric, adding a new one.
    fn place(&self, metric: Metric) -> usize {
        intern(&mut self.all.borrow_mut(), metric)
    }
}

/// Returns the index of an item, which is appended if it is new.
fn intern<T: PartialEq>(known: &mut Vec<T>, item: T) -> usize {
    known.iter().position(|other| *other == item).unwrap_or_else(|| {
        known.push(item);
        known.len() - 1
    })
}

impl<'a> RowData<'a> {
    pub(super) fn new(row: &'a ResultRow, scale: UnitScale, metrics: &Metrics<'_>) -> Self {
        let counts = matches!(row.unit, model::Unit::Count | model::Unit::Bytes);
        let results = row.results.iter();
        Self {
            m: metrics.place(row.metric),
            i: metrics.ranked.get(&row_key(row)).copied(),
            u: scale.symbol(),
            axis: Some(scale.axis()).filter(|words| *words != scale.symbol()),
            d: match row.direction {
                Direction::Higher => 1,
                Direction::Lower => -1,
                Direction::Neutral => 0,
            },
            whole: counts && scale.scaled(1.0) == 1.0,
            beside: row.shown && !row.primary,
            digits: scale.decimals(),
            n: metrics.noted(notes(row)),
            o: match row.primary {
                true => reading_order(row),
                false => Vec::new(),
            },
            r: Vec::new(),
            f: results.map(|result| ResultData { row, result, scale }).collect(),
        }
    }

    /// Adds ratios to a row of the primary metric.
    fn with_ratios(mut self, row: &ResultRow) -> Self {
        if row.primary {
            let ratios = heat_map::ratios(row).into_iter();
            self.r = ratios.map(|ratio| Some(ShortNumber::precise(ratio?))).collect();
        }
        self
    }

    /// Creates the data of a row at a sweep point. All points of the sweep share one caption.
    pub(super) fn for_sweep_point(
        row: &'a ResultRow,
        scale: UnitScale,
        metrics: &Metrics<'_>,
    ) -> Self {
        let mut data = Self::new(row, scale, metrics);
        data.n.truncate(1);
        data.o.clear();
        data
    }
}

/// Returns the JSON block, safe inside a script element, and the indices of its phases.
pub(crate) fn block(
    results: &CampaignResults,
    analysis: &Analysis,
    maps: &DiskMaps,
) -> (String, PhaseNumbers) {
    let (uses, inference, rows) = uses::data(analysis);
    let metrics = Metrics::of(analysis, &rows);
    let command = rerun_command(results);
    let (phases, numbers) = phases(results, analysis, &metrics, maps);
    let is_simulated = phases.iter().any(|phase| !phase.disk.is_empty());
    let measured = analysis.rows.iter().flat_map(|row| &row.results);
    let rounds = measured.map(|f| f.rounds.len()).max().unwrap_or(0);
    let sweeps = sweeps::data(results, analysis, &metrics);
    let data = PageData {
        title: headline(results),
        date: moment(results.started),
        source: source(results),
        number: results.id,
        command: &command,
        settled: [
            conclusions::settled_text(analysis).to_owned(),
            match analysis.clock {
                Clock::Real => closer_answer(analysis, &command),
                Clock::Virtual => conclusions::settled_text(analysis).to_owned(),
            },
        ],
        contenders: contenders(analysis),
        groups: groups(analysis),
        tests: tests(results, analysis),
        phases,
        sweeps,
        uses,
        by_disk: !analysis.by_disk.is_empty(),
        first_use: uses::first_answered(analysis),
        inference,
        confidence: (0..=rounds).map(confidence).collect(),
        steps: heat_map::STEPS,
        simulation: is_simulated.then(|| disk::SimulationData::of(results)),
        notes: metrics.notes.take(),
        metrics: metrics.all.take().into_iter().map(metric).collect(),
    };
    let json = serde_json::to_string(&data).expect("numbers and text have a form in JSON");
    // `<` occurs only in strings. In this escaped form, no text in them can end the element (HTML,
    // §4.12.1.3).
    (json.replace('<', "\\u003c"), numbers)
}

fn metric(metric: Metric) -> MetricData {
    MetricData {
        name: metric.name(),
        title: labels::title(metric),
        definition: labels::definition(metric),
    }
}

/// Returns the groups: filesystems of Linux, of other systems and of FUSE, and the groups defined
/// by the campaign.
fn groups(analysis: &Analysis) -> Vec<GroupData> {
    let of_kind = |title: &'static str| {
        let features = analysis.features.iter().enumerate();
        let members = features.filter(|(_, found)| kind(found) == title);
        GroupData {
            title: title.to_owned(),
            members: members.map(|(place, _)| place).collect(),
            named: false,
        }
    };
    let kinds = ["native", "foreign", "FUSE", "baseline"].map(of_kind);
    let probed = kinds.into_iter().filter(|group| !group.members.is_empty());
    let named = analysis.contender_groups.iter().map(|group| GroupData {
        title: sanitize_line(&group.name),
        members: group.members.clone(),
        named: true,
    });
    probed.chain(named).collect()
}

/// Returns the kind of a filesystem.
fn kind(found: &stats::ContenderFeatures) -> &'static str {
    match (found.class, found.driver) {
        (PosixClass::Baseline, _) => "baseline",
        (_, DriverKind::Fuse) => "FUSE",
        _ if labels::is_foreign(found) => "foreign",
        _ => "native",
    }
}

fn contenders(analysis: &Analysis) -> Vec<ContenderData> {
    let labels = short_names(&analysis.contenders, super::WIDEST_NAME);
    let shorts = short_names(&analysis.contenders, LABEL_COLUMNS);
    let said = conclusions::names(&analysis.contenders);
    let names = said.into_iter().zip(labels).zip(shorts);
    names
        .zip(&analysis.features)
        .map(|(((said, label), short), found)| ContenderData {
            name: sanitize_line(&found.contender),
            said,
            label,
            short,
            recovery: found
                .crash_recovery
                .filter(|by| *by != RecoveryMechanism::None)
                .map(RecoveryMechanism::description),
            cuts: found.power_cuts.as_ref().map(labels::power_cuts),
        })
        .collect()
}

fn tests(results: &CampaignResults, analysis: &Analysis) -> Vec<TestData> {
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    let totals = |test: &model::Test| {
        let mut totals = analysis.totals.iter();
        let total = totals.find(|t| t.suite == test.suite && t.test == test.name);
        let contenders = total.into_iter().flat_map(|total| &total.contenders);
        let median = |f: &stats::ContenderTotal| Some(ShortNumber(f.estimate?.median));
        contenders.map(median).collect()
    };
    let view = |test: &model::Test| TestData {
        name: sanitize_line(&test.name),
        title: sanitize_line(&test.title),
        totals: totals(test),
    };
    tests.map(view).collect()
}

/// Returns every phase of every test, except points of sweeps and feature tests.
fn phases<'a>(
    results: &CampaignResults,
    analysis: &'a Analysis,
    metrics: &Metrics<'_>,
    maps: &DiskMaps,
) -> (Vec<PhaseData<'a>>, PhaseNumbers) {
    let rows = rows_by_phase(analysis);
    let disks = disk::DiskStatsByContender::from_results(results, maps);
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    let (mut phases, mut numbers) = (Vec::new(), PhaseNumbers::new());
    for (index, test) in tests.enumerate().filter(|(_, t)| t.sweep.is_none()) {
        for (number, phase) in test.phases.iter().enumerate() {
            let key = (test.suite.as_str(), test.name.as_str(), phase.name.as_str());
            let of_phase = rows.get(&key).copied().unwrap_or_default();
            if phase.op.primary_metric() == Metric::Supported || of_phase.is_empty() {
                continue;
            }
            numbers.insert((index, number), phases.len());
            phases.push(PhaseData {
                id: phase_id(index, number),
                test: index,
                name: sanitize_line(&phase.name),
                step: phase.step.as_deref().map(sanitize_line),
                rows: of_phase
                    .iter()
                    .map(|row| RowData::new(row, row_scale(row), metrics).with_ratios(row))
                    .collect(),
                disk: disks.for_phase(&analysis.contenders, test, &phase.name),
            });
        }
    }
    (phases, numbers)
}

/// Returns the rows of each phase, by suite, test and phase. They are consecutive, and the row of
/// the primary metric is first.
pub(super) fn rows_by_phase(analysis: &Analysis) -> BTreeMap<(&str, &str, &str), &[ResultRow]> {
    fn key(row: &ResultRow) -> (&str, &str, &str) {
        (&row.suite, &row.test, &row.phase)
    }
    let together = analysis.rows.chunk_by(|a, b| key(a) == key(b));
    together.map(|rows| (key(&rows[0]), rows)).collect()
}

/// Returns the confidence of an interval over `rounds` rounds, formatted as in tables.
fn confidence(rounds: usize) -> String {
    let interval = median_interval(&vec![1.0; rounds]);
    interval.map_or_else(String::new, |i| three_digits(i.confidence * 100.0))
}

impl Serialize for ResultData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (result, scale) = (self.result, &self.scale);
        let Some(estimate) = &result.estimate else {
            let mark = if result.has_failed_rounds() { '!' } else { '-' };
            return serializer.serialize_str(&format!("{mark}{}", status_counts(result)));
        };
        let shown = entry(self.row, result, scale);
        let bound = shown.text.starts_with(LOWER_BOUND);
        let signs: String =
            bound.then_some(LOWER_BOUND).into_iter().chain(shown.signs.chars()).collect();
        let place = result.place.filter(|_| self.row.primary);
        let place = place.as_ref().map_or_else(String::new, describe_rank);
        let rounds: Vec<RoundData> = result
            .rounds
            .iter()
            .map(|round| match round.value {
                Some(value) => RoundData::Value(ShortNumber::of(scale, value)),
                None => RoundData::Word(round.outcome.name()),
            })
            .collect();
        let variation = estimate.variation.map(|v| ShortNumber::read(&three_digits(v)));
        let median = ShortNumber::of(scale, estimate.median);
        let mut list = serializer.serialize_seq(None)?;
        let is_plain = signs.is_empty() && place.is_empty() && is_range(result);
        if is_plain && middle(&rounds).is_some_and(|middle| middle == median.0) {
            list.serialize_element(&variation)?;
            for round in &rounds {
                list.serialize_element(round)?;
            }
            return list.end();
        }
        list.serialize_element(&median)?;
        list.serialize_element(&signs)?;
        list.serialize_element(&place)?;
        list.serialize_element(&variation)?;
        list.serialize_element(&rounds)?;
        if !is_range(result) {
            list.serialize_element(&ShortNumber::of(scale, estimate.interval.low))?;
            list.serialize_element(&ShortNumber::of(scale, estimate.interval.high))?;
        }
        list.end()
    }
}

/// Returns the median of the rounds as shown, or `None` if a round has no value.
fn middle(rounds: &[RoundData]) -> Option<f64> {
    let values = rounds.iter().map(|round| match round {
        RoundData::Value(value) => Some(value.0),
        RoundData::Word(_) => None,
    });
    median(&values.collect::<Option<Vec<f64>>>()?)
}

/// Returns true if the interval covers exactly the smallest to the largest round.
fn is_range(result: &MetricResult) -> bool {
    let values = || result.rounds.iter().filter_map(|r| r.value);
    let (low, high) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    result.estimate.is_some_and(|e| e.interval.low == low && e.interval.high == high)
}

#[derive(Serialize)]
#[serde(untagged)]
enum RoundData {
    Value(ShortNumber),
    Word(&'static str),
}

/// A number as shown in the tables, without insignificant digits.
#[derive(Clone, Copy)]
struct ShortNumber(f64);

impl ShortNumber {
    fn of(scale: &UnitScale, value: f64) -> Self {
        Self::read(&scale.number(value))
    }

    /// Keeps enough digits for further calculations.
    fn precise(value: f64) -> Self {
        Self::read(&format!("{value:.6e}"))
    }

    /// Reads a formatted number. Any other text is NaN, which is `null` in JSON.
    fn read(shown: &str) -> Self {
        Self(shown.parse().unwrap_or(f64::NAN))
    }
}

impl Serialize for ShortNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Up to 2⁵³, a float represents every whole number exactly.
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use stats::{analyse, fixture};

    use super::*;

    #[test]
    fn a_copy_of_a_row_has_the_index_of_the_row() {
        let analysis = analyse(&fixture::plain());
        let (_, _, rows) = uses::data(&analysis);
        let metrics = Metrics::of(&analysis, &rows);
        let (row, number) = rows.first_key_value().unwrap();
        let copy = analysis.rows[*row].clone();
        assert_eq!(RowData::new(&copy, row_scale(&copy), &metrics).i, Some(*number));
    }

    #[test]
    fn a_metric_that_no_other_row_has_is_not_the_first_one() {
        let analysis = analyse(&fixture::plain());
        let (_, _, rows) = uses::data(&analysis);
        let metrics = Metrics::of(&analysis, &rows);
        let mut row = analysis.rows[0].clone();
        let known = metrics.all.borrow().clone();
        row.metric = Metric::ALL.into_iter().find(|metric| !known.contains(metric)).unwrap();
        let place = RowData::new(&row, row_scale(&row), &metrics).m;
        assert_eq!(metrics.all.take()[place], row.metric);
    }

    #[test]
    fn a_number_that_cannot_be_read_is_not_zero() {
        assert_eq!(serde_json::to_string(&ShortNumber::read("–")).unwrap(), "null");
        assert_eq!(serde_json::to_string(&ShortNumber::read("1.50")).unwrap(), "1.5");
    }
}
