//! Tests that the review in `docs/uses.md` has the answers that the program gives for the example
//! campaigns.

use std::path::Path;

use stats::{SuitesByGroup, analyse};

use crate::read_json;
use crate::text::answer::promise;
use crate::text::conclusions::use_case_conclusions;

/// Returns the rows that the table of a campaign must begin with: use, answer, second.
fn answers(document: &[u8]) -> Vec<[String; 3]> {
    let mut analysis = analyse(&read_json(document).unwrap());
    let catalog = config::Catalog::builtin().unwrap();
    analysis.score_use_cases(catalog.uses(), &SuitesByGroup::new());
    let row = |one: crate::text::conclusions::ConclusionText| {
        let answer = match promise(&one.answer) {
            "" => one.answer.split(". ").next().unwrap().trim_end_matches('.'),
            promise => promise,
        };
        let second = one.answer.split_once("Second: ").map(|(_, rest)| rest);
        let second = second.map_or("–", |rest| rest.split(". ").next().unwrap());
        [one.question, answer.to_owned(), second.trim_end_matches('.').to_owned()]
    };
    use_case_conclusions(&analysis).into_iter().map(row).collect()
}

#[test]
fn the_review_has_the_answers_of_the_program() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(top.join("docs/uses.md")).unwrap_or_default();
    for name in ["docs/examples/shootout.json", "docs/examples/busy.json"] {
        let expected = answers(&std::fs::read(top.join(name)).unwrap());
        let section = page.split(&format!("`fsarena advise {name}`")).nth(1).unwrap_or_default();
        let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
        let rows = rows.skip(1).take_while(|line| line.starts_with("| "));
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();
        let shown: Vec<Vec<&str>> = rows.iter().map(|row| row[..3].to_vec()).collect();
        assert_eq!(shown, expected, "{name}");
        let is_reviewed = |row: &Vec<&str>| row.len() == 5 && row.iter().all(|c| !c.is_empty());
        assert!(rows.iter().all(is_reviewed), "{name}: {rows:?}");
    }
}
