//! The disk that a campaign copies from (`--source`): looked through before the campaign is stored, held while it
//! runs, and given to each cell that copies from it. What is the user's is only ever read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use catalog::Catalog;
use model::{
    Backend, Bytes, CacheState, Campaign, CellId, Condition, Contender, End, Phase, Source,
    SourceContents, Status, Suite, Test,
};
use provision::{HeldDirectory, Machine, ProvisionError, Refusal, SourceDevice, describe_storage};
use run::{Executor, Stopped};
use sys::block;
use wire::{Job, SourcePlace, Target};

use crate::contender_choice::Choice;
use crate::exit::{BadInput, Interruption, Refused};
use crate::paths;

/// The filesystem of a second image.
const FILESYSTEM: &str = "ext4";

/// A source of the user's for as long as a campaign runs.
#[derive(Debug)]
pub enum HeldSource {
    /// A directory.
    Directory(HeldDirectory),
    /// A device or file, behind a loop device that takes no writes.
    Device(Box<SourceDevice>),
}

/// What a campaign needs to know of itself before it has a source.
pub struct Setting<'a> {
    /// Where its contenders live.
    pub backend: Backend,
    /// The size of an image, or of a guest's disk.
    pub size: Bytes,
    /// The directories that compete.
    pub contenders: &'a [Contender],
    /// The device that is used instead of an image.
    pub device: Option<&'a Path>,
    /// Where images are made.
    pub work_dir: &'a Path,
    /// This machine, and what the guest has.
    pub machine: &'a Machine,
}

/// Refuses what no backend like this could copy from, before anything else is looked at.
pub fn require_reachable(wanted: &Path, backend: Backend) -> Result<(), BadInput> {
    let is_image = wanted == Path::new(Source::IMAGE);
    let reason = match backend {
        Backend::Dir if is_image => "is for images and guests: give a directory on another disk",
        Backend::Vm if !is_image => {
            "cannot be seen in a guest, which has disks of its own: give --source image"
        }
        Backend::Dir | Backend::Loop | Backend::Vm => return Ok(()),
    };
    Err(BadInput(format!("--source {} {reason}", wanted.display())))
}

/// The source that the user asks for, looked through; the tests that copy in copy what is there, and begin cold.
pub fn choose(
    wanted: &Path,
    suites: &mut [Suite],
    setting: &Setting<'_>,
    catalog: &Catalog,
) -> anyhow::Result<Source> {
    let copying = || {
        suites
            .iter()
            .flat_map(|s| &s.tests)
            .filter(|t| copies_in(t))
    };
    if copying().next().is_none() {
        return Err(BadInput(
            "--source: no test of these suites copies from it; choose one that does (-s tree, -s large-file)".into(),
        )
        .into());
    }
    let source = if wanted == Path::new(Source::IMAGE) {
        image(model::source_image_size(copying()), setting, catalog)?
    } else {
        of_user(wanted, setting)?
    };
    for test in suites.iter_mut().flat_map(|s| &mut s.tests) {
        if let Some(contents) = source.contents() {
            contents.replace(test);
        }
        let copying = test.phases.iter_mut().filter(|p| p.op.copies_in());
        copying.for_each(|phase| phase.cache = CacheState::Cold);
    }
    Ok(source)
}

/// Whether a test has a use for a source.
pub fn copies_in(test: &Test) -> bool {
    test.phases.iter().any(|phase| phase.op.copies_in())
}

/// A second image; in a guest a second disk, which is as large as the first.
fn image(size: Bytes, setting: &Setting<'_>, catalog: &Catalog) -> anyhow::Result<Source> {
    if setting.backend == Backend::Vm && size > setting.size {
        return Err(BadInput(format!(
            "--source image: what is copied from it needs a disk of {size}, and a guest's have {}: give a larger --size",
            setting.size
        ))
        .into());
    }
    let contender = catalog.contender(FILESYSTEM)?;
    let choice = Choice {
        catalog,
        backend: setting.backend,
        machine: setting.machine,
    };
    if let Some(missing) = choice.missing(&contender.filesystem) {
        return Err(Refused(format!(
            "--source image is made with {FILESYSTEM}, which cannot run here: {missing}"
        ))
        .into());
    }
    Ok(Source::Image {
        size,
        contender: Box::new(contender),
    })
}

/// A directory, a device or an image file of the user's.
fn of_user(wanted: &Path, setting: &Setting<'_>) -> anyhow::Result<Source> {
    let path = wanted
        .canonicalize()
        .map_err(|error| BadInput(format!("--source {}: {error}", wanted.display())))?;
    paths::require_utf8("--source", &path)?;
    if path.is_dir() {
        refuse_what_overlaps(&path, setting)?;
        let contents = survey_directory(&path)?;
        return Ok(Source::Directory {
            path,
            contents: require_something(wanted, contents)?,
        });
    }
    if setting.backend == Backend::Dir {
        return Err(BadInput(format!(
            "--source {}: mounting it needs root and images (leave --dir out); give a directory",
            path.display()
        ))
        .into());
    }
    let is_device = |device: &Path| device.canonicalize().is_ok_and(|device| device == path);
    if setting.device.is_some_and(is_device) {
        return Err(BadInput(format!(
            "--source and --device are both {}: nothing of it would be left to copy",
            path.display()
        ))
        .into());
    }
    let contents = survey_device(&path)?;
    Ok(Source::Device {
        path,
        contents: require_something(wanted, contents)?,
    })
}

/// A source that changes while it is copied would be another one for each contender.
fn refuse_what_overlaps(path: &Path, setting: &Setting<'_>) -> Result<(), BadInput> {
    let competing = setting
        .contenders
        .iter()
        .filter_map(|c| c.directory.as_deref());
    for used in competing.chain([setting.work_dir]) {
        let used = used.canonicalize().unwrap_or_else(|_| used.to_owned());
        if used.starts_with(path) || path.starts_with(&used) {
            return Err(BadInput(format!(
                "--source {} and {}, in which cells work, lie in each other: name a directory apart from it",
                path.display(),
                used.display()
            )));
        }
    }
    Ok(())
}

/// Cells see a source without what is mounted in it, and would find other files there.
fn refuse_mounts_below(path: &Path) -> anyhow::Result<()> {
    let below = |mount: &sys::mounts::Mount| mount.on != path && mount.on.starts_with(path);
    match sys::mounts::all()?.into_iter().find(below) {
        Some(mount) => Err(BadInput(format!(
            "--source {}: something is mounted in it, on {}; name a directory without mounts, or unmount it",
            path.display(),
            mount.on.display()
        ))
        .into()),
        None => Ok(()),
    }
}

fn require_something(wanted: &Path, contents: SourceContents) -> Result<SourceContents, BadInput> {
    match contents.files {
        0 => Err(BadInput(format!(
            "--source {} holds no file to copy",
            wanted.display()
        ))),
        _ => Ok(contents),
    }
}

fn survey_directory(path: &Path) -> anyhow::Result<SourceContents> {
    refuse_mounts_below(path)?;
    let held = HeldDirectory::take(path)?;
    agent::survey(&directory_place(&held, None)).map_err(|reason| Refused(reason).into())
}

fn directory_place(held: &HeldDirectory, at: Option<PathBuf>) -> SourcePlace {
    SourcePlace::Directory {
        path: held.path().to_owned(),
        at,
        identity: held.identity(),
    }
}

/// Looks through a device in a process with mounts of its own, so that nothing of it is seen outside.
fn survey_device(path: &Path) -> anyhow::Result<SourceContents> {
    let device =
        SourceDevice::take(path, Campaign::READAHEAD).map_err(|error| in_use(path, error))?;
    let at = tempfile::tempdir().context("a directory to mount the source on")?;
    let place = device_place(device.node(), at.path().to_owned())?;
    let mut agent = Command::new(std::env::current_exe().context("cannot find this program")?)
        .args(["agent", "--survey"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = serde_json::to_string(&place)?;
    line.push('\n');
    if let Some(mut stdin) = agent.stdin.take() {
        stdin.write_all(line.as_bytes())?;
    }
    let output = agent.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("fsarena: ");
        return Err(Refused(format!("--source: {said}")).into());
    }
    serde_json::from_slice(&output.stdout).context("the survey of the source is not whole")
}

/// A device that takes no writes, as a cell is told of it.
pub fn device_place(node: &Path, at: PathBuf) -> anyhow::Result<SourcePlace> {
    Ok(SourcePlace::Device {
        number: block::numbers(fs::metadata(node)?.rdev()),
        device: node.to_owned(),
        at,
    })
}

/// What is mounted can be copied from where it is mounted.
fn in_use(path: &Path, error: ProvisionError) -> anyhow::Error {
    match &error {
        ProvisionError::Refused(Refusal::Mounted { on, .. }) => Refused(format!(
            "--source {} is mounted on {}: give that directory (--source {}), or unmount it",
            path.display(),
            on.display(),
            on.display()
        ))
        .into(),
        _ => error.into(),
    }
}

/// The size of a second image, where there is one.
pub fn image_size(campaign: &Campaign) -> Option<Bytes> {
    match &campaign.source {
        Some(Source::Image { size, .. }) => Some(*size),
        _ => None,
    }
}

/// The source of a campaign in words.
pub fn words(campaign: &Campaign) -> String {
    let source = campaign.source.as_ref();
    source.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// The source as one of the circumstances of a session, with what it lies on.
pub fn condition(source: &Source, on: &str) -> Condition {
    Condition::new("source", format!("{source} ({on})"))
}

/// Fills a second image with what all tests copy from it: the same in all rounds.
pub fn fill(
    campaign: &Campaign,
    target: Target,
    executor: &mut dyn Executor,
) -> anyhow::Result<()> {
    let job = Job {
        version: wire::VERSION,
        cell: CellId(0),
        target,
        source: None,
        test: filling(campaign),
        seed: campaign.seed,
        stacks_after: None,
    };
    let result = match executor.execute(&job, &mut |_| {}) {
        Ok(result) => result,
        Err(Stopped::Interrupted) => return Err(Interruption.into()),
        Err(Stopped::Withdrawn(reason)) => return Err(Refused(reason).into()),
    };
    match (result.status, result.failure) {
        (Status::Ok, _) => Ok(()),
        (status, failure) => {
            let why = failure.map_or_else(|| status.to_string(), |failure| failure.reason);
            Err(Refused(format!("the second image cannot be filled: {why}")).into())
        }
    }
}

/// A test that leaves on its filesystem what those of a campaign copy in.
fn filling(campaign: &Campaign) -> Test {
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let planted = tests.flat_map(|test| {
        let prefix = wire::source_prefix(test);
        let ops = test.phases.iter();
        ops.filter_map(move |phase| wire::planted(&phase.op, &prefix))
    });
    let phases = planted.enumerate().map(|(number, op)| Phase {
        name: format!("fill-{}", number + 1),
        cache: CacheState::Warm,
        ends: End::Syncfs,
        at_most: None,
        scaling: None,
        op,
    });
    Test {
        name: "source".into(),
        suite: "source".into(),
        title: "What is copied from".into(),
        rationale: String::new(),
        space: Bytes(0),
        sweep: None,
        phases: phases.collect(),
    }
}

impl HeldSource {
    /// Takes what a campaign copies from; nothing where that is nothing of the user's.
    pub fn take(campaign: &Campaign) -> anyhow::Result<Option<Self>> {
        Ok(match &campaign.source {
            Some(Source::Directory { path, .. }) => {
                Some(Self::Directory(HeldDirectory::take(path)?))
            }
            Some(Source::Device { path, .. }) => {
                let readahead = campaign.readahead.unwrap_or(Campaign::READAHEAD);
                let device = SourceDevice::take(path, readahead);
                Some(Self::Device(Box::new(
                    device.map_err(|error| in_use(path, error))?,
                )))
            }
            Some(Source::Image { .. }) | None => None,
        })
    }

    /// The source as a cell is told of it; one with mounts of its own finds it at this directory.
    pub fn place(&self, at: Option<PathBuf>) -> anyhow::Result<SourcePlace> {
        match (self, at) {
            (Self::Directory(held), at) => {
                held.require_there()?;
                Ok(directory_place(held, at))
            }
            (Self::Device(device), Some(at)) => device_place(device.node(), at),
            (Self::Device(device), None) => {
                anyhow::bail!("{} cannot be mounted here", device.path().display())
            }
        }
    }

    /// What it lies on, in the words of a report.
    pub fn storage(&self) -> String {
        match self {
            Self::Directory(held) => describe_storage(held.path()),
            Self::Device(device) => format!(
                "{}, behind a read-only loop device",
                describe_storage(device.path())
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Profile;

    use super::*;
    use crate::fixture;

    fn suites(catalog: &Catalog) -> Vec<Suite> {
        let suite = |name| catalog.suite(name, Profile::Smoke).unwrap().clone();
        ["tree", "large-file"].map(suite).into()
    }

    fn chosen(wanted: &Path, suites: &mut [Suite], work_dir: &Path) -> anyhow::Result<Source> {
        let setting = Setting {
            backend: Backend::Loop,
            size: Bytes::mib(384),
            contenders: &[],
            device: None,
            work_dir,
            machine: &Machine::look(),
        };
        choose(wanted, suites, &setting, &Catalog::builtin().unwrap())
    }

    /// A directory of which a campaign copies, and one in which it works.
    fn places() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let both = tempfile::tempdir().unwrap();
        let [source, work] = ["source", "work"].map(|name| both.path().join(name));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(source.join("file"), [1; 70_000]).unwrap();
        fs::write(source.join("small"), [1; 10]).unwrap();
        (both, source, work)
    }

    fn of_op<'a>(suites: &'a [Suite], name: &str) -> &'a Phase {
        let phases = suites.iter().flat_map(|s| &s.tests).flat_map(|t| &t.phases);
        phases.into_iter().find(|p| p.name == name).unwrap()
    }

    #[test]
    fn what_copies_in_copies_what_is_there_and_begins_cold() {
        let catalog = Catalog::builtin().unwrap();
        let (_both, path, work) = places();
        let mut suites = suites(&catalog);
        assert_eq!(of_op(&suites, "tree-in").cache, CacheState::Warm);
        let source = chosen(&path, &mut suites, &work).unwrap();
        assert_eq!(source.contents().unwrap().files, 2);
        let (tree, file) = (of_op(&suites, "tree-in"), of_op(&suites, "copy-in"));
        assert_eq!(
            (tree.cache, file.cache),
            (CacheState::Cold, CacheState::Cold)
        );
        assert!(matches!(
            tree.op,
            model::Op::CopyTreeIn(model::CopyTreeIn {
                spec: model::TreeSpec {
                    files: 2,
                    bytes: Bytes(70_010),
                    ..
                },
                ..
            })
        ));
        assert!(matches!(
            file.op,
            model::Op::CopyFileIn(model::CopyFileIn {
                size: Bytes(70_000),
                ..
            })
        ));
        assert_eq!(of_op(&suites, "prepare-file").cache, CacheState::Warm);
        let said = condition(&source, "a disk").value;
        assert!(
            said.ends_with("2 files in 0 directories, 68.4 KiB (a disk)"),
            "{said}"
        );
    }

    #[test]
    fn a_source_in_which_cells_work_is_refused() {
        let catalog = Catalog::builtin().unwrap();
        let (both, path, work) = places();
        for (wanted, work) in [(both.path(), &work), (&path, &path.join("below"))] {
            let error = chosen(wanted, &mut suites(&catalog), work)
                .unwrap_err()
                .to_string();
            assert!(error.contains("lie in each other"), "{error}");
        }
    }

    #[test]
    fn a_second_image_is_filled_with_what_each_test_copies_under_a_name_of_its_own() {
        let catalog = Catalog::builtin().unwrap();
        let campaign = Campaign {
            suites: suites(&catalog),
            ..fixture::campaign()
        };
        let trees: Vec<(String, u64)> = filling(&campaign)
            .phases
            .iter()
            .map(|phase| match &phase.op {
                model::Op::PlantTree(plant) => (plant.tree.clone(), plant.spec.files),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [("tree.original", 60), ("large-file.image", 1)];
        assert_eq!(
            trees,
            expected.map(|(name, files)| (name.to_owned(), files))
        );
    }

    #[test]
    fn a_guest_and_a_directory_are_told_which_sources_they_have() {
        let refused = |wanted: &str, backend| {
            let outcome = require_reachable(Path::new(wanted), backend);
            outcome.err().map(|error| error.to_string())
        };
        assert!(
            refused("/srv", Backend::Vm)
                .unwrap()
                .contains("--source image")
        );
        assert!(
            refused("image", Backend::Dir)
                .unwrap()
                .contains("a directory")
        );
        for (wanted, backend) in [("/srv", Backend::Dir), ("image", Backend::Vm)] {
            assert_eq!(refused(wanted, backend), None);
        }
    }
}
