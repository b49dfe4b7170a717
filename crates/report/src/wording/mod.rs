//! Text, numbers and sentences as every report for people has them.

pub(crate) mod answers;
pub(crate) mod claims;
pub(crate) mod command;
pub(crate) mod complaint_lines;
pub(crate) mod date;
pub(crate) mod failure_lines;
pub(crate) mod headline;
pub(crate) mod reasons;
pub(crate) mod remarks;
pub(crate) mod scale;
pub(crate) mod summary;
pub(crate) mod text;
pub mod then_and_now;
pub(crate) mod unlike;
pub(crate) mod words;
