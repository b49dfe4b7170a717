//! Limits the bytes written by repetitions of phases, which wear out a disk without improving
//! results. Pure.

use model::{Bytes, Phase, Test, WorkEstimate};

use crate::plan::work;

/// Maximum bytes written by a phase that is repeated. A larger phase already averages over its own
/// operations.
pub const MAX_REPEATED: Bytes = Bytes::mib(256);

/// Returns the test with its repetitions limited to `budget` bytes in total; each phase still runs
/// once.
pub fn limit_iterations(test: &Test, budget: Bytes) -> Test {
    let works = work::estimate_phases(test);
    let repeated =
        |(phase, work): &(&Phase, &WorkEstimate)| phase.scaling.is_some() && work.written.0 > 0;
    let count = test.phases.iter().zip(&works).filter(repeated).count() as u64;
    let share = budget.0 / count.max(1);
    let mut test = test.clone();
    for (phase, work) in test.phases.iter_mut().zip(&works) {
        let written = work.written;
        let Some(scaling) = phase.scaling.as_mut().filter(|_| written.0 > 0) else {
            continue;
        };
        let more = match written > MAX_REPEATED {
            true => 0,
            false => share / written.0,
        };
        let passes = u32::try_from(more.saturating_add(1)).unwrap_or(u32::MAX);
        scaling.passes = scaling.passes.min(passes);
    }
    test
}

#[cfg(test)]
mod tests {
    use model::{AccessPattern, CacheState, Io, IterationPolicy, Nanos, Op, SyncAtEnd};

    use super::*;
    use crate::plan::fixture::campaign;

    /// Returns a test that writes this many MB, reads them and writes them again.
    fn test(megabytes: u64) -> Test {
        let phase = |name: &str, access| Phase {
            name: name.into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: Some(IterationPolicy {
                at_least: Nanos::from_secs(5),
                width: 0.03,
                passes: 200,
                limit: Nanos::from_secs(120),
            }),
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Io(Io {
                size: Some(Bytes(megabytes * 1_000_000)),
                ..Io::new("f", access, Bytes(1_000_000))
            }),
        };
        let mut test = campaign(1, 1, 1, 1).suites.remove(0).tests.remove(0);
        test.phases = vec![
            phase("write", AccessPattern::Write),
            phase("read", AccessPattern::Read),
            phase("again", AccessPattern::Write),
        ];
        test
    }

    fn passes(test: &Test) -> Vec<u32> {
        let phases = test.phases.iter();
        phases.map(|phase| phase.scaling.unwrap().passes).collect()
    }

    #[test]
    fn repetitions_share_the_budget_and_each_phase_runs_once() {
        let of = |megabytes, budget: u64| {
            passes(&limit_iterations(&test(megabytes), Bytes(budget * 1_000_000)))
        };
        assert_eq!(of(10, 1_000_000), [200, 200, 200]);
        assert_eq!(of(10, 200), [11, 200, 11]);
        assert_eq!(of(10, 0), [1, 200, 1]);
    }

    #[test]
    fn large_writes_are_not_repeated() {
        let budget = Bytes(u64::MAX);
        assert_eq!(passes(&limit_iterations(&test(300), budget)), [1, 200, 1]);
        assert_eq!(passes(&limit_iterations(&test(200), budget)), [200, 200, 200]);
    }
}
