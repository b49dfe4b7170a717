//! Small tables as plain text and as Markdown, and the numbers that stand in them: ratios with their intervals.

use analyse::inference::Compared;

use crate::wording::scale::three_digits;
use crate::wording::text::width;

/// Blanks between two columns.
const GAP: usize = 2;

/// A table with a heading; columns from the second on may be put to the right.
pub(crate) struct PlainTable {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl PlainTable {
    /// A table without rows; a name that begins with `>` is that of a column put to the right.
    pub fn new(heading: &[&str]) -> Self {
        let name = |text: &&str| text.trim_start_matches('>').to_owned();
        Self {
            heading: heading.iter().map(name).collect(),
            rows: Vec::new(),
            right: heading.iter().map(|name| name.starts_with('>')).collect(),
        }
    }

    /// Adds a row; what it holds is clean already.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The names of the columns, each with whether it is put to the right.
    pub fn heading(&self) -> impl Iterator<Item = (&str, bool)> {
        let names = self.heading.iter().map(String::as_str);
        names.zip(self.right.iter().copied())
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table as text, each line behind a margin; the last column may be of any length.
    pub fn text(&self, margin: &str) -> String {
        let heading: Vec<String> = self.heading.iter().map(|h| h.to_uppercase()).collect();
        let lines = || std::iter::once(&heading).chain(&self.rows);
        let widest = |column: usize| lines().map(|l| width(&l[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..heading.len()).map(widest).collect();
        let mut out = String::new();
        for line in lines() {
            let mut padded = margin.to_owned();
            for ((cell, wide), right) in line.iter().zip(&widths).zip(&self.right) {
                let blanks = " ".repeat(wide - width(cell));
                padded += &match right {
                    true => format!("{blanks}{cell}"),
                    false => format!("{cell}{blanks}"),
                };
                padded += &" ".repeat(GAP);
            }
            out += padded.trim_end();
            out.push('\n');
        }
        out
    }

    /// The table as Markdown; `escape` takes the meaning from what cells hold.
    pub fn markdown(&self, escape: impl Fn(&str) -> String) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let escaped = |row: &Vec<String>| row.iter().map(|c| escape(c)).collect::<Vec<_>>();
        let sides = self
            .right
            .iter()
            .map(|right| if *right { "--:" } else { ":--" });
        let rule: Vec<String> = sides.map(str::to_owned).collect();
        let rows = self.rows.iter().map(|row| line(&escaped(row)));
        line(&escaped(&self.heading)) + &line(&rule) + &rows.collect::<String>()
    }
}

/// A ratio with its 95 % interval: `1.12 (1.08 … 1.15)`.
pub(crate) fn ratio(compared: &Compared) -> String {
    let Compared {
        ratio, low, high, ..
    } = compared;
    if *high == f64::MAX {
        return three_digits(*ratio);
    }
    let [ratio, low, high] = [ratio, low, high].map(|value| three_digits(*value));
    format!("{ratio} ({low} … {high})")
}

/// A share in whole per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = PlainTable::new(&["name", ">ratio", "note"]);
        table.push(vec!["測試".into(), "1".into(), "x".into()]);
        table.push(vec!["b".into(), "12.5".into(), String::new()]);
        assert_eq!(
            table.text("  "),
            "  NAME  RATIO  NOTE\n  測試      1  x\n  b      12.5\n"
        );
        assert_eq!(
            table.markdown(|cell| cell.replace('x', "y")),
            "| name | ratio | note |\n| :-- | --: | :-- |\n| 測試 | 1 | y |\n| b | 12.5 |  |\n"
        );
    }
}
