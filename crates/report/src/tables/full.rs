//! Behaviour of each contender when it is full.

use model::{CampaignResults, FullResult, FullStep, SyscallError};
use stats::{FullRecord, full};

use crate::document::{Block, Item, Table};
use crate::text::conclusions::{ConclusionText, listed};
use crate::text::labels::pluralize;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};

/// Title of the table, and of its conclusion in an answer.
pub(crate) const TITLE: &str = "At 100 % full";
/// Title of the conclusion if there is no other.
pub(crate) const CONCLUSIONS: &str = "Full filesystems";

const NOTE: &str = "Synced: files whose sync succeeded. First failure: for data, and for empty files. Lost: files without their \
                    content, at once and after an unmount and a mount. Replaced: a small file, by a new one with \
                    fsync and a rename. Checked: by the checker of the filesystem while it is full. Removed: every \
                    tenth file. Written again: a new file after the removal.";

/// Returns the table, the reasons of failures, and the meaning of the columns. Empty if no phase
/// filled a filesystem.
pub(crate) fn blocks(results: &CampaignResults) -> Vec<Block> {
    let records = full(results);
    if records.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[
        "contender",
        "full of",
        "synced",
        "first failure",
        "lost",
        "replaced",
        "checked",
        "removed",
        "written again",
    ]);
    for record in &records {
        if let Ok(result) = &record.outcome {
            let name = [sanitize_line(&record.contender), sanitize_line(&record.phase)];
            table.push(name.into_iter().chain(cells(result)));
        }
    }
    let reasons = records.iter().filter_map(reasons);
    vec![Block::Table(table), Block::list(reasons), Block::Note(NOTE.to_owned())]
}

fn cells(result: &FullResult) -> [String; 7] {
    let synced = match result.bytes.0 {
        0 => pluralize(result.files, "file"),
        _ => format!("{}, {}", pluralize(result.files, "file"), result.bytes),
    };
    let mut failures: Vec<String> =
        [&result.first_failure, &result.name_failure].into_iter().flatten().map(named).collect();
    failures.dedup();
    let first = if failures.is_empty() { "none".to_owned() } else { failures.join(", ") };
    let lost = match (result.lost_when_full, result.lost_after_mount, &result.remount) {
        (0, Some(0) | None, None | Some(FullStep::Done)) => "none".to_owned(),
        (now, None, Some(_)) => format!("{now}, not mounted"),
        (now, None, None) => now.to_string(),
        (now, Some(after), _) => format!("{now}, {after}"),
    };
    let removed = match &result.remove {
        Some(FullStep::Done) => result.removed.to_string(),
        other => step(other.as_ref()),
    };
    let [replaced, checked, again] =
        [&result.replace, &result.check, &result.write_again].map(|one| step(one.as_ref()));
    [synced, first, lost, replaced, checked, removed, again]
}

fn step(outcome: Option<&FullStep>) -> String {
    match outcome {
        None => "–".to_owned(),
        Some(FullStep::Done) => "yes".to_owned(),
        Some(FullStep::Failed { error: None, .. }) => "failed".to_owned(),
        Some(FullStep::Failed { error: Some(error), .. }) => named(error),
    }
}

fn named(error: &SyscallError) -> String {
    format!("{}: {}", sanitize_line(&error.call), sanitize_line(&error.name))
}

/// Returns an example of a loss and the reasons of failed programs, or the reason without a result.
fn reasons(record: &FullRecord) -> Option<Item> {
    let name = format!("{}, {}", sanitize_line(&record.contender), sanitize_line(&record.phase));
    let parts = match &record.outcome {
        Err(reason) => vec![format!("not tested: {}", sanitize_paragraph(reason))],
        Ok(result) => {
            let steps = [&result.remount, &result.check];
            let failed = steps.into_iter().flatten().filter_map(|step| match step {
                FullStep::Failed { reason, .. } => Some(sanitize_paragraph(reason)),
                FullStep::Done => None,
            });
            let example = Some(sanitize_paragraph(&result.example));
            example.filter(|text| !text.is_empty()).into_iter().chain(failed).collect()
        }
    };
    (!parts.is_empty()).then(|| Item::new(name, parts.join("; ")))
}

/// Returns who kept all synced files and could free space, and who failed how. `None` if no phase
/// filled a filesystem.
pub(crate) fn conclusion(results: &CampaignResults) -> Option<ConclusionText> {
    let records = full(results);
    let tested =
        records.iter().filter_map(|one| Some((&one.contender, one.outcome.as_ref().ok()?)));
    let names = |is_chosen: &dyn Fn(&FullResult) -> bool| {
        let chosen = tested.clone().filter(|(_, result)| is_chosen(result));
        let mut names: Vec<String> = chosen.map(|(name, _)| sanitize_line(name)).collect();
        names.dedup();
        names
    };
    let bad = [
        (names(&|one| one.lost() > 0), "lost synced files"),
        (names(&|one| one.lost_after_mount.is_none() && failed(&one.remount)), "did not mount"),
        (names(&|one| failed(&one.check)), "did not pass the check while full"),
        (names(&|one| failed(&one.remove)), "could not remove files"),
        (names(&|one| failed(&one.write_again)), "could not write after files were removed"),
    ];
    let mut good = names(&|_| true);
    good.retain(|name| bad.iter().all(|(names, _)| !names.contains(name)));
    let kept = "kept all synced files, and could remove and write files";
    let sentences: Vec<String> = bad
        .into_iter()
        .chain([(good, kept)])
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, what)| format!("{} {what}.", listed(&names, "and")))
        .collect();
    (!sentences.is_empty())
        .then(|| ConclusionText { question: TITLE.to_owned(), answer: sentences.join(" ") })
}

fn failed(step: &Option<FullStep>) -> bool {
    step.as_ref().is_some_and(FullStep::has_failed)
}

#[cfg(test)]
mod tests {
    use model::Bytes;

    use super::*;

    fn refused(call: &str) -> FullStep {
        let error = SyscallError { call: call.into(), errno: 28, name: "ENOSPC".into() };
        FullStep::Failed { reason: format!("{call} of x: ENOSPC"), error: Some(error) }
    }

    #[test]
    fn a_row_names_the_call_that_failed_and_the_losses_before_and_after_a_mount() {
        let result = FullResult {
            files: 300,
            bytes: Bytes::mib(300),
            first_failure: Some(SyscallError {
                call: "fsync".into(),
                errno: 28,
                name: "ENOSPC".into(),
            }),
            lost_when_full: 0,
            lost_after_mount: Some(2),
            replace: Some(refused("write")),
            remount: Some(FullStep::Done),
            remove: Some(refused("unlink")),
            ..FullResult::default()
        };
        let row = cells(&result);
        let wanted = [
            "300 files, 300 MiB",
            "fsync: ENOSPC",
            "0, 2",
            "write: ENOSPC",
            "–",
            "unlink: ENOSPC",
            "–",
        ];
        assert_eq!(row, wanted);
        let whole = FullResult { lost_after_mount: Some(0), ..FullResult::default() };
        assert_eq!(cells(&whole)[2], "none");
        let gone = FullResult {
            lost_after_mount: None,
            remount: Some(FullStep::Failed { reason: "no".into(), error: None }),
            ..result
        };
        assert_eq!(cells(&gone)[2], "0, not mounted");
    }
}
