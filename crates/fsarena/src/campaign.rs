//! Drives a campaign: each cell without a result is provisioned, run and stored; one after another on this
//! machine, side by side in guests where time passes only inside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use analyse::StopReason;
use anyhow::Context;
use guest::Guest;
use model::{Bytes, Campaign, Cell, CellId, Environment, Nanos, StoredCell, Test};
use plan::{Pace, Writes};
use provision::{HeldDevice, ProvisionError};
use run::{CellCache, Stopped};
use store::{CampaignId, Store};
use sys::clock;
use wire::Event;

use crate::again::{self, Again};
use crate::calibration::{self, Effort};
use crate::erase_question::Consent;
use crate::exit::{Interruption, Refused};
use crate::fit::Misfits;
use crate::ground::{Ground, Held};
use crate::progress::{Position, Progress};
use crate::site::Site;
use crate::worker_pool::{self, News};
use crate::written::Written;
use crate::{guest_ground, rounds, run_command};

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every cell has a result.
    Complete,
    /// The user asked to stop; the rest can be resumed.
    Interrupted,
}

/// What the user gives a run of a campaign beside the campaign itself.
pub struct Means<'a> {
    /// What may be erased.
    pub consent: Consent,
    /// How many cells may run side by side, where any may.
    pub jobs: Option<u32>,
    /// The most that may be written from now on, in place of what the campaign began with.
    pub max_written: Option<Bytes>,
    /// Brings the place where results are kept that need not be brought about twice; asked for guests only.
    pub cache: &'a dyn Fn() -> Option<CellCache>,
    /// Brings the guest in which cells run; not asked where they run elsewhere, or all have.
    pub guest: &'a dyn Fn(&Campaign) -> anyhow::Result<Arc<Guest>>,
}

/// Stores a new campaign with its plan, unless something would refuse it anyway, and takes what it works on.
pub fn begin(
    store: &mut Store,
    campaign: &Campaign,
    plan: &[Cell],
    consent: &Consent,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<(CampaignId, Held)> {
    let held = Ground::hold(campaign, consent, progress, stop)?;
    let misfits = Misfits::of(campaign, held.device.as_ref().map(HeldDevice::size))?;
    Ground::inspect_place(campaign)?;
    misfits
        .lines()
        .for_each(|line| progress.note(&format!("unsupported: {line}")));
    let id = store.begin_campaign(campaign, plan, clock::calendar())?;
    Ok((id, held))
}

/// Runs every cell of a stored campaign that has no result yet, and leaves nothing behind. What it works on is
/// taken where it is not held already.
pub fn drive(
    store: &mut Store,
    id: CampaignId,
    held: Option<Held>,
    means: &Means<'_>,
    progress: &Progress,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<Ended> {
    let stored = store.load(id)?;
    let elapsed = |c: &StoredCell| Some((c.cell.id, c.result.as_ref()?.elapsed));
    let finished: BTreeMap<_, _> = stored.cells.iter().filter_map(elapsed).collect();
    let is_over = finished.len() == stored.cells.len() && !rounds::wants_more(&stored);
    let again = Again::of(&stored.cells);
    let writes = Writes::of(&stored.campaign);
    let each = stored
        .cells
        .iter()
        .filter_map(|c| Some((&c.cell, c.result.as_ref()?)));
    let cells_wrote = each.fold(0, |sum: u64, (cell, result)| {
        sum.saturating_add(writes.counted(cell, &result.phases).0)
    });
    let plan: Vec<Cell> = stored.cells.into_iter().map(|c| c.cell).collect();
    let campaign = Campaign {
        max_written: means.max_written.or(stored.campaign.max_written),
        ..stored.campaign
    };
    if is_over {
        Site::sweep(id, &campaign)?;
        progress.note(&format!(
            "campaign {id} is complete: nothing is left to run"
        ));
        return Ok(Ended::Complete);
    }
    let cost = run_command::cost(&campaign, Some(store), means.jobs)?;
    let most = run_command::allowance(&campaign, &cost)?;
    let held = match held {
        Some(held) => held,
        None => Ground::hold(&campaign, &means.consent, progress, &stop)?,
    };
    require_same_disk(&held, &stored.environments)?;
    let site = match Site::prepare(id, &campaign, held, means, progress, &stop) {
        Err(error) if is_interruption(&error) => return Ok(Ended::Interrupted),
        other => other?,
    };
    // Each session fills an image of its own.
    let sessions = stored.environments.len() as u64 + 1;
    let filled = cost.preparation.0.saturating_mul(sessions);
    let so_far = Bytes(cells_wrote.saturating_add(filled));
    let unfinished = plan.iter().filter(|cell| !finished.contains_key(&cell.id));
    let reserved = writes.all(unfinished);
    let named = campaign.max_written.is_some();
    Drive {
        store,
        id,
        written: most.map(|most| Written::new(so_far, reserved, most, named)),
        expected: expected(&campaign, cost.pace),
        writes,
        campaign,
        plan,
        finished,
        calibrated: stored.calibration.is_some(),
        site,
        jobs: means.jobs,
        progress,
        stop,
        again,
    }
    .run()
}

fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interruption>() || matches!(error.downcast_ref(), Some(ProvisionError::Interrupted))
}

/// A campaign goes on on the disk on which it began, as far as disks can be told by size and number.
fn require_same_disk(held: &Held, sessions: &[Environment]) -> Result<(), Refused> {
    let before = sessions.iter().find_map(|session| session.disk.as_ref());
    let device = held.device.as_ref();
    let difference = before.zip(device.and_then(HeldDevice::identity));
    let difference = difference.and_then(|(before, now)| before.lasting_difference(now));
    match (device, difference) {
        (Some(device), Some(difference)) => Err(Refused(format!(
            "{} is not the disk on which the campaign began: {difference}; attach that one, or run anew",
            device.path().display()
        ))),
        _ => Ok(()),
    }
}

/// A campaign being driven.
struct Drive<'a> {
    store: &'a mut Store,
    id: CampaignId,
    campaign: Campaign,
    plan: Vec<Cell>,
    finished: BTreeMap<CellId, Nanos>,
    /// Whether what fsarena costs and what the device can do is known already.
    calibrated: bool,
    site: Site,
    /// What is written to disks of this machine's, where cells write to any.
    written: Option<Written>,
    /// What each cell writes.
    writes: Writes,
    /// About how long a cell of each test takes.
    expected: BTreeMap<String, Nanos>,
    /// How many cells may run side by side.
    jobs: Option<u32>,
    progress: &'a Progress,
    stop: Arc<AtomicBool>,
    /// Which cells are run again.
    again: Again,
}

impl Drive<'_> {
    fn run(mut self) -> anyhow::Result<Ended> {
        let ended = self.rounds();
        self.progress.finish();
        if let Some(written) = self.written {
            let (so_far, most) = (written.so_far(), written.most());
            self.progress
                .note(&format!("written: {so_far}; the limit is {most}"));
        }
        self.site.clear()?;
        ended
    }

    fn rounds(&mut self) -> anyhow::Result<Ended> {
        let environment = self.site.environment(&self.campaign);
        self.store
            .begin_session(self.id, &environment, clock::calendar())?;
        if !self.calibrate()? {
            return Ok(Ended::Interrupted);
        }
        loop {
            let ended = self.planned_cells()?;
            if ended == Ended::Interrupted || !self.further_round()? {
                return Ok(ended);
            }
        }
    }

    /// Runs the cells that are planned and have no result.
    fn planned_cells(&mut self) -> anyhow::Result<Ended> {
        let done: BTreeSet<CellId> = self.finished.keys().copied().collect();
        let cells = plan::remaining(&self.plan, &done);
        if matches!(self.site, Site::Guests(_)) {
            return self.side_by_side(&cells);
        }
        for cell in &cells {
            if !self.cell(cell)? {
                return Ok(Ended::Interrupted);
            }
        }
        Ok(Ended::Complete)
    }

    /// Runs cells in guests; each result is stored, by this thread alone, as soon as it is there.
    fn side_by_side(&mut self, cells: &[Cell]) -> anyhow::Result<Ended> {
        let Self {
            store,
            id,
            campaign,
            plan,
            finished,
            written,
            writes,
            expected,
            site: Site::Guests(ground),
            jobs,
            progress,
            stop,
            ..
        } = self
        else {
            return Ok(Ended::Complete);
        };
        for cell in cells {
            test_of(campaign, cell)?;
        }
        let abreast = guest_ground::abreast(campaign, *jobs);
        let test_of = |cell: &Cell| test_of(campaign, cell).expect("it was looked for above");
        let shared = Mutex::new(*written);
        let ended = worker_pool::work_off(
            cells,
            abreast,
            stop,
            &|cell, observe| {
                let test = within(*lock(&shared), writes.expected(cell), test_of(cell))
                    .map_err(Stopped::Withdrawn)?;
                ground.execute(cell, &test, observe)
            },
            &mut |news| {
                let position = |finished: &BTreeMap<CellId, Nanos>| Position {
                    written: lock(&shared).map(Written::so_far),
                    ..position(plan, finished, expected, abreast)
                };
                match news {
                    News::Begins(cell) => progress.begin(cell, position(finished)),
                    News::Event(cell, event) => progress.event(cell, &event),
                    News::Withdrawn(reason) => {
                        return Err(Refused(withdrawn(*id, &reason)).into());
                    }
                    News::Ends(cell, result) => {
                        store.record(*id, cell, &result)?;
                        finished.insert(cell.id, result.elapsed);
                        if let Some(written) = lock(&shared).as_mut() {
                            let spent = writes.counted(cell, &result.phases);
                            count(written, writes.expected(cell), spent, progress);
                        }
                        progress.end(cell, &result, position(finished));
                    }
                }
                Ok(())
            },
        );
        *written = *lock(&shared);
        ended
    }

    /// Plans and stores one more round where the campaign's rule wants it; false where it has enough.
    ///
    /// What the rule says follows from what is stored, so that it says the same after a kill.
    fn further_round(&mut self) -> anyhow::Result<bool> {
        if self.campaign.until.is_none() {
            return Ok(false);
        }
        let results = self.store.load(self.id)?;
        let Some(stop) = rounds::stop(&results) else {
            return Ok(false);
        };
        self.progress.note(&rounds::words(&stop));
        if stop.reason != StopReason::Wide {
            return Ok(false);
        }
        let planned = u32::try_from(results.cells.len()).context("the plan is too long")?;
        let cells = plan::further_round(&self.campaign, results.campaign.rounds + 1, planned);
        self.store.extend_plan(self.id, &cells)?;
        if let Some(written) = self.written.as_mut() {
            written.reserve(self.writes.all(&cells));
        }
        self.plan.extend(cells);
        Ok(true)
    }

    /// Measures, before the first cell, what fsarena costs and what the device can do, and stores it;
    /// once for each campaign. False where it was interrupted.
    ///
    /// Not for guests: what this machine and its disks can do says nothing of theirs.
    fn calibrate(&mut self) -> anyhow::Result<bool> {
        let Site::Here(here) = &mut self.site else {
            return Ok(true);
        };
        if self.calibrated {
            return Ok(true);
        }
        self.progress.calibrating();
        let subject = here.subject(&self.campaign);
        let effort = Effort::of(self.campaign.profile);
        let taken = calibration::take(subject, effort, &self.stop);
        here.used();
        let taken = match taken {
            Err(ProvisionError::Interrupted) => return Ok(false),
            other => other?,
        };
        self.store.calibrate(self.id, &taken)?;
        self.calibrated = true;
        self.progress.calibrated(&taken);
        Ok(true)
    }

    /// Runs one cell and stores its result before anything else happens; false where it was
    /// interrupted.
    fn cell(&mut self, cell: &Cell) -> anyhow::Result<bool> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let whole = test_of(&self.campaign, cell)?.clone();
        let refused = |reason: String| Refused(withdrawn(self.id, &reason));
        let test = within(self.written, self.writes.expected(cell), &whole).map_err(refused)?;
        self.progress.begin(cell, self.position());
        let progress = self.progress;
        let mut observe = |event: &Event| progress.event(cell, event);
        let mut execute = || match self.site.execute(&self.campaign, cell, &test, &mut observe) {
            Ok(result) => Ok(Some(result)),
            Err(Stopped::Interrupted) => Ok(None),
            Err(Stopped::Withdrawn(reason)) => Err(Refused(withdrawn(self.id, &reason))),
        };
        let Some(mut result) = execute()? else {
            return Ok(false);
        };
        let mut spent = self.writes.counted(cell, &result.phases);
        if self.again.is_due(&result) {
            progress.note(&again::words(cell, &result));
            // One that is interrupted in its second run has a whole result already.
            if let Some(second) = execute()? {
                let more = self.writes.counted(cell, &second.phases);
                spent = Bytes(spent.0.saturating_add(more.0));
                result = self.again.instead(result, second);
            }
        }
        self.store.record(self.id, cell, &result)?;
        self.finished.insert(cell.id, result.elapsed);
        if let Some(written) = self.written.as_mut() {
            count(written, self.writes.expected(cell), spent, progress);
        }
        self.progress.end(cell, &result, self.position());
        Ok(true)
    }

    fn position(&self) -> Position {
        Position {
            written: self.written.map(Written::so_far),
            ..position(&self.plan, &self.finished, &self.expected, 1)
        }
    }
}

/// About how long a cell of each test takes.
fn expected(campaign: &Campaign, pace: Pace) -> BTreeMap<String, Nanos> {
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let conditions = plan::Conditions::of(campaign);
    let time = |test: &Test| (test.name.clone(), plan::cell_time(test, pace, &conditions));
    tests.map(time).collect()
}

/// A test whose repetitions write no more than there is left; why it does not begin, where not even once is left.
fn within(written: Option<Written>, once: Bytes, test: &Test) -> Result<Test, String> {
    let Some(written) = written else {
        return Ok(test.clone());
    };
    match written.refusal(once) {
        Some(reason) => Err(reason),
        None => Ok(plan::within(test, written.left())),
    }
}

/// Counts what a cell wrote, and says when nothing is left for repetitions.
fn count(written: &mut Written, reserved: Bytes, spent: Bytes, progress: &Progress) {
    if written.add(spent, reserved) {
        progress.note(&format!(
            "{} are written, and {} is the most (--max-written): from here on each phase is done once",
            written.so_far(),
            written.most()
        ));
    }
}

/// What one thread left is whole: nothing that holds the lock can panic half-way.
fn lock(written: &Mutex<Option<Written>>) -> MutexGuard<'_, Option<Written>> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a campaign ends before its last cell, and how it goes on.
fn withdrawn(id: CampaignId, reason: &str) -> String {
    format!("{reason} (the campaign ends here; `fsarena resume {id}` goes on once that is mended)")
}

fn test_of<'a>(campaign: &'a Campaign, cell: &Cell) -> anyhow::Result<&'a Test> {
    let mut tests = campaign.suites.iter().flat_map(|s| &s.tests);
    tests
        .find(|t| t.suite == cell.suite && t.name == cell.test)
        .with_context(|| format!("the campaign has no test `{}`", cell.test))
}

/// How far a campaign is of which so many cells run side by side.
fn position(
    plan: &[Cell],
    finished: &BTreeMap<CellId, Nanos>,
    expected: &BTreeMap<String, Nanos>,
    abreast: usize,
) -> Position {
    let one_by_one = plan::time_left(plan, finished, expected);
    Position {
        done: finished.len() as u64,
        total: plan.len() as u64,
        left: Nanos(one_by_one.0 / abreast as u64),
        written: None,
    }
}
