//! The agent as a process, here or in a guest: it is given its job, watched and, if need be, killed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::{clock, process};
use wire::{Event, Job};

use crate::collector::Collector;
use crate::memory::MemoryLimit;
use crate::{Interrupted, events};

/// How often a stop that the user asked for is noticed.
const ATTENTION: Duration = Duration::from_millis(20);
/// How long a killed agent may take to go away before it is given up.
const BURIAL: Duration = Duration::from_secs(10);
/// The same when the user waits at the terminal: Ctrl-C is to end within two seconds.
const FAREWELL: Duration = Duration::from_secs(1);

/// For how long an agent is watched.
pub struct Watch<'a> {
    /// How long it may take to say its first word.
    pub first: Nanos,
    /// Time without any event after which it is `hung`.
    pub patience: Nanos,
    /// Set by whoever wants the campaign to stop.
    pub stop: &'a AtomicBool,
}

/// How an agent's process came to its end.
#[derive(Debug)]
pub enum Outcome {
    /// It said that it was done, and ended well.
    Done,
    /// Its channel closed before.
    Ended {
        /// How; nothing where it closed its channel and did not end.
        status: Option<ExitStatus>,
        /// The end of what it wrote to its standard error.
        errors: String,
    },
    /// Nothing moved for too long, and it was killed.
    Hung {
        /// How long nothing moved.
        silence: Nanos,
        /// Where its processes were in the kernel.
        stacks: Vec<String>,
        /// Whether something could not be killed and is still there.
        unkillable: bool,
    },
}

/// A running agent.
pub struct Agent {
    child: Child,
    errors: JoinHandle<String>,
    events: Receiver<Event>,
    /// Rises when the process has ended: a file of events has no end of its own.
    ended: Arc<AtomicBool>,
}

impl Agent {
    /// Starts an agent, puts it under the memory limit and writes its job, in this order.
    pub fn start(
        command: &mut Command,
        job: &Job,
        memory: Option<&MemoryLimit>,
    ) -> io::Result<Self> {
        let mut child = spawn(command.stdout(Stdio::piped()))?;
        let events = child.stdout.take().expect("piped above");
        Self::watching(child, events, Arc::default())?.receive(Some(job), memory)
    }

    /// Starts a guest whose agent writes its events into a file, and writes its job where that is not in
    /// the guest already.
    ///
    /// A pipe that is full would make the guest wait until somebody here reads it, which takes as long as
    /// this machine is busy; a file takes everything at once.
    pub fn start_guest(
        command: &mut Command,
        job: Option<&Job>,
        events: &Path,
    ) -> io::Result<Self> {
        let child = spawn(command.stdout(File::create(events)?))?;
        let ended = Arc::new(AtomicBool::new(false));
        let events = events::Followed::new(File::open(events)?, Arc::clone(&ended));
        Self::watching(child, events, ended)?.receive(job, None)
    }

    /// Listens to an agent; one that nobody can listen to is ended.
    fn watching(
        mut child: Child,
        events: impl Read + Send + 'static,
        ended: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let stderr = child.stderr.take().expect("piped in `spawn`");
        let heard =
            events::errors(stderr).and_then(|errors| Ok((errors, events::channel(events)?)));
        match heard {
            Ok((errors, events)) => Ok(Self {
                child,
                errors,
                events,
                ended,
            }),
            Err(error) => {
                // It may have ended by itself.
                let _ = child.kill();
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Passes events on until the agent is done, dies, hangs or is to stop.
    pub fn watch(
        mut self,
        watch: &Watch<'_>,
        collector: &mut Collector<'_>,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Outcome, Interrupted> {
        let mut last_event = clock::now();
        let mut patience = watch.first;
        let mut done = false;
        loop {
            match self.events.recv_timeout(ATTENTION) {
                Ok(event) => {
                    last_event = clock::now();
                    patience = watch.patience;
                    observe(&event);
                    done |= event == Event::Done;
                    collector.take(event);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(self.bury(done)),
                Err(RecvTimeoutError::Timeout) => {
                    if matches!(self.child.try_wait(), Ok(Some(_))) {
                        self.ended.store(true, Ordering::Release);
                    }
                    let silence = clock::since(last_event);
                    if silence > patience {
                        return Ok(self.give_up(silence));
                    }
                }
            }
            if watch.stop.load(Ordering::Relaxed) {
                self.kill();
                self.wait(FAREWELL);
                return Err(Interrupted);
            }
        }
    }

    fn receive(mut self, job: Option<&Job>, memory: Option<&MemoryLimit>) -> io::Result<Self> {
        let outcome = memory
            .map_or(Ok(()), |limit| limit.hold(self.pid()))
            .and_then(|()| {
                let Some(job) = job else { return Ok(()) };
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
    fn bury(mut self, done: bool) -> Outcome {
        let status = self.wait(BURIAL);
        if status.is_none() {
            self.kill();
        }
        if done && status.is_some_and(|s| s.success()) {
            return Outcome::Done;
        }
        // The stream of errors stays open while something that cannot be killed holds it.
        let errors = match status {
            Some(_) => self.errors.join().unwrap_or_default(),
            None => String::new(),
        };
        Outcome::Ended { status, errors }
    }

    /// Nothing moved for too long: takes down where everything is stuck, then kills it.
    fn give_up(mut self, silence: Nanos) -> Outcome {
        let family = process::family(self.pid());
        let stacks = family.iter().flat_map(process::kernel_stacks).collect();
        self.kill();
        let unkillable = self.wait(BURIAL).is_none();
        Outcome::Hung {
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
                Ok(Some(status)) => {
                    self.ended.store(true, Ordering::Release);
                    return Some(status);
                }
                _ if clock::since(start).as_duration() > at_most => return None,
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// What is watched has pipes to be told and to complain through, and a process group of its own: Ctrl-C at
/// the terminal is for the orchestrator alone, which then ends the agent.
fn spawn(command: &mut Command) -> io::Result<Child> {
    command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}
