//! Renders claims with their verdicts as text.

use std::io::{self, IsTerminal};

use studies::{Claim, ClaimVerdict, Study, Verdict, abbreviate};

use crate::output::text::{label_and_wrap, line, table, wrap_with_margin};

/// Width of the columns before the text of a claim.
const MARGIN: usize = 14;
/// Maximum number of reasons shown. Further reasons are similar, for other figures.
const REASONS: usize = 2;

/// Returns the counts, then every claim with its evidence, or only claims with one verdict.
pub fn of_study(study: &Study, only: Option<Verdict>) -> String {
    let judged = study.evaluate_claims();
    let mut text = wrap_with_margin("", &format!("{}: {}", study.name, summary(&judged)));
    let by = match study.figures.numbers() {
        0 => format!(
            "“{}” published no numbers, so its own figures decide nothing.",
            line(&study.title)
        ),
        1 => format!("Judged by the one number that “{}” published.", line(&study.title)),
        numbers => {
            format!("Judged by the {numbers} numbers that “{}” published.", line(&study.title))
        }
    };
    text += &wrap_with_margin("", &by);
    text.push('\n');
    for (claim, judgement) in &judged {
        if only.is_none_or(|only| only == judgement.verdict) {
            text += &one(claim, judgement);
        }
    }
    let off = study.inconsistencies();
    if !off.is_empty() && only.is_none() {
        text += "\nDoes not add up:\n";
        text += &off.iter().map(|off| label_and_wrap("  ", &line(off))).collect::<String>();
    }
    text
}

/// Returns a table with a row for each study.
pub fn counts(studies: &[Study]) -> String {
    let shown = [Verdict::Supported, Verdict::Partly, Verdict::Contradicted, Verdict::Undecidable];
    let mut totals = [0; 5];
    let rows = studies.iter().map(|study| {
        let judged = study.evaluate_claims();
        let count = |verdict| judged.iter().filter(|(_, how)| how.verdict == verdict).count();
        let [a, b, c, d] = shown.map(count);
        let numbers = [judged.len(), a, b, c, d];
        for (total, number) in totals.iter_mut().zip(numbers) {
            *total += number;
        }
        row(&study.name, numbers)
    });
    let mut rows: Vec<[String; 6]> = rows.collect();
    let [claims, supported, partly, contradicted, undecidable] = totals;
    rows.push(row("all", totals));
    let head = format!(
        "{claims} claims of {} studies, by their own figures: {supported} supported, {partly} partly, {contradicted} \
         contradicted, {undecidable} undecidable",
        studies.len()
    );
    let heading = ["study", "claims", "supported", "partly", "contradicted", "undecidable"];
    let untold: String = studies.iter().filter_map(|study| untold(study, undecidable)).collect();
    let hint = "`fsarena study claims STUDY` gives each claim with the numbers that decide it.";
    format!(
        "{}\n{}\n{untold}{}",
        wrap_with_margin("", &head),
        table(heading, &rows),
        wrap_with_margin("", hint)
    )
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
    let text = format!(
        "{} of the {undecidable} undecidable are all the claims of {}, which printed {printed} in its {} figures.",
        judged.len(),
        study.name,
        study.figures.cells().count()
    );
    Some(wrap_with_margin("", &text))
}

fn row(name: &str, numbers: [usize; 5]) -> [String; 6] {
    let [a, b, c, d, e] = numbers.map(|number| number.to_string());
    [name.to_owned(), a, b, c, d, e]
}

/// Returns a summary such as `22 claims: 11 supported, 5 partly, 1 contradicted, 5 undecidable`.
pub fn summary(judged: &[(&Claim, ClaimVerdict)]) -> String {
    let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = judged.iter().filter(|(_, how)| how.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    });
    let claims = match judged.len() {
        1 => "1 claim".to_owned(),
        number => format!("{number} claims"),
    };
    match judged.is_empty() {
        true => claims,
        false => format!("{claims}: {}", counts.collect::<Vec<_>>().join(", ")),
    }
}

fn one(claim: &Claim, judgement: &ClaimVerdict) -> String {
    let verdict = format!("{:<MARGIN$}", judgement.verdict.name());
    let said = format!("{}: {}", claim.id, line(&claim.text));
    let mut text = label_and_wrap(&verdict, &said);
    text.replace_range(..verdict.len(), &painted(judgement.verdict, &verdict));
    let margin = " ".repeat(MARGIN);
    let mut add = |label: &str, lines: &str| {
        text += &label_and_wrap(&format!("{margin}{label}"), &line(lines));
    };
    if !judgement.off.is_empty() {
        let label = match judgement.verdict {
            Verdict::Supported => "but ",
            _ => "off: ",
        };
        add(label, &abbreviate(&judgement.off));
    }
    let taken_as = claim.interpretation();
    if is_decided(judgement.verdict) && !taken_as.is_empty() {
        add("taken as ", &taken_as);
    }
    if let Some(counts) = judgement.holds_in.filter(|counts| !counts.is_all()) {
        add("", &counts.to_string());
    }
    for values in judgement.lines() {
        add("", &values);
    }
    if !is_decided(judgement.verdict) {
        for why in judgement.reasons.iter().take(REASONS) {
            add("", &why.to_string());
        }
        if judgement.reasons.len() > REASONS {
            add("", &format!("and {} more", judgement.reasons.len() - REASONS));
        }
    }
    text
}

const fn is_decided(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Supported | Verdict::Partly | Verdict::Contradicted)
}

/// Returns a word in the colour of its verdict if standard output is a terminal with colours.
fn painted(verdict: Verdict, word: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain || !io::stdout().is_terminal() {
        return word.to_owned();
    }
    let colour = match verdict {
        Verdict::Supported => 32,
        Verdict::Partly => 33,
        Verdict::Contradicted => 31,
        Verdict::NotEnoughRounds | Verdict::NotMeasured | Verdict::Undecidable => 2,
    };
    format!("\u{1b}[{colour}m{word}\u{1b}[0m")
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
