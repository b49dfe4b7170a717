//! Computes verdicts: from log costs of rows, contenders and rounds to shortlists and verdicts with
//! bounds.
//!
//! A campaign has few rounds and many rows. So the noise of a pair of contenders in a row is
//! estimated from its rounds *and* from all other rows and pairs ([`moderated`]), every claim is
//! made against one margin of relevance ([`margin`]), contenders are compared with the best instead
//! of all with all ([`multiple_comparisons_best`]), and the number of claims is corrected for ([`multiplicity`]). The
//! share of false marks over all rows of a report is at most [`FDR_LIMIT`], and so is the
//! probability of any false claim over all its uses. `make error-rates` measures both.
//!
//! All inputs are natural logarithms of costs (lower is better). The computation uses no random
//! numbers, so the same inputs always give the same verdicts.

mod bound_gains;
mod estimates;
mod margin;
mod moderated;
mod multiple_comparisons_best;
mod multiplicity;
mod outlier_cells;
mod paired;
mod prior;
mod scale;
mod sessions;
mod student;
mod sum;

pub use bound_gains::rerun_candidates;
pub use estimates::PairwiseEstimates;
pub use margin::{ComparisonVerdict, MAX_ROUNDS, Margin};
pub use moderated::ModeratedEstimate;
pub use multiple_comparisons_best::{
    BestComparison, Contrast, ExcessBound, FORECAST_ROUNDS, family_level,
};
pub use paired::{BlockDesign, ComparisonResult, PairedResult, compare_pairs, overall};
pub use sum::quantiles;

/// Maximum share of false marks in a report, and maximum probability that its opening contains a
/// false claim.
pub const FDR_LIMIT: f64 = 0.05;

/// A contender with one round may have cost this many times less in others: the round may have
/// stalled.
pub const STALL_FACTOR: f64 = 5.0;

/// The log costs of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct LogCosts {
    /// The number of the test. The rows of one test, contender and round come from one cell and
    /// share its disturbance.
    pub test: usize,
    /// Whether the values are sizes: they do not vary with time, so that one round shows them.
    pub is_size: bool,
    /// Logarithm of the cost for each contender and each round, or `None` without a value.
    pub logs: Vec<Vec<Option<f64>>>,
}

/// The log costs of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignCosts {
    /// Number of contenders in each row.
    pub contenders: usize,
    /// The rows.
    pub rows: Vec<LogCosts>,
    /// Whether values are free of noise, as in virtual time. A verdict is about the rounds that
    /// were run: a single one is enough, and a bound is the smallest value over the rounds.
    pub exact: bool,
    /// Whether the campaign ended depending on its results, as with a budget.
    pub ends_by_results: bool,
}

/// A selection of contenders and rows of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Whether each contender is selected.
    pub contenders: Vec<bool>,
    /// Whether each row is selected.
    pub rows: Vec<bool>,
}

impl CampaignCosts {
    /// Returns the selection of every contender and every row.
    pub fn everything(&self) -> Selected {
        Selected { contenders: vec![true; self.contenders], rows: vec![true; self.rows.len()] }
    }

    /// Returns the costs of the selected contenders in the selected rows.
    fn among(&self, selected: &Selected) -> Self {
        let mut some = self.clone();
        for (row, counts) in some.rows.iter_mut().zip(&selected.rows) {
            for (logs, takes_part) in row.logs.iter_mut().zip(&selected.contenders) {
                if !(*counts && *takes_part) {
                    logs.fill(None);
                }
            }
        }
        some
    }

    /// Returns the costs with all signs reversed, so that the worst comes first.
    #[must_use]
    pub fn negated(&self) -> Self {
        let mut turned = self.clone();
        let logs = turned.rows.iter_mut().flat_map(|row| &mut row.logs);
        for log in logs.flatten().flatten() {
            *log = -*log;
        }
        turned
    }
}

impl LogCosts {
    /// Rounds.
    fn rounds(&self) -> usize {
        self.logs.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns the part of each contender's log cost that a stall may explain.
    fn possible_stalls(&self) -> Vec<f64> {
        let has_one = |logs: &Vec<Option<f64>>| !self.is_size && logs.iter().flatten().count() == 1;
        self.logs.iter().map(|logs| if has_one(logs) { STALL_FACTOR.ln() } else { 0.0 }).collect()
    }

    /// Returns the rounds that both contenders have, and the difference of their log costs in each.
    fn differences(&self, one: usize, other: usize) -> (Vec<usize>, Vec<f64>) {
        let rounds = self.logs[one].iter().zip(&self.logs[other]).enumerate();
        rounds.filter_map(|(round, (a, b))| Some((round, (*a)? - (*b)?))).unzip()
    }
}
