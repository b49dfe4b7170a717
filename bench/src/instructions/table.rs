//! Formats instruction counts as a table, for a terminal and for Markdown, from the same cells.
//! Pure.

use report::{DocumentOptions, Table};

use super::CostRow;
use super::count::InstructionCost;
use crate::comparison::TargetVerdict;
use crate::table::{target, word};

const HEADS: [&str; 9] = [
    "comparison",
    "on",
    "beside",
    ">user: fsarena / peer",
    ">ratio",
    ">target",
    "verdict",
    ">kernel: fsarena / peer",
    ">both",
];

/// Formats a table for a terminal. For rows that missed their target, the functions with most of
/// the engine's instructions follow.
pub fn terminal(rows: &[CostRow]) -> String {
    let wanted = rows.iter().filter(|row| row.verdict.is_some()).count();
    let met = rows.iter().filter(|row| row.verdict == Some(TargetVerdict::Met)).count();
    let missed: String = missed(rows).map(|line| format!("{line}\n")).collect();
    format!("{}{met} of {wanted} as wanted\n{missed}", table(rows).text(&DocumentOptions::FILE))
}

/// For a document.
pub fn markdown(rows: &[CostRow]) -> String {
    let missed: String = missed(rows).map(|line| format!("\n{line}\n")).collect();
    table(rows).markdown() + &missed
}

/// Returns one line per row that missed its target, with the functions that use most of the
/// engine's instructions.
fn missed(rows: &[CostRow]) -> impl Iterator<Item = String> {
    let missed = rows.iter().filter(|row| row.verdict == Some(TargetVerdict::Missed));
    missed.map(|row| {
        let functions = row.functions.iter();
        let functions: Vec<String> = functions
            .map(|(name, count)| format!("{} {count:.0}", name.replace('|', "¦")))
            .collect();
        format!(
            "{} on {}, beside {}: {}",
            row.title,
            row.filesystem,
            row.peer,
            functions.join(", ")
        )
    })
}

fn table(rows: &[CostRow]) -> Table {
    let mut table = Table::new(&HEADS);
    rows.iter().for_each(|row| table.push(cells(row)));
    table
}

fn cells(row: &CostRow) -> [String; 9] {
    let both =
        |of: fn(&InstructionCost) -> f64| format!("{:.0} / {:.0}", of(&row.ours), of(&row.theirs));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let verdict = row.target.zip(row.verdict);
    [
        row.title.clone(),
        row.filesystem.to_owned(),
        row.peer.to_owned(),
        both(|cost| cost.user),
        format!("{:.2}", row.ratio()),
        or_dash(row.target.map(target)),
        or_dash(verdict.map(|(target, verdict)| word(verdict, target).to_owned())),
        both(|cost| cost.kernel),
        format!("{:.2}", row.ours.total() / row.theirs.total()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Goal;

    fn row(title: &str, user: f64, verdict: Option<TargetVerdict>) -> CostRow {
        let cost = |user, kernel| InstructionCost { user, kernel, addresses: Default::default() };
        CostRow {
            comparison: "files",
            title: title.to_owned(),
            filesystem: "tmpfs",
            peer: "bonnie++",
            ours: cost(user, 9000.0),
            theirs: cost(200.0, 9100.4),
            target: verdict.map(|_| Goal::AtMost(0.6)),
            verdict,
            functions: vec![("engine::names".to_owned(), 80.2), ("openat".to_owned(), 11.0)],
        }
    }

    fn rows() -> Vec<CostRow> {
        vec![
            row("create", 140.0, Some(TargetVerdict::Missed)),
            row("stat", 100.0, Some(TargetVerdict::Met)),
            row("read", 100.0, None),
        ]
    }

    #[test]
    fn a_table_for_a_terminal() {
        insta::assert_snapshot!(terminal(&rows()));
    }

    #[test]
    fn a_table_for_a_document() {
        insta::assert_snapshot!(markdown(&rows()));
    }
}
