//! Notes on the reliability of the results, common to all human-readable reports. Each is a value
//! with one text; all decisions are made by the analysis.

use std::collections::BTreeSet;
use std::fmt;

use model::{Clock, HostNoise, HostSetting, Nanos, Status};
use stats::{
    Analysis, CellFailure, Completeness, Drift, MetricResult, NoiseFloor, RankingState, ResultRow,
    ReusedImages, RoundOutcome, RoundValue, StopDecision, StopReason,
};

use crate::text::asymmetries::{Asymmetry, asymmetries};
use crate::text::conclusions::{listed, names, split_by_disk};
use crate::text::labels::{self, pluralize};
use crate::text::sanitize::sanitize_line;

/// Maximum share of the weight at which a crossover is reported.
const MAX_SHARE: f64 = 0.9;
/// Maximum number of contenders named in a sentence.
const MAX_NAMES: usize = 3;
/// Maximum number of sentences of one kind about single rows.
const EXAMPLES: usize = 5;

/// A reason for caution. Its text is in [`fmt::Display`]; names in it are sanitized.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Caveat {
    /// In virtual time, rounds differ only because of their seeds: results that are the same in
    /// each round, and all results.
    SeedsOnly { same: usize, results: usize },
    /// Phases without scores in virtual time, by reason.
    Withheld(Vec<(String, Vec<String>)>),
    /// Phases without ranking, because the fastest contenders have no number.
    TooFast(Vec<String>),
    /// No cell has run.
    NothingRan,
    /// Contenders with failed cells, most failures first; number of contenders that do not support a
    /// test.
    Failures { failed: Vec<(String, usize)>, lacking: usize, run: u32 },
    /// Contenders that are fast because their durable writes are not durable.
    NotDurable(Vec<String>),
    /// Results that vary much between rounds.
    Unsteady { unsteady: usize, results: usize },
    /// Contenders that differ in more than their filesystem.
    Unlike(Asymmetry),
    /// Several simulated disks are images on one physical disk.
    Images,
    /// A circumstance of the storage of directories, with its value: one filesystem for several,
    /// layers such as compression.
    Storage(String, String),
    /// The order depends on the weights: the leader at equal weights, and the leader above a share
    /// of the weight of a group.
    Weights { disk: Option<String>, leader: String, others: Vec<(String, &'static str, f64)> },
    /// Differences between two equal contenders.
    Noise { names: [String; 2], floor: NoiseFloor },
    /// Change over the rounds, of one contender or of all.
    Drift { contender: Option<String>, drift: Drift },
    /// Rounds far off the others.
    Outliers(Vec<String>),
    /// Results that measure the page cache less than their name suggests.
    WarmReads(Vec<String>),
    /// Contenders that compress, if the tests write only data that does not compress.
    RandomData(Vec<String>),
    /// Phases whose commands did not set attributes that a filesystem lacks.
    Unset(Vec<String>),
    /// Cells that started with a stored aged state.
    ReusedImages(ReusedImages),
    /// Cells whose times are less reliable because the machine was busy: all, those that ran again,
    /// and those that did not or were disturbed again, of all that ran.
    Disturbed { cells: usize, again: usize, still: Vec<String>, ran: u32 },
    /// Why a campaign added no more rounds, and the results that are still wide.
    Stopped { stop: StopDecision, wide: Vec<String> },
    /// Runs of each test within a budget, whether all is settled, and the tests that did not run.
    Budget { budget: Nanos, runs: String, settled: bool, left_out: Vec<String> },
    /// Cells that did not run, and whether they may not fit a budget.
    Unfinished { left: u32, cells: u32, budget: Option<Nanos> },
    /// A contender whose syncs never reach the disk.
    LessWork(String),
}

impl Caveat {
    /// Returns the caveat about an unfinished campaign.
    pub fn unfinished(analysis: &Analysis) -> Option<Self> {
        let counts = &analysis.counts;
        let (left, cells) = (counts.cells - counts.run, counts.cells);
        (counts.completeness == Completeness::Incomplete).then_some(Self::Unfinished {
            left,
            cells,
            budget: analysis.budget,
        })
    }

    /// Returns the caveat about other processes, if they were busy in more than a tenth of the cells.
    pub fn busy(analysis: &Analysis) -> Option<Self> {
        disturbed(analysis).filter(Self::is_busy)
    }

    /// Whether other processes were busy in more than a tenth of the cells.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Disturbed { cells, ran, .. } if *cells * 10 > *ran as usize)
    }

    /// Returns the caveat about phases without scores.
    pub fn withheld(analysis: &Analysis) -> Option<Self> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        let primary = analysis.rows.iter().filter(|row| row.primary);
        for (row, reason) in primary.filter_map(|row| Some((row, row.withheld.as_deref()?))) {
            let reason = sanitize_line(reason);
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, phases)) => phases.push(phase(row)),
                None => reasons.push((reason, vec![phase(row)])),
            }
        }
        (!reasons.is_empty()).then_some(Self::Withheld(reasons))
    }
}

/// Returns the caveat about a contender that does less work than a phase requires.
#[must_use]
pub fn less_work(contender: &str) -> String {
    Caveat::LessWork(sanitize_line(contender)).to_string()
}

/// Returns notes on the reliability of the results.
pub(crate) fn caveats(analysis: &Analysis) -> Vec<Caveat> {
    let name = |contender: usize| sanitize_line(&analysis.contenders[contender]);
    let noise = |floor: &NoiseFloor| Caveat::Noise {
        names: [floor.a, floor.b].map(name),
        floor: floor.clone(),
    };
    let drift =
        |drift: &Drift| Caveat::Drift { contender: drift.contender.map(name), drift: *drift };
    let mut caveats: Vec<Caveat> = Vec::new();
    caveats.extend(seeds_only(analysis));
    caveats.extend(Caveat::withheld(analysis));
    caveats.extend(some(too_fast(analysis), Caveat::TooFast));
    caveats.push(failures(analysis));
    caveats.extend(some(unflushed(analysis), Caveat::NotDurable));
    caveats.extend(unsteady(analysis));
    caveats.extend(asymmetries(analysis).map(Caveat::Unlike));
    caveats.extend(analysis.disks_are_images.then_some(Caveat::Images));
    let storage = analysis.circumstances.iter();
    caveats
        .extend(storage.map(|c| Caveat::Storage(sanitize_line(&c.name), sanitize_line(&c.value))));
    caveats.extend(split_by_disk(analysis).into_iter().filter_map(|(on, part)| weights(on, part)));
    caveats.extend(analysis.noise.iter().map(noise));
    caveats.extend(analysis.drifts.iter().filter(|drift| drift.is_named()).map(drift));
    caveats.extend(some(outliers(analysis), Caveat::Outliers));
    caveats.extend(some(warm_reads(analysis), Caveat::WarmReads));
    let idle = analysis.idle_compression.iter().map(|name| sanitize_line(name)).collect();
    caveats.extend(some(idle, Caveat::RandomData));
    caveats.extend(some(unset(analysis), Caveat::Unset));
    caveats.extend(analysis.ageing.reused_images.map(Caveat::ReusedImages));
    caveats.extend(disturbed(analysis));
    caveats.extend(analysis.stop.as_ref().map(|stop| stopped(stop, analysis)));
    caveats.extend(analysis.budget.map(|time| budget(time, analysis)));
    caveats
}

/// Returns a caveat about examples, if there are any.
fn some(examples: Vec<String>, caveat: fn(Vec<String>) -> Caveat) -> Option<Caveat> {
    (!examples.is_empty()).then(|| caveat(examples))
}

fn phase(row: &ResultRow) -> String {
    format!("{}/{}", sanitize_line(&row.test), sanitize_line(&row.phase))
}

fn seeds_only(analysis: &Analysis) -> Option<Caveat> {
    let results = analysis.rows.iter().flat_map(|row| &row.results);
    let several: Vec<_> = results.filter_map(|r| r.estimate).filter(|e| e.rounds > 1).collect();
    let same = several.iter().filter(|e| e.variation == Some(0.0)).count();
    let caveat = Caveat::SeedsOnly { same, results: several.len() };
    (analysis.clock == Clock::Virtual).then_some(caveat)
}

fn too_fast(analysis: &Analysis) -> Vec<String> {
    let rows = analysis.rows.iter();
    rows.filter(|row| row.primary && row.ranking == RankingState::TooFast).map(phase).collect()
}

fn weights(disk: Option<&str>, analysis: &Analysis) -> Option<Caveat> {
    let name = |contender: usize| sanitize_line(&analysis.contenders[contender]);
    let crossovers = analysis.overall.crossovers.iter().filter(|c| c.share <= MAX_SHARE);
    let leader = name(crossovers.clone().next()?.from);
    let others = crossovers.map(|c| (name(c.leader_above), c.group.title(), c.share)).collect();
    Some(Caveat::Weights { disk: disk.map(sanitize_line), leader, others })
}

/// Returns the number of contenders that do not support a test.
pub(crate) fn lacking(analysis: &Analysis) -> usize {
    let cannot = analysis.failures.iter().filter(|f| f.status == Status::Unsupported);
    cannot.map(|failure| &failure.contender).collect::<BTreeSet<_>>().len()
}

/// Formats the number of contenders that do not support a test, for the end of a sentence.
pub(crate) fn lacking_text(lacking: usize) -> String {
    match lacking {
        0 => String::new(),
        1 => "; 1 filesystem does not support some tests".to_owned(),
        several => format!("; {several} filesystems do not support some tests"),
    }
}

fn failures(analysis: &Analysis) -> Caveat {
    if analysis.counts.run == 0 {
        return Caveat::NothingRan;
    }
    let failed = analysis.failures.iter().filter(|f| f.status != Status::Unsupported);
    let failed: Vec<&CellFailure> = failed.collect();
    let of = |contender: &String| failed.iter().filter(|f| f.contender == *contender).count();
    let who = names(&analysis.contenders).into_iter().zip(analysis.contenders.iter().map(of));
    let mut who: Vec<(String, usize)> = who.filter(|(_, count)| *count > 0).collect();
    who.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Caveat::Failures { failed: who, lacking: lacking(analysis), run: analysis.counts.run }
}

fn unsteady(analysis: &Analysis) -> Option<Caveat> {
    let primaries = analysis.rows.iter().filter(|row| row.primary);
    let estimates = primaries.flat_map(|row| row.results.iter().filter_map(|f| f.estimate));
    let estimates: Vec<_> = estimates.filter(|e| e.rounds > 1).collect();
    let unsteady = estimates.iter().filter(|e| e.is_unstable()).count();
    (unsteady > 0).then_some(Caveat::Unsteady { unsteady, results: estimates.len() })
}

fn outliers(analysis: &Analysis) -> Vec<String> {
    let mut found = Vec::new();
    for row in analysis.rows.iter().filter(|row| row.primary) {
        for result in &row.results {
            let rounds = result.outliers();
            if !rounds.is_empty() {
                let rounds: Vec<String> = rounds.iter().map(u32::to_string).collect();
                let noun = if rounds.len() == 1 { "round" } else { "rounds" };
                found.push(format!(
                    "{}: {}, {} ({noun} {})",
                    sanitize_line(&result.contender),
                    sanitize_line(&row.test),
                    sanitize_line(&row.phase),
                    rounds.join(", ")
                ));
            }
        }
    }
    found
}

fn unflushed(analysis: &Analysis) -> Vec<String> {
    let found = analysis.unflushed.iter().map(|u| {
        format!("{} ({})", sanitize_line(&u.contender), pluralize(u.operations, "synced write"))
    });
    found.collect()
}

fn warm_reads(analysis: &Analysis) -> Vec<String> {
    let found = analysis.warm_reads.iter().map(|read| {
        format!(
            "{}: {}, {} (up to {}, in {})",
            sanitize_line(&read.contender),
            sanitize_line(&read.test),
            sanitize_line(&read.phase),
            read.bytes,
            pluralize(read.rounds.len() as u64, "round")
        )
    });
    found.collect()
}

fn unset(analysis: &Analysis) -> Vec<String> {
    let found = analysis.unset_attributes.iter().map(|one| {
        format!(
            "{}: {}, {} ({}, first `{}`)",
            sanitize_line(&one.contender),
            sanitize_line(&one.test),
            sanitize_line(&one.phase),
            pluralize(one.unset.messages, "message"),
            sanitize_line(&one.unset.example)
        )
    });
    found.collect()
}

fn disturbed(analysis: &Analysis) -> Option<Caveat> {
    let cells = &analysis.disturbed;
    let again = cells.iter().filter(|cell| cell.first.is_some()).count();
    let still = cells.iter().filter_map(|cell| {
        let (contender, test) = (sanitize_line(&cell.contender), sanitize_line(&cell.test));
        let (round, what) = (cell.round, cell.disturbance?);
        Some(format!("{contender}: {test} (round {round}: {what})"))
    });
    let still = still.collect();
    let ran = analysis.counts.run;
    (!cells.is_empty()).then_some(Caveat::Disturbed { cells: cells.len(), again, still, ran })
}

/// Returns how often a result was measured.
fn runs(result: &MetricResult) -> usize {
    let has_run =
        |round: &&RoundValue| round.outcome.is_planned() && round.outcome != RoundOutcome::NotRun;
    result.rounds.iter().filter(has_run).count()
}

pub(crate) fn has_begun(row: &ResultRow) -> bool {
    row.results.iter().any(|result| runs(result) > 0)
}

/// Returns the least number of runs of a test that has begun, `None` if none has.
pub(crate) fn fewest_runs(analysis: &Analysis) -> Option<usize> {
    let begun = analysis.rows.iter().filter(|row| has_begun(row));
    begun.flat_map(|row| row.results.iter().map(runs)).filter(|runs| *runs > 0).min()
}

/// Returns how often tests ran: `once`, `3 times`, `1 to 35 times`.
pub(crate) fn runs_text(analysis: &Analysis) -> String {
    let begun = analysis.rows.iter().filter(|row| has_begun(row));
    let runs = begun.flat_map(|row| row.results.iter().map(runs));
    let (least, most) =
        runs.fold((usize::MAX, 0), |(least, most), runs| (least.min(runs), most.max(runs)));
    match (least.min(most), most) {
        (1, 1) => "once".to_owned(),
        (least, most) if least == most => format!("{most} times"),
        (least, most) => format!("{least} to {most} times"),
    }
}

fn budget(budget: Nanos, analysis: &Analysis) -> Caveat {
    let left_out: Vec<&ResultRow> = analysis.rows.iter().filter(|row| !has_begun(row)).collect();
    let settled = analysis.open_tests().is_empty() && left_out.is_empty();
    let mut left_out: Vec<String> = left_out.iter().map(|row| sanitize_line(&row.test)).collect();
    left_out.dedup();
    Caveat::Budget { budget, runs: runs_text(analysis), settled, left_out }
}

fn stopped(stop: &StopDecision, analysis: &Analysis) -> Caveat {
    let wide = stop.wide.iter().map(|wide| {
        let row = &analysis.rows[wide.row];
        let width = wide.width.map_or_else(
            || "fewer than six rounds".to_owned(),
            |width| format!("±{}", labels::percent(width)),
        );
        let who = sanitize_line(&analysis.contenders[wide.contender]);
        format!("{who}: {}, {} ({width})", sanitize_line(&row.test), sanitize_line(&row.phase))
    });
    Caveat::Stopped { wide: wide.collect(), stop: stop.clone() }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeedsOnly { same, results } => {
                f.write_str(
                    "In virtual time there is no noise: rounds differ only because of their seeds.",
                )?;
                match same {
                    0 => Ok(()),
                    same => write!(
                        f,
                        " {same} of {} are the same in each round: they do not depend on seeds, and one round is enough.",
                        pluralize(*results as u64, "result")
                    ),
                }
            }
            Self::Withheld(reasons) => {
                let each = reasons.iter();
                let each = each.map(|(why, phases)| format!("{}, because {why}", listed(phases, "and")));
                let each: Vec<String> = each.collect();
                write!(f, "Not counted in virtual time: {} (docs/virtual-time.md).", each.join("; "))
            }
            Self::TooFast(phases) => write!(
                f,
                "Not ranked, since a test that ends too soon to be timed has no number: {}.",
                some_of(phases)
            ),
            Self::NothingRan => f.write_str("No test has run yet: start with `fsarena resume`."),
            Self::Failures { failed, lacking, run } => failures_text(f, failed, *lacking, *run),
            Self::NotDurable(who) => write!(
                f,
                "{} never flushed the disk's cache: a power cut may take synced data. Results in durable writes, and in phases that end with such a sync, are shown and not ranked, and uses that need such writes rule it out.",
                some_of(who)
            ),
            Self::Unsteady { unsteady, results } => write!(
                f,
                "{unsteady} of {} vary by more than {:.0} % between rounds (marked ~).",
                pluralize(*results as u64, "result"),
                stats::UNSTEADY_ABOVE
            ),
            Self::Unlike(asymmetry) => asymmetry.fmt(f),
            Self::Images => f.write_str(
                "All disks are images on one disk of this machine: a curve over their number shows what spreading costs, and more \
                 of them get no faster than that disk is.",
            ),
            Self::Storage(name, value) => match name.as_str() {
                HostSetting::ONE_FILESYSTEM => write!(
                    f,
                    "On one filesystem: {value}. Differences between these directories are noise, or effects of their place on the disk."
                ),
                HostSetting::ONE_DEVICE => write!(
                    f,
                    "On one device: {value}. Their filesystems are at different places of it, and a disk is faster in some places than in others."
                ),
                layers => {
                    let of = layers.strip_prefix(HostSetting::LAYERS).unwrap_or_default();
                    write!(f, "Below{of}: {value}. Results include the cost and the caches of these layers.")
                }
            },
            Self::Weights { disk, leader, others } => {
                let on = disk.as_ref().map_or("It".to_owned(), |disk| format!("On {disk}, it"));
                let others = others.iter().map(|(name, group, share)| {
                    format!("{name} if “{group}” has more than {:.0} % of the weight", 100.0 * share)
                });
                let others: Vec<String> = others.collect();
                write!(
                    f,
                    "{on} depends on the weights: {leader} leads if all groups have the same weight. It costs more than {}.",
                    listed(&others, "and")
                )
            }
            Self::Noise { names: [a, b], floor } => write!(
                f,
                "Noise floor: {a} and {b} are the same; {} of {} results call one of them worse, and their medians differ by {} \
                 typically and by {} at most.",
                floor.called_different.len(),
                floor.compared,
                labels::percent(floor.typical),
                labels::percent(floor.largest)
            ),
            Self::Drift { contender, drift } => drift_text(f, contender.as_deref(), drift),
            Self::Outliers(found) => {
                write!(f, "Outliers, far off their other rounds: {}.", some_of(found))
            }
            Self::WarmReads(found) => write!(
                f,
                "To be served from memory, but read from the device: {}.",
                some_of(found)
            ),
            Self::RandomData(names) => write!(
                f,
                "{}: {} compress, but the tests write data that does not compress; `--data text` shows cost and gain.",
                some_of(names),
                if names.len() == 1 { "its options" } else { "their options" },
            ),
            Self::Unset(found) => write!(
                f,
                "Unpacked without owners, modes or times that the filesystem lacks: {}.",
                some_of(found)
            ),
            Self::ReusedImages(states) => write!(
                f,
                "{} began with an aged state out of {} (`fsarena list aged`) instead of ageing again: random effects of ageing are the same in all test runs with the same image, including those of other campaigns.",
                pluralize(states.cells, "test run"),
                pluralize(states.images, "kept image"),
            ),
            Self::Disturbed { cells, again, still, ran } => {
                write!(f, "The machine was busy during {cells} of {}", pluralize(*ran, "test run"))?;
                if *again > 0 {
                    write!(f, "; {again} of them ran again, and only the second run counts")?;
                }
                write!(
                    f,
                    ". Busy means more than {:.0} % of the processors, or {:.0} % taken by the host.",
                    HostNoise::OTHER_CPU_LIMIT_PERCENT,
                    HostNoise::STEAL_LIMIT_PERCENT,
                )?;
                match &still[..] {
                    [] => Ok(()),
                    still => write!(f, " Busy in the run that counts: {}.", some_of(still)),
                }
            }
            Self::Stopped { stop, wide } => stopped_text(f, stop, wide),
            Self::Budget { budget, runs, settled, left_out } => {
                budget_text(f, *budget, runs, *settled, left_out)
            }
            Self::Unfinished { left, cells, budget: Some(budget) } => write!(
                f,
                "{left} of {cells} test runs are missing: if the campaign has ended, they did not fit into its budget of {budget}."
            ),
            Self::Unfinished { left, cells, budget: None } => {
                write!(f, "This campaign is not finished: {left} of {cells} test runs are missing; `fsarena resume` runs them.")
            }
            Self::LessWork(name) => write!(
                f,
                "{name} does less work than requested: its syncs never reach the disk, and synced data is not durable."
            ),
        }
    }
}

fn failures_text(
    f: &mut fmt::Formatter<'_>,
    failed: &[(String, usize)],
    lacking: usize,
    run: u32,
) -> fmt::Result {
    let run = pluralize(run, "test run");
    let also = lacking_text(lacking);
    let also = also.strip_prefix("; ").map_or_else(String::new, |text| format!(" {text}."));
    if failed.is_empty() {
        return write!(f, "No failure in {run}.{also}");
    }
    let named = failed.iter().take(MAX_NAMES).map(|(name, count)| format!("{count} of {name}"));
    let named: Vec<String> = named.collect();
    let others = match failed.iter().skip(MAX_NAMES).map(|(_, count)| count).sum() {
        0 => String::new(),
        rest => format!(", {rest} of others"),
    };
    let all: usize = failed.iter().map(|(_, count)| count).sum();
    let were = if all == 1 { "was" } else { "were" };
    write!(f, "{all} of {run} {were} not ok: {}{others}.{also}", named.join(", "))
}

fn drift_text(f: &mut fmt::Formatter<'_>, who: Option<&str>, drift: &Drift) -> fmt::Result {
    let who = who.unwrap_or("all filesystems together");
    let (change, word) = match drift.change {
        change if change >= 1.0 => (change - 1.0, "worse"),
        change => (1.0 - change, "better"),
    };
    write!(
        f,
        "Drift: {who} got {word} by {} from the first to the last of {} ({}).",
        labels::percent(change),
        pluralize(drift.rounds, "round"),
        match drift.p_corrected {
            p if p < 0.001 => "p < 0.001".to_owned(),
            p => format!("p = {p:.3}"),
        }
    )
}

fn budget_text(
    f: &mut fmt::Formatter<'_>,
    budget: Nanos,
    runs: &str,
    settled: bool,
    left_out: &[String],
) -> fmt::Result {
    let why = match settled {
        true => "each answer is known within half the margin, or more rounds cannot narrow it",
        false => "then the time was over; narrower answers need more of it",
    };
    let tests = if left_out.is_empty() { "every test" } else { "every test that fit" };
    let most = if runs.contains(" to ") { ", most often if that narrowed answers" } else { "" };
    write!(f, "Within the budget of {budget} {tests} ran {runs}{most}: {why}.")?;
    match left_out {
        [] => Ok(()),
        [test] => write!(f, " {test} was excluded, as it did not fit."),
        tests => write!(f, " {} were excluded, as they did not fit.", listed(tests, "and")),
    }
}

fn stopped_text(f: &mut fmt::Formatter<'_>, stop: &StopDecision, wide: &[String]) -> fmt::Result {
    let width = labels::percent(stop.until.width);
    let narrow = stop.counted as usize - stop.wide.len();
    let why = match stop.reason {
        StopReason::IntervalsNarrow => "this precision was requested, so it stopped",
        StopReason::MaxRounds => "it stopped at the maximum number of rounds",
        StopReason::MaxTime => "it stopped as its time was over",
        StopReason::Running => "its tests have not all run yet",
        StopReason::IntervalsWide => "more rounds will run",
    };
    write!(
        f,
        "After {} {narrow} of {} results are known to ±{width}: {why}.",
        pluralize(stop.rounds, "round"),
        stop.counted
    )?;
    match wide {
        [] => Ok(()),
        wide => write!(f, " Still wide: {}.", some_of(wide)),
    }
}

/// Returns the first entries, and the number of further ones.
fn some_of(all: &[String]) -> String {
    let shown = all[..all.len().min(EXAMPLES)].join("; ");
    match all.len().saturating_sub(EXAMPLES) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

#[cfg(test)]
#[path = "caveats_tests.rs"]
mod tests;
