//! Power cuts without a loss, for each contender and sequence of file operations.

use std::collections::{BTreeMap, BTreeSet};

use model::{Campaign, CampaignResults, Expectation, FileStep, PowerCut, ShortestLoss};
use stats::{ContenderSurvival, PowerCutRecord, SequenceSurvival, survival};

use crate::document::{Block, Item, Table};
use crate::text::command::{repeat_cells_command, steps_command};
use crate::text::conclusions::{ConclusionText, listed};
use crate::text::sanitize::sanitize_line;

/// Title of the table.
pub(crate) const TITLE: &str = "Power cuts without a loss";

/// Title of the conclusions.
pub(crate) const CONCLUSIONS: &str = "By power cut";

/// Returns the table, what was lost first in each sequence, and the meaning of the numbers. Empty
/// if no phase cut the power.
pub(crate) fn blocks(results: &CampaignResults) -> Vec<Block> {
    let all = survival(results);
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let names = honest(first).map(|one| format!(">{}", sanitize_line(&one.phase)));
    let heading: Vec<String> = ["contender".to_owned()].into_iter().chain(names).collect();
    let mut heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let cost = cost(&all, &heading);
    heading.extend([">broken promises", ">broken assumptions"]);
    let mut table = Table { by_contender: true, ..Table::new(&heading) };
    for one in &all {
        let counts = honest(one).map(share);
        let broken = [true, false].map(|is_promised| match one.by_promise(is_promised) {
            [0, _] => "–".to_owned(),
            [cuts, lost] => format!("{lost}/{cuts}"),
        });
        table.push([sanitize_line(&one.contender)].into_iter().chain(counts).chain(broken));
    }
    let lost = all.iter().flat_map(|one| one.sequences.iter().filter_map(|s| loss(one, s)));
    let ignored = Block::list(all.iter().filter_map(without_flushes));
    let repeat = all.iter().filter_map(|one| repeat(&results.campaign, one));
    let shortest = all.iter().flat_map(|one| shortest_commands(&results.campaign, one));
    let repeat = Block::list(repeat.chain(shortest));
    let promises = Block::list(promises(&all));
    let meaning = Block::Note(meaning(&all));
    let results = [Block::Table(table), promises, Block::list(lost), ignored, repeat, meaning];
    results.into_iter().chain(cost).collect()
}

/// Returns the documents that promise more than fsync(2), and the contenders that promise less.
fn promises(all: &[ContenderSurvival]) -> Vec<Item> {
    let mut by_phase: BTreeMap<(&str, Option<&str>), Vec<String>> = BTreeMap::new();
    for one in all {
        for sequence in honest(one) {
            let source = sequence.promised_by.as_deref();
            if (sequence.expect == Expectation::Promise) != source.is_some() {
                let names = by_phase.entry((&sequence.phase, source)).or_default();
                names.push(sanitize_line(&one.contender));
            }
        }
    }
    let mut phases: BTreeMap<(Vec<String>, Option<&str>), Vec<String>> = BTreeMap::new();
    for ((phase, source), names) in by_phase {
        phases.entry((names, source)).or_default().push(sanitize_line(phase));
    }
    let item = |((names, source), phases): ((Vec<String>, Option<&str>), Vec<String>)| {
        let names = listed(&names, "and");
        let text = match source {
            Some(source) => format!("promised for {names}: {}", sanitize_line(source)),
            None => format!("not promised for {names}, because of its options"),
        };
        Item::new(listed(&phases, "and"), text)
    };
    phases.into_iter().map(item).collect()
}

/// Returns what the steps cost, and the meaning of the numbers. Empty for results of versions before
/// 0.2.
fn cost(all: &[ContenderSurvival], heading: &[&str]) -> Vec<Block> {
    if all.iter().flat_map(honest).all(|one| one.survival.cost.is_none()) {
        return Vec::new();
    }
    let mut table = Table { by_contender: true, ..Table::new(heading) };
    for one in all {
        let costs = honest(one).map(|one| match &one.survival.cost {
            Some(cost) => {
                let [time, flushes, written] = cost.means();
                format!("{time:.2} / {flushes:.0} / {written:.0}")
            }
            None => "–".to_owned(),
        });
        table.push([sanitize_line(&one.contender)].into_iter().chain(costs));
    }
    let note = "Mean of all recordings: the time of the steps on the simulated disk, the flushes from the mount to the \
                last step, and the bytes written from the mount to the unmount.";
    let title = Block::Note("Cost of the same steps (ms / flushes / KiB written):".to_owned());
    vec![title, Block::Table(table), Block::Note(note.to_owned())]
}

/// Returns the command that repeats the losses of a contender, if it has any.
fn repeat(campaign: &Campaign, one: &ContenderSurvival) -> Option<Item> {
    let lossy = honest(one).filter(|one| one.survival.lost() > 0);
    let tests: BTreeSet<&str> = lossy.map(|one| one.test.as_str()).collect();
    repeat_item(campaign, &one.contender, &tests)
}

/// Returns the commands that repeat the shortest parts with a loss.
fn shortest_commands(campaign: &Campaign, one: &ContenderSurvival) -> Vec<Item> {
    let command = |sequence: &SequenceSurvival| {
        let ShortestLoss { prepare, steps, .. } = sequence.survival.shortest.as_ref()?;
        let steps = PowerCut {
            prepare: prepare.clone(),
            steps: steps.clone(),
            expect: sequence.expect,
            cuts: 0,
            ignores_flushes: false,
            shorten: false,
        };
        let command = steps_command(campaign, &one.contender, &steps);
        let name = format!("shortest part on {}", sanitize_line(&one.contender));
        (!command.is_empty()).then(|| Item::new(name, format!("`{command}`")))
    };
    one.sequences.iter().filter_map(command).collect()
}

/// Returns the command that repeats tests of a contender as an item of a list. `None` without tests,
/// and for a campaign of another program.
pub(crate) fn repeat_item(
    campaign: &Campaign,
    contender: &str,
    tests: &BTreeSet<&str>,
) -> Option<Item> {
    let command = repeat_cells_command(campaign, contender, tests);
    let name = format!("repeat {}", sanitize_line(contender));
    (!tests.is_empty() && !command.is_empty()).then(|| Item::new(name, format!("`{command}`")))
}

/// Returns the sequences on a disk that obeys flushes.
fn honest(one: &ContenderSurvival) -> impl Iterator<Item = &SequenceSurvival> {
    one.sequences.iter().filter(|one| !one.ignores_flushes)
}

/// Returns the losses of a contender on a disk that ignores flushes, if it was tried.
fn without_flushes(one: &ContenderSurvival) -> Option<Item> {
    let [cuts, lost, unmountable] = one.without_flushes()?;
    let name = format!("{}, if the disk ignores flushes", sanitize_line(&one.contender));
    let text = format!("lost in {lost} of {cuts} cuts, not mounted in {unmountable}");
    Some(Item::new(name, text))
}

fn share(one: &SequenceSurvival) -> String {
    match one.survival.cuts {
        0 => "–".to_owned(),
        cuts => format!("{}/{cuts}", one.survival.held),
    }
}

/// Returns the first loss and the counts of other damage as text. Losses of a disk that ignores
/// flushes have one line.
fn loss(contender: &ContenderSurvival, one: &SequenceSurvival) -> Option<Item> {
    if one.ignores_flushes && one.survival.cuts > 0 {
        return None;
    }
    let name = format!("{}, {}", sanitize_line(&contender.contender), sanitize_line(&one.phase));
    let survival = &one.survival;
    let mut parts = Vec::new();
    if let Some(broken) = survival.broken.first() {
        parts.push(format!(
            "{}after `{}`, {} ({}, position {})",
            sanitize_line(&sequence(&broken.steps)),
            sanitize_line(&broken.after),
            sanitize_line(&broken.lost),
            sanitize_line(&broken.kept),
            broken.position
        ));
    }
    if let Some(shortest) = &survival.shortest {
        parts.push(sanitize_line(&shortest_text(shortest)));
    }
    for (count, what) in [
        (survival.unmountable, "not mounted"),
        (survival.unwritable, "mounted but not writable"),
        (survival.inconsistent, "errors found by its checker after recovery"),
        (survival.lost_by_repair, "whole before the repair, and lost after it,"),
    ] {
        if count > 0 {
            parts.push(format!("{what} in {count} of {}", survival.cuts));
        }
    }
    if survival.unsupported > 0 {
        parts.push(format!(
            "{} of {} sequences have an operation that it does not support",
            survival.unsupported, survival.sequences
        ));
    }
    if let (0, Some(reason)) = (survival.cuts, &one.reason) {
        parts.push(format!("not tested: {}", sanitize_line(reason)));
    }
    (!parts.is_empty()).then(|| Item::new(name, parts.join("; ")))
}

/// Returns the steps of a sequence before a description of its loss. Empty if the phase has one
/// sequence, which its suite shows.
fn sequence(steps: &[FileStep]) -> String {
    if steps.is_empty() { String::new() } else { format!("{}: ", quoted(steps)) }
}

fn quoted(steps: &[FileStep]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    steps.join(", ")
}

fn shortest_text(shortest: &ShortestLoss) -> String {
    let ShortestLoss { prepare, steps, broken } = shortest;
    let before = match prepare.is_empty() {
        true => String::new(),
        false => format!(" (after {})", quoted(prepare)),
    };
    format!(
        "shortest part with a loss: {}{before}: after `{}`, {}",
        quoted(steps),
        broken.after,
        broken.lost
    )
}

/// Upper limit of the share of losses, in percent, if none of these cuts had a loss: 95 %
/// confidence (the rule of three: J. Hanley, A. Lippman-Hand, JAMA 249, 1983).
fn upper_limit(cuts: u32) -> f64 {
    100.0 * (1.0 - 0.05_f64.powf(1.0 / f64::from(cuts.max(1))))
}

fn meaning(all: &[ContenderSurvival]) -> String {
    let sequences = || all.iter().flat_map(honest);
    let most = sequences().map(|one| one.survival.cuts).max().unwrap_or(0);
    let assumed = |expect, assumption: &str| {
        let phases = honest(&all[0]).filter(|one| one.expect == expect);
        let phases: Vec<String> = phases.map(|one| sanitize_line(&one.phase)).collect();
        match phases.is_empty() {
            true => String::new(),
            false => format!(" {}: {assumption}", listed(&phases, "and")),
        }
    };
    let order = assumed(
        Expectation::Order,
        "few documents promise a result. Many programs assume that all files are in a state that existed at one \
         moment.",
    );
    let replacement = assumed(
        Expectation::Replacement,
        "a file that a rename replaced is the old one or the new one, as editors and package managers assume.",
    );
    let acknowledged = assumed(
        Expectation::Acknowledged,
        "a loss after the last step counts, because the program then reports success, also if no sync promises \
         its result.",
    );
    format!(
        "{most}/{most} means that at most {:.1} % of such cuts lose something (95 %). Cuts are a sample of the \
         positions in the recorded writes, with all, none or some of the writes in doubt kept.{order}{replacement}{acknowledged} A promise is broken if a document promises the result of its sequence, \
         otherwise an assumption of programs. A \
         simulated disk shows what a filesystem asks of its disk, not what a broken disk does.",
        upper_limit(most)
    )
}

/// Returns who kept what a sync promised, and who kept the order of other changes.
pub(crate) fn conclusions(results: &CampaignResults) -> Vec<ConclusionText> {
    let all = survival(results);
    let kinds = [
        (Expectation::Promise, "Synced files after a power cut"),
        (Expectation::Acknowledged, "Work that programs reported as done"),
        (Expectation::Replacement, "Files replaced without a sync"),
        (Expectation::Order, "Files without a sync"),
    ];
    kinds.into_iter().filter_map(|(expect, question)| conclusion(&all, expect, question)).collect()
}

fn conclusion(
    all: &[ContenderSurvival],
    expect: Expectation,
    question: &str,
) -> Option<ConclusionText> {
    let totals = all.iter().filter_map(|one| Some((one, one.total(expect)?)));
    let (whole, mut lossy): (Vec<_>, Vec<_>) = totals.partition(|(_, total)| total.lost == 0);
    let share = |total: &PowerCutRecord| f64::from(total.lost) / f64::from(total.cuts);
    lossy.sort_by(|a, b| share(&b.1).total_cmp(&share(&a.1)));
    let mut sentences = Vec::new();
    let cuts = || whole.iter().map(|(_, total)| total.cuts);
    if let (Some(least), Some(most)) = (cuts().min(), cuts().max()) {
        let names: Vec<String> =
            whole.iter().map(|(one, _)| sanitize_line(&one.contender)).collect();
        let more = if least == most { "" } else { " or more" };
        let each = if names.len() == 1 { "" } else { " each" };
        let names = listed(&names, "and");
        sentences.push(format!("{names} lost none in {least}{more} cuts{each}."));
    }
    if let Some((worst, total)) = lossy.first() {
        let name = sanitize_line(&worst.contender);
        let first = format!("{name} lost some in {} of {} cuts", total.lost, total.cuts);
        let others = lossy.iter().skip(1).map(|(one, total)| {
            format!("{} in {} of {}", sanitize_line(&one.contender), total.lost, total.cuts)
        });
        let all: Vec<String> = [first].into_iter().chain(others).collect();
        let example = sanitize_line(&total.worst);
        sentences.push(format!("{}. Example: {name}, {example}.", listed(&all, "and")));
    }
    (!sentences.is_empty())
        .then(|| ConclusionText { question: question.to_owned(), answer: sentences.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Survival;

    #[test]
    fn the_shortest_part_has_its_steps_and_its_loss() {
        let step = |text: &str| text.parse::<FileStep>().unwrap();
        let mut shortest = ShortestLoss {
            prepare: vec![step("write a 1")],
            steps: vec![step("rename a b"), step("fsync b")],
            broken: model::BrokenCut {
                steps: Vec::new(),
                position: 3,
                kept: "nothing in doubt was kept".to_owned(),
                after: "fsync b".to_owned(),
                lost: "b is missing".to_owned(),
            },
        };
        let text = "shortest part with a loss: `rename a b`, `fsync b` (after `write a 1`): after `fsync b`, b is missing";
        assert_eq!(shortest_text(&shortest), text);
        shortest.prepare.clear();
        assert!(!shortest_text(&shortest).contains("write a 1"));
    }

    #[test]
    fn filesystems_without_a_loss_have_the_least_of_their_numbers_of_cuts() {
        let one = |contender: &str, cuts| ContenderSurvival {
            contender: contender.to_owned(),
            sequences: vec![SequenceSurvival {
                test: "t".to_owned(),
                phase: "p".to_owned(),
                expect: Expectation::Promise,
                promised_by: None,
                ignores_flushes: false,
                survival: Survival { cuts, held: cuts, ..Survival::default() },
                reason: None,
            }],
        };
        let answer = |all: &[ContenderSurvival]| {
            conclusion(all, Expectation::Promise, "question").unwrap().answer
        };
        assert_eq!(answer(&[one("a", 44)]), "a lost none in 44 cuts.");
        assert_eq!(answer(&[one("a", 44), one("b", 44)]), "a and b lost none in 44 cuts each.");
        let both = [one("a", 44), one("b", 27)];
        assert_eq!(answer(&both), "a and b lost none in 27 or more cuts each.");
    }
}
