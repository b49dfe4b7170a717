//! Claims of studies: evidence, evaluation and verdict.

pub(crate) mod campaign_evidence;
pub(crate) mod evaluate;
pub(crate) mod evidence;
pub(crate) mod published_evidence;
pub(crate) mod truth;
pub(crate) mod verdict;
