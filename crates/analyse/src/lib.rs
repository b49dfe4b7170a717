//! From stored facts to medians, intervals, ranks with ties, features and failures.
//!
//! [`analyse`] takes everything that is known of a campaign and gives an [`Analysis`], which the
//! reports show. This crate is pure: it reads no clock and no file and draws no random number, so the
//! same facts always give the same analysis.

mod advice;
mod analysis;
mod ceiling;
mod change_points;
mod compare;
mod conclusion;
mod contender_groups;
mod counts;
mod difference;
mod disturbed;
mod drift;
mod effect;
mod facts;
mod failures;
mod features;
mod figure;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod history;
mod interval;
mod kendall;
mod knee;
mod noise;
mod outcome;
mod outlier;
mod overall;
mod rank;
mod rank_sum;
mod ranks;
mod resources;
mod row;
mod separation;
mod settings;
mod signed_rank;
mod standing;
mod stop;
mod sweep;
mod total;
mod use_scores;
mod warm_reads;

pub use advice::{Advice, AgainstFirst, GroupCost, Ranked, Recommendation, Untested, advise};
pub use analysis::{Analysis, analyse};
pub use ceiling::{CeilingRange, INSTRUMENT_ABOVE, STEADY_BELOW};
pub use change_points::{ALPHA, ChangePoint, change_points};
pub use compare::{Comparison, FALSE_DIFFERENCE_LIMIT, Verdict, holm, judge, rounds_needed};
pub use conclusion::{Conclusion, Distance};
pub use contender_groups::{ContenderGroupMeans, GroupMean, TestGroupMean};
pub use counts::{Completeness, Counts};
pub use difference::{
    Analysed, CannotCompare, Change, Differences, NewFailure, NotTheSame, OverallChange, Wanted,
    compare_campaigns, compare_contenders,
};
pub use disturbed::DisturbedCell;
pub use drift::{DRIFT_FROM, Drift, FALSE_DRIFT_LIMIT};
pub use effect::Effect;
pub use failures::{CellFailure, Complaint, PhaseFailure};
pub use features::{ContenderFeatures, FeatureState, Found};
pub use figure::{Estimate, Figure, RoundValue, UNSTEADY_ABOVE};
pub use history::{
    Collector, History, HistoryPoint, LeftOutCampaign, LevelChange, Series, history,
};
pub use interval::{Interval, WANTED_CONFIDENCE, median, median_interval};
pub use knee::{ENOUGH, Knee};
pub use noise::NoiseFloor;
pub use outcome::Outcome;
pub use outlier::{OUTLIER_BEYOND, OUTLIERS_FROM};
pub use overall::{Crossover, GroupStanding, Overall, Score, Share, compare_scores};
pub use rank::{Competitor, FALSE_MARK_LIMIT, Mark, Place, rank};
pub use rank_sum::EXACT_VALUES;
pub use resources::{MemoryTaken, Resources};
pub use row::{Ranking, Row};
pub use separation::expected_cuts;
pub use settings::Setting;
pub use signed_rank::EXACT_PAIRS;
pub use standing::Standing;
pub use stop::{Stop, StopReason, WideFigure, relative_width};
pub use sweep::{Slice, Sweep, SweptPhase, SweptRow};
pub use total::{Attempt, BrokenStep, ContenderTotal, Total};
pub use use_scores::{Candidate, LeftOut, RuledOut, UseScores, WeighedGroup};
pub use warm_reads::WarmRead;

// The groups are of the model, for the weights of the catalog are over them.
pub use model::Group;

#[cfg(test)]
#[path = "error_rates_tests.rs"]
mod error_rates;
