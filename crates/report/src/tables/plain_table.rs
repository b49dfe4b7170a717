//! Small tables as plain text and as Markdown, and the numbers that stand in sentences: ratios with
//! their intervals, chances.

use analyse::Effect;

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

/// A ratio with its interval and the confidence that this reaches: `1.12 (1.08 … 1.15 at 75 %)`.
pub(crate) fn ratio(effect: &Effect) -> String {
    let interval = &effect.interval;
    if interval.confidence <= 0.0 {
        return three_digits(effect.ratio);
    }
    format!(
        "{} ({} … {} at {} %)",
        three_digits(effect.ratio),
        three_digits(interval.low),
        three_digits(interval.high),
        percent(interval.confidence)
    )
}

/// A share in whole per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

/// A chance as it stands behind `p`: `= 0.031`, `< 0.001`.
pub(crate) fn chance(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else if p < 0.1 {
        format!("= {p:.3}")
    } else {
        format!("= {p:.2}")
    }
}

/// A chance in a column of its own.
pub(crate) fn chance_alone(p: f64) -> String {
    chance(p).trim_start_matches("= ").to_owned()
}

/// Words joined as `a`, `a and b`, `a, b and c`.
pub(crate) fn all_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
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

    #[test]
    fn chances_are_never_shown_as_nothing() {
        assert_eq!(chance(1e-9), "< 0.001");
        assert_eq!(chance(0.031_25), "= 0.031");
        assert_eq!(chance(0.25), "= 0.25");
        assert_eq!(chance(1.0), "= 1.00");
    }

    #[test]
    fn one_round_gives_a_ratio_without_an_interval() {
        let effect = Effect::paired(&[(3.0, 2.0)]).unwrap();
        assert_eq!(ratio(&effect), "1.50");
        let effect = Effect::paired(&[(3.0, 2.0), (3.0, 2.0)]).unwrap();
        assert_eq!(ratio(&effect), "1.50 (1.50 … 1.50 at 50 %)");
    }
}
