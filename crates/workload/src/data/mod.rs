//! Contents of files: patterns, sizes and the detection of wrong bytes.

pub(crate) mod contents;
pub(crate) mod corruption;
pub(crate) mod expected_content;
pub(crate) mod pattern;
pub(crate) mod shape;
pub(crate) mod sizes;
