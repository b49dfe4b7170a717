//! Values over time of the long phases of each contender.

use model::{CampaignResults, Nanos, PhaseResult, Stall, Status, Timeline, Unit};

/// A phase with values over time.
#[derive(Clone, Debug)]
pub struct PhaseTimelines<'a> {
    /// Name of the test.
    pub test: &'a str,
    /// Name of the phase.
    pub phase: &'a str,
    /// Contenders with values over time, in the order of the campaign.
    pub contenders: Vec<ContenderTimeline<'a>>,
    /// Other contenders with the time of their first round, which was too short.
    pub short: Vec<(&'a str, Nanos)>,
}

/// Values over time of one contender: those of its first round that has any.
#[derive(Clone, Debug)]
pub struct ContenderTimeline<'a> {
    /// Index of the contender.
    pub number: usize,
    /// Name of the contender.
    pub contender: &'a str,
    /// The round.
    pub round: u32,
    /// Result of the phase in that round.
    pub result: &'a PhaseResult,
    /// The values.
    pub timeline: &'a Timeline,
    /// Longest stall over all rounds.
    pub stall: Option<StallRecord<'a>>,
}

/// A stall, with the values over time of its round.
#[derive(Clone, Copy, Debug)]
pub struct StallRecord<'a> {
    /// The round.
    pub round: u32,
    /// The stall.
    pub stall: Stall,
    /// The values.
    pub timeline: &'a Timeline,
}

/// Meaning of the values of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Bytes of the program per second.
    Throughput,
    /// Operations per second.
    Rate,
    /// Bytes written to the device per second, for programs whose operations are unknown.
    Written,
}

/// Values in windows of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineSeries {
    /// Meaning of the values.
    pub kind: SeriesKind,
    /// Length of a window.
    pub window: Nanos,
    /// A value for each window, per second.
    pub values: Vec<f64>,
}

impl SeriesKind {
    /// Returns the unit of the values.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Throughput | Self::Written => Unit::BytesPerSecond,
            Self::Rate => Unit::PerSecond,
        }
    }
}

/// Returns the speed of a phase in at most `most` windows. Returns `None` if it has no values over
/// time, or if neither operations nor writes of the device are known.
pub fn speed(result: &PhaseResult, most: usize) -> Option<TimelineSeries> {
    let timeline = result.timeline.as_ref()?;
    if timeline.intervals.is_empty() {
        return written(result, most);
    }
    let whole = result.elapsed.0.checked_div(timeline.interval.0)? as usize;
    let length = whole.div_ceil(most.max(1)).max(1);
    let windows = timeline.windows(result.elapsed, length);
    let kind = match windows.iter().any(|(_, bytes)| *bytes > 0) {
        true => SeriesKind::Throughput,
        false => SeriesKind::Rate,
    };
    let window = Nanos(timeline.interval.0.saturating_mul(length as u64));
    let seconds = window.as_secs_f64();
    let values = windows.into_iter().map(|(operations, bytes)| match kind {
        SeriesKind::Rate => operations as f64 / seconds,
        _ => bytes as f64 / seconds,
    });
    Some(TimelineSeries { kind, window, values: values.collect() })
}

/// Returns the bytes written to the device during a phase, in at most `most` windows.
pub fn written(result: &PhaseResult, most: usize) -> Option<TimelineSeries> {
    let samples = result.timeline.as_ref()?.samples.iter();
    let samples: Vec<(Nanos, u64)> =
        samples.filter_map(|one| Some((one.at, one.device?.written.0))).collect();
    let [first, .., last] = &samples[..] else { return None };
    let step = last.0.0.saturating_sub(first.0.0).div_ceil(samples.len() as u64 - 1).max(1);
    let count = result.elapsed.0 / step;
    let window = Nanos(step.saturating_mul(count.div_ceil(most.max(1) as u64).max(1)));
    // The times of an imported document may be any, so the number of windows is limited.
    let windows = (result.elapsed.0 / window.0).min(most as u64);
    let mut values = vec![0.0; windows as usize];
    for (at, bytes) in &samples {
        // The bytes were written before the sample.
        let place = at.0.saturating_sub(1) / window.0;
        if let Some(value) = values.get_mut(place as usize) {
            *value += *bytes as f64 / window.as_secs_f64();
        }
    }
    Some(TimelineSeries { kind: SeriesKind::Written, window, values })
}

/// Returns the phases of a campaign that have values over time.
pub fn timelines(results: &CampaignResults) -> Vec<PhaseTimelines<'_>> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let phases = tests
        .flat_map(|test| test.phases.iter().map(|phase| (test.name.as_str(), phase.name.as_str())));
    let of_phase = |(test, phase): (&'_ str, &'_ str)| {
        let contenders = results.campaign.contenders.iter().enumerate();
        contenders
            .filter_map(|(number, contender)| {
                of_contender(results, number, &contender.name, test, phase)
            })
            .collect()
    };
    let of_phase = |(test, phase)| {
        let contenders: Vec<ContenderTimeline<'_>> = of_phase((test, phase));
        let all = results.campaign.contenders.iter().map(|one| one.name.as_str());
        let others = all.filter(|name| contenders.iter().all(|one| one.contender != *name));
        let short = others.filter_map(|name| {
            let (_, result) = rounds(results, name, test, phase).next()?;
            Some((name, result.elapsed))
        });
        PhaseTimelines { test, phase, short: short.collect(), contenders }
    };
    phases.map(of_phase).filter(|one| !one.contenders.is_empty()).collect()
}

fn of_contender<'a>(
    results: &'a CampaignResults,
    number: usize,
    contender: &'a str,
    test: &str,
    phase: &str,
) -> Option<ContenderTimeline<'a>> {
    let rounds = rounds(results, contender, test, phase);
    let mut rounds: Vec<(u32, &PhaseResult, &Timeline)> = rounds
        .filter_map(|(round, result)| Some((round, result, result.timeline.as_ref()?)))
        .collect();
    rounds.sort_by_key(|(round, ..)| *round);
    let stalls = rounds.iter().filter_map(|(round, _, timeline)| {
        Some(StallRecord { round: *round, stall: timeline.stall?, timeline })
    });
    let stall = stalls.max_by_key(|one| one.stall.length);
    let (round, result, timeline) = *rounds.first()?;
    Some(ContenderTimeline { number, contender, round, result, timeline, stall })
}

/// Returns the rounds of a contender in which a phase succeeded.
fn rounds<'a>(
    results: &'a CampaignResults,
    contender: &str,
    test: &str,
    phase: &str,
) -> impl Iterator<Item = (u32, &'a PhaseResult)> {
    let cells = results.cells.iter();
    let cells = cells.filter(move |one| one.cell.contender == contender && one.cell.test == test);
    cells.filter_map(move |stored| {
        let phases = &stored.result.as_ref()?.phases;
        let result = phases.iter().find(|one| one.phase == phase && one.status == Status::Ok)?;
        Some((stored.cell.round, result))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::{Bytes, DeviceSample, MachineSample, TimelineInterval};

    #[test]
    fn the_first_round_is_shown_with_the_longest_stall_of_all() {
        let mut results = fixture::plain();
        assert!(timelines(&results).is_empty());
        let contenders = results.campaign.contenders.len();
        let (contender, test) = {
            let cell = &results.cells[0].cell;
            (cell.contender.clone(), cell.test.clone())
        };
        let mut seen = Vec::new();
        for stored in &mut results.cells {
            if stored.cell.contender != contender || stored.cell.test != test {
                continue;
            }
            let Some(result) = &mut stored.result else { continue };
            let round = stored.cell.round;
            let stall = Stall { at: Nanos(1), length: Nanos(u64::from(round)) };
            result.phases[0].timeline =
                Some(Timeline { stall: Some(stall), ..Timeline::default() });
            seen.push(round);
        }
        let found = timelines(&results);
        assert_eq!((found.len(), found[0].contenders.len()), (1, 1));
        let one = &found[0].contenders[0];
        assert_eq!(one.contender, contender);
        assert_eq!(found[0].short.len(), contenders - 1, "the others are named");
        assert_eq!(Some(&one.round), seen.iter().min());
        assert_eq!(Some(&one.stall.unwrap().round), seen.iter().max());
    }

    #[test]
    fn the_speed_is_that_of_bytes_or_of_operations_or_of_the_device() {
        let speed_of = |timeline: Timeline, most| {
            let mut result = fixture::plain().cells[0].result.clone().unwrap().phases.remove(0);
            (result.elapsed, result.timeline) = (Nanos::from_secs(4), Some(timeline));
            speed(&result, most)
        };
        let at = |index, bytes| TimelineInterval {
            index,
            operations: 2,
            bytes: Bytes(bytes),
            latency: Vec::new(),
        };
        let second = Nanos::from_secs(1);
        let timeline = |bytes| Timeline {
            interval: second,
            intervals: vec![at(0, bytes), at(1, bytes), at(3, bytes)],
            ..Timeline::default()
        };
        let series = |kind, seconds, values: &[f64]| {
            let window = Nanos::from_secs(seconds);
            Some(TimelineSeries { kind, window, values: values.to_vec() })
        };
        let expected = series(SeriesKind::Throughput, 2, &[10.0, 5.0]);
        assert_eq!(speed_of(timeline(10), 2), expected);
        let expected = series(SeriesKind::Rate, 1, &[2.0, 2.0, 0.0, 2.0]);
        assert_eq!(speed_of(timeline(0), 10), expected);
        let samples = (0..=4).map(|i| MachineSample {
            at: Nanos::from_secs(i),
            dirty: None,
            device: (i > 0).then_some(DeviceSample {
                read: Bytes(0),
                written: Bytes(100 * i),
                flushes: 0,
            }),
        });
        let samples =
            Timeline { interval: second, samples: samples.collect(), ..Timeline::default() };
        let expected = series(SeriesKind::Written, 2, &[150.0, 350.0]);
        assert_eq!(speed_of(samples, 2), expected);
        assert_eq!(speed_of(Timeline::default(), 2), None);
    }
}
