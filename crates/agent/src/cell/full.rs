//! Fills a mounted volume, and tries what the full filesystem still does: replace a file, unmount,
//! pass its check, mount, remove files, write again. A step that fails is a result.

use model::{Bytes, Failure, Fill, FullResult, FullStep};
use workload::survival::FillingFiles;
use workload::{OpError, Progress};

use crate::cell::volume::CellVolume;

/// Fills a volume in a new directory.
///
/// # Errors
/// Returns an error if the first small file cannot be written on the new filesystem.
pub fn fill(
    volume: &mut CellVolume<'_>,
    op: &Fill,
    phase: &str,
    seed: u64,
    progress: &Progress,
) -> Result<FullResult, OpError> {
    let mut files = FillingFiles::new(volume.root().join(phase), op, seed)?;
    files.fill(progress);
    let mut result = FullResult {
        files: files.count(),
        bytes: Bytes(files.bytes()),
        first_failure: files.first_failure().cloned(),
        name_failure: files.name_failure().cloned(),
        ..FullResult::default()
    };
    result.replace = Some(call(files.replace()));
    (result.lost_when_full, result.example) = files.lost(progress);
    // A filesystem in memory loses everything by an unmount.
    if volume.has_device() {
        remount(volume, &mut result);
        if !volume.is_mounted() {
            return Ok(result);
        }
        let (lost, example) = files.lost(progress);
        result.lost_after_mount = Some(lost);
        if result.example.is_empty() {
            result.example = example;
        }
    }
    let (removed, outcome) = files.remove(progress);
    result.removed = removed;
    result.remove = Some(call(outcome));
    result.write_again = Some(call(files.write_again()));
    Ok(result)
}

/// Unmounts the volume, checks it, and mounts it again.
fn remount(volume: &mut CellVolume<'_>, result: &mut FullResult) {
    if let Err(failed) = volume.unmount() {
        result.remount = Some(program(failed.failure));
        return;
    }
    if volume.has_fsck() {
        result.check =
            Some(volume.fsck().map_or_else(|failed| program(failed.failure), |_| FullStep::Done));
    }
    result.remount =
        Some(volume.mount_cold().map_or_else(|failed| program(failed.failure), |_| FullStep::Done));
}

fn call(outcome: Result<(), OpError>) -> FullStep {
    match outcome {
        Ok(()) => FullStep::Done,
        Err(error) => FullStep::Failed { reason: error.to_string(), error: error.system_error() },
    }
}

fn program(failure: Failure) -> FullStep {
    FullStep::Failed { reason: failure.reason, error: failure.error }
}
