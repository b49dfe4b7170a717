//! Cuts the power at each position of a recording: sets the disk to the state that the cut leaves,
//! repairs, mounts, compares, writes, unmounts, checks.

use model::{BrokenCut, FileStep, PowerCut, PowerCutSet, ShortestLoss, Survival};
use simdisk::write_log::{Cut, Kept};
use workload::Progress;
use workload::survival::{self, ExpectedStates};

use crate::cell::recorded_volume::{RecordedSteps, RecordedVolume, TrialError, owned};
use crate::cell::volume::CellVolume;

/// Maximum number of cuts of a part that is tried to shorten a sequence.
const MAX_CUTS_OF_A_PART: u32 = 24;

/// When the repair command of the catalog runs.
#[derive(Clone, Copy)]
enum Repair {
    /// Before the mount, as an administrator does it; if the mount replays a journal, after a mount
    /// that failed.
    AsNeeded,
    Never,
}

/// Outcome of a cut.
#[derive(Default)]
struct Recovery {
    is_repaired: bool,
    lost: Option<String>,
    is_unmountable: bool,
    is_unwritable: bool,
    is_inconsistent: bool,
}

/// Power cuts of one phase.
struct PowerCuts<'a> {
    op: &'a PowerCut,
    states: ExpectedStates,
}

/// Runs all cuts of a phase.
pub fn run(
    volume: RecordedVolume<'_, '_>,
    op: &PowerCut,
    seed: u64,
    progress: &Progress,
) -> Result<Survival, TrialError> {
    let cuts = PowerCuts { op, states: ExpectedStates::new(&op.prepare, &op.steps) };
    volume.run(&op.prepare, &op.steps, |volume, recording| {
        cuts.cut_all(volume, recording, seed, progress)
    })
}

/// Runs all cuts of a phase, and shortens its sequence if it has a loss and the phase asks for
/// it.
pub fn run_and_shorten(
    volume: &mut CellVolume<'_>,
    op: &PowerCut,
    phase: &str,
    seed: u64,
    progress: &Progress,
) -> Result<Survival, TrialError> {
    let mut survival = run(RecordedVolume::new(volume, phase)?, op, seed, progress)?;
    if op.shorten && !op.ignores_flushes && !survival.broken.is_empty() {
        let lost = name_lost(&survival.broken[0]).to_owned();
        // A failure must not hide the loss. If the disk is unusable, the next step fails, too.
        let found = shortest(volume, op, phase, &lost, seed, progress);
        survival.shortest = found.unwrap_or_default();
    }
    Ok(survival)
}

/// Returns the first name that a cut lost.
fn name_lost(broken: &BrokenCut) -> &str {
    broken.lost.split(' ').next().unwrap_or_default()
}

/// Returns the shortest part of a sequence that loses this name. `None` if no part does within the
/// number of trials and of their cuts.
fn shortest(
    volume: &mut CellVolume<'_>,
    op: &PowerCut,
    phase: &str,
    lost: &str,
    seed: u64,
    progress: &Progress,
) -> Result<Option<ShortestLoss>, TrialError> {
    let prepared = op.prepare.iter().map(|step| (true, step));
    let all: Vec<(bool, &FileStep)> =
        prepared.chain(op.steps.iter().map(|step| (false, step))).collect();
    let mut shortest = None;
    let mut trial = 0;
    survival::shorten(&all, PowerCut::MAX_PARTS, |part| {
        let of = |is_prepared| {
            let steps = part.iter().filter(|(prepared, _)| *prepared == is_prepared);
            steps.map(|(_, step)| (*step).clone()).collect::<Vec<_>>()
        };
        let (prepare, steps) = (of(true), of(false));
        if steps.is_empty() {
            return Ok(false);
        }
        trial += 1;
        let cuts = op.cuts.min(MAX_CUTS_OF_A_PART);
        let part = PowerCut { prepare, steps, cuts, ..op.clone() };
        let recorded = RecordedVolume::new(volume, &format!("{phase}-shorter-{trial}"))?;
        match run(recorded, &part, seed, progress) {
            Ok(survival) => {
                let mut broken = survival.broken.into_iter();
                let same = broken.find(|broken| name_lost(broken) == lost);
                let Some(broken) = same else { return Ok(false) };
                let PowerCut { prepare, steps, .. } = part;
                shortest = Some(ShortestLoss { prepare, steps, broken });
                Ok(true)
            }
            // A removed step was needed.
            Err(TrialError::Unsupported(_)) => Ok(false),
            Err(failed) => Err(failed),
        }
    })?;
    Ok(shortest)
}

/// Cuts the power in each sequence of a set. A sequence with an operation that the filesystem
/// does not support is counted, and the others run.
pub fn run_set(
    volume: &mut CellVolume<'_>,
    op: &PowerCutSet,
    phase: &str,
    seed: u64,
    progress: &Progress,
) -> Result<Survival, TrialError> {
    let all = survival::sequences(op.operations, op.sequences, op.cuts, seed);
    let mut sum = Survival::default();
    let mut reason = String::new();
    for (number, sequence) in all.iter().enumerate() {
        let recorded = RecordedVolume::new(volume, &format!("{phase}-{number}"))?;
        sum.sequences += 1;
        match run(recorded, sequence, seed, progress) {
            Ok(mut survival) => {
                let broken = survival.broken.iter_mut();
                broken.for_each(|broken| broken.steps.clone_from(&sequence.steps));
                sum.add(&survival);
            }
            Err(TrialError::Unsupported(why)) => {
                sum.unsupported += 1;
                reason = why;
            }
            Err(failed) => return Err(failed),
        }
    }
    if sum.cuts == 0 { Err(TrialError::Unsupported(reason)) } else { Ok(sum) }
}

impl PowerCuts<'_> {
    fn cut_all(
        &self,
        volume: &mut RecordedVolume<'_, '_>,
        recording: &RecordedSteps,
        seed: u64,
        progress: &Progress,
    ) -> Result<Survival, TrialError> {
        let RecordedSteps { log, base, .. } = recording;
        let limit = self.op.cuts as usize;
        let cuts = match self.op.ignores_flushes {
            true => log.cuts_without_flushes(limit, seed),
            false => log.cuts(limit, seed),
        };
        if cuts.is_empty() {
            let reason = "the disk has no flushes to ignore, or the filesystem sent none";
            return Err(TrialError::Unsupported(reason.to_owned()));
        }
        let mut survival = Survival {
            positions: log.len() as u32,
            cuts: cuts.len() as u32,
            cost: Some(recording.cost()),
            ..Survival::default()
        };
        progress.restart();
        progress.plan(cuts.len() as u64);
        for cut in &cuts {
            let state = owned(&log.state(cut));
            let recover = |repair| {
                move |volume: &mut RecordedVolume<'_, '_>| self.recover(volume, cut, repair)
            };
            let recovery = volume.with_state(&state, base, recover(Repair::AsNeeded))?;
            if recovery.lost.is_some() && recovery.is_repaired {
                let before = volume.with_state(&state, base, recover(Repair::Never))?;
                survival.lost_by_repair += u32::from(before.lost.is_none());
            }
            self.count(cut, recovery, &mut survival);
            progress.add(1);
        }
        Ok(survival)
    }

    /// Does what an administrator does after a cut.
    fn recover(
        &self,
        recorded: &mut RecordedVolume<'_, '_>,
        cut: &Cut,
        repair: Repair,
    ) -> Result<Recovery, TrialError> {
        let mut recovery = Recovery::default();
        let volume = &mut *recorded.volume;
        let repairs = matches!(repair, Repair::AsNeeded) && volume.has_repair();
        let mut mounted = Ok(Vec::new());
        if !repairs || volume.replays_at_mount() {
            mounted = volume.mount_quickly();
        }
        if repairs && (!volume.replays_at_mount() || mounted.is_err()) {
            recovery.is_repaired = true;
            mounted = volume.repair().and_then(|_| volume.mount_quickly());
        }
        if let Err(failed) = mounted {
            recovery.is_unmountable = true;
            recovery.lost = Some(format!("all files: {}", failed.failure.reason));
            return Ok(recovery);
        }
        let names = self.states.names();
        let found = recorded.find_files(names.into_iter(), self.states.largest_file());
        recovery.lost = self.states.lost(self.op.expect, done(cut), &found);
        recovery.is_unwritable = recorded.write_probe().is_err();
        recorded.volume.unmount_quickly()?;
        recovery.is_inconsistent = recorded.volume.has_fsck() && recorded.volume.fsck().is_err();
        Ok(recovery)
    }

    fn count(&self, cut: &Cut, recovery: Recovery, survival: &mut Survival) {
        survival.unmountable += u32::from(recovery.is_unmountable);
        survival.unwritable += u32::from(recovery.is_unwritable);
        survival.inconsistent += u32::from(recovery.is_inconsistent);
        let Some(lost) = recovery.lost else {
            survival.held += 1;
            return;
        };
        if survival.broken.len() < Survival::DESCRIBED {
            let after = match done(cut) {
                0 => "the mount".to_owned(),
                step => self.op.steps[step - 1].to_string(),
            };
            let position = cut.position as u32;
            let steps = Vec::new();
            survival.broken.push(BrokenCut { steps, position, kept: kept(&cut.kept), after, lost });
        }
    }
}

fn done(cut: &Cut) -> usize {
    cut.step.map_or(0, |step| step as usize)
}

fn kept(kept: &Kept) -> String {
    match kept {
        Kept::None => "nothing in doubt was kept".to_owned(),
        Kept::All => "everything in doubt was kept".to_owned(),
        Kept::Torn(_) => "the last write was torn".to_owned(),
        Kept::Some(_) => "some writes in doubt were kept".to_owned(),
        Kept::FlushesIgnored(_) => "the disk ignored flushes and kept some writes".to_owned(),
    }
}
