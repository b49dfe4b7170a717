//! The cost of age: compares each aged contender with the same contender fresh, round by round, and
//! finds changes in the order of contenders.

use std::collections::BTreeSet;

use model::{AgeingSpec, CampaignResults, Contender, WorkloadCategory};
use serde::Serialize;

use crate::estimate::interval::median;
use crate::scores::pair_costs::{ContenderPair, PairCost, PairSum, PairTable};
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
    /// Cost when aged, as a multiple of the cost when fresh.
    #[serde(flatten)]
    pub cost: PairCost,
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

/// Returns the cost of age in a campaign with these rows.
pub(crate) fn ageing(results: &CampaignResults, rows: &[ResultRow], margin: Margin) -> AgeingCost {
    let contenders = &results.campaign.contenders;
    let aged = aged(contenders);
    let kept = kept(results);
    if aged.is_empty() {
        return AgeingCost { reused_images: kept, ..AgeingCost::default() };
    }
    let table = PairTable::new(results, rows, margin);
    let own: Vec<ContenderPair> = aged.iter().map(|(pair, _)| *pair).collect();
    let costs = own.iter().zip(table.costs(&own));
    let prices = costs.map(|(&(fresh, aged), cost)| ContenderAgeingCost {
        fresh,
        aged,
        reached: reached(results, &contenders[aged]),
        cost,
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
fn aged(contenders: &[Contender]) -> Vec<(ContenderPair, &AgeingSpec)> {
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

/// Returns the contenders that swap places between fresh and the same age.
fn turns(table: &PairTable<'_>, aged: &[(ContenderPair, &AgeingSpec)]) -> Vec<RankReversal> {
    let mut fresh_and_aged: Vec<(ContenderPair, ContenderPair)> = Vec::new();
    for (index, ((one, one_aged), age)) in aged.iter().enumerate() {
        for ((other, other_aged), _) in aged[index + 1..].iter().filter(|(_, a)| a == age) {
            fresh_and_aged.push(((*one, *other), (*one_aged, *other_aged)));
        }
    }
    let mut all: Vec<ContenderPair> = fresh_and_aged.iter().flat_map(|(f, a)| [*f, *a]).collect();
    all.sort_unstable();
    all.dedup();
    let sums = table.sums(&all);
    let ahead = |wanted: PairSum| {
        let (_, _, cost) = sums.iter().find(|(sum, ..)| *sum == wanted)?;
        let (before, after) = wanted.0;
        match cost.as_ref()?.verdict {
            ComparisonVerdict::WorseByAtLeast(_) => Some([before, after]),
            ComparisonVerdict::BetterByAtLeast(_) => Some([after, before]),
            _ => None,
        }
    };
    let groups = || std::iter::once(None).chain(WorkloadCategory::ALL.into_iter().map(Some));
    let turn = |group: Option<WorkloadCategory>, (fresh, old): (ContenderPair, ContenderPair)| {
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
        let pairs: Vec<ContenderPair> = ageing.prices.iter().map(|p| (p.fresh, p.aged)).collect();
        assert_eq!(pairs, [(0, 2), (1, 3)]);
        // For `a`, writing takes four times as long as before, and reading takes equally long.
        let price = &ageing.prices[0];
        let ratios: Vec<f64> = price.cost.results.iter().map(|r| r.cost.ratio).collect();
        assert!((ratios[0] - 4.0).abs() < 0.05 && (ratios[1] - 1.0).abs() < 0.05);
        let all = price.cost.overall.unwrap();
        assert!((all.ratio - 2.0).abs() < 0.05 && all.low < 2.0 && all.high > 2.0);
        assert!(matches!(all.verdict, ComparisonVerdict::WorseByAtLeast(share) if share > 0.5));
        let groups: Vec<(WorkloadCategory, u32)> =
            price.cost.groups.iter().map(|g| (g.group, g.results)).collect();
        assert_eq!(groups, [(WorkloadCategory::StreamWrite, 1), (WorkloadCategory::StreamRead, 1)]);
        assert_eq!(price.reached.unwrap().fill, 0.8);
        assert!((ageing.prices[1].cost.overall.unwrap().ratio - 1.0).abs() < 0.05);
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
