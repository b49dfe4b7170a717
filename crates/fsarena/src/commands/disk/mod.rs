//! `fsarena disk`: shows, replays and validates simulated disks.

pub mod replay;
pub mod requests;
pub mod validate;
