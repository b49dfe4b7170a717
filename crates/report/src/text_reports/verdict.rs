//! What the statistics say beyond single results: the overall view as a table, and sentences on how far the
//! results can be trusted. Words only; everything is decided in the analysis.

use analyse::{
    Analysis, Crossover, Drift, Estimate, NoiseFloor, Score, Stop, StopReason, rounds_needed,
};
use model::{CampaignResults, Clock, Disturbance, Unit};

use crate::Scale;
use crate::tables::overview::{Entry, LACKING, PhaseLine, TestBlock, Tone, sign_of};
use crate::tables::resources;
use crate::wording::text::clean;
use crate::wording::words::{self, counted};

/// A crossover that takes more of the weight than this is no news.
const LARGEST_SHARE: f64 = 0.9;
/// Sentences about single rows, of one kind, at most.
const EXAMPLES: usize = 5;

/// The overall view: a row for each group of tests, and the mean over all of them with its interval;
/// `None` where there is nobody to compare with.
pub(crate) fn overall<'a>(
    results: &'a CampaignResults,
    analysis: &Analysis,
) -> Option<TestBlock<'a>> {
    let overall = &analysis.overall;
    let first = results
        .campaign
        .suites
        .iter()
        .flat_map(|s| &s.tests)
        .next()?;
    if analysis.contenders.len() < 2 || overall.groups.is_empty() {
        return None;
    }
    let mut lines: Vec<PhaseLine<'_>> = overall
        .groups
        .iter()
        .map(|group| line(group.group.title().to_owned(), &group.scores, |e| e.median))
        .collect();
    if overall.groups.len() > 1 {
        let all = line("all groups".to_owned(), &overall.total, |e| e.median);
        lines.push(PhaseLine {
            rule: Some("all groups, each weighing the same".to_owned()),
            ..all
        });
    }
    lines.extend(interval_lines(&overall.total));
    Some(TestBlock {
        test: first,
        number: None,
        name: "overall".to_owned(),
        title: format!(
            "geometric means of ratios to the best, {}",
            words::replicates(analysis.clock, results.campaign.rounds)
        ),
        lines,
    })
}

/// The ends of the intervals of the last row, without signs.
fn interval_lines(scores: &[Score]) -> Vec<PhaseLine<'static>> {
    let confidences = scores
        .iter()
        .filter_map(|s| Some(s.ratio?.interval.confidence));
    let least = confidences.fold(f64::INFINITY, f64::min);
    if !least.is_finite() || least == 0.0 {
        return Vec::new();
    }
    let plain = |label: String, of: fn(&Estimate) -> f64| {
        let mut line = line(label, scores, of);
        for entry in &mut line.entries {
            entry.signs.clear();
            entry.tone = match entry.tone {
                Tone::Absent => Tone::Absent,
                _ => Tone::Plain,
            };
        }
        line
    };
    let percent = words::percent(least);
    vec![
        plain(format!("{percent} interval, from"), |e| e.interval.low),
        plain("to".to_owned(), |e| e.interval.high),
    ]
}

fn line(label: String, scores: &[Score], of: fn(&Estimate) -> f64) -> PhaseLine<'static> {
    let is_ordered = scores.iter().any(|s| s.place.is_some_and(|p| p.rank > 1));
    let scale = Scale::of(Unit::Ratio, []);
    let entry = |score: &Score| {
        let Some(ratio) = &score.ratio else {
            return Entry {
                text: "no result".to_owned(),
                signs: String::new(),
                tone: Tone::Absent,
            };
        };
        let (tone, sign) = sign_of(score.place.as_ref(), is_ordered);
        let lacking = (score.missing > 0).then_some(LACKING);
        Entry {
            text: scale.number(of(ratio)),
            signs: sign.into_iter().chain(lacking).collect(),
            tone,
        }
    };
    PhaseLine {
        row: None,
        label,
        rule: None,
        unit: format!("{} ↓", scale.symbol()),
        entries: scores.iter().map(entry).collect(),
    }
}

/// How far the results can be trusted, a sentence each.
pub(crate) fn remarks(results: &CampaignResults, analysis: &Analysis) -> Vec<String> {
    let name = |contender: usize| clean(&analysis.contenders[contender]);
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(how_significance_is_decided(results, analysis));
    remarks.extend(resources::unlike(analysis));
    let crossovers = analysis.overall.crossovers.iter();
    remarks.extend(
        crossovers
            .filter(|f| f.share <= LARGEST_SHARE)
            .map(|f| crossover(f, &name)),
    );
    remarks.extend(analysis.noise.iter().map(|n| noise(n, &name)));
    let named = analysis.drifts.iter().filter(|d| d.is_named());
    remarks.extend(named.map(|d| drift(d, &name)));
    remarks.extend(outliers(analysis));
    remarks.extend(warm_reads(analysis));
    remarks.extend(disturbed(analysis));
    remarks.extend(analysis.stop.as_ref().map(|s| stop(s, analysis)));
    remarks
}

/// By which rule contenders are significantly different, and what it would take to know more.
fn how_significance_is_decided(results: &CampaignResults, analysis: &Analysis) -> Option<String> {
    let contenders = analysis.contenders.len();
    if contenders < 2 {
        return None;
    }
    let rounds = results.campaign.rounds;
    let needed = rounds_needed(contenders * (contenders - 1) / 2);
    let of = match analysis.clock {
        Clock::Real => "",
        Clock::Virtual => {
            " In virtual time nothing is noise: what varies is what the seeds decide."
        }
    };
    Some(if rounds >= needed {
        format!(
            "Two contenders are significantly different where an exact test says so, at 5 % for each row, or \
             where their values hardly overlap; chance does either in at most one row of ten.{of}"
        )
    } else if analyse::expected_cuts(&vec![rounds; contenders]) <= analyse::FALSE_MARK_LIMIT {
        format!(
            "With {}, two contenders are significantly different where their values hardly overlap (chance \
             does that in at most one row of ten); an exact test of each pair at 5 % needs {needed}.{of}",
            counted(rounds, "round")
        )
    } else {
        let least = (rounds..needed)
            .find(|r| analyse::expected_cuts(&vec![*r; contenders]) <= analyse::FALSE_MARK_LIMIT)
            .unwrap_or(needed);
        format!(
            "Not enough rounds: {} cannot show any difference. {least} can, and an exact test of each pair at \
             5 % needs {needed}.{of}",
            counted(rounds, "round")
        )
    })
}

fn crossover(crossover: &Crossover, name: &impl Fn(usize) -> String) -> String {
    format!(
        "The order depends on the weights: {} leads where all groups weigh the same, {} once “{}” has more \
         than {:.0} % of the weight{}.",
        name(crossover.from),
        name(crossover.to),
        crossover.group.title(),
        100.0 * crossover.share,
        if crossover.sure {
            ""
        } else {
            " (by medians; the two are not significantly different there)"
        }
    )
}

fn noise(noise: &NoiseFloor, name: &impl Fn(usize) -> String) -> String {
    let tests = match noise.testable {
        0 => "too few rounds for a test".to_owned(),
        testable => format!(
            "the tests call them different in {} of {testable} results",
            noise.significant.len()
        ),
    };
    format!(
        "Noise floor: {} and {} are the same; {tests}, they have different ranks in {} of {}, and their \
         medians differ by {} typically and by {} at most.",
        name(noise.a),
        name(noise.b),
        noise.ranked_apart.len(),
        noise.compared,
        words::percent(noise.typical),
        words::percent(noise.largest)
    )
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
#[path = "verdict_tests.rs"]
mod tests;
