//! Text output and JSON output on standard output.

use std::io::{self, Write};

use jiff::Timestamp;
use model::Nanos;
use report::{TextStyle, escape_invisible, wrap};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width, in columns, for text to be wrapped.
const MIN_ROOM: usize = 20;
/// Indentation of a last column that is printed below its row.
const BELOW: &str = "    ";

/// Prints text. On a terminal, lines are wrapped between words.
pub fn print(text: &str) -> io::Result<()> {
    print_unwrapped(&folded(text, terminal_width()))
}

/// Prints text for programs without wrapping it.
pub fn print_unwrapped(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| not_written(&error))
}

/// Prints a comparison as Markdown or as text.
pub fn print_styled(markdown: bool, text: impl FnOnce(TextStyle) -> String) -> io::Result<()> {
    match markdown {
        true => print_unwrapped(&text(TextStyle::Markdown)),
        false => print(&text(TextStyle::Text { columns: terminal_width() })),
    }
}

/// Returns an error that explains why standard output could not be written.
pub fn not_written(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write standard output: {error}"))
}

/// Prints a value as JSON.
pub fn print_json(value: &Value) -> io::Result<()> {
    print_unwrapped(&format!("{value:#}\n"))
}

/// Returns the width of the terminal on standard output. Returns `None` if it is not a terminal.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// Formats a table. In a file each row is one line, which suits grep. On a terminal, cells are
/// wrapped between words. If the last column would be too narrow, it is printed below its row. If
/// the words still do not fit, each row is a block of lines.
pub fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    table_within(terminal_width(), heading, rows)
}

/// Formats a table for this number of columns. Without a number, each row is one line.
pub(super) fn table_within<const N: usize>(
    columns: Option<usize>,
    heading: [&str; N],
    rows: &[[String; N]],
) -> String {
    let upper = heading.map(str::to_uppercase);
    let lines: Vec<&[String]> =
        std::iter::once(&upper[..]).chain(rows.iter().map(|row| &row[..])).collect();
    let all = |widths: &[usize]| lines.iter().map(|line| row(line, widths)).collect();
    let Some(columns) = columns else {
        return all(&natural(&lines));
    };
    let has_room = |widths: &Vec<usize>| {
        let last = widths.len().saturating_sub(1);
        widths[last] >= MIN_ROOM.min(natural(&lines)[last])
    };
    if let Some(widths) = narrowed(&lines, columns).filter(has_room) {
        return all(&widths);
    }
    let before: Vec<&[String]> = lines.iter().map(|line| &line[..N - 1]).collect();
    match narrowed(&before, columns) {
        Some(widths) => {
            let below = lines.iter().skip(1).map(|line| match &line[N - 1] {
                nothing if nothing.is_empty() => String::new(),
                last => filled_within(Some(columns), BELOW, last),
            });
            let rows = before.iter().skip(1).map(|line| row(line, &widths));
            let rows = rows.zip(below).map(|(row, below)| row + &below);
            row(before[0], &widths) + &rows.collect::<String>()
        }
        None => rows.iter().map(|row| block(columns, heading, row)).collect(),
    }
}

/// Returns the unwrapped widths of the columns.
fn natural(lines: &[&[String]]) -> Vec<usize> {
    let columns = lines.first().map_or(0, |line| line.len());
    let widest = |column: usize| lines.iter().map(|line| line[column].width()).max();
    (0..columns).map(|column| widest(column).unwrap_or(0)).collect()
}

/// Returns widths of the columns that fit in a line: the widest ones are reduced first, and none
/// becomes narrower than its longest word. Returns `None` if that is not enough.
fn narrowed(lines: &[&[String]], columns: usize) -> Option<Vec<usize>> {
    let longest_word = |column: usize| {
        let words = lines.iter().flat_map(|line| line[column].split(' '));
        words.map(UnicodeWidthStr::width).max().unwrap_or(0)
    };
    let mut widths = natural(lines);
    let least: Vec<usize> = (0..widths.len()).map(longest_word).collect();
    let room = columns.saturating_sub(GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let gives = (0..widths.len()).filter(|column| widths[*column] > least[*column]);
        let widest = gives.max_by_key(|column| widths[*column])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

/// Returns a row of a table, with as many lines as its longest cell.
fn row(cells: &[String], widths: &[usize]) -> String {
    let parts: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| match cell.width() <= *width {
            true => vec![cell.clone()],
            false => wrap(cell, *width),
        })
        .collect();
    let height = parts.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for number in 0..height {
        let mut padded = String::new();
        for (part, width) in parts.iter().zip(widths) {
            let part = part.get(number).map_or("", String::as_str);
            padded += part;
            padded.push_str(&" ".repeat(width.saturating_sub(part.width()) + GAP));
        }
        text += padded.trim_end();
        text.push('\n');
    }
    text
}

/// Formats a row as lines: its first cell, then one line per further cell with its heading.
fn block<const N: usize>(columns: usize, heading: [&str; N], cells: &[String; N]) -> String {
    let mut cells = cells.iter().zip(heading);
    let first = cells.next().map_or("", |(cell, _)| cell);
    let named = cells.filter(|(cell, _)| !cell.is_empty());
    let named =
        named.map(|(cell, name)| beside_within(Some(columns), &format!("  {name}: "), cell));
    format!("{first}\n{}", named.collect::<String>())
}

/// Formats a text with a label, wrapped on a terminal.
pub fn label_and_wrap(label: &str, text: &str) -> String {
    beside_within(terminal_width(), label, text)
}

fn beside_within(columns: Option<usize>, label: &str, text: &str) -> String {
    let margin = " ".repeat(label.width());
    let text = filled_within(columns, &margin, text);
    format!("{label}{}", text.trim_start())
}

/// Formats a text with a left margin, wrapped on a terminal.
pub fn wrap_with_margin(margin: &str, text: &str) -> String {
    filled_within(terminal_width(), margin, text)
}

fn filled_within(columns: Option<usize>, margin: &str, text: &str) -> String {
    let columns = columns.unwrap_or(usize::MAX);
    let lines = wrap(text, columns.saturating_sub(margin.width()).max(MIN_ROOM));
    lines.iter().map(|line| format!("{margin}{line}\n")).collect()
}

/// Wraps lines that are too long.
fn folded(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let lines = text.split_inclusive('\n');
    lines.map(|line| folded_line(line, columns)).collect()
}

fn folded_line(line: &str, columns: usize) -> String {
    let shown = line.trim_end();
    if shown_width(shown) <= columns {
        // Spaces at the end could exceed the width.
        let end = if line.ends_with('\n') { "\n" } else { "" };
        return format!("{shown}{end}");
    }
    let margin = line.len() - line.trim_start_matches(' ').len();
    // A paragraph has no further indentation, but entries of a list have. A deep margin may leave
    // no room for it.
    let further = match margin {
        0 => 0,
        set_in => Some(set_in + 2).filter(|m| m + MIN_ROOM <= columns).unwrap_or(0),
    };
    let further = " ".repeat(further);
    let (mut text, mut used) = (line[..margin].to_owned(), margin);
    let mut begins = true;
    for word in line[margin..].split(' ') {
        let wide = shown_width(word.trim_end());
        if !begins && used + 1 + wide > columns {
            text.truncate(text.trim_end_matches(' ').len());
            text += &format!("\n{further}");
            (used, begins) = (further.len(), true);
        }
        if !begins && used < columns {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += wide;
        // Spaces at the beginning of a line do not separate columns.
        begins &= word.is_empty();
    }
    text
}

/// Returns the width of a text in columns, without colour codes.
fn shown_width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    let behind = |part: &str| part.split_once('m').map_or(0, |(_, text)| text.width());
    first + parts.map(behind).sum::<usize>()
}

/// Prints a message on standard error. Ignores write errors, which must not stop a campaign.
pub fn print_note(text: &str) {
    let width = terminal_size::terminal_size_of(io::stderr());
    print_note_unwrapped(&folded(text, width.map(|(width, _)| usize::from(width.0))));
}

/// Prints a note without wrapping, for programs that need whole lines.
pub fn print_note_unwrapped(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns text from outside as one line that cannot move the cursor or hide characters.
pub fn line(text: &str) -> String {
    escape_invisible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns a count with its noun: `1 cell`, `2 cells`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats lines from outside with a left margin. Control characters are made visible.
pub fn indented(margin: &str, text: &str) -> String {
    let lines = text.trim_end().lines();
    lines
        .map(|line| format!("{margin}{}\n", escape_invisible(&line.replace('\t', "    "))))
        .collect()
}

/// Formats a time, given as nanoseconds since 1970: `2026-03-14 15:09 UTC`.
pub fn moment(since_1970: Nanos) -> String {
    // Imported results may lack a date.
    if since_1970 == Nanos(0) {
        return "not stated".to_owned();
    }
    Timestamp::from_nanosecond(i128::from(since_1970.0)).map_or_else(
        |_| since_1970.0.to_string(),
        |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wraps_long_lines_between_words() {
        let text = "short\n  failed  ext4: no room on the device that is tested\n";
        let told = "short\n  failed  ext4: no room on the\n    device that is tested\n";
        assert_eq!(folded(text, Some(32)), told);
        assert_eq!(folded(text, None), text);
        assert_eq!(folded("it fits with a space ", Some(20)), "it fits with a space");
        let bold = "\u{1b}[1mext4\u{1b}[0m is first of all";
        assert_eq!(folded(bold, Some(22)), bold);
    }

    proptest! {
        #[test]
        fn folding_keeps_all_words_and_fits_if_possible(words in prop::collection::vec("[a-z]{0,9}", 1..40), columns in 30_usize..90) {
            let text = words.join(" ");
            let told = folded(&text, Some(columns));
            prop_assert!(told.lines().all(|line| line.width() <= columns), "{}", told);
            let all = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(all(&told), all(&text));
        }
    }

    #[test]
    fn columns_are_aligned_in_any_script() {
        let rows = [["é".to_owned(), "x".to_owned()], ["測試".to_owned(), "y".to_owned()]];
        assert_eq!(table(["a", "b"], &rows), "A     B\né     x\n測試  y\n");
    }

    #[test]
    fn wraps_the_last_column_on_a_terminal() {
        let rows = [["ext4".to_owned(), "this kernel has no such driver at all".to_owned()]];
        let told = table_within(Some(30), ["a", "why"], &rows);
        assert_eq!(told, "A     WHY\next4  this kernel has no such\n      driver at all\n");
        // In a file, lines are not wrapped.
        let whole = "A     WHY\next4  this kernel has no such driver at all\n";
        assert_eq!(table_within(None, ["a", "why"], &rows), whole);
    }

    #[test]
    fn on_a_terminal_the_widest_columns_give_way_and_no_word_is_broken() {
        let rows = [[
            "sata-ssd".to_owned(),
            "flash with many dies, and a cache".to_owned(),
            "a disk that many people had".to_owned(),
        ]];
        let shown = |columns| table_within(Some(columns), ["disk", "mechanism", "title"], &rows);
        insta::assert_snapshot!("in-columns", shown(60));
        insta::assert_snapshot!("last-below", shown(40));
        for columns in 20..90 {
            let text = shown(columns);
            let widest = text.lines().map(UnicodeWidthStr::width).max();
            assert!(widest <= Some(columns), "{columns}:\n{text}");
            for word in ["sata-ssd", "flash", "people"] {
                assert!(text.contains(word), "{columns}: {word}\n{text}");
            }
        }
        let narrow = shown(12);
        assert!(narrow.starts_with("sata-ssd\n  mechanism: "), "{narrow}");
    }

    #[test]
    fn control_characters_in_foreign_text_are_escaped() {
        assert_eq!(line(" a\n\tb\u{1b}[2J "), "a b\\u{1b}[2J");
        assert_eq!(indented("  ", "a\n\tb\u{202e}c\n"), "  a\n      b\\u{202e}c\n");
    }

    #[test]
    fn a_moment_is_shown_in_universal_time() {
        assert_eq!(moment(Nanos::from_secs(951_782_399)), "2000-02-28 23:59 UTC");
        assert_eq!(moment(Nanos(u64::MAX)), "2554-07-21 23:34 UTC");
    }
}
