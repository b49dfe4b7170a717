//! Formats the comparison of a study with the campaign that replicates it, as text.

use report::replication::{ahead, summary, times};
use report::{Block, Document, Item, Table};
use studies::{
    ReplicatedClaim, ReplicatedContender, ReplicatedFigure, ReplicatedValue, Replication, Study,
    Verdict, abbreviate,
};

use crate::output::text::{document_text, line};

/// Column names of the table of figures.
const HEADING: [&str; 3] = ["figure", "tau", "best then → best now"];

/// Returns the summary, the differences, the figures, and the claims with both verdicts.
pub fn text(study: &Study, campaign: i64, twice: &Replication) -> String {
    let mut document = Document::default();
    document.paragraph(format!(
        "{} ({}) compared with campaign {campaign}. {}",
        study.name,
        study.figures.year,
        summary(twice).join(" ")
    ));
    let differences = twice
        .differences
        .iter()
        .map(|one| Item::new(one.aspect, format!("{} → {}", one.published, one.measured)));
    document.section("Differences from the study", [Block::Facts(differences.collect())]);
    let mut table = Table::new(&HEADING);
    twice.figures.iter().for_each(|figure| table.push(row(figure)));
    if !table.is_empty() {
        let note = "Best contender in the study and now, among those with a number on both sides, each with its ratio to the best of the other side; tau is the rank correlation.";
        document.section("Figures", [Block::Table(table), Block::Note(note.to_owned())]);
    }
    let claims = twice.claims.iter().flat_map(one).collect();
    document.section("Claims, then → now", [Block::Facts(claims)]);
    document_text(&document)
}

/// Formats a figure: rank correlation, and the best contenders of both sides with their ratios on
/// the other side.
fn row(figure: &ReplicatedFigure) -> [String; 3] {
    let tau = figure.tau_b.map_or_else(|| "–".to_owned(), |tau| format!("{tau:.2}"));
    let then = first(figure, |one| (&one.published, &one.measured), "now");
    let now = first(figure, |one| (&one.measured, &one.published), "then");
    let best = [vec![format!("{then} → {now}")], ahead(figure)].concat();
    [line(&figure.path), tau, line(&best.join("; "))]
}

/// Returns the best contender of one side with its ratio on the other side: `jfs (now 1.32×)`.
fn first(
    figure: &ReplicatedFigure,
    sides: fn(&ReplicatedContender) -> (&ReplicatedValue, &ReplicatedValue),
    other: &str,
) -> String {
    let is_first =
        |one: &&ReplicatedContender| matches!(sides(one).0, ReplicatedValue::Ratio { rank: 1, .. });
    let firsts: Vec<String> = figure
        .contenders
        .iter()
        .filter(is_first)
        .map(|one| match sides(one).1 {
            ReplicatedValue::Ratio { times: by, .. } => {
                format!("{} ({other} {})", line(&one.name), times(*by))
            }
            ReplicatedValue::Single | ReplicatedValue::Label(_) => line(&one.name),
        })
        .collect();
    firsts.join(", ")
}

/// Returns a claim with both verdicts, and below it the figures or reasons that decide it.
fn one(claim: &ReplicatedClaim) -> Vec<Item> {
    let [then, now] = [&claim.by_published, &claim.by_measured].map(|side| side.verdict.name());
    let said = format!("{}: {}", claim.claim.id, claim.claim.text);
    let mut items = vec![Item::new(format!("{then} → {now}"), said)];
    let mut add = |text: String| items.push(text.into());
    if !claim.by_measured.off.is_empty() {
        add(format!("now off: {}", abbreviate(&claim.by_measured.off)));
    }
    match claim.by_measured.verdict {
        Verdict::Undecidable => {
            // `study claims` shows the reason if the study itself cannot decide.
            if claim.claim.undecidable.is_none()
                && let Some(why) = claim.by_measured.reasons.first()
            {
                add(why.to_string());
            }
        }
        Verdict::NotMeasured | Verdict::NotEnoughRounds => {
            // More rounds settle an open verdict, but do not add missing results.
            let rounds_help = claim.by_measured.verdict == Verdict::NotEnoughRounds;
            let all = claim.by_measured.reasons.iter();
            let mut first = all.filter(|why| !rounds_help || why.contenders.is_empty());
            if let Some(why) = first.next() {
                add(why.to_string());
            }
        }
        Verdict::Supported | Verdict::Partly | Verdict::Contradicted => {
            claim.by_measured.lines().into_iter().take(3).for_each(&mut add);
            // A statement about several contenders was checked only for those that exist.
            if let Some(why) = claim.by_measured.reasons.first() {
                add(format!("unknown: {why}"));
            }
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::DocumentOptions;
    use studies::Leader;

    #[test]
    fn the_table_of_figures_has_its_whole_heading_in_80_columns() {
        let ratio = |times: f64, rank| ReplicatedValue::Ratio { times, rank };
        let figure = ReplicatedFigure {
            path: "bonnie++/sequential_output_rewrite/latency_max".to_owned(),
            contenders: vec![
                ReplicatedContender {
                    name: "reiserfs-3.6".to_owned(),
                    published: ratio(1.0, 1),
                    measured: ratio(2.5, 2),
                },
                ReplicatedContender {
                    name: "zfs-fuse".to_owned(),
                    published: ratio(1.5, 2),
                    measured: ratio(1.0, 1),
                },
            ],
            tau_b: Some(-1.0),
            best_then: Some(Leader { name: "reiser4".to_owned(), times: 1.35 }),
            best_now: None,
        };
        let row = row(&figure);
        assert_eq!(
            row[2],
            "reiserfs-3.6 (now 2.50×) → zfs-fuse (then 1.50×); best then of all: reiser4 (reiserfs-3.6 1.35×)"
        );
        let mut table = Table::new(&HEADING);
        table.push(row);
        let text = table.text(&DocumentOptions::terminal(80));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("TAU    BEST THEN → BEST NOW"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        let column = lines[0].find("BEST").unwrap();
        assert!(lines[1..].iter().all(|line| line.rfind("  ").unwrap() < column), "{text}");
    }
}
