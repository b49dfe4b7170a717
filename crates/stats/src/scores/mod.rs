//! Views over many rows: groups of tests, groups of contenders, uses with their weights, and conclusions.

pub(crate) mod ageing;
pub(crate) mod conclusion;
pub(crate) mod contender_groups;
pub(crate) mod overall;
pub(crate) mod use_scores;
pub(crate) mod win_counts;
