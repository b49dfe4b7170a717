//! Ranks of values; equal values share their mean rank.

/// Returns twice the rank of each value, from 2. Doubled, the mean of any ranks is a whole number.
pub(crate) fn doubled_ranks(values: &[f64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for run in order.chunk_by(|a, b| values[*a] == values[*b]) {
        // The ranks are first + 1 … first + length; this is twice their mean.
        let rank = (2 * first + run.len() + 1) as u64;
        run.iter().for_each(|&index| ranks[index] = rank);
        first += run.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(doubled_ranks(&[3.0, 1.0, 3.0, 2.0]), [7, 2, 7, 4]);
        assert_eq!(doubled_ranks(&[]), [0u64; 0]);
    }

    proptest! {
        #[test]
        fn ties_do_not_change_the_sum(values in prop::collection::vec(0u8..6, 0..30)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let count = values.len() as u64;
            prop_assert_eq!(doubled_ranks(&values).iter().sum::<u64>(), count * (count + 1));
        }
    }
}
