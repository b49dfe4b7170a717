//! Tables of every document, with ratios and their intervals.

use stats::inference::ComparisonResult;

use crate::text::scale::three_digits;

/// Style of a cell, or of the label of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// A number or text.
    #[default]
    Plain,
    /// The best contender, or success.
    Best,
    /// The worst contender, or a contradiction.
    Worst,
    /// A status in place of a number, after a failure.
    Failed,
    /// A status in place of a number, without a failure.
    Missing,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCell {
    /// A number, or a word that replaces it.
    pub text: String,
    /// Signs after the text; explained by the legend of the document.
    pub signs: String,
    /// Style of the cell.
    pub tone: Style,
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The heading.
    pub name: String,
    /// Whether the column holds numbers, which are aligned to the right.
    pub right: bool,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Name and title of the rows below.
    Group(String, String),
    /// A limit between the rows above and below, across the table.
    Rule(String),
    /// The cells.
    Cells(Vec<TableCell>),
}

/// A table with a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Number of columns that are repeated if the others do not fit next to each other. Without
    /// such columns, cells are wrapped instead.
    pub(crate) labels: usize,
    /// Whether each row is about one contender, in the campaign's order; the script of the page
    /// hides rows of contenders that are not selected.
    pub(crate) by_contender: bool,
}

impl Table {
    /// Creates a table without rows. A name that begins with `>` is a column of numbers.
    pub fn new<T: AsRef<str>>(heading: &[T]) -> Self {
        let column = |name: &T| Column {
            name: name.as_ref().trim_start_matches('>').to_owned(),
            right: name.as_ref().starts_with('>'),
        };
        Self { columns: heading.iter().map(column).collect(), ..Self::default() }
    }

    /// Creates a table with a label for each row and a column of numbers for each contender.
    pub fn by_contender<'a>(
        names: impl Iterator<Item = &'a str>,
        rows: impl Iterator<Item = (String, Vec<TableCell>)>,
    ) -> Self {
        let label = Column { name: String::new(), right: false };
        let numbers = names.map(|name| Column { name: name.to_owned(), right: true });
        let columns = [label].into_iter().chain(numbers).collect();
        let mut table = Self { columns, labels: 1, ..Self::default() };
        rows.for_each(|(label, cells)| table.push([label.into()].into_iter().chain(cells)));
        table
    }

    /// Adds a row.
    pub fn push<T: Into<TableCell>>(&mut self, row: impl IntoIterator<Item = T>) {
        self.rows.push(Row::Cells(row.into_iter().map(Into::into).collect()));
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of cells.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[TableCell]> {
        self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => Some(&cells[..]),
            Row::Group(..) | Row::Rule(_) => None,
        })
    }
}

/// Formats a ratio with its 95 % interval: `1.12 (1.08 … 1.15)`.
pub(crate) fn ratio(compared: &ComparisonResult) -> String {
    let ComparisonResult { ratio, low, high, .. } = compared;
    if *high == f64::MAX {
        return three_digits(*ratio);
    }
    let [ratio, low, high] = [ratio, low, high].map(|value| three_digits(*value));
    format!("{ratio} ({low} … {high})")
}

/// Formats a share in whole per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}
