//! How much of real work is the filesystem: what each step takes beyond a baseline that does the same without a disk.

use analyse::{Analysis, ContenderTotal, Estimate, RoundOutcome, StepTime, Total};
use model::{CacheState, CampaignResults, Unit};

use crate::Scale;
use crate::tables::overview::{Entry, PhaseLine, TestBlock, Tone};
use crate::wording::text::clean;
use crate::wording::words::percent;

/// What stands above the table.
pub(crate) const TITLE: &str = "How much is the filesystem";
/// What has to be known of it.
pub(crate) fn note(analysis: &Analysis) -> String {
    let totals = analysis.totals.iter().flat_map(|total| &total.contenders);
    let above = totals.flat_map(|of| of.steps.iter().map(|step| step.above).chain([of.above]));
    let intervals = above.flatten().map(|above| above.interval);
    let confidence = intervals.filter(|i| i.high > i.low).map(|i| i.confidence);
    let least = confidence.fold(f64::INFINITY, f64::min);
    let interval = match least.is_finite() {
        true => format!(", its interval of {}", percent(least)),
        false => String::new(),
    };
    format!(
        "A baseline does the same work without a disk. Its column is its own time; the others are the median time above \
         it, round by round{interval}, what share of the contender's time that is, and the processor time per time that \
         passed. Where the number is below 0 the baseline took longer: noise, or what its memory costs. In a step that \
         begins cold, the time is the disk's as well as the filesystem's."
    )
}

/// A step of which the baseline takes this share is said to be hardly the filesystem's.
const NEARLY_ALL: f64 = 0.9;

/// A step of more than this share of the total is named: the total then says little of the others.
const MOST: f64 = 0.5;

/// A block for each test that was run on a baseline as well.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let tests = || results.campaign.suites.iter().flat_map(|s| &s.tests);
    let blocks = analysis.totals.iter().filter_map(|total| {
        let baseline = total.baseline.filter(|_| total.contenders.len() > 1)?;
        let is_it = |test: &model::Test| test.suite == total.suite && test.name == total.test;
        let number = tests().position(is_it)?;
        let test = tests().nth(number)?;
        Some(TestBlock {
            test,
            number: Some(number),
            name: clean(&total.test),
            title: format!(
                "time above {}",
                clean(&total.contenders[baseline].contender)
            ),
            lines: lines(total, test, baseline),
        })
    });
    blocks.collect()
}

fn lines<'a>(total: &Total, test: &model::Test, baseline: usize) -> Vec<PhaseLine<'a>> {
    let steps = total.steps.iter().enumerate().map(|(number, step)| {
        let times: Vec<&StepTime> = total
            .contenders
            .iter()
            .map(|of| &of.steps[number])
            .collect();
        let entry = |scale: &Scale, place: usize| match (place == baseline, times[place]) {
            (true, time) => own(time.estimate, scale),
            (false, time) => above(time.above, time.estimate, time.processor, scale),
        };
        line(
            &label(step, test),
            times.iter().filter_map(|time| time.estimate),
            total,
            entry,
        )
    });
    let whole = |of: &ContenderTotal| of.estimate;
    let sums = line(
        "total",
        total.contenders.iter().filter_map(whole),
        total,
        |scale, place| {
            let of = &total.contenders[place];
            match place == baseline {
                true => own(of.estimate, scale),
                false if of.outcome == RoundOutcome::Invalid => absent(&of.outcome.to_string()),
                false => above(of.above, of.estimate, None, scale),
            }
        },
    );
    // The total of one step is that step.
    let sums = (total.steps.len() > 1).then_some(sums);
    steps.chain(sums).collect()
}

/// The name of a step, and whether it begins cold.
fn label(step: &str, test: &model::Test) -> String {
    let mut phases = test.phases.iter().filter(|phase| phase.step() == step);
    match phases.any(|phase| phase.cache == CacheState::Cold) {
        true => format!("{step}, cold"),
        false => step.to_owned(),
    }
}

/// A line whose unit fits these times.
fn line<'a>(
    label: &str,
    times: impl Iterator<Item = Estimate>,
    total: &Total,
    entry: impl Fn(&Scale, usize) -> Entry,
) -> PhaseLine<'a> {
    let scale = Scale::of(Unit::Seconds, times.map(|time| time.median));
    let entries = (0..total.contenders.len()).map(|place| entry(&scale, place));
    PhaseLine {
        row: None,
        label: label.to_owned(),
        rule: None,
        unit: scale.symbol().to_owned(),
        entries: entries.collect(),
    }
}

fn own(time: Option<Estimate>, scale: &Scale) -> Entry {
    time.map_or_else(|| absent("none"), |time| plain(scale.number(time.median)))
}

/// `+0.12 (0.10…0.15) 8 %, CPU 95 %`.
fn above(
    above: Option<Estimate>,
    time: Option<Estimate>,
    processor: Option<f64>,
    scale: &Scale,
) -> Entry {
    let (Some(above), Some(time)) = (above, time) else {
        return absent("none");
    };
    let mut text = signed(above.median, scale);
    if above.interval.high > above.interval.low {
        let ends = [above.interval.low, above.interval.high].map(|end| signed(end, scale));
        text += &format!(" ({}…{})", ends[0], ends[1]);
    }
    let share = 100.0 * above.median / time.median;
    let sign = if share <= -0.5 { "−" } else { "" };
    text += &format!(" {sign}{:.0} %", share.abs());
    if let Some(processor) = processor {
        text += &format!(", CPU {:.0} %", 100.0 * processor);
    }
    plain(text)
}

fn signed(value: f64, scale: &Scale) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", scale.number(value.abs()))
}

fn plain(text: String) -> Entry {
    Entry {
        text,
        signs: String::new(),
        tone: Tone::Plain,
    }
}

fn absent(word: &str) -> Entry {
    Entry {
        tone: Tone::Absent,
        ..plain(word.to_owned())
    }
}

/// Which steps are the work itself and hardly the filesystem's, and which is most of the total, for each test.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let totals = analysis.totals.iter();
    let sentences = totals.filter_map(|total| {
        let baseline = total.baseline?;
        Some([hardly_any(total, baseline), most(total, baseline)])
    });
    sentences.flatten().flatten().collect()
}

/// The step that takes most of the baseline's total.
fn most(total: &Total, baseline: usize) -> Option<String> {
    let of = &total.contenders[baseline];
    let whole = of.estimate?.median;
    let mut steps = total.steps.iter().zip(&of.steps);
    let share = |time: &StepTime| Some(time.estimate?.median / whole);
    let (step, share) =
        steps.find_map(|(step, time)| Some((step, share(time).filter(|s| *s > MOST)?)))?;
    let is_one_of_several = total.steps.len() > 1;
    is_one_of_several.then(|| {
        format!(
            "{}: {} takes {} of the total on {}, so that the total says little of the other steps.",
            clean(&total.test),
            clean(step),
            percent(share),
            clean(&of.contender)
        )
    })
}

fn hardly_any(total: &Total, baseline: usize) -> Option<String> {
    let steps = total.steps.iter().enumerate().filter_map(|(number, step)| {
        let (all, some) = (total.contenders.len() - 1, hardly(total, baseline, number));
        let on = match some.len() {
            0 => return None,
            count if count == all => "everywhere".to_owned(),
            _ => some.join(", "),
        };
        Some(format!("{} ({on})", clean(step)))
    });
    let steps: Vec<String> = steps.collect();
    (!steps.is_empty()).then(|| {
        format!(
            "{}: nine tenths of the time and more are the work itself, which takes as long on {}, in {}: these tell little of \
             filesystems.",
            clean(&total.test),
            clean(&total.contenders[baseline].contender),
            steps.join(", ")
        )
    })
}

/// The contenders of whose time in a step the baseline takes nearly all.
fn hardly(total: &Total, baseline: usize, step: usize) -> Vec<String> {
    let time = |of: &ContenderTotal| Some(of.steps[step].estimate?.median);
    let Some(reference) = time(&total.contenders[baseline]) else {
        return Vec::new();
    };
    let others = total.contenders.iter().enumerate();
    let hardly = others.filter(|(place, of)| {
        *place != baseline && time(of).is_some_and(|time| reference >= NEARLY_ALL * time)
    });
    hardly.map(|(_, of)| clean(&of.contender)).collect()
}

#[cfg(test)]
#[path = "above_baseline_tests.rs"]
mod tests;
