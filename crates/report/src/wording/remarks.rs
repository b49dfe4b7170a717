//! How far the results can be trusted, in sentences that every report for people has. Words only; everything is decided in
//! the analysis.

use analyse::{
    Analysis, CellFailure, Crossover, Drift, KeptStates, MetricResult, NoiseFloor, Ranking,
    RoundOutcome, RoundValue, Row, Stop, StopReason,
};
use model::{Clock, Disturbance, Nanos, Status};

use crate::wording::answers::{listed, parts};
use crate::wording::text::clean;
use crate::wording::unlike::unlike;
use crate::wording::words::{self, counted};

/// A crossover that takes more of the weight than this is no news.
const LARGEST_SHARE: f64 = 0.9;
/// The most contenders that a sentence names.
const MOST_NAMES: usize = 3;
/// Sentences about single rows, of one kind, at most.
const EXAMPLES: usize = 5;

/// What several disks are worth that are none.
const IMAGES: &str = "All disks are images on one disk of this machine: a curve over their number shows what spreading costs, and more \
                      of them get no faster than that disk is.";

/// How far the results can be trusted, a sentence each.
pub(crate) fn remarks(analysis: &Analysis) -> Vec<String> {
    let name = |contender: usize| clean(&analysis.contenders[contender]);
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
    remarks.extend(analysis.ageing.kept.map(kept));
    remarks.extend(disturbed(analysis));
    remarks.extend(analysis.stop.as_ref().map(|s| stop(s, analysis)));
    remarks.extend(analysis.budget.map(|time| budget(time, analysis)));
    remarks
}

/// What the rounds of a campaign stand for.
fn what_rounds_are(analysis: &Analysis) -> Option<String> {
    if analysis.clock != Clock::Virtual {
        return None;
    }
    let results = analysis.rows.iter().flat_map(|row| &row.results);
    let several: Vec<_> = results
        .filter_map(|r| r.estimate)
        .filter(|e| e.rounds > 1)
        .collect();
    let same = several.iter().filter(|e| e.variation == Some(0.0)).count();
    let same = match same {
        0 => String::new(),
        some => format!(
            " {some} of {} are the same in each round: seeds decide nothing of them, and one round would do.",
            counted(several.len() as u64, "result")
        ),
    };
    Some(format!(
        "In virtual time nothing is noise: what varies between rounds is what their seeds decide.{same}"
    ))
}

/// Phases that have no part in scores, with the reasons.
pub(crate) fn withheld(analysis: &Analysis) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let primary = analysis.rows.iter().filter(|row| row.primary);
    for (row, reason) in primary.filter_map(|row| Some((row, row.withheld.as_deref()?))) {
        let phase = format!("{}/{}", clean(&row.test), clean(&row.phase));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, phases)) => phases.push(phase),
            None => reasons.push((reason, vec![phase])),
        }
    }
    let each = reasons
        .iter()
        .map(|(reason, phases)| format!("{}, because {}", listed(phases, "and"), clean(reason)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "Not counted in virtual time: {} (docs/virtual-time.md).",
            each.join("; ")
        )
    })
}

/// Phases in which nobody is ranked, since the fastest have no number.
fn too_fast(analysis: &Analysis) -> Option<String> {
    let rows = analysis.rows.iter();
    let rows = rows.filter(|row| row.primary && row.ranking == Ranking::TooFast);
    let found: Vec<String> = rows
        .map(|row| format!("{}/{}", clean(&row.test), clean(&row.phase)))
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "Not ranked, since who ended too soon to be timed has no number: {}.",
            some_of(&found)
        )
    })
}

/// Where the order depends on the weights, in one sentence; where contenders are on several disks, in one for each.
fn crossovers(analysis: &Analysis) -> impl Iterator<Item = String> {
    let parts = parts(analysis).into_iter();
    parts.filter_map(|(disk, part)| crossover(disk, part))
}

fn crossover(disk: Option<&str>, analysis: &Analysis) -> Option<String> {
    let name = |contender: usize| clean(&analysis.contenders[contender]);
    let crossovers = analysis.overall.crossovers.iter();
    let told: Vec<&Crossover> = crossovers.filter(|c| c.share <= LARGEST_SHARE).collect();
    let first = told.first()?;
    let each = told.iter().map(|crossover| {
        format!(
            "{} where “{}” has more than {:.0} % of the weight",
            name(crossover.to),
            crossover.group.title(),
            100.0 * crossover.share
        )
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "{} depends on the weights: {} leads where all groups weigh the same, {}.",
        disk.map_or_else(|| "It".to_owned(), |disk| format!("On {}, it", clean(disk))),
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
        words::percent(noise.typical),
        words::percent(noise.largest)
    )
}

/// Whose cells were not ok, the most first; what a filesystem cannot do is counted for itself.
fn failures(analysis: &Analysis) -> Option<String> {
    let (cannot, failed): (Vec<&CellFailure>, Vec<&CellFailure>) = analysis
        .failures
        .iter()
        .partition(|f| f.status == Status::Unsupported);
    let also = match cannot.len() {
        0 => String::new(),
        some => format!(
            "; in {} something is unsupported",
            counted(some as u64, "cell")
        ),
    };
    if analysis.counts.run == 0 {
        return Some("No cell has run yet: `fsarena resume` goes on where it began.".to_owned());
    }
    let run = counted(analysis.counts.run, "cell");
    if failed.is_empty() {
        return Some(format!("Of {run} that ran none failed{also}."));
    }
    let of = |contender: &String| failed.iter().filter(|f| f.contender == *contender).count();
    let mut who: Vec<(&String, usize)> = analysis.contenders.iter().map(|c| (c, of(c))).collect();
    who.retain(|(_, count)| *count > 0);
    who.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = who
        .iter()
        .take(MOST_NAMES)
        .map(|(contender, count)| format!("{count} of {}", clean(contender)))
        .collect();
    let rest: usize = who.iter().skip(MOST_NAMES).map(|(_, count)| count).sum();
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

/// How many results vary much between rounds.
fn unsteady(analysis: &Analysis) -> Option<String> {
    let primaries = analysis.rows.iter().filter(|row| row.primary);
    let estimates = primaries.flat_map(|row| row.results.iter().filter_map(|f| f.estimate));
    let estimates: Vec<_> = estimates.filter(|e| e.rounds > 1).collect();
    let unsteady = estimates.iter().filter(|e| e.unsteady()).count();
    (unsteady > 0).then(|| {
        format!(
            "{unsteady} of {} vary by more than {:.0} % between rounds and carry a ~.",
            counted(estimates.len() as u64, "result"),
            analyse::UNSTEADY_ABOVE
        )
    })
}

fn drift(drift: &Drift, name: &impl Fn(usize) -> String) -> String {
    let who = drift
        .contender
        .map_or_else(|| "everybody together".to_owned(), name);
    let (change, word) = match drift.change {
        change if change >= 1.0 => (change - 1.0, "worse"),
        change => (1.0 - change, "better"),
    };
    format!(
        "Drift: {who} got {word} by {} from the first to the last of {} ({}).",
        words::percent(change),
        counted(drift.rounds, "round"),
        match drift.p_corrected {
            p if p < 0.001 => "p < 0.001".to_owned(),
            p => format!("p = {p:.3}"),
        }
    )
}

/// Outliers among the results of primary metrics.
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
                    clean(&result.contender),
                    clean(&row.test),
                    clean(&row.phase),
                    rounds.join(", ")
                ));
            }
        }
    }
    (!found.is_empty())
        .then(|| format!("Outliers, far off their other rounds: {}.", some_of(&found)))
}

/// Who is fast because what it calls durable is not.
fn unflushed(analysis: &Analysis) -> Option<String> {
    let found = analysis.unflushed.iter();
    let found = found.map(|u| {
        format!(
            "{} ({})",
            clean(&u.contender),
            counted(u.operations, "synced write")
        )
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

/// Results that say less of the page cache than their name.
fn warm_reads(analysis: &Analysis) -> Option<String> {
    let found = analysis.warm_reads.iter().map(|read| {
        format!(
            "{}: {}, {} (up to {}, in {})",
            clean(&read.contender),
            clean(&read.test),
            clean(&read.phase),
            read.bytes,
            counted(read.rounds.len() as u64, "round")
        )
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| {
        format!(
            "To be served from memory, and read from the device all the same: {}.",
            some_of(&found)
        )
    })
}

/// Cells that were not aged themselves.
fn kept(states: KeptStates) -> String {
    format!(
        "{} began with an aged state out of {} (`fsarena list aged`), and not with one of its own: what chance does in ageing is \
         the same in all that have the same image, of other campaigns, too.",
        counted(states.cells, "cell"),
        counted(states.images, "kept image"),
    )
}

/// Cells whose times say less because the machine did something else.
fn disturbed(analysis: &Analysis) -> Option<String> {
    let cells = &analysis.disturbed;
    let again = cells.iter().filter(|cell| cell.first.is_some()).count();
    let still = cells.iter().filter_map(|cell| {
        let (contender, test) = (clean(&cell.contender), clean(&cell.test));
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
        counted(cells.len() as u64, "cell"),
        Disturbance::OTHERS_BELOW,
        Disturbance::STOLEN_BELOW,
    );
    if again > 0 {
        text += &format!("; {again} of them ran again, and that counts");
    }
    if !still.is_empty() {
        text += &format!(". Not run again, or disturbed again: {}", some_of(&still));
    }
    Some(text + ".")
}

/// How often cells ran within a budget, why no more, and what did not run at all.
fn budget(budget: Nanos, analysis: &Analysis) -> String {
    let ran = |result: &MetricResult| {
        let has_run = |round: &&RoundValue| {
            !matches!(
                round.outcome,
                RoundOutcome::NotNeeded | RoundOutcome::NotRun
            )
        };
        result.rounds.iter().filter(has_run).count()
    };
    let (begun, left_out): (Vec<&Row>, Vec<&Row>) = analysis
        .rows
        .iter()
        .partition(|row| row.results.iter().any(|result| ran(result) > 0));
    let rounds = begun.iter().flat_map(|row| row.results.iter().map(ran));
    let (least, most) = rounds.fold((usize::MAX, 0), |(least, most), rounds| {
        (least.min(rounds), most.max(rounds))
    });
    let why = match analysis.open().is_empty() && left_out.is_empty() {
        true => "every answer was settled as far as more rounds could settle it",
        false => "then the time was over; what is open needs more of it",
    };
    let mut tests: Vec<String> = left_out.iter().map(|row| clean(&row.test)).collect();
    tests.dedup();
    let left_out = match &tests[..] {
        [] => String::new(),
        [test] => format!(" {test} was left out, as it did not fit."),
        tests => format!(
            " {} were left out, as they did not fit.",
            listed(tests, "and")
        ),
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
            format!("tests ran {least} to {most} times, most often where an answer was open")
        }
    };
    format!("Within the budget of {budget} {rounds}: {why}.{left_out}")
}

fn stop(stop: &Stop, analysis: &Analysis) -> String {
    let width = words::percent(stop.until.width);
    let narrow = stop.counted as usize - stop.wide.len();
    let why = match stop.reason {
        StopReason::Narrow => "that was asked for, so it stopped".to_owned(),
        StopReason::MostRounds => "it stopped as there were to be no more".to_owned(),
        StopReason::MostTime => "it stopped as its time was over".to_owned(),
        StopReason::Running => "its cells have not all run yet".to_owned(),
        StopReason::Wide => "more are to be run".to_owned(),
    };
    let mut text = format!(
        "After {} {narrow} of {} results are known to ±{width}: {why}.",
        counted(stop.rounds, "round"),
        stop.counted
    );
    let wide: Vec<String> = stop
        .wide
        .iter()
        .map(|wide| {
            let row = &analysis.rows[wide.row];
            let width = wide.width.map_or_else(
                || "fewer than six rounds".to_owned(),
                |width| format!("±{}", words::percent(width)),
            );
            let who = clean(&analysis.contenders[wide.contender]);
            format!(
                "{who}: {}, {} ({width})",
                clean(&row.test),
                clean(&row.phase)
            )
        })
        .collect();
    if !wide.is_empty() {
        text += &format!(" Still wide: {}.", some_of(&wide));
    }
    text
}

/// The first of them, and how many more there are.
fn some_of(all: &[String]) -> String {
    let shown = all[..all.len().min(EXAMPLES)].join("; ");
    match all.len().saturating_sub(EXAMPLES) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
