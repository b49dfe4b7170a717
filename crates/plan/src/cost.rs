//! What a campaign costs, told before it begins: cells, bytes, operations, space, and about how long.
//!
//! Bytes and operations follow from the plan. The time is a guess, and says what it assumes: nobody
//! knows a filesystem's speed before it was measured.

use model::{Backend, Bytes, Campaign, Nanos, Op, Phase, Source, Test};
use serde::{Deserialize, Serialize};

use crate::repetition::MOST_REPEATED;
use crate::work::{self, Work};

/// How fast things are assumed to go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Bytes per second, either way.
    pub throughput: f64,
    /// Operations per second where few bytes are moved: names, small requests.
    pub rate: f64,
    /// What surrounds the phases of a cell: making, mounting, unmounting, checking.
    pub cell: Nanos,
    /// Making cold, and what else surrounds a pass.
    pub cold: Nanos,
    /// Whether the throughput was measured on this machine, and not assumed.
    pub measured: bool,
}

impl Default for Pace {
    /// A solid-state disk behind a common filesystem.
    fn default() -> Self {
        Self {
            throughput: 500e6,
            rate: 100e3,
            cell: Nanos(500_000_000),
            cold: Nanos(50_000_000),
            measured: false,
        }
    }
}

/// What a test costs, or a sweep with all its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestCost {
    /// The suite.
    pub suite: String,
    /// The test, or the sweep.
    pub test: String,
    /// Points of the sweep; 0 where it is none.
    pub points: u64,
    /// The most phases that a point has.
    pub phases: u64,
    /// Cells over all contenders and rounds.
    pub cells: u64,
    /// What all cells move, phases that are repeated as often as is expected.
    pub work: Work,
    /// Space that the largest point needs.
    pub space: Bytes,
    /// About how long all cells take.
    pub time: Nanos,
}

/// What a campaign costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Contenders.
    pub contenders: u64,
    /// Rounds.
    pub rounds: u64,
    /// Cells in all.
    pub cells: u64,
    /// What all cells move, phases that are repeated as often as is expected.
    pub work: Work,
    /// Bytes written before the first cell: an image is filled once.
    pub preparation: Bytes,
    /// Space that the largest test needs.
    pub space: Bytes,
    /// About how long all takes.
    pub time: Nanos,
    /// What the time assumes.
    pub pace: Pace,
    /// The tests, in the order of the suites.
    pub tests: Vec<TestCost>,
}

impl Cost {
    /// Whether the campaign is so large that one wants to know before it begins: a sweep, more than
    /// ten minutes, or more than 100 GB to move.
    pub fn is_large(&self) -> bool {
        self.tests.iter().any(|test| test.points > 0)
            || self.time > Nanos::from_secs(600)
            || self.work.moved() > Bytes(100_000_000_000)
    }

    /// Bytes that are written in all.
    pub const fn written(&self) -> Bytes {
        Bytes(self.work.written.0.saturating_add(self.preparation.0))
    }
}

/// The cost of a campaign at a pace.
pub fn cost(campaign: &Campaign, pace: Pace) -> Cost {
    let contenders = campaign.contenders.len() as u64;
    let times = contenders * u64::from(campaign.rounds);
    let mut tests: Vec<TestCost> = Vec::new();
    for test in campaign.suites.iter().flat_map(|suite| &suite.tests) {
        let one = of_test(test, pace, times, campaign.source.is_some());
        match tests.last_mut() {
            Some(last) if one.points > 0 && last.test == one.test && last.suite == one.suite => {
                add(last, &one);
            }
            _ => tests.push(one),
        }
    }
    let sum = |time: fn(&TestCost) -> u64| tests.iter().map(time).fold(0, u64::saturating_add);
    let work = tests.iter().map(|test| test.work);
    let preparation = preparation(campaign);
    let filling = preparation.0 as f64 / pace.throughput * 1e9;
    Cost {
        contenders,
        rounds: u64::from(campaign.rounds),
        cells: sum(|test| test.cells),
        work: work.fold(Work::default(), |all, one| all + one),
        space: tests
            .iter()
            .map(|test| test.space)
            .max()
            .unwrap_or_default(),
        preparation,
        time: Nanos(sum(|test| test.time.0).saturating_add(filling.round() as u64)),
        pace,
        tests,
    }
}

/// What is written before the first cell: an image of fsarena's own, to its end.
fn preparation(campaign: &Campaign) -> Bytes {
    let image = match (campaign.backend, &campaign.device) {
        (Backend::Loop, None) => campaign.size,
        _ => Bytes(0),
    };
    let source = match (campaign.backend, &campaign.source) {
        (Backend::Loop, Some(Source::Image { size, .. })) => *size,
        _ => Bytes(0),
    };
    Bytes(image.0.saturating_add(source.0))
}

fn of_test(test: &Test, pace: Pace, times: u64, has_source: bool) -> TestCost {
    let works = work::of_phases(test);
    let (mut time, mut work) = (pace.cell.0, Work::default());
    for (phase, once) in test.phases.iter().zip(works) {
        let once = match has_source && phase.op.copies_in() {
            true => once.with_read(once.written),
            false => once,
        };
        let (passes, one) = (passes(phase, once, pace), whole(phase, once, pace));
        time = time.saturating_add(one.0.saturating_mul(passes));
        work = work + once * passes;
    }
    TestCost {
        suite: test.suite.clone(),
        test: test
            .sweep
            .as_ref()
            .map_or(&test.name, |point| &point.of)
            .clone(),
        points: u64::from(test.sweep.is_some()),
        phases: test.phases.len() as u64,
        cells: times,
        work: work * times,
        space: test.space,
        time: Nanos(time.saturating_mul(times)),
    }
}

fn add(sum: &mut TestCost, one: &TestCost) {
    sum.points += one.points;
    sum.phases = sum.phases.max(one.phases);
    sum.cells += one.cells;
    sum.work = sum.work + one.work;
    sum.space = sum.space.max(one.space);
    sum.time = Nanos(sum.time.0.saturating_add(one.time.0));
}

/// About how long one pass of a phase takes: its bytes and operations at the pace or at the rate that it offers
/// itself, no longer than its limit.
fn pass(phase: &Phase, work: Work, pace: Pace) -> Nanos {
    let offered = match &phase.op {
        Op::Io(io) => io.rate.map(|rate| rate as f64),
        _ => None,
    };
    let seconds = match offered {
        Some(rate) => work.operations as f64 / rate,
        None => {
            let bytes = work.moved().0 as f64 / pace.throughput;
            bytes.max(work.operations as f64 / pace.rate)
        }
    };
    let pass = Nanos((seconds * 1e9) as u64);
    phase.at_most.map_or(pass, |limit| pass.min(limit))
}

/// The same with what surrounds it.
fn whole(phase: &Phase, work: Work, pace: Pace) -> Nanos {
    let between = match phase.cache {
        model::CacheState::Cold => pace.cold.0,
        _ => 0,
    };
    Nanos(pass(phase, work, pace).0.saturating_add(between))
}

/// By how much the rates of passes are assumed to differ, as a share of their mean (their standard deviation): what
/// short phases did on machines with other things to do.
const VARIATION: f64 = 0.25;
/// Half the width of a 95 % interval, in standard errors.
const NORMAL: f64 = 1.96;

/// About how often a phase is done: until it can be timed and its passes agree, as far as its limits allow.
fn passes(phase: &Phase, work: Work, pace: Pace) -> u64 {
    let pass = pass(phase, work, pace);
    let Some(scaling) = phase.scaling else {
        return 1;
    };
    if pass >= scaling.at_least || work.written > MOST_REPEATED {
        return 1;
    }
    let timed = scaling.at_least.0.div_ceil(pass.0.max(1));
    let agree = (NORMAL * VARIATION / scaling.width).powi(2).ceil() as u64;
    let limit = scaling.limit.0.div_ceil(whole(phase, work, pace).0.max(1));
    let wanted = timed.max(agree).max(2);
    wanted.min(u64::from(scaling.passes)).min(limit.max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{Access, Axis, CacheState, End, Io, Scaling, SweepPoint};
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::campaign;

    /// A campaign of which each test writes so many MB once.
    fn writing(tests: usize, megabytes: u64) -> Campaign {
        let mut campaign = campaign(3, tests, 2, 1);
        for test in &mut campaign.suites[0].tests {
            test.phases = vec![Phase {
                name: "write".into(),
                cache: CacheState::Warm,
                ends: End::Call,
                at_most: None,
                scaling: None,
                op: Op::Io(Io {
                    size: Some(Bytes(megabytes * 1_000_000)),
                    ..Io::new("f", Access::Write, Bytes(1_000_000))
                }),
            }];
        }
        campaign
    }

    #[test]
    fn bytes_by_speed_and_what_surrounds_a_cell() {
        let cost = cost(&writing(2, 1_000), Pace::default());
        assert_eq!((cost.cells, cost.tests.len()), (12, 2));
        assert_eq!(cost.work.written, Bytes(12_000_000_000));
        assert_eq!(cost.work.operations, 12_000);
        // Two seconds at 500 MB/s and half a second around them, twelve times, once the image is filled.
        let filling = campaign(3, 2, 2, 1).size.0 * 2;
        assert_eq!(cost.time, Nanos(Nanos::from_secs(30).0 + filling));
        assert_eq!(cost.written().0, 12_000_000_000 + filling / 2);
        assert!(!cost.is_large());
    }

    #[test]
    fn the_points_of_a_sweep_are_one_line() {
        let mut campaign = writing(5, 10);
        for (at, test) in (1..).zip(&mut campaign.suites[0].tests[1..4]) {
            test.sweep = Some(SweepPoint {
                of: "sweep".into(),
                at: BTreeMap::from([(Axis::Threads, at)]),
            });
        }
        let cost = cost(&campaign, Pace::default());
        let lines: Vec<_> = cost
            .tests
            .iter()
            .map(|t| (t.test.as_str(), t.points, t.cells))
            .collect();
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
            let work = Work {
                written: Bytes(bytes),
                ..Work::default()
            };
            let pace = Pace::default();
            passes(phase, work, pace) as f64 * whole(phase, work, pace).as_secs_f64()
        };
        let limited = phase(Some(Nanos::from_secs(1)), None);
        assert_eq!(seconds(&limited, 5_000_000_000), 1.0);
        let scaling = Scaling {
            at_least: Nanos::from_secs(1),
            width: 0.1,
            passes: 20,
            limit: Nanos::from_secs(10),
        };
        let repeated = phase(None, Some(scaling));
        assert_eq!(
            seconds(&repeated, 25_000_000),
            1.0,
            "twenty passes of 50 ms"
        );
        assert_eq!(
            seconds(&repeated, 5_000_000),
            0.2,
            "twenty, which is the most"
        );
        assert_eq!(seconds(&repeated, 5_000_000_000), 10.0, "once is enough");
        assert_eq!(
            seconds(&repeated, 300_000_000),
            0.6,
            "too much to write it again"
        );
        let short = Scaling {
            limit: Nanos(100_000_000),
            ..scaling
        };
        let repeated = phase(None, Some(short));
        assert_eq!(seconds(&repeated, 25_000_000), 0.1, "no more time");
    }

    /// Copies of 401 GB were announced as 4 GB, for each phase was counted once.
    #[test]
    fn what_repetitions_write_is_announced() {
        let mut campaign = writing(1, 5);
        campaign.suites[0].tests[0].phases[0].scaling = Some(Scaling {
            at_least: Nanos::from_secs(5),
            width: 0.03,
            passes: 200,
            limit: Nanos::from_secs(120),
        });
        let cost = cost(&campaign, Pace::default());
        assert_eq!(cost.work.written, Bytes(6 * 200 * 5_000_000));
    }

    #[test]
    fn a_source_is_read_and_a_second_image_is_written() {
        let mut campaign = writing(1, 1);
        campaign.suites[0].tests[0].phases[0].op = Op::CopyFileIn {
            file: "f".into(),
            size: Bytes(5_000_000),
            block: Bytes::kib(64),
        };
        let in_memory = cost(&campaign, Pace::default());
        assert_eq!(in_memory.work.read, Bytes(0));
        assert_eq!(in_memory.work.written, Bytes(6 * 5_000_000));
        campaign.source = Some(Source::Image {
            size: Bytes::mib(100),
            contender: Box::new(campaign.contenders[0].clone()),
        });
        let from_image = cost(&campaign, Pace::default());
        assert_eq!(from_image.work.read, Bytes(6 * 5_000_000));
        let more = from_image.preparation.0 - in_memory.preparation.0;
        assert_eq!(more, Bytes::mib(100).0);
    }

    #[test]
    fn an_open_loop_takes_as_long_as_its_arrivals() {
        let mut campaign = writing(1, 1);
        let phase = &mut campaign.suites[0].tests[0].phases[0];
        if let Op::Io(io) = &mut phase.op {
            (io.operations, io.rate) = (Some(500), Some(100));
        }
        campaign.backend = Backend::Dir;
        let cost = cost(&campaign, Pace::default());
        assert_eq!(cost.time, Nanos(6 * 5_500_000_000));
    }

    proptest! {
        #[test]
        fn a_campaign_costs_what_its_tests_cost(tests in 0usize..6, megabytes in 1u64..10_000) {
            let cost = cost(&writing(tests, megabytes), Pace::default());
            prop_assert_eq!(cost.cells, tests as u64 * 6);
            prop_assert_eq!(cost.work.written.0, cost.cells * megabytes * 1_000_000);
            let sum: u64 = cost.tests.iter().map(|t| t.time.0).sum();
            let filling = cost.time.0 - sum;
            prop_assert_eq!(filling, cost.preparation.0 * 2);
        }

        #[test]
        fn a_faster_device_never_takes_longer(megabytes in 1u64..10_000, faster in 1.0..10.0f64) {
            let campaign = writing(2, megabytes);
            let slow = cost(&campaign, Pace::default());
            let pace = Pace { throughput: 500e6 * faster, ..Pace::default() };
            prop_assert!(cost(&campaign, pace).time <= slow.time);
        }
    }
}
