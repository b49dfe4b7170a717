//! Measures how well two campaigns of the same work agree on which contender is better, for example
//! one in virtual time and one in real time.
//!
//! Two clocks have no unit in common, so results are not compared directly; their verdicts on
//! *pairs of contenders* are. A pair is different if the inference of the reports finds it
//! different ([`crate::inference`]), with all pairs of a campaign as one family. Among the pairs
//! that both campaigns find different, those with the same order are counted. Two more figures
//! cover all pairs, significant or not: the rank correlation (Kendall's tau-b, pairs within a phase
//! only) and the *ratio of ratios*, which is the ratio of a pair in the first campaign divided by
//! its ratio in the second. Metrics without a clock, such as the space that is free, are not
//! counted.

use std::collections::BTreeMap;

use model::{Metric, WorkloadCategory};
use serde::Serialize;

use crate::comparisons::agreement_causes::{DisagreementCause, causes};
use crate::comparisons::difference::{
    AnalysedCampaign, CompareFilter, IncomparableTest, common_rows, matched,
};
use crate::comparisons::setting_diff::{self, IncomparableCampaigns, SettingChange};
use crate::estimate::concordance::KendallCounts;
use crate::inference::ComparisonResult;
use crate::results::costs::RankedCosts;
use crate::{Margin, ResultRow};

/// Agreement of two campaigns on the same pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PairAgreement {
    /// Pairs of contenders that both campaigns compare.
    pub pairs: u32,
    /// Pairs that both campaigns report as different.
    pub both_different: u32,
    /// Different pairs that both campaigns order alike.
    pub same_order: u32,
    /// Kendall's tau-b over all pairs within a phase, or `None` if no pair is ordered.
    pub tau_b: Option<f64>,
    /// The ratio of ratios: below 1 if the differences in the first campaign are smaller. `None` if
    /// there is no pair.
    pub ratio_of_ratios: Option<Quartiles>,
}

/// Quartiles of a list of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// First quartile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub high: f64,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseAgreement {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The workload category of the phase.
    pub group: Option<WorkloadCategory>,
    /// Reason why the phase does not count in the scores of the first campaign, or `None` if it
    /// counts.
    pub withheld: Option<String>,
    /// Its pairs.
    pub counts: PairAgreement,
}

/// Agreement within a workload category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupAgreement {
    /// The group.
    pub group: WorkloadCategory,
    /// Pairs, including those of phases that do not count.
    pub counts: PairAgreement,
    /// Pairs in phases that count.
    pub counted: PairAgreement,
}

/// A pair that both campaigns report as different, but in opposite directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The better contender in the second campaign.
    pub better: String,
    /// The worse contender in the second campaign.
    pub worse: String,
    /// Cost of the worse contender relative to the better one: below 1 in the first campaign, above
    /// 1 in the second.
    pub costs: [ComparisonResult; 2],
    /// Whether the phase counts in the scores of the first campaign.
    pub counts: bool,
    /// Measured differences between the two campaigns in this phase.
    pub causes: Vec<DisagreementCause>,
}

/// Agreement of two campaigns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Margin of relevance: pairs closer than this are not different.
    pub margin: Margin,
    /// Differences in the settings that are known for both.
    pub settings: Vec<SettingChange>,
    /// Contenders that only one of the campaigns has.
    pub only_in_one: Vec<String>,
    /// Phases with different work.
    pub not_the_same: Vec<IncomparableTest>,
    /// All pairs.
    pub all: PairAgreement,
    /// Pairs in phases that count.
    pub counted: PairAgreement,
    /// Each group.
    pub groups: Vec<GroupAgreement>,
    /// Each phase, in the order of the suites.
    pub phases: Vec<PhaseAgreement>,
    /// Every pair that the campaigns report as different in opposite directions, largest distance
    /// first.
    pub disagreements: Vec<Disagreement>,
}

/// Compares the pairs of two campaigns, which may have different clocks and backends.
///
/// # Errors
/// Returns an error if no phase of one campaign with the same work in the other ranks the same two
/// contenders.
pub fn agreement(
    first: AnalysedCampaign<'_>,
    second: AnalysedCampaign<'_>,
    margin: Margin,
) -> Result<Agreement, IncomparableCampaigns> {
    let (contenders, only_in_one) = matched(first, second, &[])?;
    let mut not_the_same = Vec::new();
    let wanted = CompareFilter::default();
    let rows = common_rows(first, second, &wanted, &mut not_the_same);
    let sides = [first, second].map(|side| AgreementSide::of(side, margin));
    let mut judged: Vec<(&ResultRow, Option<WorkloadCategory>, Vec<ContenderPair>)> = Vec::new();
    // Free space does not depend on the clock.
    for (row, other) in rows.into_iter().filter(|(row, _)| row.metric != Metric::Capacity) {
        let pairs = pairs_of_row(&sides, [row, other], &contenders);
        if !pairs.is_empty() {
            judged.push((row, first.category(row), pairs));
        }
    }
    if judged.is_empty() {
        return Err(IncomparableCampaigns::NoCommonResults);
    }
    let counts = |is_wanted: &dyn Fn(&ResultRow, Option<WorkloadCategory>) -> bool| {
        let wanted = judged.iter().filter(|(row, group, _)| is_wanted(row, *group));
        PairAgreement::of(wanted.flat_map(|(_, _, pairs)| pairs))
    };
    let has = |group: &WorkloadCategory| judged.iter().any(|(_, of, _)| *of == Some(*group));
    let groups = WorkloadCategory::ALL.into_iter().filter(has);
    let groups = groups.map(|group| GroupAgreement {
        group,
        counts: counts(&|_, of| of == Some(group)),
        counted: counts(&|row, of| of == Some(group) && row.withheld.is_none()),
    });
    let phases = judged.iter().map(|(row, group, pairs)| PhaseAgreement {
        test: row.test.clone(),
        phase: row.phase.clone(),
        group: *group,
        withheld: row.withheld.clone(),
        counts: PairAgreement::of(pairs),
    });
    let mut settings =
        setting_diff::campaign_differences(first.results, second.results, &contenders);
    // A setting that is known for only one side cannot be compared.
    settings.retain(|setting| !setting.before.is_empty() && !setting.after.is_empty());
    Ok(Agreement {
        margin,
        settings,
        only_in_one,
        not_the_same,
        all: counts(&|_, _| true),
        counted: counts(&|row, _| row.withheld.is_none()),
        groups: groups.collect(),
        phases: phases.collect(),
        disagreements: disagreements(&judged, [first, second]),
    })
}

/// A campaign with its estimates of every pair.
struct AgreementSide<'a> {
    campaign: AnalysedCampaign<'a>,
    pairs: BTreeMap<usize, Vec<Option<ComparisonResult>>>,
}

impl<'a> AgreementSide<'a> {
    fn of(campaign: AnalysedCampaign<'a>, margin: Margin) -> Self {
        let analysis = campaign.analysis;
        let costs = RankedCosts::from_primary_rows(&analysis.rows, analysis.design());
        Self { campaign, pairs: costs.every_pair(margin) }
    }

    /// Returns the cost of one contender relative to another in a row.
    fn beside(&self, row: &ResultRow, before: usize, after: usize) -> Option<ComparisonResult> {
        let rows = &self.campaign.analysis.rows;
        let number = rows.iter().position(|one| std::ptr::eq(one, row))?;
        let (a, b) = (before.min(after), before.max(after));
        let place = a * self.campaign.analysis.contenders.len() - a * (a + 1) / 2 + b - a - 1;
        let compared = (*self.pairs.get(&number)?.get(place)?)?;
        Some(if before < after { compared } else { compared.reversed() })
    }
}

/// A pair in one phase: the second contender relative to the first, in both campaigns.
struct ContenderPair {
    contenders: [String; 2],
    sides: [ComparisonResult; 2],
}

impl ContenderPair {
    fn is_different_in_both(&self) -> bool {
        self.sides.iter().all(|side| side.verdict.is_significant())
    }

    fn is_in_one_order(&self) -> bool {
        (self.sides[0].ratio > 1.0) == (self.sides[1].ratio > 1.0)
    }

    /// Returns the ratio of the first campaign divided by that of the second, in the direction of
    /// the second.
    fn ratio_of_ratios(&self) -> f64 {
        let [first, second] = self.sides.map(|side| side.ratio);
        match second < 1.0 {
            true => second / first,
            false => first / second,
        }
    }
}

fn pairs_of_row(
    sides: &[AgreementSide<'_>; 2],
    rows: [&ResultRow; 2],
    contenders: &[(usize, usize)],
) -> Vec<ContenderPair> {
    let mut pairs = Vec::new();
    for (at, one) in contenders.iter().enumerate() {
        for other in &contenders[at + 1..] {
            let first = sides[0].beside(rows[0], one.0, other.0);
            let second = sides[1].beside(rows[1], one.1, other.1);
            if let Some((first, second)) = first.zip(second) {
                let names = &sides[0].campaign.analysis.contenders;
                pairs.push(ContenderPair {
                    contenders: [one.0, other.0].map(|index| names[index].clone()),
                    sides: [first, second],
                });
            }
        }
    }
    pairs
}

impl PairAgreement {
    fn of<'a>(pairs: impl IntoIterator<Item = &'a ContenderPair>) -> Self {
        let mut counts = Self::default();
        let (mut concordance, mut ratios) = (KendallCounts::default(), Vec::new());
        for pair in pairs {
            counts.pairs += 1;
            concordance.add(pair.sides[0].ratio.ln(), pair.sides[1].ratio.ln());
            ratios.push(pair.ratio_of_ratios());
            if pair.is_different_in_both() {
                counts.both_different += 1;
                counts.same_order += u32::from(pair.is_in_one_order());
            }
        }
        counts.tau_b = concordance.tau_b();
        counts.ratio_of_ratios = Quartiles::of(ratios);
        counts
    }

    /// Returns the share of pairs with the same order among those that both campaigns find
    /// different, or `None` if no pair is different.
    pub fn share(&self) -> Option<f64> {
        let of = f64::from(self.both_different);
        (of > 0.0).then(|| f64::from(self.same_order) / of)
    }
}

impl Quartiles {
    /// Computes the quartiles of the values.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| values[(share * last as f64).round() as usize];
        Some(Self { low: at(0.25), median: at(0.5), high: at(0.75) })
    }
}

fn disagreements(
    judged: &[(&ResultRow, Option<WorkloadCategory>, Vec<ContenderPair>)],
    sides: [AnalysedCampaign<'_>; 2],
) -> Vec<Disagreement> {
    let mut found = Vec::new();
    for (row, _, pairs) in judged {
        let turned = |pair: &&ContenderPair| pair.is_different_in_both() && !pair.is_in_one_order();
        for pair in pairs.iter().filter(turned) {
            let [one, other] = &pair.contenders;
            let is_straight = pair.sides[1].ratio > 1.0;
            let (better, worse) = match is_straight {
                true => (one, other),
                false => (other, one),
            };
            let costs = pair.sides;
            found.push(Disagreement {
                test: row.test.clone(),
                phase: row.phase.clone(),
                better: better.clone(),
                worse: worse.clone(),
                costs: match is_straight {
                    true => costs,
                    false => costs.map(ComparisonResult::reversed),
                },
                counts: row.withheld.is_none(),
                causes: causes(row, [better, worse], sides.map(|side| side.analysis)),
            });
        }
    }
    let far = |one: &Disagreement| one.costs[1].ratio / one.costs[0].ratio;
    found.sort_by(|a, b| far(b).total_cmp(&far(a)));
    found
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
