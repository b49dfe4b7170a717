//! Costs of the rows of a campaign in the form that [`crate::inference`] needs: natural logarithms
//! (lower is better).

use std::cell::OnceCell;
use std::collections::BTreeMap;

use model::{Clock, Direction, Metric};

use crate::inference::{
    BestComparison, BlockDesign, CampaignCosts, ComparisonResult, Contrast, ExcessBound, LogCosts,
    Margin, PairedResult, PairwiseEstimates, Selected, compare_pairs,
};
use crate::results::rank::places;
use crate::results::selection::Selection;
use crate::{Rank, RankingState, ResultRow};

/// Facts about a campaign that determine how certain its results are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CampaignDesign {
    /// The clock of its measurements.
    pub clock: Clock,
    /// Whether it ended depending on its results.
    pub ends_by_results: bool,
}

/// The log costs of ranked rows, with the number of each row in the analysis.
pub(crate) struct RankedCosts {
    costs: CampaignCosts,
    /// The number of each row in the costs, by its number in the analysis.
    numbers: BTreeMap<usize, usize>,
    /// Estimates of every pair of contenders in every row, computed on first use.
    estimates: OnceCell<PairwiseEstimates>,
}

impl RankedCosts {
    /// Returns the costs of the rows of primary metrics.
    pub fn from_primary_rows(rows: &[ResultRow], design: CampaignDesign) -> Self {
        Self::of(rows, design, |row| row.primary)
    }

    fn of(rows: &[ResultRow], design: CampaignDesign, wanted: impl Fn(&ResultRow) -> bool) -> Self {
        let mut tests: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let mut costs = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if !(is_ranked(row) && wanted(row)) {
                continue;
            }
            let next = tests.len();
            let test = *tests.entry((&row.suite, &row.test)).or_insert(next);
            numbers.insert(number, costs.len());
            costs.push(LogCosts {
                test,
                is_size: matches!(row.metric, Metric::Capacity | Metric::SpaceTaken),
                logs: row.results.iter().map(|r| logs(row, r)).collect(),
            });
        }
        let costs = CampaignCosts {
            contenders: rows.first().map_or(0, |row| row.results.len()),
            rows: costs,
            exact: design.clock == Clock::Virtual,
            ends_by_results: design.ends_by_results,
        };
        Self { costs, numbers, estimates: OnceCell::new() }
    }

    /// Returns the estimates of every pair of contenders in every row.
    pub fn estimates(&self) -> &PairwiseEstimates {
        let make = || PairwiseEstimates::from_costs(self.costs.clone());
        self.estimates.get_or_init(make)
    }

    /// Returns the estimates, and the number of each row in the analysis.
    pub fn into_estimates(self) -> (PairwiseEstimates, Vec<usize>) {
        let rows = self.rows();
        let Self { costs, estimates, .. } = self;
        (estimates.into_inner().unwrap_or_else(|| PairwiseEstimates::from_costs(costs)), rows)
    }

    /// Returns the number of each row in the analysis.
    pub fn rows(&self) -> Vec<usize> {
        self.numbers.keys().copied().collect()
    }

    /// Returns the standing of each contender in a weighted sum of rows; only candidates are
    /// compared. `family` is the number of such questions that the report answers.
    pub fn weighted(
        &self,
        weights: &[(usize, f64)],
        candidates: &[bool],
        margin: Margin,
        family: usize,
    ) -> Vec<Option<Rank>> {
        let of_rows = self.of_rows(weights);
        let asked = Contrast { weights: &of_rows, takes_part: candidates, margin, family };
        let bounds = self.estimates().at_most(asked);
        let places = places(&self.estimates().weighed(asked));
        let both = places.into_iter().zip(bounds);
        both.map(|(place, bound)| {
            let share = |log: fn(&ExcessBound) -> f64| Some(log(&bound?).exp_m1());
            Some(Rank { at_most: share(|b| b.most), forecast: share(|b| b.forecast), ..place? })
        })
        .collect()
    }

    /// Returns the estimated cost of each candidate in a weighted sum of rows, as a multiple of the
    /// lowest.
    pub fn ratios(&self, weights: &[(usize, f64)], candidates: &[bool]) -> Vec<Option<f64>> {
        let differences = self.estimates().differences(&self.of_rows(weights), candidates);
        let lowest = differences.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        differences.into_iter().map(|cost| Some((cost? - lowest).exp())).collect()
    }

    /// Returns the weight of each row of the costs.
    fn of_rows(&self, weights: &[(usize, f64)]) -> Vec<f64> {
        let mut of_rows = vec![0.0; self.costs.rows.len()];
        for (row, weight) in weights {
            if let Some(number) = self.numbers.get(row) {
                of_rows[*number] += weight;
            }
        }
        of_rows
    }

    /// Ranks the selected contenders by the selected rows, and removes the ranks of all other
    /// results.
    pub fn rank_among(&self, all: &mut [ResultRow], selection: &Selection, margin: Margin) {
        let selected = Selected {
            contenders: selection.contenders.clone(),
            rows: self.numbers.keys().map(|row| selection.rows[*row]).collect(),
        };
        let [standings, gains] = self.estimates().rows_among(&selected, margin);
        for (row, number) in &self.numbers {
            give(&mut all[*row], &standings[*number], &gains[*number]);
        }
    }

    /// Compares every pair of contenders in every row. Returns for each row number the cost of the
    /// second of each pair relative to the first, in the order of [`PairwiseEstimates::pairs`].
    pub fn every_pair(&self, margin: Margin) -> BTreeMap<usize, Vec<Option<ComparisonResult>>> {
        let rows = self.numbers.keys().copied();
        rows.zip(self.estimates().every_pair(margin)).collect()
    }

    /// Compares one contender with another. Returns the number of each row that both have, with the
    /// result.
    pub fn compare(
        &self,
        one: usize,
        other: usize,
        margin: Margin,
    ) -> Vec<(usize, ComparisonResult)> {
        let results = self.costs.rows.iter().enumerate();
        let results = results.map(|(row, costs)| PairedResult {
            row,
            test: costs.test,
            contender: 0,
            before: costs.logs[other].clone(),
            after: costs.logs[one].clone(),
        });
        let pairing = match self.costs.exact {
            true => BlockDesign::Deterministic,
            false => BlockDesign::PairedByRound,
        };
        let compared = compare_pairs(&results.collect::<Vec<_>>(), pairing, margin);
        let compared = self.numbers.keys().copied().zip(compared);
        compared.filter_map(|(row, of)| Some((row, of?))).collect()
    }
}

/// Gives every result of a ranked row its place. The primary metrics, whose costs are returned, are
/// one family, all others a second one.
pub(crate) fn rank_rows(
    all: &mut [ResultRow],
    design: CampaignDesign,
    margin: Margin,
) -> RankedCosts {
    let mut rank = |primary| {
        let ranked = RankedCosts::of(all, design, |row| row.primary == primary);
        let [standings, gains] = ranked.estimates().rows_among(&ranked.costs.everything(), margin);
        for (row, number) in &ranked.numbers {
            give(&mut all[*row], &standings[*number], &gains[*number]);
        }
        ranked
    };
    rank(false);
    rank(true)
}

/// Sets the ranks of the results of a row.
fn give(row: &mut ResultRow, standing: &BestComparison, gains: &BestComparison) {
    let mut places = places(standing);
    if let [worst] = gains.shortlist[..] {
        places[worst] = places[worst].map(|place| Rank { worst: !place.shortlisted, ..place });
    }
    for (result, place) in row.results.iter_mut().zip(places) {
        result.place = place;
    }
}

/// Whether contenders can be ranked by the row: every value must have a logarithm.
fn is_ranked(row: &ResultRow) -> bool {
    let values = row.results.iter().flat_map(|r| &r.rounds);
    row.ranking == RankingState::Ranked
        && row.metric != Metric::Supported
        && values.filter_map(|r| r.value).all(|v| v > 0.0)
}

fn logs(row: &ResultRow, result: &crate::MetricResult) -> Vec<Option<f64>> {
    let comparable = result.is_comparable();
    let rounds = result.rounds.iter().map(|round| round.value);
    rounds.map(|value| Some(log_cost(value.filter(|_| comparable)?, row.direction))).collect()
}

/// Returns the logarithm of a cost: lower is better.
pub(crate) fn log_cost(value: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Higher => -value.ln(),
        Direction::Lower | Direction::Neutral => value.ln(),
    }
}
