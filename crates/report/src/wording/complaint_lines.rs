//! What the kernel complained of during cells that passed, by kind: a driver that repeats itself with
//! other sector numbers has one complaint, not a thousand.

use analyse::{Analysis, Complaint};

use crate::wording::text::clean;
use crate::wording::words::counted;

/// Complaints of one kind about one contender.
pub(crate) struct ComplaintLine<'a> {
    /// Each line with the cell it comes from, in the order of the plan; at least one.
    pub lines: Vec<(&'a Complaint, &'a str)>,
}

impl ComplaintLine<'_> {
    /// Name of the contender.
    pub fn contender(&self) -> String {
        clean(&self.lines[0].0.contender)
    }

    /// The first line of the kind, which speaks for all.
    pub fn example(&self) -> String {
        clean(self.lines[0].1)
    }

    /// How often, in how many cells, and in which first.
    pub fn extent(&self) -> String {
        let (first, _) = self.lines[0];
        let place = format!("{}, round {}", clean(&first.test), first.round);
        let mut cells: Vec<_> = self.lines.iter().map(|(c, _)| c.cell).collect();
        cells.dedup();
        match self.lines.len() {
            1 => place,
            lines => format!(
                "{} in {}, first in {place}",
                counted(lines as u64, "line"),
                counted(cells.len() as u64, "cell"),
            ),
        }
    }
}

/// All complaints by contender and kind, in the order in which each kind was first seen.
pub(crate) fn complaint_lines(analysis: &Analysis) -> Vec<ComplaintLine<'_>> {
    let mut kinds: Vec<(String, ComplaintLine<'_>)> = Vec::new();
    for complaint in &analysis.complaints {
        for line in &complaint.lines {
            let kind = kind(line);
            let known = kinds
                .iter_mut()
                .find(|(k, l)| *k == kind && l.lines[0].0.contender == complaint.contender);
            match known {
                Some((_, group)) => group.lines.push((complaint, line)),
                None => kinds.push((
                    kind,
                    ComplaintLine {
                        lines: vec![(complaint, line)],
                    },
                )),
            }
        }
    }
    kinds.into_iter().map(|(_, group)| group).collect()
}

/// The line without what differs from one occurrence to the next: words that hold a digit.
fn kind(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        if word.contains(|c: char| c.is_ascii_digit()) {
            "#"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn lines_that_differ_in_numbers_are_one_complaint() {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            if stored.cell.contender == "slow" {
                let round = stored.cell.round;
                let result = stored.result.as_mut().unwrap();
                result.kernel_log = vec![
                    format!("<3> I/O error, dev loop{round}, sector {}", round * 1024),
                    format!("<3> I/O error, dev loop{round}, sector 7 op 0x9:(WRITE)"),
                ];
            }
        }
        let analysis = analyse(&results);
        let shown: Vec<String> = complaint_lines(&analysis)
            .iter()
            .map(|l| format!("{} ({}): {}", l.contender(), l.extent(), l.example()))
            .collect();
        assert_eq!(
            shown,
            [
                "slow (3 lines in 3 cells, first in file, round 1): <3> I/O error, dev loop1, sector 1024",
                "slow (3 lines in 3 cells, first in file, round 1): <3> I/O error, dev loop1, sector 7 op 0x9:(WRITE)",
            ]
        );
    }
}
