//! The cost of age: compares each aged contender with the same contender fresh, round by round, and
//! finds changes in the order of contenders.
//!
//! All compared results are one family ([`crate::inference::compare_pairs`]), and so are all sums of them.

use std::collections::BTreeSet;

use model::{AgeingSpec, CampaignResults, Contender, Direction, Metric, Phase, WorkloadCategory};
use serde::Serialize;

use crate::estimate::interval::median;
use crate::inference::{BlockDesign, ComparisonResult, PairedResult, compare_pairs, overall};
use crate::results::paired::{ComparisonKey, design_within_campaign, paired_costs};
use crate::{ComparisonVerdict, Margin, ResultRow};

/// Cost of age in a campaign; empty if no contender competes both fresh and aged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgeingCost {
    /// Each aged contender that also competes fresh, in the campaign's order.
    pub prices: Vec<ContenderAgeingCost>,
    /// Pairs of contenders that swap places.
    pub turns: Vec<RankReversal>,
    /// Cells whose aged state came from a kept image, or `None` if no cell used one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "kept")]
    pub reused_images: Option<ReusedImages>,
}

/// Number of cells that started from an aged state made earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReusedImages {
    /// These cells.
    pub cells: u64,
    /// Number of different images that the cells started from.
    pub images: u64,
}

/// Cost of a contender's age.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderAgeingCost {
    /// Index of the fresh contender in the campaign's order.
    pub fresh: usize,
    /// Index of the aged contender.
    pub aged: usize,
    /// Results of ageing, each the median over the contender's cells, or `None` if no cell was aged
    /// yet.
    pub reached: Option<AchievedAge>,
    /// Cost of age for each result that both contenders have.
    pub results: Vec<ResultAgeingCost>,
    /// The geometric mean over the results of each category.
    pub groups: Vec<CategoryAgeingCost>,
    /// The geometric mean over all results, or `None` if no round is complete.
    pub overall: Option<ComparisonResult>,
}

/// Results of ageing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AchievedAge {
    /// Fill of the filesystem, as a share.
    pub fill: f64,
    /// Number of files.
    pub files: f64,
    /// The layout score after the fill, as a share, or `None` if the filesystem does not report the
    /// location of files.
    pub layout_filled: Option<f64>,
    /// The layout score after ageing, as a share.
    pub layout_aged: Option<f64>,
    /// The share of files whose age differs from the profile.
    pub ages_apart: f64,
}

/// One result, aged compared with fresh.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultAgeingCost {
    /// The number of its row in the analysis.
    pub row: usize,
    /// Cost when aged, as a multiple of the cost when fresh.
    pub cost: ComparisonResult,
}

/// A group of tests, aged compared with fresh.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryAgeingCost {
    /// The group.
    pub group: WorkloadCategory,
    /// Number of results in the mean.
    pub results: u32,
    /// Cost when aged, as a multiple of the cost when fresh, or `None` if no round is complete.
    pub cost: Option<ComparisonResult>,
}

/// Two contenders whose order reverses: one is shown to be better fresh, and the other at the same
/// age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankReversal {
    /// Group of tests, or `None` for all results.
    pub group: Option<WorkloadCategory>,
    /// Indexes of the better and the worse contender, both fresh, in the campaign's order.
    pub fresh: [usize; 2],
    /// Indexes of the better and the worse contender, both aged: the aged versions of the same two,
    /// in reverse order.
    pub aged: [usize; 2],
}

/// Indexes of two compared contenders.
type FreshAgedPair = (usize, usize);

/// A pair in a category, or over all results.
type AgeingSum = (FreshAgedPair, Option<WorkloadCategory>);

/// Returns the cost of age in a campaign with these rows.
pub(crate) fn ageing(results: &CampaignResults, rows: &[ResultRow], margin: Margin) -> AgeingCost {
    let contenders = &results.campaign.contenders;
    let aged = aged(contenders);
    let kept = kept(results);
    if aged.is_empty() {
        return AgeingCost { reused_images: kept, ..AgeingCost::default() };
    }
    let table = AgeingTable::new(results, rows, margin);
    let own: Vec<FreshAgedPair> = aged.iter().map(|(pair, _)| *pair).collect();
    let singles = table.singles(&own);
    let sums = table.sums(&own);
    let prices = own.iter().map(|&(fresh, aged)| {
        let of_pair =
            |((pair, _), ..): &&(AgeingSum, u32, Option<ComparisonResult>)| *pair == (fresh, aged);
        let parts = || sums.iter().filter(of_pair);
        let group = |((_, group), results, cost): &(AgeingSum, u32, Option<ComparisonResult>)| {
            Some(CategoryAgeingCost { group: (*group)?, results: *results, cost: *cost })
        };
        let all = parts().find(|((_, group), ..)| group.is_none());
        ContenderAgeingCost {
            fresh,
            aged,
            reached: reached(results, &contenders[aged]),
            results: singles
                .iter()
                .filter(|(pair, _)| *pair == (fresh, aged))
                .map(|(_, price)| *price)
                .collect(),
            groups: parts().filter_map(group).collect(),
            overall: all.and_then(|(.., cost)| *cost),
        }
    });
    AgeingCost { prices: prices.collect(), turns: turns(&table, &aged), reused_images: kept }
}

/// Returns the number of cells that started from a kept image, and the number of images. Returns
/// `None` if no cell did.
fn kept(results: &CampaignResults) -> Option<ReusedImages> {
    let records = results.cells.iter().filter_map(|stored| stored.result.as_ref()?.age.as_ref());
    let hashes: Vec<&String> = records.filter_map(|record| record.image_hash.as_ref()).collect();
    let images: BTreeSet<_> = hashes.iter().collect();
    (!hashes.is_empty())
        .then_some(ReusedImages { cells: hashes.len() as u64, images: images.len() as u64 })
}

/// Returns pairs of contenders that differ only in name and age, one of them fresh, with the age of
/// the other.
fn aged(contenders: &[Contender]) -> Vec<(FreshAgedPair, &AgeingSpec)> {
    let mut pairs = Vec::new();
    for (place, contender) in contenders.iter().enumerate() {
        let mut fresh = contender.clone();
        fresh.own.age = None;
        let is_fresh = |other: &Contender| {
            let name = other.name.clone();
            *other == Contender { name, ..fresh.clone() }
        };
        let base = contenders.iter().position(is_fresh);
        if let (Some(age), Some(base)) = (&contender.own.age, base) {
            pairs.push(((base, place), age));
        }
    }
    pairs
}

fn reached(results: &CampaignResults, aged: &Contender) -> Option<AchievedAge> {
    let cells = results.cells.iter().filter(|s| s.cell.contender == aged.name);
    let records: Vec<_> = cells.filter_map(|stored| stored.result.as_ref()?.age.as_ref()).collect();
    let share = |of: &dyn Fn(&model::AgeingResult) -> Option<model::PerMille>| {
        let values = records.iter().copied().filter_map(of);
        let values: Vec<f64> = values.map(|share| f64::from(share.0) / 1000.0).collect();
        median(&values)
    };
    let files: Vec<f64> = records.iter().map(|record| record.files as f64).collect();
    Some(AchievedAge {
        fill: share(&|record| Some(record.fill))?,
        files: median(&files)?,
        layout_filled: share(&|record| record.layout_filled),
        layout_aged: share(&|record| record.layout_aged),
        ages_apart: share(&|record| Some(record.ages_apart))?,
    })
}

/// The compared rows and the costs of contenders in them.
struct AgeingTable<'a> {
    rows: &'a [ResultRow],
    /// Each row paired with itself, in the form used to compare two campaigns.
    sides: Vec<(&'a ResultRow, &'a ResultRow)>,
    /// The group of each row, or `None` for rows that are not compared.
    groups: Vec<Option<WorkloadCategory>>,
    pairing: BlockDesign,
    margin: Margin,
}

impl<'a> AgeingTable<'a> {
    fn new(results: &CampaignResults, rows: &'a [ResultRow], margin: Margin) -> Self {
        let tests = || results.campaign.suites.iter().flat_map(|suite| &suite.tests);
        let phase = |row: &ResultRow| -> Option<&Phase> {
            let mut tests = tests();
            let test = tests.find(|t| t.name == row.test && t.suite == row.suite)?;
            test.phases.iter().find(|phase| phase.name == row.phase)
        };
        let group = |row: &ResultRow| phase(row).filter(|_| is_compared(row))?.op.info().group();
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
        (before, after): FreshAgedPair,
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

    /// Returns the cost of age of each pair in each result.
    fn singles(&self, all: &[FreshAgedPair]) -> Vec<(FreshAgedPair, ResultAgeingCost)> {
        let each = all.iter().enumerate().flat_map(|(place, pair)| {
            let besides = self.numbers(None).filter_map(move |n| self.beside(*pair, n, place));
            besides.map(|beside| (*pair, beside)).collect::<Vec<_>>()
        });
        let (of, besides): (Vec<FreshAgedPair>, Vec<PairedResult>) = each.unzip();
        let compared = compare_pairs(&besides, self.pairing, self.margin);
        let each = of.into_iter().zip(&besides).zip(compared);
        each.filter_map(|((pair, beside), cost)| {
            let (row, cost) = (beside.row, cost?);
            Some((pair, ResultAgeingCost { row, cost }))
        })
        .collect()
    }

    /// Returns the cost of age of each pair over all results, and over the common results of each
    /// category.
    fn sums(&self, all: &[FreshAgedPair]) -> Vec<(AgeingSum, u32, Option<ComparisonResult>)> {
        let groups = WorkloadCategory::ALL.into_iter().map(Some);
        let groups: Vec<Option<WorkloadCategory>> = std::iter::once(None).chain(groups).collect();
        let (mut sums, mut besides): (Vec<(AgeingSum, u32)>, Vec<PairedResult>) =
            Default::default();
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

/// Returns true for primary metrics with a direction. Free space is excluded, because age always
/// reduces it.
fn is_compared(row: &ResultRow) -> bool {
    let no_cost = [Metric::Supported, Metric::Capacity].contains(&row.metric);
    row.primary && row.direction != Direction::Neutral && !no_cost
}

/// Returns the contenders that swap places between fresh and the same age.
fn turns(table: &AgeingTable<'_>, aged: &[(FreshAgedPair, &AgeingSpec)]) -> Vec<RankReversal> {
    let mut fresh_and_aged: Vec<(FreshAgedPair, FreshAgedPair)> = Vec::new();
    for (index, ((one, one_aged), age)) in aged.iter().enumerate() {
        for ((other, other_aged), _) in aged[index + 1..].iter().filter(|(_, a)| a == age) {
            fresh_and_aged.push(((*one, *other), (*one_aged, *other_aged)));
        }
    }
    let mut all: Vec<FreshAgedPair> = fresh_and_aged.iter().flat_map(|(f, a)| [*f, *a]).collect();
    all.sort_unstable();
    all.dedup();
    let sums = table.sums(&all);
    let ahead = |wanted: AgeingSum| {
        let (_, _, cost) = sums.iter().find(|(sum, ..)| *sum == wanted)?;
        let (before, after) = wanted.0;
        match cost.as_ref()?.verdict {
            ComparisonVerdict::WorseByAtLeast(_) => Some([before, after]),
            ComparisonVerdict::BetterByAtLeast(_) => Some([after, before]),
            _ => None,
        }
    };
    let groups = || std::iter::once(None).chain(WorkloadCategory::ALL.into_iter().map(Some));
    let turn = |group: Option<WorkloadCategory>, (fresh, old): (FreshAgedPair, FreshAgedPair)| {
        let (first, then) = (ahead((fresh, group))?, ahead((old, group))?);
        let turned = (first[0] == fresh.0) != (then[0] == old.0);
        turned.then_some(RankReversal { group, fresh: first, aged: then })
    };
    let pairs = fresh_and_aged.iter();
    let each = pairs.flat_map(|pair| groups().filter_map(move |group| turn(group, *pair)));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn the_cost_of_age_compares_rounds_with_the_fresh_contender() {
        let results = fixture::aged();
        let ageing = analyse(&results).ageing;
        let pairs: Vec<FreshAgedPair> = ageing.prices.iter().map(|p| (p.fresh, p.aged)).collect();
        assert_eq!(pairs, [(0, 2), (1, 3)]);
        // For `a`, writing takes four times as long as before, and reading takes equally long.
        let price = &ageing.prices[0];
        let ratios: Vec<f64> = price.results.iter().map(|r| r.cost.ratio).collect();
        assert!((ratios[0] - 4.0).abs() < 0.05 && (ratios[1] - 1.0).abs() < 0.05);
        let all = price.overall.unwrap();
        assert!((all.ratio - 2.0).abs() < 0.05 && all.low < 2.0 && all.high > 2.0);
        assert!(matches!(all.verdict, ComparisonVerdict::WorseByAtLeast(share) if share > 0.5));
        let groups: Vec<(WorkloadCategory, u32)> =
            price.groups.iter().map(|g| (g.group, g.results)).collect();
        assert_eq!(groups, [(WorkloadCategory::StreamWrite, 1), (WorkloadCategory::StreamRead, 1)]);
        assert_eq!(price.reached.unwrap().fill, 0.8);
        assert!((ageing.prices[1].overall.unwrap().ratio - 1.0).abs() < 0.05);
    }

    #[test]
    fn contenders_that_swap_places_are_named_and_others_are_not() {
        let ageing = analyse(&fixture::aged()).ageing;
        let turn = |group| RankReversal { group, fresh: [0, 1], aged: [3, 2] };
        assert_eq!(ageing.turns, [turn(None), turn(Some(WorkloadCategory::StreamWrite))]);
        let mut other = fixture::aged();
        let age = &mut other.campaign.contenders[3].own.age;
        age.as_mut().unwrap().fill = model::PerMille(500);
        let ageing = analyse(&other).ageing;
        assert_eq!((ageing.prices.len(), ageing.turns.len()), (2, 0), "of another age");
    }

    #[test]
    fn a_campaign_without_age_has_no_price() {
        assert_eq!(analyse(&fixture::plain()).ageing, AgeingCost::default());
        let mut alone = fixture::aged();
        alone.campaign.contenders[0].mount_options = vec!["noatime".into()];
        assert_eq!(analyse(&alone).ageing.prices.len(), 1);
    }
}
