//! Makes valid names of tests, phases and contenders from the names in a program's output.

use std::collections::{BTreeMap, BTreeSet};

use model::check_name;

/// Maximum length of a test's or phase's name, in characters (`model::check_name`).
const WORD: usize = 64;
/// Characters of a name that its number leaves, for numbers with up to six digits.
const STEM: usize = WORD - 7;
/// Maximum length of a contender's name, in characters, so that it fits into tables.
const CONTENDER: usize = 80;

/// Assigned names, so that different names of the input remain different.
#[derive(Debug, Default)]
pub struct UniqueNames {
    given: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Last number appended to ambiguous names with this beginning.
    numbers: BTreeMap<String, u32>,
}

impl UniqueNames {
    /// Returns the name of a test or phase: lower-case letters, digits and `-`.
    pub fn slug(&mut self, called: &str) -> String {
        self.name(called, |called| word(called, WORD))
    }

    /// Returns a name for `called` with the given parameters. Only the first set of parameters has
    /// the name without a number.
    pub fn unique(&mut self, called: &str, differs_in: &str) -> String {
        let key = format!("{called}\0{differs_in}");
        self.name(&key, |_| word(called, WORD))
    }

    /// Returns the name of a contender: its name in the input as one short line.
    pub fn contender(&mut self, called: &str) -> String {
        self.name(called, contender)
    }

    /// Returns a unique name for each different name in the input.
    fn name(&mut self, called: &str, form: impl Fn(&str) -> String) -> String {
        if let Some(name) = self.given.get(called) {
            return name.clone();
        }
        let wanted = form(called);
        let mut name = wanted.clone();
        // Long names that differ only at their ends lose these ends to their numbers.
        let stem: String = wanted.chars().take(STEM).collect();
        let number = self.numbers.entry(stem).or_insert(1);
        while !self.taken.insert(name.clone()) {
            *number += 1;
            let end = format!("-{number}");
            let room = wanted.chars().count().min(WORD - end.len());
            name = wanted.chars().take(room).chain(end.chars()).collect();
        }
        self.given.insert(called.to_owned(), name.clone());
        name
    }
}

/// Converts a text to a valid name of a test. Returns valid names unchanged.
fn word(text: &str, longest: usize) -> String {
    if check_name(text).is_ok() {
        return text.to_owned();
    }
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if name.len() == longest {
            break;
        }
        match c.is_ascii_alphanumeric() || (matches!(c, '.' | '_' | '+') && !name.is_empty()) {
            true => name.push(c),
            false if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            false => {}
        }
    }
    let name = name.trim_end_matches('-');
    match name {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

fn contender(text: &str) -> String {
    let line: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let letters: Vec<char> = line.join(" ").chars().collect();
    let name: String = match letters.len() > CONTENDER {
        // Commands often differ at their ends.
        true => {
            let begin = &letters[..CONTENDER / 2];
            let end = &letters[letters.len() - (CONTENDER / 2 - 1)..];
            begin.iter().chain(&['…']).chain(end).collect()
        }
        false => letters.into_iter().collect(),
    };
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_inputs_get_different_names() {
        let mut names = UniqueNames::default();
        assert_eq!(names.slug("File creation"), "file-creation");
        assert_eq!(names.slug("file-creation"), "file-creation-2");
        assert_eq!(names.slug("File creation"), "file-creation");
        let long = "x".repeat(100);
        assert_eq!(names.slug(&long).len(), 64);
        assert_eq!(names.slug(&format!("{long}y")).len(), 64);
        assert_eq!(names.slug("-- é --"), "unnamed");
    }

    #[test]
    fn long_names_with_one_beginning_are_numbered_once() {
        let mut names = UniqueNames::default();
        let begin = "x".repeat(60);
        for name in 0..10_000 {
            names.unique(&format!("{begin}{name:04}"), "a");
            names.unique(&format!("{begin}{name:04}"), "b");
        }
        assert_eq!((names.taken.len(), names.numbers.len()), (20_000, 1));
    }

    #[test]
    fn contender_names_keep_printable_text() {
        let mut names = UniqueNames::default();
        assert_eq!(names.contender("Ext4 (data=journal)"), "Ext4 (data=journal)");
        assert_eq!(names.contender(" a\tb\u{1b}[1m\n"), "a b [1m");
        assert_eq!(names.contender("\n"), "unnamed");
    }

    #[test]
    fn long_names_of_contenders_keep_begin_and_end() {
        let mut names = UniqueNames::default();
        let long = |end: &str| format!("find . {} {end}", "x".repeat(100));
        let [one, other] = ["[ERROR]", "-name a"].map(|end| names.contender(&long(end)));
        assert!(one.starts_with("find . x") && one.ends_with("x [ERROR]"), "{one}");
        assert!(other.ends_with("x -name a"), "{other}");
        assert_eq!(one.chars().count(), 80);
    }

    #[test]
    fn every_input_gives_a_valid_name() {
        for called in ["", "-x", "É", "a/b", "..", "+", "_a", "A  B", "日本"] {
            let name = UniqueNames::default().slug(called);
            check_name(&name).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
