//! Renders claims with their verdicts as text.

use report::{Block, Document, Item, Style, Table};
use studies::{Claim, ClaimVerdict, Study, Verdict, abbreviate};

use crate::output::text::{counted, document_text};

/// Maximum number of reasons shown. Further reasons are similar, for other figures.
const REASONS: usize = 2;

/// Returns the counts, then every claim with its evidence, or only claims with one verdict.
pub fn of_study(study: &Study, only: Option<Verdict>) -> String {
    let judged = study.evaluate_claims();
    let mut document = Document::titled(format!("{}: {}", study.name, summary(&judged)));
    document.paragraph(match study.figures.numbers() {
        0 => {
            format!("“{}” published no numbers, so its own figures decide nothing.", study.title)
        }
        1 => format!("Judged by the one number that “{}” published.", study.title),
        numbers => format!("Judged by the {numbers} numbers that “{}” published.", study.title),
    });
    let claims = judged.iter().filter(|(_, how)| only.is_none_or(|only| only == how.verdict));
    let claims: Vec<Item> = claims.flat_map(|(claim, judgement)| one(claim, judgement)).collect();
    document.section("Claims", [Block::Facts(claims)]);
    if only.is_none() {
        document.list("Does not add up", study.inconsistencies());
    }
    document_text(&document)
}

/// Returns a table with a row for each study.
pub fn counts(studies: &[Study]) -> String {
    let shown = [Verdict::Supported, Verdict::Partly, Verdict::Contradicted, Verdict::Undecidable];
    let mut totals = [0; 5];
    let heading = [">claims", ">supported", ">partly", ">contradicted", ">undecidable"];
    let mut table = Table::new(&[&["study"][..], &heading[..]].concat());
    let row = |name: &str, numbers: [usize; 5]| {
        [name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string()))
    };
    for study in studies {
        let judged = study.evaluate_claims();
        let count = |verdict| judged.iter().filter(|(_, how)| how.verdict == verdict).count();
        let [a, b, c, d] = shown.map(count);
        let numbers = [judged.len(), a, b, c, d];
        for (total, number) in totals.iter_mut().zip(numbers) {
            *total += number;
        }
        table.push(row(&study.name, numbers));
    }
    table.push(row("all", totals));
    let [claims, supported, partly, contradicted, undecidable] = totals;
    let mut document = Document::default();
    document.paragraph(format!(
        "{claims} claims of {} studies, by their own figures: {supported} supported, {partly} partly, {contradicted} \
         contradicted, {undecidable} undecidable",
        studies.len()
    ));
    document.push(Block::Table(table));
    let untold = studies.iter().filter_map(|study| untold(study, undecidable));
    document.blocks.extend(untold.map(Block::Note));
    document.note("`fsarena study claims STUDY` gives each claim with the numbers that decide it.");
    document_text(&document)
}

/// Returns a note if a study decides none of its claims for lack of numbers. This does not show
/// that the claims are wrong.
fn untold(study: &Study, undecidable: usize) -> Option<String> {
    let judged = study.evaluate_claims();
    let is_open = |(_, how): &(&Claim, ClaimVerdict)| how.verdict == Verdict::Undecidable;
    if judged.is_empty() || !judged.iter().all(is_open) {
        return None;
    }
    let printed = match study.figures.numbers() {
        0 => "no number".to_owned(),
        1 => "one number".to_owned(),
        some => format!("{some} numbers"),
    };
    Some(format!(
        "{} of the {undecidable} undecidable are all the claims of {}, which printed {printed} in its {} figures.",
        judged.len(),
        study.name,
        study.figures.cells().count()
    ))
}

/// Returns a summary such as `22 claims: 11 supported, 5 partly, 1 contradicted, 5 undecidable`.
pub fn summary(judged: &[(&Claim, ClaimVerdict)]) -> String {
    let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = judged.iter().filter(|(_, how)| how.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    });
    let claims = counted(judged.len() as u64, "claim");
    match judged.is_empty() {
        true => claims,
        false => format!("{claims}: {}", counts.collect::<Vec<_>>().join(", ")),
    }
}

/// Returns a claim, and below it the figures or reasons that decide it.
fn one(claim: &Claim, judgement: &ClaimVerdict) -> Vec<Item> {
    let said = format!("{}: {}", claim.id, claim.text);
    let verdict = judgement.verdict;
    let mut items = vec![Item::styled(verdict.name(), style(verdict), said)];
    let mut add = |text: String| items.push(text.into());
    if !judgement.off.is_empty() {
        let label = if verdict == Verdict::Supported { "but " } else { "off: " };
        add(format!("{label}{}", abbreviate(&judgement.off)));
    }
    let taken_as = claim.interpretation();
    if is_decided(verdict) && !taken_as.is_empty() {
        add(format!("taken as {taken_as}"));
    }
    if let Some(counts) = judgement.holds_in.filter(|counts| !counts.is_all()) {
        add(counts.to_string());
    }
    judgement.lines().into_iter().for_each(&mut add);
    if !is_decided(verdict) {
        judgement.reasons.iter().take(REASONS).for_each(|why| add(why.to_string()));
        if judgement.reasons.len() > REASONS {
            add(format!("and {} more", judgement.reasons.len() - REASONS));
        }
    }
    items
}

const fn is_decided(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Supported | Verdict::Partly | Verdict::Contradicted)
}

const fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Supported => Style::Best,
        Verdict::Partly => Style::Failed,
        Verdict::Contradicted => Style::Worst,
        Verdict::NotEnoughRounds | Verdict::NotMeasured | Verdict::Undecidable => Style::Missing,
    }
}

#[cfg(test)]
mod tests {
    use config::Catalog;

    use super::*;

    fn study(name: &str) -> Study {
        let study = Catalog::builtin().unwrap().study(name).unwrap();
        Study::read(&study).unwrap().unwrap()
    }

    #[test]
    fn shows_the_verdict_and_evidence_of_each_claim() {
        insta::assert_snapshot!(of_study(&study("os2-shootout-2002"), None));
    }

    #[test]
    fn some_claims_of_many_are_shown_and_counts_are_of_all() {
        let text = of_study(&study("bonnie-linux-2011"), Some(Verdict::Contradicted));
        insta::assert_snapshot!("contradicted", text);
    }
}
