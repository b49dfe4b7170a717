//! Bisects a list of versions, like `git bisect`. The first version is known not to be worse, the
//! last to be worse. Selects the version that runs next, and finds the two versions between which
//! the change occurred. Assumes a single change.

use serde::Serialize;

/// State of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VersionState {
    /// The version did not run.
    NotRun,
    /// The version is not worse than the first.
    NotWorse,
    /// The version is worse than the first.
    Worse,
    /// It was run without a usable result: it does not start, or fails.
    Skipped,
}

/// The search and the states of all versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    seen: Vec<VersionState>,
}

impl Bisection {
    /// Creates a search over this number of versions.
    ///
    /// # Panics
    /// Panics if there are fewer than two.
    pub fn new(versions: usize) -> Self {
        assert!(versions > 1, "a list has a first version and a last one");
        let mut seen = vec![VersionState::NotRun; versions];
        seen[0] = VersionState::NotWorse;
        seen[versions - 1] = VersionState::Worse;
        Self { seen }
    }

    /// Returns the state of each version.
    pub fn states(&self) -> &[VersionState] {
        &self.seen
    }

    /// Returns the last version that is not worse and the first worse one after it. When no version
    /// remains to be run, those in between were skipped.
    pub fn bounds(&self) -> [usize; 2] {
        let of = |wanted: VersionState| move |seen: &VersionState| *seen == wanted;
        let good = self.seen.iter().rposition(of(VersionState::NotWorse));
        let bad = self.seen.iter().position(of(VersionState::Worse));
        [good.unwrap_or(0), bad.unwrap_or(self.seen.len() - 1)]
    }

    /// Returns the version to run next: the runnable version nearest to the middle.
    pub fn next(&self) -> Option<usize> {
        let [good, bad] = self.bounds();
        let open = (good + 1..bad).filter(|at| self.seen[*at] == VersionState::NotRun);
        open.min_by_key(|at| (2 * at).abs_diff(good + bad))
    }

    /// Records the result of [`Bisection::next`].
    pub fn record(&mut self, at: usize, seen: VersionState) {
        self.seen[at] = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bisects a list with a change at `change`, in which the versions `broken` cannot run. Also
    /// returns the number of versions that ran.
    fn search(versions: usize, change: usize, broken: &[usize]) -> (Bisection, usize) {
        let mut bisection = Bisection::new(versions);
        let mut runs = 2;
        while let Some(at) = bisection.next() {
            runs += 1;
            let seen = match at {
                at if broken.contains(&at) => VersionState::Skipped,
                at if at < change => VersionState::NotWorse,
                _ => VersionState::Worse,
            };
            bisection.record(at, seen);
        }
        (bisection, runs)
    }

    proptest! {
        #[test]
        fn a_search_ends_at_the_change_after_few_runs(versions in 2usize..300, change: prop::sample::Index) {
            let change = 1 + change.index(versions - 1);
            let (bisection, runs) = search(versions, change, &[]);
            prop_assert_eq!(bisection.bounds(), [change - 1, change]);
            let halvings = (versions - 1).next_power_of_two().ilog2() as usize;
            prop_assert!(runs <= halvings + 2, "{} runs of {}", runs, versions);
        }

        #[test]
        fn skips_versions_that_cannot_run_and_encloses_the_change(
            versions in 2usize..60,
            change: prop::sample::Index,
            broken in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let change = 1 + change.index(versions - 1);
            let mut broken: Vec<usize> = broken.iter().map(|at| at.index(versions)).collect();
            broken.retain(|at| *at != 0 && *at != versions - 1);
            let (bisection, runs) = search(versions, change, &broken);
            let [good, bad] = bisection.bounds();
            prop_assert!(good < change && change <= bad);
            // No version between them could have been run.
            prop_assert!((good + 1..bad).all(|at| broken.contains(&at)));
            prop_assert!(runs <= versions);
        }
    }
}
