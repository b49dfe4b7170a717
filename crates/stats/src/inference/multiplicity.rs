//! Corrections for the number of claims.

/// Returns the level of claims at which at most a share of them is expected to be false: the
/// largest q·r/m with r of the m p values at or below it (Y. Benjamini and Y. Hochberg, J. R. Stat.
/// Soc. B 57, 1995). This holds for positively dependent p values, such as those of one cell
/// (Benjamini and Yekutieli, Ann. Stat. 29, 2001); bounds at that level are false no more often
/// (the false coverage rate of Benjamini and Yekutieli, J. Am. Stat. Assoc. 100, 2005). Returns
/// q/m, the level that the first claim would have needed, if there are no claims.
pub(super) fn level(mut sorted: Vec<f64>, q: f64) -> f64 {
    sorted.sort_by(f64::total_cmp);
    let steps = |claims: usize| q * claims as f64 / sorted.len().max(1) as f64;
    let made = (1..=sorted.len()).rev().find(|claims| sorted[claims - 1] <= steps(*claims));
    steps(made.unwrap_or(1))
}

/// Returns the probability that any of k contenders, all compared with each other, is falsely
/// called worse than the best by more than a margin. `beyond` is the probability of this error for
/// a single pair, `above` that of being called worse than an equal one.
///
/// Suppose b contenders are as good as the best. Such a claim is false in two cases. Either another
/// contender is estimated farther from one of the b than it is: b·(k − b) pairs, at the margin. Or
/// one of the b is called worse than another of the b: b·(b − 1) pairs, whose error must be larger
/// by the margin. The worst b counts: k²/4 pairs for small errors, and all k·(k − 1) for errors
/// much larger than the margin.
pub(super) fn sidak(contenders: usize, beyond: f64, above: f64) -> f64 {
    let chance = |best: usize| {
        let pairs = |count: usize| count as f64;
        pairs(best * (contenders - best)) * beyond + pairs(best * (best - 1)) * above
    };
    (1..=contenders).map(chance).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Benjamini and Hochberg's article: the first four of 15 p values are claimed
    /// at 5 %.
    #[test]
    fn the_articles_example_claims_four() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let level = level(p_values.to_vec(), 0.05);
        assert_eq!(p_values.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn a_quarter_of_the_pairs_counts_for_small_errors() {
        assert_eq!(sidak(12, 0.01, 0.0), 0.36);
        assert_eq!(sidak(12, 0.01, 0.01), 1.32);
        assert_eq!(sidak(2, 0.01, 0.0), 0.01);
    }
}
