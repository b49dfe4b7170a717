//! Cost of a campaign, estimated before it starts: cells, bytes, operations, space and time.
//!
//! Bytes and operations follow from the plan. The time is an estimate based on the assumptions of
//! [`ThroughputModel`].

use model::{
    BackendKind, Bytes, Campaign, Contender, CopySource, DriverKind, Nanos, Phase, Test,
    WorkEstimate,
};
use serde::{Deserialize, Serialize};

use crate::plan::forecast::{Forecast, ForecastSource, PastDurations};
use crate::plan::iteration_limit::MAX_REPEATED;
use crate::plan::throughput_model::ThroughputModel;
use crate::plan::write_limit::writes_to_host_disks;
use crate::plan::{work, writes};

/// Cost of a test, or of a sweep with all its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestCost {
    /// The suite.
    pub suite: String,
    /// The test or sweep.
    pub test: String,
    /// Number of sweep points; 0 if the test is not a sweep.
    pub points: u64,
    /// Maximum number of phases of a point.
    pub phases: u64,
    /// Number of cells, over all contenders and rounds.
    pub cells: u64,
    /// Work of all cells, including the expected repetitions.
    pub work: WorkEstimate,
    /// Bytes written by all cells without repetitions.
    pub least_written: Bytes,
    /// Space needed by the largest point.
    pub space: Bytes,
    /// Estimated time if all cells run one after another.
    pub time: Nanos,
}

/// Cost of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Contenders.
    pub contenders: u64,
    /// Rounds.
    pub rounds: u64,
    /// Total number of cells.
    pub cells: u64,
    /// Work of all cells, including the expected repetitions.
    pub work: WorkEstimate,
    /// Bytes written before the first cell, because images are filled once.
    pub preparation: Bytes,
    /// Bytes written without repetitions, including the preparation.
    pub least_written: Bytes,
    /// Metadata and journals that all cells may write in addition, without repetitions.
    #[serde(default)]
    pub metadata: Bytes,
    /// Space needed by the largest test.
    pub space: Bytes,
    /// Estimated total time.
    pub time: Nanos,
    /// Number of cells that run in parallel.
    #[serde(rename = "abreast")]
    pub parallel_cells: u64,
    /// Assumed speed for cells that never ran before.
    pub pace: ThroughputModel,
    /// Source of the time estimate.
    pub basis: ForecastSource,
    /// The tests, in the order of the suites.
    pub tests: Vec<TestCost>,
}

impl Cost {
    /// Returns true if the estimate should be shown before the start: for a sweep, for more than
    /// ten minutes, or for more than 100 GB.
    pub fn is_large(&self) -> bool {
        self.tests.iter().any(|test| test.points > 0)
            || self.time > Nanos::from_secs(600)
            || self.work.total_bytes() > Bytes(100_000_000_000)
    }

    /// Returns the total number of bytes written.
    pub const fn written(&self) -> Bytes {
        Bytes(self.work.written.0.saturating_add(self.preparation.0))
    }
}

/// Estimates the cost of a campaign with `abreast` parallel cells. Uses the durations of earlier
/// campaigns if there are any, and the pace otherwise.
pub fn cost(
    campaign: &Campaign,
    pace: ThroughputModel,
    experience: &PastDurations,
    abreast: u64,
) -> Cost {
    let contenders = campaign.contenders.len() as u64;
    let times = contenders * u64::from(campaign.rounds);
    let forecast = Forecast::new(campaign, pace, experience);
    let forecasts = forecast.cells();
    let round = |test: &Test| {
        let contenders = campaign.contenders.iter();
        let each = contenders.filter_map(|c| forecasts.get(&(c.name.as_str(), test.name.as_str())));
        each.fold(0, |sum: u64, cell| sum.saturating_add(cell.0))
    };
    let mut tests: Vec<TestCost> = Vec::new();
    for test in campaign.suites.iter().flat_map(|suite| &suite.tests) {
        let time = Nanos(round(test).saturating_mul(u64::from(campaign.rounds)));
        let one =
            TestCost { time, ..of_test(test, pace, times, &CostInputs::from_campaign(campaign)) };
        match tests.last_mut() {
            Some(last) if one.points > 0 && last.test == one.test && last.suite == one.suite => {
                add(last, &one);
            }
            _ => tests.push(one),
        }
    }
    let sum = |time: fn(&TestCost) -> u64| tests.iter().map(time).fold(0, u64::saturating_add);
    let work = tests.iter().map(|test| test.work);
    let cells = sum(|test| test.cells);
    let abreast = abreast.clamp(1, cells.max(1));
    let preparation = preparation(campaign);
    let metadata = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let metadata = metadata.map(|test| writes::metadata_estimate(test).0.saturating_mul(times));
    let filling = preparation.0 as f64 / pace.throughput * 1e9;
    let before = pace.start.0.saturating_add(filling.round() as u64);
    Cost {
        contenders,
        rounds: u64::from(campaign.rounds),
        cells,
        work: work.fold(WorkEstimate::default(), |all, one| all + one),
        space: tests.iter().map(|test| test.space).max().unwrap_or_default(),
        preparation,
        least_written: Bytes(sum(|test| test.least_written.0).saturating_add(preparation.0)),
        metadata: Bytes(metadata.fold(0, u64::saturating_add)),
        time: Nanos((sum(|test| test.time.0) / abreast).saturating_add(before)),
        parallel_cells: abreast,
        pace,
        basis: forecast.basis().clone(),
        tests,
    }
}

/// Returns the bytes written before the first cell: images are filled completely.
fn preparation(campaign: &Campaign) -> Bytes {
    let image = match (campaign.backend, &campaign.device) {
        (BackendKind::Loop, None) => {
            let images = u64::from(campaign.max_disks());
            Bytes(campaign.size.0.saturating_mul(images))
        }
        _ => Bytes(0),
    };
    let source = match (campaign.backend, &campaign.source) {
        (BackendKind::Loop, Some(CopySource::Image { size, .. })) => *size,
        _ => Bytes(0),
    };
    Bytes(image.0.saturating_add(source.0))
}

/// Inputs other than the pace that determine the cost of a test.
#[derive(Clone, Copy, Debug)]
pub struct CostInputs {
    /// Whether cells write to disks of this machine that wear out.
    pub wears: bool,
    /// Whether cells copy from a separate source disk.
    pub has_source: bool,
    /// Bytes written by one `mkfs`, averaged over the contenders.
    pub mkfs: Bytes,
    /// Bytes written by ageing before a test that does not create the filesystem, averaged over the
    /// contenders.
    pub age: Bytes,
}

impl CostInputs {
    /// Returns the conditions of a campaign.
    pub fn from_campaign(campaign: &Campaign) -> Self {
        let mean = |of: fn(&Campaign, &Contender) -> Bytes| {
            let each = campaign.contenders.iter().map(|c| of(campaign, c).0);
            let all = each.fold(0, u64::saturating_add);
            Bytes(all / (campaign.contenders.len() as u64).max(1))
        };
        Self {
            wears: writes_to_host_disks(campaign),
            has_source: campaign.source.is_some(),
            mkfs: mean(writes::mkfs_estimate),
            age: mean(writes::ageing_estimate),
        }
    }
}

/// Estimates the duration of a cell of a test that never ran before.
pub fn cell_time(
    test: &Test,
    driver: DriverKind,
    pace: ThroughputModel,
    conditions: &CostInputs,
) -> Nanos {
    let phases = repeated(test, pace, conditions);
    let one = |(phase, once, passes): (&Phase, WorkEstimate, u64)| {
        let one = pace.wall_time(pace.phase_time(phase, once));
        one.0.saturating_mul(passes)
    };
    let kernel = phases.map(one).fold(0, u64::saturating_add);
    let phases = match driver {
        DriverKind::Kernel => kernel,
        DriverKind::Fuse => (kernel as f64 * pace.fuse) as u64,
    };
    Nanos(pace.cell.0.saturating_add(phases))
}

/// Iterates over the phases of a test with the work of one pass and the expected number of passes.
fn repeated<'a>(
    test: &'a Test,
    pace: ThroughputModel,
    conditions: &'a CostInputs,
) -> impl Iterator<Item = (&'a Phase, WorkEstimate, u64)> {
    let works = work::estimate_phases(test);
    test.phases.iter().zip(works).map(move |(phase, once)| {
        let once = match conditions.has_source && phase.op.copies_from_source() {
            true => once.with_read(once.written),
            false => once,
        };
        (phase, once, passes(phase, once, pace, conditions.wears))
    })
}

/// Returns the cost of `times` cells of a test, without the time.
fn of_test(test: &Test, pace: ThroughputModel, times: u64, conditions: &CostInputs) -> TestCost {
    let phases = repeated(test, pace, conditions);
    let all = phases.map(|(_, once, passes)| once * passes);
    let mut work = all.fold(WorkEstimate::default(), |sum, one| sum + one);
    let made = Bytes(conditions.mkfs.0.saturating_mul(writes::mkfs_count(test)));
    let age = match test.makes_filesystem() {
        true => 0,
        false => conditions.age.0,
    };
    let before = made.0.saturating_add(age);
    let written = |once: Bytes| Bytes(once.0.saturating_add(before));
    work.written = written(work.written);
    TestCost {
        suite: test.suite.clone(),
        test: test.sweep.as_ref().map_or(&test.name, |point| &point.sweep).clone(),
        points: u64::from(test.sweep.is_some()),
        phases: test.phases.len() as u64,
        cells: times,
        work: work * times,
        least_written: Bytes(written(writes::test_estimate(test)).0.saturating_mul(times)),
        space: test.space,
        time: Nanos(0),
    }
}

fn add(sum: &mut TestCost, one: &TestCost) {
    sum.points += one.points;
    sum.phases = sum.phases.max(one.phases);
    sum.cells += one.cells;
    sum.work = sum.work + one.work;
    sum.least_written = Bytes(sum.least_written.0.saturating_add(one.least_written.0));
    sum.space = sum.space.max(one.space);
    sum.time = Nanos(sum.time.0.saturating_add(one.time.0));
}

/// Assumed standard deviation of the rates of passes, as a share of their mean: observed for short
/// phases on machines with other load.
const VARIATION: f64 = 0.25;
/// Half width of a 95 % interval, in standard errors.
const NORMAL: f64 = 1.96;

/// Estimates the number of passes: until the phase is long enough and its passes agree, within its
/// limits.
fn passes(phase: &Phase, work: WorkEstimate, pace: ThroughputModel, wears: bool) -> u64 {
    let pass = pace.iteration_time(phase, work);
    let Some(scaling) = phase.scaling else {
        return 1;
    };
    if pass >= scaling.at_least || (wears && work.written > MAX_REPEATED) {
        return 1;
    }
    let timed = scaling.at_least.0.div_ceil(pass.0.max(1));
    let agree = (NORMAL * VARIATION / scaling.width).powi(2).ceil() as u64;
    let limit = scaling.limit.0.div_ceil(pace.phase_time(phase, work).0.max(1));
    let wanted = timed.max(agree).max(2);
    wanted.min(u64::from(scaling.passes)).min(limit.max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{
        AccessPattern, CacheState, CopyFileIn, Io, IterationPolicy, Op, SweepAxis, SweepPoint,
        SyncAtEnd,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixture::campaign;

    /// A model of 500 MB/s, with half a second of overhead per cell.
    const EVEN: ThroughputModel = ThroughputModel {
        throughput: 500e6,
        cached: 500e6,
        request: Nanos(0),
        seek: Nanos(0),
        name: Nanos(0),
        sync: Nanos(0),
        byte: Nanos(0),
        commands: 1.0,
        cold: Nanos(0),
        cell: Nanos(500_000_000),
        fuse: 3.0,
        slowdown: 1.0,
        start: Nanos(0),
        measured: false,
    };

    /// Estimates the cost without earlier campaigns.
    fn cost(campaign: &Campaign, pace: ThroughputModel, abreast: u64) -> Cost {
        super::cost(campaign, pace, &PastDurations::default(), abreast)
    }

    /// Returns a campaign whose tests write this many MB each.
    fn writing(tests: usize, megabytes: u64) -> Campaign {
        let mut campaign = campaign(3, tests, 2, 1);
        for test in &mut campaign.suites[0].tests {
            test.phases = vec![Phase {
                name: "write".into(),
                cache: CacheState::Warm,
                sync_at_end: SyncAtEnd::Call,
                at_most: None,
                scaling: None,
                step: None,
                needs: None,
                from_next_host: false,
                op: Op::Io(Io {
                    size: Some(Bytes(megabytes * 1_000_000)),
                    ..Io::new("f", AccessPattern::Write, Bytes(1_000_000))
                }),
            }];
        }
        campaign
    }

    #[test]
    fn cost_is_bytes_by_throughput_plus_time_around_a_cell() {
        let cost = cost(&writing(2, 1_000), EVEN, 1);
        assert_eq!((cost.cells, cost.tests.len()), (12, 2));
        assert_eq!(cost.work.written, Bytes(12_000_000_000));
        assert_eq!(cost.work.operations, 12_000);
        // Twelve cells of two seconds at 500 MB/s and half a second of overhead, after the image is
        // filled.
        let filling = campaign(3, 2, 2, 1).size.0 * 2;
        assert_eq!(cost.time, Nanos(Nanos::from_secs(30).0 + filling));
        assert_eq!(cost.written().0, 12_000_000_000 + filling / 2);
        assert!(!cost.is_large());
    }

    #[test]
    fn every_image_is_filled() {
        let mut campaign = writing(2, 10);
        let one = preparation(&campaign);
        let commands = &mut campaign.contenders[1].filesystem.commands;
        commands.mkfs = vec!["mkfs".into(), "{device}".into()];
        campaign.suites[0].tests[1] = campaign.suites[0].tests[1].with_disks(3);
        assert_eq!(preparation(&campaign), Bytes(3 * one.0));
    }

    #[test]
    fn the_points_of_a_sweep_are_one_line() {
        let mut campaign = writing(5, 10);
        for (at, test) in (1..).zip(&mut campaign.suites[0].tests[1..4]) {
            test.sweep = Some(SweepPoint {
                sweep: "sweep".into(),
                at: BTreeMap::from([(SweepAxis::Threads, at)]),
            });
        }
        let cost = cost(&campaign, EVEN, 1);
        let lines: Vec<_> =
            cost.tests.iter().map(|t| (t.test.as_str(), t.points, t.cells)).collect();
        assert_eq!(lines, [("test0", 0, 6), ("sweep", 3, 18), ("test4", 0, 6)]);
        assert!(cost.is_large());
    }

    #[test]
    fn limits_and_repetition_count() {
        let phase = |at_most, scaling| {
            let mut campaign = writing(1, 1);
            let mut phase = campaign.suites[0].tests[0].phases.remove(0);
            (phase.at_most, phase.scaling) = (at_most, scaling);
            phase
        };
        let seconds = |phase: &Phase, bytes| {
            let work = WorkEstimate { written: Bytes(bytes), ..WorkEstimate::default() };
            passes(phase, work, EVEN, true) as f64 * EVEN.phase_time(phase, work).as_secs_f64()
        };
        let limited = phase(Some(Nanos::from_secs(1)), None);
        assert_eq!(seconds(&limited, 5_000_000_000), 1.0);
        let scaling = IterationPolicy {
            at_least: Nanos::from_secs(1),
            width: 0.1,
            passes: 20,
            limit: Nanos::from_secs(10),
        };
        let repeated = phase(None, Some(scaling));
        assert_eq!(seconds(&repeated, 25_000_000), 1.0, "twenty passes of 50 ms");
        assert_eq!(seconds(&repeated, 5_000_000), 0.2, "twenty, which is the most");
        assert_eq!(seconds(&repeated, 5_000_000_000), 10.0, "once is enough");
        assert_eq!(seconds(&repeated, 300_000_000), 0.6, "too much to write it again");
        let short = IterationPolicy { limit: Nanos(100_000_000), ..scaling };
        let repeated = phase(None, Some(short));
        assert_eq!(seconds(&repeated, 25_000_000), 0.1, "no more time");
    }

    /// Regression test: copies of 401 GB were announced as 4 GB, because each phase was counted
    /// once.
    #[test]
    fn includes_bytes_written_by_repetitions() {
        let mut campaign = writing(1, 5);
        campaign.suites[0].tests[0].phases[0].scaling = Some(IterationPolicy {
            at_least: Nanos::from_secs(5),
            width: 0.03,
            passes: 200,
            limit: Nanos::from_secs(120),
        });
        let cost = cost(&campaign, EVEN, 1);
        assert_eq!(cost.work.written, Bytes(6 * 200 * 5_000_000));
    }

    #[test]
    fn parallel_cells_divide_the_time_and_slowdown_multiplies_it() {
        let campaign = Campaign { backend: BackendKind::Dir, ..writing(2, 1_000) };
        let time = |pace, abreast| cost(&campaign, pace, abreast).time;
        assert_eq!(time(EVEN, 1), Nanos::from_secs(30));
        assert_eq!(time(EVEN, 3), Nanos::from_secs(10));
        let all_at_once = cost(&campaign, EVEN, 1000);
        assert_eq!(
            all_at_once.parallel_cells, all_at_once.cells,
            "parallelism is limited to the number of cells"
        );
        let slow = ThroughputModel { slowdown: 5.0, ..EVEN };
        assert_eq!(time(slow, 1), Nanos::from_secs(6 + 5 * 24));
    }

    #[test]
    fn large_phases_are_repeated_if_they_write_to_memory() {
        let mut campaign = writing(1, 300);
        campaign.suites[0].tests[0].phases[0].scaling = Some(IterationPolicy {
            at_least: Nanos::from_secs(1),
            width: 1.0,
            passes: 20,
            limit: Nanos::from_secs(10),
        });
        let written = |campaign: &Campaign| cost(campaign, EVEN, 1).work.written.0;
        assert_eq!(written(&campaign), 6 * 300_000_000);
        campaign.guest = Some(crate::plan::fixture::guest_in_memory());
        assert_eq!(written(&campaign), 6 * 2 * 300_000_000);
    }

    #[test]
    fn a_source_is_read_and_a_second_image_is_written() {
        let mut campaign = writing(1, 1);
        campaign.suites[0].tests[0].phases[0].op = Op::CopyFileIn(CopyFileIn {
            file: "f".into(),
            size: Bytes(5_000_000),
            block: Bytes::kib(64),
        });
        let in_memory = cost(&campaign, EVEN, 1);
        assert_eq!(in_memory.work.read, Bytes(0));
        assert_eq!(in_memory.work.written, Bytes(6 * 5_000_000));
        campaign.source = Some(CopySource::Image {
            size: Bytes::mib(100),
            contender: Box::new(campaign.contenders[0].clone()),
        });
        let from_image = cost(&campaign, EVEN, 1);
        assert_eq!(from_image.work.read, Bytes(6 * 5_000_000));
        let more = from_image.preparation.0 - in_memory.preparation.0;
        assert_eq!(more, Bytes::mib(100).0);
    }

    #[test]
    fn an_open_loop_lasts_as_long_as_its_arrivals() {
        let mut campaign = writing(1, 1);
        let phase = &mut campaign.suites[0].tests[0].phases[0];
        if let Op::Io(io) = &mut phase.op {
            (io.operations, io.rate) = (Some(500), Some(100));
        }
        campaign.backend = BackendKind::Dir;
        let cost = cost(&campaign, EVEN, 1);
        assert_eq!(cost.time, Nanos(6 * 5_500_000_000));
    }

    proptest! {
        #[test]
        fn cost_of_a_campaign_is_the_sum_of_its_tests(tests in 0usize..6, megabytes in 1u64..10_000) {
            let cost = cost(&writing(tests, megabytes), EVEN, 1);
            prop_assert_eq!(cost.cells, tests as u64 * 6);
            prop_assert_eq!(cost.work.written.0, cost.cells * megabytes * 1_000_000);
            let sum: u64 = cost.tests.iter().map(|t| t.time.0).sum();
            let filling = cost.time.0 - sum;
            prop_assert_eq!(filling, cost.preparation.0 * 2);
        }

        #[test]
        fn a_faster_device_never_takes_longer(megabytes in 1u64..10_000, faster in 1.0..10.0f64) {
            let campaign = writing(2, megabytes);
            let slow = cost(&campaign, EVEN, 1);
            let pace = ThroughputModel { throughput: 500e6 * faster, ..EVEN };
            prop_assert!(cost(&campaign, pace, 1).time <= slow.time);
        }
    }
}
