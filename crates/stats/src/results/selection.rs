//! Part of a campaign that a user selected in its report.

use crate::ResultRow;

/// Contenders and rows of a campaign that a user selected in its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Whether each contender is selected, in the campaign's order.
    pub contenders: Vec<bool>,
    /// Whether each of [`crate::Analysis::rows`] counts.
    pub rows: Vec<bool>,
}

impl Selection {
    /// Returns the rows with unselected contenders excluded from the ranking, and unselected rows
    /// withheld from scores.
    pub(crate) fn apply(&self, rows: &[ResultRow]) -> Vec<ResultRow> {
        let mut rows = rows.to_vec();
        for (row, counts) in rows.iter_mut().zip(&self.rows) {
            if !counts {
                row.withheld = Some("not selected".to_owned());
            }
            for (result, takes_part) in row.results.iter_mut().zip(&self.contenders) {
                result.set_apart |= !takes_part;
            }
        }
        rows
    }
}
