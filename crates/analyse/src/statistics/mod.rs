//! Statistics over plain numbers: medians and intervals, exact tests, ranks with ties, changes of level, knees.

pub(crate) mod change_points;
pub(crate) mod effect;
pub(crate) mod estimate;
pub(crate) mod interval;
pub(crate) mod kendall;
pub(crate) mod knee;
pub(crate) mod outlier;
pub(crate) mod pairwise;
pub(crate) mod rank;
pub(crate) mod rank_sum;
pub(crate) mod ranks;
pub(crate) mod separation;
pub(crate) mod signed_rank;
