//! Text, numbers and sentences as every report for people has them.

pub(crate) mod complaint_lines;
pub(crate) mod conclusions;
pub(crate) mod date;
pub(crate) mod failure_lines;
pub(crate) mod reasons;
pub(crate) mod scale;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod words;
