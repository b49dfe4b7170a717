//! Makes text from outside safe to show: control characters and invisible characters are escaped.
//!
//! Escaping for HTML, Markdown or CSV is a later step in those formats.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum length of a line of text from outside.
const MAX_LINE: usize = 400;

/// Returns text from outside as one short line. Characters that are hidden, move the cursor or
/// change the writing direction are replaced by their numbers; line breaks become spaces.
pub(crate) fn sanitize_line(text: &str) -> String {
    shorten(&sanitize_paragraph(text), MAX_LINE)
}

/// Cleans text like [`sanitize_line`], but keeps its full length.
pub(crate) fn sanitize_paragraph(text: &str) -> String {
    let flat = text.trim().replace("\r\n", " ");
    escape_invisible(&flat.replace(['\n', '\r', '\t'], " "))
}

/// Cleans several lines of text as [`sanitize_line`] does, and keeps the line breaks.
pub(crate) fn clean_lines(text: &str) -> String {
    let text = text.trim_end().replace("\r\n", "\n").replace('\t', "    ");
    text.split('\n').map(escape_invisible).collect::<Vec<_>>().join("\n")
}

/// Replaces every invisible character of the text by `\u{…}`.
pub fn escape_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns true for control characters, line separators and characters that a font shows as nothing
/// (`Default_Ignorable_Code_Point` of the Unicode Character Database, and the blank Braille pattern).
/// Some of those reorder text (UAX #9, UTR #36 §2).
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns text from outside as a cell that a spreadsheet does not interpret as a formula. Text
/// that starts like a formula, or with an apostrophe, is prefixed with an apostrophe, so that
/// readers that remove one get the original text. Source: OWASP, "CSV Injection".
pub(crate) fn escape_formula(text: &str) -> String {
    const BEGINNINGS: [char; 9] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\''];
    // Some readers ignore leading spaces.
    let begins = text.starts_with(char::is_control) || text.trim_start().starts_with(BEGINNINGS);
    match begins {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

/// Returns the width of a text on a terminal, in columns.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Shortens text to at most `columns` columns by removing its middle.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let tail = take_columns(text.chars().rev(), room * 2 / 5);
    let head = take_columns(text.chars(), room - room * 2 / 5);
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

fn take_columns(text: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    text.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= columns
    })
    .collect()
}

/// Shortens names for table columns. The results are sanitized and still distinct.
pub(crate) fn short_names(names: &[String], columns: usize) -> Vec<String> {
    let short: Vec<String> =
        names.iter().map(|name| shorten(&sanitize_line(name), columns)).collect();
    short
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let twin = short.iter().filter(|other| *other == name).count() > 1;
            if !twin {
                return name.clone();
            }
            let number = format!("#{}", index + 1);
            let rest = columns.saturating_sub(width(&number));
            format!("{}{number}", shorten(name, rest))
        })
        .collect()
}

/// Splits text into lines of at most `columns` columns, between words. A per cent sign stays with
/// its number.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if last.is_empty() {
            *last = word.to_owned();
        } else if width(last) + 1 + width(word) <= columns {
            last.push(' ');
            *last += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| line.replace("\u{a0}%", " %")).collect()
}

/// Ends of the clauses of a sentence. They are not part of the clause.
const CLAUSE_ENDS: [&str; 4] = ["; ", ": ", " (", ", since "];
/// Ends of the parts of an enumeration, such as a title.
const PART_ENDS: [&str; 2] = [", ", " ("];

/// Returns the first sentences of a text that fit. If the first one does not fit, returns its first
/// clauses, or its first words with an ellipsis; no code between backticks is split.
pub(crate) fn first_sentences(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let sentences = text.match_indices(". ").map(|(at, _)| text[..=at].to_owned());
    if let Some(cut) = sentences.take_while(|cut| fits(cut)).last() {
        return cut;
    }
    let stop = if text.ends_with('.') { "." } else { "" };
    // A part of a list after a colon would look like the whole list.
    let clauses = clauses(text, &CLAUSE_ENDS).take_while(|cut| !cut.contains(": "));
    let clauses = clauses.map(|cut| format!("{cut}{stop}"));
    let cut = clauses.take_while(|cut| fits(cut)).last();
    cut.unwrap_or_else(|| first_words(text, fits))
}

/// Returns the first parts of an enumeration that fit, or else its first words.
pub(crate) fn first_parts(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let parts = clauses(text, &PART_ENDS).take_while(|cut| fits(cut)).last();
    parts.map_or_else(|| first_words(text, fits), str::to_owned)
}

fn first_words(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let words = text.match_indices(' ').map(|(at, _)| &text[..at]);
    let words = words.filter(|cut| cut.matches('`').count() % 2 == 0);
    let words = words.map(|cut| format!("{} …", cut.trim_end_matches([',', ';', ':'])));
    words.take_while(|cut| fits(cut)).last().unwrap_or_else(|| "…".to_owned())
}

/// Returns the text up to each of these ends, shortest first. Numbers in parentheses stay with the
/// words before them; parentheses and code are not split.
fn clauses<'a>(text: &'a str, ends: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let mut depth = 0_usize;
    let mut is_code = false;
    text.char_indices().filter_map(move |(at, letter)| {
        let rest = &text[at..];
        let is_number = rest
            .strip_prefix(" (")
            .is_some_and(|inner| inner.starts_with(|first: char| first.is_ascii_digit()));
        let is_end = ends.iter().any(|end| rest.starts_with(end)) && !is_number;
        let cut = (is_end && depth == 0 && !is_code).then(|| &text[..at]);
        match letter {
            '`' => is_code = !is_code,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        cut
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hidden_characters_are_shown_by_their_number() {
        assert_eq!(sanitize_line("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(sanitize_line("ext4\u{202e}4tsf"), "ext4\\u{202e}4tsf");
        for blank in ['\u{3164}', '\u{115f}', '\u{34f}', '\u{2800}', '\u{e0101}'] {
            assert_eq!(sanitize_line(&blank.to_string()), blank.escape_unicode().to_string());
        }
        assert_eq!(sanitize_line("two\r\nlines\tand more\n"), "two lines and more");
        assert_eq!(clean_lines("a\r\n\tb\u{7}\n"), "a\n    b\\u{7}");
        assert_eq!(sanitize_line("Größe 測試"), "Größe 測試");
    }

    #[test]
    fn formulas_are_escaped_and_can_be_restored() {
        for hostile in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "'=1", "'"] {
            let cell = escape_formula(hostile);
            assert_eq!(cell.strip_prefix('\''), Some(hostile));
        }
        for plain in ["ext4", "a=b", "1", ""] {
            assert_eq!(escape_formula(plain), plain);
        }
    }

    #[test]
    fn long_text_keeps_both_its_ends() {
        assert_eq!(shorten("ext4:data=journal", 12), "ext4:da…rnal");
        assert_eq!(shorten("short", 12), "short");
    }

    #[test]
    fn text_is_cut_after_a_sentence_or_else_a_word() {
        let cut = |text, columns| first_sentences(text, |cut| width(cut) <= columns);
        let answer = "take ext4. It costs at most 9.5 % more. Second: xfs.";
        assert_eq!(cut(answer, 80), answer);
        assert_eq!(cut(answer, 45), "take ext4. It costs at most 9.5 % more.");
        assert_eq!(cut(answer, 12), "take ext4.");
        assert_eq!(cut(answer, 8), "take …");
        assert_eq!(cut("run it again: `-s tree`", 20), "run it again");
        assert_eq!(cut("run it again and again", 15), "run it again …");
        assert_eq!(cut("xxxxxxxxxxxx", 8), "…");
    }

    #[test]
    fn whole_clauses_are_dropped_and_numbers_are_kept() {
        let cut = |text, columns| first_sentences(text, |cut| width(cut) <= columns);
        let nobody = "nothing; every filesystem is ruled out: a (only b reads it: c), d.";
        assert_eq!(cut(nobody, 41), "nothing; every filesystem is ruled out.");
        let several = "nothing; every filesystem is ruled out: ext4 (no reader); xfs (not tried).";
        assert_eq!(cut(several, 60), "nothing; every filesystem is ruled out.");
        let came = "a came first before b (1.18×), but one round does not show it (more do).";
        assert_eq!(cut(came, 70), "a came first before b (1.18×), but one round does not show it.");
        assert_eq!(cut(came, 39), "a came first before b (1.18×), but …");
        let parts = |text, columns| first_parts(text, |cut| width(cut) <= columns);
        assert_eq!(
            parts("3 tests (each run 1, or 2 times), tests took 2 s", 40),
            "3 tests (each run 1, or 2 times)"
        );
        assert_eq!(parts("Mail spool, or many small files", 20), "Mail spool");
    }

    #[test]
    fn shortened_names_stay_apart() {
        let names = ["aaaa-1-zzzz", "aaaa-2-zzzz", "b"].map(str::to_owned);
        let short = short_names(&names, 8);
        assert_eq!(short[2], "b");
        assert_ne!(short[0], short[1]);
        assert!(short.iter().all(|name| width(name) <= 8), "{short:?}");
    }

    proptest! {
        #[test]
        fn hidden_characters_are_removed(text in any::<String>()) {
            prop_assert!(!sanitize_line(&text).chars().any(is_hidden));
            prop_assert!(width(&sanitize_line(&text)) <= MAX_LINE);
            prop_assert!(!clean_lines(&text).chars().any(|c| is_hidden(c) && c != '\n'));
        }

        #[test]
        fn shortening_keeps_to_the_columns(text in "\\PC*", columns in 1usize..40) {
            prop_assert!(width(&shorten(&text, columns)) <= columns);
        }
    }
}
