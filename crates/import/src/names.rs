//! Names of tests, phases and contenders out of what a program calls them.

use std::collections::{BTreeMap, BTreeSet};

use model::check_name;

/// Characters of a test's or phase's name at most (`model::check_name`).
const WORD: usize = 64;
/// Characters of a contender's name at most: tables have to hold it.
const CONTENDER: usize = 80;

/// Names that were given so far, so that two things never share one.
#[derive(Debug, Default)]
pub struct UniqueNames {
    given: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// The last number behind each name that several things would have.
    numbers: BTreeMap<String, u32>,
}

impl UniqueNames {
    /// The name of a test or phase: lower-case letters, digits and `-`.
    pub fn slug(&mut self, called: &str) -> String {
        self.name(called, |called| word(called, WORD))
    }

    /// The same name for things that differ in something else: the first of them has it alone.
    pub fn unique(&mut self, called: &str, differs_in: &str) -> String {
        let key = format!("{called}\0{differs_in}");
        self.name(&key, |_| word(called, WORD))
    }

    /// The name of a contender: what it is called, in one short line.
    pub fn contender(&mut self, called: &str) -> String {
        self.name(called, contender)
    }

    /// One name for each thing that is called differently.
    fn name(&mut self, called: &str, form: impl Fn(&str) -> String) -> String {
        if let Some(name) = self.given.get(called) {
            return name.clone();
        }
        let wanted = form(called);
        let mut name = wanted.clone();
        let number = self.numbers.entry(wanted.clone()).or_insert(1);
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

/// A text as a name of tests: the same where it is one.
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
    let name: String = line.join(" ").chars().take(CONTENDER).collect();
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_things_never_share_a_name() {
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
    fn a_contender_is_called_what_it_was_called() {
        let mut names = UniqueNames::default();
        assert_eq!(
            names.contender("Ext4 (data=journal)"),
            "Ext4 (data=journal)"
        );
        assert_eq!(names.contender(" a\tb\u{1b}[1m\n"), "a b [1m");
        assert_eq!(names.contender("\n"), "unnamed");
    }

    #[test]
    fn whatever_a_thing_is_called_its_name_is_one() {
        for called in ["", "-x", "É", "a/b", "..", "+", "_a", "A  B", "日本"] {
            let name = UniqueNames::default().slug(called);
            check_name(&name).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
