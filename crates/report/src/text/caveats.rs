//! Notes on the reliability of the results, common to all human-readable reports. Only the text is
//! made here; all decisions are made by the analysis.

use model::{Clock, HostNoise, Nanos, Status};
use stats::{
    Analysis, CellFailure, Crossover, Drift, MetricResult, NoiseFloor, RankingState, ResultRow,
    ReusedImages, RoundOutcome, RoundValue, StopDecision, StopReason,
};

use crate::text::asymmetries::unlike;
use crate::text::conclusions::{listed, split_by_disk};
use crate::text::labels::{self, pluralize};
use crate::text::sanitize::sanitize_line;

/// Maximum share of the weight at which a crossover is reported.
const MAX_SHARE: f64 = 0.9;
/// Maximum number of contenders named in a sentence.
const MAX_NAMES: usize = 3;
/// Maximum number of sentences of one kind about single rows.
const EXAMPLES: usize = 5;

/// Note on several simulated disks that are images on one physical disk.
const IMAGES: &str = "All disks are images on one disk of this machine: a curve over their number shows what spreading costs, and more \
                      of them get no faster than that disk is.";

/// Returns notes on the reliability of the results, one sentence each.
pub(crate) fn remarks(analysis: &Analysis) -> Vec<String> {
    let name = |contender: usize| sanitize_line(&analysis.contenders[contender]);
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(what_rounds_are(analysis));
    remarks.extend(withheld(analysis));
    remarks.extend(too_fast(analysis));
    remarks.extend(failures(analysis));
    remarks.extend(unflushed(analysis));
    remarks.extend(unsteady(analysis));
    remarks.extend(unlike(analysis));
    remarks.extend(analysis.disks_are_images.then(|| IMAGES.to_owned()));
    remarks.extend(crossovers(analysis));
    remarks.extend(analysis.noise.iter().map(|n| noise(n, &name)));
    let named = analysis.drifts.iter().filter(|d| d.is_named());
    remarks.extend(named.map(|d| drift(d, &name)));
    remarks.extend(outliers(analysis));
    remarks.extend(warm_reads(analysis));
    remarks.extend(analysis.ageing.reused_images.map(kept));
    remarks.extend(disturbed(analysis));
    remarks.extend(analysis.stop.as_ref().map(|s| stop(s, analysis)));
    remarks.extend(analysis.budget.map(|time| budget(time, analysis)));
    remarks
}

/// Returns a note on the meaning of the rounds of a campaign.
fn what_rounds_are(analysis: &Analysis) -> Option<String> {
    if analysis.clock != Clock::Virtual {
        return None;
    }
    let results = analysis.rows.iter().flat_map(|row| &row.results);
    let several: Vec<_> = results.filter_map(|r| r.estimate).filter(|e| e.rounds > 1).collect();
    let same = several.iter().filter(|e| e.variation == Some(0.0)).count();
    let same = match same {
        0 => String::new(),
        some => format!(
            " {some} of {} are the same in each round: they do not depend on seeds, and one round is enough.",
            pluralize(several.len() as u64, "result")
        ),
    };
    Some(format!(
        "In virtual time there is no noise: rounds differ only because of their seeds.{same}"
    ))
}

/// Lists the phases without scores, with the reasons.
pub(crate) fn withheld(analysis: &Analysis) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let primary = analysis.rows.iter().filter(|row| row.primary);
    for (row, reason) in primary.filter_map(|row| Some((row, row.withheld.as_deref()?))) {
        let phase = format!("{}/{}", sanitize_line(&row.test), sanitize_line(&row.phase));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, phases)) => phases.push(phase),
            None => reasons.push((reason, vec![phase])),
        }
    }
    let each = reasons.iter().map(|(reason, phases)| {
        format!("{}, because {}", listed(phases, "and"), sanitize_line(reason))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!("Not counted in virtual time: {} (docs/virtual-time.md).", each.join("; "))
    })
}

/// Returns the phases without ranking, because the fastest contenders have no number.
fn too_fast(analysis: &Analysis) -> Option<String> {
    let rows = analysis.rows.iter();
    let rows = rows.filter(|row| row.primary && row.ranking == RankingState::TooFast);
    let found: Vec<String> = rows
        .map(|row| format!("{}/{}", sanitize_line(&row.test), sanitize_line(&row.phase)))
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "Not ranked, since who ended too soon to be timed has no number: {}.",
            some_of(&found)
        )
    })
}

/// Describes how the order depends on the weights, in one sentence, or in one for each disk.
fn crossovers(analysis: &Analysis) -> impl Iterator<Item = String> {
    let parts = split_by_disk(analysis).into_iter();
    parts.filter_map(|(disk, part)| crossover(disk, part))
}

fn crossover(disk: Option<&str>, analysis: &Analysis) -> Option<String> {
    let name = |contender: usize| sanitize_line(&analysis.contenders[contender]);
    let crossovers = analysis.overall.crossovers.iter();
    let told: Vec<&Crossover> = crossovers.filter(|c| c.share <= MAX_SHARE).collect();
    let first = told.first()?;
    let each = told.iter().map(|crossover| {
        format!(
            "{} where “{}” has more than {:.0} % of the weight",
            name(crossover.leader_above),
            crossover.group.title(),
            100.0 * crossover.share
        )
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "{} depends on the weights: {} leads if all groups have the same weight, {}.",
        disk.map_or_else(|| "It".to_owned(), |disk| format!("On {}, it", sanitize_line(disk))),
        name(first.from),
        listed(&each, "and")
    ))
}

fn noise(noise: &NoiseFloor, name: &impl Fn(usize) -> String) -> String {
    format!(
        "Noise floor: {} and {} are the same; {} of {} results call one of them worse, and their medians differ by {} \
         typically and by {} at most.",
        name(noise.a),
        name(noise.b),
        noise.called_different.len(),
        noise.compared,
        labels::percent(noise.typical),
        labels::percent(noise.largest)
    )
}

/// Returns the contenders with failed cells, most failures first. Unsupported features are counted
/// separately.
fn failures(analysis: &Analysis) -> Option<String> {
    let (cannot, failed): (Vec<&CellFailure>, Vec<&CellFailure>) =
        analysis.failures.iter().partition(|f| f.status == Status::Unsupported);
    let also = match cannot.len() {
        0 => String::new(),
        some => format!("; {} with unsupported features", pluralize(some as u64, "cell")),
    };
    if analysis.counts.run == 0 {
        return Some("No cell has run yet: start with `fsarena resume`.".to_owned());
    }
    let run = pluralize(analysis.counts.run, "cell");
    if failed.is_empty() {
        return Some(format!("No failure in {run}{also}."));
    }
    let of = |contender: &String| failed.iter().filter(|f| f.contender == *contender).count();
    let mut who: Vec<(&String, usize)> = analysis.contenders.iter().map(|c| (c, of(c))).collect();
    who.retain(|(_, count)| *count > 0);
    who.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = who
        .iter()
        .take(MAX_NAMES)
        .map(|(contender, count)| format!("{count} of {}", sanitize_line(contender)))
        .collect();
    let rest: usize = who.iter().skip(MAX_NAMES).map(|(_, count)| count).sum();
    let others = match rest {
        0 => String::new(),
        rest => format!(", {rest} of others"),
    };
    Some(format!(
        "{} of {run} that ran {} not ok: {}{others}{also}.",
        failed.len(),
        if failed.len() == 1 { "was" } else { "were" },
        named.join(", ")
    ))
}

/// Returns the number of results that vary much between rounds.
fn unsteady(analysis: &Analysis) -> Option<String> {
    let primaries = analysis.rows.iter().filter(|row| row.primary);
    let estimates = primaries.flat_map(|row| row.results.iter().filter_map(|f| f.estimate));
    let estimates: Vec<_> = estimates.filter(|e| e.rounds > 1).collect();
    let unsteady = estimates.iter().filter(|e| e.is_unstable()).count();
    (unsteady > 0).then(|| {
        format!(
            "{unsteady} of {} vary by more than {:.0} % between rounds and carry a ~.",
            pluralize(estimates.len() as u64, "result"),
            stats::UNSTEADY_ABOVE
        )
    })
}

fn drift(drift: &Drift, name: &impl Fn(usize) -> String) -> String {
    let who = drift.contender.map_or_else(|| "everybody together".to_owned(), name);
    let (change, word) = match drift.change {
        change if change >= 1.0 => (change - 1.0, "worse"),
        change => (1.0 - change, "better"),
    };
    format!(
        "Drift: {who} got {word} by {} from the first to the last of {} ({}).",
        labels::percent(change),
        pluralize(drift.rounds, "round"),
        match drift.p_corrected {
            p if p < 0.001 => "p < 0.001".to_owned(),
            p => format!("p = {p:.3}"),
        }
    )
}

/// Lists outliers among the results of primary metrics.
fn outliers(analysis: &Analysis) -> Option<String> {
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
    (!found.is_empty())
        .then(|| format!("Outliers, far off their other rounds: {}.", some_of(&found)))
}

/// Returns the contenders that are fast because their durable writes are not durable.
fn unflushed(analysis: &Analysis) -> Option<String> {
    let found = analysis.unflushed.iter();
    let found = found.map(|u| {
        format!("{} ({})", sanitize_line(&u.contender), pluralize(u.operations, "synced write"))
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| {
        format!(
            "Not durable: the disk's cache was never flushed for {}, where others had it flushed: a loss of power may \
             take what was synced. Results in durable writes, and in phases that end with such a sync, are shown and not ranked, and uses that need such writes rule it out.",
            some_of(&found)
        )
    })
}

/// Lists results that measure the page cache less than their name suggests.
fn warm_reads(analysis: &Analysis) -> Option<String> {
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
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| {
        format!("To be served from memory, but read from the device: {}.", some_of(&found))
    })
}

/// Counts the cells that started with a stored aged state.
fn kept(states: ReusedImages) -> String {
    format!(
        "{} began with an aged state out of {} (`fsarena list aged`) instead of ageing again: random effects of ageing are the same in all cells with the same image, including those of other campaigns.",
        pluralize(states.cells, "cell"),
        pluralize(states.images, "kept image"),
    )
}

/// Lists cells whose times are less reliable because the machine was busy with other work.
fn disturbed(analysis: &Analysis) -> Option<String> {
    let cells = &analysis.disturbed;
    let again = cells.iter().filter(|cell| cell.first.is_some()).count();
    let still = cells.iter().filter_map(|cell| {
        let (contender, test) = (sanitize_line(&cell.contender), sanitize_line(&cell.test));
        let (round, what) = (cell.round, cell.disturbance?);
        Some(format!("{contender}: {test} (round {round}: {what})"))
    });
    let still: Vec<String> = still.collect();
    if cells.is_empty() {
        return None;
    }
    let mut text = format!(
        "Disturbed: while {} ran, other processes had more than {:.0} % of the processors, or the host took more \
         than {:.0} %",
        pluralize(cells.len() as u64, "cell"),
        HostNoise::OTHER_CPU_LIMIT_PERCENT,
        HostNoise::STEAL_LIMIT_PERCENT,
    );
    if again > 0 {
        text += &format!("; {again} of them ran again, and that counts");
    }
    if !still.is_empty() {
        text += &format!(". Not run again, or disturbed again: {}", some_of(&still));
    }
    Some(text + ".")
}

/// Returns how often cells ran within a budget, why they did not run more often, and the tests that
/// did not run at all.
fn budget(budget: Nanos, analysis: &Analysis) -> String {
    let ran = |result: &MetricResult| {
        let has_run = |round: &&RoundValue| {
            !matches!(round.outcome, RoundOutcome::NotNeeded | RoundOutcome::NotRun)
        };
        result.rounds.iter().filter(has_run).count()
    };
    let (begun, left_out): (Vec<&ResultRow>, Vec<&ResultRow>) =
        analysis.rows.iter().partition(|row| row.results.iter().any(|result| ran(result) > 0));
    let rounds = begun.iter().flat_map(|row| row.results.iter().map(ran));
    let (least, most) =
        rounds.fold((usize::MAX, 0), |(least, most), rounds| (least.min(rounds), most.max(rounds)));
    let why = match analysis.unresolved_pairs().is_empty() && left_out.is_empty() {
        true => "every answer that more rounds can settle is settled",
        false => "then the time was over; what is open needs more of it",
    };
    let mut tests: Vec<String> = left_out.iter().map(|row| sanitize_line(&row.test)).collect();
    tests.dedup();
    let left_out = match &tests[..] {
        [] => String::new(),
        [test] => format!(" {test} was excluded, as it did not fit."),
        tests => format!(" {} were excluded, as they did not fit.", listed(tests, "and")),
    };
    let tests_that_ran = match &left_out[..] {
        "" => "every test",
        _ => "every test that fit",
    };
    let rounds = match (least.min(most), most) {
        (least, most) if least == most => match least {
            1 => format!("{tests_that_ran} ran once"),
            least => format!("{tests_that_ran} ran {least} times"),
        },
        (least, most) => {
            format!("tests ran {least} to {most} times, most often for undecided answers")
        }
    };
    format!("Within the budget of {budget} {rounds}: {why}.{left_out}")
}

fn stop(stop: &StopDecision, analysis: &Analysis) -> String {
    let width = labels::percent(stop.until.width);
    let narrow = stop.counted as usize - stop.wide.len();
    let why = match stop.reason {
        StopReason::IntervalsNarrow => "this precision was requested, so it stopped".to_owned(),
        StopReason::MaxRounds => "it stopped at the maximum number of rounds".to_owned(),
        StopReason::MaxTime => "it stopped as its time was over".to_owned(),
        StopReason::Running => "its cells have not all run yet".to_owned(),
        StopReason::IntervalsWide => "more rounds will run".to_owned(),
    };
    let mut text = format!(
        "After {} {narrow} of {} results are known to ±{width}: {why}.",
        pluralize(stop.rounds, "round"),
        stop.counted
    );
    let wide: Vec<String> = stop
        .wide
        .iter()
        .map(|wide| {
            let row = &analysis.rows[wide.row];
            let width = wide.width.map_or_else(
                || "fewer than six rounds".to_owned(),
                |width| format!("±{}", labels::percent(width)),
            );
            let who = sanitize_line(&analysis.contenders[wide.contender]);
            format!("{who}: {}, {} ({width})", sanitize_line(&row.test), sanitize_line(&row.phase))
        })
        .collect();
    if !wide.is_empty() {
        text += &format!(" Still wide: {}.", some_of(&wide));
    }
    text
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
