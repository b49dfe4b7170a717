//! The backend whose cells run on hosts that are reached one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::{Calibration, Cell, CellId, Environment, Test};
use orchestrate::{CellBackend, CellUpdate, StopFlag};
use wire::AbortReason;

use super::scheduler::{HostState, MAX_LOSSES, Scheduler, TaskEnd};
use crate::collected::ended;
use crate::result_file::MAX_RESULT_FILE_SIZE;
use crate::{Batch, BatchError, EntryRange, ResultDirectory, ResultState, RunKind};

/// How often Ctrl-C is noticed.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a host is left alone that went away.
const PAUSE: Duration = Duration::from_secs(2);
/// How long is waited for one to come back where none is left: a cable is plugged in again in that time.
const NO_HOST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long workers may take to end once their input has.
const WORKER_EXIT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the first answer of a host is waited for where another host has answered: it copies what is planned meanwhile.
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// Cells that are handed over before they can run: their results come in another order.
const QUEUE_DEPTH: usize = 1000;
/// With this a command ends whose connection did (ssh(1)), or whose worker was killed.
const LOST: i32 = 255;

/// A host that runs entries.
pub trait WorkerHost: Send + Sync {
    /// Its name, which the results bear.
    fn name(&self) -> &str;

    /// Brings what is planned to it, where it is not there yet.
    ///
    /// # Errors
    /// Why it cannot be reached, in a line.
    fn prepare(&self) -> Result<ReadyHost, String>;

    /// The command that runs entries there. It writes each result to its standard output as its file would be, and ends
    /// when its standard input does: with 0 where all are there, with 255 where nobody knows.
    ///
    /// # Errors
    /// Why it cannot be started, in a line.
    fn start_worker(&self, part: EntryRange) -> Result<Command, String>;

    /// Removes what was brought, where the host can be reached.
    fn clean_up(&self);
}

/// A host on which entries can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyHost {
    /// Tasks that it runs at a time.
    pub slots: u32,
    /// What tells its machine from all others.
    pub machine: String,
}

/// Why no host can run anything.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// They cannot.
    #[error("{0}")]
    NoHosts(String),
    /// The directory is not as it must be.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// What the threads say that wait for hosts.
enum HostMessage {
    /// A host is there, or is not.
    Ready(usize, Result<ReadyHost, String>),
    /// A worker has sent a result.
    Result(u64, Vec<u8>),
    /// A worker has ended, with this code.
    Ended(u64, Option<i32>),
}

/// A worker that runs.
struct Worker {
    host: usize,
    part: EntryRange,
    /// It ends when this is closed.
    input: Option<ChildStdin>,
    child: Arc<Mutex<Child>>,
    log: PathBuf,
}

/// Cells on hosts.
pub struct HostPool<'r, 'a> {
    batch: &'a Batch,
    results: &'r mut ResultDirectory<'a>,
    hosts: Vec<Arc<dyn WorkerHost>>,
    board: Scheduler,
    /// The machines behind the hosts that were reached.
    machines: BTreeMap<usize, String>,
    /// Why each host gets no entries that gets none.
    reasons: BTreeMap<usize, String>,
    workers: BTreeMap<u64, Worker>,
    /// Cells that have begun and not ended, with their checks.
    begun: BTreeMap<CellId, (u32, Option<u32>)>,
    checks: BTreeMap<CellId, u32>,
    news: VecDeque<CellUpdate>,
    stop: StopFlag,
    /// The command that goes on where this ends.
    go_on: String,
    say: Sender<HostMessage>,
    said: Receiver<HostMessage>,
    /// Since when no host runs anything though something is to be run.
    idle: Option<Instant>,
    pause: Duration,
    alone: Duration,
    first_answer: Duration,
}

impl<'r, 'a> HostPool<'r, 'a> {
    /// The cells of a directory on hosts, `most` tasks at a time; brings what is planned to each of them.
    ///
    /// # Errors
    /// When none can be reached, or there are too few of them for the checks.
    pub fn new(
        batch: &'a Batch,
        results: &'r mut ResultDirectory<'a>,
        hosts: Vec<Arc<dyn WorkerHost>>,
        most: Option<u32>,
        go_on: &str,
        stop: &StopFlag,
    ) -> Result<Self, HostsError> {
        let checks = results
            .entries()
            .iter()
            .filter(|e| e.half == RunKind::Verification);
        let checks = checks.map(|entry| (entry.id(), entry.index)).collect();
        let (say, said) = mpsc::channel();
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
            alone: NO_HOST_TIMEOUT,
            first_answer: FIRST_ANSWER,
            checks,
            batch,
            results,
            hosts,
            say,
            said,
        };
        if batch.plan().checks > 0 && all.hosts.len() < 2 {
            let why = "cells are to be checked on a second host, and there is one: name another, or plan with --check 0%";
            return Err(HostsError::NoHosts(why.to_owned()));
        }
        all.reach()?;
        Ok(all)
    }

    /// Waits so long before a host is asked again that went away, and so long for one to come back where none is left.
    #[must_use]
    pub const fn with_retry_delay(mut self, pause: Duration, alone: Duration) -> Self {
        (self.pause, self.alone) = (pause, alone);
        self
    }

    /// Asks every host for the first time. One that does not answer is not waited for where others do.
    fn reach(&mut self) -> Result<(), HostsError> {
        (0..self.hosts.len()).for_each(|host| self.prepare(host, Duration::ZERO));
        let mut asked: BTreeSet<usize> = (0..self.hosts.len()).collect();
        let since = Instant::now();
        while !asked.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let longest = match self.board.slots() {
                0 => self.alone,
                _ => self.first_answer,
            };
            if since.elapsed() >= longest {
                for host in asked {
                    let name = self.name(host).to_owned();
                    self.note(format!(
                        "{name} does not answer; it gets cells when it does"
                    ));
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

    /// Has a thread bring what is planned to a host.
    fn prepare(&self, number: usize, pause: Duration) {
        let (host, say) = (Arc::clone(&self.hosts[number]), self.say.clone());
        // One that sleeps keeps nothing of a host that is given up.
        let host = Arc::downgrade(&host);
        thread::spawn(move || {
            thread::sleep(pause);
            let Some(host) = host.upgrade() else { return };
            // Where nobody listens any more, nobody wants to know.
            let _ = say.send(HostMessage::Ready(number, host.prepare()));
        });
    }

    /// Processors of the hosts that are there.
    pub fn slots(&self) -> u32 {
        self.board.slots()
    }

    /// Removes what was brought to the hosts; one that has just gone away is not waited for.
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
        self.board
            .set_host_state(host, HostState::Ready(prepared.slots.max(1)));
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

    /// Keeps what a worker has sent, and tells what that ends.
    fn take(&mut self, task: u64, text: &[u8]) -> Result<(), HostsError> {
        let Some(worker) = self.workers.get(&task) else {
            return Ok(());
        };
        let host = Arc::clone(&self.hosts[worker.host]);
        if let Some(entry) = self.results.store(text, host.name())? {
            self.board.mark_done(entry);
            self.tell();
        }
        Ok(())
    }

    /// A worker has ended: what it has not done is for others.
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
                self.note(format!(
                    "{name} went away: its cells go to others; trying again"
                ));
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
            self.withdraw(
                |first, check| [Some(first), check].contains(&Some(entry)),
                &why,
            );
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
        let news = ended
            .into_keys()
            .map(|cell| CellUpdate::Aborted(cell, stopped()));
        self.news.extend(news);
    }

    /// What became of cells that have begun.
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
                // Somebody has removed the file.
                None => self.board.mark_missing(self.begun[&cell].0),
            }
        }
    }

    /// Starts workers where there is room.
    fn start_workers(&mut self) {
        loop {
            let (results, hosts) = (&*self.results, &self.hosts);
            let ran = |check: u32| {
                let name = results.first_run_host(check)?;
                // One of an earlier session may not be among them.
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
        let log = self.batch.log().join(format!("{name}-{}.txt", part.first));
        let written = OpenOptions::new().create(true).append(true).open(&log);
        let cannot = |error: std::io::Error| format!("cannot start its worker: {error}");
        let mut command = self.hosts[host].start_worker(part)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
            .stderr(written.map_err(|error| format!("cannot write {}: {error}", log.display()))?);
        let mut child = command.spawn().map_err(cannot)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let child = Arc::new(Mutex::new(child));
        let worker = Worker {
            child: Arc::clone(&child),
            host,
            part,
            input,
            log,
        };
        self.workers.insert(task, worker);
        let say = self.say.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output.expect("piped above"));
            while let Some(text) = next_result(&mut output) {
                let _ = say.send(HostMessage::Result(task, text));
            }
            let code = loop {
                let ended = child
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .try_wait();
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

    /// Whether nothing runs, and nothing will: no host is left that could.
    fn is_stuck(&mut self) -> bool {
        if self.board.is_busy() || self.begun.is_empty() {
            self.idle = None;
            return false;
        }
        let since = *self.idle.get_or_insert_with(Instant::now);
        let can_come =
            (0..self.hosts.len()).any(|h| self.board.standing(h) == HostState::Unreachable);
        !can_come || since.elapsed() >= self.alone
    }

    /// Why no host runs what is left.
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
            false => format!("no host is left that could go on{reasons}"),
        }
    }

    /// The user asked to stop.
    fn interrupt(&mut self) {
        self.end_workers();
        for (cell, _) in std::mem::take(&mut self.begun) {
            self.news
                .push_back(CellUpdate::Aborted(cell, AbortReason::Interrupted));
        }
    }

    /// Has all workers end, and waits for them for a while; what they send meanwhile is kept.
    fn end_workers(&mut self) {
        self.workers
            .values_mut()
            .for_each(|worker| worker.input = None);
        let until = Instant::now() + WORKER_EXIT_TIMEOUT;
        while !self.workers.is_empty() && Instant::now() < until {
            if let Ok(said) = self.said.recv_timeout(STOP_POLL_INTERVAL) {
                // What cannot be kept is run again.
                let _ = self.hear(said);
            }
        }
        for worker in std::mem::take(&mut self.workers).into_values() {
            let mut child = worker.child.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = child.kill();
        }
    }
}

/// Reads a result, which is two lines; nothing at the end.
fn next_result(output: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for _ in 0..2 {
        let mut limited = output.by_ref().take(MAX_RESULT_FILE_SIZE);
        limited.read_until(b'\n', &mut text).ok()?;
    }
    // What is cut off is no result, and what follows it neither.
    (text.ends_with(b"\n")).then_some(text)
}

/// Why a worker has ended, as far as it has said so.
fn last_words(worker: &Worker) -> String {
    let text = std::fs::read_to_string(&worker.log).unwrap_or_default();
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
