//! Tests of tables and text in every medium.

use proptest::prelude::*;

use super::{DocumentOptions, html, markdown, terminal};
use crate::document::{Block, Document, Item, Style, Table};
use crate::text::sanitize::width;

fn table<const N: usize>(heading: [&str; N], rows: &[[&str; N]]) -> Table {
    let mut table = Table::new(&heading);
    rows.iter().for_each(|row| table.push(row.map(str::to_owned)));
    table
}

fn within(table: &Table, width: usize) -> String {
    table.text(&DocumentOptions::terminal(width))
}

#[test]
fn columns_are_aligned_in_any_script() {
    let table = table(["name", ">ratio", "note"], &[["測試", "1", "x"], ["b", "12.5", ""]]);
    assert_eq!(
        table.text(&DocumentOptions::FILE),
        "NAME  RATIO  NOTE\n測試      1  x\nb      12.5\n"
    );
    let document = Document { blocks: vec![Block::Table(table)] };
    assert_eq!(
        markdown(&document),
        "| name | ratio | note |\n| :-- | --: | :-- |\n| 測試 | 1 | x |\n| b | 12.5 |  |\n"
    );
    let page = html(&document);
    assert!(page.contains("<th scope=\"col\" class=\"n\">ratio</th>"), "{page}");
}

#[test]
fn wide_cells_are_wrapped_on_a_terminal_and_not_in_a_file() {
    let words = "a machine of many words";
    let table =
        table(["what", "before", ">after"], &[["machine", words, words], ["seed", "1", "2"]]);
    assert_eq!(
        within(&table, 52),
        "WHAT     BEFORE                                AFTER\n\
         machine  a machine of many         a machine of many\n\
         \x20        words                                 words\n\
         seed     1                                         2\n"
    );
    assert_eq!(table.text(&DocumentOptions::FILE).lines().count(), 3);
}

#[test]
fn on_a_terminal_the_widest_columns_give_way_and_no_word_is_broken() {
    let row = ["sata-ssd", "flash with many dies, and a cache", "a disk that many people had"];
    let table = table(["disk", "mechanism", "title"], &[row]);
    insta::assert_snapshot!("in-columns", within(&table, 60));
    insta::assert_snapshot!("last-below", within(&table, 40));
    for columns in 20..90 {
        let text = within(&table, columns);
        assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
        for word in ["sata-ssd", "flash", "people"] {
            assert!(text.contains(word), "{columns}: {word}\n{text}");
        }
    }
    let narrow = within(&table, 12);
    assert!(narrow.starts_with("sata-ssd\n  mechanism: "), "{narrow}");
}

#[test]
fn labels_are_styled_only_in_colour() {
    let item = Item::styled("failed", Style::Failed, "no room");
    for block in [Block::List(vec![item.clone()]), Block::Facts(vec![item])] {
        let document = Document { blocks: vec![block] };
        let text =
            terminal(&document, &DocumentOptions { colour: true, ..DocumentOptions::default() });
        assert!(text.contains("\u{1b}[1;33mfailed\u{1b}[0m"), "{text}");
        assert!(!terminal(&document, &DocumentOptions::FILE).contains('\u{1b}'));
        assert_eq!(markdown(&document), "- **failed:** no room\n");
    }
}

#[test]
fn commands_stay_code_in_markdown_unless_they_could_be_markup() {
    let document = |text: &str| Document { blocks: vec![Block::Paragraph(text.to_owned())] };
    let shown = |text: &str| markdown(&document(text));
    assert_eq!(shown("run `fsarena run -c a_b` now*"), "run `fsarena run -c a_b` now\\*\n");
    assert_eq!(shown("`a|b` and `<b>` and one `"), "\\`a\\|b\\` and \\`&lt;b&gt;\\` and one \\`\n");
}

proptest! {
    #[test]
    fn text_from_outside_is_safe_in_every_block(text in any::<String>(), width in 20_usize..90) {
        let item = || Item::new(text.clone(), text.clone());
        let mut table = Table::new(&[text.as_str(), ">n"]);
        table.push([text.clone(), text.clone()]);
        let document = Document {
            blocks: vec![
                Block::Title(text.clone()),
                Block::Heading(text.clone()),
                Block::Paragraph(text.clone()),
                Block::Warning(text.clone()),
                Block::List(vec![item()]),
                Block::Facts(vec![item()]),
                Block::Table(table),
                Block::Verbatim(text.clone()),
            ],
        };
        let options = DocumentOptions::terminal(width);
        for shown in [terminal(&document, &options), markdown(&document), html(&document)] {
            prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", shown);
        }
        prop_assert!(!html(&document).contains("<script"));
    }
}
