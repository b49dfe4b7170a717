//! Compares the engine with its peers without noise: instructions per operation, separately in
//! programs and in the kernel, counted in guests in virtual time. The same build gives the same
//! counts in every run, on every machine.
//!
//! Each side runs in two guests, the second with more operations. The difference excludes the boot,
//! program startup and the overhead around the timed part.

mod count;
mod functions;
mod guests;
mod list;
mod table;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use crate::comparison::{Goal, TargetVerdict};
use crate::table::replace_between;
use count::InstructionCost;
use guests::Guests;
use list::{InstructionComparison, Scale};

/// Markers around the generated part of the document.
const BEGIN: &str = "<!-- instructions: begin -->";
const END: &str = "<!-- instructions: end -->";

/// Options of the `instructions` command.
#[derive(Debug, Args)]
pub struct InstructionOptions {
    /// Run only comparisons with this name (or name@filesystem); may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print JSON instead of the table.
    #[arg(long)]
    json: bool,
    /// Write the table into this document, between its markers.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Run the smallest sizes that exercise all code.
    #[arg(long)]
    smoke: bool,
}

/// A row of the table: cost of an operation for the engine and a peer.
#[derive(Debug, Serialize)]
pub struct CostRow {
    /// The comparison.
    pub comparison: &'static str,
    /// The operation.
    pub title: String,
    /// The filesystem.
    pub filesystem: &'static str,
    /// The peer.
    pub peer: &'static str,
    /// Cost of an operation of the engine.
    pub ours: InstructionCost,
    /// Cost of an operation of the peer.
    pub theirs: InstructionCost,
    /// Required ratio of the instructions in programs, engine to peer.
    pub target: Option<Goal>,
    /// Result of the check against the target.
    pub verdict: Option<TargetVerdict>,
    /// Engine functions with the most instructions, in descending order.
    pub functions: Vec<(String, f64)>,
}

impl CostRow {
    /// Returns the ratio of instructions in programs, engine to peer.
    pub fn ratio(&self) -> f64 {
        self.ours.user / self.theirs.user
    }
}

/// Runs the selected comparisons and prints their results.
///
/// # Errors
/// Returns an error if QEMU, the agent or a compiler is missing, or if a side fails.
pub fn run(options: &InstructionOptions) -> anyhow::Result<()> {
    let comparisons = chosen(list::comparisons(), &options.only)?;
    let scale = match options.smoke {
        true => Scale::SMOKE,
        false => Scale::FULL,
    };
    let guests = Guests::prepare()?;
    let mut rows = Vec::new();
    for comparison in &comparisons {
        rows.extend(compare(comparison, scale, &guests)?);
    }
    show(&rows, options)
}

/// Returns the selected comparisons, or all if none is selected.
fn chosen(
    all: Vec<InstructionComparison>,
    only: &[String],
) -> anyhow::Result<Vec<InstructionComparison>> {
    let full = |c: &InstructionComparison| format!("{}@{}", c.name, c.filesystem);
    let is = |c: &InstructionComparison, name: &String| *name == c.name || *name == full(c);
    if let Some(unknown) = only.iter().find(|n| !all.iter().any(|c| is(c, n))) {
        let known: Vec<String> = all.iter().map(full).collect();
        anyhow::bail!("no comparison `{unknown}`; there are {}", known.join(", "));
    }
    let wanted = |c: &InstructionComparison| only.is_empty() || only.iter().any(|name| is(c, name));
    Ok(all.into_iter().filter(wanted).collect())
}

fn compare(
    comparison: &InstructionComparison,
    scale: Scale,
    guests: &Guests,
) -> anyhow::Result<Vec<CostRow>> {
    let operations = (comparison.operations)(scale);
    let mut costs = Vec::new();
    for side in &comparison.sides {
        let count = |operations: u64| {
            let (name, on) = (comparison.name, comparison.filesystem);
            eprintln!("{name} on {on}: {}, {operations} operations", side.name);
            guests.count(comparison.filesystem, side, operations)
        };
        let found = count::costs(&count(operations)?, &count(2 * operations)?, operations)?;
        let (there, wanted) = (found.len(), side.results.len());
        let name = side.name;
        anyhow::ensure!(there >= wanted, "{name} did {there} of {wanted} things");
        costs.push(found);
    }
    let cost_of = |(name, wanted): (&str, &[&str])| {
        let mut both = comparison.sides.iter().zip(&costs);
        let (side, costs) = both.find(|(side, _)| side.name == name)?;
        let of = |result: &&str| side.results.iter().position(|known| known == result);
        let parts: Option<Vec<usize>> = wanted.iter().map(of).collect();
        Some(count::sum(parts?.into_iter().map(|part| &costs[part])))
    };
    let missing = "the list names no such result";
    let row = |row: &list::InstructionRow| -> anyhow::Result<CostRow> {
        let ours = cost_of(row.ours).context(missing)?;
        let theirs = cost_of(row.peer).context(missing)?;
        let ratio = ours.user / theirs.user;
        Ok(CostRow {
            comparison: comparison.name,
            title: row.title.to_owned(),
            filesystem: comparison.filesystem,
            peer: row.peer.0,
            functions: functions::most(&ours, guests.agent())?,
            ours,
            theirs,
            target: row.target,
            verdict: row.target.map(|target| match target.is_met(ratio) {
                true => TargetVerdict::Met,
                false => TargetVerdict::Missed,
            }),
        })
    };
    comparison.rows.iter().map(row).collect()
}

fn show(rows: &[CostRow], options: &InstructionOptions) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(rows)?)?;
    } else {
        write!(out, "{}", table::terminal(rows))?;
    }
    if let Some(path) = &options.document {
        let read = fs::read_to_string(path);
        let document = read.with_context(|| format!("reading {}", path.display()))?;
        let document = replace_between(&document, BEGIN, END, |_| table::markdown(rows))?;
        fs::write(path, document)?;
    }
    Ok(())
}
