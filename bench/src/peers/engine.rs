//! fsarena's engine in a separate process, which reads one phase per line and answers each with its
//! result. Its processor time is thus separate, as a peer's is, and the parent can remount between
//! phases.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use model::{CacheState, Metric, Phase, PhaseResult};
use serde::{Deserialize, Serialize};
use workload::{CellWorkspace, IoMode, PhaseMeter, ThreadStats};

use crate::peers::{PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// Common seed, so that names, offsets and data are equal in each run.
const SEED: u64 = 1;

/// Answer to the request for a phase.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done(Box<PhaseResult>),
    Failed(String),
}

/// The engine process, which ends on drop.
#[derive(Debug)]
pub struct Engine {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Engine {
    /// Starts the engine process for a directory with a command that runs [`serve`].
    ///
    /// # Errors
    /// Returns an error if this program cannot be started again.
    pub fn start(command: &mut Command, directory: &Path) -> anyhow::Result<Self> {
        let mut child = command
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the engine cannot be started")?;
        Ok(Self {
            orders: Some(child.stdin.take().context("its standard input")?),
            answers: BufReader::new(child.stdout.take().context("its standard output")?),
            child,
        })
    }

    /// Runs phases in order, each after setting its cache state. Returns the results by phase name.
    ///
    /// # Errors
    /// Returns an error if a phase fails.
    pub fn run(&mut self, phases: &[Phase], scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        let mut results = PeerSamples::new();
        for phase in phases {
            if phase.cache == CacheState::Cold {
                scratch.make_cold()?;
            }
            let result = self.perform(phase)?;
            results.insert(phase.name.clone(), sample(&result)?);
        }
        Ok(results)
    }

    /// Runs one phase.
    ///
    /// # Errors
    /// Returns an error if the phase fails or the engine process ends.
    pub fn perform(&mut self, phase: &Phase) -> anyhow::Result<PhaseResult> {
        let orders = self.orders.as_mut().context("it was started with one")?;
        writeln!(orders, "{}", serde_json::to_string(phase)?)?;
        orders.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match serde_json::from_str(&line).context("the engine's process ended")? {
            Answer::Done(result) => Ok(*result),
            Answer::Failed(why) => anyhow::bail!("{} of the engine: {why}", phase.name),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

/// Returns the primary rate of a phase and its processor time per operation.
fn sample(result: &PhaseResult) -> anyhow::Result<PeerSample> {
    let primary_metric = match result.primary_metric {
        Metric::Throughput => Metric::Throughput,
        _ => Metric::Rate,
    };
    let numbers = result.measurements();
    let rate = numbers.iter().find(|m| m.metric == primary_metric);
    let rate = rate.with_context(|| format!("{} took no time", result.phase))?;
    let busy = result.cpu.user.as_secs_f64() + result.cpu.system.as_secs_f64();
    Ok(PeerSample { rate: rate.value, processor: Some(busy / result.operations.max(1) as f64) })
}

/// Runs the engine's side: reads phases and writes results, one per line, until the end of the
/// input.
///
/// # Errors
/// Returns an error if a line is not a phase or a result cannot be written.
pub fn serve(
    directory: &Path,
    orders: impl BufRead,
    mut answers: impl Write,
) -> anyhow::Result<()> {
    let mut workspace = CellWorkspace::new(directory, SEED);
    for line in orders.lines() {
        let phase: Phase = serde_json::from_str(&line?).context("a phase")?;
        let answer = match perform(&phase, &mut workspace) {
            Ok(result) => Answer::Done(Box::new(result)),
            Err(error) => Answer::Failed(error.to_string()),
        };
        writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
        answers.flush()?;
    }
    Ok(())
}

fn perform(phase: &Phase, workspace: &mut CellWorkspace) -> Result<PhaseResult, workload::OpError> {
    let mut result = PhaseResult::not_run(phase);
    let mut tally = ThreadStats::new(
        phase.at_most,
        Default::default(),
        PhaseMeter::start(None, Some(workspace.root())),
    );
    let setting = IoMode { ends: phase.sync_at_end, direct: phase.cache == CacheState::Direct };
    workload::perform(&phase.op, setting, workspace, &mut tally)?;
    tally.finish(&mut result);
    Ok(result)
}

/// Runs [`serve`] on standard input and output of this process.
///
/// # Errors
/// Returns the errors of [`serve`].
pub fn serve_parent(directory: &Path) -> anyhow::Result<()> {
    serve(directory, io::stdin().lock(), io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use model::{AccessPattern, Bytes, Io, Op, RemoveFile};

    use super::*;
    use crate::plan::{phase, write};

    fn answers(directory: &Path, phases: &[Phase]) -> Vec<Answer> {
        let orders: Vec<String> =
            phases.iter().map(|p| serde_json::to_string(p).unwrap()).collect();
        let mut answers = Vec::new();
        serve(directory, orders.join("\n").as_bytes(), &mut answers).unwrap();
        let lines = answers.split(|&b| b == b'\n').filter(|l| !l.is_empty());
        lines.map(|l| serde_json::from_slice(l).unwrap()).collect()
    }

    #[test]
    fn answers_each_phase_and_continues_after_a_failure() {
        let place = tempfile::tempdir().unwrap();
        let block = Bytes::kib(4);
        let read = |file| phase("read", Op::Io(Io::new(file, AccessPattern::Read, block)));
        let phases = [write("write", "f", Bytes::kib(40), block), read("missing"), read("f")];
        let answers = answers(place.path(), &phases);
        let [Answer::Done(written), Answer::Failed(why), Answer::Done(read)] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert_eq!((written.operations, read.operations), (10, 10));
        assert!(why.contains("missing"), "{why}");
        assert!(sample(read).unwrap().rate > 0.0);
    }

    #[test]
    fn direct_is_passed_on() {
        let place = tempfile::tempdir().unwrap();
        let direct = Phase {
            cache: CacheState::Direct,
            ..phase("remove", Op::RemoveFile(RemoveFile { file: "f".into() }))
        };
        let answers = answers(place.path(), &[direct]);
        let [Answer::Failed(why)] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert!(why.contains("page cache"), "{why}");
    }
}
