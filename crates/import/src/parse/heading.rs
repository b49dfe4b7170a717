//! The line of text before a run, which may name its contender.

use crate::parse::number::parse_ctime;
use crate::parse::text::split_words;

/// The lines between two runs that may name the second one.
#[derive(Debug, Default)]
pub struct Heading {
    /// Heading of the current run and of later runs without a heading.
    named: Option<String>,
    /// Last line that begins without blanks, if no heading follows. Programs indent most of their
    /// lines.
    line: Option<String>,
    /// Heading of Markdown since the last run.
    markdown: Option<String>,
    /// Line directly before the next run, if it ends in a colon or sets variables.
    direct: Option<String>,
    is_in_run: bool,
}

impl Heading {
    /// Takes a line that is not a known line of the program. Dates, times of `time` and numbers of
    /// runs name no contender.
    pub fn line(&mut self, text: &str) {
        const MAX_COUNTED: usize = 5;
        const COUNTED: [&str; 6] = ["run", "round", "iteration", "loop", "pass", "repetition"];
        let is_fence = text.starts_with("```");
        if !text.contains(char::is_alphanumeric) || is_fence {
            return;
        }
        let words = split_words(text);
        let is_time = matches!(words.as_slice(), ["real" | "user" | "sys", _])
            || parse_ctime(&words).is_some()
            || matches!(words.as_slice(), [day, month, date, time, _zone, year] if parse_ctime(&[day, month, date, time, year]).is_some());
        let is_counted = words.len() <= MAX_COUNTED
            && words.iter().flat_map(|word| word.split('=')).any(|word| {
                let word = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
                COUNTED.contains(&word.as_str())
            });
        let is_prompt = text.starts_with(['+', '$', '%']);
        if is_time || is_counted || is_prompt {
            return;
        }
        if is_markdown(text) {
            self.is_in_run = false;
            self.markdown = Some(shown(text));
            self.direct = None;
        } else if !self.is_in_run {
            let is_plain = !text.starts_with(char::is_whitespace);
            let is_name = text.trim_end().ends_with(':') || words.iter().all(is_setting);
            self.direct = (is_plain && is_name).then(|| shown(text));
            if is_plain {
                self.line = Some(shown(text));
            }
        }
    }

    /// Sets whether the next lines belong to a run.
    pub fn set_in_run(&mut self, is_in_run: bool) {
        let fresh = self.direct.take().or(self.markdown.take());
        self.markdown = None;
        if fresh.is_some() {
            self.named = fresh;
            self.line = None;
        }
        self.is_in_run = is_in_run;
    }

    /// Returns the text before the current run.
    pub fn text(&self) -> Option<&str> {
        let fresh = self.direct.as_ref().or(self.markdown.as_ref());
        fresh.or(self.line.as_ref()).or(self.named.as_ref()).map(String::as_str)
    }

    /// Returns the heading of the current run: one of Markdown, or the line directly before the run
    /// if it ends in a colon or sets variables.
    pub fn name(&self) -> Option<&str> {
        let fresh = self.direct.as_ref().or(self.markdown.as_ref());
        fresh.or(self.named.as_ref()).map(String::as_str)
    }
}

/// Returns true for a heading of Markdown. fs_mark and others write more than one blank after `#`.
fn is_markdown(text: &str) -> bool {
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    let is_title = title.strip_prefix(' ').is_some_and(|title| {
        title.starts_with(|c: char| !c.is_whitespace()) && !title.starts_with(['.', '/'])
    });
    (1..=6).contains(&level) && is_title
}

/// Returns true for `tuning=on`.
fn is_setting(word: &&str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    word.split_once('=').is_some_and(|(name, value)| is_name(name) && !value.is_empty())
}

/// Returns a line as a heading. The last sentence of prose introduces the run.
fn shown(text: &str) -> String {
    const MAX_LENGTH: usize = 80;
    let text = text.trim_start_matches('#').trim();
    let last = text.rsplit(". ").next().unwrap_or(text).trim();
    let text = if text.ends_with(':') { last } else { text };
    text.chars().take(MAX_LENGTH).collect()
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

    #[test]
    fn headings_of_markdown_and_lines_that_introduce_a_run_name_it() {
        let named = |lines: &[&str]| {
            let mut heading = Heading::default();
            lines.iter().for_each(|line| heading.line(line));
            heading.set_in_run(true);
            heading.name().map(str::to_owned)
        };
        assert_eq!(
            named(&["# Card A 32GB", "it is fast", "```", "device:", "x"]).unwrap(),
            "Card A 32GB"
        );
        let before = ["after a while. Again with parent=1:", "", "+ fs_mark -d /x"];
        assert_eq!(named(&before).unwrap(), "Again with parent=1:");
        assert_eq!(named(&["scheduler=none ra=128"]).unwrap(), "scheduler=none ra=128");
        for none in ["prose of a mail", "  indented:", "#  ./fs_mark -d /x", "run=3", "# ./ior -w"]
        {
            assert_eq!(named(&[none]), None, "{none}");
        }
    }

    #[test]
    fn a_heading_holds_until_the_next_one() {
        let mut heading = Heading::default();
        heading.line("## ext4");
        for _ in 0..2 {
            heading.set_in_run(true);
            assert_eq!((heading.name(), heading.text()), (Some("ext4"), Some("ext4")));
            heading.set_in_run(false);
        }
        heading.line("xfs:");
        heading.set_in_run(true);
        assert_eq!(heading.name(), Some("xfs:"));
    }
}
