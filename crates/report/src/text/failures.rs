//! Failures, one line each: rounds with the same failure share a line, and so do the points of a
//! sweep that died in the same step with the same error.

use std::collections::BTreeSet;

use model::{Status, SyscallError};
use stats::{Analysis, CellFailure};

use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;

/// Rounds of a contender in a test that ended with the same failure.
pub(crate) struct FailureLine<'a> {
    /// Failed cells, in the order of the plan; at least one.
    pub cells: Vec<&'a CellFailure>,
    /// Sweep that contains the cells as points, if any.
    sweep: Option<&'a str>,
}

impl FailureLine<'_> {
    /// Returns the first cell, which represents all of them.
    pub fn first(&self) -> &CellFailure {
        self.cells[0]
    }

    /// Returns the rounds as text: `round 2` or `rounds 1, 3`.
    pub fn rounds(&self) -> String {
        let rounds: BTreeSet<u32> = self.cells.iter().map(|c| c.round).collect();
        let rounds: Vec<String> = rounds.iter().map(u32::to_string).collect();
        let noun = if rounds.len() == 1 { "round" } else { "rounds" };
        format!("{noun} {}", rounds.join(", "))
    }

    /// Returns the test and the failed part of it: `bonnie-files, create-seq`.
    pub fn place(&self) -> String {
        let first = self.first();
        let test = self.test();
        if first.step.is_empty() || first.status == Status::Unsupported {
            test
        } else {
            format!("{test}, {}", sanitize_line(&first.step))
        }
    }

    /// Returns the name of the test, or the number of points of the sweep.
    fn test(&self) -> String {
        let first = sanitize_line(&self.first().test);
        let tests: BTreeSet<&str> = self.cells.iter().map(|c| c.test.as_str()).collect();
        match (self.sweep, tests.len()) {
            (Some(sweep), points @ 2..) => {
                format!("{} at {points} points, first {first}", sanitize_line(sweep))
            }
            _ => first,
        }
    }

    /// Returns the reason with its error number, and the phases skipped after it.
    pub fn reason(&self) -> String {
        let first = self.first();
        if first.status == Status::Unsupported {
            return unsupported(first);
        }
        let mut text = with_error(&first.reason, first.error.as_ref());
        let after = first
            .phases
            .iter()
            .filter(|p| matches!(p.status, Status::Skipped | Status::Invalid))
            .count();
        if after > 0 {
            text += &format!("; {} not done", pluralize(after as u64, "phase"));
        }
        text
    }
}

/// Returns every unsupported feature of a filesystem with its reason: `symlinks: ENOSYS; xattrs:
/// EPERM`.
fn unsupported(failure: &CellFailure) -> String {
    let each = failure.phases.iter().filter(|p| p.status == Status::Unsupported).map(|p| {
        let reason = p.reason.as_deref().unwrap_or("no reason recorded");
        format!("{}: {}", sanitize_line(&p.phase), with_error(reason, p.error.as_ref()))
    });
    let list = each.collect::<Vec<_>>().join("; ");
    if list.is_empty() { with_error(&failure.reason, failure.error.as_ref()) } else { list }
}

/// Returns a reason with the failed system call: `no space left (pwrite: ENOSPC, errno 28)`.
pub(crate) fn with_error(reason: &str, error: Option<&SyscallError>) -> String {
    let reason = sanitize_line(reason);
    match error {
        None => reason,
        Some(error) => format!(
            "{reason} ({}: {}, errno {})",
            sanitize_line(&error.call),
            sanitize_line(&error.name),
            error.errno
        ),
    }
}

/// Returns all failures, in the order of first occurrence.
pub(crate) fn failure_lines(analysis: &Analysis) -> Vec<FailureLine<'_>> {
    let mut lines: Vec<FailureLine<'_>> = Vec::new();
    for failure in &analysis.failures {
        let sweep = sweep_of(analysis, failure);
        let known = |line: &&mut FailureLine<'_>| match sweep {
            Some(_) => line.sweep == sweep && alike(line.first(), failure),
            None => same(line.first(), failure),
        };
        match lines.iter_mut().find(known) {
            Some(line) => line.cells.push(failure),
            None => lines.push(FailureLine { cells: vec![failure], sweep }),
        }
    }
    lines
}

fn sweep_of<'a>(analysis: &'a Analysis, failure: &CellFailure) -> Option<&'a str> {
    let mut sweeps = analysis.sweeps.iter();
    let sweep = sweeps.find(|s| s.suite == failure.suite && s.tests.contains(&failure.test));
    sweep.map(|sweep| sweep.name.as_str())
}

/// Returns true if two points failed alike. Reasons are not compared, because sizes and offsets
/// differ between points.
fn alike(a: &CellFailure, b: &CellFailure) -> bool {
    let key = |f: &CellFailure| (f.contender.clone(), f.status, f.step.clone());
    key(a) == key(b) && a.error == b.error
}

fn same(a: &CellFailure, b: &CellFailure) -> bool {
    let key = |f: &CellFailure| {
        (f.contender.clone(), f.test.clone(), f.status, f.step.clone(), f.reason.clone())
    };
    key(a) == key(b) && a.error == b.error && a.phases == b.phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn points_of_a_sweep_that_died_alike_share_a_line() {
        let analysis = analyse(&fixture::swept());
        let lines = failure_lines(&analysis);
        let places: Vec<String> =
            lines.iter().map(|l| format!("{} ({})", l.place(), l.rounds())).collect();
        assert_eq!(places, ["grid at 3 points, first grid-1g-8k, write (rounds 1, 2)"]);
        assert_eq!(lines[0].cells.len(), 6);
    }

    #[test]
    fn equal_failures_of_several_rounds_share_a_line() {
        let analysis = analyse(&fixture::realistic());
        let lines: Vec<String> = failure_lines(&analysis)
            .iter()
            .map(|l| format!("{} {} {} {}", l.first().contender, l.place(), l.rounds(), l.reason()))
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[0],
            "ntfs-3g large-file, copy-again rounds 1, 3 pwrite of 1 MiB at 96 MiB of `copy`: no \
             space left on device (pwrite: ENOSPC, errno 28); 3 phases not done"
        );
    }
}
