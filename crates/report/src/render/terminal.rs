//! Renders a document for a terminal.
//!
//! The content is the same without colour: best and worst have signs, failures have status names.
//! Text and cells are wrapped between words. A table whose cells cannot be wrapped is split into
//! blocks of columns.

use crate::document::table::{Column, Row, Table, TableCell};
use crate::document::{Block, Document, Item, Style};
use crate::text::sanitize::{clean_lines, sanitize_paragraph, width, wrap};

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width, in columns, for text to be wrapped.
const MIN_ROOM: usize = 20;
/// Indentation of lists and tables.
const MARGIN: &str = "  ";
/// Indentation of lines that continue an entry, and of a last column that is printed below its row.
const BELOW: &str = "    ";

/// Layout of a document on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentOptions {
    /// Width of the terminal in columns. Wider tables of contenders are split.
    pub width: usize,
    /// Whether text and the cells of other tables are wrapped at that width.
    pub wrap: bool,
    /// Whether the terminal shows colours.
    pub colour: bool,
}

impl DocumentOptions {
    /// Layout of a file: each paragraph and each row is one line, which suits grep.
    pub const FILE: Self = Self { width: 120, wrap: false, colour: false };

    /// Returns the layout of a terminal without colours.
    #[must_use]
    pub const fn terminal(width: usize) -> Self {
        Self { width, wrap: true, colour: false }
    }

    /// Width at which text is wrapped.
    const fn room(self) -> usize {
        if self.wrap { self.width } else { usize::MAX }
    }
}

impl Default for DocumentOptions {
    fn default() -> Self {
        Self::terminal(100)
    }
}

/// Renders a document for a terminal.
pub fn terminal(document: &Document, options: &DocumentOptions) -> String {
    let page = Page(*options);
    let mut out = String::new();
    let mut before = None;
    for block in &document.blocks {
        if before.is_some_and(|before| is_apart(before, block)) {
            out.push('\n');
        }
        out += &page.block(block);
        before = Some(block);
    }
    out
}

/// Whether an empty line separates two blocks.
const fn is_apart(before: &Block, block: &Block) -> bool {
    match (before, block) {
        (Block::Heading(_), _) => false,
        (_, Block::Heading(_) | Block::Table(_)) => true,
        (Block::Title(_) | Block::Paragraph(_) | Block::Note(_) | Block::Warning(_), _)
        | (_, Block::Note(_) | Block::Verbatim(_)) => false,
        _ => true,
    }
}

/// Renders a table alone, without a margin.
pub(crate) fn table_text(table: &Table, options: &DocumentOptions) -> String {
    Page(*options).table(table, "")
}

/// SGR codes of a heading and of an explanation.
const BOLD: &str = "1";
const DIM: &str = "2";

const fn code(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Best => "1;32",
        Style::Worst => "31",
        Style::Failed => "1;33",
        Style::Missing => DIM,
    }
}

/// Adds layout and colour to text.
#[derive(Clone, Copy)]
struct Page(DocumentOptions);

/// A row as text: across the table, or as cells with their SGR codes.
enum TerminalLine {
    Across(String),
    Cells(Vec<(String, &'static str)>),
}

impl Page {
    fn block(self, block: &Block) -> String {
        match block {
            Block::Title(text) => self.text(text, BOLD),
            Block::Heading(text) => self.text(&format!("{text}:"), BOLD),
            Block::Paragraph(text) => self.text(text, ""),
            Block::Note(text) => self.text(text, DIM),
            Block::Warning(text) => self.text(text, code(Style::Failed)),
            Block::List(items) => items.iter().map(|item| self.item(item)).collect(),
            Block::Facts(items) => self.facts(items),
            Block::Table(table) => self.table(table, MARGIN),
            Block::Verbatim(text) => {
                clean_lines(text).lines().map(|line| format!("{MARGIN}| {line}\n")).collect()
            }
        }
    }

    /// Returns the text enclosed in an SGR code of ECMA-48, if it has one.
    fn paint(self, code: &str, text: &str) -> String {
        match self.0.colour && !code.is_empty() && !text.trim().is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    fn text(self, text: &str, code: &str) -> String {
        let lines = self.wrapped(&sanitize_paragraph(text), 0);
        lines.iter().map(|line| format!("{}\n", self.paint(code, line))).collect()
    }

    fn wrapped(self, text: &str, margin: usize) -> Vec<String> {
        wrap(text, self.0.room().saturating_sub(margin).max(MIN_ROOM))
    }

    fn item(self, item: &Item) -> String {
        let (label, text) = (sanitize_paragraph(&item.label), sanitize_paragraph(&item.text));
        let text = if label.is_empty() { text } else { format!("{label}: {text}") };
        let lines = self.wrapped(&text, BELOW.len()).join(&format!("\n{BELOW}"));
        let painted = match lines.strip_prefix(&label) {
            Some(rest) => self.paint(code(item.style), &label) + rest,
            None => lines,
        };
        format!("{MARGIN}{painted}\n")
    }

    fn facts(self, items: &[Item]) -> String {
        let labels: Vec<String> =
            items.iter().map(|item| sanitize_paragraph(&item.label)).collect();
        let widest = labels.iter().map(|label| width(label)).max().unwrap_or(0);
        let indent = MARGIN.len() + widest + GAP;
        let continued = format!("\n{}", " ".repeat(indent));
        let fact = |(item, label): (&Item, &String)| {
            let text = self.wrapped(&sanitize_paragraph(&item.text), indent).join(&continued);
            let blanks = " ".repeat(widest + GAP - width(label));
            let line = format!("{MARGIN}{}{blanks}{text}", self.paint(code(item.style), label));
            format!("{}\n", line.trim_end())
        };
        items.iter().zip(&labels).map(fact).collect()
    }

    fn table(self, table: &Table, margin: &str) -> String {
        let lines = self.lines(table);
        if table.labels > 0 {
            return self.split(table, &lines);
        }
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let room = self.0.room().saturating_sub(margin.len());
        let has_room = |widths: &Vec<usize>| {
            let last = widths.len().saturating_sub(1);
            widths[last] >= MIN_ROOM.min(natural(&lines, last))
        };
        if let Some(widths) = narrowed(&lines, &all, room).filter(has_room) {
            return lines.iter().map(|line| self.row(table, line, &all, &widths, margin)).collect();
        }
        let (last, before) = all.split_last().expect("a table has columns");
        let Some(widths) = narrowed(&lines, before, room) else {
            return lines.iter().skip(1).map(|line| self.stacked(table, line, margin)).collect();
        };
        let rows = lines.iter().enumerate().map(|(number, line)| {
            let row = self.row(table, line, before, &widths, margin);
            match line {
                TerminalLine::Cells(cells) if number > 0 && !cells[*last].0.is_empty() => {
                    let below = format!("{margin}{BELOW}");
                    let text = self.wrapped(&cells[*last].0, below.len());
                    row + &text.iter().map(|line| format!("{below}{line}\n")).collect::<String>()
                }
                _ => row,
            }
        });
        rows.collect()
    }

    /// Returns a table in blocks of columns that fit next to the labels, with at least one column
    /// each.
    fn split(self, table: &Table, lines: &[TerminalLine]) -> String {
        let widths: Vec<usize> =
            (0..table.columns.len()).map(|column| natural(lines, column)).collect();
        let (labels, rest) = widths.split_at(table.labels);
        let labels: usize = labels.iter().map(|wide| GAP + wide).sum();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = usize::MAX;
        for (at, wide) in rest.iter().enumerate() {
            if used.saturating_add(GAP + wide) > self.0.width {
                parts.push((0..table.labels).collect());
                used = labels;
            }
            used += GAP + wide;
            parts.last_mut().expect("a part was begun").push(table.labels + at);
        }
        let part = |part: &Vec<usize>| -> String {
            let widths: Vec<usize> = part.iter().map(|column| widths[*column]).collect();
            lines.iter().map(|line| self.row(table, line, part, &widths, MARGIN)).collect()
        };
        parts.iter().map(part).collect::<Vec<_>>().join("\n")
    }

    /// Returns the heading and the rows as text. Signs are aligned below each other.
    fn lines(self, table: &Table) -> Vec<TerminalLine> {
        let heading = |(at, column): (usize, &Column)| match table.labels {
            0 => sanitize_paragraph(&column.name).to_uppercase(),
            labels if at < labels => String::new(),
            _ => sanitize_paragraph(&column.name),
        };
        let heading = table.columns.iter().enumerate().map(heading);
        let heading = heading.map(|name| (name, BOLD)).collect();
        let signs: Vec<usize> = (0..table.columns.len())
            .map(|at| table.cells().map(|cells| width(&cells[at].signs)).max().unwrap_or(0))
            .collect();
        let cell = |(cell, signs): (&TableCell, &usize)| {
            let text = sanitize_paragraph(&cell.text);
            let text = match cell.tone {
                // A word can use the space of signs.
                Style::Failed | Style::Missing => text + &cell.signs,
                _ => text + &cell.signs + &" ".repeat(signs - width(&cell.signs)),
            };
            (text, code(cell.tone))
        };
        let row = |row: &Row| match row {
            Row::Group(name, title) => {
                let text = sanitize_paragraph(&format!("{name}: {title}"));
                TerminalLine::Across(self.paint(DIM, &text))
            }
            Row::Rule(text) => {
                let text = format!("— {} —", sanitize_paragraph(text));
                TerminalLine::Across(format!("{MARGIN}{}", self.paint(DIM, &text)))
            }
            Row::Cells(cells) => TerminalLine::Cells(cells.iter().zip(&signs).map(cell).collect()),
        };
        std::iter::once(TerminalLine::Cells(heading)).chain(table.rows.iter().map(row)).collect()
    }

    /// Returns a row with some columns, in as many lines as its longest cell.
    fn row(
        self,
        table: &Table,
        line: &TerminalLine,
        columns: &[usize],
        widths: &[usize],
        margin: &str,
    ) -> String {
        let cells = match line {
            TerminalLine::Across(text) => return format!("{text}\n"),
            TerminalLine::Cells(cells) => cells,
        };
        let parts: Vec<Vec<String>> = columns
            .iter()
            .zip(widths)
            .map(|(column, most)| match width(&cells[*column].0) <= *most {
                true => vec![cells[*column].0.clone()],
                false => wrap(&cells[*column].0, *most),
            })
            .collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for number in 0..height {
            let mut padded = margin.to_owned();
            for ((part, column), most) in parts.iter().zip(columns).zip(widths) {
                let part = part.get(number).map_or("", String::as_str);
                let blanks = " ".repeat(most.saturating_sub(width(part)));
                let part = self.paint(cells[*column].1, part);
                padded += &match table.columns[*column].right {
                    true => format!("{blanks}{part}"),
                    false => format!("{part}{blanks}"),
                };
                padded += &" ".repeat(GAP);
            }
            text += padded.trim_end();
            text.push('\n');
        }
        text
    }

    /// Returns a row as lines: its first cell, then one line per further cell with its heading.
    fn stacked(self, table: &Table, line: &TerminalLine, margin: &str) -> String {
        let cells = match line {
            TerminalLine::Across(text) => return format!("{text}\n"),
            TerminalLine::Cells(cells) => cells,
        };
        let mut text = format!("{margin}{}\n", cells[0].0);
        let named = cells.iter().zip(&table.columns).skip(1);
        for ((cell, _), column) in named.filter(|((cell, _), _)| !cell.is_empty()) {
            let label = format!("{margin}{MARGIN}{}: ", column.name);
            let lines = self.wrapped(cell, width(&label));
            text +=
                &format!("{label}{}\n", lines.join(&format!("\n{}", " ".repeat(width(&label)))));
        }
        text
    }
}

/// Returns the unwrapped width of a column.
fn natural(lines: &[TerminalLine], column: usize) -> usize {
    let cells = lines.iter().map(|line| match line {
        TerminalLine::Across(_) => 0,
        TerminalLine::Cells(cells) => width(&cells[column].0),
    });
    cells.max().unwrap_or(0)
}

/// Returns widths of columns that fit in a line: the widest ones are reduced first, and none
/// becomes narrower than its longest word. Returns `None` if that is not enough.
fn narrowed(lines: &[TerminalLine], columns: &[usize], room: usize) -> Option<Vec<usize>> {
    let longest_word = |column: &usize| {
        let cells = lines.iter().filter_map(|line| match line {
            TerminalLine::Across(_) => None,
            TerminalLine::Cells(cells) => Some(&cells[*column].0),
        });
        cells.flat_map(|cell| cell.split(' ')).map(width).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = columns.iter().map(|column| natural(lines, *column)).collect();
    let least: Vec<usize> = columns.iter().map(longest_word).collect();
    let room = room.saturating_sub(GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let gives = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
        let widest = gives.max_by_key(|at| widths[*at])?;
        widths[widest] -= 1;
    }
    Some(widths)
}
