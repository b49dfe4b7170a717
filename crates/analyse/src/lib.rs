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
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod groups;
mod rows;
mod statistics;

pub use advice::{Advice, AgainstFirst, GroupCost, Ranked, Recommendation, Untested, advise};
pub use analysis::{Analysis, analyse};
pub use campaigns::difference::{
    Analysed, Change, Differences, NewFailure, NotTheSame, OverallChange, Wanted,
    compare_campaigns, compare_contenders,
};
pub use campaigns::history::{
    Collector, History, HistoryPoint, LeftOutCampaign, LevelChange, Series, history,
};
pub use campaigns::settings::{CannotCompare, Setting};
pub use checks::disturbed::DisturbedCell;
pub use checks::drift::{DRIFT_FROM, Drift, FALSE_DRIFT_LIMIT};
pub use checks::noise::NoiseFloor;
pub use checks::stop::{Stop, StopReason, WideFigure, relative_width};
pub use checks::warm_reads::WarmRead;
pub use evidence::counts::{Completeness, Counts};
pub use evidence::failures::{CellFailure, Complaint, PhaseFailure};
pub use evidence::features::{ContenderFeatures, FeatureState, Found};
pub use evidence::resources::{MemoryTaken, Resources};
pub use groups::conclusion::{Conclusion, Distance};
pub use groups::contender_groups::{ContenderGroupMeans, GroupMean, TestGroupMean};
pub use groups::overall::{Crossover, GroupStanding, Overall, Score, Share, compare_scores};
pub use groups::standing::Standing;
pub use groups::use_scores::{Candidate, LeftOut, RuledOut, UseScores, WeighedGroup};
pub use rows::ceiling::{CeilingRange, INSTRUMENT_ABOVE, STEADY_BELOW};
pub use rows::figure::{Figure, RoundValue};
pub use rows::outcome::Outcome;
pub use rows::row::{Ranking, Row};
pub use rows::sweep::{Slice, Sweep, SweptPhase, SweptRow};
pub use rows::total::{Attempt, BrokenStep, ContenderTotal, Total};
pub use statistics::change_points::{ALPHA, ChangePoint, change_points};
pub use statistics::effect::Effect;
pub use statistics::estimate::{Estimate, UNSTEADY_ABOVE};
pub use statistics::interval::{Interval, WANTED_CONFIDENCE, median, median_interval};
pub use statistics::knee::{ENOUGH, Knee};
pub use statistics::outlier::{OUTLIER_BEYOND, OUTLIERS_FROM};
pub use statistics::pairwise::{
    Comparison, FALSE_DIFFERENCE_LIMIT, Verdict, holm, judge, rounds_needed,
};
pub use statistics::rank::{Competitor, FALSE_MARK_LIMIT, Mark, Place, rank};
pub use statistics::rank_sum::EXACT_VALUES;
pub use statistics::separation::expected_cuts;
pub use statistics::signed_rank::EXACT_PAIRS;

// The groups are of the model, for the weights of the catalog are over them.
pub use model::Group;
