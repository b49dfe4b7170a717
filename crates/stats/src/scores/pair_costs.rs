//! Compares pairs of contenders of a campaign, round by round: aged and fresh, with and without a
//! layer.
//!
//! All compared results are one family ([`crate::inference::compare_pairs`]), and so are all sums of
//! them.

use model::{CampaignResults, Direction, Metric, WorkloadCategory};
use serde::Serialize;

use crate::inference::{BlockDesign, ComparisonResult, PairedResult, compare_pairs, overall};
use crate::results::paired::{ComparisonKey, design_within_campaign, paired_costs};
use crate::{Margin, ResultRow};

/// Cost of a contender as a multiple of the cost of another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairCost {
    /// Each result that both contenders have.
    pub results: Vec<PairResultCost>,
    /// The geometric mean over the results of each category.
    pub groups: Vec<PairCategoryCost>,
    /// The geometric mean over all results, or `None` if no round is complete.
    pub overall: Option<ComparisonResult>,
}

/// Cost in one result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairResultCost {
    /// The number of its row in the analysis.
    pub row: usize,
    /// The cost.
    pub cost: ComparisonResult,
}

/// Cost in a group of tests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairCategoryCost {
    /// The group.
    pub group: WorkloadCategory,
    /// Number of results in the mean.
    pub results: u32,
    /// The cost, or `None` if no round is complete.
    pub cost: Option<ComparisonResult>,
}

/// Indexes of two compared contenders: the cost is that of the second one.
pub(super) type ContenderPair = (usize, usize);

/// A pair in a category, or over all results.
pub(super) type PairSum = (ContenderPair, Option<WorkloadCategory>);

/// The compared rows and the costs of contenders in them.
pub(super) struct PairTable<'a> {
    rows: &'a [ResultRow],
    /// Each row paired with itself, in the form used to compare two campaigns.
    sides: Vec<(&'a ResultRow, &'a ResultRow)>,
    /// The group of each row, or `None` for rows that are not compared.
    groups: Vec<Option<WorkloadCategory>>,
    pairing: BlockDesign,
    margin: Margin,
}

impl<'a> PairTable<'a> {
    pub(super) fn new(results: &CampaignResults, rows: &'a [ResultRow], margin: Margin) -> Self {
        let group = |row: &ResultRow| -> Option<WorkloadCategory> {
            let found = results.campaign.category(&row.suite, &row.test, &row.phase);
            found.filter(|_| is_compared(row))
        };
        Self {
            rows,
            sides: rows.iter().map(|row| (row, row)).collect(),
            groups: rows.iter().map(group).collect(),
            pairing: design_within_campaign(results.campaign.clock),
            margin,
        }
    }

    /// Returns the costs of both in a row. `contender` identifies the pair.
    fn beside(
        &self,
        (before, after): ContenderPair,
        number: usize,
        contender: usize,
    ) -> Option<PairedResult> {
        let row = &self.rows[number];
        let results = (row, &row.results[before], &row.results[after]);
        paired_costs(results, ComparisonKey { number, contender }, &self.sides)
    }

    /// Returns the numbers of the compared rows of a category, or of all categories.
    fn numbers(&self, group: Option<WorkloadCategory>) -> impl Iterator<Item = usize> + '_ {
        let groups = self.groups.iter().enumerate();
        let is_in =
            move |of: &Option<WorkloadCategory>| of.is_some() && (group.is_none() || *of == group);
        groups.filter(move |(_, of)| is_in(of)).map(|(number, _)| number)
    }

    /// Returns the cost of each pair.
    pub(super) fn costs(&self, pairs: &[ContenderPair]) -> Vec<PairCost> {
        let singles = self.singles(pairs);
        let sums = self.sums(pairs);
        let cost = |pair: &ContenderPair| {
            let parts = || sums.iter().filter(move |((of, _), ..)| of == pair);
            let group = |((_, group), results, cost): &(PairSum, u32, Option<ComparisonResult>)| {
                Some(PairCategoryCost { group: (*group)?, results: *results, cost: *cost })
            };
            let all = parts().find(|((_, group), ..)| group.is_none());
            let own = singles.iter().filter(|(of, _)| of == pair);
            PairCost {
                results: own.map(|(_, price)| *price).collect(),
                groups: parts().filter_map(group).collect(),
                overall: all.and_then(|(.., cost)| *cost),
            }
        };
        pairs.iter().map(cost).collect()
    }

    /// Returns the cost of each pair in each result.
    fn singles(&self, all: &[ContenderPair]) -> Vec<(ContenderPair, PairResultCost)> {
        let each = all.iter().enumerate().flat_map(|(place, pair)| {
            let besides = self.numbers(None).filter_map(move |n| self.beside(*pair, n, place));
            besides.map(|beside| (*pair, beside)).collect::<Vec<_>>()
        });
        let (of, besides): (Vec<ContenderPair>, Vec<PairedResult>) = each.unzip();
        let compared = compare_pairs(&besides, self.pairing, self.margin);
        let each = of.into_iter().zip(&besides).zip(compared);
        each.filter_map(|((pair, beside), cost)| {
            let (row, cost) = (beside.row, cost?);
            Some((pair, PairResultCost { row, cost }))
        })
        .collect()
    }

    /// Returns the cost of each pair over all results, and over the common results of each
    /// category.
    pub(super) fn sums(
        &self,
        all: &[ContenderPair],
    ) -> Vec<(PairSum, u32, Option<ComparisonResult>)> {
        let groups = WorkloadCategory::ALL.into_iter().map(Some);
        let groups: Vec<Option<WorkloadCategory>> = std::iter::once(None).chain(groups).collect();
        let (mut sums, mut besides): (Vec<(PairSum, u32)>, Vec<PairedResult>) = Default::default();
        for pair in all {
            for group in &groups {
                let numbers = self.numbers(*group);
                let own = numbers.filter_map(|n| self.beside(*pair, n, sums.len()));
                let own: Vec<PairedResult> = own.collect();
                if !own.is_empty() {
                    let count = u32::try_from(own.len()).unwrap_or(u32::MAX);
                    sums.push(((*pair, *group), count));
                    besides.extend(own);
                }
            }
        }
        let compared = overall(&besides, self.pairing, self.margin);
        let of = |(place, cost): (usize, Option<ComparisonResult>)| {
            let (sum, results) = sums[place];
            (sum, results, cost)
        };
        compared.into_iter().map(of).collect()
    }
}

/// Returns true for primary metrics with a direction. Free space is excluded, because age and
/// layers always reduce it.
fn is_compared(row: &ResultRow) -> bool {
    let no_cost = [Metric::Supported, Metric::Capacity].contains(&row.metric);
    row.primary && row.direction != Direction::Neutral && !no_cost
}
