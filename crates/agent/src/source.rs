//! Source of a copy: made visible to the cell read-only, and verified.
//!
//! Data of the user is never written. The mount is read-only and private to the cell, without
//! devices, programs or set-user-ID rights. A device is opened through a read-only loop device, so
//! that not even a journal is replayed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use model::wire::{GeneratedSource, SourceLocation, Volume};
use model::{Bytes, Op, SourceInventory, SyncAtEnd, Test};
use sys::io::bounded;
use sys::mount::{mount_id, read_only_mount};
use workload::{CellWorkspace, IoMode, OpError, PhaseMeter, Progress, ScannedSource, ThreadStats};

use crate::cell::volume::{CellVolume, StepResult};
use crate::sandbox::SandboxedRunner;
use crate::sandbox::command::output_file;

/// Maximum size of the output of mount(8).
const MAX_OUTPUT_SIZE: Bytes = Bytes::kib(64);

/// Mounts an existing source at its path in the cell; sources created by the cell follow later.
/// Must be called before restrictions apply and before `/run`, which contains mounted disks of
/// users, is hidden.
///
/// # Errors
/// Returns a one-line reason if the cell cannot run.
pub fn mount(place: &SourceLocation) -> Result<(), String> {
    match place {
        SourceLocation::Directory { path, at: Some(at), .. } => {
            let bound = read_only_mount::bind(path, at);
            bound.map_err(|error| format!("the source {} cannot be bound: {error}", path.display()))
        }
        SourceLocation::Device { device, at, .. } => mount_device(device, at),
        SourceLocation::Directory { at: None, .. } | SourceLocation::Generated(_) => Ok(()),
    }
}

/// Mounts a device with an unknown filesystem, without any mount helper.
fn mount_device(device: &Path, at: &Path) -> Result<(), String> {
    let mut command = Command::new("mount");
    command.args(["-i", "-o", read_only_mount::OPTIONS]).arg(device).arg(at).stdin(Stdio::null());
    let failed = |why: String| format!("the source {} cannot be mounted: {why}", device.display());
    // A process whose children get a private PID namespace cannot start the threads that read pipes.
    let printed = output_file().map_err(|error| failed(error.to_string()))?;
    let errors = printed.try_clone().map_err(|error| failed(error.to_string()))?;
    let status = command.stdout(Stdio::null()).stderr(errors).status();
    if status.map_err(|error| failed(error.to_string()))?.success() {
        return Ok(());
    }
    let said = bounded::read_end(&printed, MAX_OUTPUT_SIZE).unwrap_or_default();
    let said: Vec<&str> = said.split_whitespace().collect();
    Err(failed(format!(
        "{} (it takes no writes: a journal that has to be replayed first keeps it from being mounted)",
        said.join(" ")
    )))
}

/// Opens and scans the source as the cell sees it.
///
/// # Errors
/// Returns a one-line reason if the cell cannot run or its results would be meaningless.
pub fn open(
    source: &model::wire::SourceMount,
    progress: Arc<Progress>,
) -> Result<ScannedSource, String> {
    let at = match &source.place {
        SourceLocation::Directory { path, at, identity } => {
            let seen = at.as_ref().unwrap_or(path);
            require_place(seen, path, identity.device, identity.inode)?;
            seen
        }
        SourceLocation::Device { at, .. } => at,
        SourceLocation::Generated(made) => &made.volume.mountpoint,
    };
    let found = ScannedSource::open(at, source.prefix.clone(), &mut counting(progress));
    let found = found.map_err(|error| error.to_string())?;
    require_contents(source, found.contents())?;
    Ok(found)
}

/// Verifies that the source has not changed since it was opened.
///
/// # Errors
/// Returns a one-line error if it has changed.
pub fn require_unchanged(
    source: &model::wire::SourceMount,
    opened: &ScannedSource,
    progress: Arc<Progress>,
) -> Result<(), String> {
    if source.contents.is_none() {
        return Ok(());
    }
    let found = opened.rescan(&mut counting(progress));
    require_contents(source, &found.map_err(|error| error.to_string())?)
}

fn require_contents(
    source: &model::wire::SourceMount,
    found: &SourceInventory,
) -> Result<(), String> {
    match &source.contents {
        Some(expected) if expected != found => Err(format!(
            "the source is not what it was when the campaign began: {expected} then, {found} now, or other times of change"
        )),
        _ => Ok(()),
    }
}

fn require_place(seen: &Path, path: &Path, device: (u64, u64), inode: u64) -> Result<(), String> {
    let found = mount_id::open(seen).and_then(|open| mount_id::identity(&open));
    match found {
        Ok(found) if (found.device, found.inode) == (device, inode) => Ok(()),
        Ok(_) => Err(format!("the source {} is not the directory that it was", path.display())),
        Err(error) => Err(format!("the source {} is not there any more: {error}", path.display())),
    }
}

/// Creates statistics used only for progress.
fn counting(progress: Arc<Progress>) -> ThreadStats {
    ThreadStats::new(None, progress, PhaseMeter::start(None, None))
}

/// Lists the contents of a user's source, in private namespaces of this process.
///
/// # Errors
/// Returns a one-line error if the source cannot be mounted or read.
pub fn survey(place: &SourceLocation) -> Result<SourceInventory, String> {
    mount(place)?;
    let source = model::wire::SourceMount { place: place.clone(), prefix: None, contents: None };
    Ok(open(&source, Arc::default())?.contents().clone())
}

/// Creates a source in a guest with the files that a test copies, and mounts it read-only.
///
/// # Errors
/// Returns a one-line reason if it cannot be created.
pub fn generate(
    made: &GeneratedSource,
    prefix: &str,
    test: &Test,
    progress: Arc<Progress>,
) -> Result<(), String> {
    let failed = |why: String| format!("the source cannot be made: {why}");
    let step = |outcome: StepResult| outcome.map_err(|error| failed(error.failure.reason));
    let Volume { device, mountpoint, .. } = &made.volume;
    let device = device.as_deref().ok_or_else(|| failed("it has no device".into()))?;
    fs::create_dir_all(mountpoint).map_err(|error| failed(error.to_string()))?;
    let mut volume = CellVolume::new(&made.volume, SandboxedRunner::Unrestricted);
    step(volume.mkfs())?;
    step(volume.mount())?;
    let mut workspace = CellWorkspace::new(mountpoint, made.seed);
    let phases = test.phases.iter();
    for op in phases.filter_map(|phase| model::wire::generated_tree(&phase.op, prefix)) {
        let planted = fill(&op, &mut workspace, Arc::clone(&progress));
        planted.map_err(|error| failed(error.to_string()))?;
    }
    step(volume.unmount())?;
    let mounted = read_only_mount::mount_device(device, mountpoint, &made.kind);
    mounted.map_err(|error| failed(error.to_string()))
}

/// Step in which the source is prepared.
pub const STEP: &str = "source";

fn fill(op: &Op, workspace: &mut CellWorkspace, progress: Arc<Progress>) -> Result<(), OpError> {
    let setting = IoMode { ends: SyncAtEnd::Syncfs, direct: false };
    workload::perform(op, setting, workspace, &mut counting(progress))
}

#[cfg(test)]
mod tests {
    use model::{Bytes, MountId};

    use super::*;

    fn directory(path: &Path, inode: u64) -> model::wire::SourceMount {
        let open = mount_id::open(path).unwrap();
        let identity = mount_id::identity(&open).unwrap();
        model::wire::SourceMount {
            place: SourceLocation::Directory {
                path: path.to_owned(),
                at: None,
                identity: MountId { inode: identity.inode + inode, ..identity },
            },
            prefix: None,
            contents: None,
        }
    }

    #[test]
    fn rejects_a_replaced_or_changed_source() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), [7; 100]).unwrap();
        let other = open(&directory(place.path(), 1), Arc::default());
        assert!(other.unwrap_err().contains("not the directory that it was"));
        let mut source = directory(place.path(), 0);
        let opened = open(&source, Arc::default()).unwrap();
        source.contents = Some(opened.contents().clone());
        assert_eq!(require_unchanged(&source, &opened, Arc::default()), Ok(()));
        fs::write(place.path().join("another"), "").unwrap();
        let changed = require_unchanged(&source, &opened, Arc::default()).unwrap_err();
        assert!(changed.contains("1 files in 0 directories"), "{changed}");
        assert!(open(&source, Arc::default()).is_err());
    }

    #[test]
    fn a_survey_lists_the_contents() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        fs::write(place.path().join("d/file"), [7; 100]).unwrap();
        let contents = survey(&directory(place.path(), 0).place).unwrap();
        assert_eq!((contents.files, contents.directories), (1, 1));
        assert_eq!(contents.bytes, Bytes(100));
    }
}
