//! Faults of the disk: wrong data without an error, for each contender and kind of fault.

use model::{CampaignResults, DescribedFault, DiskFaultKind, FaultCounts, FaultVerdict};
use stats::{ContenderFaults, FaultSummary, disk_faults};

use crate::document::{Block, Item, Table};
use crate::tables::survival::repeat_item;
use crate::text::conclusions::{ConclusionText, listed};
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};

/// Title of the table, and subject of the conclusion.
pub(crate) const TITLE: &str = "Faults of the disk";

/// Title of the conclusions.
pub(crate) const CONCLUSIONS: &str = "By fault of the disk";

const MEANING: &str = "A/B means that after A of B faults synced data were wrong or missing, and the call that read \
                       them returned no error. Data: only contents of files were hit. Other: structures of the \
                       filesystem, also together with contents. Each run has one fault. Real disks also fail in other ways, and several faults at once are not tried.";

/// Returns the table, the counts of each verdict with an example, and the meaning of the numbers.
/// Empty if no phase damaged the disk.
pub(crate) fn blocks(results: &CampaignResults) -> Vec<Block> {
    let all = disk_faults(results);
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let names = first.kinds.iter().map(|one| format!(">{}", sanitize_line(&one.phase)));
    let heading: Vec<String> =
        ["contender".to_owned(), "blocks".to_owned()].into_iter().chain(names).collect();
    let mut table = Table::new(&heading);
    for one in &all {
        let data: Vec<String> = one.kinds.iter().map(|kind| share(&kind.faults.data)).collect();
        let other = one.kinds.iter().map(|kind| share(&kind.faults.other)).collect();
        for (block, row) in [("data", data), ("other", other)] {
            table.push([sanitize_line(&one.contender), block.to_owned()].into_iter().chain(row));
        }
    }
    let details = all.iter().flat_map(|one| one.kinds.iter().filter_map(|kind| detail(one, kind)));
    let repeat = all.iter().filter_map(|one| {
        let wrong = one.kinds.iter().filter(|kind| kind.faults.total().wrong > 0);
        let tests = wrong.map(|kind| kind.test.as_str()).collect();
        repeat_item(&results.campaign, &one.contender, &tests)
    });
    let details = Block::list(details);
    vec![Block::Table(table), details, Block::list(repeat), Block::Note(MEANING.to_owned())]
}

fn share(counts: &FaultCounts) -> String {
    match counts.faults {
        0 => "–".to_owned(),
        faults => format!("{}/{faults}", counts.wrong),
    }
}

/// Returns the counts that are not 0, each with its description.
fn counted<const N: usize>(counts: [(u32, &str); N]) -> Vec<String> {
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Returns the counts of a kind of fault with an example as text.
fn detail(contender: &ContenderFaults, one: &FaultSummary) -> Option<Item> {
    let name = format!("{}, {}", sanitize_line(&contender.contender), sanitize_line(&one.phase));
    let mut parts = Vec::new();
    for (block, counts) in [("data", &one.faults.data), ("other", &one.faults.other)] {
        let verdicts = counted([
            (counts.wrong, "wrong without an error"),
            (counts.reported, "reported"),
            (counts.unmountable, "not mounted"),
            (counts.harmless, "harmless"),
        ]);
        if !verdicts.is_empty() {
            parts.push(format!("{block}: {}", verdicts.join(", ")));
        }
    }
    let total = one.faults.total();
    parts.extend(counted([
        (total.lost_after_error, "lost although a sync after the error returned success"),
        (total.read_only, "followed by EROFS"),
        (total.found_by_checker, "found by its checker"),
    ]));
    if total.repairs > 0 {
        parts.push(format!("after {} repairs {} lost", total.repairs, total.lost_after_repair));
    }
    if !one.faults.reported_by.is_empty() {
        let calls = one.faults.reported_by.iter();
        let calls: Vec<String> =
            calls.map(|(call, count)| format!("{} ({count})", sanitize_line(call))).collect();
        parts.push(format!("first reported by {}", listed(&calls, "and")));
    }
    if let Some(example) = example(one) {
        parts.push(format!("example: {example}"));
    }
    if let (0, Some(reason)) = (total.faults, &one.reason) {
        parts.push(format!("not tested: {}", sanitize_paragraph(reason)));
    }
    (!parts.is_empty()).then(|| Item::new(name, parts.join("; ")))
}

/// Returns the worst described fault as text.
fn example(one: &FaultSummary) -> Option<String> {
    let severity = |fault: &&DescribedFault| match fault.verdict {
        FaultVerdict::Wrong => 0,
        _ if fault.lost_after_error => 1,
        FaultVerdict::Unmountable => 2,
        FaultVerdict::Reported | FaultVerdict::Harmless => 3,
    };
    let fault = one.faults.described.iter().min_by_key(severity)?;
    Some(sanitize_paragraph(&format!("{}: {}", fault.place, fault.effect)))
}

/// Returns in one sentence each: who noticed flipped bits in data, who lost data without an error
/// in other faults, and whose syncs returned success after an error although data were lost.
pub(crate) fn conclusions(results: &CampaignResults) -> Vec<ConclusionText> {
    let all = disk_faults(results);
    let sentences = [flipped_bits(&all), silent(&all), after_error(&all)];
    let answer = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let question = TITLE.to_owned();
    (!answer.is_empty()).then_some(ConclusionText { question, answer }).into_iter().collect()
}

fn flipped_bits(all: &[ContenderFaults]) -> Option<String> {
    let records = all.iter().filter_map(|one| Some((one, one.flipped_bits()?)));
    let (noticed, missed): (Vec<_>, Vec<_>) = records.partition(|(_, bits)| bits.undetected == 0);
    let noticed = noticed.iter().map(|(one, bits)| {
        format!("{} reported or corrected all {}", sanitize_line(&one.contender), bits.flipped)
    });
    let missed = missed.iter().map(|(one, bits)| {
        let name = sanitize_line(&one.contender);
        format!("{name} after {} of {}", bits.undetected, bits.flipped)
    });
    let (noticed, missed): (Vec<String>, Vec<String>) = (noticed.collect(), missed.collect());
    let noticed =
        (!noticed.is_empty()).then(|| format!("{} flipped bits in data.", listed(&noticed, "and")));
    let missed = (!missed.is_empty()).then(|| {
        format!("Wrong data without an error: {} flipped bits in data.", listed(&missed, "and"))
    });
    let sentences: Vec<String> = noticed.into_iter().chain(missed).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Sums counts over all kinds that `chosen` accepts, and names each contender with its sum.
fn sums(
    all: &[ContenderFaults],
    chosen: impl Fn(DiskFaultKind) -> bool,
    count: impl Fn(&FaultCounts) -> u32,
) -> Vec<String> {
    let sum = |one: &ContenderFaults| {
        let kinds = one.kinds.iter().filter(|kind| chosen(kind.fault));
        let total = kinds.fold(FaultCounts::default(), |sum, kind| sum.plus(&kind.faults.total()));
        let bad = count(&total);
        let name = sanitize_line(&one.contender);
        (bad > 0).then(|| format!("{name} after {bad} of {}", total.faults))
    };
    all.iter().filter_map(sum).collect()
}

fn silent(all: &[ContenderFaults]) -> Option<String> {
    let bad = sums(all, |kind| kind != DiskFaultKind::BitFlip, |counts| counts.wrong);
    (!bad.is_empty()).then(|| {
        format!("Other faults, data wrong or missing without an error: {}.", listed(&bad, "and"))
    })
}

fn after_error(all: &[ContenderFaults]) -> Option<String> {
    let bad = sums(all, DiskFaultKind::is_during_steps, |counts| counts.lost_after_error);
    (!bad.is_empty()).then(|| {
        let bad = listed(&bad, "and");
        format!("A sync after an error returned success, but its data were lost: {bad}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockContent, DiskFaults};

    fn contender(name: &str, fault: DiskFaultKind, verdicts: &[FaultVerdict]) -> ContenderFaults {
        let mut faults = DiskFaults::default();
        verdicts.iter().for_each(|verdict| faults.of(BlockContent::Data).count(*verdict));
        faults.describe(DescribedFault {
            place: "bit 3 of byte 5 of sector 9".into(),
            block: BlockContent::Data,
            verdict: FaultVerdict::Wrong,
            lost_after_error: false,
            effect: "a has bytes that no step wrote at byte 0".into(),
        });
        let (test, phase) = ("t".to_owned(), fault.to_string());
        let kind = FaultSummary { test, phase, fault, faults, reason: None };
        ContenderFaults { contender: name.into(), kinds: vec![kind] }
    }

    #[test]
    fn contenders_with_and_without_checksums_have_a_sentence_each() {
        use FaultVerdict::{Harmless, Reported, Wrong};
        let flips = |name, verdicts| contender(name, DiskFaultKind::BitFlip, verdicts);
        let all = [flips("btrfs", &[Reported, Harmless]), flips("ext4", &[Wrong, Harmless])];
        assert_eq!(
            flipped_bits(&all).unwrap(),
            "btrfs reported or corrected all 2 flipped bits in data. \
             Wrong data without an error: ext4 after 1 of 2 flipped bits in data."
        );
        assert_eq!((silent(&all), after_error(&all)), (None, None));
        let item = detail(&all[1], &all[1].kinds[0]).unwrap();
        assert_eq!(
            item.text,
            "data: 1 wrong without an error, 1 harmless; example: bit 3 of byte 5 of sector 9: a has bytes that no \
             step wrote at byte 0"
        );
    }

    #[test]
    fn a_success_after_an_error_is_told_apart_from_a_silent_loss() {
        let mut one = contender("ext4", DiskFaultKind::WriteError, &[FaultVerdict::Reported]);
        one.kinds[0].faults.data.lost_after_error = 1;
        let all = [one];
        assert_eq!(silent(&all), None);
        assert_eq!(
            after_error(&all).unwrap(),
            "A sync after an error returned success, but its data were lost: ext4 after 1 of 1."
        );
    }
}
