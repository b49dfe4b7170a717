//! What the rows of a campaign cost, as [`crate::inference`] takes it: natural logarithms, of which less is better.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use model::{Clock, Direction, Metric};

use crate::inference::{
    Beside, Compared, Costs, Estimates, Margin, Pairing, Question, RowCosts, Selected, Standing,
    pairs,
};
use crate::rows::place::places;
use crate::rows::selection::Selection;
use crate::{Place, Ranking, Row};

/// The log costs of rows that are ranked, and which row each is.
pub(crate) struct RankedCosts {
    costs: Costs,
    /// The number of each row in the costs, by its number in the analysis.
    numbers: BTreeMap<usize, usize>,
    /// What is known of every pair of contenders in every row; made when it is first asked for.
    estimates: OnceCell<Estimates>,
}

impl RankedCosts {
    /// Those of the rows by which phases are compared.
    pub fn of_primary(rows: &[Row], clock: Clock) -> Self {
        Self::of(rows, clock, |row| row.primary)
    }

    fn of(rows: &[Row], clock: Clock, wanted: impl Fn(&Row) -> bool) -> Self {
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
            costs.push(RowCosts {
                test,
                logs: row.results.iter().map(|r| logs(row, r)).collect(),
            });
        }
        let costs = Costs {
            contenders: rows.first().map_or(0, |row| row.results.len()),
            rows: costs,
            exact: clock == Clock::Virtual,
        };
        Self {
            costs,
            numbers,
            estimates: OnceCell::new(),
        }
    }

    /// What is known of every pair of contenders in every row.
    pub fn estimates(&self) -> &Estimates {
        let make = || Estimates::of(self.costs.clone());
        self.estimates.get_or_init(make)
    }

    /// The number of each row in the analysis.
    pub fn rows(&self) -> Vec<usize> {
        self.numbers.keys().copied().collect()
    }

    /// Where each contender stands in a weighted sum of rows; those who are no candidates take no part. `family` is how
    /// many such questions the report answers.
    pub fn weighed(
        &self,
        weights: &[(usize, f64)],
        candidates: &[bool],
        margin: Margin,
        family: usize,
    ) -> Vec<Option<Place>> {
        let mut of_rows = vec![0.0; self.costs.rows.len()];
        for (row, weight) in weights {
            if let Some(number) = self.numbers.get(row) {
                of_rows[*number] += weight;
            }
        }
        places(&self.estimates().weighed(Question {
            weights: &of_rows,
            takes_part: candidates,
            margin,
            family,
        }))
    }

    /// Gives the results of these rows their places among those selected, and takes it from the others.
    pub fn give_places_among(&self, all: &mut [Row], selection: &Selection, margin: Margin) {
        let selected = Selected {
            contenders: selection.contenders.clone(),
            rows: self
                .numbers
                .keys()
                .map(|row| selection.rows[*row])
                .collect(),
        };
        let [standings, gains] = self.estimates().rows_among(&selected, margin);
        for (row, number) in &self.numbers {
            give(&mut all[*row], &standings[*number], &gains[*number]);
        }
    }

    /// Every pair of contenders in every row: of each row its number, and of each pair what the second costs beside the
    /// first, in the order of [`Estimates::pairs`].
    pub fn every_pair(&self, margin: Margin) -> BTreeMap<usize, Vec<Option<Compared>>> {
        let rows = self.numbers.keys().copied();
        rows.zip(self.estimates().every_pair(margin)).collect()
    }

    /// One contender beside another, with the number of each row that both have.
    pub fn beside(&self, one: usize, other: usize, margin: Margin) -> Vec<(usize, Compared)> {
        let results = self.costs.rows.iter().enumerate();
        let results = results.map(|(row, costs)| Beside {
            row,
            test: costs.test,
            contender: 0,
            before: costs.logs[other].clone(),
            after: costs.logs[one].clone(),
        });
        let pairing = match self.costs.exact {
            true => Pairing::Exact,
            false => Pairing::Rounds,
        };
        let compared = pairs(&results.collect::<Vec<_>>(), pairing, margin);
        let compared = self.numbers.keys().copied().zip(compared);
        compared.filter_map(|(row, of)| Some((row, of?))).collect()
    }
}

/// Gives every result of a ranked row its place. The primary metrics, whose costs are given back, are one family, all others a
/// second one.
pub(crate) fn give_places(all: &mut [Row], clock: Clock, margin: Margin) -> RankedCosts {
    let of = |primary| RankedCosts::of(all, clock, |row| row.primary == primary);
    let [primary, others] = [true, false].map(of);
    for ranked in [&primary, &others] {
        let standings = ranked.estimates().rows(margin);
        // The worst of a row is the best of what it gains.
        let gains = Estimates::of(ranked.costs.negated()).rows(margin);
        for (row, number) in &ranked.numbers {
            give(&mut all[*row], &standings[*number], &gains[*number]);
        }
    }
    primary
}

/// Gives the results of a row their places.
fn give(row: &mut Row, standing: &Standing, gains: &Standing) {
    let mut places = places(standing);
    if let [worst] = gains.shortlist[..] {
        places[worst] = places[worst].map(|place| Place {
            worst: !place.shortlisted,
            ..place
        });
    }
    for (result, place) in row.results.iter_mut().zip(places) {
        result.place = place;
    }
}

/// Whether contenders can be compared by it: nothing that has no logarithm.
fn is_ranked(row: &Row) -> bool {
    let values = row.results.iter().flat_map(|r| &r.rounds);
    row.ranking == Ranking::Ranked
        && row.metric != Metric::Supported
        && values.filter_map(|r| r.value).all(|v| v > 0.0)
}

fn logs(row: &Row, result: &crate::MetricResult) -> Vec<Option<f64>> {
    let comparable = result.is_comparable();
    let rounds = result.rounds.iter().map(|round| round.value);
    rounds
        .map(|value| Some(log_cost(value.filter(|_| comparable)?, row.direction)))
        .collect()
}

/// The logarithm of a cost: lower is better.
pub(crate) fn log_cost(value: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Higher => -value.ln(),
        Direction::Lower | Direction::Neutral => value.ln(),
    }
}
