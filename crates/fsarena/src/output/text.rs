//! Text output and JSON output on standard output.

use std::io::{self, IsTerminal, Write};

use report::{Document, DocumentOptions, Table, escape_invisible, wrap};
pub use report::{moment, pluralize as counted};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Minimum width, in columns, for text to be wrapped.
const MIN_ROOM: usize = 20;

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

/// Prints a document as Markdown, or as text for a terminal or a file.
pub fn print_document(markdown: bool, document: &Document) -> io::Result<()> {
    match markdown {
        true => print_unwrapped(&report::render::markdown(document)),
        false => print_unwrapped(&document_text(document)),
    }
}

/// Renders a document for standard output. In a file, each paragraph and each row is one line, which
/// suits grep.
pub fn document_text(document: &Document) -> String {
    report::render::terminal(document, &layout())
}

/// Renders a document that is read and not searched: in a file, too, it is wrapped.
pub fn document_on_screen(document: &Document) -> String {
    report::render::terminal(document, &screen_layout())
}

/// Returns the layout of standard output for text that is read and not searched.
pub fn screen_layout() -> DocumentOptions {
    match io::stdout().is_terminal() {
        true => layout(),
        false => DocumentOptions::terminal(report::SCREEN_COLUMNS),
    }
}

/// Returns the layout of standard output. A terminal may not report its width.
pub fn layout() -> DocumentOptions {
    match io::stdout().is_terminal() {
        true => DocumentOptions {
            width: terminal_width().unwrap_or(DocumentOptions::FILE.width),
            wrap: true,
            colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        },
        false => DocumentOptions::FILE,
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

/// Formats a table for standard output. In a file each row is one line, which suits grep. A column
/// whose name begins with `>` is aligned to the right.
pub fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    filled(heading, rows).text(&layout())
}

/// Formats a table that is read and not searched: its last column is wrapped in a file, too.
pub fn table_on_screen<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    filled(heading, rows).text(&screen_layout())
}

fn filled<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> Table {
    let mut table = Table::new(&heading);
    rows.iter().for_each(|row| table.push(row.clone()));
    table
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

/// Wraps the last column of each line, so that its continuation begins where the column begins.
pub fn wrap_last_column(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| {
        let column = line.rfind("  ").map(|gap| gap + 2);
        match column.filter(|column| shown_width(line) > columns && column + MIN_ROOM <= columns) {
            Some(column) => beside_within(Some(columns), &line[..column], &line[column..]),
            None => line.to_owned(),
        }
    });
    let lines: Vec<String> = lines.collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
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

/// Prints a note without wrapping, for programs that need whole lines. A note may quote guests and
/// hosts, so characters that control a terminal are escaped.
pub fn print_note_unwrapped(text: &str) {
    let lines: Vec<String> = text.split('\n').map(escape_invisible).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Returns the step of a cell as a short line. Its name comes from the agent.
pub fn step_name(step: &str) -> String {
    const LONGEST: usize = 200;
    line(&backend::shorten(step, LONGEST))
}

/// Returns text from outside as one line that cannot move the cursor or hide characters.
pub fn line(text: &str) -> String {
    escape_invisible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_step_is_a_short_line_without_control_characters() {
        let step = format!("write\u{1b}]52;c;{}\u{7}\nnext", "A".repeat(5000));
        let shown = step_name(&step);
        assert!(shown.len() < 250 && !shown.contains(['\u{1b}', '\u{7}', '\n']), "{shown}");
        assert_eq!(step_name("create files"), "create files");
    }

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

    #[test]
    fn the_last_column_continues_below_itself() {
        let text = "Examples:\n  fsarena list uses    what `advise` can answer\n\nA paragraph without any columns is as it was.";
        let told = "Examples:\n  fsarena list uses    what `advise` can\n                       answer\n\nA paragraph without any columns is as it was.";
        assert_eq!(wrap_last_column(text, 43), told);
        assert_eq!(wrap_last_column(text, 30), text, "no room");
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
    fn control_characters_in_foreign_text_are_escaped() {
        assert_eq!(line(" a\n\tb\u{1b}[2J "), "a b\\u{1b}[2J");
    }
}
