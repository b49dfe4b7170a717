//! The complete analysis of a campaign, assembled from its parts.

use model::{CampaignResults, Clock, ExcludedPhase, HostSetting, Nanos, UseCase};
use serde::Serialize;

use crate::inference::{Margin, PairwiseEstimates};
use crate::outcomes::{disks, failures, features, resources};
use crate::results::costs::{self, CampaignDesign, RankedCosts};
use crate::results::facts::PhaseIndex;
use crate::results::selection::Selection;
use crate::results::{interference, row, sweep, total};
use crate::scores::use_scores::{SuitesByGroup, UseScoreInput};
use crate::scores::{ageing, conclusion, contender_groups, layers, win_counts};
use crate::validity::{
    disturbed, drift, noise, random_data, unflushed, unset_attributes, warm_reads,
};
use crate::{
    AgeingCost, CellCounts, CellFailure, Conclusion, ContenderFeatures, ContenderGroupMeans,
    DisturbedCell, Drift, Interference, KernelWarning, LayerCost, NoiseFloor, NotActuallyWarm,
    Overall, PhaseUnsetAttributes, Resources, ResultRow, StopDecision, Sweep, Total, UnflushedSync,
    UseCaseScores, WinCounts,
};

/// Results of analysing a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// The clock of all times. Virtual time has no noise: intervals show how much results depend on
    /// the seeds of the rounds.
    #[serde(default)]
    pub clock: Clock,
    /// Names of the contenders, in the campaign's order.
    pub contenders: Vec<String>,
    /// Number of cells by outcome.
    pub counts: CellCounts,
    /// Whether another program measured the campaign, so that fsarena cannot run more rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measured_elsewhere: bool,
    /// Margin of relevance: a contender that costs up to this share more than another counts as
    /// equal.
    #[serde(default)]
    pub margin: Margin,
    /// Number of phases in which each contender is the best, is shortlisted or failed.
    pub phase_counts: Vec<WinCounts>,
    /// A row for each metric of each phase, in the order of the suites.
    pub rows: Vec<ResultRow>,
    /// The sweeps, assembled from their points.
    #[serde(default)]
    pub sweeps: Vec<Sweep>,
    /// The overall view: groups of tests, and the weights at which the order changes.
    pub overall: Overall,
    /// Conclusion for each group of tests and for all groups together.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// Memory and disk limits of each contender, and its usage.
    #[serde(default)]
    pub resources: Vec<Resources>,
    /// Whether filesystems span several disks that are images on one disk of this machine.
    #[serde(default)]
    pub disks_are_images: bool,
    /// Cost of age, for contenders that compete both fresh and aged.
    #[serde(default)]
    pub ageing: AgeingCost,
    /// Cost of each layer, for filesystems that compete both with and without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerCost>,
    /// The groups of contenders that the campaign defines.
    #[serde(default)]
    pub contender_groups: Vec<ContenderGroupMeans>,
    /// The totals of tests with several steps.
    #[serde(default)]
    pub totals: Vec<Total>,
    /// Cost that the roles of mixes cause each other, if each also ran by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<Interference>,
    /// Scores of the campaign for each use case. Empty until [`Analysis::score_use_cases`] is
    /// called, because use cases are not part of a campaign.
    #[serde(default)]
    pub uses: Vec<UseCaseScores>,
    /// A separate analysis for each disk, if contenders are on several.
    #[serde(skip)]
    pub by_disk: Vec<PerDiskAnalysis>,
    /// Circumstances of the storage that make contenders less comparable: directories on one
    /// filesystem, layers such as compression.
    #[serde(skip)]
    pub circumstances: Vec<HostSetting>,
    /// Selection that ranks, categories and use cases refer to, or `None` for the whole campaign.
    #[serde(skip)]
    selection: Option<Selection>,
    /// Trends from the first round to the last.
    pub drifts: Vec<Drift>,
    /// Contenders that differ only in their names.
    pub noise: Vec<NoiseFloor>,
    /// Phases that should have been served from the page cache but read from the device.
    #[serde(default)]
    pub warm_reads: Vec<NotActuallyWarm>,
    /// Attributes that commands did not set, because a filesystem lacks them.
    #[serde(default)]
    pub unset_attributes: Vec<PhaseUnsetAttributes>,
    /// Contenders whose options compress files, if the tests write only data that does not compress.
    pub idle_compression: Vec<String>,
    /// Contenders whose synced writes never flushed the disk's cache, although those of other
    /// contenders did.
    #[serde(default)]
    pub unflushed: Vec<UnflushedSync>,
    /// Cells during which the machine was busy with other work.
    #[serde(default)]
    pub disturbed: Vec<DisturbedCell>,
    /// Result of the stopping rule, or `None` if the campaign has none.
    #[serde(default)]
    pub stop: Option<StopDecision>,
    /// The time budget of the campaign, or `None` if the number of rounds was fixed by other means.
    #[serde(default)]
    pub budget: Option<Nanos>,
    /// Whether the campaign ends depending on its results: with a budget or a stopping rule.
    #[serde(default)]
    pub ends_by_results: bool,
    /// Features of each contender.
    pub features: Vec<ContenderFeatures>,
    /// Cells that are not ok, in the order of the plan.
    pub failures: Vec<CellFailure>,
    /// Kernel log complaints of cells that are ok.
    pub complaints: Vec<KernelWarning>,
}

/// Analysis of the contenders on one disk, compared only with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct PerDiskAnalysis {
    /// The name of the disk.
    pub disk: String,
    /// The analysis of these contenders.
    pub analysis: Analysis,
}

/// Analyses a campaign, complete or not, with the usual margin of relevance.
pub fn analyse(results: &CampaignResults) -> Analysis {
    analyse_with_margin(results, Margin::default(), &[])
}

/// Analyses a campaign with a custom margin. In virtual time, withheld phases do not count in
/// scores; in real time all phases count.
pub fn analyse_with_margin(
    results: &CampaignResults,
    margin: Margin,
    withheld: &[ExcludedPhase],
) -> Analysis {
    let contenders: Vec<String> =
        results.campaign.contenders.iter().map(|c| c.name.clone()).collect();
    let clock = results.campaign.clock;
    let mut rows = row::rows(results, &PhaseIndex::of(results));
    if clock == Clock::Virtual {
        row::exclude_phases(&mut rows, results, withheld);
    }
    let unflushed = unflushed::unflushed(results);
    unflushed::mark_unflushed(&mut rows, results, &unflushed);
    let campaign = &results.campaign;
    let ends_by_results = campaign.budget.is_some() || campaign.stopping_rule.is_some();
    let design = CampaignDesign { clock, ends_by_results };
    let ranked = costs::rank_rows(&mut rows, design, margin);
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
        unset_attributes: unset_attributes::unset_attributes(results),
        idle_compression: random_data::idle_compression(results),
        unflushed,
        stop: StopDecision::decide(results, &counts, &rows),
        budget: results.whole_budget(),
        ends_by_results,
        counts,
        measured_elsewhere: results.campaign.measured_by.is_some(),
        phase_counts: win_counts::phase_counts(&contenders, &rows),
        contenders,
        sweeps: sweep::sweeps(results, &rows),
        conclusions: conclusion::conclusions(&overall, margin),
        resources: resources::resources(results),
        disks_are_images: resources::disks_are_images(&results.campaign),
        circumstances: resources::circumstances(results),
        ageing: ageing::ageing(results, &rows, margin),
        layers: layers::layers(results, &rows, margin),
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
    /// Adds the scores of these uses, which form one family of questions. `suites` are used to name
    /// the suites that would test the untested groups.
    pub fn score_use_cases<'a>(
        &mut self,
        uses: impl IntoIterator<Item = &'a UseCase>,
        suites: &SuitesByGroup,
    ) {
        let uses: Vec<&UseCase> = uses.into_iter().collect();
        let ranked = RankedCosts::from_primary_rows(&self.rows, self.design());
        let selected = self.selection.as_ref().map(|some| some.apply(&self.rows));
        let everybody = vec![true; self.contenders.len()];
        let asked = UseScoreInput {
            rows: selected.as_ref().unwrap_or(&self.rows),
            takes_part: self.selection.as_ref().map_or(&everybody, |some| &some.contenders),
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
        self.uses = scores.map(|one| UseCaseScores::compute(one, &asked)).collect();
        for of_disk in &mut self.by_disk {
            let uses = uses.iter().copied();
            of_disk.analysis.score_use_cases(uses, suites);
        }
    }

    /// Ranks a selection of contenders by a selection of rows. Afterwards, ranks by primary
    /// metrics, categories, conclusions and the results of [`Self::score_use_cases`] refer to the
    /// selection only. The noise estimate still comes from the whole campaign, `results`.
    pub fn restrict_to(&mut self, results: &CampaignResults, selection: Selection) {
        let ranked = RankedCosts::from_primary_rows(&self.rows, self.design());
        ranked.rank_among(&mut self.rows, &selection, self.margin);
        let others = self.rows.iter_mut().filter(|row| !row.primary);
        for result in others.flat_map(|row| &mut row.results) {
            result.place = None;
        }
        let rows = selection.apply(&self.rows);
        let takes_part = &selection.contenders;
        self.overall = Overall::compute(results, &rows, &ranked, self.margin, takes_part);
        self.conclusions = conclusion::conclusions(&self.overall, self.margin);
        self.selection = Some(selection);
    }

    /// Returns the analysis of the contenders on the same disk, and the contender's index in it;
    /// the analysis of the whole campaign if all contenders are on one disk. Returns `None` if the
    /// contender is the only one on its disk.
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

    pub(crate) const fn design(&self) -> CampaignDesign {
        CampaignDesign { clock: self.clock, ends_by_results: self.ends_by_results }
    }

    /// Returns the estimates of each pair of contenders in each row that counts for groups and
    /// uses, and the index of each such row in [`Self::rows`].
    pub fn estimates(&self) -> (PairwiseEstimates, Vec<usize>) {
        RankedCosts::from_primary_rows(&self.rows, self.design()).into_estimates()
    }
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
