//! Several campaigns side by side: comparisons and histories.

pub(crate) mod agreement;
pub(crate) mod agreement_causes;
pub(crate) mod bisection;
pub(crate) mod difference;
pub(crate) mod first_worse;
pub(crate) mod history;
pub(crate) mod over_hosts;
pub(crate) mod settings;
