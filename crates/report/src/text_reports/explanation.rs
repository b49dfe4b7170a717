//! An explanation of a difference for people: a sentence, then tables.

use analyse::{Count, Explanation, FunctionTimes, Part};
use model::{Bytes, Nanos};

use crate::tables::plain_table::PlainTable;
use crate::wording::text::clean;

/// A part is named in the sentence if it is so much of the difference.
const NAMED_FROM: f64 = 0.15;
/// So many parts at the most.
const NAMED: usize = 3;
/// Below this ratio two take as good as the same time.
const ALIKE: f64 = 1.02;
/// Functions in a table.
const FUNCTIONS: usize = 12;
/// A count is told if one has so many times what the other has.
const TOLD_FROM: f64 = 1.3;

/// The whole explanation.
pub fn explanation_text(explanation: &Explanation) -> String {
    format!("{}\n{}", sentences(explanation), tables(explanation))
}

/// What takes longer, by how much, and on what; then what it asked the disk for.
fn sentences(explanation: &Explanation) -> String {
    let Explanation {
        result,
        contenders,
        elapsed,
        ..
    } = explanation;
    let slow = usize::from(elapsed[1] > elapsed[0]);
    let fast = 1 - slow;
    let name = |side: usize| clean(&contenders[side]);
    let ratio = elapsed[slow].0 as f64 / elapsed[fast].0.max(1) as f64;
    let result = clean(result);
    if ratio < ALIKE {
        return format!(
            "{result}: {} and {} take as good as the same time ({} and {}).\n",
            name(0),
            name(1),
            elapsed[0],
            elapsed[1]
        );
    }
    let mut text = format!(
        "{result}: {} takes {} × as long as {} ({} against {}); {}.\n",
        name(slow),
        times(ratio),
        name(fast),
        elapsed[slow],
        elapsed[fast],
        reasons(explanation, slow)
    );
    let asked = asked(explanation, slow);
    if !asked.is_empty() {
        text += &format!("For {} the disk does {}.\n", name(slow), asked.join(", "));
    }
    text
}

/// The parts that make the difference, the largest first, and what makes up for a part of them.
fn reasons(explanation: &Explanation, slow: usize) -> String {
    let fast = 1 - slow;
    let elapsed = explanation.elapsed;
    let all = (elapsed[slow].0 - elapsed[fast].0) as f64;
    let mut parts: Vec<(f64, Part, [Nanos; 2])> = explanation
        .parts
        .iter()
        .map(|(part, times)| {
            let more = times[slow].0 as f64 - times[fast].0 as f64;
            (more / all, *part, *times)
        })
        .collect();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let words = |(place, (share, part, times)): (usize, &(f64, Part, [Nanos; 2]))| {
        let is = if place == 0 {
            "of the difference is "
        } else {
            ""
        };
        format!(
            "{:.0} % {is}{} ({} against {})",
            share * 100.0,
            word(*part),
            times[slow],
            times[fast]
        )
    };
    let more = parts.iter().filter(|(share, ..)| *share >= NAMED_FROM);
    let more: Vec<String> = more.take(NAMED).enumerate().map(words).collect();
    let less = parts.last().filter(|(share, ..)| *share <= -NAMED_FROM);
    let less = less.map(|(_, part, times)| {
        format!(
            ", less {} ({} against {}) makes up for some",
            word(*part),
            times[slow],
            times[fast]
        )
    });
    format!("{}{}", more.join(", "), less.unwrap_or_default())
}

/// What the disk is asked for much more, or much less, by the slower one.
fn asked(explanation: &Explanation, slow: usize) -> Vec<String> {
    let told = explanation.counts.iter().filter(|(_, values)| {
        let (least, most) = (values[0].min(values[1]), values[0].max(values[1]));
        most as f64 >= TOLD_FROM * least as f64
    });
    told.map(|(count, values)| {
        let shown = values.map(|value| number(*count, value));
        let word = count_word(*count);
        format!("{} {word} against {}", shown[slow], shown[1 - slow])
    })
    .collect()
}

fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.0}"),
    }
}

fn tables(explanation: &Explanation) -> String {
    let names = explanation.contenders.each_ref().map(|name| clean(name));
    let mut text = format!(
        "{}\n{}",
        time_table(explanation, &names),
        count_table(explanation, &names)
    );
    let samples: Vec<String> = (0..2)
        .map(|side| {
            let (samples, period) = (explanation.samples[side], explanation.period[side]);
            format!("{samples} samples of {}, one each {period}", names[side])
        })
        .collect();
    text += &format!(
        "\nFunctions of the kernel, in themselves ({})\n{}",
        samples.join("; "),
        function_table(&explanation.by_own, &names, |function| function.own)
    );
    text += &format!(
        "\nFunctions of modules, with what they call\n{}",
        function_table(&explanation.by_callees, &names, |function| function
            .with_callees)
    );
    for (side, lost) in explanation.lost.iter().enumerate() {
        if *lost > 0 {
            text += &format!("\n{lost} samples of {} found no room.\n", names[side]);
        }
    }
    text
}

fn heading(first: &str, names: &[String; 2]) -> [String; 4] {
    let [one, other] = names.each_ref().map(|name| format!(">{name}"));
    [first.to_owned(), one, other, ">difference".to_owned()]
}

fn table(first: &str, names: &[String; 2]) -> PlainTable {
    let heading = heading(first, names);
    PlainTable::new(&heading.each_ref().map(String::as_str))
}

fn time_table(explanation: &Explanation, names: &[String; 2]) -> String {
    let mut table = table("where the time went", names);
    let rows = explanation
        .parts
        .iter()
        .map(|(part, times)| (word(*part), *times));
    for (word, times) in rows.chain([("all", explanation.elapsed)]) {
        table.push(row(word.to_owned(), times));
    }
    table.text("  ")
}

fn row(first: String, times: [Nanos; 2]) -> Vec<String> {
    let difference = signed(times.map(|time| time.0), |value| Nanos(value).to_string());
    vec![
        first,
        times[0].to_string(),
        times[1].to_string(),
        difference,
    ]
}

/// What the second has more or less than the first.
fn signed(values: [u64; 2], show: impl Fn(u64) -> String) -> String {
    let sign = match values[1].cmp(&values[0]) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => return "0".to_owned(),
        std::cmp::Ordering::Greater => "+",
    };
    format!("{sign}{}", show(values[1].abs_diff(values[0])))
}

fn count_table(explanation: &Explanation, names: &[String; 2]) -> String {
    let mut table = table("what the disk was asked for", names);
    for (count, values) in &explanation.counts {
        let [one, other] = values.map(|value| number(*count, value));
        let difference = signed(*values, |value| number(*count, value));
        table.push(vec![count_word(*count).to_owned(), one, other, difference]);
    }
    table.text("  ")
}

fn number(count: Count, value: u64) -> String {
    match count.is_bytes() {
        true => Bytes(value).to_string(),
        false => value.to_string(),
    }
}

fn function_table(
    functions: &[FunctionTimes],
    names: &[String; 2],
    times: impl Fn(&FunctionTimes) -> [Nanos; 2],
) -> String {
    let mut table = table("function", names);
    for function in functions.iter().take(FUNCTIONS) {
        table.push(row(clean(&function.function), times(function)));
    }
    table.text("  ")
}

/// A part of the time as the subject of a sentence.
const fn word(part: Part) -> &'static str {
    match part {
        Part::Programs => "CPU time of programs",
        Part::Kernel => "CPU time of the kernel",
        Part::Simulation => "CPU time of the disk's simulation",
        Part::Command => "commands",
        Part::Seek => "seeks",
        Part::Rotation => "rotation",
        Part::Transfer => "transfer",
        Part::Flash => "flash",
        Part::Collection => "garbage collection",
        Part::Flush => "flushes",
        Part::Queue => "the disk's queue",
    }
}

const fn count_word(count: Count) -> &'static str {
    match count {
        Count::Requests => "requests",
        Count::Seeks => "seeks",
        Count::Flushes => "flushes",
        Count::ForcedWrites => "forced writes",
        Count::BytesRead => "read",
        Count::BytesWritten => "written",
        Count::MetadataBytes => "of metadata and journal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    fn explanation() -> Explanation {
        let function = |name: &str, own, with_callees| FunctionTimes {
            function: name.to_owned(),
            own,
            with_callees,
        };
        let ms = |one, other| [millis(one), millis(other)];
        Explanation {
            result: "tree/within".into(),
            contenders: ["xfs".into(), "ext4".into()],
            elapsed: ms(1130, 407),
            processor: ms(90, 120),
            parts: vec![
                (Part::Kernel, ms(90, 120)),
                (Part::Seek, ms(720, 87)),
                (Part::Rotation, ms(320, 200)),
            ],
            counts: vec![
                (Count::Requests, [300, 290]),
                (Count::Seeks, [120, 30]),
                (Count::Flushes, [0, 4]),
                (Count::BytesWritten, [4 << 20, 16 << 20]),
            ],
            by_own: vec![function("memcpy", ms(10, 40), ms(10, 40))],
            by_callees: vec![function("xfs_create [xfs]", ms(1, 0), ms(30, 0))],
            samples: [4500, 6000],
            lost: [0, 7],
            period: [Nanos(20_000); 2],
        }
    }

    #[test]
    fn an_explanation_in_full() {
        insta::assert_snapshot!(explanation_text(&explanation()));
    }

    #[test]
    fn what_takes_the_same_needs_no_reason() {
        let mut same = explanation();
        same.elapsed = [Nanos(100), Nanos(101)];
        let told = "tree/within: xfs and ext4 take as good as the same time (100 ns and 101 ns).\n";
        assert_eq!(sentences(&same), told);
    }

    #[test]
    fn whoever_is_slower_is_named_first_and_what_makes_up_for_it_last() {
        let mut turned = explanation();
        turned.elapsed.reverse();
        for (_, times) in &mut turned.parts {
            times.reverse();
        }
        turned.parts[0].1 = [millis(300), millis(90)];
        let told = sentences(&turned);
        assert!(
            told.starts_with(
                "tree/within: ext4 takes 2.8 × as long as xfs (1.13 s against 407 ms)"
            ),
            "{told}"
        );
        let less = "less CPU time of the kernel (90.0 ms against 300 ms) makes up for some";
        assert!(told.contains(less), "{told}");
    }
}
