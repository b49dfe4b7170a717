//! Plans a campaign, runs its cells on a backend, and stores plan and results.

pub mod plan;
pub mod run;
pub mod store;
