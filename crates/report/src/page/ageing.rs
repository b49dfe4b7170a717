//! The cost of ageing, as shown on the page.

use stats::Analysis;

use crate::tables::ageing;
use crate::tables::table::Table;

/// The cost of ageing.
pub(super) struct AgeingView {
    pub title: &'static str,
    pub note: &'static str,
    pub sentences: Vec<String>,
    pub tables: Vec<TableView>,
}

/// A table and its caption.
pub(super) struct TableView {
    pub caption: &'static str,
    /// Column names, each with whether the column is aligned to the right.
    pub heading: Vec<(String, bool)>,
    pub rows: Vec<Vec<String>>,
}

/// Returns `None` if no contender is measured both fresh and aged.
pub(super) fn view(analysis: &Analysis) -> Option<AgeingView> {
    let sums = ageing::sums(analysis)?;
    let results =
        ageing::results(analysis, usize::MAX).map(|results| table(ageing::EACH, &results));
    let sums = table("Over all results, and over each group of tests:", &sums);
    Some(AgeingView {
        title: ageing::TITLE,
        note: ageing::NOTE,
        sentences: ageing::sentences(analysis),
        tables: [sums].into_iter().chain(results).collect(),
    })
}

fn table(caption: &'static str, table: &Table) -> TableView {
    let heading = table.heading();
    TableView {
        caption,
        heading: heading.map(|(name, right)| (name.to_owned(), right)).collect(),
        rows: table.rows().to_vec(),
    }
}
