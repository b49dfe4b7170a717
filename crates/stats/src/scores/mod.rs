//! Views over many rows: categories, contender groups, use cases with their weights, and
//! conclusions.

pub(crate) mod ageing;
pub(crate) mod conclusion;
pub(crate) mod contender_groups;
pub(crate) mod layers;
pub(crate) mod overall;
pub(crate) mod pair_costs;
pub(crate) mod use_scores;
pub(crate) mod win_counts;
