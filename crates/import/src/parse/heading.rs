//! The line of text before a run, which may name its contender.

use crate::parse::number::parse_ctime;
use crate::parse::text::split_words;

/// The last line outside a run that begins without blanks. Programs indent most of their lines.
#[derive(Debug, Default)]
pub struct Heading {
    text: Option<String>,
    is_in_run: bool,
}

impl Heading {
    /// Takes a line that is not a known line of the program. Dates, times of `time` and numbers of
    /// runs name no contender.
    pub fn line(&mut self, text: &str) {
        const MAX_LENGTH: usize = 80;
        const MAX_COUNTED: usize = 5;
        const COUNTED: [&str; 6] = ["run", "round", "iteration", "loop", "pass", "repetition"];
        let is_word =
            text.contains(char::is_alphanumeric) && !text.starts_with(char::is_whitespace);
        let words = split_words(text);
        let is_time = matches!(words.as_slice(), ["real" | "user" | "sys", _])
            || parse_ctime(&words).is_some()
            || matches!(words.as_slice(), [day, month, date, time, _zone, year] if parse_ctime(&[day, month, date, time, year]).is_some());
        let is_counted = words.len() <= MAX_COUNTED
            && words.iter().any(|word| {
                let word = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
                COUNTED.contains(&word.as_str())
            });
        if !self.is_in_run && is_word && !is_time && !is_counted {
            let text = text.trim_start_matches('#').trim();
            self.text = Some(text.chars().take(MAX_LENGTH).collect());
        }
    }

    /// Sets whether the next lines belong to a run.
    pub const fn set_in_run(&mut self, is_in_run: bool) {
        self.is_in_run = is_in_run;
    }

    /// Returns the text before the current run.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_may_be_names_are_headings() {
        let mut heading = Heading::default();
        heading.line("# ext4:");
        for other in [
            "",
            "----",
            "  4 clients",
            "real\t1m0.1s",
            "Tue Jan  2 03:04:05 2024",
            "Tue Jan  2 03:04:05 UTC 2024",
            "=== run 2 ===",
            "Iteration 3 of 5",
        ] {
            heading.line(other);
        }
        assert_eq!(heading.text(), Some("ext4:"));
        heading.set_in_run(true);
        heading.line("xfs:");
        assert_eq!(heading.text(), Some("ext4:"));
    }
}
