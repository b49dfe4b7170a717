//! Statistics of plain numbers: medians and intervals, trends, changes of level, outliers, knees.

pub(crate) mod change_points;
pub(crate) mod concordance;
pub(crate) mod interval;
pub(crate) mod kendall;
pub(crate) mod knee;
pub(crate) mod outlier;
pub(crate) mod point;
pub(crate) mod ranks;
