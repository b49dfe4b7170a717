//! How long the rest of a campaign will take, judged by what was expected and by what has finished.

use std::collections::BTreeMap;

use model::{Cell, CellId, Nanos};

/// The time that the unfinished cells of a plan will take.
///
/// A cell is expected to take the median of the finished cells of its contender × test; before there is one, the
/// median of its test over all contenders; before that, what was `expected` of its test, multiplied by how far the
/// finished ones were off together.
pub fn time_left(
    cells: &[Cell],
    finished: &BTreeMap<CellId, Nanos>,
    expected: &BTreeMap<String, Nanos>,
) -> Nanos {
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
    let of = |test: &str| expected.get(test).map_or(0.0, |time| time.0 as f64);
    let (mut took, mut thought) = (0.0, 0.0);
    for (test, median) in &tests {
        took += *median as f64;
        thought += of(test);
    }
    let off = if thought > 0.0 { took / thought } else { 1.0 };
    let left = cells
        .iter()
        .filter(|cell| !finished.contains_key(&cell.id))
        .map(|cell| {
            let pair = (cell.contender.as_str(), cell.test.as_str());
            let of_test = || tests.get(cell.test.as_str());
            let known = pairs.get(&pair).or_else(of_test);
            known.map_or_else(|| (of(&cell.test) * off) as u64, |median| *median)
        })
        .fold(0, u64::saturating_add);
    Nanos(left)
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

    /// As long as they take, and twice as long.
    fn expected(times: u64) -> BTreeMap<String, Nanos> {
        let seconds = [("test0", 10), ("test1", 100), ("test2", 100)];
        let each = seconds.map(|(test, time)| (test.to_owned(), Nanos::from_secs(time * times)));
        each.into()
    }

    #[test]
    fn before_the_first_cell_it_is_what_was_expected_and_after_the_last_nothing() {
        let cells = plan(&campaign(3, 2, 2, 1));
        let before = time_left(&cells, &BTreeMap::new(), &expected(1));
        assert_eq!(before, Nanos::from_secs(6 * 110));
        let after = time_left(&cells, &durations(&cells), &expected(1));
        assert_eq!(after, Nanos(0));
    }

    #[test]
    fn a_finished_round_predicts_the_next() {
        let cells = plan(&campaign(3, 2, 2, 1));
        let mut finished = durations(&cells);
        finished.retain(|id, _| id.0 < 6);
        let left = time_left(&cells, &finished, &expected(7));
        assert_eq!(left, Nanos::from_secs(3 * 10 + 3 * 100));
    }

    #[test]
    fn what_was_expected_of_a_test_is_corrected_by_the_others() {
        let cells = plan(&campaign(1, 3, 1, 1));
        let mut finished = durations(&cells);
        finished.retain(|id, _| cells[id.0 as usize].test != "test2");
        let left = time_left(&cells, &finished, &expected(2));
        assert_eq!(left, Nanos::from_secs(100));
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
            let left = time_left(&cells, &finished, &expected(1)).0;
            let unfinished = (cells.len() - finished.len()) as u64;
            prop_assert!(left >= unfinished * times.iter().min().unwrap());
            prop_assert!(left <= unfinished * times.iter().max().unwrap());
        }
    }
}
