//! Campaign files and options of contenders.

pub mod campaign_file;
pub(crate) mod contender;
pub(crate) mod contender_overrides;
pub(crate) mod options;
