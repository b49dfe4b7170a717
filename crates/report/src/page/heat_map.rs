//! Ratio of each result of the overview to the best of its row, and the step of the colour scale
//! for it. The colours are defined in the style sheet.

use model::{Direction, Metric};
use stats::{RankingState, ResultRow};

use crate::text::scale::three_digits;

/// Upper ends of the steps of the scale, as ratios to the best.
pub(super) const STEPS: [f64; 6] = [1.05, 1.25, 1.6, 2.5, 5.0, 10.0];

/// Returns the legend of the scale.
pub(super) fn legend() -> Vec<(String, String)> {
    let from = |step: usize| match step {
        0 => "1".to_owned(),
        step => STEPS[step - 1].to_string(),
    };
    let words = |step: usize| match STEPS.get(step) {
        Some(to) => format!("{} … {to}", from(step)),
        None => format!("above {}", from(step)),
    };
    (0..=STEPS.len()).map(|step| (format!("h{step}"), words(step))).collect()
}

/// Returns the ratio of the best result to the result of each contender. Elements are `None` if the
/// row is not ranked or its numbers have no ratio.
pub(super) fn ratios(row: &ResultRow) -> Vec<Option<f64>> {
    let medians = || {
        let results = row.results.iter();
        results.map(|f| f.estimate.filter(|_| !f.set_apart).map(|e| e.median))
    };
    let ranked = row.ranking == RankingState::Ranked && row.metric != Metric::Supported;
    let positive = medians().flatten().all(|m| m > 0.0);
    let best = match row.direction {
        Direction::Higher => medians().flatten().reduce(f64::max),
        Direction::Lower => medians().flatten().reduce(f64::min),
        Direction::Neutral => None,
    };
    let Some(best) = best.filter(|_| ranked && positive) else {
        return vec![None; row.results.len()];
    };
    let ratio = |median: f64| match row.direction {
        Direction::Higher => best / median,
        _ => median / best,
    };
    medians().map(|median| median.map(ratio)).collect()
}

/// Returns the class of a ratio.
pub(super) fn class(ratio: f64) -> String {
    let step = STEPS.iter().position(|end| ratio <= *end);
    format!("h{}", step.unwrap_or(STEPS.len()))
}

/// Formats a ratio for the page's script.
pub(super) fn attribute(ratio: f64) -> String {
    three_digits(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn the_best_is_once_itself_and_half_the_speed_is_twice_the_time() {
        let analysis = analyse(&fixture::plain());
        let write = &analysis.rows[0];
        let elapsed = analysis.rows.iter().find(|row| row.metric == Metric::Elapsed).unwrap();
        for row in [write, elapsed] {
            let ratios: Vec<f64> = ratios(row).into_iter().flatten().collect();
            for (ratio, expected) in ratios.iter().zip([1.0, 2.0, 4.0]) {
                assert!((ratio - expected).abs() < 1e-9, "{ratios:?}");
            }
        }
    }

    #[test]
    fn the_scale_has_no_gap() {
        assert_eq!(class(1.0), "h0");
        assert_eq!(class(1.05), "h0");
        assert_eq!(class(1.06), "h1");
        assert_eq!(class(10.0), "h5");
        assert_eq!(class(1e9), "h6");
        let legend = legend();
        assert_eq!(legend.len(), STEPS.len() + 1);
        assert_eq!(legend[0].1, "1 … 1.05");
        assert_eq!(legend[6].1, "above 10");
    }
}
