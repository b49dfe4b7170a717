//! Forecast of the duration of cells and of a campaign, from assumptions, from earlier campaigns
//! and from finished cells.
//!
//! The forecast of a cell is the duration of the finished cells of its contender and test, or else
//! their duration in an earlier campaign. For pairs that never ran, it is the assumed duration
//! ([`crate::plan::ThroughputModel`]) times a correction, which combines the deviations observed for all cells, for
//! the kind of driver, for the contender and for the test. Each deviation is the best linear
//! unbiased prediction of a model with random effects on the logarithms of times (G. K. Robinson,
//! That BLUP is a Good Thing, Statistical Science 6(1), 1991).

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;

use model::{Campaign, CampaignId, Cell, CellResult, Contender, DriverKind, Nanos, Status, Test};
use serde::{Deserialize, Serialize};

use crate::plan::cost::{CostInputs, cell_time};
use crate::plan::throughput_model::ThroughputModel;
use crate::plan::writes;

/// Assumed remaining time of an overdue cell, as a share of its elapsed time.
const OVERDUE_FRACTION: f64 = 0.15;

/// Durations of cells in earlier campaigns under the same conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastDurations {
    /// Duration by names of contender and test.
    pub cells: BTreeMap<(String, String), Nanos>,
    /// The campaigns, newest first.
    pub campaigns: Vec<CampaignId>,
}

/// Sources of the cell durations before a campaign starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastSource {
    /// Number of pairs of a contender and a test.
    pub pairs: u64,
    /// Number of pairs that ran in earlier campaigns.
    pub remembered: u64,
    /// The earlier campaigns, newest first.
    pub campaigns: Vec<CampaignId>,
    /// Whether a pair that never ran uses a driver in user space.
    pub fuse: bool,
}

/// Forecast of the durations of a campaign's cells.
#[derive(Clone, Debug)]
pub struct Forecast {
    contenders: BTreeMap<String, usize>,
    tests: BTreeMap<String, usize>,
    /// Pairs of contender and test, grouped by contender.
    pairs: Vec<ContenderTest>,
    basis: ForecastSource,
    /// Number of finished cells that were run, and of those from a cache.
    run: u64,
    served: u64,
    /// Cached forecast in seconds for each pair, and the number of finished cells it is based on.
    known: RefCell<Option<(u64, Vec<f64>)>>,
}

/// A pair of a contender and a test.
#[derive(Clone, Debug)]
struct ContenderTest {
    /// Assumed seconds per cell.
    assumed: f64,
    /// Seconds per cell in an earlier campaign.
    remembered: Option<f64>,
    /// Duration of the finished cells, in seconds.
    own: Vec<f64>,
    /// Whether a cell succeeded. A pair with only early failures is not used to predict others.
    is_typical: bool,
    /// Number of unfinished cells.
    left: u64,
    /// Indices of the effects that the pair shares with other pairs.
    levels: [usize; DurationEffects::KINDS],
}

impl ContenderTest {
    /// Returns the observed duration, or `None` if no cell was observed.
    fn seen(&self) -> Option<f64> {
        median(&self.own).or(self.remembered)
    }
}

/// A running cell and its elapsed time.
#[derive(Clone, Copy, Debug)]
pub struct ActiveCell<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Time since the start of the cell.
    pub elapsed: Nanos,
}

impl Forecast {
    /// Creates the forecast of a campaign without planned or finished cells.
    pub fn new(campaign: &Campaign, pace: ThroughputModel, experience: &PastDurations) -> Self {
        let conditions = CostInputs::from_campaign(campaign);
        let tests: Vec<_> = campaign.suites.iter().flat_map(|s| &s.tests).collect();
        let assumed = |driver| -> Vec<f64> {
            let time = |test: &&Test| cell_time(test, driver, pace, &conditions).as_secs_f64();
            tests.iter().map(time).collect()
        };
        let (of_kernel, of_fuse) = (assumed(DriverKind::Kernel), assumed(DriverKind::Fuse));
        let mut fuse = false;
        let mut pairs = Vec::with_capacity(campaign.contenders.len() * tests.len());
        for (number, contender) in campaign.contenders.iter().enumerate() {
            let driver = contender.filesystem.driver;
            let assumed = match driver {
                DriverKind::Kernel => &of_kernel,
                DriverKind::Fuse => &of_fuse,
            };
            for (place, test) in tests.iter().enumerate() {
                let name = (contender.name.clone(), test.name.clone());
                let remembered = experience.cells.get(&name);
                fuse |= remembered.is_none() && driver == DriverKind::Fuse;
                let ageing = match test.makes_filesystem() {
                    true => 0.0,
                    false => ageing_time(campaign, contender, pace).as_secs_f64(),
                };
                pairs.push(ContenderTest {
                    assumed: assumed[place] + ageing,
                    remembered: remembered.map(|time| time.as_secs_f64()),
                    own: Vec::new(),
                    is_typical: false,
                    left: 0,
                    levels: DurationEffects::levels(driver, number, place, tests.len()),
                });
            }
        }
        let remembered = pairs.iter().filter(|pair| pair.remembered.is_some()).count();
        let numbered = |names: Vec<&String>| names.into_iter().cloned().zip(0..).collect();
        Self {
            basis: ForecastSource {
                pairs: pairs.len() as u64,
                remembered: remembered as u64,
                campaigns: match remembered {
                    0 => Vec::new(),
                    _ => experience.campaigns.clone(),
                },
                fuse,
            },
            contenders: numbered(campaign.contenders.iter().map(|c| &c.name).collect()),
            tests: numbered(tests.iter().map(|test| &test.name).collect()),
            pairs,
            run: 0,
            served: 0,
            known: RefCell::default(),
        }
    }

    /// Returns the sources of the durations before the first cell.
    pub const fn basis(&self) -> &ForecastSource {
        &self.basis
    }

    /// Adds planned cells.
    pub fn plan<'a>(&mut self, cells: impl IntoIterator<Item = &'a Cell>) {
        for cell in cells {
            if let Some(at) = self.place(cell) {
                self.pairs[at].left += 1;
            }
        }
    }

    /// Adds the result of a planned cell.
    pub fn record_result(&mut self, cell: &Cell, result: &CellResult) {
        let Some(at) = self.place(cell) else { return };
        let pair = &mut self.pairs[at];
        pair.left = pair.left.saturating_sub(1);
        // A cached result keeps the duration of its original run.
        if result.from_cache {
            self.served += 1;
            pair.remembered = Some(result.elapsed.as_secs_f64());
            return;
        }
        self.run += 1;
        pair.own.push(result.elapsed.as_secs_f64());
        pair.is_typical |= result.status == Status::Ok;
    }

    /// Estimates the duration of one cell for each contender and test, by name.
    pub fn cells(&self) -> BTreeMap<(&str, &str), Nanos> {
        let times = self.times();
        let contenders = self.contenders.iter();
        let pairs = contenders.flat_map(|(contender, number)| {
            let tests = self.tests.iter();
            tests.map(move |(test, place)| (contender, test, number * self.tests.len() + place))
        });
        pairs
            .map(|(contender, test, at)| ((contender.as_str(), test.as_str()), nanos(times[at])))
            .collect()
    }

    /// Estimates the total duration of these cells if they run one after another.
    pub fn total_time<'a>(&self, cells: impl IntoIterator<Item = &'a Cell>) -> Nanos {
        let times = self.times();
        let known = cells.into_iter().filter_map(|cell| self.place(cell));
        nanos(known.map(|at| times[at]).sum())
    }

    /// Estimates the time until all planned cells have finished with `abreast` parallel cells, and
    /// the time until the next one finishes.
    pub fn time_left(&self, going: &[ActiveCell<'_>], abreast: u64) -> (Nanos, Nanos) {
        let times = self.times();
        let cells: u64 = self.pairs.iter().map(|pair| pair.left).sum();
        let all = self.pairs.iter().zip(&*times);
        let mut work: f64 = all.map(|(pair, time)| pair.left as f64 * time).sum();
        let mut running = Vec::with_capacity(going.len());
        for ActiveCell { cell, elapsed } in going {
            let Some(at) = self.place(cell) else { continue };
            let elapsed = elapsed.as_secs_f64();
            let rest = (times[at] - elapsed).max(elapsed * OVERDUE_FRACTION);
            work += rest - times[at];
            running.push(rest);
        }
        let longest = running.iter().copied().fold(0.0, f64::max);
        let soonest = running.iter().copied().reduce(f64::min);
        let waiting = cells.saturating_sub(running.len() as u64);
        let (abreast, mean) = (abreast.max(1) as f64, work / cells.max(1) as f64);
        let left = match waiting {
            0 => longest,
            // The share of cells from the cache is assumed to continue. At the end, half of a
            // cell's duration is spent waiting for the last cells.
            _ => {
                let work = work * (1.0 - self.served as f64 / (self.served + self.run + 1) as f64);
                (work + (abreast - 1.0) * mean / 2.0) / abreast
            }
        };
        let next = soonest.unwrap_or(0.0).min(left);
        (nanos(left.max(longest)), nanos(next))
    }

    /// Returns the seconds per cell for each pair. Recomputed only when finished cells grow by 1 %:
    /// recomputing after each of a million cells would take days.
    fn times(&self) -> Ref<'_, [f64]> {
        const WORTH_IT: u64 = 100;
        let finished = self.run + self.served;
        let is_known = |known: &(u64, Vec<f64>)| finished - known.0 <= known.0 / WORTH_IT;
        if !self.known.borrow().as_ref().is_some_and(is_known) {
            *self.known.borrow_mut() = Some((finished, self.times_now()));
        }
        Ref::map(self.known.borrow(), |known| known.as_ref().map_or(&[][..], |known| &known.1[..]))
    }

    fn times_now(&self) -> Vec<f64> {
        let effects = DurationEffects::of(&self.pairs);
        let since = self.drift();
        let time = |pair: &ContenderTest| match (median(&pair.own), pair.remembered) {
            (Some(own), _) => own,
            (None, Some(remembered)) => remembered * since,
            (None, None) => pair.assumed * effects.factor(&pair.levels),
        };
        self.pairs.iter().map(time).collect()
    }

    /// Returns the ratio of current durations to those of earlier campaigns.
    fn drift(&self) -> f64 {
        let both = self.pairs.iter().filter(|pair| pair.is_typical);
        let both = both.filter_map(|pair| Some((median(&pair.own)?, pair.remembered?)));
        let (now, then) = both.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if then > 0.0 { now / then } else { 1.0 }
    }

    fn place(&self, cell: &Cell) -> Option<usize> {
        let contender = self.contenders.get(&cell.contender)?;
        Some(contender * self.tests.len() + self.tests.get(&cell.test)?)
    }
}

/// Deviations shared by pairs, as logarithms of the ratio of observed to assumed duration.
struct DurationEffects(Vec<f64>);

impl DurationEffects {
    /// Number of kinds of effects: all pairs, driver kind, contender, test, and driver kind in a
    /// test.
    const KINDS: usize = 5;
    /// Prior standard deviation of each kind of effect, of the logarithm: a test may take half or
    /// twice the assumed time, and contenders differ by several times.
    const SPREAD: [f64; Self::KINDS] = [0.5, 0.5, 0.7, 0.5, 0.4];
    /// Standard deviation of the rest that the effects do not explain.
    const RESIDUAL_SD: f64 = 0.3;
    /// Number of iterations until the effects converge.
    const ROUNDS: u32 = 40;
    /// Number of driver kinds.
    const DRIVERS: usize = 2;

    /// Returns the indices of a pair's effects.
    fn levels(
        driver: DriverKind,
        contender: usize,
        test: usize,
        tests: usize,
    ) -> [usize; Self::KINDS] {
        let driver = usize::from(driver == DriverKind::Fuse);
        let of_tests = 1 + Self::DRIVERS;
        let of_both = of_tests + tests;
        let of_contenders = of_both + Self::DRIVERS * tests;
        [0, 1 + driver, of_contenders + contender, of_tests + test, of_both + driver * tests + test]
    }

    /// Estimates the effects from the observed pairs, by Gauss–Seidel iteration on the equations of
    /// the ridge regression.
    fn of(pairs: &[ContenderTest]) -> Self {
        let seen = pairs.iter().filter_map(|pair| {
            let counts = pair.is_typical || pair.own.is_empty();
            let seen = pair.seen().filter(|time| counts && *time > 0.0)?;
            Some((pair.levels, (seen / pair.assumed).ln()))
        });
        let seen: Vec<([usize; Self::KINDS], f64)> = seen.collect();
        let count = pairs.iter().flat_map(|pair| pair.levels).max();
        let mut effects = Self(vec![0.0; count.map_or(0, |last| last + 1)]);
        if seen.is_empty() {
            return effects;
        }
        for _ in 0..Self::ROUNDS {
            for kind in 0..Self::KINDS {
                effects.adjust(kind, &seen);
            }
        }
        effects
    }

    /// Fits the effects of one kind to the residuals of the others.
    fn adjust(&mut self, kind: usize, seen: &[([usize; Self::KINDS], f64)]) {
        let precision = (Self::RESIDUAL_SD / Self::SPREAD[kind]).powi(2);
        let mut sums = vec![(0.0, 0.0); self.0.len()];
        for (levels, off) in seen {
            let others = self.sum(levels) - self.0[levels[kind]];
            let (sum, count) = &mut sums[levels[kind]];
            *sum += off - others;
            *count += 1.0;
        }
        for (effect, (sum, count)) in self.0.iter_mut().zip(sums) {
            if count > 0.0 {
                *effect = sum / (count + precision);
            }
        }
    }

    fn sum(&self, levels: &[usize; Self::KINDS]) -> f64 {
        levels.iter().map(|level| self.0[*level]).sum()
    }

    /// Returns the predicted ratio of actual to assumed duration.
    fn factor(&self, levels: &[usize; Self::KINDS]) -> f64 {
        self.sum(levels).exp()
    }
}

/// Estimates the time for ageing a contender before a test.
fn ageing_time(campaign: &Campaign, contender: &Contender, pace: ThroughputModel) -> Nanos {
    let written = writes::ageing_estimate(campaign, contender).0 as f64;
    pace.wall_time(nanos(written / pace.throughput))
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

/// Returns the median. For an even number, this is the mean of the two middle values.
fn median(times: &[f64]) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    let upper = *times.get(times.len() / 2)?;
    Some(times[(times.len() - 1) / 2].midpoint(upper))
}

#[cfg(test)]
#[path = "forecast_tests.rs"]
mod tests;
