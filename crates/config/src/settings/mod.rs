//! Settings of campaigns: options of the command line, campaign files, and options of contenders.

pub mod campaign_file;
pub(crate) mod campaign_settings;
pub(crate) mod contender;
pub(crate) mod contender_overrides;
pub(crate) mod declare;
pub(crate) mod options;
pub mod values;
