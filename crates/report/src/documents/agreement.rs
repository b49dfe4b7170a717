//! Agreement of two campaigns on the order of contenders: one sentence, a table of groups and one
//! of phases, and every pair with opposite results.

use stats::{Agreement, Disagreement, DisagreementCause, PairAgreement, PhaseAgreement};

use crate::document::{Block, Document, Table};
use crate::documents::compare::{SETTING, SideLabels, settings};
use crate::text::conclusions::listed;
use crate::text::labels::{percent, pluralize};
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Maximum number of pairs that are named.
const MAX_PAIRS: usize = 25;
/// Text of an unknown value.
const NONE: &str = "–";

/// Returns the agreement as a document.
pub fn agreement_report(found: &Agreement, sides: SideLabels<'_>) -> Document {
    let mut document = Document::default();
    document.paragraph(verdict(found, sides));
    document.section(SETTING, [settings(&found.settings, [sides.before, sides.after])]);
    let legend = Block::Note(LEGEND.to_owned());
    document.section("Groups of tests", [Block::Table(groups(found)), legend]);
    document.section("Phases", [Block::Table(phases(found))]);
    disagreements(found, sides, &mut document);
    document.list("Not compared", excluded(found));
    document
}

const LEGEND: &str = "Different: pairs with a difference of more than the margin in both. Tau-b: rank correlation over all pairs within a phase; 1 if all orders are the same. Ratio of ratios: difference of a pair in the first as a multiple of that in the second; the median, and the range of the middle half.";

/// Returns the summary of the agreement.
fn verdict(found: &Agreement, sides: SideLabels<'_>) -> String {
    let all = &found.all;
    let mut text = match all.share() {
        None => format!(
            "No pair of contenders is called different by both {} and {}.",
            sanitize_line(sides.before),
            sanitize_line(sides.after)
        ),
        Some(share) => format!(
            "Both order {} of {} alike ({}), of those that {} and {} both call different; tau-b over all {} is {}.",
            all.same_order,
            pluralize(all.both_different, "pair"),
            percent(share),
            sanitize_line(sides.before),
            sanitize_line(sides.after),
            pluralize(all.pairs, "pair"),
            tau(all)
        ),
    };
    let withheld = found.phases.iter().filter(|p| p.withheld.is_some());
    let (withheld, counted_pairs) = (withheld.count(), &found.counted);
    if let (1.., Some(share)) = (withheld, counted_pairs.share()) {
        text += &format!(
            " Without {} that {} not counted in virtual time it is {} of {} ({}).",
            pluralize(withheld as u64, "phase"),
            if withheld == 1 { "is" } else { "are" },
            counted_pairs.same_order,
            counted_pairs.both_different,
            percent(share)
        );
    }
    text
}

fn tau(counts: &PairAgreement) -> String {
    counts.tau_b.map_or_else(|| NONE.to_owned(), |tau| format!("{tau:.2}"))
}

fn cells(counts: &PairAgreement) -> [String; 6] {
    let share = counts.share().map_or_else(|| NONE.to_owned(), percent);
    let ratio = counts.ratio_of_ratios.map(|q| {
        let [low, median, high] = [q.low, q.median, q.high].map(three_digits);
        format!("{median} ({low} … {high})")
    });
    [
        counts.pairs.to_string(),
        counts.both_different.to_string(),
        counts.same_order.to_string(),
        share,
        tau(counts),
        ratio.unwrap_or_else(|| NONE.to_owned()),
    ]
}

const COUNTS: [&str; 6] =
    [">pairs", ">different", ">same order", ">share", ">tau-b", "ratio of ratios"];

fn groups(found: &Agreement) -> Table {
    let mut table = Table::new(&[&["group"][..], &COUNTS[..]].concat());
    for group in &found.groups {
        let name = vec![group.group.title().to_owned()];
        table.push([name, cells(&group.counts).to_vec()].concat());
        if group.counted != group.counts {
            let name = vec!["… what counts".to_owned()];
            table.push([name, cells(&group.counted).to_vec()].concat());
        }
    }
    let name = vec!["all".to_owned()];
    table.push([name, cells(&found.all).to_vec()].concat());
    if found.counted != found.all {
        let name = vec!["… what counts".to_owned()];
        table.push([name, cells(&found.counted).to_vec()].concat());
    }
    table
}

fn phases(found: &Agreement) -> Table {
    let mut table = Table::new(&[&["phase"][..], &COUNTS[..], &["counts"][..]].concat());
    for phase in &found.phases {
        let PhaseAgreement { test, phase, withheld, counts, .. } = phase;
        let counts_or_why = match withheld {
            None => "yes".to_owned(),
            Some(reason) => format!("no, because {}", sanitize_line(reason)),
        };
        let name = vec![format!("{}/{}", sanitize_line(test), sanitize_line(phase))];
        table.push([name, cells(counts).to_vec(), vec![counts_or_why]].concat());
    }
    table
}

fn disagreements(found: &Agreement, sides: SideLabels<'_>, document: &mut Document) {
    let all = &found.disagreements;
    if all.is_empty() {
        return;
    }
    let shown = all.len().min(MAX_PAIRS);
    let title = match shown < all.len() {
        true => format!(
            "In different orders: {}, the {shown} farthest apart",
            pluralize(all.len() as u64, "pair")
        ),
        false => "In different orders".to_owned(),
    };
    let ratio = |side: &str| format!(">{}", sanitize_line(side));
    let mut table = Table::new(&[
        "phase",
        "worse vs better",
        &ratio(sides.before),
        &ratio(sides.after),
        "differences",
    ]);
    for one in &all[..shown] {
        table.push(vec![
            format!(
                "{}/{}{}",
                sanitize_line(&one.test),
                sanitize_line(&one.phase),
                if one.counts { "" } else { " (not counted)" }
            ),
            format!("{} vs {}", sanitize_line(&one.worse), sanitize_line(&one.better)),
            three_digits(one.costs[0].ratio),
            three_digits(one.costs[1].ratio),
            why(one),
        ]);
    }
    let note = format!(
        "Cost of the worse contender as a multiple of the better one; {} defines which one is better.",
        sanitize_line(sides.after)
    );
    document.section(title, [Block::Table(table), Block::Note(note)]);
}

/// Returns the differences between the campaigns that may explain a disagreement.
fn why(one: &Disagreement) -> String {
    let causes: Vec<String> = one.causes.iter().map(cause).collect();
    match causes.is_empty() {
        true => NONE.to_owned(),
        false => causes.join("; "),
    }
}

fn cause(cause: &DisagreementCause) -> String {
    let pair = |values: &[f64; 2], shown: &dyn Fn(f64) -> String| listed(&values.map(shown), "and");
    match cause {
        DisagreementCause::Flushes { contender, times } => format!(
            "{} flushes {} times",
            sanitize_line(contender),
            pair(times, &|n| format!("{n:.0}"))
        ),
        DisagreementCause::Moved { contender, metric, bytes } => format!(
            "{} {} {}",
            sanitize_line(contender),
            match metric {
                model::Metric::DeviceRead => "reads",
                _ => "writes",
            },
            pair(bytes, &|b| model::Bytes(b as u64).to_string())
        ),
        DisagreementCause::Processor { contender, share } => format!(
            "{} has the processor for {}",
            sanitize_line(contender),
            pair(share, &|s| percent(s / 100.0))
        ),
    }
}

/// Returns the contenders and phases that were not compared.
fn excluded(found: &Agreement) -> Vec<String> {
    let names: Vec<String> = found.only_in_one.iter().map(|name| sanitize_line(name)).collect();
    let alone = (!names.is_empty()).then(|| format!("Only in one: {}.", listed(&names, "and")));
    let others = found.not_the_same.iter().map(|one| {
        format!("{}/{}: {}.", sanitize_line(&one.test), sanitize_line(&one.phase), one.reason)
    });
    alone.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::render::{DocumentOptions, markdown, terminal};
    use model::{Clock, ExcludedPhase};
    use stats::{AnalysedCampaign, Margin, agreement, analyse, analyse_with_margin, fixture};

    /// Renders two campaigns that agree on the best reader but not on the best writer.
    fn document(withheld: &[ExcludedPhase]) -> Document {
        let real = fixture::plain();
        let mut other = fixture::plain();
        other.campaign.clock = Clock::Virtual;
        for stored in &mut other.cells {
            let name = stored.cell.contender.clone();
            let phases = stored.result.iter_mut().flat_map(|r| &mut r.phases);
            for phase in phases.filter(|phase| phase.phase == "write" && name == "slow") {
                phase.elapsed = model::Nanos(phase.elapsed.0 / 8);
                phase.device.get_or_insert_default().flushes = 0;
            }
        }
        let analyses = [analyse_with_margin(&other, Margin::default(), withheld), analyse(&real)];
        let [first, second] = [(&other, &analyses[0]), (&real, &analyses[1])]
            .map(|(results, analysis)| AnalysedCampaign::new(results, analysis));
        let found = agreement(first, second, Margin::default()).unwrap();
        let sides = SideLabels { before: "virtual time", after: "real time" };
        agreement_report(&found, sides)
    }

    #[test]
    fn agreements_and_disagreements_are_shown() {
        insta::assert_snapshot!(terminal(&document(&[]), &DocumentOptions::default()));
    }

    #[test]
    fn withheld_phases_are_marked_and_counted_separately() {
        let withheld = ExcludedPhase {
            phase: "file/write".parse().unwrap(),
            reason: "nothing waits for the disk".to_owned(),
            same_order: 1,
            pairs: 3,
        };
        insta::assert_snapshot!(markdown(&document(&[withheld])));
    }
}
