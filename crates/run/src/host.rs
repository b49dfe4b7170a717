//! Runs cells on this machine's kernel: the agent as a child process, watched and, if need be, killed.

use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::{CellResult, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::kmsg::KernelLog;
use sys::{clock, process};
use wire::{Event, Job, Target};

use crate::collector::{Collector, Ending};
use crate::events;
use crate::kernel_log;
use crate::memory::MemoryLimit;
use crate::{Executor, Interrupted};

/// How often a stop that the user asked for is noticed.
const ATTENTION: Duration = Duration::from_millis(20);
/// How long a killed agent may take to go away before it is given up.
const BURIAL: Duration = Duration::from_secs(10);
/// The same when the user waits at the terminal: Ctrl-C is to end within two seconds.
const FAREWELL: Duration = Duration::from_secs(1);

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
            Ok(agent) => self.watch(agent, &mut collector, observe)?,
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
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at the terminal is for the orchestrator alone, which then ends the agent.
            .process_group(0)
            .spawn()?;
        let errors = events::errors(child.stderr.take().expect("piped above"));
        let agent = Agent { child, errors };
        agent.receive(job, self.memory.as_ref())
    }

    /// Passes events on until the agent is done, dies, hangs or is to stop.
    fn watch(
        &self,
        mut agent: Agent,
        collector: &mut Collector<'_>,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Ending, Interrupted> {
        let events = events::channel(agent.child.stdout.take().expect("piped at the start"));
        let mut last_event = clock::now();
        let mut done = false;
        loop {
            match events.recv_timeout(ATTENTION) {
                Ok(event) => {
                    last_event = clock::now();
                    observe(&event);
                    done |= event == Event::Done;
                    collector.take(event);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(agent.bury(done)),
                Err(RecvTimeoutError::Timeout) => {
                    let silence = clock::since(last_event);
                    if silence > self.patience {
                        return Ok(agent.give_up(silence));
                    }
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                agent.kill();
                agent.wait(FAREWELL);
                return Err(Interrupted);
            }
        }
    }
}

/// A running agent.
struct Agent {
    child: Child,
    errors: JoinHandle<String>,
}

impl Agent {
    /// Puts the agent under the memory limit and writes its job, in this order.
    fn receive(mut self, job: &Job, memory: Option<&MemoryLimit>) -> io::Result<Self> {
        let outcome = memory
            .map_or(Ok(()), |limit| limit.hold(self.pid()))
            .and_then(|()| {
                let stdin = self.child.stdin.as_mut().expect("piped at the start");
                stdin.write_all(job.to_line().as_bytes())
            });
        match outcome {
            Ok(()) => Ok(self),
            Err(error) => {
                self.kill();
                self.wait(BURIAL);
                Err(error)
            }
        }
    }

    /// The agent's channel is closed: finds out how it ended.
    fn bury(mut self, done: bool) -> Ending {
        let status = self.wait(BURIAL);
        if status.is_none() {
            self.kill();
        }
        if done && status.is_some_and(|s| s.success()) {
            return Ending::Done;
        }
        let mut how = status.map_or_else(
            || "it closed its channel but did not end".to_owned(),
            describe,
        );
        // The stream of errors stays open while something that cannot be killed holds it.
        if status.is_some()
            && let Ok(errors) = self.errors.join()
            && !errors.is_empty()
        {
            how = format!("{how}: {errors}");
        }
        Ending::Died { how }
    }

    /// Nothing moved for too long: takes down where everything is stuck, then kills it.
    fn give_up(mut self, silence: Nanos) -> Ending {
        let family = process::family(self.pid());
        let stacks = family.iter().flat_map(process::kernel_stacks).collect();
        self.kill();
        let unkillable = self.wait(BURIAL).is_none();
        Ending::Hung {
            silence,
            stacks,
            unkillable,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Kills everything inside and leaves the parent outside, which waits for the agent proper, to see
    /// the end of it. Drivers are killed, too, and not left to the end of their namespace: the agent
    /// may wait, deaf to every signal, for one that never answers.
    fn kill(&mut self) {
        let family = process::family(self.pid());
        let inside = family.get(1..).unwrap_or_default();
        if inside.is_empty() {
            // A plain child, or one that has not come to starting the agent proper.
            let _ = self.child.kill();
        }
        for process in inside {
            // It may have ended meanwhile, which is what is wanted.
            let _ = kill(process.pid, Signal::SIGKILL);
        }
    }

    /// Waits for the end, a bounded time.
    fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        // An agent whose standard input is closed ends of its own accord.
        self.child.stdin = None;
        let start = clock::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if clock::since(start).as_duration() > at_most => return None,
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
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
