//! A human-readable explanation of a difference: sentences, then tables.

use std::cmp::Ordering;

use model::{Nanos, USER, Unit};
use stats::{DiskCounter, ElapsedComponent, Explanation};

use crate::document::{Block, Document, Item, Table};
use crate::text::sanitize::sanitize_line;
use crate::text::scale::UnitScale;

/// Minimum share of all differences for a part to be named in the sentence.
const NAMED_FROM: f64 = 0.1;
/// Maximum number of named parts.
const NAMED: usize = 4;
/// Ratio below which two times count as equal.
const ALIKE: f64 = 1.02;
/// Ratio from which a difference is shown as a ratio; smaller ones are shown in per cent.
const RATIO_FROM: f64 = 1.1;
/// Maximum number of table rows.
const ROWS: usize = 12;
/// Minimum share of the slower contender's time for a row to be shown.
const SHOWN_FROM: f64 = 0.01;
/// Maximum length of names that fit above a column together.
const SHORT: usize = 20;
/// Ratio of two counts from which both are mentioned.
const MIN_REPORTED_RATIO: f64 = 1.3;

/// Returns the whole explanation as a document.
pub fn explanation_report(explanation: &Explanation) -> Document {
    let sides = Sides::of(explanation);
    let mut document = Document::default();
    document.blocks.extend(sides.sentences().into_iter().map(Block::Paragraph));
    sides.tables(&mut document);
    document
}

/// Returns the causes of a difference, one sentence each; empty if there is practically no
/// difference.
pub(crate) fn causes(explanation: &Explanation) -> Vec<String> {
    let sides = Sides::of(explanation);
    let behind_the_first = sides.sentences().into_iter().skip(1);
    behind_the_first.chain(sides.functions()).collect()
}

/// An explanation, and which of the two contenders is slower.
struct Sides<'a> {
    explanation: &'a Explanation,
    names: [String; 2],
    slow: usize,
    fast: usize,
}

impl<'a> Sides<'a> {
    fn of(explanation: &'a Explanation) -> Self {
        let slow = usize::from(explanation.elapsed[1] > explanation.elapsed[0]);
        Self {
            explanation,
            names: explanation.contenders.each_ref().map(|name| sanitize_line(name)),
            slow,
            fast: 1 - slow,
        }
    }

    /// Returns the slower contender, the difference and its parts, then the requests to the disk
    /// that differ.
    fn sentences(&self) -> Vec<String> {
        let elapsed = self.explanation.elapsed;
        let (slower, faster) = (elapsed[self.slow], elapsed[self.fast]);
        let ratio = slower.0 as f64 / faster.0.max(1) as f64;
        let result = sanitize_line(&self.explanation.result);
        let [slow, fast] = [self.slow, self.fast].map(|side| &self.names[side]);
        if ratio < ALIKE {
            let [one, other] = &self.names;
            return vec![format!(
                "{result}: {one} and {other} take as good as the same time ({} and {}).",
                elapsed[0], elapsed[1]
            )];
        }
        let how = match ratio {
            ratio if ratio < RATIO_FROM => {
                format!("{:.0} % longer than", (ratio - 1.0) * 100.0)
            }
            ratio if ratio < 10.0 => format!("{ratio:.1} × as long as"),
            ratio => format!("{ratio:.0} × as long as"),
        };
        let more = Nanos(slower.0 - faster.0);
        let asked = self.asked();
        let on_disk =
            (!asked.is_empty()).then(|| format!("On the disk of {slow}: {}.", asked.join(", ")));
        let sentences = [
            format!("{result}: {slow} takes {how} {fast} ({slower} against {faster})."),
            format!("Where the {more} come from: {}.", self.reasons().join(", ")),
        ];
        sentences.into_iter().chain(on_disk).collect()
    }

    /// Returns the parts that differ most, largest first.
    fn reasons(&self) -> Vec<String> {
        let mut parts = self.explanation.parts.clone();
        parts.sort_by_key(|(_, times)| std::cmp::Reverse(times[0].0.abs_diff(times[1].0)));
        let all: u64 = parts.iter().map(|(_, t)| t[0].0.abs_diff(t[1].0)).sum();
        let is_named = |(_, times): &&(ElapsedComponent, [Nanos; 2])| {
            times[0].0.abs_diff(times[1].0) as f64 >= NAMED_FROM * all as f64
        };
        let named = parts.iter().filter(is_named).take(NAMED);
        named
            .map(|(part, times)| {
                let (shown, difference) = self.in_one_unit(Unit::Seconds, seconds(*times));
                let [slow, fast] = [&shown[self.slow], &shown[self.fast]];
                let word = self.word(*part);
                format!("{word} {difference} ({slow} against {fast})")
            })
            .collect()
    }

    /// Returns the kernel functions in which the slower contender spends more time, largest
    /// difference first.
    fn functions(&self) -> Option<String> {
        let (slow, fast) = (self.slow, self.fast);
        let least = SHOWN_FROM * self.explanation.elapsed[slow].0 as f64;
        let more = |times: [Nanos; 2]| Nanos(times[slow].0.saturating_sub(times[fast].0));
        let functions = self.explanation.by_self_time.iter();
        let functions = functions.filter(|function| more(function.own).0 as f64 >= least);
        let named: Vec<String> = functions
            .take(NAMED)
            .map(|function| {
                let name = sanitize_line(&function.function);
                format!("{name} +{}", more(function.own))
            })
            .collect();
        let all = named.join(", ");
        (!named.is_empty()).then(|| format!("In functions of the kernel, in themselves: {all}."))
    }

    /// Returns the name of a time component. Without samples, kernel time cannot be attributed and
    /// is called "CPU".
    fn word(&self, part: ElapsedComponent) -> &'static str {
        match (part, self.explanation.samples) {
            (ElapsedComponent::Kernel, [0, 0]) => "CPU",
            (part, _) => word(part),
        }
    }

    /// Returns the counts of both. A driver such as that of FAT marks no request as metadata, so its
    /// count of 0 is unknown.
    fn counts(&self) -> impl Iterator<Item = &(DiskCounter, [u64; 2])> {
        let is_unknown = |(count, values): &(DiskCounter, [u64; 2])| {
            *count == DiskCounter::MetadataBytes && values.contains(&0)
        };
        self.explanation.counts.iter().filter(move |one| !is_unknown(one))
    }

    /// Returns the disk requests that differ most: the slower contender makes many more, or many
    /// fewer.
    fn asked(&self) -> Vec<String> {
        let told = self.counts().filter(|(_, values)| {
            let (least, most) = (values[0].min(values[1]), values[0].max(values[1]));
            most as f64 >= MIN_REPORTED_RATIO * least as f64
        });
        told.map(|(count, values)| {
            let (shown, _) = self.in_one_unit(unit(*count), values.map(|value| value as f64));
            let word = count_word(*count);
            format!("{} {word} against {}", shown[self.slow], shown[self.fast])
        })
        .collect()
    }

    fn tables(&self, document: &mut Document) {
        let explanation = self.explanation;
        let parts = explanation.parts.iter();
        let parts = parts.map(|(part, times)| (self.word(*part).to_owned(), *times));
        let all = ("all".to_owned(), explanation.elapsed);
        document.push(self.time_table("where the time went", parts.chain([all])));
        document.push(self.count_table());
        let calls = explanation.by_call.iter();
        let calls = calls.map(|(call, times)| (call_word(call), *times));
        self.part_of_cpu(document, "System calls and tasks, with all that they call", calls);
        let own = explanation.by_self_time.iter();
        let own = own.map(|function| (sanitize_line(&function.function), function.own));
        self.part_of_cpu(document, "Functions of the kernel, in themselves", own);
        let modules = explanation.by_total_time.iter();
        let modules = modules.map(|f| (sanitize_line(&f.function), f.total));
        self.part_of_cpu(document, "Functions of modules, including callees", modules);
        document.section("Samples", [Block::Facts(self.samples())]);
    }

    /// Adds a table of a part of the time outside the disk, with the rows that matter for the total
    /// time.
    fn part_of_cpu(
        &self,
        document: &mut Document,
        title: &str,
        rows: impl Iterator<Item = (String, [Nanos; 2])>,
    ) {
        let least = SHOWN_FROM * self.explanation.elapsed[self.slow].0 as f64;
        let shown = rows.filter(|(_, times)| times[0].0.abs_diff(times[1].0) as f64 >= least);
        let shown: Vec<_> = shown.take(ROWS).collect();
        let content = match shown.is_empty() {
            true => Block::Paragraph("None differs by 1 % of the time.".to_owned()),
            false => self.time_table("", shown.into_iter()),
        };
        document.section(title, [content]);
    }

    fn time_table(&self, first: &str, rows: impl Iterator<Item = (String, [Nanos; 2])>) -> Block {
        let mut table = self.table(first);
        for (name, times) in rows {
            let ([one, other], difference) = self.in_one_unit(Unit::Seconds, seconds(times));
            table.push([name, one, other, difference]);
        }
        Block::Table(table)
    }

    fn count_table(&self) -> Block {
        let mut table = self.table("requests to the disk");
        for (count, values) in self.counts() {
            let values = values.map(|value| value as f64);
            let ([one, other], difference) = self.in_one_unit(unit(*count), values);
            table.push([count_word(*count).to_owned(), one, other, difference]);
        }
        Block::Table(table)
    }

    fn table(&self, first: &str) -> Table {
        let [one, other] = self.names.each_ref().map(|name| format!(">{name}"));
        let [slow, fast] = [self.slow, self.fast].map(|side| &self.names[side]);
        let difference = match slow.len() + fast.len() <= SHORT {
            true => format!(">{slow} - {fast}"),
            false => ">slower - faster".to_owned(),
        };
        Table::new(&[first, &one, &other, &difference])
    }

    /// Returns both values and their difference (slower minus faster) in the same unit.
    fn in_one_unit(&self, unit: Unit, values: [f64; 2]) -> ([String; 2], String) {
        let scale = UnitScale::for_values(unit, values);
        let more = values[self.slow] - values[self.fast];
        let difference = match more.partial_cmp(&0.0) {
            Some(Ordering::Greater) => format!("+{}", scale.with_unit(more)),
            Some(Ordering::Less) => format!("-{}", scale.with_unit(-more)),
            _ => "0".to_owned(),
        };
        (values.map(|value| scale.with_unit(value)), difference)
    }

    /// Returns the number of samples on each side.
    fn samples(&self) -> Vec<Item> {
        let sides = self.names.iter().enumerate().map(|(side, name)| {
            let samples = self.explanation.samples[side];
            let mut text = format!("{samples} samples, one each {}", self.explanation.period[side]);
            match self.explanation.passes[side] {
                1 => {}
                passes => {
                    text += &format!("; it did the work {passes} times, and numbers are of one");
                }
            }
            match self.explanation.lost[side] {
                0 => {}
                lost => text += &format!("; {lost} found no room"),
            }
            Item::new(name, text)
        });
        sides.collect()
    }
}

fn call_word(call: &str) -> String {
    match call {
        USER => "programs".to_owned(),
        call => sanitize_line(call),
    }
}

const fn unit(count: DiskCounter) -> Unit {
    match count.is_bytes() {
        true => Unit::Bytes,
        false => Unit::Count,
    }
}

fn seconds(times: [Nanos; 2]) -> [f64; 2] {
    times.map(Nanos::as_secs_f64)
}

/// Returns the name of a time component as the subject of a sentence.
const fn word(part: ElapsedComponent) -> &'static str {
    match part {
        ElapsedComponent::Programs => "CPU of programs",
        ElapsedComponent::Kernel => "CPU of the kernel",
        ElapsedComponent::Simulation => "CPU of the disk's simulation",
        ElapsedComponent::Command => "commands",
        ElapsedComponent::Seek => "seek",
        ElapsedComponent::Rotation => "rotation",
        ElapsedComponent::Transfer => "transfer",
        ElapsedComponent::Flash => "flash",
        ElapsedComponent::GarbageCollection => "garbage collection",
        ElapsedComponent::Flush => "flush",
        ElapsedComponent::Queue => "queue",
    }
}

const fn count_word(count: DiskCounter) -> &'static str {
    match count {
        DiskCounter::Requests => "requests",
        DiskCounter::Seeks => "seeks",
        DiskCounter::Flushes => "flushes",
        DiskCounter::ForcedWrites => "forced writes",
        DiskCounter::BytesRead => "read",
        DiskCounter::BytesWritten => "written",
        DiskCounter::MetadataBytes => "of metadata and journal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{DocumentOptions, terminal};
    use stats::FunctionTimes;

    const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    fn explanation() -> Explanation {
        let function = |name: &str, own, with_callees| FunctionTimes {
            function: name.to_owned(),
            own,
            total: with_callees,
        };
        let ms = |one, other| [millis(one), millis(other)];
        Explanation {
            result: "tree/within".into(),
            contenders: ["xfs".into(), "ext4".into()],
            passes: [1, 3],
            elapsed: ms(1130, 407),
            processor: ms(90, 120),
            parts: vec![
                (ElapsedComponent::Kernel, ms(90, 120)),
                (ElapsedComponent::Seek, ms(720, 87)),
                (ElapsedComponent::Rotation, ms(320, 200)),
            ],
            counts: vec![
                (DiskCounter::Requests, [300, 290]),
                (DiskCounter::Seeks, [120, 30]),
                (DiskCounter::Flushes, [0, 4]),
                (DiskCounter::BytesWritten, [4 << 20, 16 << 20]),
            ],
            by_call: vec![("write".into(), ms(50, 90)), (USER.into(), ms(10, 9))],
            by_self_time: vec![function("memcpy", ms(10, 40), ms(10, 40))],
            by_total_time: vec![function("xfs_create [xfs]", ms(1, 0), ms(30, 0))],
            samples: [4500, 6000],
            lost: [0, 7],
            period: [Nanos(20_000); 2],
        }
    }

    #[test]
    fn an_explanation_in_full() {
        let report = explanation_report(&explanation());
        insta::assert_snapshot!(terminal(&report, &DocumentOptions::FILE));
    }

    #[test]
    fn equal_times_are_not_explained() {
        let mut same = explanation();
        same.elapsed = [Nanos(100), Nanos(101)];
        let told = "tree/within: xfs and ext4 take as good as the same time (100 ns and 101 ns).";
        assert_eq!(Sides::of(&same).sentences(), [told]);
    }

    /// The driver of FAT marks no request as metadata.
    #[test]
    fn metadata_is_not_shown_if_a_driver_marks_none() {
        let mut marked = explanation();
        marked.counts.push((DiskCounter::MetadataBytes, [8192, 4096]));
        let text = |of: &Explanation| terminal(&explanation_report(of), &DocumentOptions::FILE);
        assert!(text(&marked).contains("of metadata and journal"));
        marked.counts.pop();
        marked.counts.push((DiskCounter::MetadataBytes, [0, 4096]));
        assert!(!text(&marked).contains("of metadata and journal"));
    }

    #[test]
    fn slower_contender_is_first_and_compensating_parts_are_last() {
        let mut turned = explanation();
        turned.elapsed.reverse();
        for (_, times) in &mut turned.parts {
            times.reverse();
        }
        turned.parts[0].1 = [millis(300), millis(90)];
        let told = Sides::of(&turned).sentences().join("\n");
        let first = "tree/within: ext4 takes 2.8 × as long as xfs (1.13 s against 407 ms).\n\
                     Where the 723 ms come from: seek +633 ms (720 ms against 87.0 ms), CPU of the kernel -210 ms";
        assert!(told.starts_with(first), "{told}");
    }

    #[test]
    fn small_differences_are_shown_in_per_cent() {
        let mut close = explanation();
        close.elapsed = [millis(107), millis(100)];
        let told = Sides::of(&close).sentences().join("\n");
        let first = "tree/within: xfs takes 7 % longer than ext4 (107 ms against 100 ms).";
        assert!(told.starts_with(first), "{told}");
    }

    #[test]
    fn irrelevant_functions_are_not_shown() {
        let mut long = explanation();
        long.elapsed = [millis(100_000), millis(50_000)];
        let told = terminal(&explanation_report(&long), &DocumentOptions::FILE);
        let none = "Functions of modules, including callees:\nNone differs by 1 %";
        assert!(told.contains(none), "{told}");
    }
}
