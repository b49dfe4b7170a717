//! Runs the agent as a process, on this host or in a guest: passes the job to it, watches it, and
//! kills it if necessary.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::wire::rank::RankOrder;
use model::wire::{AbortReason, CellEvent, CellJob};
use model::{Bytes, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::io::clock;
use sys::process;
use sys::process::Process;

use crate::cell::ending::StallKind;
use crate::cell::events;
use crate::cell::result_builder::CellResultBuilder;
use crate::cell::watched_time::AwakeTime;
use crate::guests::monitor::{GuestProgress, QmpMonitor};

/// Interval between checks of the stop flag.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum size of the console output of a guest: more than a kernel prints of any filesystem.
pub const MAX_CONSOLE_SIZE: Bytes = Bytes::mib(64);
/// Time limit for a killed agent to end.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for a killed agent to end after Ctrl-C, which must take effect within two seconds.
const INTERRUPT_REAP_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeouts for watching an agent.
pub struct WatchTimeouts<'a> {
    /// Timeout for the first event.
    pub first: Nanos,
    /// Time without any event after which the agent is `hung`.
    pub stall_timeout: Nanos,
    /// Time limit of a step, after which it is `hung` even if it makes progress.
    pub step_limit: Nanos,
    /// Time limit of a phase within a budget, after which it has failed.
    pub phase_limit: Option<Nanos>,
    /// Console of a guest, which it could fill without end.
    pub console: Option<&'a Path>,
    /// Stop flag.
    pub stop: &'a AtomicBool,
}

impl WatchTimeouts<'_> {
    fn is_flooded(&self) -> bool {
        let size = self.console.and_then(|console| console.metadata().ok());
        size.is_some_and(|console| console.len() > MAX_CONSOLE_SIZE.0)
    }
}

/// Result of watching an agent.
#[derive(Debug)]
pub struct AgentOutcome {
    /// End of its process.
    pub outcome: AgentEnd,
    /// Remark for readers of its times.
    pub remark: Option<String>,
}

/// End of an agent's process.
#[derive(Debug)]
pub enum AgentEnd {
    /// The agent reported that it was done, and exited successfully.
    Done,
    /// The channel closed before the agent reported that it was done.
    Exited {
        /// Exit status, or `None` if the agent closed its channel without ending.
        status: Option<ExitStatus>,
        /// Last part of its standard error.
        errors: String,
    },
    /// The agent made no progress or exceeded the limit of a step, and was killed.
    Hung {
        /// The kind of stall, and its duration.
        stall: StallKind,
        /// Kernel stacks of its processes.
        stacks: Vec<String>,
        /// Whether a process could not be killed and still exists.
        unkillable: bool,
    },
}

/// Standard input of the running agent, for orders from other threads.
#[derive(Clone, Debug, Default)]
pub struct OrderInput(Arc<Mutex<Option<ChildStdin>>>);

impl OrderInput {
    /// Sends an order. An agent that has ended needs none.
    pub fn send(&self, order: &RankOrder) {
        if let Some(input) = &mut *self.lock() {
            let _ = input.write_all(order.to_line().as_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<ChildStdin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running agent.
pub struct AgentProcess {
    child: Child,
    /// Standard input of the process, if other threads send orders.
    orders: OrderInput,
    errors: JoinHandle<String>,
    events: Receiver<CellEvent>,
    /// Set when the process has ended, because a file of events has no end marker.
    ended: Arc<AtomicBool>,
    /// Whether it is a guest that writes its events to a file, which it could fill without end.
    writes_file: bool,
    /// Progress of a guest in virtual time. Its timeouts count executed instructions instead of
    /// wall time, so that they do not depend on the load of this machine.
    progress: Option<GuestProgress>,
}

impl AgentProcess {
    /// Starts an agent, calls `hold` to put it into its control groups, and then writes its job.
    pub fn start(
        command: &mut Command,
        job: &CellJob,
        hold: &dyn Fn(Pid) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut child = spawn(command.stdout(Stdio::piped()))?;
        let events = child.stdout.take().expect("piped above");
        Self::watching(child, events, Arc::default())?.receive(Some(job), hold)
    }

    /// Starts a guest whose agent writes its events into a file, and writes its job.
    ///
    /// A guest would block on a full pipe until this process reads it, which takes long on a busy
    /// machine. A file never blocks.
    pub fn start_guest(command: &mut Command, job: &CellJob, events: &Path) -> io::Result<Self> {
        let child = spawn(command.stdout(File::create(events)?))?;
        Self::following(child, events)?.receive(Some(job), &|_| Ok(()))
    }

    /// Starts a guest in virtual time. The guest already has its job and writes the agent's events
    /// to a file. QEMU reads monitor commands from its standard input.
    pub fn start_virtual_guest(command: &mut Command, events: &Path) -> io::Result<Self> {
        File::create(events)?;
        let child = spawn(command.stdout(Stdio::piped()))?;
        let mut agent = Self::following(child, events)?;
        match QmpMonitor::of(&mut agent.child) {
            Ok(monitor) => {
                agent.progress = Some(GuestProgress::of(monitor));
                Ok(agent)
            }
            Err(error) => {
                agent.kill();
                agent.wait(REAP_TIMEOUT);
                Err(error)
            }
        }
    }

    /// Reads the events of an agent from a file.
    fn following(child: Child, events: &Path) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let events = events::TailedFile::new(File::open(events)?, Arc::clone(&ended));
        Ok(Self { writes_file: true, ..Self::watching(child, events, ended)? })
    }

    /// Starts the threads that read an agent's output. Ends the agent if that fails.
    fn watching(
        mut child: Child,
        events: impl Read + Send + 'static,
        ended: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let stderr = child.stderr.take().expect("piped in `spawn`");
        let heard =
            events::errors(stderr).and_then(|errors| Ok((errors, events::channel(events)?)));
        match heard {
            Ok((errors, events)) => {
                let (orders, writes_file, progress) = (OrderInput::default(), false, None);
                Ok(Self { child, orders, errors, events, ended, writes_file, progress })
            }
            Err(error) => {
                // The agent may have ended by itself.
                let _ = child.kill();
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Lets other threads send orders to the agent.
    #[must_use]
    pub fn with_orders(mut self, orders: &OrderInput) -> Self {
        *orders.lock() = self.child.stdin.take();
        self.orders = orders.clone();
        self
    }

    /// Passes events on until the agent is done, dies, hangs or must stop.
    pub fn watch(
        mut self,
        watch: &WatchTimeouts<'_>,
        collector: &mut CellResultBuilder<'_>,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<AgentOutcome, AbortReason> {
        let mut time = AwakeTime::start();
        let mut waits = WaitClocks::new(watch);
        let mut stopped = PauseDetector::default();
        let mut withdrawn = None;
        let mut done = false;
        let outcome = loop {
            let event = self.events.recv_timeout(STOP_POLL_INTERVAL);
            let passed = time.advance();
            waits.pass(match &mut self.progress {
                // A guest that is done executes no further instructions.
                Some(progress) if !done => progress.poll_and_advance(passed),
                Some(_) | None => passed,
            });
            match event {
                Ok(CellEvent::EnvironmentFault { reason }) => withdrawn = Some(reason),
                Ok(event) => {
                    waits.hear(&event, collector.begins_phase(&event));
                    if let Some(progress) = &mut self.progress {
                        progress.moved();
                    }
                    observe(&event);
                    done |= event == CellEvent::Done;
                    collector.apply(event);
                }
                // A signal to the whole process group has ended the agent because the user asked to
                // stop.
                Err(RecvTimeoutError::Disconnected)
                    if !done && watch.stop.load(Ordering::Relaxed) =>
                {
                    self.kill();
                    self.wait(INTERRUPT_REAP_TIMEOUT);
                    return Err(AbortReason::Interrupted);
                }
                Err(RecvTimeoutError::Disconnected) => break self.reap(done),
                Err(RecvTimeoutError::Timeout) => {
                    if matches!(self.child.try_wait(), Ok(Some(_))) {
                        self.ended.store(true, Ordering::Release);
                    }
                }
            }
            if let Some(stall) = waits.over() {
                if stopped.looks_again(&mut waits, stall, &process::descendants(self.pid())) {
                    continue;
                }
                if done && self.progress.is_some() {
                    break self.end();
                }
                let executed = self.progress.as_ref().and_then(GuestProgress::executed);
                let stall = match (stall, executed) {
                    (StallKind::Silence(_), Some(executed)) => StallKind::Idle(executed),
                    (stall, _) => stall,
                };
                break self.give_up(stall);
            }
            if watch.stop.load(Ordering::Relaxed) {
                self.kill();
                self.wait(INTERRUPT_REAP_TIMEOUT);
                return Err(AbortReason::Interrupted);
            }
            if watch.is_flooded() {
                break self.end_untrusted();
            }
        };
        match withdrawn {
            Some(reason) => Err(AbortReason::EnvironmentFault(reason)),
            None => Ok(AgentOutcome { outcome, remark: time.warning().or(stopped.remark()) }),
        }
    }

    fn receive(
        mut self,
        job: Option<&CellJob>,
        hold: &dyn Fn(Pid) -> io::Result<()>,
    ) -> io::Result<Self> {
        let outcome = hold(self.pid()).and_then(|()| {
            let Some(job) = job else { return Ok(()) };
            let stdin = self.child.stdin.as_mut().expect("piped at the start");
            match stdin.write_all(job.to_line().as_bytes()) {
                // The agent has already ended; the caller that watches it finds the cause.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written,
            }
        });
        match outcome {
            Ok(()) => Ok(self),
            Err(error) => {
                self.kill();
                self.wait(REAP_TIMEOUT);
                Err(error)
            }
        }
    }

    /// Determines how the agent ended, after its channel was closed.
    fn reap(mut self, done: bool) -> AgentEnd {
        if self.writes_file && !self.ended.load(Ordering::Acquire) {
            // It lives, and wrote what is no event.
            return self.end_untrusted();
        }
        let status = self.wait(REAP_TIMEOUT);
        if status.is_none() {
            self.kill();
        }
        if done && status.is_some_and(|s| s.success()) {
            return AgentEnd::Done;
        }
        // Standard error stays open while an unkillable process holds it.
        let errors = match status {
            Some(_) => self.errors.join().unwrap_or_default(),
            None => String::new(),
        };
        AgentEnd::Exited { status, errors }
    }

    /// Ends a guest that writes what no agent writes.
    fn end_untrusted(mut self) -> AgentEnd {
        self.kill();
        self.wait(REAP_TIMEOUT);
        AgentEnd::Exited { status: None, errors: String::new() }
    }

    /// Handles a stall: records the kernel stacks of all processes and kills them.
    fn give_up(mut self, stall: StallKind) -> AgentEnd {
        let family = process::descendants(self.pid());
        let stacks = family.iter().flat_map(process::kernel_stacks).collect();
        self.kill();
        let unkillable = self.wait(REAP_TIMEOUT).is_none();
        AgentEnd::Hung { stall, stacks, unkillable }
    }

    /// Ends a guest that is done but whose emulator does not exit: QEMU 7.2 can wait for its own
    /// monitor forever.
    fn end(mut self) -> AgentEnd {
        self.kill();
        self.wait(REAP_TIMEOUT);
        AgentEnd::Done
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Kills all descendants except the parent outside the namespace, which waits for the agent
    /// proper and reports its end. Kills drivers explicitly instead of with their namespace,
    /// because the agent may be blocked on a driver that never answers. A blocked agent ignores
    /// every signal.
    fn kill(&mut self) {
        let family = process::descendants(self.pid());
        let inside = family.get(1..).unwrap_or_default();
        if inside.is_empty() {
            // A plain child, or a process that has not started the agent proper yet.
            let _ = self.child.kill();
        }
        for process in inside {
            // Errors are ignored: the process may have just ended.
            let _ = kill(process.pid, Signal::SIGKILL);
        }
    }

    /// Waits for the end of the process, up to a limit.
    fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        // An agent ends when its standard input is closed.
        self.child.stdin = None;
        *self.orders.lock() = None;
        self.progress = None;
        let start = clock::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.ended.store(true, Ordering::Release);
                    return Some(status);
                }
                _ if clock::since(start).to_duration() > at_most => return None,
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// Time spent waiting for an agent: since its last event, and since the step started.
struct WaitClocks<'a> {
    watch: &'a WatchTimeouts<'a>,
    stall_timeout: Nanos,
    silence: Nanos,
    step: Nanos,
    /// Whether the step is a phase of the test.
    is_phase: bool,
    /// Whether the agent has sent an event.
    heard: bool,
}

impl<'a> WaitClocks<'a> {
    const fn new(watch: &'a WatchTimeouts<'a>) -> Self {
        Self {
            watch,
            stall_timeout: watch.first,
            silence: Nanos(0),
            step: Nanos(0),
            is_phase: false,
            heard: false,
        }
    }

    const fn pass(&mut self, time: Nanos) {
        self.silence.0 += time.0;
        self.step.0 += time.0;
    }

    fn hear(&mut self, event: &CellEvent, begins_phase: bool) {
        self.heard = true;
        self.stall_timeout = self.watch.stall_timeout;
        self.silence = Nanos(0);
        match event {
            CellEvent::Begin { .. } => {
                self.step = Nanos(0);
                self.is_phase = begins_phase;
            }
            CellEvent::Phase(_) => self.is_phase = false,
            _ => {}
        }
    }

    fn over(&self) -> Option<StallKind> {
        if self.silence > self.stall_timeout {
            Some(StallKind::Silence(self.silence))
        } else if self.step > self.watch.step_limit {
            Some(StallKind::Endless(self.watch.step_limit))
        } else {
            let limit = self.watch.phase_limit.filter(|limit| self.is_phase && self.step > *limit);
            limit.map(StallKind::OverBudget)
        }
    }
}

/// Whether the agent was stopped from outside (SIGSTOP), which is not its fault.
#[derive(Default)]
struct PauseDetector {
    stopped: bool,
    /// Whether it was stopped at the last check.
    lately: bool,
}

impl PauseDetector {
    /// Returns true if silence has an external cause: a process is stopped (SIGSTOP) or, before the
    /// first event, waits for a processor. The limit of a step still applies.
    fn looks_again(
        &mut self,
        waits: &mut WaitClocks<'_>,
        stall: StallKind,
        family: &[Process],
    ) -> bool {
        if !matches!(stall, StallKind::Silence(_)) {
            return false;
        }
        let is_stopped = family.iter().any(Process::is_stopped);
        self.stopped |= is_stopped;
        // The silence includes time while stopped, so the timeout restarts.
        if std::mem::replace(&mut self.lately, is_stopped) || is_stopped {
            waits.silence = Nanos(0);
            return true;
        }
        let waited = family.iter().map(process::run_queue_wait).max();
        !waits.heard
            && waits.silence.0 - waited.unwrap_or_default().0.min(waits.silence.0)
                <= waits.stall_timeout.0
    }

    fn remark(&self) -> Option<String> {
        let remark = "a process of it was stopped (SIGSTOP) while it ran: its times hold that";
        self.stopped.then(|| remark.to_owned())
    }
}

/// Starts an agent with pipes for its job and its errors, in a separate process group. Ctrl-C at
/// the terminal reaches only the orchestrator, which ends the agent.
fn spawn(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::fixture;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// Returns the stall detected for an agent that reports every second or never.
    fn stall(speaks: bool, begins: bool, seconds: u64) -> Option<StallKind> {
        let stop = AtomicBool::new(false);
        let watch = WatchTimeouts {
            first: Nanos::from_secs(3),
            stall_timeout: Nanos::from_secs(5),
            step_limit: Nanos::from_secs(60),
            phase_limit: None,
            console: None,
            stop: &stop,
        };
        let mut waits = WaitClocks::new(&watch);
        (0..seconds).find_map(|_| {
            waits.pass(SECOND);
            if begins {
                waits.hear(&CellEvent::Begin { step: "p".into() }, false);
            } else if speaks {
                waits.hear(&CellEvent::Done, false);
            }
            waits.over()
        })
    }

    #[test]
    fn a_phase_is_cut_at_the_limit_of_a_budget_and_other_steps_are_not() {
        let stop = AtomicBool::new(false);
        let watch = WatchTimeouts {
            first: Nanos::from_secs(60),
            stall_timeout: Nanos::from_secs(60),
            step_limit: Nanos::from_secs(60),
            phase_limit: Some(SECOND),
            console: None,
            stop: &stop,
        };
        let mut waits = WaitClocks::new(&watch);
        let begin = CellEvent::Begin { step: "p".into() };
        for (is_phase, over) in [(false, None), (true, Some(StallKind::OverBudget(SECOND)))] {
            waits.hear(&begin, is_phase);
            waits.pass(Nanos::from_secs(2));
            assert_eq!(waits.over(), over);
        }
    }

    #[test]
    fn timeout_restarts_after_a_stopped_process_continues() {
        let stop = AtomicBool::new(false);
        let watch = WatchTimeouts {
            first: SECOND,
            stall_timeout: SECOND,
            step_limit: Nanos::from_secs(60),
            phase_limit: None,
            console: None,
            stop: &stop,
        };
        let (mut waits, mut stopping) = (WaitClocks::new(&watch), PauseDetector::default());
        let mut looks_again = |state| {
            waits.pass(Nanos::from_secs(2));
            let stall = waits.over().expect("it is silent");
            let agent =
                Process { pid: Pid::this(), parent: Pid::this(), state, name: "agent".into() };
            waits.heard = true;
            stopping.looks_again(&mut waits, stall, &[agent])
        };
        assert!(looks_again('T'));
        assert!(looks_again('T'));
        // The process continues, but was stopped at the last check.
        assert!(looks_again('S'));
        assert!(!looks_again('S'));
    }

    /// Regression test: QEMU waited forever for its monitor after the guest had powered off.
    #[test]
    fn an_emulator_that_does_not_end_when_its_guest_is_done_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let events = directory.path().join("events");
        let done = r#"echo '{"event":"done"}' >"$0"; exec sleep 1000"#;
        let mut emulator = Command::new("sh");
        emulator.args(["-c", done]).arg(&events);
        let agent = AgentProcess::start_virtual_guest(&mut emulator, &events).unwrap();
        let stop = AtomicBool::new(false);
        let watch = WatchTimeouts {
            first: Nanos::from_secs(60),
            stall_timeout: Nanos(1),
            step_limit: Nanos::from_secs(60),
            phase_limit: None,
            console: None,
            stop: &stop,
        };
        let test = fixture::job(1).test;
        let watched = agent.watch(&watch, &mut CellResultBuilder::new(&test), &mut |_| {});
        let outcome = watched.expect("nobody stops it").outcome;
        assert!(matches!(outcome, AgentEnd::Done), "{outcome:?}");
    }

    /// Regression test: such a guest filled the disk and the memory of its host.
    #[test]
    fn a_guest_that_floods_its_events_or_its_console_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let [events, console] = ["events", "console"].map(|name| directory.path().join(name));
        let stop = AtomicBool::new(false);
        let test = fixture::job(1).test;
        for (flooded, flood) in [
            (&events, "exec yes"),
            (&events, "exec tr '\\0' ' ' </dev/zero"),
            (&console, "exec yes"),
        ] {
            let mut emulator = Command::new("sh");
            emulator.args(["-c", &format!("{flood} >\"$0\"")]).arg(flooded);
            let agent = AgentProcess::start_virtual_guest(&mut emulator, &events).unwrap();
            let watch = WatchTimeouts {
                first: Nanos::from_secs(600),
                stall_timeout: Nanos::from_secs(600),
                step_limit: Nanos::from_secs(600),
                phase_limit: None,
                console: Some(&console),
                stop: &stop,
            };
            let watched = agent.watch(&watch, &mut CellResultBuilder::new(&test), &mut |_| {});
            let outcome = watched.expect("nobody stops it").outcome;
            assert!(matches!(outcome, AgentEnd::Exited { status: None, .. }), "{outcome:?}");
        }
    }

    #[test]
    fn silent_or_endless_agent_is_hung_and_progressing_agent_is_not() {
        assert_eq!(stall(false, false, 100), Some(StallKind::Silence(Nanos::from_secs(4))));
        assert_eq!(stall(true, false, 100), Some(StallKind::Endless(Nanos::from_secs(60))));
        assert_eq!(stall(true, true, 1000), None);
    }
}
