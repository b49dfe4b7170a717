//! The source that a campaign copies from (`--source`). It is scanned before the campaign is
//! stored, kept open while the campaign runs, and passed to each cell that copies from it. A user's
//! source is only read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Executor;
use anyhow::Context;
use model::wire::machine::SourceScan;
use model::wire::{AbortReason, CellJob, SourceLocation, WorkTarget};
use model::{
    BackendKind, Bytes, CacheState, Campaign, CellId, CopySource, HostSetting, Phase,
    SourceInventory, Status, SyncAtEnd, Test,
};
use storage::{DeviceRefusal, PinnedDirectory, ProvisionError, ReadOnlyDevice, describe_storage};
use sys::io::bounded;
use sys::{block, process};

use crate::error::{EnvironmentError, UsageError, UserInterrupt, not_utf8};

/// Maximum size of the survey of a source.
const MAX_SURVEY_SIZE: Bytes = Bytes::mib(64);

/// A user's source, kept open while a campaign runs.
#[derive(Debug)]
pub enum SourceHandle {
    /// A directory.
    Directory(PinnedDirectory),
    /// A device or file, attached to a read-only loop device.
    Device(Box<ReadOnlyDevice>),
}

/// Returns true if a test copies from a source.
pub fn needs_source(test: &Test) -> bool {
    test.phases.iter().any(|phase| phase.op.copies_from_source())
}

/// Refuses a source with mounts below it: cells see the source without these mounts, and would find
/// other files.
fn refuse_mounts_below(path: &Path) -> anyhow::Result<()> {
    let below = |mount: &sys::mount::mounts::Mount| mount.on != path && mount.on.starts_with(path);
    match sys::mount::mounts::all()?.into_iter().find(below) {
        Some(mount) => Err(UsageError(format!(
            "--source {}: contains a mount, {}; name a directory without mounts, or unmount it",
            path.display(),
            mount.on.display()
        ))
        .into()),
        None => Ok(()),
    }
}

/// Surveys a user's source: a directory, a device or an image file.
///
/// # Errors
/// Returns an error if the source cannot be copied or the campaign works in it.
pub fn survey(survey: &SourceScan, stop: &AtomicBool) -> anyhow::Result<CopySource> {
    let wanted = &survey.source;
    let path = wanted
        .canonicalize()
        .map_err(|error| UsageError(format!("--source {}: {error}", wanted.display())))?;
    if path.to_str().is_none() {
        return Err(UsageError(not_utf8("--source", &path)).into());
    }
    if path.is_dir() {
        refuse_what_overlaps(&path, &survey.in_use)?;
        let contents = require_something(wanted, survey_directory(&path)?)?;
        return Ok(CopySource::Directory { path, contents });
    }
    if survey.backend == BackendKind::Dir {
        return Err(UsageError(format!(
            "--source {}: mounting it needs root and images (leave --dir out); give a directory",
            path.display()
        ))
        .into());
    }
    let is_it = |device: &Path| device.canonicalize().is_ok_and(|device| device == path);
    if survey.device.as_deref().is_some_and(is_it) {
        return Err(UsageError(format!(
            "--source and --device are both {}: the campaign would erase its source; name another device",
            path.display()
        ))
        .into());
    }
    let contents = require_something(wanted, survey_device(&path, stop)?)?;
    Ok(CopySource::Device { path, contents })
}

/// Refuses a source that overlaps the directory of the cells. Such a source would change during the
/// copy and differ between contenders.
fn refuse_what_overlaps(path: &Path, in_use: &[PathBuf]) -> Result<(), UsageError> {
    for used in in_use {
        let used = used.canonicalize().unwrap_or_else(|_| used.clone());
        if used.starts_with(path) || path.starts_with(&used) {
            return Err(UsageError(format!(
                "--source {} and {}, the directory of the cells, overlap; name another directory",
                path.display(),
                used.display()
            )));
        }
    }
    Ok(())
}

fn require_something(
    wanted: &Path,
    contents: SourceInventory,
) -> Result<SourceInventory, UsageError> {
    match contents.files {
        0 => Err(UsageError(format!("--source {} holds no file to copy", wanted.display()))),
        _ => Ok(contents),
    }
}

/// Surveys a user's directory. Refuses mounts below it.
fn survey_directory(path: &Path) -> anyhow::Result<SourceInventory> {
    refuse_mounts_below(path)?;
    let held = PinnedDirectory::open(path)?;
    agent::survey(&directory_place(&held, None)).map_err(|reason| EnvironmentError(reason).into())
}

fn directory_place(held: &PinnedDirectory, at: Option<PathBuf>) -> SourceLocation {
    SourceLocation::Directory { path: held.path().to_owned(), at, identity: held.identity() }
}

/// Surveys a user's device in a process with private mounts.
fn survey_device(path: &Path, stop: &AtomicBool) -> anyhow::Result<SourceInventory> {
    let device =
        ReadOnlyDevice::take(path, Campaign::READAHEAD).map_err(|error| in_use(path, error))?;
    let at = tempfile::tempdir().context("a directory to mount the source on")?;
    let place = device_place(device.node(), at.path().to_owned())?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(["agent", "--survey"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    process::set_pdeathsig(&mut command);
    let mut agent = command.spawn()?;
    let mut line = serde_json::to_string(&place)?;
    line.push('\n');
    if let Some(mut stdin) = agent.stdin.take() {
        stdin.write_all(line.as_bytes())?;
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let output = match bounded::output_of(agent, MAX_SURVEY_SIZE, &stopped) {
        Err(_) if stopped() => return Err(UserInterrupt.into()),
        ended => ended?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = match said.trim().trim_start_matches("fsarena: ") {
            "" => format!("the survey failed ({})", output.status),
            said => said.to_owned(),
        };
        return Err(EnvironmentError(format!("--source {}: {why}", path.display())).into());
    }
    serde_json::from_slice(&output.stdout).context("the survey of the source is not whole")
}

/// Returns the place of a read-only device for the agent.
pub fn device_place(node: &Path, at: PathBuf) -> anyhow::Result<SourceLocation> {
    Ok(SourceLocation::Device {
        number: block::major_minor(fs::metadata(node)?.rdev()),
        device: node.to_owned(),
        at,
    })
}

/// Explains that a mounted device can be copied through its mountpoint.
fn in_use(path: &Path, error: ProvisionError) -> anyhow::Error {
    match &error {
        ProvisionError::Refused(DeviceRefusal::Mounted { on, .. }) => EnvironmentError(format!(
            "--source {} is mounted on {}: give that directory (--source {}), or unmount it",
            path.display(),
            on.display(),
            on.display()
        ))
        .into(),
        _ => error.into(),
    }
}

/// Returns the size of the second image, if the campaign has one.
pub fn image_size(campaign: &Campaign) -> Option<Bytes> {
    match &campaign.source {
        Some(CopySource::Image { size, .. }) => Some(*size),
        _ => None,
    }
}

/// Returns the source of a campaign as text.
pub fn describe(campaign: &Campaign) -> String {
    let source = campaign.source.as_ref();
    source.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// Returns the source and its storage as a condition of the session.
pub fn condition(source: &CopySource, on: &str) -> HostSetting {
    HostSetting::new("source", format!("{source} ({on})"))
}

/// Fills the second image with the files that the tests copy. They are equal in all rounds.
pub fn write_source_image(
    campaign: &Campaign,
    target: WorkTarget,
    executor: &mut dyn Executor,
) -> anyhow::Result<()> {
    let job = CellJob {
        version: model::wire::VERSION,
        cell: CellId(0),
        target,
        source: None,
        archives: None,
        memory_limit: None,
        test: filling(campaign),
        age: None,
        aged: None,
        seed: campaign.seed,
        stacks_after: None,
        sampling: None,
        rank: None,
    };
    let result = match executor.execute(&job, &mut |_| {}) {
        Ok(result) => result,
        Err(AbortReason::Interrupted) => return Err(UserInterrupt.into()),
        Err(AbortReason::EnvironmentFault(reason) | AbortReason::OtherHost(reason)) => {
            return Err(EnvironmentError(reason).into());
        }
    };
    match (result.status, result.failure) {
        (Status::Ok, _) => Ok(()),
        (status, failure) => {
            let why = failure.map_or_else(|| status.to_string(), |failure| failure.reason);
            Err(EnvironmentError(format!("the second image cannot be filled: {why}")).into())
        }
    }
}

/// Returns a test that creates the files that the tests of a campaign copy.
fn filling(campaign: &Campaign) -> Test {
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let planted = tests.flat_map(|test| {
        let prefix = model::wire::source_prefix(test);
        let ops = test.phases.iter();
        ops.filter_map(move |phase| model::wire::generated_tree(&phase.op, &prefix))
    });
    let phases = planted.enumerate().map(|(number, op)| Phase {
        name: format!("fill-{}", number + 1),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Syncfs,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op,
    });
    Test {
        name: "source".into(),
        suite: "source".into(),
        title: "Source of copied files".into(),
        rationale: String::new(),
        space: Bytes(0),
        data: model::DataKind::default(),
        sweep: None,
        phases: phases.collect(),
    }
}

impl SourceHandle {
    /// Claims the source of a campaign. Returns `None` if the source is not a user's.
    pub fn take(campaign: &Campaign) -> anyhow::Result<Option<Self>> {
        Ok(match &campaign.source {
            Some(CopySource::Directory { path, .. }) => {
                Some(Self::Directory(PinnedDirectory::open(path)?))
            }
            Some(CopySource::Device { path, .. }) => {
                let readahead = campaign.readahead.unwrap_or(Campaign::READAHEAD);
                let device = ReadOnlyDevice::take(path, readahead);
                Some(Self::Device(Box::new(device.map_err(|error| in_use(path, error))?)))
            }
            Some(CopySource::Image { .. }) | None => None,
        })
    }

    /// Returns the place of the source for a cell. `at` is its mountpoint if the cell has private
    /// mounts.
    pub fn place(&self, at: Option<PathBuf>) -> anyhow::Result<SourceLocation> {
        match (self, at) {
            (Self::Directory(held), at) => {
                held.check_unchanged()?;
                Ok(directory_place(held, at))
            }
            (Self::Device(device), Some(at)) => device_place(device.node(), at),
            (Self::Device(device), None) => {
                anyhow::bail!("{} cannot be mounted here", device.path().display())
            }
        }
    }

    /// Returns a description of the storage for reports.
    pub fn storage(&self) -> String {
        match self {
            Self::Directory(held) => describe_storage(held.path()),
            Self::Device(device) => {
                format!("{}, attached to a read-only loop device", describe_storage(device.path()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use config::Catalog;
    use model::SizeProfile;

    use super::*;
    use crate::host::fixture;

    #[test]
    fn second_image_has_the_files_of_each_test_with_own_prefix() {
        let catalog = Catalog::builtin().unwrap();
        let suite = |name| catalog.suite(name, SizeProfile::Smoke).unwrap().clone();
        let campaign =
            Campaign { suites: ["tree", "large-file"].map(suite).into(), ..fixture::campaign() };
        let trees: Vec<(String, u64)> = filling(&campaign)
            .phases
            .iter()
            .map(|phase| match &phase.op {
                model::Op::GenerateTree(plant) => (plant.tree.clone(), plant.spec.files),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [("tree.original", 60), ("large-file.image", 1)];
        assert_eq!(trees, expected.map(|(name, files)| (name.to_owned(), files)));
    }
}
