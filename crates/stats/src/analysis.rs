//! The whole analysis of a campaign, put together from its parts.

use model::{CampaignResults, Clock, ExcludedPhase, Nanos, UseCase};
use serde::{Deserialize, Serialize};

use crate::inference::{Margin, PairwiseEstimates};
use crate::outcomes::{disks, failures, features, resources};
use crate::results::costs::{self, RankedCosts};
use crate::results::facts::PhaseIndex;
use crate::results::selection::Selection;
use crate::results::{interference, row, sweep, total};
use crate::scores::use_scores::{SuitesByGroup, UseScoreInput};
use crate::scores::{ageing, conclusion, contender_groups, win_counts};
use crate::validity::{disturbed, drift, noise, unflushed, warm_reads};
use crate::{
    AgeingCost, CellCounts, CellFailure, Conclusion, ContenderFeatures, ContenderGroupMeans,
    DisturbedCell, Drift, Interference, KernelWarning, NoiseFloor, NotActuallyWarm, Overall,
    Resources, ResultRow, StopDecision, Sweep, Total, UnflushedSync, UseCaseScores, WinCounts,
};

/// What follows from the facts of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// The clock that times are in. In virtual time nothing is noise: intervals show how much results
    /// depend on the seeds of the rounds.
    #[serde(default)]
    pub clock: Clock,
    /// Names of the contenders, in the campaign's order.
    pub contenders: Vec<String>,
    /// How many cells came to what.
    pub counts: CellCounts,
    /// Whether another program measured it, so that fsarena cannot run more of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measured_elsewhere: bool,
    /// What is of no relevance: a contender that costs up to this share more than another is as good.
    #[serde(default)]
    pub margin: Margin,
    /// In how many phases each contender did how well.
    pub phase_counts: Vec<WinCounts>,
    /// A row for each metric of each phase, in the order of the suites.
    pub rows: Vec<ResultRow>,
    /// The sweeps, put together from their points.
    #[serde(default)]
    pub sweeps: Vec<Sweep>,
    /// The overall view: groups of tests, and where the order depends on their weights.
    pub overall: Overall,
    /// What each group of tests comes to, and all of them together.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// What each contender may use of memory and disks, and what it used.
    #[serde(default)]
    pub resources: Vec<Resources>,
    /// Whether filesystems lie on several disks that are images on one disk of this machine's.
    #[serde(default)]
    pub disks_are_images: bool,
    /// What age costs contenders that compete fresh and aged.
    #[serde(default)]
    pub ageing: AgeingCost,
    /// The groups of contenders that the campaign names.
    #[serde(default)]
    pub contender_groups: Vec<ContenderGroupMeans>,
    /// The totals of tests of several steps.
    #[serde(default)]
    pub totals: Vec<Total>,
    /// What the roles of mixes cost each other, where each ran alone, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<Interference>,
    /// What the campaign has to say about uses; empty until [`Analysis::weigh_uses`] is called, for uses
    /// are no part of a campaign.
    #[serde(default)]
    pub uses: Vec<UseCaseScores>,
    /// The same disk by disk, where contenders are on several.
    #[serde(skip)]
    pub by_disk: Vec<PerDiskAnalysis>,
    /// The part of it that places, groups and uses are of; all of it where absent.
    #[serde(skip)]
    selection: Option<Selection>,
    /// Trends from the first round to the last.
    pub drifts: Vec<Drift>,
    /// Contenders that are the same but for their name.
    pub noise: Vec<NoiseFloor>,
    /// Phases that were to be served from the page cache, and read from the device.
    #[serde(default)]
    pub warm_reads: Vec<NotActuallyWarm>,
    /// Contenders whose synced writes never made the disk empty its cache, where those of others did.
    #[serde(default)]
    pub unflushed: Vec<UnflushedSync>,
    /// Cells during which the machine did much else.
    #[serde(default)]
    pub disturbed: Vec<DisturbedCell>,
    /// What the rule says by which rounds are added; absent where the campaign has none.
    #[serde(default)]
    pub stop: Option<StopDecision>,
    /// The time in which as much was to be answered as could be; absent where rounds were fixed otherwise.
    #[serde(default)]
    pub budget: Option<Nanos>,
    /// What each contender can do.
    pub features: Vec<ContenderFeatures>,
    /// Cells that are not ok, in the order of the plan.
    pub failures: Vec<CellFailure>,
    /// What the kernel complained of in cells that are ok.
    pub complaints: Vec<KernelWarning>,
}

/// What is found of the contenders on one disk, set against each other alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PerDiskAnalysis {
    /// The name of the disk.
    pub disk: String,
    /// What is found of them.
    pub analysis: Analysis,
}

/// Analyses a campaign, complete or not, with the usual margin of relevance.
pub fn analyse(results: &CampaignResults) -> Analysis {
    analyse_with_margin(results, Margin::default(), &[])
}

/// The same with a margin of one's own, and without the phases in scores that are not to be believed in virtual time; in
/// real time all are.
pub fn analyse_with_margin(
    results: &CampaignResults,
    margin: Margin,
    withheld: &[ExcludedPhase],
) -> Analysis {
    let contenders: Vec<String> = results
        .campaign
        .contenders
        .iter()
        .map(|c| c.name.clone())
        .collect();
    let clock = results.campaign.clock;
    let mut rows = row::rows(results, &PhaseIndex::of(results));
    if clock == Clock::Virtual {
        row::exclude_phases(&mut rows, results, withheld);
    }
    let unflushed = unflushed::unflushed(results);
    unflushed::mark_unflushed(&mut rows, results, &unflushed);
    let ranked = costs::rank_rows(&mut rows, clock, margin);
    let counts = CellCounts::from_results(results);
    let everybody = vec![true; contenders.len()];
    let overall = Overall::compute(results, &rows, &ranked, margin, &everybody);
    Analysis {
        clock,
        margin,
        drifts: drift::drifts(contenders.len(), &rows),
        noise: noise::floors(results, &rows, &ranked, margin),
        disturbed: disturbed::disturbed(results),
        warm_reads: warm_reads::warm_reads(results),
        unflushed,
        stop: StopDecision::decide(results, &counts, &rows),
        budget: results.campaign.budget,
        counts,
        measured_elsewhere: results.campaign.measured_by.is_some(),
        phase_counts: win_counts::phase_counts(&contenders, &rows),
        contenders,
        sweeps: sweep::sweeps(results, &rows),
        conclusions: conclusion::conclusions(&overall),
        resources: resources::resources(results),
        disks_are_images: resources::disks_are_images(&results.campaign),
        ageing: ageing::ageing(results, &rows, margin),
        contender_groups: contender_groups::groups(results, &overall),
        overall,
        totals: total::totals(results),
        interference: interference::interference(results, &rows),
        uses: Vec::new(),
        selection: None,
        by_disk: disks::by_disk(results)
            .into_iter()
            .map(|(disk, results)| PerDiskAnalysis {
                disk,
                analysis: analyse_with_margin(&results, margin, withheld),
            })
            .collect(),
        rows,
        features: features::features(results),
        failures: failures::failures(results),
        complaints: failures::kernel_warnings(results),
    }
}

impl Analysis {
    /// Adds what the campaign has to say about these uses: one family of questions. `suites` says which suites would test
    /// what was not.
    pub fn score_use_cases<'a>(
        &mut self,
        uses: impl IntoIterator<Item = &'a UseCase>,
        suites: &SuitesByGroup,
    ) {
        let uses: Vec<&UseCase> = uses.into_iter().collect();
        let ranked = RankedCosts::from_primary_rows(&self.rows, self.clock);
        let selected = self.selection.as_ref().map(|some| some.apply(&self.rows));
        let everybody = vec![true; self.contenders.len()];
        let asked = UseScoreInput {
            rows: selected.as_ref().unwrap_or(&self.rows),
            takes_part: self
                .selection
                .as_ref()
                .map_or(&everybody, |some| &some.contenders),
            costs: &ranked,
            uses: uses.len(),
            overall: &self.overall,
            features: &self.features,
            failures: &self.failures,
            unflushed: &self.unflushed,
            margin: self.margin,
            suites,
        };
        let scores = uses.iter();
        self.uses = scores
            .map(|one| UseCaseScores::compute(one, &asked))
            .collect();
        for of_disk in &mut self.by_disk {
            let uses = uses.iter().copied();
            of_disk.analysis.score_use_cases(uses, suites);
        }
    }

    /// Sets some contenders against each other alone, by some rows: places by primary metrics, groups and what they come to
    /// are of these, and so is what [`Self::weigh_uses`] finds from then on. What is known of noise is still that of the
    /// whole campaign, `results`.
    pub fn restrict_to(&mut self, results: &CampaignResults, selection: Selection) {
        let ranked = RankedCosts::from_primary_rows(&self.rows, self.clock);
        ranked.rank_among(&mut self.rows, &selection, self.margin);
        let others = self.rows.iter_mut().filter(|row| !row.primary);
        for result in others.flat_map(|row| &mut row.results) {
            result.place = None;
        }
        let rows = selection.apply(&self.rows);
        let takes_part = &selection.contenders;
        self.overall = Overall::compute(results, &rows, &ranked, self.margin, takes_part);
        self.conclusions = conclusion::conclusions(&self.overall);
        self.selection = Some(selection);
    }

    /// What is found of a contender beside those on its disk, and its place among them; of the whole campaign where all are on
    /// one disk. `None` where it is alone on its disk.
    pub fn for_disk_of(&self, contender: usize) -> Option<(&Self, usize)> {
        if self.by_disk.is_empty() {
            return Some((self, contender));
        }
        let disk = self.resources.get(contender)?.disk.as_ref()?;
        let of = self.by_disk.iter().find(|of| of.disk == *disk)?;
        let before = self.resources[..contender].iter();
        let place = before.filter(|r| r.disk.as_ref() == Some(disk)).count();
        Some((&of.analysis, place))
    }

    /// What is known of each pair of contenders in each row that groups and uses are made of, and the number of each such
    /// row in [`Self::rows`].
    pub fn estimates(&self) -> (PairwiseEstimates, Vec<usize>) {
        let ranked = RankedCosts::from_primary_rows(&self.rows, self.clock);
        (ranked.estimates().clone(), ranked.rows())
    }
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
