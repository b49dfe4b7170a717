//! Settings of a campaign. Options override the campaign file, which overrides the profile.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use config::settings::campaign_file;
use config::{Catalog, DEFAULT_PROFILE, ProfileDefaults, Settings, StudySource};
use model::{
    BackendKind, Bytes, Campaign, Contender, ContenderGroup, Filesystem, GuestConfig, Nanos,
    SizeProfile, Suite, Test,
};
use nix::unistd::geteuid;

use crate::args::run_args::RunArgs;
use crate::output::exit::UsageError;
use crate::output::progress::ProgressDisplay;
use crate::settings::campaign_text;
use crate::settings::contender_groups;
use crate::settings::contenders::{self, ContenderSelection};
use crate::settings::external_programs;
use crate::settings::rounds::RoundCounts;
use crate::settings::test_machine::TestMachine;
use crate::settings::validate;

/// Budget of a campaign whose command line has only contenders.
const USUAL_BUDGET: Nanos = Nanos::from_secs(600);
/// Unit of readahead in the kernel.
const PAGE: Bytes = Bytes::kib(4);
/// Maximum readahead: the kernel keeps it as a number of KiB in 32 bits.
const MAX_READAHEAD: Bytes = Bytes(4095 << 30);

/// A command line with its campaign file and its study, resolved before the machine is examined.
pub struct ResolvedSettings<'a> {
    /// The command line.
    pub args: &'a RunArgs,
    /// Options of the command line, else of the campaign file.
    pub settings: Settings,
    /// Size of the tests.
    pub profile: SizeProfile,
    /// Backend of the contenders.
    pub backend: BackendKind,
    /// Size of the image, or of a guest's disk.
    pub size: Bytes,
    /// Directory to which the suites' files are relative.
    suites_base: PathBuf,
    study: Option<StudySource>,
    defaults: ProfileDefaults,
}

impl<'a> ResolvedSettings<'a> {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the campaign file cannot be read, names unknown items, or conflicts with
    /// the command line.
    pub fn resolve(
        args: &'a RunArgs,
        catalog: &Catalog,
        stop: &AtomicBool,
    ) -> anyhow::Result<Self> {
        let file = match &args.file {
            Some(path) => campaign_file::load(path, &campaign_text::read(path, stop)?, catalog)?,
            None => Settings::default(),
        };
        let of_file = args.file.as_deref().filter(|_| args.settings.suites.is_empty());
        let suites_base = of_file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let mut settings = args.settings.clone().over(file);
        let study = args.study.as_ref().map(|name| catalog.study(name));
        let study = study.transpose()?;
        let usual = if study.is_some() { SizeProfile::Study } else { DEFAULT_PROFILE };
        let profile = settings.profile.unwrap_or(usual);
        if let (Some(study), SizeProfile::Soak) = (&study, profile) {
            let why = format!(
                "cannot run study {} in profile soak, which runs the suite soak; use another --profile",
                study.name
            );
            return Err(UsageError(why).into());
        }
        // Only in its original size does a study use its own volume and memory; in other sizes the
        // profile's defaults apply.
        let in_its_size = study.as_ref().filter(|_| profile == SizeProfile::Study);
        let defaults = catalog.profile(profile).with_study(in_its_size);
        let in_directories = !settings.directories.is_empty();
        let usual = if in_directories { BackendKind::Dir } else { BackendKind::Loop };
        let backend = settings.backend.unwrap_or(usual);
        // Comparing mounted directories may run without the permission to limit memory.
        let of_study = defaults.memory.filter(|_| backend != BackendKind::Dir);
        settings.memory = settings.memory.or(of_study);
        let size = settings.size.unwrap_or(defaults.size);
        validate::validate(args, &settings, backend, size)?;
        if args.host.is_none() {
            backend::require_root(backend)?;
        }
        Ok(Self { args, settings, profile, backend, size, suites_base, study, defaults })
    }

    /// Returns the device to use instead of an image.
    pub fn device(&self) -> Option<&Path> {
        self.settings.storage.device.as_deref()
    }

    /// Sets the content that the tests write, if the user chose one.
    ///
    /// # Errors
    /// Returns an error if no test writes content of fsarena.
    pub fn set_data(&self, suites: &mut [Suite]) -> Result<(), UsageError> {
        let Some(data) = self.settings.data else { return Ok(()) };
        let tests = suites.iter_mut().flat_map(|suite| &mut suite.tests);
        let mut is_used = false;
        for test in tests.filter(|test| test.writes_content()) {
            test.data = data;
            is_used = true;
        }
        is_used.then_some(()).ok_or_else(|| {
            UsageError(format!(
                "cannot write {data} data: no test of these suites writes data of fsarena; choose one that does (-s bonnie, -s tree)"
            ))
        })
    }

    /// Returns the suites of the study, or those of them that are named; without a study, the named
    /// suites, or the default ones.
    pub fn suites(&self, catalog: &Catalog) -> anyhow::Result<Vec<Suite>> {
        let Some(study) = &self.study else { return self.named_suites(catalog) };
        let mut suites = match self.profile {
            SizeProfile::Study => study.suites.clone(),
            profile => scaled(study, catalog, profile)?,
        };
        let wanted = &self.settings.suites;
        let is_part = |part: &str, suite: &Suite, test: Option<&Test>| match part.split_once('/') {
            None => part == suite.name,
            Some((name, of_part)) => {
                let is_test = |test: &Test| test.sweep_name() == of_part || test.name == of_part;
                name == suite.name && test.map_or_else(|| suite.tests.iter().any(is_test), is_test)
            }
        };
        let has = |part: &String| suites.iter().any(|suite| is_part(part, suite, None));
        if let Some(unknown) = wanted.iter().find(|part| !has(part)) {
            let its: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
            return Err(UsageError(format!(
                "cannot run {unknown} of study {}: its suites are {}; name one of them, or SUITE/TEST, or remove --study",
                study.name,
                its.join(", ")
            ))
            .into());
        }
        for suite in &mut suites {
            let whole = suite.clone();
            let is_wanted = |test: &Test| {
                wanted.is_empty() || wanted.iter().any(|part| is_part(part, &whole, Some(test)))
            };
            suite.tests.retain(is_wanted);
        }
        suites.retain(|suite| !suite.tests.is_empty());
        Ok(suites)
    }

    /// Returns the groups that the user named, or those of the study, limited to these contenders.
    ///
    /// # Errors
    /// Returns an error if a named group has a member that takes no part.
    pub fn groups(&self, contenders: &[Contender]) -> Result<Vec<ContenderGroup>, UsageError> {
        let Some(study) = self.study.as_ref().filter(|_| self.settings.groups.is_empty()) else {
            return contender_groups::groups(&self.settings.groups, contenders);
        };
        let of_study = study.contender_groups.iter().map(|group| {
            let is_member = |c: &&Contender| group.members.contains(&c.filesystem.name);
            let members = contenders.iter().filter(is_member).map(|c| c.name.clone());
            ContenderGroup { name: group.name.clone(), members: members.collect() }
        });
        Ok(of_study.filter(|group| !group.members.is_empty()).collect())
    }

    /// Returns the contenders on a machine for these suites, each once and without ages.
    pub fn contenders(
        &self,
        here: &TestMachine,
        suites: &[Suite],
        catalog: &Catalog,
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Vec<Contender>> {
        if self.backend == BackendKind::Dir {
            let directories = &self.settings.directories;
            return contenders::mounted(directories, &here.directories, catalog);
        }
        let choice = ContenderSelection { catalog, backend: self.backend, machine: &here.machine };
        let of_study = self.study.as_ref().map(|study| study.contenders.as_slice());
        let among = Some(self.args.among.as_slice()).filter(|among| !among.is_empty());
        let among = among.or(of_study);
        let chosen = choice.contenders(&self.settings.contenders, among, progress)?;
        choice.with_baselines(chosen, suites, progress)
    }

    /// Returns the filesystems that compete if no contenders are named, and if they can run.
    pub fn usual_filesystems<'c>(&self, catalog: &'c Catalog) -> Vec<&'c Filesystem> {
        let competes = |filesystem: &&Filesystem| match &self.study {
            Some(study) => study.contenders.contains(&filesystem.name),
            None => filesystem.runs_by_default(self.backend),
        };
        catalog.filesystems().filter(competes).collect()
    }

    /// Returns the name of the campaign.
    pub fn name(&self) -> String {
        let of_study = self.study.as_ref().map(|study| &study.name);
        let name = self.settings.name.as_ref().or(of_study).map(String::as_str);
        name.unwrap_or(self.profile.name()).to_owned()
    }

    /// Returns the number of rounds of each test.
    pub fn rounds(&self) -> Result<RoundCounts, UsageError> {
        let usual = self.args.rounds_by_default.unwrap_or(self.defaults.rounds);
        RoundCounts::resolve(&self.settings, usual)
    }

    /// Returns the readahead of an image (created by fsarena, or a file of the user). Other storage
    /// keeps its setting.
    pub fn readahead(&self, here: &TestMachine) -> Result<Option<Bytes>, UsageError> {
        let is_block_device = self.device().is_some() && here.is_block_device;
        readahead(self.settings.readahead, self.backend, is_block_device)
    }

    /// Returns the maximum number of bytes written to this machine's disks.
    pub fn max_written(&self, guest: Option<&GuestConfig>) -> Result<Option<Bytes>, UsageError> {
        max_written(self.settings.limit.max_written, guest)
    }

    fn named_suites(&self, catalog: &Catalog) -> anyhow::Result<Vec<Suite>> {
        if !self.args.own_suites.is_empty() {
            return Ok(self.args.own_suites.clone());
        }
        if self.settings.suites.is_empty() {
            return Ok(catalog.default_suites(self.profile).into_iter().cloned().collect());
        }
        let as_root = self.backend == BackendKind::Vm || geteuid().is_root();
        let (peers, names) = external_programs::parse_program_suites(
            &self.settings.suites,
            &self.suites_base,
            as_root,
        )?;
        let mut suites = match names.as_slice() {
            [] => Vec::new(),
            names => catalog.chosen_suites(names, self.profile)?,
        };
        suites.extend(peers);
        Ok(suites)
    }
}

/// Adds a budget of ten minutes on images, or small tests in guests without root, to a command line
/// that chooses no tests, rounds or storage.
pub fn with_usual_work(args: &RunArgs, is_root: bool) -> RunArgs {
    let mut args = args.clone();
    if is_work_chosen(&args) {
        return args;
    }
    match is_root || args.host.is_some() {
        true => args.settings.budget = Some(USUAL_BUDGET),
        false => {
            args.settings.backend = Some(BackendKind::Vm);
            args.settings.profile = Some(SizeProfile::Smoke);
        }
    }
    args
}

fn is_work_chosen(args: &RunArgs) -> bool {
    let settings = &args.settings;
    args.file.is_some()
        || args.study.is_some()
        || args.machine.is_some()
        || !settings.suites.is_empty()
        || !settings.directories.is_empty()
        || settings.profile.is_some()
        || settings.rounds.is_some()
        || settings.budget.is_some()
        || settings.until_width.is_some()
        || settings.until_share.is_some()
        || settings.max_rounds.is_some()
        || settings.max_time.is_some()
        || settings.backend.is_some()
        || settings.storage.device.is_some()
}

/// Returns the tests of a study in another size.
fn scaled(
    study: &StudySource,
    catalog: &Catalog,
    profile: SizeProfile,
) -> anyhow::Result<Vec<Suite>> {
    let has = |suite: &Suite, test: &Test| {
        let mut its = suite.tests.iter();
        its.any(|of_study| of_study.sweep_name() == test.sweep_name())
    };
    let scaled = study.suites.iter().map(|of_study| {
        let mut suite = catalog.suite(&of_study.name, profile)?.clone();
        suite.tests.retain(|test| has(of_study, test));
        Ok(suite)
    });
    scaled.collect()
}

fn readahead(
    wanted: Option<Bytes>,
    backend: BackendKind,
    is_block_device: bool,
) -> Result<Option<Bytes>, UsageError> {
    let is_image = backend == BackendKind::Loop && !is_block_device;
    match wanted {
        None => Ok(is_image.then_some(Campaign::READAHEAD)),
        Some(_) if !is_image => Err(UsageError(
            "--readahead is for images: what is mounted, a device of yours and a guest's disk keep theirs; leave it out"
                .into(),
        )),
        Some(size) if size.0 % PAGE.0 != 0 => Err(UsageError(format!(
            "--readahead {size} must be a multiple of {PAGE}, the page size of the kernel"
        ))),
        Some(size) if size > MAX_READAHEAD => Err(UsageError(format!(
            "--readahead {size} is more than the kernel takes, {MAX_READAHEAD}; give a smaller size"
        ))),
        Some(size) => Ok(Some(size)),
    }
}

/// Returns the maximum number of bytes to write. Rejects a limit for disks in memory, because it
/// has no meaning for them.
fn max_written(
    wanted: Option<Bytes>,
    guest: Option<&GuestConfig>,
) -> Result<Option<Bytes>, UsageError> {
    match guest.and_then(GuestConfig::model) {
        Some(_) if wanted.is_some() => Err(UsageError(
            "--max-written limits writes to disks of this machine, but a guest's disks are in its memory: remove --max-written".into(),
        )),
        _ => Ok(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_without_work_gets_a_budget_or_guests() {
        use clap::Parser;

        use crate::args::cli::{Cli, Command};

        let chosen = |options: &str, is_root| {
            let words = options.split_whitespace();
            let cli = Cli::try_parse_from(["fsarena", "run"].into_iter().chain(words)).unwrap();
            let Some(Command::Run(args)) = cli.command else { panic!("{options}") };
            let Settings { budget, backend, profile, .. } =
                with_usual_work(&args, is_root).settings;
            (budget, backend, profile)
        };
        for plain in ["", "-c ext4 -c xfs", "--size 2GiB --dry-run"] {
            assert_eq!(chosen(plain, true), (Some(USUAL_BUDGET), None, None), "{plain}");
            let guests = (None, Some(BackendKind::Vm), Some(SizeProfile::Smoke));
            assert_eq!(chosen(plain, false), guests, "{plain}");
        }
        for own in ["-s tree", "--rounds 2", "--max-time 2h", "--dir /srv", "--device /dev/sdb"] {
            assert_eq!(chosen(own, true), (None, None, None), "{own}");
            assert_eq!(chosen(own, false), (None, None, None), "{own}");
        }
    }

    #[test]
    fn a_job_file_of_a_campaign_file_is_relative_to_that_file() {
        let catalog = Catalog::builtin().unwrap();
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("my.fio"), "[a]\nrw=write\nsize=1m\n").unwrap();
        let suites = vec!["fio:my.fio".to_owned(), "iozone:-s 64m -r 64k -i 0".to_owned()];
        let text = format!("directories = [\"/\"]\nsuites = {suites:?}\n");
        std::fs::write(place.path().join("my.toml"), text).unwrap();
        let read = |args: &RunArgs| {
            ResolvedSettings::resolve(args, &catalog, &AtomicBool::new(false))?.suites(&catalog)
        };
        let of_file = RunArgs { file: Some(place.path().join("my.toml")), ..RunArgs::default() };
        let found = read(&of_file).unwrap();
        let tests: Vec<&str> = found[0].tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(tests, ["peer-fio-my", "peer-iozone"]);
        // The same words on the command line are relative to the working directory.
        let settings = Settings { suites, ..Settings::default() };
        let typed = RunArgs { settings, ..of_file };
        assert!(read(&typed).is_err());
    }

    #[test]
    fn a_part_of_a_study_is_chosen_by_its_suites() {
        let catalog = Catalog::builtin().unwrap();
        let found = |suites: &[&str], profile| {
            let suites = suites.iter().map(|&suite| suite.to_owned()).collect();
            let settings =
                Settings { suites, profile, backend: Some(BackendKind::Vm), ..Settings::default() };
            let study = Some("emerging-filesystems-2007".to_owned());
            let args = RunArgs { settings, study, ..RunArgs::default() };
            let settings =
                ResolvedSettings::resolve(&args, &catalog, &AtomicBool::new(false)).unwrap();
            let suites = settings.suites(&catalog).map_err(|error| error.to_string())?;
            Ok::<_, String>(suites.into_iter().map(|suite| suite.name).collect::<Vec<_>>())
        };
        let all = ["bonnie", "tiobench", "emerging", "disk-scaling"];
        assert_eq!(found(&[], None).unwrap(), all);
        for profile in [None, Some(SizeProfile::Quick)] {
            assert_eq!(found(&["tiobench"], profile).unwrap(), ["tiobench"]);
            assert_eq!(found(&["bonnie/bonnie-block"], profile).unwrap(), ["bonnie"]);
        }
        assert!(found(&["bonnie/no-such-test"], None).is_err());
        let error = found(&["tree"], None).unwrap_err();
        assert!(error.contains("bonnie, tiobench, emerging, disk-scaling"), "{error}");
    }

    #[test]
    fn groups_of_a_study_have_the_members_that_take_part() {
        let catalog = Catalog::builtin().unwrap();
        let contenders =
            ["xfs", "ext4:data=journal", "ext2"].map(|c| catalog.contender(c).unwrap());
        let study = Some("emerging-filesystems-2007".to_owned());
        let found = |groups: &[ContenderGroup]| {
            let settings = Settings {
                backend: Some(BackendKind::Vm),
                groups: groups.to_vec(),
                ..Settings::default()
            };
            let args = RunArgs { settings, study: study.clone(), ..RunArgs::default() };
            let settings = ResolvedSettings::resolve(&args, &catalog, &AtomicBool::new(false));
            let of = |group: ContenderGroup| (group.name, group.members.join(" "));
            settings.unwrap().groups(&contenders).unwrap().into_iter().map(of).collect::<Vec<_>>()
        };
        let named = |name: &str, members: &str| (name.to_owned(), members.to_owned());
        let of_study = [named("standard", "xfs ext2"), named("emerging", "ext4:data=journal")];
        assert_eq!(found(&[]), of_study);
        let own = ContenderGroup { name: "mine".to_owned(), members: vec!["xfs".to_owned()] };
        assert_eq!(found(&[own]), [named("mine", "xfs")]);
    }

    #[test]
    fn max_written_is_refused_for_disks_in_memory() {
        let catalog = Catalog::builtin().unwrap();
        let mut guest = campaign::run::in_memory::guest(catalog.disk("nvme-consumer").unwrap());
        let wanted = Some(Bytes(1));
        assert_eq!(max_written(wanted, None).unwrap(), wanted);
        assert_eq!(max_written(None, Some(&guest)).unwrap(), None);
        assert!(max_written(wanted, Some(&guest)).is_err());
        guest.disk = model::GuestDisk::Image { cache: model::DiskCache::Writeback };
        assert_eq!(max_written(wanted, Some(&guest)).unwrap(), wanted);
    }

    #[test]
    fn readahead_is_pinned_on_images_and_refused_elsewhere() {
        let kib = Bytes::kib;
        let of = |wanted, backend, device| readahead(wanted, backend, device).unwrap();
        assert_eq!(of(None, BackendKind::Loop, false), Some(kib(128)));
        assert_eq!(of(None, BackendKind::Loop, true), None, "a block device");
        assert_eq!(of(Some(kib(64)), BackendKind::Loop, false), Some(kib(64)));
        for backend in [BackendKind::Dir, BackendKind::Vm] {
            assert_eq!(of(None, backend, false), None);
            assert!(readahead(Some(kib(64)), backend, false).is_err());
        }
        assert!(readahead(Some(Bytes(1 << 60)), BackendKind::Loop, false).is_err());
        let error = readahead(Some(kib(6)), BackendKind::Loop, false).unwrap_err();
        assert!(error.to_string().contains("must be a multiple of 4 KiB"), "{error}");
    }
}
