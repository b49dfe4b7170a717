//! What is not to be believed in virtual time, and is left out of scores there.

use crate::{Phase, ResultSelector, Test};

/// A phase whose order of contenders in virtual time is not that in real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedPhase {
    /// Which: TEST/PHASE, where `*` matches anything.
    pub phase: ResultSelector,
    /// Why, as a report says it behind “because”.
    pub reason: String,
    /// Of the pairs that both clocks called different when it was measured, how many stood in the same order.
    pub same_order: u32,
    /// How many pairs that were.
    pub pairs: u32,
}

impl ExcludedPhase {
    /// Whether it is this phase.
    pub fn matches(&self, test: &Test, phase: &Phase) -> bool {
        self.phase.matches(test, phase)
    }
}
