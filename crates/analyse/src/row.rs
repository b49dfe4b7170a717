//! One row of the tables: a metric of a phase, with a figure for each contender.

use std::collections::BTreeSet;

use model::{CacheState, CampaignResults, Direction, End, Metric, Phase, Test, Unit};
use serde::{Deserialize, Serialize};

use crate::ceiling::Bounds;
use crate::facts::{Facts, PhaseFact};
use crate::figure::grows_with_work;
use crate::rank::{Competitor, rank};
use crate::{Figure, Outcome, RoundValue};

/// Whether the contenders of a row are ranked, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// They are.
    Ranked,
    /// Neither more nor less is better.
    Neutral,
    /// A time limit ended the phase for some, so that totals are over different work.
    CutShort,
    /// The figures were taken in different cache states.
    DifferentCaches,
}

/// A metric of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// A figure for each contender, in the campaign's order.
    pub figures: Vec<Figure>,
}

/// Every row of a campaign, in the order of its suites; of a phase the headline comes first.
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
    let contenders: Vec<(&str, Vec<PhaseFact<'_>>)> = results
        .campaign
        .contenders
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                facts.phase(&c.name, &test.name, &phase.name),
            )
        })
        .collect();
    let headline = phase.op.headline();
    let seen: BTreeSet<Metric> = contenders
        .iter()
        .flat_map(|(_, rounds)| rounds.iter().flat_map(|r| &r.numbers))
        .map(|number| number.metric)
        .collect();
    let others = seen.into_iter().filter(|metric| *metric != headline);
    std::iter::once(headline)
        .chain(others)
        .map(|metric| row(test, phase, metric, &contenders, bounds))
        .collect()
}

fn row(
    test: &Test,
    phase: &Phase,
    metric: Metric,
    contenders: &[(&str, Vec<PhaseFact<'_>>)],
    bounds: &Bounds<'_>,
) -> Row {
    let round = |fact: &PhaseFact<'_>| round_value(fact, phase, metric, bounds);
    let mut figures: Vec<Figure> = contenders
        .iter()
        .map(|(name, facts)| Figure::new(name, facts.iter().map(round).collect()))
        .collect();
    let caches = caches_of(&figures);
    let ranking = ranking(metric, &caches, &figures);
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
        ends: phase.ends,
        cache: phase.cache,
        caches,
        ranking,
        ceiling: bounds.ceiling(phase, metric),
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

fn values(figures: &[Figure]) -> impl Iterator<Item = &RoundValue> {
    figures
        .iter()
        .flat_map(|f| &f.rounds)
        .filter(|r| r.value.is_some())
}

fn caches_of(figures: &[Figure]) -> Vec<CacheState> {
    let caches: BTreeSet<_> = values(figures).filter_map(|r| r.cache).collect();
    caches.into_iter().collect()
}

fn ranking(metric: Metric, caches: &[CacheState], figures: &[Figure]) -> Ranking {
    if metric.direction() == Direction::Neutral {
        Ranking::Neutral
    } else if caches.len() > 1 {
        Ranking::DifferentCaches
    } else if grows_with_work(metric) && values(figures).any(|r| r.cut_short) {
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
            estimate: figure.estimate,
            sound: !figure.has_failed_rounds(),
        })
        .collect();
    for (figure, place) in figures.iter_mut().zip(rank(&competitors, direction)) {
        figure.place = place;
    }
}
