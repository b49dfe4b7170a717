//! Small tables as plain text and as Markdown, with ratios and their intervals.

use stats::inference::ComparisonResult;

use crate::text::sanitize::{width, wrap};
use crate::text::scale::three_digits;

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width of a wrapped cell.
const MIN_CELL: usize = 12;

/// A table with a heading. Columns from the second on can be aligned to the right.
pub(crate) struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// Creates a table without rows. A name that begins with `>` is a column aligned to the right.
    pub fn new(heading: &[&str]) -> Self {
        let name = |text: &&str| text.trim_start_matches('>').to_owned();
        Self {
            heading: heading.iter().map(name).collect(),
            rows: Vec::new(),
            right: heading.iter().map(|name| name.starts_with('>')).collect(),
        }
    }

    /// Adds a row. Its text must already be sanitized.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Returns the column names, each with whether the column is aligned to the right.
    pub fn heading(&self) -> impl Iterator<Item = (&str, bool)> {
        let names = self.heading.iter().map(String::as_str);
        names.zip(self.right.iter().copied())
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the table as text, each line indented by a margin; columns may have any width.
    pub fn text(&self, margin: &str) -> String {
        self.text_within(margin, usize::MAX)
    }

    /// Returns the table as text for a terminal of the given width. Cells of the widest columns are
    /// wrapped.
    pub fn text_within(&self, margin: &str, terminal: usize) -> String {
        let heading: Vec<String> = self.heading.iter().map(|h| h.to_uppercase()).collect();
        let rows = || std::iter::once(&heading).chain(&self.rows);
        let widest = |column: usize| rows().map(|row| width(&row[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..heading.len()).map(widest).collect();
        let gaps = width(margin) + GAP * heading.len().saturating_sub(1);
        let most = widest_cell(&widths, terminal.saturating_sub(gaps));
        let lines = rows().map(|row| row.iter().map(|cell| broken(cell, most)).collect());
        let cells: Vec<Vec<Vec<String>>> = lines.collect();
        let widest = |column: usize| {
            let lines = cells.iter().flat_map(|row| &row[column]);
            lines.map(|line| width(line)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heading.len()).map(widest).collect();
        let mut out = String::new();
        for row in &cells {
            for number in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
                let cells = row.iter().map(|cell| cell.get(number).map_or("", |l| l));
                out += self.line(margin, cells, &widths).trim_end();
                out.push('\n');
            }
        }
        out
    }

    fn line<'a>(
        &self,
        margin: &str,
        cells: impl Iterator<Item = &'a str>,
        widths: &[usize],
    ) -> String {
        let mut padded = margin.to_owned();
        for ((cell, wide), right) in cells.zip(widths).zip(&self.right) {
            let blanks = " ".repeat(wide - width(cell));
            padded += &match right {
                true => format!("{blanks}{cell}"),
                false => format!("{cell}{blanks}"),
            };
            padded += &" ".repeat(GAP);
        }
        padded
    }

    /// Returns the table as Markdown; `escape` escapes the text of cells.
    pub fn markdown(&self, escape: impl Fn(&str) -> String) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let escaped = |row: &Vec<String>| row.iter().map(|c| escape(c)).collect::<Vec<_>>();
        let sides = self.right.iter().map(|right| if *right { "--:" } else { ":--" });
        let rule: Vec<String> = sides.map(str::to_owned).collect();
        let rows = self.rows.iter().map(|row| line(&escaped(row)));
        line(&escaped(&self.heading)) + &line(&rule) + &rows.collect::<String>()
    }
}

/// Splits a cell into lines: between words, and after commas of lists that are too wide, such as
/// mount options.
fn broken(cell: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for mut line in wrap(cell, most) {
        while width(&line) > most {
            let commas = line.match_indices(',').map(|(at, _)| at + 1);
            let commas = commas.filter(|at| *at < line.len());
            let (fitting, wider): (Vec<usize>, Vec<usize>) =
                commas.partition(|at| width(&line[..*at]) <= most);
            let Some(at) = fitting.last().or(wider.first()).copied() else {
                break;
            };
            let rest = line.split_off(at);
            lines.push(std::mem::replace(&mut line, rest));
        }
        lines.push(line);
    }
    lines
}

/// Returns the width above which cells are wrapped, so that all columns fit into the available
/// space if possible.
fn widest_cell(widths: &[usize], room: usize) -> usize {
    let fits = |most: usize| widths.iter().map(|width| (*width).min(most)).sum::<usize>() <= room;
    let most = widths.iter().copied().max().unwrap_or(0);
    let fitting = (MIN_CELL..most).rev().find(|most| fits(*most));
    match fits(most) {
        true => most,
        false => fitting.unwrap_or(MIN_CELL),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_cells_go_on_below_themselves_on_a_terminal() {
        let mut table = Table::new(&["what", "before", ">after"]);
        let words = "a machine of many words";
        table.push(vec!["machine".into(), words.into(), words.into()]);
        table.push(vec!["seed".into(), "1".into(), "2".into()]);
        assert_eq!(
            table.text_within("  ", 40),
            "  WHAT     BEFORE               AFTER\n\
             \x20 machine  a machine of  a machine of\n\
             \x20          many words      many words\n\
             \x20 seed     1                        2\n"
        );
        assert_eq!(table.text_within("  ", usize::MAX), table.text("  "));
        assert_eq!(table.text_within("  ", 1).lines().count(), 4);
    }

    #[test]
    fn lists_without_blanks_are_wrapped_after_commas() {
        assert_eq!(broken("-E lazy,nodiscard,x", 10), ["-E", "lazy,", "nodiscard,", "x"]);
        assert_eq!(broken("nodiscard,lazy", 4), ["nodiscard,", "lazy"]);
        assert_eq!(broken("nodiscard", 4), ["nodiscard"]);
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["name", ">ratio", "note"]);
        table.push(vec!["測試".into(), "1".into(), "x".into()]);
        table.push(vec!["b".into(), "12.5".into(), String::new()]);
        assert_eq!(table.text("  "), "  NAME  RATIO  NOTE\n  測試      1  x\n  b      12.5\n");
        assert_eq!(
            table.markdown(|cell| cell.replace('x', "y")),
            "| name | ratio | note |\n| :-- | --: | :-- |\n| 測試 | 1 | y |\n| b | 12.5 |  |\n"
        );
    }
}
