//! Formats results as a table for a terminal or in Markdown, from the same cells. Pure.

use report::{DocumentOptions, Table};

use crate::comparison::{ComparisonUnit, Goal, RowResult, TargetVerdict};

const HEADS: [&str; 9] = [
    "comparison",
    "on",
    ">fsarena",
    ">peer",
    ">ratio",
    ">pairs from … to",
    ">interval",
    ">target",
    "verdict",
];

/// For a terminal.
pub fn terminal(outcomes: &[RowResult]) -> String {
    table(outcomes).text(&DocumentOptions::FILE)
}

/// For a document.
pub fn markdown(outcomes: &[RowResult]) -> String {
    table(outcomes).markdown()
}

fn table(outcomes: &[RowResult]) -> Table {
    let mut table = Table::new(&HEADS);
    outcomes.iter().for_each(|outcome| table.push(cells(outcome)));
    table
}

/// Replaces the text between two markers of a document. The new text is computed from the old.
///
/// # Errors
/// Returns an error if a marker is missing.
pub fn replace_between(
    document: &str,
    begin: &str,
    end: &str,
    make: impl FnOnce(&str) -> String,
) -> anyhow::Result<String> {
    let missing = || anyhow::anyhow!("the document has no {begin} before {end}");
    let (before, rest) = document.split_once(begin).ok_or_else(missing)?;
    let (old, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{}{end}{after}", make(old)))
}

/// Updates a table in Markdown. New rows replace the old rows of the same comparison; rows of new
/// comparisons are appended.
pub fn renewed(old: &str, new: &str) -> String {
    let rows = |table: &'_ str| -> Vec<String> {
        let lines = table.lines().filter(|l| l.starts_with('|')).skip(2);
        lines.map(str::to_owned).collect()
    };
    let mut fresh = rows(new);
    let again: Vec<String> = fresh.iter().map(|row| comparison(row)).collect();
    let mut table: Vec<String> = new.lines().take(2).map(str::to_owned).collect();
    for row in rows(old) {
        let name = comparison(&row);
        if again.contains(&name) {
            table.extend(fresh.extract_if(.., |row| comparison(row) == name));
        } else {
            table.push(row);
        }
    }
    table.extend(fresh);
    table.iter().map(|row| format!("{row}\n")).collect()
}

/// Returns the first two cells of a row, which identify the comparison and its filesystem.
fn comparison(row: &str) -> String {
    row.split(" | ").take(2).collect::<Vec<_>>().join(" | ")
}

fn cells(outcome: &RowResult) -> [String; 9] {
    let number = |value: f64| number(value, outcome.unit);
    let peer = |value: f64| match outcome.peer {
        Some(name) => format!("{name} {}", number(value)),
        None => number(value),
    };
    let c = outcome.comparison;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    [
        outcome.title.clone(),
        outcome.scratch.to_string(),
        or_dash(c.map(|c| number(c.ours))),
        or_dash(c.map(|c| peer(c.peer))),
        or_dash(c.map(|c| format!("{:.2}", c.ratio))),
        or_dash(c.map(|c| format!("{:.2}…{:.2}", c.lowest, c.highest))),
        or_dash(c.map(|c| {
            let percent = 100.0 * c.interval.confidence;
            format!("{:.2}…{:.2} ({percent:.0}%)", c.interval.low, c.interval.high)
        })),
        target(outcome.target),
        verdict(outcome),
    ]
}

/// Formats a target.
pub fn target(target: Goal) -> String {
    match target {
        Goal::AtLeast(bound) => format!("≥ {bound:.2}"),
        Goal::AtMost(bound) => format!("≤ {bound:.2}"),
        Goal::Within(share) => format!("± {:.0}%", 100.0 * share),
    }
}

fn verdict(outcome: &RowResult) -> String {
    let word = word(outcome.verdict, outcome.target);
    match &outcome.obstacle {
        Some(obstacle) => format!("{word}: {obstacle}"),
        None => word.to_owned(),
    }
}

/// Formats a verdict.
pub const fn word(verdict: TargetVerdict, target: Goal) -> &'static str {
    match (verdict, target) {
        (TargetVerdict::Met, Goal::Within(_)) => "agrees",
        (TargetVerdict::MissedWithinNoise, Goal::Within(_)) => "differs, within the noise",
        (TargetVerdict::Missed, Goal::Within(_)) => "differs",
        (TargetVerdict::Met, _) => "met",
        (TargetVerdict::MissedWithinNoise, _) => "missed, within the noise",
        (TargetVerdict::Missed, _) => "missed",
        (TargetVerdict::NoResult, _) => "no result",
    }
}

/// Formats a value with three significant digits and a unit.
fn number(value: f64, unit: ComparisonUnit) -> String {
    match unit {
        ComparisonUnit::Bytes => format!("{}B/s", scaled(value)),
        ComparisonUnit::Operations => format!("{}/s", scaled(value)),
        ComparisonUnit::Seconds => seconds(value),
        ComparisonUnit::Times => format!("{}×", digits(value)),
    }
}

fn seconds(value: f64) -> String {
    let (unit, name) = match value {
        v if v >= 1.0 => (1.0, "s"),
        v if v >= 1e-3 => (1e-3, "ms"),
        _ => (1e-6, "µs"),
    };
    format!("{} {name}", digits(value / unit))
}

fn scaled(value: f64) -> String {
    let (factor, prefix) = match value {
        v if v >= 1e9 => (1e9, " G"),
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e3 => (1e3, " k"),
        _ => (1.0, " "),
    };
    format!("{}{prefix}", digits(value / factor))
}

fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::paired::compare;
    use crate::scratch::FsType;

    use super::*;

    fn outcomes() -> Vec<RowResult> {
        let outcome = |title: &str, peer, unit, target: Goal, pairs: &[(f64, f64)]| {
            let comparison = compare(pairs);
            RowResult {
                contest: "contest".into(),
                title: title.into(),
                scratch: FsType::Tmpfs,
                peer,
                unit,
                target,
                verdict: target.judge(comparison.as_ref()),
                comparison,
                obstacle: None,
            }
        };
        let at_least = Goal::AtLeast(1.25);
        vec![
            outcome(
                "random read",
                Some("fio"),
                ComparisonUnit::Operations,
                at_least,
                &[(800e3, 600e3), (820e3, 610e3), (810e3, 640e3)],
            ),
            outcome(
                "cost",
                Some("fio"),
                ComparisonUnit::Seconds,
                Goal::AtMost(1.0),
                &[(1.6e-6, 1.5e-6), (1.7e-6, 1.5e-6), (1.8e-6, 1.6e-6)],
            ),
            outcome(
                "sequential write",
                Some("bonnie++"),
                ComparisonUnit::Bytes,
                Goal::Within(0.1),
                &[(1.0e9, 1.1e9), (1.0e9, 1.2e9), (1.0e9, 1.0e9)],
            ),
            outcome(
                "checking",
                None,
                ComparisonUnit::Bytes,
                at_least,
                &[(3.5e9, 2e9), (4.5e9, 2e9)],
            ),
            outcome("stat", Some("bonnie++"), ComparisonUnit::Operations, at_least, &[]),
            outcome(
                "scaling",
                Some("fio"),
                ComparisonUnit::Times,
                Goal::AtLeast(0.95),
                &[(1.9, 1.8)],
            ),
            outcome(
                "boot",
                None,
                ComparisonUnit::Seconds,
                Goal::AtMost(1.0),
                &[(3.2, 4.0), (2.96, 4.0)],
            ),
            RowResult {
                obstacle: Some("there is no such program".into()),
                ..outcome("boot", None, ComparisonUnit::Seconds, Goal::AtMost(1.0), &[])
            },
        ]
    }

    #[test]
    fn a_table_for_a_terminal() {
        insta::assert_snapshot!(terminal(&outcomes()));
    }

    #[test]
    fn a_table_for_a_document() {
        insta::assert_snapshot!(markdown(&outcomes()));
    }

    #[test]
    fn replaces_only_the_text_between_the_markers() {
        let document = "by hand\n<!-- a -->\nold\n<!-- b -->\nby hand, too\n";
        let put = |document: &str| {
            replace_between(document, "<!-- a -->", "<!-- b -->", |_| "new\n".to_owned())
        };
        let once = put(document).unwrap();
        assert_eq!(once, "by hand\n<!-- a -->\nnew\n<!-- b -->\nby hand, too\n");
        assert_eq!(put(&once).unwrap(), once);
        assert!(put("no markers").is_err());
        assert!(put("<!-- b --> <!-- a -->").is_err());
    }

    #[test]
    fn repeated_comparisons_keep_their_position() {
        let table = |rows: &str| format!("| head |\n| --- |\n{rows}");
        let old = table("| a | x | 1 |\n| b | x | 1 |\n| b | x | 2 |\n| b | y | 3 |\n");
        let new = table("| b | x | 8 |\n| b | x | 9 |\n| c | x | 7 |\n");
        assert_eq!(
            renewed(&old, &new),
            table("| a | x | 1 |\n| b | x | 8 |\n| b | x | 9 |\n| b | y | 3 |\n| c | x | 7 |\n")
        );
        assert_eq!(renewed("", &new), new);
    }
}
