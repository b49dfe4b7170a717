//! From stored facts to medians, intervals, ranks with ties, features and failures.
//!
//! [`analyse`] takes everything that is known of a campaign and gives an [`Analysis`], which the
//! reports show. This crate is pure: it reads no clock and no file and draws no random number, so the
//! same facts always give the same analysis.

mod advice;
mod analysis;
mod campaigns;
mod checks;
mod evidence;
mod explanation;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod groups;
pub mod inference;
mod open;
mod rows;
mod statistics;

pub use advice::{Advice, ENOUGH_TESTED, GroupCost, Ranked, Recommendation, Untested, advise};
pub use analysis::{Analysis, OfDisk, analyse, analyse_with};
pub use campaigns::agreement::{
    Agreement, Disagreement, GroupAgreement, PairCounts, PhaseAgreement, Quartiles, agreement,
};
pub use campaigns::agreement_causes::Cause;
pub use campaigns::bisection::{Bisection, Seen};
pub use campaigns::difference::{
    Analysed, Change, Differences, NewFailure, NotTheSame, OverallChange, Wanted,
    compare_campaigns, compare_contenders, compare_sessions, compare_versions,
};
pub use campaigns::first_worse::{
    FirstWorse, Other, Target, Tried, cell_of, explain_step, is_of_the_processor,
};
pub use campaigns::history::{
    Collector, History, HistoryPoint, LeftOutCampaign, LevelChange, Series, history,
};
pub use campaigns::over_hosts::{BlockHost, compare_over_hosts};
pub use campaigns::settings::{
    CannotCompare, SettingChange, are_blocks_of_one, are_sessions_of_one,
};
pub use checks::disturbed::DisturbedCell;
pub use checks::drift::Drift;
pub use checks::noise::NoiseFloor;
pub use checks::stop::{Stop, StopReason, WideResult};
pub use checks::unflushed::Unflushed;
pub use checks::warm_reads::WarmRead;
pub use evidence::counts::{Completeness, Counts};
pub use evidence::disks::{on_disks, without_disks};
pub use evidence::failures::{CellFailure, Complaint, PhaseFailure};
pub use evidence::features::{ContenderFeatures, FeatureState, Found};
pub use evidence::resources::{MemoryTaken, Resources};
pub use explanation::{Contested, Count, Explanation, FunctionTimes, Part, explain};
pub use groups::ageing::{AgePrice, Ageing, GroupPrice, KeptStates, Reached, ResultPrice, Turn};
pub use groups::conclusion::{Answer, Conclusion, Worse};
pub use groups::contender_groups::{ContenderGroupMeans, GroupMean, TestGroupMean};
pub use groups::overall::{Crossover, GroupStanding, Overall, Score, Share};
pub use groups::phase_counts::PhaseCounts;
pub use groups::use_scores::{
    Candidate, LeftOut, RuledOut, SuitesByGroup, UseScores, WeighedGroup,
};
pub use inference::{Compared, Margin, Verdict};
pub use open::Pair;
pub use rows::interference::{AloneAndBeside, Interference};
pub use rows::outcome::RoundOutcome;
pub use rows::place::Place;
pub use rows::raw_device::{OVERHEAD_ABOVE, RawDeviceRange};
pub use rows::result::{MetricResult, RoundValue};
pub use rows::row::{Ranking, Row};
pub use rows::selection::Selection;
pub use rows::sweep::{Slice, Sweep, SweptPhase, SweptRow};
pub use rows::total::{Attempt, BrokenStep, ContenderTotal, StepTime, Total};
pub use statistics::concordance::tau_b;
pub use statistics::estimate::{Estimate, UNSTEADY_ABOVE};
pub use statistics::interval::{Interval, median, median_interval};
pub use statistics::knee::{ENOUGH, Knee};

// The groups are of the model, for the weights of the catalog are over them.
pub use model::Group;
