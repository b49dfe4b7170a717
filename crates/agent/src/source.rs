//! The other disk that a cell copies from: brought to where the cell sees it, read-only, and made sure of.
//!
//! What is the user's is never written to: its mount is read-only, without devices, programs and other users' rights,
//! and private to the cell. A device lies behind a loop device that takes no writes, so that not even a journal is
//! replayed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use model::{Op, SourceInventory, SyncAtEnd, Test};
use sys::{mount_id, read_only_mount};
use wire::{GeneratedSource, SourceLocation, Volume};
use workload::{CellWorkspace, IoMode, OpError, PhaseMeter, Progress, ScannedSource, ThreadStats};

use crate::sandbox::SandboxedRunner;
use crate::volume::{MountedVolume, StepResult};

/// Mounts what the cell copies from where it sees it; what it makes itself comes later. Before anything is
/// restricted, and before `/run` is hidden, below which disks of users are mounted.
///
/// # Errors
/// Why the cell cannot be run, in one line.
pub fn mount(place: &SourceLocation) -> Result<(), String> {
    match place {
        SourceLocation::Directory {
            path, at: Some(at), ..
        } => {
            let bound = read_only_mount::bind(path, at);
            bound.map_err(|error| format!("the source {} cannot be bound: {error}", path.display()))
        }
        SourceLocation::Device { device, at, .. } => mount_device(device, at),
        SourceLocation::Directory { at: None, .. } | SourceLocation::Generated(_) => Ok(()),
    }
}

/// Mounts a device whose filesystem it does not know; no helper of that is started.
fn mount_device(device: &Path, at: &Path) -> Result<(), String> {
    let mut command = Command::new("mount");
    command
        .args(["-i", "-o", read_only_mount::OPTIONS])
        .arg(device)
        .arg(at)
        .stdin(Stdio::null());
    let failed = |why: String| format!("the source {} cannot be mounted: {why}", device.display());
    let output = command
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.split_whitespace().collect();
    Err(failed(format!(
        "{} (it takes no writes: a journal that has to be replayed first keeps it from being mounted)",
        said.join(" ")
    )))
}

/// The source as the cell finds it.
///
/// # Errors
/// Why the cell cannot be run, or means nothing, in one line.
pub fn open(source: &wire::SourceMount, progress: Arc<Progress>) -> Result<ScannedSource, String> {
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

/// Makes sure that nobody has changed it meanwhile.
///
/// # Errors
/// When somebody has, in one line.
pub fn require_unchanged(
    source: &wire::SourceMount,
    opened: &ScannedSource,
    progress: Arc<Progress>,
) -> Result<(), String> {
    if source.contents.is_none() {
        return Ok(());
    }
    let found = opened.rescan(&mut counting(progress));
    require_contents(source, &found.map_err(|error| error.to_string())?)
}

fn require_contents(source: &wire::SourceMount, found: &SourceInventory) -> Result<(), String> {
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
        Ok(_) => Err(format!(
            "the source {} is not the directory that it was",
            path.display()
        )),
        Err(error) => Err(format!(
            "the source {} is not there any more: {error}",
            path.display()
        )),
    }
}

/// A tally of which only the progress is looked at.
fn counting(progress: Arc<Progress>) -> ThreadStats {
    ThreadStats::new(None, progress, PhaseMeter::start(None, None))
}

/// What is in a source of the user's, found in namespaces of this process's own.
///
/// # Errors
/// When it cannot be brought or read, in one line.
pub fn survey(place: &SourceLocation) -> Result<SourceInventory, String> {
    mount(place)?;
    let source = wire::SourceMount {
        place: place.clone(),
        prefix: None,
        contents: None,
    };
    Ok(open(&source, Arc::default())?.contents().clone())
}

/// Makes a source in a guest, with what the phases of a test copy from it, and mounts it read-only.
///
/// # Errors
/// Why it cannot be made, in one line.
pub fn generate(
    made: &GeneratedSource,
    prefix: &str,
    test: &Test,
    progress: Arc<Progress>,
) -> Result<(), String> {
    let failed = |why: String| format!("the source cannot be made: {why}");
    let step = |outcome: StepResult| outcome.map_err(|error| failed(error.failure.reason));
    let Volume {
        device, mountpoint, ..
    } = &made.volume;
    let device = device
        .as_deref()
        .ok_or_else(|| failed("it has no device".into()))?;
    fs::create_dir_all(mountpoint).map_err(|error| failed(error.to_string()))?;
    let mut volume = MountedVolume::new(&made.volume, SandboxedRunner::unrestricted());
    step(volume.mkfs())?;
    step(volume.mount())?;
    let mut workspace = CellWorkspace::new(mountpoint, made.seed);
    let phases = test.phases.iter();
    for op in phases.filter_map(|phase| wire::generated_tree(&phase.op, prefix)) {
        let planted = fill(&op, &mut workspace, Arc::clone(&progress));
        planted.map_err(|error| failed(error.to_string()))?;
    }
    step(volume.unmount())?;
    let mounted = read_only_mount::mount_device(device, mountpoint, &made.kind);
    mounted.map_err(|error| failed(error.to_string()))
}

/// The step in which the source is brought about.
pub const STEP: &str = "source";

fn fill(op: &Op, workspace: &mut CellWorkspace, progress: Arc<Progress>) -> Result<(), OpError> {
    let setting = IoMode {
        ends: SyncAtEnd::Syncfs,
        direct: false,
    };
    workload::perform(op, setting, workspace, &mut counting(progress))
}

#[cfg(test)]
mod tests {
    use model::{Bytes, MountId};

    use super::*;

    fn directory(path: &Path, inode: u64) -> wire::SourceMount {
        let open = mount_id::open(path).unwrap();
        let identity = mount_id::identity(&open).unwrap();
        wire::SourceMount {
            place: SourceLocation::Directory {
                path: path.to_owned(),
                at: None,
                identity: MountId {
                    inode: identity.inode + inode,
                    ..identity
                },
            },
            prefix: None,
            contents: None,
        }
    }

    #[test]
    fn a_source_that_is_another_or_was_changed_means_nothing() {
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
    fn a_survey_says_what_there_is() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        fs::write(place.path().join("d/file"), [7; 100]).unwrap();
        let contents = survey(&directory(place.path(), 0).place).unwrap();
        assert_eq!((contents.files, contents.directories), (1, 1));
        assert_eq!(contents.bytes, Bytes(100));
    }
}
