//! Share of the filesystem in real work: the time of each step beyond a baseline that does the same
//! without a disk.

use model::{CacheState, CampaignResults, Unit};
use stats::{Analysis, ContenderTotal, RobustEstimate, RoundOutcome, StepTime, Total};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock};
use crate::text::labels::percent;
use crate::text::sanitize::sanitize_line;

/// Title of the table.
pub(crate) const TITLE: &str = "How much is the filesystem";
/// Returns the explanation of the table.
pub(crate) fn note(analysis: &Analysis) -> String {
    let totals = analysis.totals.iter().flat_map(|total| &total.contenders);
    let above = totals
        .flat_map(|of| of.steps.iter().map(|step| step.over_baseline).chain([of.over_baseline]));
    let intervals = above.flatten().map(|above| above.interval);
    let confidence = intervals.filter(|i| i.high > i.low).map(|i| i.confidence);
    let least = confidence.fold(f64::INFINITY, f64::min);
    let interval = match least.is_finite() {
        true => format!(", its interval of {}", percent(least)),
        false => String::new(),
    };
    format!(
        "A baseline does the same work without a disk. Its column shows its time. The others show the median time above it, compared round by round{interval}, the share of this in the contender's time, and the processor time per elapsed time. If the number is below 0, the baseline took longer, because of noise or the cost of its memory. In a step with a cold cache, the time includes the disk as well as the filesystem."
    )
}

/// Share of the time of a step, used by the baseline, from which the step is reported as hardly
/// dependent on the filesystem.
const BASELINE_DOMINATED_SHARE: f64 = 0.9;

/// Share of the total from which a step is named, because the total then depends little on the
/// other steps.
const MAX_ABOVE_BASELINE: f64 = 0.5;

/// Returns one block for each test that was also run on a baseline.
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
            name: sanitize_line(&total.test),
            title: format!("time above {}", sanitize_line(&total.contenders[baseline].contender)),
            lines: lines(total, test, baseline),
        })
    });
    blocks.collect()
}

fn lines<'a>(total: &Total, test: &model::Test, baseline: usize) -> Vec<PhaseLine<'a>> {
    let steps = total.steps.iter().enumerate().map(|(number, step)| {
        let times: Vec<&StepTime> = total.contenders.iter().map(|of| &of.steps[number]).collect();
        let entry = |scale: &UnitScale, place: usize| match (place == baseline, times[place]) {
            (true, time) => own(time.estimate, scale),
            (false, time) => above(time.over_baseline, time.estimate, time.processor, scale),
        };
        line(&label(step, test), times.iter().filter_map(|time| time.estimate), total, entry)
    });
    let whole = |of: &ContenderTotal| of.estimate;
    let sums = line("total", total.contenders.iter().filter_map(whole), total, |scale, place| {
        let of = &total.contenders[place];
        match place == baseline {
            true => own(of.estimate, scale),
            false if of.outcome == RoundOutcome::Invalid => absent(&of.outcome.to_string()),
            false => above(of.over_baseline, of.estimate, None, scale),
        }
    });
    // A total over one step would repeat that step.
    let sums = (total.steps.len() > 1).then_some(sums);
    steps.chain(sums).collect()
}

/// Returns the name of a step, marked if it begins with cold caches.
fn label(step: &str, test: &model::Test) -> String {
    let mut phases = test.phases.iter().filter(|phase| phase.step() == step);
    match phases.any(|phase| phase.cache == CacheState::Cold) {
        true => format!("{step}, cold"),
        false => step.to_owned(),
    }
}

/// Creates a line with a unit that fits these times.
fn line<'a>(
    label: &str,
    times: impl Iterator<Item = RobustEstimate>,
    total: &Total,
    entry: impl Fn(&UnitScale, usize) -> TableCell,
) -> PhaseLine<'a> {
    let scale = UnitScale::for_values(Unit::Seconds, times.map(|time| time.median));
    let entries = (0..total.contenders.len()).map(|place| entry(&scale, place));
    PhaseLine {
        row: None,
        label: label.to_owned(),
        rule: None,
        unit: scale.symbol().to_owned(),
        entries: entries.collect(),
    }
}

fn own(time: Option<RobustEstimate>, scale: &UnitScale) -> TableCell {
    time.map_or_else(|| absent("none"), |time| plain(scale.number(time.median)))
}

/// `+0.12 (0.10…0.15) 8 %, CPU 95 %`.
fn above(
    above: Option<RobustEstimate>,
    time: Option<RobustEstimate>,
    processor: Option<f64>,
    scale: &UnitScale,
) -> TableCell {
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

fn signed(value: f64, scale: &UnitScale) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", scale.number(value.abs()))
}

fn plain(text: String) -> TableCell {
    TableCell { text, signs: String::new(), tone: Style::Plain }
}

fn absent(word: &str) -> TableCell {
    TableCell { tone: Style::Missing, ..plain(word.to_owned()) }
}

/// Describes for each test which steps take almost only the baseline's time, and which step takes
/// most of the total.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let totals = analysis.totals.iter();
    let sentences = totals.filter_map(|total| {
        let baseline = total.baseline?;
        Some([hardly_any(total, baseline), most(total, baseline)])
    });
    sentences.flatten().flatten().collect()
}

/// Names the step that takes most of the baseline's total.
fn most(total: &Total, baseline: usize) -> Option<String> {
    let of = &total.contenders[baseline];
    let whole = of.estimate?.median;
    let mut steps = total.steps.iter().zip(&of.steps);
    let share = |time: &StepTime| Some(time.estimate?.median / whole);
    let (step, share) = steps
        .find_map(|(step, time)| Some((step, share(time).filter(|s| *s > MAX_ABOVE_BASELINE)?)))?;
    let is_one_of_several = total.steps.len() > 1;
    is_one_of_several.then(|| {
        format!(
            "{}: {} takes {} of the total on {}, so the total depends little on the other steps.",
            sanitize_line(&total.test),
            sanitize_line(step),
            percent(share),
            sanitize_line(&of.contender)
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
        Some(format!("{} ({on})", sanitize_line(step)))
    });
    let steps: Vec<String> = steps.collect();
    (!steps.is_empty()).then(|| {
        format!(
            "{}: nine tenths of the time and more are the work itself, which takes as long on {}, in {}: these tell little of \
             filesystems.",
            sanitize_line(&total.test),
            sanitize_line(&total.contenders[baseline].contender),
            steps.join(", ")
        )
    })
}

/// Returns the contenders that spend almost all time of a step on work that the baseline does too.
fn hardly(total: &Total, baseline: usize, step: usize) -> Vec<String> {
    let time = |of: &ContenderTotal| Some(of.steps[step].estimate?.median);
    let Some(reference) = time(&total.contenders[baseline]) else {
        return Vec::new();
    };
    let others = total.contenders.iter().enumerate();
    let hardly = others.filter(|(place, of)| {
        *place != baseline
            && time(of).is_some_and(|time| reference >= BASELINE_DOMINATED_SHARE * time)
    });
    hardly.map(|(_, of)| sanitize_line(&of.contender)).collect()
}

#[cfg(test)]
#[path = "over_baseline_tests.rs"]
mod tests;
