//! How long the rest of a campaign will take, judged by what has finished.

use std::collections::BTreeMap;

use model::{Cell, CellId, Nanos};

/// The time that the unfinished cells of a plan will take; `None` before any cell has finished.
///
/// A cell is expected to take the median of the finished cells of its contender × test; before there
/// is one, the median of its test over all contenders; before that, the mean of the tests' medians
/// (a sum over tests of very different length wants a mean).
pub fn time_left(cells: &[Cell], finished: &BTreeMap<CellId, Nanos>) -> Option<Nanos> {
    let mut by_pair: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    let mut by_test: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for cell in cells {
        if let Some(elapsed) = finished.get(&cell.id) {
            let pair = (cell.contender.as_str(), cell.test.as_str());
            by_pair.entry(pair).or_default().push(elapsed.0);
            by_test.entry(&cell.test).or_default().push(elapsed.0);
        }
    }
    let pairs = medians(by_pair);
    let tests = medians(by_test);
    let known = u64::try_from(tests.len()).expect("a count of tests fits 64 bits");
    let anything = tests
        .values()
        .fold(0, |sum: u64, m| sum.saturating_add(*m))
        .checked_div(known)?;
    let left = cells
        .iter()
        .filter(|cell| !finished.contains_key(&cell.id))
        .map(|cell| {
            let pair = (cell.contender.as_str(), cell.test.as_str());
            let of_test = || tests.get(cell.test.as_str());
            *pairs.get(&pair).or_else(of_test).unwrap_or(&anything)
        })
        .fold(0, u64::saturating_add);
    Some(Nanos(left))
}

fn medians<K: Ord>(groups: BTreeMap<K, Vec<u64>>) -> BTreeMap<K, u64> {
    groups
        .into_iter()
        .filter_map(|(key, times)| Some((key, median(times)?)))
        .collect()
}

/// The middle one, or the mean of the two in the middle.
fn median(mut times: Vec<u64>) -> Option<u64> {
    times.sort_unstable();
    let upper = *times.get(times.len() / 2)?;
    let lower = times[(times.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{fixture::campaign, plan};

    /// Ten seconds for each cell of the first test, one hundred for each of the second.
    fn durations(cells: &[Cell]) -> BTreeMap<CellId, Nanos> {
        let seconds = |c: &Cell| if c.test == "test0" { 10 } else { 100 };
        cells
            .iter()
            .map(|c| (c.id, Nanos::from_secs(seconds(c))))
            .collect()
    }

    #[test]
    fn nothing_is_known_before_the_first_cell_and_nothing_left_after_the_last() {
        let cells = plan(&campaign(3, 2, 2, 1));
        assert_eq!(time_left(&cells, &BTreeMap::new()), None);
        assert_eq!(time_left(&cells, &durations(&cells)), Some(Nanos(0)));
    }

    #[test]
    fn a_finished_round_predicts_the_next() {
        let cells = plan(&campaign(3, 2, 2, 1));
        let mut finished = durations(&cells);
        finished.retain(|id, _| id.0 < 6);
        let expected = Nanos::from_secs(3 * 10 + 3 * 100);
        assert_eq!(time_left(&cells, &finished), Some(expected));
    }

    #[test]
    fn a_test_that_never_ran_is_expected_to_take_the_mean_of_the_others() {
        let cells = plan(&campaign(1, 3, 1, 1));
        let mut finished = durations(&cells);
        finished.retain(|id, _| cells[id.0 as usize].test != "test2");
        assert_eq!(time_left(&cells, &finished), Some(Nanos::from_secs(55)));
    }

    #[test]
    fn medians_of_odd_even_and_none() {
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(vec![4, 2]), Some(3));
        assert_eq!(median(Vec::new()), None);
    }

    proptest! {
        #[test]
        fn the_estimate_lies_between_the_extremes(times in prop::collection::vec(1u64..1 << 40, 12)) {
            let cells = plan(&campaign(3, 2, 4, 9));
            let finished: BTreeMap<_, _> =
                cells.iter().zip(&times).map(|(c, t)| (c.id, Nanos(*t))).collect();
            let left = time_left(&cells, &finished).unwrap().0;
            let unfinished = (cells.len() - finished.len()) as u64;
            prop_assert!(left >= unfinished * times.iter().min().unwrap());
            prop_assert!(left <= unfinished * times.iter().max().unwrap());
        }
    }
}
