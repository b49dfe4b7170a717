//! Measurements as evidence: the rounds of a campaign, compared with the statistics of every
//! report.
//!
//! The names of a study are translated by its counterparts: a phase of the study to phases of
//! fsarena, whose times are added round by round, and a contender to the campaign's contender with
//! the same filesystem. All pairs of contenders in all figures of the study are one family, so that
//! at most one in twenty reported differences is false ([`stats::inference`]).

use model::{CampaignResults, Clock, Direction, Metric, Phase, Test, Unit};
use stats::inference::{
    BlockDesign, CampaignCosts, ComparisonResult, LogCosts, PairedResult, PairwiseEstimates,
    compare_pairs, overall,
};
use stats::{Analysis, ComparisonVerdict, Margin, ResultRow, RoundOutcome, median};

use crate::claims::evidence::{
    Comparison, Evidence, FigureRef, MeasuredNumber, ObservedValue, Ranking, Unknown,
};
use crate::study::{AxisPosition, MappedPhase};
use crate::{FigureSpec, Study};

/// Metrics that are added if several phases correspond to one phase of the study.
const SUMS: [Metric; 3] = [Metric::Elapsed, Metric::MinorFaults, Metric::MajorFaults];

const NOT_MEASURED: ObservedValue =
    ObservedValue::Unknown(Unknown::Outcome(RoundOutcome::NotMeasured, String::new()));

/// A campaign translated to the names of a study.
#[derive(Clone, Debug)]
pub struct CampaignEvidence {
    /// Pairs of the contender's name in the study and in the campaign.
    contenders: Vec<(String, String)>,
    /// Measurements by figure of the study.
    figures: Vec<Measurements>,
    clock: Clock,
    margin: Margin,
    /// Reason for figures that depend on the volume size, if it differs from the study.
    out_of_scale: Option<String>,
    /// Comparison of every pair in every figure, in the order of [`PairwiseEstimates::pairs`].
    pairs: Vec<Vec<Option<ComparisonResult>>>,
}

/// Measurements of one figure.
#[derive(Clone, Debug)]
struct Measurements {
    path: String,
    higher: bool,
    /// Whether the numbers depend on the machine as much as on the filesystem.
    is_of_machine: bool,
    /// Whether the figure depends on the size of the volume.
    is_of_size: bool,
    /// Unit of the study, which the values use.
    unit: String,
    /// Values of each contender by round, or the reason for their absence.
    values: Vec<Result<Vec<Option<f64>>, ObservedValue>>,
}

impl CampaignEvidence {
    /// Translates a campaign to the names of a study. Missing contenders and figures are unknown.
    pub fn new(study: &Study, results: &CampaignResults, analysis: &Analysis) -> Self {
        let contenders = contenders(study, results);
        let rounds = rounds(results);
        let figures = study.figures.figures.iter().filter_map(|figure| {
            let found = counterpart_rows(study, figure, results, analysis)?;
            let mut values = measurements(figure, &found, &contenders, rounds);
            values.is_of_size |= is_of_size(study, figure);
            Some(values)
        });
        let figures: Vec<Measurements> = figures.collect();
        let clock = analysis.clock;
        let costs = CampaignCosts {
            contenders: contenders.len(),
            rows: figures
                .iter()
                .enumerate()
                .map(|(test, figure)| LogCosts {
                    test,
                    is_size: false,
                    logs: (0..contenders.len()).map(|one| figure.logs(one)).collect(),
                })
                .collect(),
            exact: clock == Clock::Virtual,
            ends_by_results: analysis.ends_by_results,
        };
        let pairs = match contenders.len() > 1 && !figures.is_empty() {
            true => PairwiseEstimates::from_costs(costs).every_pair(analysis.margin),
            false => Vec::new(),
        };
        Self {
            contenders,
            figures,
            clock,
            margin: analysis.margin,
            out_of_scale: out_of_scale(study, results),
            pairs,
        }
    }

    /// Returns the campaign's contender that corresponds to a contender of the study.
    pub fn contender(&self, name: &str) -> Option<&str> {
        let found = self.contenders.iter().find(|(own, _)| own == name)?;
        Some(&found.1)
    }

    fn contender_place(&self, name: &str) -> Option<usize> {
        self.contenders.iter().position(|(own, _)| own == name)
    }

    fn figure_place(&self, path: &str) -> Option<usize> {
        self.figures.iter().position(|figure| figure.path == path)
    }

    const fn pairing(&self) -> BlockDesign {
        match self.clock {
            Clock::Virtual => BlockDesign::Deterministic,
            Clock::Real => BlockDesign::PairedByRound,
        }
    }

    fn one(&self, contender: &str, path: &str) -> ObservedValue {
        let Some(one) = self.contender_place(contender) else {
            return ObservedValue::Unknown(Unknown::NotInCampaign);
        };
        let Some(figure) = self.figure_place(path) else {
            return ObservedValue::Unknown(Unknown::NoResult);
        };
        if let Some(why) = self.out_of_scale(path) {
            return ObservedValue::Unknown(Unknown::Text(why));
        }
        let figure = &self.figures[figure];
        match &figure.values[one] {
            Err(known) => known.clone(),
            Ok(values) => {
                let values: Vec<f64> = values.iter().flatten().copied().collect();
                let Some(middle) = median(&values) else {
                    return NOT_MEASURED;
                };
                let ends =
                    |start, fold: fn(f64, f64) -> f64| values.iter().copied().fold(start, fold);
                ObservedValue::Number(MeasuredNumber {
                    low: ends(f64::INFINITY, f64::min),
                    high: ends(0.0, f64::max),
                    shown: digits(middle),
                    unit: figure.unit.clone(),
                })
            }
        }
    }

    /// Compares two contenders in a figure, by the statistics over its rounds.
    fn contenders_beside(&self, one: &str, other: &str, figure: usize) -> Option<ComparisonResult> {
        let [a, b] = [one, other].map(|name| self.contender_place(name));
        let (a, b) = (a?, b?);
        let count = self.contenders.len();
        // Index of a pair, by its first and second contender. The pair holds the cost of the second
        // compared with the first.
        let number = |first: usize, second: usize| {
            first * (2 * count - first - 1) / 2 + (second - first - 1)
        };
        let pairs = self.pairs.get(figure)?;
        match a < b {
            true => pairs.get(number(a, b)).copied().flatten().map(ComparisonResult::reversed),
            false if b < a => pairs.get(number(b, a)).copied().flatten(),
            false => None,
        }
    }

    /// Compares the means of two contenders over several figures, or two figures of one contender.
    fn means_beside(&self, one: FigureRef<'_>, other: FigureRef<'_>) -> Option<ComparisonResult> {
        let beside: Option<Vec<PairedResult>> = one
            .figures
            .iter()
            .zip(other.figures)
            .enumerate()
            .map(|(row, (own, others))| {
                Some(PairedResult {
                    row,
                    test: row,
                    contender: 0,
                    before: self.logs(other.contender, others)?,
                    after: self.logs(one.contender, own)?,
                })
            })
            .collect();
        let beside = beside?;
        match beside.len() {
            1 => compare_pairs(&beside, self.pairing(), self.margin).pop()?,
            _ => overall(&beside, self.pairing(), self.margin).pop()?.1,
        }
    }

    fn logs(&self, contender: &str, path: &str) -> Option<Vec<Option<f64>>> {
        let one = self.contender_place(contender)?;
        let figure = &self.figures[self.figure_place(path)?];
        let logs = figure.logs(one);
        logs.iter().any(Option::is_some).then_some(logs)
    }
}

impl Evidence for CampaignEvidence {
    fn value(&self, place: FigureRef<'_>) -> ObservedValue {
        if let [only] = place.figures {
            return self.one(place.contender, only);
        }
        let mut share = 0.0;
        for path in place.figures {
            let values = match self.one(place.contender, path) {
                ObservedValue::Number(_) => self.logs(place.contender, path),
                other => return other,
            };
            let own = values.and_then(|logs| mean(&logs));
            let all = self.contenders.iter();
            let best = all.filter_map(|(name, _)| mean(&self.logs(name, path)?));
            let best = best.reduce(f64::min);
            let Some((own, best)) = own.zip(best) else {
                return NOT_MEASURED;
            };
            share += best - own;
        }
        let share = (share / place.figures.len().max(1) as f64).exp();
        ObservedValue::Number(MeasuredNumber {
            low: share,
            high: share,
            shown: format!("{share:.3}"),
            unit: "of the best".to_owned(),
        })
    }

    fn compare(&self, one: FigureRef<'_>, other: FigureRef<'_>) -> Option<Comparison> {
        let [ObservedValue::Number(own), ObservedValue::Number(others)] =
            [one, other].map(|place| self.value(place))
        else {
            return None;
        };
        let figure = self.figure_place(one.figures.first()?)?;
        let is_plain = one.figures.len() == 1 && one.figures == other.figures;
        if is_plain && let Some(compared) = beside_zero(&own, &others, self.figures[figure].higher)
        {
            return Some(compared);
        }
        let compared = match is_plain {
            true => self.contenders_beside(one.contender, other.contender, figure),
            false => self.means_beside(one, other),
        };
        let Some(compared) = compared else {
            // There are too few rounds to decide.
            return Some(Comparison { low: 0.0, high: f64::INFINITY, order: Ranking::Undecided });
        };
        // The comparison is of costs; for a rate, the cost is the inverse.
        let is_rate = one.figures.len() != 1 || self.figures[figure].higher;
        let (low, high) = match is_rate {
            true => (1.0 / compared.high, 1.0 / compared.low),
            false => (compared.low, compared.high),
        };
        Some(Comparison {
            low,
            high,
            order: match compared.verdict {
                ComparisonVerdict::BetterByAtLeast(_) => Ranking::Better,
                ComparisonVerdict::WorseByAtLeast(_) => Ranking::Worse,
                ComparisonVerdict::EqualWithin(_) | ComparisonVerdict::Identical => Ranking::Same,
                ComparisonVerdict::Undecided { .. } => Ranking::Undecided,
            },
        })
    }

    fn is_higher_better(&self, figure: &str) -> bool {
        let place = self.figure_place(figure);
        place.is_some_and(|place| self.figures[place].higher)
    }

    fn is_other_machine(&self, place: FigureRef<'_>) -> bool {
        let figures = place.figures.iter().filter_map(|path| self.figure_place(path));
        // The mean of several figures consists of shares of the best, which do not depend on the
        // machine.
        place.figures.len() == 1
            && figures.into_iter().any(|place| self.figures[place].is_of_machine)
    }

    fn out_of_scale(&self, figure: &str) -> Option<String> {
        let place = self.figure_place(figure)?;
        let why = self.out_of_scale.as_ref()?;
        self.figures[place].is_of_size.then(|| why.clone())
    }

    fn is_measured(&self) -> bool {
        true
    }
}

/// Compares two numbers if at least one is 0 in every round, because logarithms cannot compare them.
/// Returns `None` otherwise.
fn beside_zero(one: &MeasuredNumber, other: &MeasuredNumber, higher: bool) -> Option<Comparison> {
    let (is_zero, is_other_zero) = (one.high == 0.0, other.high == 0.0);
    let (low, high, order) = match (is_zero, is_other_zero) {
        (false, false) => return None,
        (true, true) => (1.0, 1.0, Ranking::Same),
        // In some rounds both are 0.
        (true, false) if other.low == 0.0 => (0.0, f64::INFINITY, Ranking::Undecided),
        (false, true) if one.low == 0.0 => (0.0, f64::INFINITY, Ranking::Undecided),
        (true, false) => (0.0, 0.0, Ranking::Better),
        (false, true) => (f64::INFINITY, f64::INFINITY, Ranking::Worse),
    };
    Some(Comparison { low, high, order: if higher { order.reversed() } else { order } })
}

/// Returns true if the figure is about creating or checking the volume.
fn is_of_size(study: &Study, figure: &FigureSpec) -> bool {
    let counterpart = study.counterpart(&figure.test, &figure.phase);
    counterpart.is_some_and(|of| of.parts.iter().any(|part| part.is_of_size))
}

/// Returns the reason why figures that depend on the volume size do not apply, if the size differs
/// from the study. The space left for files, and the time to create and to check a volume, are not
/// proportional to its size: the sizes of journals, logs and tables follow other rules.
fn out_of_scale(study: &Study, results: &CampaignResults) -> Option<String> {
    let size = results.campaign.size;
    (size != study.size).then(|| {
        let then = study.size;
        let now = match size.0 {
            0 => "is not known here".to_owned(),
            _ => format!("is {size} here"),
        };
        format!("the size of the volume decides it, which {now} and was {then} in the study")
    })
}

/// Returns true if values of the metric depend on the machine as much as on the filesystem. This
/// applies to times and rates, shares of a processor, and page faults.
fn is_of_machine(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Cpu
            | Metric::CpuDriver
            | Metric::CpuMachine
            | Metric::MinorFaults
            | Metric::MajorFaults
    ) || matches!(metric.unit(), Unit::Seconds | Unit::BytesPerSecond | Unit::PerSecond)
}

impl Measurements {
    /// Returns the logarithms of a contender's cost in each round.
    fn logs(&self, contender: usize) -> Vec<Option<f64>> {
        let Ok(values) = &self.values[contender] else {
            return Vec::new();
        };
        let sign = if self.higher { -1.0 } else { 1.0 };
        let log = |value: f64| (value > 0.0).then(|| sign * value.ln());
        values.iter().map(|value| log((*value)?)).collect()
    }
}

fn mean(logs: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = logs.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Returns the campaign's contender for each contender of the study: the first one with the same
/// filesystem.
fn contenders(study: &Study, results: &CampaignResults) -> Vec<(String, String)> {
    let competed = &results.campaign.contenders;
    let all = study.figures.contenders.iter().filter_map(|contender| {
        let filesystem = contender.catalog.as_ref()?;
        let found = competed.iter().find(|c| c.filesystem.name == *filesystem)?;
        Some((contender.name.clone(), found.name.clone()))
    });
    all.collect()
}

fn rounds(results: &CampaignResults) -> usize {
    let rounds = results.cells.iter().map(|cell| cell.cell.round).max();
    usize::try_from(rounds.unwrap_or(0)).unwrap_or(0)
}

/// Returns the rows that correspond to a figure, grouped by phase. Several rows of a phase are
/// points of a sweep.
fn counterpart_rows<'a>(
    study: &Study,
    figure: &FigureSpec,
    results: &CampaignResults,
    analysis: &'a Analysis,
) -> Option<Vec<Vec<&'a ResultRow>>> {
    let metric = figure.matching_metric()?;
    let parts = &study.counterpart(&figure.test, &figure.phase)?.parts;
    let mut all = Vec::new();
    for part in parts {
        for names in phases(part, results) {
            let rows: Vec<&ResultRow> = names
                .iter()
                .filter_map(|(test, phase)| {
                    let is_it = |row: &&ResultRow| {
                        row.test == *test && row.phase == *phase && row.metric == metric
                    };
                    analysis.rows.iter().find(is_it)
                })
                .collect();
            match (rows.is_empty(), part.phase.as_str()) {
                // A pattern for all phases may match phases without a time.
                (true, "*") => {}
                (true, _) => return None,
                (false, _) => all.push(rows),
            }
        }
    }
    let adds_up = all.len() == 1 || SUMS.contains(&metric);
    (!all.is_empty() && adds_up).then_some(all)
}

/// Returns the phases of a part: one phase at each point of a sweep, or with `*` all phases except
/// preparations.
fn phases<'a>(part: &MappedPhase, results: &'a CampaignResults) -> Vec<Vec<(&'a str, &'a str)>> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let named = |test: &&Test| test.sweep_name() == part.test || test.name == part.test;
    let tests: Vec<&Test> = tests.filter(named).collect();
    let tests = at_points(&tests, part);
    if part.phase == "*" {
        let phases = tests.iter().flat_map(|test| {
            let counts = |phase: &&Phase| !phase.is_preparation();
            let phases = test.phases.iter().filter(counts);
            phases.map(|phase| vec![(test.name.as_str(), phase.name.as_str())])
        });
        return phases.collect();
    }
    let points = tests.iter().filter_map(|test| {
        let phase = test.phases.iter().find(|phase| phase.name == part.phase)?;
        Some((test.name.as_str(), phase.name.as_str()))
    });
    let points: Vec<_> = points.collect();
    match points.is_empty() {
        true => Vec::new(),
        false => vec![points],
    }
}

/// Selects the requested points of a sweep.
fn at_points<'a>(tests: &[&'a Test], part: &MappedPhase) -> Vec<&'a Test> {
    let Some((axis, point)) = part.at else {
        return tests.to_vec();
    };
    let value = |test: &&Test| {
        let point = test.sweep.as_ref()?;
        point.at.get(&axis).copied()
    };
    let values: Vec<u64> = tests.iter().filter_map(value).collect();
    let wanted = match point {
        AxisPosition::Value(value) => Some(value),
        AxisPosition::Largest => values.iter().copied().max(),
        AxisPosition::Smallest => values.iter().copied().min(),
    };
    let is_there = |test: &&&Test| wanted.is_some() && value(test) == wanted;
    tests.iter().filter(is_there).copied().collect()
}

/// Returns the unit in which values are shown and its factor to fsarena's unit: the unit of the
/// study, or a common unit if the study prints none.
fn unit_of(figure: &FigureSpec) -> (String, f64) {
    let of_metric = figure.matching_metric().map(Metric::unit);
    let (unit, scale) = match of_metric.filter(|_| figure.unit.is_empty()) {
        Some(Unit::BytesPerSecond) => ("MB/s", 1e6),
        Some(Unit::PerSecond) => ("/s", 1.0),
        Some(Unit::Seconds) => ("s", 1.0),
        _ => (figure.unit.as_str(), figure.scale().unwrap_or(1.0)),
    };
    (unit.to_owned(), scale)
}

/// Returns the values of a figure: the geometric mean over the points of each part, added over
/// several parts.
fn measurements(
    figure: &FigureSpec,
    parts: &[Vec<&ResultRow>],
    contenders: &[(String, String)],
    rounds: usize,
) -> Measurements {
    let (unit, scale) = unit_of(figure);
    let values = contenders.iter().map(|(_, name)| {
        let failed = parts.iter().flatten().find_map(|row| why_none(row, name));
        if let Some(known) = failed {
            return Err(known);
        }
        let round = |number: usize| {
            let sums = parts.iter().map(|rows| match rows[..] {
                // A single number can be 0: a count of page faults, for example.
                [row] => value(row, name, number),
                _ => {
                    let log = |row: &&ResultRow| {
                        value(row, name, number).filter(|v| *v > 0.0).map(f64::ln)
                    };
                    let logs: Vec<f64> = rows.iter().map(log).collect::<Option<_>>()?;
                    Some((logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp())
                }
            });
            Some(sums.sum::<Option<f64>>()? / scale)
        };
        Ok((1..=rounds).map(round).collect())
    });
    Measurements {
        path: figure.path(),
        higher: figure.direction == Direction::Higher,
        is_of_machine: figure.matching_metric().is_none_or(is_of_machine),
        is_of_size: figure.matching_metric() == Some(Metric::Capacity),
        unit,
        values: values.collect(),
    }
}

fn value(row: &ResultRow, contender: &str, round: usize) -> Option<f64> {
    let result = row.results.iter().find(|result| result.contender == contender)?;
    let found = result.rounds.iter().find(|value| value.round as usize == round);
    found?.value
}

/// Returns the reason why a contender has no number in a row, or `None` if it has one.
fn why_none(row: &ResultRow, contender: &str) -> Option<ObservedValue> {
    let Some(result) = row.results.iter().find(|result| result.contender == contender) else {
        return Some(ObservedValue::Unknown(Unknown::NotInCampaign));
    };
    let bad = result.rounds.iter().find(|round| round.outcome.is_failure());
    match bad.map(|round| round.outcome) {
        // A test that cannot be tried does not show the quality of a filesystem.
        Some(outcome @ (RoundOutcome::Unsupported | RoundOutcome::Skipped)) => {
            Some(ObservedValue::Unknown(Unknown::Outcome(outcome, String::new())))
        }
        Some(outcome) => Some(ObservedValue::Outcome(outcome, String::new())),
        None if result.estimate.is_none() => Some(NOT_MEASURED),
        None => None,
    }
}

/// Formats a number with four digits.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        large if large >= 1000.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.1}"),
        large if large >= 10.0 => format!("{value:.2}"),
        large if large >= 1.0 => format!("{value:.3}"),
        // Small numbers have the same number of digits: 0.001234.
        small => {
            let zeros = -small.log10().floor() as usize;
            format!("{value:.*}", (zeros + 3).min(9))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(low: f64, high: f64) -> MeasuredNumber {
        MeasuredNumber { low, high, shown: digits(high), unit: "count".to_owned() }
    }

    #[test]
    fn numbers_that_are_0_are_compared() {
        let order = |one, other, higher| {
            beside_zero(&one, &other, higher).map(|compared: Comparison| compared.order)
        };
        let (zero, some, at_times) = (number(0.0, 0.0), number(2.0, 3.0), number(0.0, 3.0));
        assert_eq!(zero.shown, "0");
        assert_eq!(order(zero.clone(), zero.clone(), false), Some(Ranking::Same));
        assert_eq!(order(zero.clone(), some.clone(), false), Some(Ranking::Better));
        assert_eq!(order(zero.clone(), some.clone(), true), Some(Ranking::Worse));
        assert_eq!(order(some.clone(), zero.clone(), false), Some(Ranking::Worse));
        assert_eq!(order(at_times.clone(), zero, false), Some(Ranking::Undecided));
        assert_eq!(order(some, at_times, false), None);
    }
}
