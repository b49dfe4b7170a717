//! One row of the tables: a metric of a phase, with a figure for each contender.

use std::collections::BTreeSet;

use model::{CacheState, CampaignResults, Direction, End, Metric, Phase, Test, Unit};
use serde::{Deserialize, Serialize};

use crate::rows::ceiling::{Bounds, CeilingRange};
use crate::rows::facts::{Facts, PhaseFact};
use crate::rows::figure::grows_with_work;
use crate::statistics::pairwise::{Comparison, compare_all};
use crate::statistics::rank::{Competitor, rank};
use crate::{Figure, Outcome, RoundValue};

/// Whether the contenders of a row are ranked, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// They are.
    Ranked,
    /// Neither more nor less is better.
    Neutral,
    /// A time limit ended the phase for some, so that totals are over different work.
    CutShort,
    /// The figures were taken in different cache states, and not those of baselines alone.
    DifferentCaches,
}

/// A metric of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// What the numbers say.
    pub metric: Metric,
    /// The unit of every number in the row.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Whether the tables judge the phase by this metric.
    pub headline: bool,
    /// Whether the tables show it: what judges the phase, and of random I/O the throughput beside it.
    #[serde(default)]
    pub shown: bool,
    /// What the timed part includes at its end.
    pub ends: End,
    /// The cache state that was planned.
    pub cache: CacheState,
    /// The cache states in which values were really taken.
    pub caches: Vec<CacheState>,
    /// Whether contenders are ranked.
    pub ranking: Ranking,
    /// What the device could do at best, in the row's unit; where that is known and to the point.
    #[serde(default)]
    pub ceiling: Option<f64>,
    /// Between which values that lies, where its readings differ too much for one; shares are ranges then.
    #[serde(default)]
    pub ceiling_range: Option<CeilingRange>,
    /// A figure for each contender, in the campaign's order.
    pub figures: Vec<Figure>,
}

impl Row {
    /// Every pair of contenders, compared round by round: (0, 1), (0, 2), …, (1, 2), …
    ///
    /// Computed anew at each call. Those that are not comparable are not counted by the correction.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let values: Vec<Option<Vec<Option<f64>>>> = self
            .figures
            .iter()
            .map(|figure| {
                let values = || figure.rounds.iter().map(|r| r.value).collect();
                figure.is_comparable().then(values)
            })
            .collect();
        let series: Vec<Option<&[Option<f64>]>> = values.iter().map(|v| v.as_deref()).collect();
        compare_all(&series, self.direction)
    }
}

/// Every row of a campaign, in the order of its suites; of a phase what the tables show comes first.
pub(crate) fn rows(results: &CampaignResults, facts: &Facts<'_>) -> Vec<Row> {
    let bounds = Bounds {
        calibration: results.calibration.as_ref(),
        processors: results.environments.last().map_or(1, |e| e.cpus),
    };
    let mut rows = Vec::new();
    for suite in &results.campaign.suites {
        for test in &suite.tests {
            for phase in &test.phases {
                rows.extend(rows_of_phase(results, facts, test, phase, &bounds));
            }
        }
    }
    rows
}

fn rows_of_phase(
    results: &CampaignResults,
    facts: &Facts<'_>,
    test: &Test,
    phase: &Phase,
    bounds: &Bounds<'_>,
) -> Vec<Row> {
    let contenders: Vec<Measured<'_>> = results
        .campaign
        .contenders
        .iter()
        .map(|c| Measured {
            name: &c.name,
            is_baseline: c.filesystem.is_baseline(),
            rounds: facts.phase(&c.name, &test.name, &phase.name),
        })
        .collect();
    let seen: BTreeSet<Metric> = contenders
        .iter()
        .flat_map(|c| c.rounds.iter().flat_map(|r| &r.numbers))
        .map(|number| number.metric)
        .collect();
    // What judges the phase has its row even where nobody came so far.
    let in_tables = |metric: &Metric| *metric == phase.op.headline() || seen.contains(metric);
    let shown: Vec<Metric> = phase.op.shown().filter(in_tables).collect();
    let others = seen.iter().filter(|metric| !shown.contains(metric));
    let metrics = shown.iter().chain(others).copied();
    let rows = metrics.map(|metric| row(test, phase, metric, &contenders, bounds));
    rows.collect()
}

/// A contender with what is known of a phase.
struct Measured<'a> {
    name: &'a str,
    is_baseline: bool,
    rounds: Vec<PhaseFact<'a>>,
}

fn row(
    test: &Test,
    phase: &Phase,
    metric: Metric,
    contenders: &[Measured<'_>],
    bounds: &Bounds<'_>,
) -> Row {
    let round = |fact: &PhaseFact<'_>| round_value(fact, phase, metric, bounds);
    let mut figures: Vec<Figure> = contenders
        .iter()
        .map(|c| Figure::new(c.name, c.rounds.iter().map(round).collect()))
        .collect();
    set_baselines_apart(&mut figures, contenders);
    let caches = caches_of(&figures);
    let ranking = ranking(metric, &figures);
    if ranking == Ranking::Ranked {
        give_places(&mut figures, metric.direction());
    }
    Row {
        suite: test.suite.clone(),
        test: test.name.clone(),
        phase: phase.name.clone(),
        metric,
        unit: metric.unit(),
        direction: metric.direction(),
        headline: metric == phase.op.headline(),
        shown: phase.op.shown().any(|shown| shown == metric),
        ends: phase.ends,
        cache: phase.cache,
        caches,
        ranking,
        ceiling: bounds.ceiling(phase, metric),
        ceiling_range: bounds.ceiling_range(phase, metric),
        figures,
    }
}

/// The number of one round; one that is not finite counts as not measured.
fn round_value(
    fact: &PhaseFact<'_>,
    phase: &Phase,
    metric: Metric,
    bounds: &Bounds<'_>,
) -> RoundValue {
    let value = fact
        .numbers
        .iter()
        .find(|number| number.metric == metric && number.value.is_finite())
        .map(|number| number.value);
    let outcome = match fact.outcome {
        Outcome::Ok if value.is_none() => Outcome::NotMeasured,
        outcome => outcome,
    };
    let measured = value.zip(fact.phase);
    RoundValue {
        round: fact.round,
        outcome,
        value,
        cache: fact.phase.map(|p| p.cache),
        cut_short: fact.phase.is_some_and(|p| p.cut_short),
        passes: measured.map_or(0, |(_, result)| {
            u32::try_from(result.passes.len().max(1)).unwrap_or(u32::MAX)
        }),
        ceiling_share: measured
            .and_then(|(value, result)| bounds.ceiling_share(phase, metric, value, result)),
        instrument_share: measured
            .and_then(|(_, result)| bounds.instrument_share(phase, metric, result)),
    }
}

fn values<'a>(
    figures: impl IntoIterator<Item = &'a Figure>,
) -> impl Iterator<Item = &'a RoundValue> {
    let rounds = figures.into_iter().flat_map(|f| &f.rounds);
    rounds.filter(|r| r.value.is_some())
}

fn caches_of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<CacheState> {
    let caches: BTreeSet<_> = values(figures).filter_map(|r| r.cache).collect();
    caches.into_iter().collect()
}

/// Baselines whose cache state is not that of the others, which is to be expected of what lives in memory, must
/// not keep the others from being ranked.
fn set_baselines_apart(figures: &mut [Figure], contenders: &[Measured<'_>]) {
    let baselines = || contenders.iter().map(|c| c.is_baseline);
    let others = figures.iter().zip(baselines());
    let common = caches_of(
        others
            .filter(|(_, baseline)| !baseline)
            .map(|(figure, _)| figure),
    );
    if common.is_empty() {
        return;
    }
    for (figure, _) in figures
        .iter_mut()
        .zip(baselines())
        .filter(|(_, baseline)| *baseline)
    {
        let own = caches_of([&*figure]);
        figure.set_apart = own.iter().any(|cache| !common.contains(cache));
    }
}

fn ranking(metric: Metric, figures: &[Figure]) -> Ranking {
    let set_together = || figures.iter().filter(|f| !f.set_apart);
    if metric.direction() == Direction::Neutral {
        Ranking::Neutral
    } else if caches_of(set_together()).len() > 1 {
        Ranking::DifferentCaches
    } else if grows_with_work(metric) && values(set_together()).any(|r| r.cut_short) {
        Ranking::CutShort
    } else {
        Ranking::Ranked
    }
}

fn give_places(figures: &mut [Figure], direction: Direction) {
    let competitors: Vec<Competitor> = figures
        .iter()
        .map(|figure| Competitor {
            values: figure.rounds.iter().map(|r| r.value).collect(),
            estimate: figure.estimate.filter(|_| !figure.set_apart),
            sound: !figure.has_failed_rounds(),
        })
        .collect();
    for (figure, place) in figures.iter_mut().zip(rank(&competitors, direction)) {
        figure.place = place;
    }
}
