//! The spreadsheet form of IOzone, which `iozone -R` prints below `Excel output is below:`: a block
//! for each operation, a line for each file size, a column for each record size, in kB (1024 bytes)
//! and kB/s.
//!
//! Format: the output of IOzone 3.506 with `-R -a`, reproduced line by line. Each contender has
//! such an output after a line with its name and the test. That line is quoted, so that a
//! spreadsheet reads it as one text and no part of a name as a formula. Results are medians over
//! rounds, rounded to whole kB/s. As in IOzone, a missing result is 0: the record does not fit, or
//! it failed.

use std::collections::BTreeSet;
use std::fmt::Write;

use model::{CampaignResults, Metric, SweepAxis};
use stats::{Analysis, Sweep, SweptPhase};

use crate::text::sanitize::{escape_formula, sanitize_line};

/// IOzone's name for each operation, by the phase names of suite `iozone`.
const REPORTS: [(&str, &str); 11] = [
    ("write", "Writer report"),
    ("rewrite", "Re-writer report"),
    ("read", "Reader report"),
    ("reread", "Re-Reader report"),
    ("random-read", "Random read report"),
    ("random-write", "Random write report"),
    ("backward-read", "Backward read report"),
    ("record-rewrite", "Record rewrite report"),
    ("strided-read", "Stride read report"),
    ("fwrite", "Fwrite report"),
    ("fread", "Fread report"),
];

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    let mut out = String::new();
    let is_grid = |s: &&Sweep| {
        s.axes.contains_key(&SweepAxis::Size) && s.axes.contains_key(&SweepAxis::Block)
    };
    for sweep in analysis.sweeps.iter().filter(is_grid) {
        for (index, contender) in analysis.contenders.iter().enumerate() {
            let _ = write!(
                out,
                "\"Contender {}, test {}, campaign {}\"\n\nExcel output is below:\n",
                quotable(contender),
                quotable(&sweep.name),
                results.id
            );
            // IOzone reports only throughput, also for random I/O.
            let phases = sweep.phases.iter();
            for phase in phases.filter(|phase| phase.metric == Metric::Throughput) {
                out += &report(phase, index, analysis);
            }
            out.push('\n');
        }
    }
    if out.is_empty() {
        out.push_str("No test of this campaign goes over file sizes and record sizes, as suite iozone does.\n");
    }
    out
}

fn report(phase: &SweptPhase, contender: usize, analysis: &Analysis) -> String {
    let known = REPORTS.iter().find(|(name, _)| *name == phase.phase);
    let title = known.map_or_else(
        || format!("{} report", escape_formula(&quotable(&phase.phase))),
        |(_, title)| (*title).to_owned(),
    );
    let values = |axis: SweepAxis| -> BTreeSet<u64> {
        let points = phase.points.iter();
        points.filter_map(|p| p.at.get(&axis).copied()).collect()
    };
    let (sizes, blocks) = (values(SweepAxis::Size), values(SweepAxis::Block));
    let mut out = format!("\n\"{title}\"\n       ");
    for block in &blocks {
        let _ = write!(out, " \"{}\" ", kilobytes(*block));
    }
    out = out.trim_end().to_owned() + "\n";
    for size in &sizes {
        let _ = write!(out, "\"{}\"  ", kilobytes(*size));
        for block in &blocks {
            let rate = throughput(phase, contender, analysis, *size, *block);
            let _ = write!(out, " {:.0} ", rate.unwrap_or(0.0) / 1024.0);
        }
        out.push('\n');
    }
    out
}

/// Returns text that is safe between quotes. The format has no escape for quotes within a text.
fn quotable(text: &str) -> String {
    sanitize_line(text).replace('"', "'")
}

/// Formats bytes as kB, without decimals if the value is whole.
fn kilobytes(bytes: u64) -> String {
    (bytes as f64 / 1024.0).to_string()
}

/// Returns the median at a point, in bytes per second.
fn throughput(
    phase: &SweptPhase,
    contender: usize,
    analysis: &Analysis,
    size: u64,
    block: u64,
) -> Option<f64> {
    let at =
        |axis: SweepAxis, value: u64| move |p: &&stats::SweptRow| p.at.get(&axis) == Some(&value);
    let mut points = phase.points.iter().filter(at(SweepAxis::Size, size));
    let point = points.find(at(SweepAxis::Block, block))?;
    let result = &analysis.rows[point.row].results[contender];
    Some(result.estimate?.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    /// Title, record sizes, and the rates for each file size, as a spreadsheet imports them.
    type Block = (String, Vec<f64>, Vec<(f64, Vec<f64>)>);

    /// Parses the format.
    fn parse(text: &str) -> Vec<Block> {
        let numbers = |line: &str| -> Vec<f64> {
            let words = line.split_whitespace().map(|w| w.trim_matches('"'));
            words.map(|word| word.parse().unwrap()).collect()
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if !line.ends_with(" report\"") {
                continue;
            }
            let mut block =
                (line.trim_matches('"').to_owned(), numbers(lines.next().unwrap()), Vec::new());
            while let Some(line) = lines.next_if(|l| l.starts_with('"') && !l.ends_with('"')) {
                let row = numbers(line);
                block.2.push((row[0], row[1..].to_vec()));
            }
            blocks.push(block);
        }
        blocks
    }

    #[test]
    fn a_grid_in_full() {
        let results = fixture::swept();
        insta::assert_snapshot!(render(&results, &analyse(&results)));
    }

    #[test]
    fn every_point_has_the_value_of_its_result() {
        let results = fixture::swept();
        let analysis = analyse(&results);
        let blocks = parse(&render(&results, &analysis));
        let grid = &analysis.sweeps[0];
        assert_eq!(blocks.len(), grid.phases.len() * analysis.contenders.len());
        let mut checked = 0;
        for (index, (_, records, lines)) in blocks.iter().enumerate() {
            let phase = &grid.phases[index % grid.phases.len()];
            let contender = index / grid.phases.len();
            for point in &phase.points {
                let result = &analysis.rows[point.row].results[contender];
                let Some(estimate) = result.estimate else {
                    continue;
                };
                let kilobytes = |axis| point.at[&axis] as f64 / 1024.0;
                let line = lines.iter().find(|(s, _)| *s == kilobytes(SweepAxis::Size)).unwrap();
                let column =
                    records.iter().position(|r| *r == kilobytes(SweepAxis::Block)).unwrap();
                assert!((line.1[column] - estimate.median / 1024.0).abs() <= 0.5);
                checked += 1;
            }
        }
        assert!(checked > 8, "{checked}");
    }

    /// Splits a line as a spreadsheet does: at blanks, commas and semicolons outside quotes.
    fn cells(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        let cells = parts.flat_map(|(i, part)| match i % 2 {
            0 => part.split([' ', ',', ';', '\t']).collect(),
            _ => vec![part],
        });
        cells.map(str::to_owned).collect()
    }

    #[test]
    fn no_name_is_a_formula() {
        const FORMULA: &str = "=1+1,=2+2;\t=3 \" =4";
        let mut results = fixture::swept();
        let old = std::mem::replace(&mut results.campaign.contenders[0].name, FORMULA.into());
        for stored in &mut results.cells {
            if stored.cell.contender == old {
                stored.cell.contender = FORMULA.into();
            }
        }
        let analysis = analyse(&results);
        let mut analysis_of_hostile = analysis.clone();
        for sweep in &mut analysis_of_hostile.sweeps {
            sweep.name = FORMULA.into();
            for phase in &mut sweep.phases {
                phase.phase = FORMULA.into();
            }
        }
        for analysis in [analysis, analysis_of_hostile] {
            for line in render(&results, &analysis).lines() {
                for cell in cells(line) {
                    assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell} of {line}");
                }
            }
        }
    }

    #[test]
    fn reports_a_campaign_without_an_iozone_grid() {
        let results = fixture::plain();
        assert!(render(&results, &analyse(&results)).starts_with("No test"));
    }

    #[test]
    fn the_operations_of_the_suite_have_iozones_names() {
        let suite = include_str!("../../../../catalog/suites/iozone.toml");
        for (phase, _) in REPORTS {
            assert!(suite.contains(&format!("\nname = \"{phase}\"\n")), "{phase}");
        }
    }
}
