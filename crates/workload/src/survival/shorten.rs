//! Shortens a sequence that fails, by delta debugging (A. Zeller, R. Hildebrandt, IEEE Transactions
//! on Software Engineering 28, 2002).

/// Returns a part of a failing sequence that still fails. Removes ever smaller chunks, the last ones
/// first, and ends if neither a single item nor two neighbours can be removed, or after a number of
/// trials.
///
/// # Errors
/// Returns the error of a trial.
pub fn shorten<T: Clone, E>(
    items: &[T],
    most_trials: usize,
    mut fails: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    let mut left = items.to_vec();
    let mut trials = 0;
    let mut chunk = (left.len() / 2).max(1);
    let mut are_singles_needed = false;
    loop {
        let before = left.len();
        let mut end = left.len();
        while end > 0 {
            let start = end.saturating_sub(chunk);
            let candidate = [&left[..start], &left[end..]].concat();
            if candidate.is_empty() {
                break;
            }
            if trials == most_trials {
                return Ok(left);
            }
            trials += 1;
            if fails(&candidate)? {
                left = candidate;
                end = start;
            } else {
                // A file and its sync can often be removed only together.
                end -= if are_singles_needed { 1 } else { end - start };
            }
        }
        let is_shorter = left.len() < before;
        (chunk, are_singles_needed) = match (chunk, are_singles_needed) {
            (_, true) if !is_shorter => return Ok(left),
            (1, false) if !is_shorter => (2, true),
            (chunk, false) => ((chunk / 2).max(1), false),
            (_, true) => (1, false),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// If failing needs certain items, exactly these remain.
        #[test]
        fn only_needed_items_remain(all in 1..40_u32, needed in prop::collection::btree_set(0..40_u32, 1..5)) {
            let items: Vec<u32> = (0..40.max(all)).collect();
            let fails = |part: &[u32]| Ok::<_, Infallible>(needed.iter().all(|one| part.contains(one)));
            let Ok(left) = shorten(&items, usize::MAX, fails);
            prop_assert_eq!(left, needed.iter().copied().collect::<Vec<_>>());
        }

        /// Items that only fail together are removed together.
        #[test]
        fn neighbours_are_removed_together(pairs in 1..10_usize, needed in 0..20_usize) {
            let items: Vec<usize> = (0..2 * pairs).collect();
            let needed = needed % items.len();
            let fails = |part: &[usize]| {
                let is_whole = |one: &usize| one / 2 == needed / 2 || part.contains(&(one ^ 1));
                Ok::<_, Infallible>(part.contains(&needed) && part.iter().all(is_whole))
            };
            let Ok(left) = shorten(&items, usize::MAX, fails);
            prop_assert_eq!(left, [needed]);
        }

        #[test]
        fn trials_are_limited(most in 0..30_usize) {
            let mut trials = 0;
            let Ok(left) = shorten(&[0; 100], most, |_| {
                trials += 1;
                Ok::<_, Infallible>(false)
            });
            prop_assert_eq!((trials, left.len()), (most, 100));
        }
    }
}
