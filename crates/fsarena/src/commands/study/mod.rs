//! `fsarena study`: shows, judges and repeats published comparisons.

pub mod claims;
pub mod replicate;
pub mod show;
