//! Computes medians, intervals, ranks with ties, features and failures from stored facts.
//!
//! [`analyse`] takes all facts about a campaign and returns an [`Analysis`], which the reports
//! show. This crate is pure: it reads no clock and no file and draws no random number, so the same
//! facts always give the same analysis.

mod advice;
mod analysis;
mod comparisons;
mod estimate;
mod explanation;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod inference;
mod next_tests;
mod outcomes;
mod results;
mod scores;
mod validity;

pub use advice::{
    Advice, CategoryCost, MIN_TESTED_WEIGHT, QualifiedContender, Recommendation, UntestedCategory,
    advise,
};
pub use analysis::{Analysis, PerDiskAnalysis, analyse, analyse_with_margin};
pub use comparisons::agreement::{
    Agreement, Disagreement, GroupAgreement, PairAgreement, PhaseAgreement, Quartiles, agreement,
};
pub use comparisons::agreement_causes::DisagreementCause;
pub use comparisons::bisection::{Bisection, VersionState};
pub use comparisons::blocked_by_host::{HostBlock, compare_over_hosts};
pub use comparisons::difference::{
    AnalysedCampaign, CampaignComparison, CompareFilter, IncomparableTest, NewFailure,
    OverallChange, ResultChange, compare_campaigns, compare_contenders, compare_sessions,
    compare_versions,
};
pub use comparisons::history::{
    ExcludedCampaign, History, HistoryBuilder, HistoryPoint, LevelChange, Series, history,
};
pub use comparisons::regression_search::{
    OtherRegression, RegressionCriterion, RegressionSearch, TestedVersion, explain_step,
    first_cell, is_cpu_bound,
};
pub use comparisons::setting_diff::{
    IncomparableCampaigns, SettingChange, differ_only_by_host, differ_only_by_seed,
};
pub use estimate::concordance::tau_b;
pub use estimate::interval::{Interval, median, median_interval};
pub use estimate::knee::{ENOUGH, Knee};
pub use estimate::point::{RobustEstimate, UNSTEADY_ABOVE};
pub use explanation::{
    DiskCounter, ElapsedComponent, ExplainedSide, Explanation, FunctionTimes, explain,
};
pub use inference::{ComparisonResult, ComparisonVerdict, Margin};
pub use next_tests::OpenTest;
pub use outcomes::counts::{CellCounts, Completeness};
pub use outcomes::disk_faults::{ContenderFaults, FaultSummary, FlippedBitRecord, disk_faults};
pub use outcomes::disks::{disk_of_each, strip_disk_suffix};
pub use outcomes::failures::{CellFailure, KernelWarning, PhaseFailure};
pub use outcomes::features::{ContenderFeatures, FeatureState, FeatureSupport};
pub use outcomes::full::{FullRecord, full};
pub use outcomes::resources::{MemoryUsage, Resources};
pub use outcomes::survival::{ContenderSurvival, PowerCutRecord, SequenceSurvival, survival};
pub use outcomes::timelines::{
    ContenderTimeline, PhaseTimelines, SeriesKind, StallRecord, TimelineSeries, speed, timelines,
    written,
};
pub use results::interference::{Interference, InterferenceValues};
pub use results::outcome::RoundOutcome;
pub use results::rank::Rank;
pub use results::raw_device::{OVERHEAD_ABOVE, RawDeviceRange};
pub use results::result::{MetricResult, RoundValue};
pub use results::row::{RankingState, ResultRow};
pub use results::selection::Selection;
pub use results::sweep::{Sweep, SweepSlice, SweptPhase, SweptRow};
pub use results::total::{Attempt, ContenderTotal, FailedStep, StepTime, Total};
pub use scores::ageing::{
    AchievedAge, AgeingCost, ContenderAgeingCost, RankReversal, ReusedImages,
};
pub use scores::conclusion::{
    ABOUT_EQUAL, Conclusion, CostBound, Inferior, MAX_USEFUL_BOUND, ShortlistState,
};
pub use scores::contender_groups::{ContenderGroupMeans, GroupMean, TestGroupMean};
pub use scores::layers::LayerCost;
pub use scores::overall::{CategoryScore, CategoryScores, Crossover, Overall, RowWeight};
pub use scores::pair_costs::{PairCategoryCost, PairCost, PairResultCost};
pub use scores::use_scores::{
    Candidate, ExcludedResult, ExclusionReason, NeedKind, SuitesByGroup, UseCaseScores, UseNeed,
    WeightedCategory,
};
pub use scores::win_counts::WinCounts;
pub use validity::disturbed::DisturbedCell;
pub use validity::drift::Drift;
pub use validity::noise::NoiseFloor;
pub use validity::stopping::{StopDecision, StopReason, WideInterval};
pub use validity::unflushed::UnflushedSync;
pub use validity::unset_attributes::PhaseUnsetAttributes;
pub use validity::warm_reads::NotActuallyWarm;

// Groups are part of the model because the weights of the catalog refer to them.
pub use model::WorkloadCategory;
