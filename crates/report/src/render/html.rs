//! Renders a document as HTML without a script: the static sections of pages.

use crate::document::table::{Row, Table, TableCell};
use crate::document::{Block, Document, Item, Style};
use crate::text::sanitize::{clean_lines, sanitize_paragraph};

/// Renders a document as HTML.
pub fn html(document: &Document) -> String {
    document.blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("<h2>{}</h2>\n", safe(text)),
        Block::Heading(text) => format!("<h3>{}</h3>\n", safe(text)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", safe(text)),
        Block::Note(text) => format!("<p class=\"note\">{}</p>\n", safe(text)),
        Block::Warning(text) => format!("<p class=\"warning\">{}</p>\n", safe(text)),
        Block::List(items) | Block::Facts(items) => {
            let items: String = items.iter().map(item).collect();
            format!("<ul class=\"plain\">\n{items}</ul>\n")
        }
        Block::Table(table) => table_text(table),
        Block::Verbatim(text) => format!("<pre>{}</pre>\n", escape(&clean_lines(text))),
    }
}

fn item(item: &Item) -> String {
    match item.label.is_empty() {
        true => format!("<li>{}</li>\n", safe(&item.text)),
        false => format!("<li><b>{}:</b> {}</li>\n", safe(&item.label), safe(&item.text)),
    }
}

fn table_text(table: &Table) -> String {
    let side = |column: usize| if table.columns[column].right { " class=\"n\"" } else { "" };
    let columns = table.columns.iter().enumerate();
    let heading: String = columns
        .map(|(at, column)| format!("<th scope=\"col\"{}>{}</th>", side(at), safe(&column.name)))
        .collect();
    let row = |(number, row): (usize, &Row)| match row {
        Row::Group(name, title) => {
            let width = table.columns.len();
            let (name, title) = (safe(name), safe(title));
            format!(
                "<tr><th scope=\"rowgroup\" colspan=\"{width}\">{name} <small>{title}</small></th></tr>\n"
            )
        }
        Row::Rule(text) => {
            format!("<tr><td colspan=\"{}\">{}</td></tr>\n", table.columns.len(), safe(text))
        }
        Row::Cells(cells) => {
            let cells: String =
                cells.iter().enumerate().map(|(at, one)| cell(at, one, side(at))).collect();
            match table.by_contender {
                true => format!("<tr data-c=\"{number}\">{cells}</tr>\n"),
                false => format!("<tr>{cells}</tr>\n"),
            }
        }
    };
    let class = if table.by_contender { "list resources" } else { "list" };
    let rows: String = table.rows.iter().enumerate().map(row).collect();
    format!(
        "<div class=\"scroll\">\n<table class=\"{class}\">\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table>\n</div>\n"
    )
}

fn cell(at: usize, cell: &TableCell, side: &str) -> String {
    let text = safe(&format!("{}{}", cell.text, cell.signs));
    match (at, cell.tone) {
        (0, _) => format!("<th scope=\"row\"><bdi>{text}</bdi></th>"),
        (_, Style::Best) => format!("<td{side}><b>{text}</b></td>"),
        _ if side.is_empty() => format!("<td><bdi>{text}</bdi></td>"),
        _ => format!("<td{side}>{text}</td>"),
    }
}

/// Converts text to HTML, with text between two backticks as code.
pub(crate) fn safe(text: &str) -> String {
    let escaped = escape(&sanitize_paragraph(text));
    let mut html = String::new();
    let mut rest = escaped.as_str();
    while let Some((before, code, behind)) = quoted(rest) {
        html += &format!("{before}<code>{code}</code>");
        rest = behind;
    }
    html + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Splits a text at its first two backticks: the parts before, between and after them.
pub(crate) fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, behind) = rest.split_once('`')?;
    Some((before, code, behind))
}
