//! One result over many campaigns, with the points at which its level changed.
//!
//! The latest campaign with the result defines comparability: the same clock, backend, work, end
//! and cache state. Other campaigns are excluded and named. The value of a campaign is the median
//! over its rounds. Campaigns in which a round failed are shown with that status and are excluded
//! from the search for changes.

use std::collections::BTreeMap;

use model::{CampaignResults, Contender, Direction, Metric, Nanos, Phase, ResultSelector, Unit};
use serde::Serialize;

use crate::comparisons::setting_diff::{clock, contender_differences, host};
use crate::estimate::change_points::change_points;
use crate::{AnalysedCampaign, ResultRow, RobustEstimate, RoundOutcome, RoundValue, median};

/// A campaign's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// Number of the campaign.
    pub campaign: i64,
    /// Its name.
    pub name: String,
    /// Start of the campaign, in nanoseconds since 1970.
    pub started: Nanos,
    /// Version of fsarena.
    pub program: String,
    /// The kernel.
    pub kernel: String,
    /// Estimate over the rounds, or `None` if no round gave a value or if a round failed.
    pub estimate: Option<RobustEstimate>,
    /// Names of the outcomes of rounds without a value, such as `failed`.
    #[serde(rename = "words")]
    pub outcomes: Vec<String>,
}

/// A change of level between two campaigns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// Index of the first point after the change, in [`Series::points`].
    pub at: usize,
    /// Probability that chance alone causes a difference of this size.
    pub p: f64,
    /// The median of the campaigns before the change, back to the previous change.
    pub before: f64,
    /// The median of the campaigns after the change, up to the next change.
    pub after: f64,
    /// Whether the change is for the worse, or `None` if the metric has no direction.
    pub worse: Option<bool>,
}

/// A result of one contender over the campaigns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Metric of the values.
    pub metric: Metric,
    /// Their unit.
    pub unit: Unit,
    /// Direction of better values.
    pub direction: Direction,
    /// A point for each campaign, the oldest first.
    pub points: Vec<HistoryPoint>,
    /// Changes of level.
    pub changes: Vec<LevelChange>,
    /// The standard deviation of campaigns around their level, as a share, or `None` with fewer
    /// than three campaigns.
    #[serde(default)]
    #[serde(rename = "between")]
    pub between_campaign_sd: Option<f64>,
    /// Variation between the rounds of a campaign: the median over the campaigns.
    #[serde(default)]
    pub within: Option<f64>,
}

/// A campaign that is not comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcludedCampaign {
    /// Number of the campaign.
    pub campaign: i64,
    /// Why.
    #[serde(rename = "why")]
    pub reason: String,
}

/// The history of one or several results over many campaigns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// A series for each result and contender.
    pub series: Vec<Series>,
    /// Campaigns that have such a result but are not comparable, the oldest first.
    #[serde(rename = "left_out")]
    pub excluded: Vec<ExcludedCampaign>,
}

/// Properties that all points of a series share.
struct HistoryReference {
    suite: String,
    test: String,
    phase: Phase,
    metric: Metric,
    conditions: [String; 4],
}

/// Collects a history one campaign at a time, so that only one must be in memory.
pub struct HistoryBuilder<'a> {
    result: &'a ResultSelector,
    contenders: &'a [String],
    references: Vec<HistoryReference>,
    /// Each contender with its settings in the latest campaign that has it.
    seen: BTreeMap<String, Contender>,
    history: History,
}

/// Returns a collector of the results of a pattern, for these contenders, or for all if none is
/// named.
pub const fn history<'a>(
    result: &'a ResultSelector,
    contenders: &'a [String],
) -> HistoryBuilder<'a> {
    HistoryBuilder {
        result,
        contenders,
        references: Vec::new(),
        seen: BTreeMap::new(),
        history: History { series: Vec::new(), excluded: Vec::new() },
    }
}

impl HistoryBuilder<'_> {
    /// Adds a campaign. The latest must be added first because it defines comparability.
    pub fn add(&mut self, campaign: AnalysedCampaign<'_>) {
        let (results, result) = (campaign.results, self.result);
        let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
        for test in tests {
            let sweep = test.sweep.as_ref().map(|point| point.sweep.as_str());
            for phase in &test.phases {
                if !result.matches_phase(&test.name, sweep, &phase.name) {
                    continue;
                }
                let rows = campaign.analysis.rows.iter().filter(|row| {
                    row.suite == test.suite && row.test == test.name && row.phase == phase.name
                });
                for row in rows.filter(|row| result.matches_metric(row.metric, row.primary)) {
                    // A campaign that has not tried the contenders does not define comparability.
                    let has_tried = |round: &RoundValue| {
                        round.outcome.is_planned() && round.outcome != RoundOutcome::NotRun
                    };
                    let is_of_them = row.results.iter().any(|one| {
                        self.is_wanted(&one.contender) && one.rounds.iter().any(has_tried)
                    });
                    if is_of_them && self.is_comparable(results, row, phase) {
                        self.take(results, row);
                    }
                }
            }
        }
    }

    /// Whether the history is of this contender.
    fn is_wanted(&self, contender: &String) -> bool {
        self.contenders.is_empty() || self.contenders.contains(contender)
    }

    /// Returns the history with its changes of level.
    pub fn finish(mut self) -> History {
        self.history.excluded.reverse();
        for series in &mut self.history.series {
            series.points.reverse();
            series.changes = changes(series);
            series.between_campaign_sd = between(series);
            series.within = within(series);
        }
        self.history
    }

    fn is_comparable(&mut self, results: &CampaignResults, row: &ResultRow, phase: &Phase) -> bool {
        let memory = results.campaign.memory;
        let memory =
            memory.map_or_else(|| "no limit of memory".to_owned(), |m| format!("{m} of memory"));
        let backend = results.campaign.backend.to_string();
        let conditions = [clock(results), backend, memory, host(results)];
        let known = self
            .references
            .iter()
            .find(|r| r.suite == row.suite && r.test == row.test && r.is_of(row));
        let Some(reference) = known else {
            self.references.push(HistoryReference {
                suite: row.suite.clone(),
                test: row.test.clone(),
                phase: phase.clone(),
                metric: row.metric,
                conditions,
            });
            return true;
        };
        let Some(why) = reference.differs(&conditions, phase) else {
            return true;
        };
        self.leave_out(results, why);
        false
    }

    fn leave_out(&mut self, results: &CampaignResults, why: String) {
        let (campaign, left_out) = (results.id, &mut self.history.excluded);
        // Campaigns arrive one after another, so an already excluded campaign is the last of the
        // list.
        if left_out.last().is_none_or(|last| last.campaign != campaign) {
            left_out.push(ExcludedCampaign { campaign, reason: why });
        }
    }

    /// Whether a contender is the same as the one with this name in the latest campaign.
    fn is_the_same(&mut self, results: &CampaignResults, name: &str) -> bool {
        let mut contenders = results.campaign.contenders.iter();
        let Some(contender) = contenders.find(|contender| contender.name == name) else {
            return false;
        };
        let known = self.seen.entry(name.to_owned());
        let known = known.or_insert_with(|| contender.clone());
        let differ = contender_differences(results, known, contender);
        let Some(first) = differ.first() else {
            return true;
        };
        let why = format!("{name} has another {}", first.setting);
        self.leave_out(results, why);
        false
    }

    fn take(&mut self, results: &CampaignResults, row: &ResultRow) {
        let environment = results.environments.last();
        for result in &row.results {
            let contender = &result.contender;
            if !(self.is_wanted(contender) && self.is_the_same(results, contender)) {
                continue;
            }
            let sound = result.estimate.filter(|_| !result.has_failed_rounds());
            let words = result.outcome_counts();
            let point = HistoryPoint {
                campaign: results.id,
                name: results.campaign.name.clone(),
                started: results.started,
                program: environment.map_or_else(String::new, |e| e.program.clone()),
                kernel: environment.map_or_else(String::new, |e| e.kernel.clone()),
                estimate: sound,
                outcomes: words.iter().map(|(o, _)| o.name().to_owned()).collect(),
            };
            let known = self.history.series.iter_mut().find(|series| {
                series.contender == result.contender
                    && series.test == row.test
                    && series.phase == row.phase
                    && series.metric == row.metric
            });
            match known {
                Some(series) => series.points.push(point),
                None => self.history.series.push(Series {
                    contender: result.contender.clone(),
                    test: row.test.clone(),
                    phase: row.phase.clone(),
                    metric: row.metric,
                    unit: row.unit,
                    direction: row.direction,
                    points: vec![point],
                    changes: Vec::new(),
                    between_campaign_sd: None,
                    within: None,
                }),
            }
        }
    }
}

impl HistoryReference {
    fn is_of(&self, row: &ResultRow) -> bool {
        self.phase.name == row.phase && self.metric == row.metric
    }

    /// Returns the reason if a campaign's result is not comparable.
    fn differs(&self, conditions: &[String; 4], phase: &Phase) -> Option<String> {
        let [clock, backend, memory, host] = conditions;
        if *clock != self.conditions[0] {
            Some(format!("it is in {clock}"))
        } else if *backend != self.conditions[1] {
            Some(format!("its backend is {backend}"))
        } else if *memory != self.conditions[2] {
            Some(format!("it has {memory}"))
        } else if *host != self.conditions[3] {
            Some(format!("it ran on {host}"))
        } else if phase.op != self.phase.op {
            Some(format!("the work of {} is another", phase.name))
        } else if phase.cache != self.phase.cache || phase.sync_at_end != self.phase.sync_at_end {
            Some(format!("{} was measured in a different way", phase.name))
        } else {
            None
        }
    }
}

/// Returns the changes of a series, with the levels before and after.
fn changes(series: &Series) -> Vec<LevelChange> {
    let points = series.points.iter().enumerate();
    let values: Vec<(usize, f64)> =
        points.filter_map(|(place, point)| Some((place, point.estimate?.median))).collect();
    let medians: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let found = change_points(&medians);
    let mut borders: Vec<usize> = found.iter().map(|change| change.at).collect();
    borders.insert(0, 0);
    borders.push(medians.len());
    let level = |from: usize, to: usize| median(&medians[from..to]).unwrap_or_default();
    found
        .iter()
        .zip(borders.windows(3))
        .map(|(change, border)| {
            let (before, after) = (level(border[0], border[1]), level(border[1], border[2]));
            LevelChange {
                at: values[change.at].0,
                p: change.p,
                before,
                after,
                worse: match series.direction {
                    Direction::Higher => Some(after < before),
                    Direction::Lower => Some(after > before),
                    Direction::Neutral => None,
                },
            }
        })
        .collect()
}

/// Returns the variation of campaigns around the level that they belong to.
fn between(series: &Series) -> Option<f64> {
    let mut levels: Vec<Vec<f64>> = vec![Vec::new()];
    let mut changes = series.changes.iter().peekable();
    for (place, point) in series.points.iter().enumerate() {
        if changes.next_if(|change| change.at == place).is_some() {
            levels.push(Vec::new());
        }
        levels.last_mut()?.extend(point.estimate.map(|e| e.median.ln()));
    }
    let count: usize = levels.iter().map(Vec::len).sum();
    let freedom = count.checked_sub(levels.len()).filter(|freedom| *freedom > 1)?;
    let squares = levels.iter().filter(|level| !level.is_empty()).map(|level| {
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        level.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
    });
    let deviation = (squares.sum::<f64>() / freedom as f64).sqrt();
    deviation.is_finite().then_some(deviation)
}

fn within(series: &Series) -> Option<f64> {
    let variations =
        series.points.iter().filter_map(|point| Some(point.estimate?.variation? / 100.0));
    median(&variations.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use model::{BackendKind, Bytes, Op};

    use super::*;
    use crate::{analyse, fixture};

    /// Creates a plain campaign in which all writes take this percentage of their usual time.
    fn campaign(id: i64, percent: u64) -> CampaignResults {
        let mut results = fixture::plain();
        results.id = id;
        for stored in &mut results.cells {
            let write = &mut stored.result.as_mut().unwrap().phases[0];
            // Small differences, so that no two values are equal.
            write.elapsed = Nanos(write.elapsed.0 / 100 * percent + id.unsigned_abs() * 37 % 11);
        }
        results
    }

    fn of(campaigns: &[CampaignResults], result: &str, contenders: &[&str]) -> History {
        let pattern = result.parse().unwrap();
        let names: Vec<String> = contenders.iter().map(|n| (*n).to_owned()).collect();
        let mut collector = history(&pattern, &names);
        for results in campaigns.iter().rev() {
            let analysis = analyse(results);
            collector.add(AnalysedCampaign { results, analysis: &analysis });
        }
        collector.finish()
    }

    #[test]
    fn a_step_is_located_between_the_right_campaigns() {
        let campaigns: Vec<CampaignResults> =
            (1..=10).map(|id| campaign(id, if id <= 5 { 100 } else { 125 })).collect();
        let history = of(&campaigns, "file/write", &["fast", "slow"]);
        assert_eq!(history.series.len(), 2);
        let fast = &history.series[0];
        assert_eq!(fast.contender, "fast");
        let ids: Vec<i64> = fast.points.iter().map(|p| p.campaign).collect();
        assert_eq!(ids, (1..=10).collect::<Vec<_>>());
        let [change] = &fast.changes[..] else { panic!("one change: {:?}", fast.changes) };
        assert_eq!(fast.points[change.at].campaign, 6);
        assert_eq!(change.worse, Some(true), "throughput went down");
        assert!((change.after / change.before - 0.8).abs() < 1e-3);
        assert!(change.p <= crate::estimate::change_points::ALPHA);
    }

    #[test]
    fn incomparable_campaigns_are_excluded_with_the_reason() {
        let mut campaigns: Vec<CampaignResults> = (1..=3).map(|id| campaign(id, 100)).collect();
        campaigns[0].campaign.backend = BackendKind::Dir;
        if let Op::Io(io) = &mut campaigns[1].campaign.suites[0].tests[0].phases[0].op {
            io.size = Some(Bytes::mib(1));
        }
        let history = of(&campaigns, "file/write", &[]);
        let why: Vec<(i64, &str)> =
            history.excluded.iter().map(|l| (l.campaign, l.reason.as_str())).collect();
        let wanted = [(1, "its backend is dir"), (2, "the work of write is another")];
        assert_eq!(why, wanted);
        assert!(history.series.iter().all(|s| s.points.len() == 1));
    }

    #[test]
    fn the_latest_campaign_with_the_contender_defines_comparability() {
        let mut campaigns: Vec<CampaignResults> = (1..=2).map(|id| campaign(id, 100)).collect();
        campaigns[1].campaign.backend = BackendKind::Dir;
        campaigns[1].campaign.contenders.retain(|one| one.name != "fast");
        campaigns[1].cells.retain(|stored| stored.cell.contender != "fast");
        let history = of(&campaigns, "file/write", &["fast"]);
        assert_eq!(history.excluded, []);
        let points = history.series[0].points.iter().map(|point| point.campaign);
        assert_eq!(points.collect::<Vec<_>>(), [1]);
        assert_eq!(of(&campaigns, "file/write", &[]).excluded[0].campaign, 1);
    }

    #[test]
    fn a_campaign_with_a_failed_round_is_shown_and_not_searched() {
        let mut campaigns: Vec<CampaignResults> =
            (1..=14).map(|id| campaign(id, if id <= 7 { 100 } else { 200 })).collect();
        let phase = &mut campaigns[2].cells[0].result.as_mut().unwrap().phases[0];
        phase.status = model::Status::Failed;
        let history = of(&campaigns, "file/write", &["fast"]);
        let series = &history.series[0];
        assert_eq!(series.points[2].estimate, None);
        assert_eq!(series.points[2].outcomes, ["failed"]);
        let [change] = &series.changes[..] else { panic!("one change: {:?}", series.changes) };
        assert_eq!(series.points[change.at].campaign, 8);
    }

    #[test]
    fn a_campaign_that_has_just_begun_is_no_reference_and_one_that_failed_is() {
        let mut campaigns = [campaign(1, 100), campaign(2, 100)];
        campaigns[1].campaign.backend = model::BackendKind::Dir;
        for stored in &mut campaigns[1].cells {
            stored.result = None;
        }
        let history = of(&campaigns, "file/write", &["fast"]);
        assert_eq!(history.excluded, []);
        let points = history.series[0].points.iter().map(|point| point.campaign);
        assert_eq!(points.collect::<Vec<_>>(), [1]);
        campaigns[1] = campaign(2, 100);
        let results = campaigns[1].cells.iter_mut().filter_map(|stored| stored.result.as_mut());
        results.flat_map(|result| &mut result.phases).for_each(|phase| {
            phase.status = model::Status::Failed;
        });
        let history = of(&campaigns, "file/write", &["fast"]);
        assert_eq!(history.series[0].points.len(), 2, "a failure is a result");
    }

    #[test]
    fn an_unknown_result_has_an_empty_history() {
        let history = of(&[campaign(1, 100)], "file/nothing", &[]);
        assert_eq!(history, History::default());
    }
}
