//! Runs cells on this machine's kernel: the agent as a child process, watched and, if need be, killed.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{CellResult, Nanos};
use sys::clock;
use sys::kmsg::KernelLog;
use wire::{Event, Job, Target};

use crate::agent::{Agent, Outcome, Watch};
use crate::collector::Collector;
use crate::ending::Ending;
use crate::kernel_log;
use crate::memory::MemoryLimit;
use crate::{Executor, Interrupted};

/// Runs agents as child processes.
pub struct HostExecutor {
    /// The program that is also the agent.
    pub program: PathBuf,
    /// Time without any event after which a cell is `hung`.
    pub patience: Nanos,
    /// A limit on memory, where the campaign has one.
    pub memory: Option<MemoryLimit>,
    /// Set by whoever wants the campaign to stop.
    pub stop: Arc<AtomicBool>,
}

impl Executor for HostExecutor {
    fn execute(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Interrupted> {
        let (started, start) = (clock::calendar(), clock::now());
        let mut kernel_log = KernelLog::from_now().ok();
        let mut collector = Collector::new(&job.test);
        let killed_before = self.memory.as_ref().map_or(0, MemoryLimit::kills);
        let ending = match self.start(job) {
            Ok(agent) => ending(agent.watch(&self.watch(), &mut collector, observe)?),
            Err(error) => Ending::Died {
                how: format!("it could not be started: {error}"),
            },
        };
        let news = kernel_log
            .as_mut()
            .map(|log| kernel_log::of_cell(log.news(), job));
        if let Some(memory) = self.memory.as_ref().filter(|m| m.kills() > killed_before) {
            collector.out_of_memory(memory.limit());
        }
        let mut result = collector.finish(ending, news);
        result.started = started;
        result.elapsed = clock::since(start);
        Ok(result)
    }
}

impl HostExecutor {
    /// Starts the agent and gives it its job. What needs mounts gets namespaces of its own.
    fn start(&self, job: &Job) -> io::Result<Agent> {
        let mut command = Command::new(&self.program);
        command.arg("agent");
        if matches!(job.target, Target::Volume(_)) {
            command.arg("--isolate");
        }
        Agent::start(&mut command, job, self.memory.as_ref())
    }

    fn watch(&self) -> Watch<'_> {
        Watch {
            first: self.patience,
            patience: self.patience,
            stop: &self.stop,
        }
    }
}

fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Done => Ending::Done,
        Outcome::Ended { status, errors } => {
            let how = status.map_or_else(
                || "it closed its channel but did not end".to_owned(),
                describe,
            );
            Ending::Died {
                how: if errors.is_empty() {
                    how
                } else {
                    format!("{how}: {errors}")
                },
            }
        }
        Outcome::Hung {
            silence,
            stacks,
            unkillable,
        } => Ending::Hung {
            silence,
            stacks,
            unkillable,
        },
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        // The parent of the agent proper tells a signal as shells do.
        (Some(code @ 129..=192), _) => format!("signal {} killed it", code - 128),
        (Some(code), _) => format!("it ended with {code}"),
        (None, Some(signal)) => format!("signal {signal} killed it"),
        (None, None) => "its end is unknown".to_owned(),
    }
}
