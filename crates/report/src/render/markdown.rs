//! Renders a document as Markdown, with tables supported by GitHub and most wikis.

use crate::document::table::{Row, Table, TableCell};
use crate::document::{Block, Document, Item, Style};
use crate::render::html::quoted;
use crate::text::sanitize::{clean_lines, sanitize_paragraph};

/// Renders a document as Markdown.
pub fn markdown(document: &Document) -> String {
    let blocks: Vec<String> = document.blocks.iter().map(block).collect();
    blocks.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("# {}\n", safe(text)),
        Block::Heading(text) => format!("## {}\n", safe(text)),
        Block::Paragraph(text) | Block::Note(text) => format!("{}\n", prose(text)),
        Block::Warning(text) => format!("**{}**\n", prose(text)),
        Block::List(items) | Block::Facts(items) => items.iter().map(item).collect(),
        Block::Table(table) => table_markdown(table),
        Block::Verbatim(text) => {
            let lines = clean_lines(text);
            lines.lines().map(|line| format!("    {line}\n")).collect()
        }
    }
}

fn item(item: &Item) -> String {
    match item.label.is_empty() {
        true => format!("- {}\n", prose(&item.text)),
        false => format!("- **{}:** {}\n", safe(&item.label), prose(&item.text)),
    }
}

/// Renders a table. Rows below a group have its name before their label.
pub(crate) fn table_markdown(table: &Table) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let columns = table.columns.iter();
    let heading: Vec<String> = columns.clone().map(|column| safe(&column.name)).collect();
    let sides: Vec<String> =
        columns.map(|column| if column.right { "--:" } else { ":--" }.to_owned()).collect();
    let mut out = line(&heading) + &line(&sides);
    let mut group = "";
    for row in &table.rows {
        let mut cells: Vec<String> = match row {
            Row::Group(name, _) => {
                group = name;
                continue;
            }
            Row::Rule(text) => vec![format!("*{}*", safe(text))],
            Row::Cells(cells) => cells.iter().map(cell).collect(),
        };
        if let (Row::Cells(_), false) = (row, group.is_empty()) {
            cells[0] = format!("{}: {}", safe(group), cells[0]);
        }
        cells.resize(heading.len(), String::new());
        out += &line(&cells);
    }
    out
}

fn cell(cell: &TableCell) -> String {
    let text = safe(&format!("{}{}", cell.text, cell.signs));
    match cell.tone {
        Style::Plain | Style::Worst => text,
        Style::Best => format!("**{text}**"),
        Style::Failed | Style::Missing => format!("*{text}*"),
    }
}

/// Returns safe text in which text between two backticks stays code. The excluded characters are
/// not literal in the code of every dialect.
fn prose(text: &str) -> String {
    let text = sanitize_paragraph(text);
    let is_literal = |code: &str| !code.is_empty() && !code.contains(['|', '<', '>', '&', '\\']);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, code, behind)) = quoted(rest) {
        let code = format!("`{code}`");
        out += &escape(before);
        out += &if is_literal(&code[1..code.len() - 1]) { code } else { escape(&code) };
        rest = behind;
    }
    out + &escape(rest)
}

fn safe(text: &str) -> String {
    escape(&sanitize_paragraph(text))
}

/// Escapes text for Markdown and the HTML in it.
///
/// CommonMark §2.4: a backslash escapes any ASCII punctuation. HTML characters become entities,
/// which are valid in every dialect.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
