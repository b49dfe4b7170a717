//! The data types of comparisons and the procedure that runs them: a scratch directory, rounds in
//! which the sides alternate, pairs of results and a verdict on each.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;
use backend::MemoryCgroup;
use model::{Bytes, Phase};
use serde::Serialize;

use crate::paired::{self, Comparison};
use crate::peers::engine::Engine;
use crate::peers::{Sample, Samples, bonnie, boot, dd, fio, fsmark, iozone, loop_c};
use crate::scratch::{FsType, Image, ScratchFs};

/// Sides that do the same in one scratch directory.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// The word by which `--only` chooses it.
    pub name: String,
    /// Filesystem for the comparison.
    pub scratch: FsType,
    /// Memory limit of both sides, including the page cache. `None` means no limit.
    pub memory: Option<Bytes>,
    /// Phases that the engine runs once before any side is measured. They create the files that all
    /// sides read.
    pub prepare: Vec<Phase>,
    /// Programs to compare.
    pub sides: Vec<Competitor>,
    /// Results to compare.
    pub rows: Vec<Row>,
}

/// A program in the comparison.
#[derive(Clone, Debug)]
pub struct Competitor {
    /// Name in [`Quantity`] and in tables.
    pub name: &'static str,
    /// Command or phases to run.
    pub runner: Runner,
}

/// Work of a side in one round.
#[derive(Clone, Debug)]
pub enum Runner {
    /// Phases of the engine, in order.
    Engine(Vec<Phase>),
    /// Jobs of fio, in order.
    Fio(Vec<fio::Job>),
    /// dd.
    Dd(Vec<dd::DdRun>),
    /// The bare loop.
    Loop(Vec<loop_c::CLoopRun>),
    /// fs_mark.
    FsMark(fsmark::FsMarkRun),
    /// bonnie++.
    Bonnie(bonnie::Run),
    /// IOzone.
    Iozone(iozone::Run),
    /// A guest that boots.
    Boot(boot::Boot),
}

impl Runner {
    fn run(&self, scratch: &ScratchFs, engine: &mut Engine) -> anyhow::Result<Samples> {
        match self {
            Self::Engine(phases) => engine.run(phases, scratch),
            Self::Fio(jobs) => all(jobs, |job| job.run(scratch)),
            Self::Dd(copies) => all(copies, |copy| copy.run(scratch)),
            Self::Loop(loops) => all(loops, |l| l.run(scratch)),
            Self::FsMark(files) => files.run(scratch),
            Self::Bonnie(run) => run.run(scratch),
            Self::Iozone(run) => run.run(scratch),
            Self::Boot(boot) => boot.run(scratch),
        }
    }
}

fn all<T>(parts: &[T], run: impl Fn(&T) -> anyhow::Result<Samples>) -> anyhow::Result<Samples> {
    let mut results = Samples::new();
    for part in parts {
        results.extend(run(part)?);
    }
    Ok(results)
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Human-readable title.
    pub title: String,
    /// Unit of the numbers.
    pub unit: Unit,
    /// Ours.
    pub ours: Quantity,
    /// With what it is compared.
    pub against: Reference,
    /// Required ratio.
    pub target: Goal,
}

/// With what ours is compared.
#[derive(Clone, Debug)]
pub enum Reference {
    /// A peer's result.
    Peer(Quantity),
    /// A fixed number, in the unit of the row.
    Fixed(f64),
}

/// Required ratio of the engine's result to the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Minimum ratio.
    AtLeast(f64),
    /// Maximum ratio, if less is better.
    AtMost(f64),
    /// As far from 1 as this share, at most, either way: the two should measure the same.
    Within(f64),
}

/// A number that follows from the results of a round.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// The rate of a side's result.
    Rate(&'static str, String),
    /// The rate of a side's result times a number: bytes per second of operations of one size.
    Scaled(&'static str, String, f64),
    /// Seconds per operation of a side's result.
    Time(&'static str, String),
    /// Processor time per operation of a side's result.
    Processor(&'static str, String),
    /// Ratio of the second result of a side to the first: scaling with threads.
    Growth(&'static str, String, String),
    /// A number of bytes by the processor time of an operation: bytes per second of one busy core.
    PerCore(&'static str, String, f64),
    /// Throughput of additional work, in bytes per second of one busy core. Both results move the
    /// given number of bytes per operation, and the second does additional work with them. The
    /// difference of their processor times is the time of that work.
    Surplus(&'static str, [String; 2], f64),
}

/// Unit of a number, for printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes per second.
    Bytes,
    /// Operations per second.
    Operations,
    /// Seconds.
    Seconds,
    /// A ratio.
    Times,
}

/// Result of a row.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// The contest.
    pub contest: String,
    /// The row's title.
    pub title: String,
    /// The filesystem.
    pub scratch: FsType,
    /// Name of the peer. `None` if the row compares with a fixed number.
    pub peer: Option<&'static str>,
    /// Unit of the numbers.
    pub unit: Unit,
    /// Required ratio.
    pub target: Goal,
    /// The comparison. `None` if a pair lacks a result.
    pub comparison: Option<Comparison>,
    /// Verdict on the target.
    pub verdict: Verdict,
    /// Why it could not be run, in one line.
    pub obstacle: Option<String>,
}

/// Whether a target is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is.
    Met,
    /// It is not, though the interval holds values that would meet it.
    MissedWithinNoise,
    /// It is not.
    Missed,
    /// A side gave no result: a phase was too short, say.
    NoResult,
}

impl Goal {
    /// Whether a ratio is as wanted.
    pub fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
            Self::Within(share) => (1.0 - share..=1.0 + share).contains(&ratio),
        }
    }

    /// Judges the ratio of the medians. The interval only decides between [`Verdict::Missed`] and
    /// [`Verdict::MissedWithinNoise`].
    pub fn judge(self, comparison: Option<&Comparison>) -> Verdict {
        let Some(c) = comparison else {
            return Verdict::NoResult;
        };
        let reached = match self {
            Self::AtLeast(_) => self.is_met(c.interval.high),
            Self::AtMost(_) => self.is_met(c.interval.low),
            Self::Within(share) => c.interval.low <= 1.0 + share && c.interval.high >= 1.0 - share,
        };
        match (self.is_met(c.ratio), reached) {
            (true, _) => Verdict::Met,
            (false, true) => Verdict::MissedWithinNoise,
            (false, false) => Verdict::Missed,
        }
    }
}

/// The results of every side in one round.
type Round = BTreeMap<&'static str, Samples>;

impl Quantity {
    /// The side that it is a number of.
    pub const fn side(&self) -> &'static str {
        match self {
            Self::Rate(side, _)
            | Self::Scaled(side, _, _)
            | Self::Time(side, _)
            | Self::Processor(side, _)
            | Self::Growth(side, _, _)
            | Self::PerCore(side, _, _)
            | Self::Surplus(side, _, _) => side,
        }
    }

    fn of(&self, round: &Round) -> Option<f64> {
        let sample = |name: &str| -> Option<Sample> { round.get(self.side())?.get(name).copied() };
        match self {
            Self::Rate(_, name) => Some(sample(name)?.rate),
            Self::Scaled(_, name, factor) => Some(sample(name)?.rate * factor),
            Self::Time(_, name) => Some(1.0 / sample(name)?.rate),
            Self::Processor(_, name) => sample(name)?.processor,
            Self::Growth(_, one, many) => Some(sample(many)?.rate / sample(one)?.rate),
            Self::PerCore(_, name, bytes) => Some(bytes / sample(name)?.processor?),
            Self::Surplus(_, [plain, more], bytes) => {
                Some(bytes / (sample(more)?.processor? - sample(plain)?.processor?))
            }
        }
    }
}

/// A memory limit for this process and its children, including the page cache.
#[derive(Debug)]
struct Confined(MemoryCgroup);

impl Confined {
    fn to(memory: Bytes) -> anyhow::Result<Self> {
        let limit = MemoryCgroup::new("fsarena-bench", memory)?;
        limit.enter().context("entering the memory's limit")?;
        Ok(Self(limit))
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // If leaving fails, the limit holds until this process ends.
        let _ = self.0.move_to_parent();
    }
}

/// How contests are run.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Pairs of each.
    pub pairs: usize,
    /// Rounds before those that count.
    pub warm_up: usize,
    /// Image for filesystems on a loop device.
    pub image: Option<&'a Image>,
    /// How the engine's process is started.
    pub engine: fn() -> anyhow::Result<Command>,
}

impl Benchmark {
    /// Runs it, and compares.
    ///
    /// # Errors
    /// When a side fails, or the scratch directory cannot be made.
    pub fn run(
        &self,
        setting: &RunOptions<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Vec<RowResult>> {
        let scratch = ScratchFs::prepare(self.scratch, setting.image, self.memory)?;
        progress(&format!(
            "{} on {}: {}",
            self.name,
            self.scratch,
            scratch.attachment()
        ));
        let rounds = self
            .rounds(&scratch, setting, progress)
            .with_context(|| format!("{} on {}", self.name, self.scratch))?;
        Ok(self.judge(&rounds))
    }

    fn rounds(
        &self,
        scratch: &ScratchFs,
        setting: &RunOptions<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Vec<Round>> {
        let _limit = self.memory.map(Confined::to).transpose()?;
        let mut engine = Engine::start(&mut (setting.engine)()?, scratch.path())?;
        engine.run(&self.prepare, scratch)?;
        let mut rounds = Vec::new();
        for number in 0..setting.warm_up + setting.pairs {
            let mut round = Round::new();
            for i in paired::order(number, self.sides.len()) {
                let side = &self.sides[i];
                progress(&format!(
                    "{} on {}, round {} of {}: {}",
                    self.name,
                    self.scratch,
                    number + 1,
                    setting.warm_up + setting.pairs,
                    side.name
                ));
                scratch.sync();
                round.insert(side.name, side.runner.run(scratch, &mut engine)?);
            }
            if number >= setting.warm_up {
                rounds.push(round);
            }
        }
        Ok(rounds)
    }

    /// Compares the results of all rounds and returns the result of each row.
    pub fn judge(&self, rounds: &[Round]) -> Vec<RowResult> {
        let judge = |row: &Row| {
            let pair = |round: &Round| {
                let peer = match &row.against {
                    Reference::Peer(quantity) => quantity.of(round)?,
                    Reference::Fixed(number) => *number,
                };
                Some((row.ours.of(round)?, peer))
            };
            let pairs: Option<Vec<(f64, f64)>> = rounds.iter().map(pair).collect();
            let comparison = pairs.and_then(|pairs| paired::compare(&pairs));
            RowResult {
                contest: self.name.clone(),
                title: row.title.clone(),
                scratch: self.scratch,
                peer: match &row.against {
                    Reference::Peer(quantity) => Some(quantity.side()),
                    Reference::Fixed(_) => None,
                },
                unit: row.unit,
                target: row.target,
                verdict: row.target.judge(comparison.as_ref()),
                comparison,
                obstacle: None,
            }
        };
        self.rows.iter().map(judge).collect()
    }

    /// Returns rows without results, for a contest that failed to run.
    pub fn failed_rows(&self, why: &anyhow::Error) -> Vec<RowResult> {
        let cause = why.root_cause().to_string();
        let obstacle = cause.lines().next().map(str::to_owned);
        let rows = self.judge(&[]).into_iter();
        rows.map(|row| RowResult {
            obstacle: obstacle.clone(),
            ..row
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratio: f64, low: f64, high: f64) -> Comparison {
        Comparison {
            ours: ratio,
            peer: 1.0,
            ratio,
            lowest: low,
            highest: high,
            interval: stats::Interval {
                low,
                high,
                confidence: 0.96,
            },
            pairs: 6,
        }
    }

    #[test]
    fn a_target_is_met_by_the_ratio_and_never_by_the_noise() {
        let judge = |target: Goal, c: Comparison| target.judge(Some(&c));
        let wide = comparison(0.95, 0.8, 1.2);
        assert_eq!(judge(Goal::AtLeast(0.9), wide), Verdict::Met);
        assert_eq!(judge(Goal::AtLeast(1.0), wide), Verdict::MissedWithinNoise);
        assert_eq!(judge(Goal::AtLeast(1.3), wide), Verdict::Missed);
        assert_eq!(judge(Goal::AtMost(1.0), wide), Verdict::Met);
        assert_eq!(judge(Goal::AtMost(0.9), wide), Verdict::MissedWithinNoise);
        assert_eq!(judge(Goal::AtMost(0.7), wide), Verdict::Missed);
        assert_eq!(judge(Goal::Within(0.1), wide), Verdict::Met);
        assert_eq!(judge(Goal::Within(0.01), wide), Verdict::MissedWithinNoise);
        let apart = comparison(2.0, 1.9, 2.1);
        assert_eq!(judge(Goal::Within(0.1), apart), Verdict::Missed);
        assert_eq!(Goal::AtLeast(1.0).judge(None), Verdict::NoResult);
    }

    #[test]
    fn quantities_follow_from_the_results_of_a_round() {
        let sample = |rate, processor| Sample {
            rate,
            processor: Some(processor),
        };
        let results = Samples::from([
            ("one".to_owned(), sample(10.0, 0.5)),
            ("many".to_owned(), sample(40.0, 0.25)),
        ]);
        let round = Round::from([("us", results)]);
        let (one, many) = (|| "one".to_owned(), || "many".to_owned());
        let of = |q: Quantity| q.of(&round);
        assert_eq!(of(Quantity::Rate("us", one())), Some(10.0));
        assert_eq!(of(Quantity::Time("us", one())), Some(0.1));
        assert_eq!(of(Quantity::Processor("us", many())), Some(0.25));
        assert_eq!(of(Quantity::Growth("us", one(), many())), Some(4.0));
        assert_eq!(of(Quantity::Scaled("us", one(), 3.0)), Some(30.0));
        assert_eq!(of(Quantity::PerCore("us", one(), 7.0)), Some(14.0));
        let surplus = Quantity::Surplus("us", [many(), one()], 6.0);
        assert_eq!(of(surplus), Some(24.0));
        assert_eq!(of(Quantity::Rate("us", "none".into())), None);
        assert_eq!(of(Quantity::Rate("them", one())), None);
    }

    #[test]
    fn a_missing_result_in_one_round_gives_no_result() {
        let contest = Benchmark {
            name: "c".into(),
            scratch: FsType::Tmpfs,
            memory: None,
            prepare: Vec::new(),
            sides: Vec::new(),
            rows: vec![Row {
                title: "t".into(),
                unit: Unit::Operations,
                ours: Quantity::Rate("us", "f".into()),
                against: Reference::Peer(Quantity::Rate("them", "f".into())),
                target: Goal::AtLeast(1.0),
            }],
        };
        let results = || Samples::from([("f".to_owned(), Sample::rate(2.0))]);
        let whole = Round::from([("us", results()), ("them", results())]);
        let partial = Round::from([("us", results())]);
        let judged = contest.judge(&[whole.clone(), whole.clone()]);
        assert_eq!(judged[0].verdict, Verdict::Met);
        let judged = contest.judge(&[whole, partial]);
        assert_eq!(judged[0].verdict, Verdict::NoResult);
    }
}
