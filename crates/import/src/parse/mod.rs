//! Parsers for text, numbers and JSON of other programs.

pub(crate) mod heading;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod place;
pub(crate) mod text;
