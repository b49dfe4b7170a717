//! The data types of comparisons and the procedure that runs them: a scratch directory, rounds in
//! which the sides alternate, pairs of results and a verdict on each.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;
use backend::MemoryCgroup;
use model::{Bytes, Phase};
use serde::Serialize;

use crate::paired::{self, PairedComparison};
use crate::peers::engine::Engine;
use crate::peers::{PeerSample, PeerSamples, bonnie, boot, dd, fio, fsmark, iozone, loop_c};
use crate::scratch::{FsType, ScratchFs, ScratchImage};

/// Sides that do the same work in one scratch directory.
#[derive(Clone, Debug)]
pub struct PeerBenchmark {
    /// Name for `--only`.
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
    pub rows: Vec<ComparisonRow>,
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
    Fio(Vec<fio::FioBenchJob>),
    /// dd.
    Dd(Vec<dd::DdRun>),
    /// Loop in C without a benchmark program.
    Loop(Vec<loop_c::CLoopRun>),
    /// fs_mark.
    FsMark(fsmark::FsMarkRun),
    /// bonnie++.
    Bonnie(bonnie::BonnieRun),
    /// IOzone.
    Iozone(iozone::IozoneRun),
    /// Boot of a guest.
    Boot(boot::BootBenchmark),
}

impl Runner {
    fn run(&self, scratch: &ScratchFs, engine: &mut Engine) -> anyhow::Result<PeerSamples> {
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

fn all<T>(
    parts: &[T],
    run: impl Fn(&T) -> anyhow::Result<PeerSamples>,
) -> anyhow::Result<PeerSamples> {
    let mut results = PeerSamples::new();
    for part in parts {
        results.extend(run(part)?);
    }
    Ok(results)
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    /// Human-readable title.
    pub title: String,
    /// Unit of the numbers.
    pub unit: ComparisonUnit,
    /// Ours.
    pub ours: Quantity,
    /// Reference of the comparison.
    pub against: PeerReference,
    /// Required ratio.
    pub target: Goal,
}

/// Reference to which our result is compared.
#[derive(Clone, Debug)]
pub enum PeerReference {
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
    /// Maximum distance of the ratio from 1, in both directions: both sides must measure the same.
    Within(f64),
}

/// A number computed from the results of a round.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// Rate of a result.
    Rate(&'static str, String),
    /// Rate of a result times a factor: bytes per second for operations of one size.
    Scaled(&'static str, String, f64),
    /// Seconds per operation of a result.
    Time(&'static str, String),
    /// Processor time per operation of a result.
    Processor(&'static str, String),
    /// Ratio of the second result of a side to the first: scaling with threads.
    Growth(&'static str, String, String),
    /// Bytes divided by the processor time of an operation: bytes per second of one busy core.
    PerCore(&'static str, String, f64),
    /// Throughput of additional work, in bytes per second of one busy core. Both results move the
    /// given number of bytes per operation, and the second does additional work with them. The
    /// difference of their processor times is the time of that work.
    Surplus(&'static str, [String; 2], f64),
}

/// Unit of a number, for printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonUnit {
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
    /// Title of the row.
    pub title: String,
    /// The filesystem.
    pub scratch: FsType,
    /// Name of the peer. `None` if the row compares with a fixed number.
    pub peer: Option<&'static str>,
    /// Unit of the numbers.
    pub unit: ComparisonUnit,
    /// Required ratio.
    pub target: Goal,
    /// The comparison. `None` if a pair lacks a result.
    pub comparison: Option<PairedComparison>,
    /// Verdict on the target.
    pub verdict: TargetVerdict,
    /// One-line reason if the comparison could not run.
    pub obstacle: Option<String>,
}

/// Result of a check against a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetVerdict {
    /// It is.
    Met,
    /// The target is missed, but the interval contains values that would meet it.
    MissedWithinNoise,
    /// The target is missed.
    Missed,
    /// A side gave no result, for example because a phase was too short.
    NoResult,
}

impl Goal {
    /// Returns true if a ratio meets the goal.
    pub fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
            Self::Within(share) => (1.0 - share..=1.0 + share).contains(&ratio),
        }
    }

    /// Judges the ratio of the medians. The interval only decides between [`TargetVerdict::Missed`] and
    /// [`TargetVerdict::MissedWithinNoise`].
    pub fn judge(self, comparison: Option<&PairedComparison>) -> TargetVerdict {
        let Some(c) = comparison else {
            return TargetVerdict::NoResult;
        };
        let reached = match self {
            Self::AtLeast(_) => self.is_met(c.interval.high),
            Self::AtMost(_) => self.is_met(c.interval.low),
            Self::Within(share) => c.interval.low <= 1.0 + share && c.interval.high >= 1.0 - share,
        };
        match (self.is_met(c.ratio), reached) {
            (true, _) => TargetVerdict::Met,
            (false, true) => TargetVerdict::MissedWithinNoise,
            (false, false) => TargetVerdict::Missed,
        }
    }
}

/// Results of all sides in one round.
type Round = BTreeMap<&'static str, PeerSamples>;

impl Quantity {
    /// Returns the side from which the number is computed.
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
        let sample =
            |name: &str| -> Option<PeerSample> { round.get(self.side())?.get(name).copied() };
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

/// Options for running comparisons.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Number of pairs per comparison.
    pub pairs: usize,
    /// Number of uncounted warm-up rounds.
    pub warm_up: usize,
    /// Image for filesystems on a loop device.
    pub image: Option<&'a ScratchImage>,
    /// Creates the command that starts the engine process.
    pub engine: fn() -> anyhow::Result<Command>,
}

impl PeerBenchmark {
    /// Runs the comparison.
    ///
    /// # Errors
    /// Returns an error if a side fails or the scratch directory cannot be created.
    pub fn run(
        &self,
        setting: &RunOptions<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Vec<RowResult>> {
        let scratch = ScratchFs::prepare(self.scratch, setting.image, self.memory)?;
        progress(&format!("{} on {}: {}", self.name, self.scratch, scratch.attachment()));
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
        let judge = |row: &ComparisonRow| {
            let pair = |round: &Round| {
                let peer = match &row.against {
                    PeerReference::Peer(quantity) => quantity.of(round)?,
                    PeerReference::Fixed(number) => *number,
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
                    PeerReference::Peer(quantity) => Some(quantity.side()),
                    PeerReference::Fixed(_) => None,
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
        rows.map(|row| RowResult { obstacle: obstacle.clone(), ..row }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratio: f64, low: f64, high: f64) -> PairedComparison {
        PairedComparison {
            ours: ratio,
            peer: 1.0,
            ratio,
            lowest: low,
            highest: high,
            interval: stats::Interval { low, high, confidence: 0.96 },
            pairs: 6,
        }
    }

    #[test]
    fn a_target_is_met_by_the_ratio_and_never_by_the_noise() {
        let judge = |target: Goal, c: PairedComparison| target.judge(Some(&c));
        let wide = comparison(0.95, 0.8, 1.2);
        assert_eq!(judge(Goal::AtLeast(0.9), wide), TargetVerdict::Met);
        assert_eq!(judge(Goal::AtLeast(1.0), wide), TargetVerdict::MissedWithinNoise);
        assert_eq!(judge(Goal::AtLeast(1.3), wide), TargetVerdict::Missed);
        assert_eq!(judge(Goal::AtMost(1.0), wide), TargetVerdict::Met);
        assert_eq!(judge(Goal::AtMost(0.9), wide), TargetVerdict::MissedWithinNoise);
        assert_eq!(judge(Goal::AtMost(0.7), wide), TargetVerdict::Missed);
        assert_eq!(judge(Goal::Within(0.1), wide), TargetVerdict::Met);
        assert_eq!(judge(Goal::Within(0.01), wide), TargetVerdict::MissedWithinNoise);
        let apart = comparison(2.0, 1.9, 2.1);
        assert_eq!(judge(Goal::Within(0.1), apart), TargetVerdict::Missed);
        assert_eq!(Goal::AtLeast(1.0).judge(None), TargetVerdict::NoResult);
    }

    #[test]
    fn quantities_follow_from_the_results_of_a_round() {
        let sample = |rate, processor| PeerSample { rate, processor: Some(processor) };
        let results = PeerSamples::from([
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
        let contest = PeerBenchmark {
            name: "c".into(),
            scratch: FsType::Tmpfs,
            memory: None,
            prepare: Vec::new(),
            sides: Vec::new(),
            rows: vec![ComparisonRow {
                title: "t".into(),
                unit: ComparisonUnit::Operations,
                ours: Quantity::Rate("us", "f".into()),
                against: PeerReference::Peer(Quantity::Rate("them", "f".into())),
                target: Goal::AtLeast(1.0),
            }],
        };
        let results = || PeerSamples::from([("f".to_owned(), PeerSample::rate(2.0))]);
        let whole = Round::from([("us", results()), ("them", results())]);
        let partial = Round::from([("us", results())]);
        let judged = contest.judge(&[whole.clone(), whole.clone()]);
        assert_eq!(judged[0].verdict, TargetVerdict::Met);
        let judged = contest.judge(&[whole, partial]);
        assert_eq!(judged[0].verdict, TargetVerdict::NoResult);
    }
}
