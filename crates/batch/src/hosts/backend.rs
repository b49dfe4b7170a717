//! A backend whose cells run on individually contacted hosts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use campaign::run::{CellBackend, CellUpdate, StopFlag};
use model::wire::AbortReason;
use model::{Bytes, Calibration, Cell, CellId, Environment, Test};
use sys::io::bounded::{self, StreamLimits};

use super::scheduler::{HostState, MAX_LOSSES, Scheduler, TaskEnd};
use crate::directory::collected::ended;
use crate::directory::result_file::MAX_RESULT_FILE_SIZE;
use crate::{Batch, BatchError, EntryRange, ResultDirectory, ResultState, RunKind};

/// Interval between checks for Ctrl-C.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Delay before a lost host is contacted again.
const PAUSE: Duration = Duration::from_secs(2);
/// Maximum time without any available host, long enough to plug in a cable again.
const NO_HOST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time for workers to exit after their input is closed.
const WORKER_EXIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time for workers to exit after Ctrl-C, which must take effect within two seconds.
const INTERRUPT_EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Limits of the results of one entry: its code and its result.
const RESULT_LIMITS: StreamLimits = StreamLimits {
    line: Bytes(MAX_RESULT_FILE_SIZE),
    total: Bytes(MAX_RESULT_FILE_SIZE),
    lines_per_second: None,
};
/// Maximum size of the messages of a worker, which are kept in its log.
const MAX_LOG_SIZE: Bytes = Bytes::mib(4);
/// Maximum number of tasks of a host, even if it reports more processors.
const MAX_SLOTS: u32 = 512;
/// Maximum wait for the first answer of a host after another host has answered; copying the plan
/// takes time.
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// Cells submitted in advance, because results arrive out of order.
const QUEUE_DEPTH: usize = 1000;
/// Exit code of ssh after a connection loss (ssh(1)), and of a command whose worker was killed.
const LOST: i32 = 255;

/// A host that runs entries.
pub trait WorkerHost: Send + Sync {
    /// Returns the name of the host, which is stored with its results.
    fn name(&self) -> &str;

    /// Copies the plan to the host if it is not there yet.
    ///
    /// # Errors
    /// Returns a one-line reason if the host cannot be reached.
    fn prepare(&self) -> Result<ReadyHost, String>;

    /// Returns the command that runs entries on the host. It writes each result to its standard
    /// output in the format of a result file, and exits when its standard input closes: with 0 if
    /// all results were sent, with 255 if that is unknown.
    ///
    /// # Errors
    /// Returns a one-line reason if the command cannot be started.
    fn start_worker(&self, part: EntryRange) -> Result<Command, String>;

    /// Removes the copied files if the host can be reached.
    fn clean_up(&self);
}

/// A host on which entries can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyHost {
    /// Number of tasks that the host runs at a time.
    pub slots: u32,
    /// Unique identifier of the machine.
    pub machine: String,
}

/// Reason that no host can run cells.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// They cannot.
    #[error("{0}")]
    NoHosts(String),
    /// The plan directory is invalid.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// A message from a thread that waits for a host.
enum HostMessage {
    /// A host became available, or could not be reached.
    Ready(usize, Result<ReadyHost, String>),
    /// A worker sent a result.
    Result(u64, Vec<u8>),
    /// A worker sent what no worker sends.
    Distrusted(u64, String),
    /// A worker ended with this exit code.
    Ended(u64, Option<i32>),
}

/// A running worker.
struct HostWorker {
    host: usize,
    part: EntryRange,
    /// Standard input of the worker, which exits when it is closed.
    input: Option<ChildStdin>,
    child: Arc<Mutex<Child>>,
    log: File,
}

/// A pool of hosts that run cells.
pub struct HostPool<'r, 'a> {
    batch: &'a Batch,
    results: &'r mut ResultDirectory<'a>,
    hosts: Vec<Arc<dyn WorkerHost>>,
    board: Scheduler,
    /// Machine identifier of each host that was reached.
    machines: BTreeMap<usize, String>,
    /// Reasons why hosts get no entries.
    reasons: BTreeMap<usize, String>,
    workers: BTreeMap<u64, HostWorker>,
    /// Started cells that have not ended, with their checks.
    begun: BTreeMap<CellId, (u32, Option<u32>)>,
    checks: BTreeMap<CellId, u32>,
    news: VecDeque<CellUpdate>,
    stop: StopFlag,
    /// The command that resumes the campaign.
    go_on: String,
    say: SyncSender<HostMessage>,
    said: Receiver<HostMessage>,
    /// The time since which entries are waiting and no host is running any.
    idle: Option<Instant>,
    pause: Duration,
    /// Returns true if the session must end after this time without any available host.
    give_up: Box<dyn Fn(Duration) -> bool>,
    first_answer: Duration,
}

impl<'r, 'a> HostPool<'r, 'a> {
    /// Creates the backend, which runs the cells of a directory on hosts, at most `most` tasks at a
    /// time. Copies the plan to each host.
    ///
    /// # Errors
    /// Returns an error if no host can be reached, or if there are too few hosts for the checks.
    pub fn new(
        batch: &'a Batch,
        results: &'r mut ResultDirectory<'a>,
        hosts: Vec<Arc<dyn WorkerHost>>,
        most: Option<u32>,
        go_on: &str,
        stop: &StopFlag,
    ) -> Result<Self, HostsError> {
        let checks = results.entries().iter().filter(|e| e.half == RunKind::Verification);
        let checks = checks.map(|entry| (entry.id(), entry.index)).collect();
        // Hosts wait while their messages are handled, so that these never fill the memory.
        let (say, said) = mpsc::sync_channel(1);
        let mut all = Self {
            board: Scheduler::new(hosts.len(), batch.plan().cells, results.missing(), most),
            machines: BTreeMap::new(),
            reasons: BTreeMap::new(),
            workers: BTreeMap::new(),
            begun: BTreeMap::new(),
            news: VecDeque::new(),
            stop: StopFlag::clone(stop),
            go_on: go_on.to_owned(),
            idle: None,
            pause: PAUSE,
            give_up: Box::new(|idle| idle >= NO_HOST_TIMEOUT),
            first_answer: FIRST_ANSWER,
            checks,
            batch,
            results,
            hosts,
            say,
            said,
        };
        if batch.plan().checks > 0 && all.hosts.len() < 2 {
            let why = "the plan has checks, which need a second host: name another host, or plan with --check 0%";
            return Err(HostsError::NoHosts(why.to_owned()));
        }
        all.reach()?;
        Ok(all)
    }

    /// Sets the delay before a lost host is contacted again, and the condition for giving up, which
    /// gets the time without any available host.
    #[must_use]
    pub fn with_retries(
        mut self,
        pause: Duration,
        give_up: impl Fn(Duration) -> bool + 'static,
    ) -> Self {
        (self.pause, self.give_up) = (pause, Box::new(give_up));
        self
    }

    /// Contacts every host for the first time. Waits at most `first_answer` for the remaining hosts
    /// once one host can run tasks.
    fn reach(&mut self) -> Result<(), HostsError> {
        (0..self.hosts.len()).for_each(|host| self.prepare(host, Duration::ZERO));
        let mut asked: BTreeSet<usize> = (0..self.hosts.len()).collect();
        let since = Instant::now();
        while !asked.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let longest = match self.board.slots() {
                0 => NO_HOST_TIMEOUT,
                _ => self.first_answer,
            };
            if since.elapsed() >= longest {
                for host in asked {
                    let name = self.name(host).to_owned();
                    self.note(format!("{name} does not answer; it gets cells when it does"));
                    self.reasons.insert(host, "it does not answer".to_owned());
                }
                break;
            }
            if let Ok(said) = self.said.recv_timeout(STOP_POLL_INTERVAL) {
                if let HostMessage::Ready(host, _) = &said {
                    asked.remove(host);
                }
                self.hear(said)?;
            }
        }
        match self.board.slots() {
            0 if !self.stop.load(Ordering::Relaxed) => Err(HostsError::NoHosts(self.why_none())),
            _ => Ok(()),
        }
    }

    /// Starts a thread that prepares a host after a pause.
    fn prepare(&self, number: usize, pause: Duration) {
        let (host, say) = (Arc::clone(&self.hosts[number]), self.say.clone());
        // A weak reference, so that a sleeping thread does not keep a dropped host alive.
        let host = Arc::downgrade(&host);
        thread::spawn(move || {
            thread::sleep(pause);
            let Some(host) = host.upgrade() else { return };
            // The receiver may have been dropped.
            let _ = say.send(HostMessage::Ready(number, host.prepare()));
        });
    }

    /// Returns the number of tasks that the available hosts can run at a time.
    pub fn slots(&self) -> u32 {
        self.board.slots()
    }

    /// Removes the copied plans from the hosts, except hosts that are currently unreachable.
    pub fn clear(&mut self) {
        self.end_workers();
        let brought = self.machines.keys();
        let there = brought.filter(|host| self.board.standing(**host) != HostState::Unreachable);
        there.for_each(|host| self.hosts[*host].clean_up());
    }

    fn name(&self, host: usize) -> &str {
        self.hosts[host].name()
    }

    fn hear(&mut self, said: HostMessage) -> Result<(), HostsError> {
        match said {
            HostMessage::Ready(host, Ok(prepared)) => self.comes(host, prepared),
            HostMessage::Ready(host, Err(reason)) => self.is_away(host, reason),
            HostMessage::Result(task, text) => self.take(task, &text)?,
            HostMessage::Distrusted(task, reason) => self.drop_host(task, reason),
            HostMessage::Ended(task, code) => self.ended(task, code),
        }
        Ok(())
    }

    fn comes(&mut self, host: usize, prepared: ReadyHost) {
        let name = self.name(host).to_owned();
        let same = self
            .machines
            .iter()
            .find(|(other, machine)| **other != host && **machine == prepared.machine);
        if let Some((other, _)) = same {
            let reason = format!("it is the same machine as {}", self.name(*other));
            self.note(format!("{name} runs nothing: {reason}; name it once"));
            self.is_out(host, reason);
            return;
        }
        if self.machines.insert(host, prepared.machine).is_some() {
            self.note(format!("{name} is back"));
        }
        self.reasons.remove(&host);
        self.board.set_host_state(host, HostState::Ready(prepared.slots.clamp(1, MAX_SLOTS)));
    }

    fn is_away(&mut self, host: usize, reason: String) {
        let name = self.name(host).to_owned();
        if self.reasons.get(&host) != Some(&reason) {
            self.note(format!("{name} runs nothing: {reason}; trying again"));
        }
        self.board.set_host_state(host, HostState::Unreachable);
        self.reasons.insert(host, reason);
        self.prepare(host, self.pause);
    }

    fn is_out(&mut self, host: usize, reason: String) {
        self.board.set_host_state(host, HostState::Excluded);
        self.reasons.insert(host, reason);
    }

    fn note(&mut self, text: String) {
        self.news.push_back(CellUpdate::Note(text));
    }

    /// Stores a result sent by a worker and reports the cells that it completes.
    fn take(&mut self, task: u64, text: &[u8]) -> Result<(), HostsError> {
        let Some(worker) = self.workers.get(&task) else {
            return Ok(());
        };
        let host = Arc::clone(&self.hosts[worker.host]);
        match self.results.store(text, host.name())? {
            Some(entry) => {
                self.board.mark_done(entry);
                self.tell();
            }
            None => self.drop_host(task, "it sent a result that is not of this plan".to_owned()),
        }
        Ok(())
    }

    /// Gives no more cells to the host of a worker, and ends the worker.
    fn drop_host(&mut self, task: u64, reason: String) {
        let Some(worker) = self.workers.get_mut(&task) else { return };
        let host = worker.host;
        // An error means that it has ended.
        let _ = worker.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
        if self.board.standing(host) != HostState::Excluded {
            self.note(format!("{} gets no more cells: {reason}", self.name(host)));
            self.is_out(host, reason);
        }
    }

    /// Handles the end of a worker. Its unfinished entries return to the queue.
    fn ended(&mut self, task: u64, code: Option<i32>) {
        let Some(worker) = self.workers.remove(&task) else {
            return;
        };
        let ending = match code {
            Some(0) => TaskEnd::Done,
            None | Some(LOST) => TaskEnd::Lost,
            Some(_) => TaskEnd::Refused,
        };
        let before = self.board.standing(worker.host);
        let given_up = self.board.task_ended(task, ending);
        let name = self.name(worker.host).to_owned();
        let stopping = self.stop.load(Ordering::Relaxed);
        match (before, self.board.standing(worker.host)) {
            (before, after) if before == after || stopping => {}
            (_, HostState::Unreachable) => {
                self.note(format!("{name} went away: its cells go to others; trying again"));
                self.reasons.insert(worker.host, "it went away".to_owned());
                self.prepare(worker.host, self.pause);
            }
            _ => {
                let reason = last_words(&worker);
                self.note(format!("{name} gets no more cells: {reason}"));
                self.is_out(worker.host, reason);
            }
        }
        for entry in given_up {
            let why = format!(
                "entry {entry} was lost {MAX_LOSSES} times with the host that ran it, {name} the last"
            );
            self.withdraw(|first, check| [Some(first), check].contains(&Some(entry)), &why);
        }
    }

    /// Ends cells without a result.
    fn withdraw(&mut self, which: impl Fn(u32, Option<u32>) -> bool, why: &str) {
        let (ended, left) = std::mem::take(&mut self.begun)
            .into_iter()
            .partition(|(_, (first, check))| which(*first, *check));
        self.begun = left;
        let ended: BTreeMap<CellId, _> = ended;
        let stopped = || AbortReason::EnvironmentFault(why.to_owned());
        let news = ended.into_keys().map(|cell| CellUpdate::Aborted(cell, stopped()));
        self.news.extend(news);
    }

    /// Reports started cells that are now complete.
    fn tell(&mut self) {
        let results = &*self.results;
        let ready = self.begun.keys().copied();
        let ready = ready.filter(|cell| results.state(*cell) == ResultState::Ready);
        for cell in ready.collect::<Vec<CellId>>() {
            match ended(self.results, cell) {
                Some(news) => {
                    self.begun.remove(&cell);
                    self.news.push_back(news);
                }
                // The file has been removed.
                None => self.board.mark_missing(self.begun[&cell].0),
            }
        }
    }

    /// Starts workers on hosts with free slots.
    fn start_workers(&mut self) {
        loop {
            let (results, hosts) = (&*self.results, &self.hosts);
            let ran = |check: u32| {
                let name = results.first_run_host(check)?;
                // A host of an earlier session may be missing from this one.
                let host = hosts.iter().position(|host| host.name() == name);
                Some(host.unwrap_or(usize::MAX))
            };
            let Some((task, host, part)) = self.board.next(&ran) else {
                return;
            };
            if let Err(reason) = self.start_worker(task, host, part) {
                self.board.task_ended(task, TaskEnd::Lost);
                self.is_away(host, reason);
            }
        }
    }

    fn start_worker(&mut self, task: u64, host: usize, part: EntryRange) -> Result<(), String> {
        let name: String = self.name(host).replace('/', "_");
        let log = self.batch.log().and_then(|log| log.append(format!("{name}-{}.txt", part.first)));
        let log = log.map_err(|error| error.to_string())?;
        let cannot = |error: std::io::Error| format!("cannot start its worker: {error}");
        let mut kept = log.try_clone().map_err(cannot)?;
        let mut command = self.hosts[host].start_worker(part)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(cannot)?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        let worker = HostWorker { child: Arc::clone(&child), host, part, input, log };
        self.workers.insert(task, worker);
        let say = self.say.clone();
        let logging = self.say.clone();
        let logged = thread::spawn(move || {
            if let Err(error) = bounded::copy(errors.expect("piped above"), &mut kept, MAX_LOG_SIZE)
            {
                let _ =
                    logging.send(HostMessage::Distrusted(task, format!("its messages: {error}")));
            }
        });
        thread::spawn(move || {
            let output = output.expect("piped above");
            if let Err(reason) = results(output, part.count, |text| {
                let _ = say.send(HostMessage::Result(task, text));
            }) {
                let _ = say.send(HostMessage::Distrusted(task, reason));
            }
            // The log is complete before its last line is read.
            let _ = logged.join();
            let code = loop {
                let ended = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
                match ended {
                    Ok(None) => thread::sleep(STOP_POLL_INTERVAL),
                    Ok(Some(status)) => break status.code(),
                    Err(_) => break None,
                }
            };
            let _ = say.send(HostMessage::Ended(task, code));
        });
        Ok(())
    }

    /// Returns true if no task runs and no remaining host could run one.
    fn is_stuck(&mut self) -> bool {
        if self.board.is_busy() || self.begun.is_empty() {
            self.idle = None;
            return false;
        }
        let since = *self.idle.get_or_insert_with(Instant::now);
        let can_come =
            (0..self.hosts.len()).any(|h| self.board.standing(h) == HostState::Unreachable);
        !can_come || (self.give_up)(since.elapsed())
    }

    /// Formats the reason why no host runs the remaining cells.
    fn why_none(&self) -> String {
        let reasons = self.reasons.iter();
        let reasons = reasons.map(|(host, why)| format!("{}: {why}", self.name(*host)));
        let reasons: Vec<String> = reasons.collect();
        let reasons = match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join("; ")),
        };
        let have_run = |(first, _): &(u32, Option<u32>)| self.results.has(*first);
        match !self.begun.is_empty() && self.begun.values().all(have_run) {
            true => format!(
                "every cell has run, and no other host is left that could check {} of them{reasons}: name one more, or plan \
                 with --check 0%",
                self.begun.len()
            ),
            false => format!("no host is available to run the remaining cells{reasons}"),
        }
    }

    /// Stops the session at the user's request.
    fn interrupt(&mut self) {
        self.end_workers();
        for (cell, _) in std::mem::take(&mut self.begun) {
            self.news.push_back(CellUpdate::Aborted(cell, AbortReason::Interrupted));
        }
    }

    /// Stops all workers and waits for them, but not long after Ctrl-C; results sent during that time
    /// are stored.
    fn end_workers(&mut self) {
        self.workers.values_mut().for_each(|worker| worker.input = None);
        let (since, stop) = (Instant::now(), StopFlag::clone(&self.stop));
        let timeout = || match stop.load(Ordering::Relaxed) {
            true => INTERRUPT_EXIT_TIMEOUT,
            false => WORKER_EXIT_TIMEOUT,
        };
        while !self.workers.is_empty() && since.elapsed() < timeout() {
            if let Ok(said) = self.said.recv_timeout(STOP_POLL_INTERVAL) {
                // A result that cannot be stored is measured again.
                let _ = self.hear(said);
            }
        }
        for worker in std::mem::take(&mut self.workers).into_values() {
            let mut child = worker.child.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = child.kill();
        }
    }
}

/// Reads results, which are two lines each, until the end of the output. Discards a truncated last
/// one.
///
/// # Errors
/// Returns the reason to trust the host no longer: more than `most` results, or an endless one.
fn results(output: impl Read, most: u32, mut send: impl FnMut(Vec<u8>)) -> Result<(), String> {
    let mut lines = bounded::lines(BufReader::new(output), RESULT_LIMITS);
    let allowance = lines.allowance();
    let mut count = 0;
    while let Some(code) = lines.next() {
        let mut text = code.map_err(|error| format!("its results: {error}"))?;
        let Some(result) = lines.next() else { return Ok(()) };
        let result = result.map_err(|error| format!("its results: {error}"))?;
        if !lines.is_complete() {
            return Ok(());
        }
        count += 1;
        if count > most {
            return Err(format!("it sent more than the {most} results of its task"));
        }
        text.push(b'\n');
        text.extend(result);
        text.push(b'\n');
        send(text);
        allowance.renew();
    }
    Ok(())
}

/// Returns the reason a worker ended: the last line of its log, if any.
fn last_words(worker: &HostWorker) -> String {
    let text = bounded::read_end(&worker.log, crate::LAST_WORDS_SIZE).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.map(|line| line.trim_start_matches("fsarena: ").to_owned());
    line.unwrap_or_else(|| format!("its worker of entry {} said nothing", worker.part.first))
}

impl CellBackend for HostPool<'_, '_> {
    type Error = HostsError;

    fn parallel_cells(&self) -> usize {
        self.board.slots().max(1) as usize
    }

    fn queue_depth(&self) -> usize {
        QUEUE_DEPTH.max(2 * self.parallel_cells())
    }

    fn environment(&mut self) -> Result<Environment, HostsError> {
        Ok(self.batch.environment(&self.go_on))
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, HostsError> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, _: &Test) {
        let entry = self.results.entry_for(cell.id);
        let first = entry.map_or(cell.id.0, |entry| entry.index);
        let check = self.checks.get(&cell.id).copied();
        self.begun.insert(cell.id, (first, check));
        self.tell();
    }

    fn next_update(&mut self) -> CellUpdate {
        loop {
            if let Some(news) = self.news.pop_front() {
                return news;
            }
            if self.stop.load(Ordering::Relaxed) {
                self.interrupt();
                continue;
            }
            self.start_workers();
            if self.is_stuck() {
                let why = self.why_none();
                self.withdraw(|_, _| true, &why);
                continue;
            }
            let heard = self.said.recv_timeout(STOP_POLL_INTERVAL);
            if let Err(error) = heard.map_or(Ok(()), |said| self.hear(said)) {
                self.withdraw(|_, _| true, &error.to_string());
            }
        }
    }
}

impl Drop for HostPool<'_, '_> {
    fn drop(&mut self) {
        self.end_workers();
    }
}
