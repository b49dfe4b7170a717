//! Comparisons and histories of several campaigns.

pub(crate) mod agreement;
pub(crate) mod agreement_causes;
pub(crate) mod bisection;
pub(crate) mod blocked_by_host;
pub(crate) mod difference;
pub(crate) mod history;
pub(crate) mod regression_search;
pub(crate) mod setting_diff;
