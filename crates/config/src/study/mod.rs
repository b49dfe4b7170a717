//! Published studies as TOML.

pub(crate) mod publication;
pub(crate) mod study_file;
