//! Results that are unreliable in virtual time and excluded from scores there.

use crate::{Phase, ResultSelector, Test};

/// A phase whose order of contenders in virtual time is not that in real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedPhase {
    /// Which: TEST/PHASE, where `*` matches anything.
    pub phase: ResultSelector,
    /// The reason, as text after “because” in a report.
    pub reason: String,
    /// Number of pairs in the same order with both clocks, among the pairs that differ
    /// significantly with both.
    pub same_order: u32,
    /// Number of pairs that differ significantly with both clocks.
    pub pairs: u32,
}

impl ExcludedPhase {
    /// Whether it is this phase.
    pub fn matches(&self, test: &Test, phase: &Phase) -> bool {
        self.phase.matches(test, phase)
    }
}
