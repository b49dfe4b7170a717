//! Text for people and JSON for programs, on standard output.

use std::io::{self, Write};

use jiff::Timestamp;
use model::Nanos;
use report::{lines_of, visible};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Blanks between two columns.
const GAP: usize = 2;
/// In less room a text is not broken into lines.
const LEAST_ROOM: usize = 20;

/// Writes a text.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    written.map_err(|error| not_written(&error))
}

/// Why standard output could not be written.
pub fn not_written(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot write standard output: {error}"),
    )
}

/// Writes a value as JSON.
pub fn print_json(value: &Value) -> io::Result<()> {
    print(&format!("{value:#}\n"))
}

/// Columns of the terminal that standard output is; nothing where it is none.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// Columns under a heading, a line each. Only the last column may be of any length: on a terminal it goes on below itself,
/// and in a file grep finds it whole.
pub fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    table_within(terminal_width(), heading, rows)
}

fn table_within<const N: usize>(
    columns: Option<usize>,
    heading: [&str; N],
    rows: &[[String; N]],
) -> String {
    let heading = heading.map(str::to_uppercase);
    let lines = || std::iter::once(&heading).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|column| lines().map(|line| line[column].width()).max().unwrap_or(0));
    let before = &widths[..N.saturating_sub(1)];
    let margin = before.iter().map(|width| width + GAP).sum::<usize>();
    let mut text = String::new();
    for line in lines() {
        let mut padded = String::new();
        for (cell, width) in line.iter().zip(before) {
            padded += cell;
            padded.push_str(&" ".repeat(width - cell.width() + GAP));
        }
        let room = columns.map(|columns| columns.saturating_sub(margin));
        let below = format!("\n{}", " ".repeat(margin));
        padded += &match (line.last(), room) {
            (Some(cell), Some(room)) if room >= LEAST_ROOM => lines_of(cell, room).join(&below),
            (Some(cell), _) => cell.clone(),
            (None, _) => String::new(),
        };
        text += padded.trim_end();
        text.push('\n');
    }
    text
}

/// A text in lines of the terminal, each behind a margin; whole where there is none.
pub fn filled(margin: &str, text: &str) -> String {
    let columns = terminal_width().unwrap_or(usize::MAX);
    let lines = lines_of(text, columns.saturating_sub(margin.width()).max(LEAST_ROOM));
    lines
        .iter()
        .map(|line| format!("{margin}{line}\n"))
        .collect()
}

/// Says something on standard error; that nobody reads it is no reason to lose a campaign.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Text from outside in one line, such that it cannot move the cursor or hide.
pub fn line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Lines from outside, each behind a margin, such that they cannot move the cursor or hide.
pub fn indented(margin: &str, text: &str) -> String {
    let lines = text.trim_end().lines();
    lines
        .map(|line| format!("{margin}{}\n", visible(&line.replace('\t', "    "))))
        .collect()
}

/// A moment, given as nanoseconds since 1970: `2026-03-14 15:09 UTC`.
pub fn moment(since_1970: Nanos) -> String {
    Timestamp::from_nanosecond(i128::from(since_1970.0)).map_or_else(
        |_| since_1970.0.to_string(),
        |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_whatever_the_script() {
        let rows = [
            ["é".to_owned(), "x".to_owned()],
            ["測試".to_owned(), "y".to_owned()],
        ];
        assert_eq!(table(["a", "b"], &rows), "A     B\né     x\n測試  y\n");
    }

    #[test]
    fn on_a_terminal_the_last_column_goes_on_below_itself() {
        let rows = [[
            "ext4".to_owned(),
            "this kernel has no such driver at all".to_owned(),
        ]];
        let told = table_within(Some(30), ["a", "why"], &rows);
        assert_eq!(
            told,
            "A     WHY\next4  this kernel has no such\n      driver at all\n"
        );
        // Where there is no room, and in a file, a line stays whole.
        let whole = "A     WHY\next4  this kernel has no such driver at all\n";
        for columns in [Some(20), None] {
            assert_eq!(table_within(columns, ["a", "why"], &rows), whole);
        }
    }

    #[test]
    fn text_from_outside_stays_where_it_is_put() {
        assert_eq!(line(" a\n\tb\u{1b}[2J "), "a b\\u{1b}[2J");
        assert_eq!(
            indented("  ", "a\n\tb\u{202e}c\n"),
            "  a\n      b\\u{202e}c\n"
        );
    }

    #[test]
    fn a_moment_is_shown_in_universal_time() {
        assert_eq!(
            moment(Nanos::from_secs(951_782_399)),
            "2000-02-28 23:59 UTC"
        );
        assert_eq!(moment(Nanos(u64::MAX)), "2554-07-21 23:34 UTC");
    }
}
