//! Tries faults of the disk: damages the disk after a recording, or lets requests fail while the
//! steps run. Then mounts without a repair, compares, writes, unmounts, checks, repairs and
//! compares again.

use model::{BlockContent, DescribedFault, DiskFault, DiskFaults, FaultVerdict};
use simdisk::damage::{FaultPlace, Sectors, differs_only_in_data, sample};
use simdisk::write_log::LoggedWrite;
use workload::Progress;
use workload::survival::{self, ExpectedStates, FoundFile};

use crate::cell::recorded_volume::{
    RecordedSteps, RecordedVolume, StepError, StepOutcomes, TrialError, owned,
};

/// Disk after a fault, and the promises that are still valid.
struct FaultyDisk {
    state: Sectors,
    /// State before the steps.
    base: Sectors,
    block: BlockContent,
    /// Requests that fail while the disk is examined.
    failing: Option<String>,
    promises: Promises,
}

/// Promises of the steps.
struct Promises {
    /// Number of steps before the first error. A program knows that later ones may be lost.
    before_error: usize,
    /// Number of steps before the first change that failed.
    certain: usize,
    /// The states, in which a sync that failed promises nothing.
    states: ExpectedStates,
    /// Errors of the steps.
    errors: Vec<StepError>,
}

/// Observations on a mounted filesystem.
#[derive(Default)]
struct Observation {
    is_unmountable: bool,
    /// Wrong data without an error.
    silent: Option<String>,
    /// Lost data of a promise.
    lost: Option<String>,
    /// Lost data of a sync that succeeded after an error.
    lost_after_error: Option<String>,
    errors: Vec<StepError>,
}

/// Effects of a fault.
struct FaultEffects {
    before_repair: Observation,
    found_by_checker: bool,
    after_repair: Option<Observation>,
}

/// Runs all faults of a phase.
pub fn run(
    volume: RecordedVolume<'_, '_>,
    op: &DiskFault,
    seed: u64,
    progress: &Progress,
) -> Result<DiskFaults, TrialError> {
    volume.run(&op.prepare, &op.steps, |volume, recording| {
        try_all(volume, op, recording, seed, progress)
    })
}

fn try_all(
    volume: &mut RecordedVolume<'_, '_>,
    op: &DiskFault,
    recording: &RecordedSteps,
    seed: u64,
    progress: &Progress,
) -> Result<DiskFaults, TrialError> {
    let count = op.prepare.len() + op.steps.len();
    let is_data = |sector: &[u8]| survival::is_content(sector, count);
    let places = recording.log.fault_places(op.fault, seed, &is_data);
    let mut faults = DiskFaults { places: places.len() as u32, ..DiskFaults::default() };
    let chosen = sample(places, op.faults as usize, seed);
    progress.restart();
    progress.plan(chosen.len() as u64);
    for place in &chosen {
        let disk = match op.fault.is_during_steps() {
            true => fail_requests(volume, op, place, &is_data)?,
            false => damage(op, recording, place, &is_data),
        };
        progress.add(1);
        let Some(disk) = disk else { continue };
        let effects = volume.with_state(&disk.state, &disk.base, |volume| {
            if let Some(failing) = &disk.failing {
                volume.recorder.fail(failing)?;
            }
            let effects = examine(volume, &disk.promises);
            volume.recorder.fail("off")?;
            effects
        })?;
        count_effects(&mut faults, recording.log.describe(place), &disk, &effects);
    }
    Ok(faults)
}

/// Returns the disk with a fault after the steps. Returns `None` if the fault changes no byte.
fn damage(
    op: &DiskFault,
    recording: &RecordedSteps,
    place: &FaultPlace,
    is_data: &dyn Fn(&[u8]) -> bool,
) -> Option<FaultyDisk> {
    let image = recording.log.image();
    let state = recording.log.damaged(place);
    let (only_data, failing) = match place {
        FaultPlace::Unreadable { sector, sectors } => {
            let mut block = image.range(*sector..sector + sectors);
            (block.all(|(_, content)| is_data(content)), Some(format!("read {sector} {sectors}")))
        }
        _ if image.iter().all(|(sector, right)| state[sector] == *right) => return None,
        _ => (differs_only_in_data(&image, &state, is_data), None),
    };
    let promises = Promises::new(op, Vec::new());
    Some(FaultyDisk {
        state,
        base: recording.base.clone(),
        block: block_content(only_data),
        failing,
        promises,
    })
}

/// Repeats the steps while requests fail. Returns `None` if there was no such request.
fn fail_requests(
    volume: &mut RecordedVolume<'_, '_>,
    op: &DiskFault,
    place: &FaultPlace,
    is_data: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<FaultyDisk>, TrialError> {
    let requests = match place {
        FaultPlace::FailedWrites { from, count } => format!("write {from} {count}"),
        FaultPlace::FailedFlush(number) => format!("flush {number} 1"),
        _ => return Ok(None),
    };
    let first = 1 + op.prepare.len();
    let (outcomes, RecordedSteps { log, base, .. }) =
        volume.perform_with_faults(&op.steps, first, &requests)?;
    let (state, only_data) = match place {
        FaultPlace::FailedFlush(_) => {
            let Some(state) = log.image_after_failed_flush() else { return Ok(None) };
            let state = owned(&state);
            let only_data = differs_only_in_data(&log.image(), &state, is_data);
            (state, only_data)
        }
        _ => {
            // Of writes that all fail, the first one decides.
            let Some(failed) = log.writes().find(|write| write.failed) else { return Ok(None) };
            (owned(&log.image()), holds_only_data(failed, is_data))
        }
    };
    let promises = Promises::new(op, outcomes);
    let block = block_content(only_data);
    Ok(Some(FaultyDisk { state, base, block, failing: None, promises }))
}

fn holds_only_data(write: &LoggedWrite, is_data: &dyn Fn(&[u8]) -> bool) -> bool {
    write.pieces().all(|(_, piece)| is_data(piece))
}

const fn block_content(only_data: bool) -> BlockContent {
    if only_data { BlockContent::Data } else { BlockContent::Other }
}

impl Promises {
    /// Follows steps with these outcomes. Without outcomes, all succeeded.
    fn new(op: &DiskFault, outcomes: StepOutcomes) -> Self {
        let mut states = ExpectedStates::new(&op.prepare, &op.steps);
        let failed: Vec<usize> =
            (0..outcomes.len()).filter(|step| outcomes[*step].is_err()).collect();
        let all = op.steps.len();
        let is_change = |step: &&usize| !op.steps[**step].is_sync();
        let syncs = failed.iter().filter(|step| !is_change(step));
        syncs.for_each(|step| states.remove_promise(*step));
        Self {
            before_error: failed.first().copied().unwrap_or(all),
            certain: failed.iter().find(is_change).copied().unwrap_or(all),
            states,
            errors: outcomes.into_iter().filter_map(Result::err).collect(),
        }
    }
}

fn examine(
    recorded: &mut RecordedVolume<'_, '_>,
    promises: &Promises,
) -> Result<FaultEffects, TrialError> {
    let before_repair = observe(recorded, promises)?;
    let found_by_checker = recorded.volume.has_fsck() && recorded.volume.fsck().is_err();
    let is_damaged = verdict(&before_repair, promises) != FaultVerdict::Harmless;
    let mut after_repair = None;
    if recorded.volume.has_repair() && (is_damaged || found_by_checker) {
        // A repair that fails leaves the filesystem as it is.
        let _ = recorded.volume.repair();
        after_repair = Some(observe(recorded, promises)?);
    }
    Ok(FaultEffects { before_repair, found_by_checker, after_repair })
}

/// Mounts, reads all files, writes one and unmounts.
fn observe(
    recorded: &mut RecordedVolume<'_, '_>,
    promises: &Promises,
) -> Result<Observation, TrialError> {
    let mut seen = Observation::default();
    if let Err(failed) = recorded.volume.mount_quickly() {
        seen.is_unmountable = true;
        seen.lost = Some(format!("all files: {}", failed.failure.reason));
        seen.errors.push(StepError::from(&failed));
        return Ok(seen);
    }
    let states = &promises.states;
    let found = recorded.find_files(states.names().into_iter(), states.largest_file());
    seen.errors.extend(found.iter().filter_map(|(name, file)| match file {
        FoundFile::Unreadable { call, error } => {
            let text = format!("{call} of {name} returned {error}");
            Some(StepError { call: format!("{call}: {error}"), text, errno: None })
        }
        _ => None,
    }));
    seen.silent = states.silently_broken(promises.before_error, &found);
    seen.lost = states.broken_promise(promises.before_error, &found);
    if !promises.errors.is_empty() {
        seen.lost_after_error = states.broken_promise(promises.certain, &found);
    }
    seen.errors.extend(recorded.write_probe().err());
    recorded.volume.unmount_quickly()?;
    Ok(seen)
}

fn verdict(seen: &Observation, promises: &Promises) -> FaultVerdict {
    match seen {
        _ if seen.is_unmountable => FaultVerdict::Unmountable,
        _ if seen.silent.is_some() => FaultVerdict::Wrong,
        _ if !promises.errors.is_empty() || !seen.errors.is_empty() => FaultVerdict::Reported,
        _ => FaultVerdict::Harmless,
    }
}

fn count_effects(
    faults: &mut DiskFaults,
    place: String,
    disk: &FaultyDisk,
    effects: &FaultEffects,
) {
    let seen = &effects.before_repair;
    let verdict = verdict(seen, &disk.promises);
    let mut errors = disk.promises.errors.iter().chain(&seen.errors);
    let is_reported = matches!(verdict, FaultVerdict::Reported | FaultVerdict::Unmountable);
    let late = seen.lost_after_error.as_ref().filter(|_| verdict == FaultVerdict::Reported);
    let counts = faults.of(disk.block);
    counts.count(verdict);
    counts.read_only += u32::from(errors.clone().any(|error| error.errno == Some(libc::EROFS)));
    counts.lost_after_error += u32::from(late.is_some());
    counts.found_by_checker += u32::from(effects.found_by_checker);
    if let Some(after) = &effects.after_repair {
        counts.repairs += 1;
        counts.lost_after_repair += u32::from(after.lost.is_some());
    }
    let first = errors.next().filter(|_| is_reported);
    if let Some(error) = first {
        *faults.reported_by.entry(error.call.clone()).or_default() += 1;
    }
    let error = first.map(|error| error.text.clone());
    let loss = late.map(|lost| format!("a later sync returned success, but {lost}"));
    let effect: Vec<String> = match &seen.silent {
        Some(silent) => vec![silent.clone()],
        None => error.into_iter().chain(loss).collect(),
    };
    faults.describe(DescribedFault {
        place,
        block: disk.block,
        verdict,
        lost_after_error: late.is_some(),
        effect: effect.join("; "),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DiskFaultKind;

    #[test]
    fn promises_end_at_the_first_error_and_failed_changes_are_never_certain() {
        let steps = ["write a 1", "fsync a", "append a 1", "fsync a", "fsync a"];
        let op = DiskFault {
            fault: DiskFaultKind::WriteError,
            prepare: Vec::new(),
            steps: steps.iter().map(|step| step.parse().unwrap()).collect(),
            faults: 1,
        };
        let failing = |failed: &[usize]| {
            let outcome = |step| {
                let error = || StepError { call: "c".into(), text: "t".into(), errno: None };
                if failed.contains(&step) { Err(error()) } else { Ok(()) }
            };
            let promises = Promises::new(&op, (0..5).map(outcome).collect());
            (promises.before_error, promises.certain, promises.errors.len())
        };
        assert_eq!(failing(&[]), (5, 5, 0));
        assert_eq!(failing(&[3]), (3, 5, 1), "the sync after it is tried");
        assert_eq!(failing(&[2, 3]), (2, 2, 2));
        let promises = Promises::new(&op, Vec::new());
        assert_eq!((promises.before_error, promises.certain), (5, 5));
    }
}
