//! Text, numbers and sentences common to all human-readable reports.

pub(crate) mod answer;
pub(crate) mod asymmetries;
pub(crate) mod caveats;
pub(crate) mod claims;
pub(crate) mod command;
pub(crate) mod conclusions;
pub(crate) mod exclusions;
pub(crate) mod failures;
pub(crate) mod kernel_warnings;
pub(crate) mod labels;
pub mod replication;
pub(crate) mod sanitize;
pub(crate) mod scale;
pub(crate) mod summary;
pub(crate) mod title;
