//! The backend whose cells Slurm runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use campaign::run::{CellBackend, CellUpdate, StopFlag};
use model::wire::AbortReason;
use model::{Calibration, Cell, CellId, Environment, Test};
use sys::io::bounded;

use super::arrays::{self, Array, ArrayTask};
use super::cluster::{Cluster, SlurmError, Submission};
use super::queue;
use crate::directory::collected::ended;
use crate::{Batch, BatchError, ResultDirectory, ResultState, RunKind};

/// Interval between checks of the queue and the directory.
const PAUSE: Duration = Duration::from_millis(500);
/// Interval between checks for Ctrl-C.
const ATTENTION: Duration = Duration::from_millis(100);
/// Number of polls after which a task missing from the queue has ended. On NFS, new files take a
/// moment to become visible on other hosts.
const MISSING_POLLS_UNTIL_ENDED: u32 = 3;
/// Number of polls without a submission after the first and the second refusal of sbatch. The third
/// one ends the campaign.
const POLLS_AFTER_REFUSAL: [u32; 2] = [4, 16];
/// Cells submitted in advance, because results arrive out of order.
const AHEAD: usize = 1000;

/// State of the task of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    /// Not submitted yet.
    NotSubmitted,
    /// In the queue, or missing from it for this number of checks.
    Queued(u32),
    /// The task left the queue without a result.
    Finished,
}

/// A backend that runs cells in job arrays of a Slurm cluster.
pub struct SlurmBackend<'r, 'a> {
    batch: &'a Batch,
    cluster: Cluster,
    results: &'r mut ResultDirectory<'a>,
    /// Number of cells per task.
    each: u32,
    /// Entries without a result, with the state of their tasks.
    places: BTreeMap<u32, TaskState>,
    /// Started cells that have not ended.
    begun: BTreeMap<CellId, (u32, Option<u32>)>,
    checks: BTreeMap<CellId, u32>,
    /// Slurm's name of the last task of each entry.
    tasks: BTreeMap<u32, String>,
    news: VecDeque<CellUpdate>,
    stop: StopFlag,
    /// The command that resumes the campaign.
    go_on: String,
    /// The last error of Slurm that was reported.
    complaint: Option<String>,
    /// Refusals of sbatch since the last job.
    refusals: usize,
    /// Number of polls before the next submission.
    polls_to_wait: u32,
}

impl<'r, 'a> SlurmBackend<'r, 'a> {
    /// Creates the backend for the cells of a directory. Cells that are already in the queue stay
    /// there.
    ///
    /// # Errors
    /// Returns an error if the cluster does not respond.
    pub fn new(
        batch: &'a Batch,
        results: &'r mut ResultDirectory<'a>,
        cluster: Cluster,
        go_on: &str,
        stop: &StopFlag,
    ) -> Result<Self, SlurmError> {
        let missing = results.missing();
        let checks = results.entries().iter().filter(|e| e.half == RunKind::Verification);
        let checks = checks.map(|entry| (entry.id(), entry.index)).collect();
        let mut slurm = Self {
            each: arrays::cells_per_task(batch.plan().cells, cluster.processors),
            places: missing.into_iter().map(|entry| (entry, TaskState::NotSubmitted)).collect(),
            begun: BTreeMap::new(),
            tasks: BTreeMap::new(),
            news: VecDeque::new(),
            complaint: None,
            refusals: 0,
            polls_to_wait: 0,
            stop: StopFlag::clone(stop),
            go_on: go_on.to_owned(),
            checks,
            batch,
            cluster,
            results,
        };
        if batch.plan().checks > 0 && slurm.cluster.nodes.len() < 2 {
            let why = "the plan has checks, which need a second node: add a node, or plan with --check 0%";
            return Err(SlurmError::NoNode(why.to_owned()));
        }
        let queued = slurm.cluster.queued(slurm.plan())?;
        if !queued.is_empty() {
            let note =
                format!("{} tasks of this campaign are in Slurm's queue already", queued.len());
            slurm.news.push_back(CellUpdate::Note(note));
        }
        // Tasks of an earlier session and of this one have the same boundaries, so that they do not
        // overlap.
        let mut of_cells = queued.iter().map(|one| one.task);
        if let Some(task) = of_cells.find(|task| task.first < batch.plan().cells) {
            slurm.each = task.entries;
        }
        slurm.see(&queued);
        Ok(slurm)
    }

    /// Cancels all queued tasks, in limited time and regardless of a request to stop. Returns a
    /// note on them, or `None` if the queue has none.
    pub fn cancel(&self) -> Option<&'static str> {
        let queued = self.places.iter().filter(|(_, place)| matches!(place, TaskState::Queued(_)));
        let tasks = queued.filter_map(|(entry, _)| self.tasks.get(entry)?.split_once('_'));
        let jobs: BTreeSet<&str> = tasks.map(|(job, _)| job).collect();
        if jobs.is_empty() {
            return None;
        }
        let is_cancelled = Cluster::cancel_at_once(jobs.into_iter().map(str::to_owned));
        Some(match is_cancelled {
            true => "queued tasks were cancelled",
            false => "queued tasks may continue to run: check with squeue, stop them with scancel",
        })
    }

    fn plan(&self) -> &str {
        self.batch.plan_id().short()
    }

    /// Returns the entries of a task that have no result.
    fn entries_of(&self, task: ArrayTask) -> Vec<u32> {
        let end = match task.first < self.batch.plan().cells {
            true => self.batch.plan().cells,
            false => self.batch.entries(),
        };
        let end = task.first.saturating_add(task.entries).min(end);
        let entries = self.places.range(task.first..end.max(task.first));
        entries.map(|(entry, _)| *entry).collect()
    }

    /// Updates the state of all entries from the queue.
    fn see(&mut self, queued: &[queue::QueuedTask]) {
        let mut seen = BTreeSet::new();
        for one in queued {
            let entries = self.entries_of(one.task);
            let name = format!("{}_{}", one.job, one.number);
            self.tasks.extend(entries.iter().map(|entry| (*entry, name.clone())));
            seen.extend(entries);
        }
        for (entry, place) in &mut self.places {
            match place {
                _ if seen.contains(entry) => *place = TaskState::Queued(0),
                TaskState::Queued(looks) if *looks + 1 >= MISSING_POLLS_UNTIL_ENDED => {
                    *place = TaskState::Finished;
                }
                TaskState::Queued(looks) => *looks += 1,
                TaskState::NotSubmitted | TaskState::Finished => {}
            }
        }
    }

    /// Updates results and queue, and submits waiting entries.
    fn look(&mut self) -> Result<(), SlurmError> {
        let queued = self.cluster.queued(self.plan())?;
        // Read after the queue: results of tasks that left the queue are now visible.
        self.results.refresh()?;
        let results = &*self.results;
        self.places.retain(|entry, _| !results.has(*entry));
        for entry in results.missing() {
            // A result that existed before may have been damaged.
            self.places.entry(entry).or_insert(TaskState::NotSubmitted);
        }
        let held: Vec<String> = queued
            .iter()
            .filter(|one| one.held.is_some())
            .map(|one| format!("{}_{}", one.job, one.number))
            .collect();
        self.cluster.cancel(&held)?;
        self.see(&queued);
        self.tell();
        if self.polls_to_wait > 0 {
            self.polls_to_wait -= 1;
            return Ok(());
        }
        let refused = self.submit(queued.len());
        refused.or_else(|error| self.refused(error, queued.is_empty()))
    }

    /// Handles a submission that failed: it is repeated after a pause, or the campaign ends.
    fn refused(&mut self, error: SlurmError, is_queue_empty: bool) -> Result<(), SlurmError> {
        // The job may run, and a second one would run the same cells.
        let is_unknown =
            matches!(error, SlurmError::NoJobNumber(_) | SlurmError::Unreadable { .. });
        let [.., longest] = POLLS_AFTER_REFUSAL;
        let pause = POLLS_AFTER_REFUSAL.get(self.refusals).copied();
        // A limit of the user may end with the tasks in the queue.
        let pause = pause.or((!is_queue_empty).then_some(longest)).filter(|_| !is_unknown);
        if let Some(polls) = pause {
            self.refusals += 1;
            self.polls_to_wait = polls;
        } else if !matches!(error, SlurmError::Interrupted) {
            let why = format!("cannot submit to Slurm: {error}");
            self.abort(&AbortReason::EnvironmentFault(why));
            return Ok(());
        }
        Err(error)
    }

    /// Reports started cells that are now complete or lost.
    fn tell(&mut self) {
        let begun: Vec<CellId> = self.begun.keys().copied().collect();
        for cell in begun {
            if self.results.state(cell) == ResultState::Ready {
                if let Some(news) = ended(self.results, cell) {
                    self.begun.remove(&cell);
                    self.news.push_back(news);
                }
                continue;
            }
            let (first, check) = self.begun[&cell];
            let is_gone = |entry: &u32| self.places.get(entry) == Some(&TaskState::Finished);
            if let Some(entry) = [Some(first), check].into_iter().flatten().find(is_gone) {
                self.begun.remove(&cell);
                let why = self.last_words(entry);
                self.news.push_back(CellUpdate::ConnectionLost(cell, why));
            }
        }
    }

    /// Returns the reason an entry has no result, from the log of its task.
    fn last_words(&self, entry: u32) -> String {
        let Some(task) = self.tasks.get(&entry) else {
            return format!("Slurm's task of entry {entry} ended without a result");
        };
        let read = || -> Option<String> {
            let log = self.batch.log().ok()?.open_to_read(format!("{task}.txt")).ok()??;
            bounded::read_end(&log, crate::LAST_WORDS_SIZE).ok()
        };
        let text = read().unwrap_or_default();
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        let line = line.unwrap_or("it was ended from outside, or has said nothing");
        format!("Slurm's task {task} ended without a result of entry {entry}: {line}")
    }

    /// Submits waiting entries, up to the limits of the cluster.
    fn submit(&mut self, queued: usize) -> Result<(), SlurmError> {
        let mut queued = u32::try_from(queued).unwrap_or(u32::MAX);
        let waits = |(entry, place): (&u32, &TaskState)| {
            (*place == TaskState::NotSubmitted).then_some(*entry)
        };
        let waiting: Vec<u32> = self.places.iter().filter_map(waits).collect();
        let cells = self.batch.plan().cells;
        let (first, checks): (Vec<u32>, Vec<u32>) =
            waiting.iter().partition(|entry| **entry < cells);
        let mut submissions: Vec<(Array, Option<String>)> = Vec::new();
        let tasks = arrays::tasks(first, 0, self.each);
        let all = arrays::arrays(&tasks, 0, self.cluster.limits, queued);
        submissions.extend(all.into_iter().map(|array| (array, None)));
        // A check must run on another host than the first run.
        let mut by_host: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for check in checks {
            if let Some(host) = self.results.first_run_host(check) {
                by_host.entry(host.to_owned()).or_default().push(check);
            }
        }
        for (host, checks) in by_host {
            let tasks = arrays::tasks(checks, cells, 1);
            let all = arrays::arrays(&tasks, cells, self.cluster.limits, queued);
            submissions.extend(all.into_iter().map(|array| (array, Some(host.clone()))));
        }
        for (array, but) in submissions {
            let size = u32::try_from(array.tasks.len()).unwrap_or(u32::MAX);
            let is_too_much = queued.saturating_add(size) > self.cluster.limits.queued;
            // Slurm applies a limit of running tasks per array, so submit only one array at a time.
            if is_too_much || (queued > 0 && self.cluster.is_limited()) {
                break;
            }
            self.submit_one(&array, but.as_deref())?;
            self.refusals = 0;
            queued += size;
        }
        Ok(())
    }

    fn submit_one(&mut self, array: &Array, but: Option<&str>) -> Result<(), SlurmError> {
        let job = self.cluster.submit(&Submission {
            name: queue::name(self.plan(), array.first, array.entries_per_task),
            directory: self.batch.path(),
            program: self.batch.program(),
            log: self.batch.log().map_err(BatchError::from)?.path().to_owned(),
            array,
            but,
            worker: self.cluster.worker(),
        })?;
        for (task, number) in array.tasks().zip(&array.tasks) {
            for entry in self.entries_of(task) {
                self.places.insert(entry, TaskState::Queued(0));
                self.tasks.insert(entry, format!("{job}_{number}"));
            }
        }
        Ok(())
    }

    /// Stops the session at the user's request.
    fn stop(&mut self) {
        let note = self.cancel().map(|note| CellUpdate::Note(note.to_owned()));
        self.news.extend(note);
        self.abort(&AbortReason::Interrupted);
    }

    fn abort(&mut self, reason: &AbortReason) {
        let cells = std::mem::take(&mut self.begun).into_keys();
        self.news.extend(cells.map(|cell| CellUpdate::Aborted(cell, reason.clone())));
    }

    /// Waits for the poll interval, or until the user asks to stop.
    fn pause(&self) {
        let mut waited = Duration::ZERO;
        while waited < PAUSE && !self.stop.load(Ordering::Relaxed) {
            thread::sleep(ATTENTION);
            waited += ATTENTION;
        }
    }
}

impl CellBackend for SlurmBackend<'_, '_> {
    type Error = SlurmError;

    fn parallel_cells(&self) -> usize {
        self.cluster.processors as usize
    }

    fn queue_depth(&self) -> usize {
        AHEAD.max(2 * self.parallel_cells() * self.each as usize)
    }

    fn environment(&mut self) -> Result<Environment, SlurmError> {
        Ok(self.batch.environment(&self.go_on))
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, SlurmError> {
        Ok(None)
    }

    /// Starts a cell, or starts it again.
    fn start(&mut self, cell: &Cell, _: &Test) {
        let first = cell.id.0;
        let first = self.results.entry_for(cell.id).map_or(first, |entry| entry.index);
        let check = self.checks.get(&cell.id).copied();
        for entry in [Some(first), check].into_iter().flatten() {
            if self.places.get(&entry) == Some(&TaskState::Finished) {
                self.places.insert(entry, TaskState::NotSubmitted);
            }
        }
        self.begun.insert(cell.id, (first, check));
    }

    fn next_update(&mut self) -> CellUpdate {
        loop {
            if let Some(news) = self.news.pop_front() {
                return news;
            }
            if self.stop.load(Ordering::Relaxed) {
                self.stop();
                continue;
            }
            match self.look() {
                Ok(()) => self.complaint = None,
                Err(_) if self.stop.load(Ordering::Relaxed) => {}
                // Usually temporary: a restart of the controller, or a limit of the user.
                Err(error) => {
                    let complaint = error.to_string();
                    if self.complaint.as_ref() != Some(&complaint) {
                        self.complaint = Some(complaint.clone());
                        let note = format!("{complaint}; trying again");
                        self.news.push_back(CellUpdate::Note(note));
                    }
                }
            }
            if self.news.is_empty() {
                self.pause();
            }
        }
    }
}
