//! Kernel complaints in cells that passed, by kind: a driver that repeats a message with other
//! sector numbers has one complaint, not a thousand.

use model::{Attribution, KernelEvent};
use stats::{Analysis, KernelWarning};

use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;

/// Kernel warnings of one kind about one contender.
pub(crate) struct ComplaintLine<'a> {
    /// Each event with its cell, in the order of the plan; at least one.
    pub events: Vec<(&'a KernelWarning, &'a KernelEvent)>,
}

impl ComplaintLine<'_> {
    /// Returns the name of the contender.
    pub fn contender(&self) -> String {
        sanitize_line(&self.events[0].0.contender)
    }

    /// Returns the title of the first event, as an example of the kind.
    pub fn example(&self) -> String {
        sanitize_line(&self.events[0].1.title)
    }

    /// Returns the number of events and cells, and the first cell, and whether the events may be
    /// unrelated to the cells.
    pub fn extent(&self) -> String {
        let (first, _) = self.events[0];
        let place = format!("{}, round {}", sanitize_line(&first.test), first.round);
        let mut cells: Vec<_> = self.events.iter().map(|(c, _)| c.cell).collect();
        cells.dedup();
        let extent = match self.events.len() {
            1 => place,
            events => format!(
                "{} in {}, first in {place}",
                pluralize(events as u64, "event"),
                pluralize(cells.len() as u64, "test run"),
            ),
        };
        let of_a_cell = |(_, event): &(_, &KernelEvent)| event.concern == Attribution::Cell;
        match self.events.iter().any(of_a_cell) {
            true => extent,
            false => format!("{extent}; it may be unrelated to the test"),
        }
    }
}

/// Returns all kernel warnings by contender and kind, in the order of first occurrence of each
/// kind.
pub(crate) fn complaint_lines(analysis: &Analysis) -> Vec<ComplaintLine<'_>> {
    let mut kinds: Vec<(String, ComplaintLine<'_>)> = Vec::new();
    for complaint in &analysis.complaints {
        for event in &complaint.events {
            let kind = event.kind();
            let known = kinds
                .iter_mut()
                .find(|(k, l)| *k == kind && l.events[0].0.contender == complaint.contender);
            let events = vec![(complaint, event)];
            match known {
                Some((_, group)) => group.events.extend(events),
                None => kinds.push((kind, ComplaintLine { events })),
            }
        }
    }
    kinds.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    fn shown(results: &model::CampaignResults) -> Vec<String> {
        let analysis = analyse(results);
        let lines = complaint_lines(&analysis);
        let shown = lines.iter();
        shown.map(|l| format!("{} ({}): {}", l.contender(), l.extent(), l.example())).collect()
    }

    #[test]
    fn events_that_differ_in_numbers_are_one_complaint() {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            if stored.cell.contender == "slow" {
                let round = stored.cell.round;
                let result = stored.result.as_mut().unwrap();
                result.kernel_log = [
                    format!("<3> I/O error, dev loop{round}, sector {}", round * 1024),
                    format!("<3> I/O error, dev loop{round}, sector 7 op 0x9:(WRITE)"),
                ]
                .map(KernelEvent::from_line)
                .into();
            }
        }
        assert_eq!(
            shown(&results),
            [
                "slow (3 events in 3 test runs, first in file, round 1): <3> I/O error, dev loop1, sector 1024",
                "slow (3 events in 3 test runs, first in file, round 1): <3> I/O error, dev loop1, sector 7 op 0x9:(WRITE)",
            ]
        );
    }

    /// Regression test: a stack trace turned one warning into sixty.
    #[test]
    fn warning_of_many_lines_is_one_line_and_may_be_unrelated() {
        let mut results = fixture::plain();
        let mut cells = results.cells.iter_mut();
        let cell = cells.find(|stored| stored.cell.contender == "slow");
        let mut lines = vec!["<4> WARNING: CPU: 1 PID: 7 at fs/inode.c:341 drop_nlink+0x24/0x40"];
        lines.resize(60, "<4>  vfs_unlink+0x110/0x290");
        cell.unwrap().result.as_mut().unwrap().kernel_log = vec![KernelEvent {
            title: lines[0].to_owned(),
            lines: lines.into_iter().map(str::to_owned).collect(),
            concern: Attribution::Unknown,
        }];
        assert_eq!(
            shown(&results),
            [
                "slow (file, round 1; it may be unrelated to the test): <4> WARNING: CPU: 1 PID: 7 at fs/inode.c:341 drop_nlink+0x24/0x40"
            ]
        );
    }
}
