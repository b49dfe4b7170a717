//! Results that are unreliable in virtual time and excluded from scores there.

use crate::{Phase, ResultSelector, Test};

/// A phase in which the contenders rank differently in virtual time and in real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedPhase {
    /// Pattern of the phase: TEST/PHASE, in which `*` matches anything.
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
    /// Returns true if it applies to this phase.
    pub fn matches(&self, test: &Test, phase: &Phase) -> bool {
        self.phase.matches(test, phase)
    }
}
