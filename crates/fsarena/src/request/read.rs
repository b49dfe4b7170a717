//! From the command line and a campaign file to one resolved campaign, checked before anything runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalog::{CampaignFile, Catalog, Directory, RoundRule, Study, campaign_file};
use guest::Guest;
use machine::{Look, Reach};
use model::{
    Backend, Bytes, Campaign, Clock, Contender, GuestMachine, Nanos, OwnSetting, Profile, Source,
    Suite, Test, Until, check_name,
};
use nix::unistd::geteuid;
use provision::Machine;
use sys::clock;
use wire::machine::MountedDirectory;

use crate::arguments::cli::Globals;
use crate::arguments::run_args::RunArgs;
use crate::commands::guest as guest_command;
use crate::output::exit::{BadInput, Refused};
use crate::output::progress::Progress;
use crate::paths;
use crate::request::ages;
use crate::request::campaign_text;
use crate::request::contender_choice::Choice;
use crate::request::contender_groups;
use crate::request::guest_request::{self, Load, Wishes};
use crate::request::peers;
use crate::request::several_disks;
use crate::request::source_choice;
use crate::traces;

/// Time without progress after which a cell is given up, unless the user says otherwise.
const STALL_TIMEOUT: Nanos = Nanos::from_secs(120);
/// With less, a cell is hung before the agent can say its first word.
const SHORTEST_STALL_TIMEOUT: Nanos = Nanos::from_secs(1);
/// Rounds at most where they are added, unless the user says otherwise.
const MOST_ROUNDS: u32 = 20;
/// With less, the agent itself finds no room.
const LEAST_MEMORY: Bytes = Bytes::mib(8);
/// What the kernel reads ahead in.
const PAGE: Bytes = Bytes::kib(4);
/// The seed in virtual time, where nobody gives one.
const VIRTUAL_SEED: u64 = 1;

/// What the user asks for.
pub struct Request {
    /// The campaign, resolved.
    pub campaign: Campaign,
    /// The guest that its cells run in, where they do.
    pub guest: Option<Arc<Guest>>,
}

/// Puts together what the user asks for; options win over the file, the file over the profile. Where a guest has to
/// be made for it, `stop` ends that.
pub fn read(
    args: &RunArgs,
    globals: &Globals,
    catalog: &Catalog,
    reach: &dyn Reach,
    progress: &Progress,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Request> {
    let file = match &args.file {
        Some(path) => campaign_file::of_file(path, &campaign_text::read(path, stop)?, catalog)?,
        None => CampaignFile::default(),
    };
    let study = args.study.as_ref().map(|name| catalog.study(name));
    let study = study.transpose()?;
    let usual = match study {
        Some(_) => Profile::Study,
        None => file.profile.unwrap_or(Profile::Quick),
    };
    let profile = args.profile.unwrap_or(usual);
    // In another size a study has the volume and the memory that are usual there.
    let in_its_size = study.as_ref().filter(|_| profile == Profile::Study);
    let defaults = catalog.profile(profile).of_study(in_its_size);
    let directories = directories(args, &file);
    let backend = backend(args, &file, &directories)?;
    if backend == Backend::Dir {
        refuse_what_directories_ignore(args)?;
    }
    match &args.host {
        Some(_) => refuse_what_is_here(args, &file, backend, &directories)?,
        None => machine::require_root(backend)?,
    }
    let size = args.size.or(file.size).unwrap_or(defaults.size);
    refuse_no_disk(size, backend)?;
    let source = args.source.as_ref().or(file.source.as_ref());
    if let Some(wanted) = source {
        source_choice::require_reachable(wanted, backend)?;
    }
    // Whoever compares mounted directories may have no right to limit memory.
    let of_study = defaults.memory.filter(|_| backend != Backend::Dir);
    let memory = args.memory.or(file.memory).or(of_study);
    let mut wishes = Wishes::of(args, &file, memory, catalog)?;
    refuse_what_only_guests_grant(&wishes, backend)?;
    // Before the machine is looked at, which may have much to say.
    let suites = match &study {
        Some(study) if profile == Profile::Study => study.suites.clone(),
        Some(study) => scaled(study, catalog, profile)?,
        None => suites(args, &file.suites, catalog, profile, backend)?,
    };
    let suites = traces::known(suites, globals, args.dry_run)?;
    let mut suites = several_disks::over_each_number(suites, wishes.numbers_of_disks(), backend)?;
    let models = wishes.models(catalog)?;
    let work_dir = match &args.storage.work_dir {
        Some(directory) => paths::absolute("--work-dir", directory)?,
        None => paths::work_directory(args.host.as_deref(), globals)?,
    };
    let device = args.storage.device.clone().or(file.device.clone());
    let setting = match backend {
        Backend::Vm => {
            guest_request::together(size, wishes.all_disks())?;
            wishes.build.with.extend(peers::brought(&suites));
            TestMachine::of_guests(&wishes, args.dry_run, catalog, progress, stop)?
        }
        // No option and no campaign file names `elsewhere`.
        Backend::Loop | Backend::Dir | Backend::Elsewhere => TestMachine::of_machine(
            reach,
            catalog,
            backend,
            device.as_deref(),
            &directories,
            stop,
        )?,
    };
    peers::refuse_missing(&suites, backend, &setting.machine)?;
    let contenders = match backend {
        Backend::Dir => mounted(&directories, &setting.directories, catalog)?,
        Backend::Loop | Backend::Vm | Backend::Elsewhere => {
            let machine = &setting.machine;
            let choice = Choice {
                catalog,
                backend,
                machine,
            };
            let among = study.as_ref().map(|study| study.contenders.as_slice());
            let chosen = choice.contenders(&args.contenders, &file, among, progress)?;
            choice.with_baselines(chosen, &suites, progress)?
        }
    };
    let ages = {
        let profile = args.age.as_deref();
        ages::ages(profile, &args.fill, file.ages, backend, catalog)?
    };
    several_disks::refuse_unused(&contenders, &models)?;
    let contenders = several_disks::on_each_model(contenders, &models);
    let contenders = ages::beside(contenders, &ages, progress);
    refuse_doubles("contender", contenders.iter().map(|c| &c.name))?;
    let load = Load {
        size,
        contenders: &contenders,
        suites: &suites,
    };
    let machine = match &setting.guest {
        Some(guest) => Some(guest_request::machine(&wishes, load, guest, stop, catalog)?),
        None => None,
    };
    let (clock, why, parts) = match machine {
        Some((clock, why, parts)) => (clock, why, Some(parts)),
        None => (Clock::Real, String::new(), None),
    };
    let groups = contender_groups::groups(&args.groups, file.groups, &contenders)?;
    if backend == Backend::Loop {
        contenders
            .iter()
            .try_for_each(refuse_what_ends_the_machine)?;
    }
    if backend == Backend::Vm && !wishes.has_device() {
        let smaller = guest_request::smaller_disks(&contenders, size, wishes.disks());
        smaller.iter().for_each(|text| progress.note(text));
    }
    let name = args
        .name
        .clone()
        .or(file.name)
        .or(study.map(|study| study.name))
        .unwrap_or_else(|| profile.name().to_owned());
    let stall_timeout = args.stall_timeout.unwrap_or(STALL_TIMEOUT);
    let own = contenders.iter().filter_map(|c| c.own.memory);
    refuse_too_little(own.chain(memory).min(), stall_timeout)?;
    let rule = file.rule;
    let asks_otherwise = args.rounds.is_some() || args.until_width.is_some();
    let budget = args.budget.or(rule.budget.filter(|_| !asks_otherwise));
    // Within a budget, the second round is for what the first leaves open.
    let rounds = match budget {
        Some(_) => 1,
        None => {
            let said = args.rounds.or(file.rounds).or(args.rounds_by_default);
            said.unwrap_or(defaults.rounds)
        }
    };
    let here = device.as_ref().filter(|_| args.host.is_none());
    if let Some(found) = here.and_then(|path| path.canonicalize().ok()) {
        paths::require_utf8("--device", &found)?;
    }
    let wanted = args.max_written.or(file.max_written);
    let max_written = max_written(wanted, parts.as_ref())?;
    let source = source.map(|wanted| {
        let setting = source_choice::Destination {
            backend,
            size,
            contenders: &contenders,
            device: device.as_deref(),
            work_dir: &work_dir,
            machine: &setting.machine,
            survey: &|survey| machine::survey(reach, survey, stop),
        };
        source_choice::choose(wanted, &mut suites, &setting, catalog)
    });
    let source = source.transpose()?;
    let keep_aged = args.keep_aged || file.keep_aged.unwrap_or(false);
    if keep_aged {
        ages::refuse_to_keep(&contenders, backend, device.is_some())?;
    }
    let campaign = Campaign {
        name,
        contenders,
        groups,
        suites,
        profile,
        rounds,
        until: match budget {
            Some(_) => None,
            None => until(args, &rule, rounds)?,
        },
        budget,
        seed: args.seed.or(file.seed).unwrap_or_else(|| seed(clock)),
        size,
        memory: parts.as_ref().map(|parts| parts.memory).or(memory),
        backend,
        measured_by: None,
        clock,
        guest: parts,
        readahead: readahead(
            args.readahead.or(file.readahead),
            backend,
            device.is_some() && setting.is_block_device,
        )?,
        host: args.host.clone(),
        // They are brought where the campaign really begins.
        archives: Vec::new(),
        max_written,
        keep_aged,
        source,
        device,
        work_dir,
        stall_timeout,
        phase_limit: args.phase_limit.unwrap_or(profile.phase_limit(backend)),
    };
    let said = guest_request::announcement(&campaign, &why);
    said.iter().for_each(|text| progress.note(text));
    guest_request::refuse_impossible_disks(&campaign)?;
    let smaller = guest_request::smaller_models(&campaign);
    smaller.iter().for_each(|text| progress.note(text));
    several_disks::refuse_where_there_is_one(&campaign)?;
    ages::refuse_to_keep_on_several(&campaign)?;
    refuse_too_many_cells(&campaign)?;
    Ok(Request {
        campaign,
        guest: setting.guest,
    })
}

/// The tests of a study in another size.
fn scaled(study: &Study, catalog: &Catalog, profile: Profile) -> anyhow::Result<Vec<Suite>> {
    let has = |suite: &Suite, test: &Test| {
        let mut its = suite.tests.iter();
        its.any(|of_study| of_study.of_sweep() == test.of_sweep())
    };
    let scaled = study.suites.iter().map(|of_study| {
        let mut suite = catalog.suite(&of_study.name, profile)?.clone();
        suite.tests.retain(|test| has(of_study, test));
        Ok(suite)
    });
    scaled.collect()
}

/// A size that no disk has: most likely its unit was forgotten.
fn refuse_no_disk(size: Bytes, backend: Backend) -> Result<(), BadInput> {
    let (least, why) = match backend {
        Backend::Vm => (Bytes::mib(1), "a guest's disk has"),
        Backend::Loop => (Bytes::kib(64), "a filesystem needs"),
        // What is mounted has its size.
        Backend::Dir | Backend::Elsewhere => return Ok(()),
    };
    match size < least {
        true => Err(BadInput(format!(
            "--size {size} is too little: {why} {least} at least; give a larger --size, such as 512MiB"
        ))),
        false => Ok(()),
    }
}

/// Guests run here, and a relative path means something here.
fn refuse_what_is_here(
    args: &RunArgs,
    file: &CampaignFile,
    backend: Backend,
    directories: &[Directory],
) -> Result<(), BadInput> {
    if backend == Backend::Vm {
        return Err(BadInput(
            "--host and --backend vm: guests run on this machine; leave one of both out".into(),
        ));
    }
    let source = args.source.as_ref().or(file.source.as_ref());
    let source = source.filter(|source| *source != Path::new(Source::IMAGE));
    let device = args.storage.device.as_ref().or(file.device.as_ref());
    let directories = directories.iter().map(|d| ("--dir", &d.path));
    let mut paths = directories
        .chain(source.map(|path| ("--source", path)))
        .chain(device.map(|path| ("--device", path)));
    match paths.find(|(_, path)| path.is_relative()) {
        Some((option, path)) => Err(BadInput(format!(
            "{option} {} with --host: give an absolute path on that machine",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The readahead of an image, which is one of fsarena's or a file of the user's; all else keeps what it has.
fn readahead(
    wanted: Option<Bytes>,
    backend: Backend,
    is_block_device: bool,
) -> Result<Option<Bytes>, BadInput> {
    let is_image = backend == Backend::Loop && !is_block_device;
    match wanted {
        None => Ok(is_image.then_some(Campaign::READAHEAD)),
        Some(_) if !is_image => Err(BadInput(
            "--readahead is for images: what is mounted, a device of yours and a guest's disk keep theirs; leave it out"
                .into(),
        )),
        Some(size) if size.0 % PAGE.0 != 0 => Err(BadInput(format!(
            "--readahead {size} is no multiple of {PAGE}, in which the kernel reads"
        ))),
        Some(size) => Ok(Some(size)),
    }
}

/// The most that may be written, which means nothing where disks lie in memory.
fn max_written(
    wanted: Option<Bytes>,
    guest: Option<&GuestMachine>,
) -> Result<Option<Bytes>, BadInput> {
    match guest.and_then(GuestMachine::model) {
        Some(_) if wanted.is_some() => Err(BadInput(
            "--max-written is for disks of this machine's, and a guest's disks lie in its memory: leave it out".into(),
        )),
        _ => Ok(wanted),
    }
}

/// Refuses what would be planned for longer than anybody waits.
fn refuse_too_many_cells(campaign: &Campaign) -> Result<(), BadInput> {
    let cells = plan::most_cells(campaign);
    if cells.is_some_and(|cells| cells <= plan::MOST_CELLS) {
        return Ok(());
    }
    let count = cells.map_or_else(|| "more than 2^64".to_owned(), |cells| cells.to_string());
    let tests: usize = campaign.suites.iter().map(|s| s.tests.len()).sum();
    Err(BadInput(format!(
        "{count} cells are too many, {} at most: {} contenders × {tests} tests × {} rounds; take fewer of them \
         (-c, -s, --rounds, --max-rounds), or a smaller --profile, in which sweeps have fewer points",
        plan::MOST_CELLS,
        campaign.contenders.len(),
        plan::most_rounds(campaign),
    )))
}

/// The seed where nobody gives one: in virtual time the same each time, so that the same command gives the same
/// results, which are there already.
fn seed(time: Clock) -> u64 {
    match time {
        Clock::Virtual => VIRTUAL_SEED,
        Clock::Real => clock::calendar().0,
    }
}

/// Where cells run, as far as it has to be found out before contenders are chosen.
struct TestMachine {
    /// This machine, and what the guest has.
    machine: Machine,
    guest: Option<Arc<Guest>>,
    /// Whether the device of the user's is one.
    is_block_device: bool,
    /// The directories that compete.
    directories: Vec<MountedDirectory>,
}

impl TestMachine {
    /// What the machine on whose kernel cells run says of itself.
    fn of_machine(
        reach: &dyn Reach,
        catalog: &Catalog,
        backend: Backend,
        device: Option<&Path>,
        directories: &[Directory],
        stop: &AtomicBool,
    ) -> anyhow::Result<Self> {
        let programs = paths::programs(catalog);
        let asked = directories.iter().map(|d| d.path.clone()).collect();
        let Look {
            machine,
            is_block_device,
            directories,
        } = machine::look(reach, programs, device, asked, stop)?;
        if reach.is_far() && backend == Backend::Loop && !machine.root {
            let name = reach.name();
            return Err(Refused(format!(
                "the agent on {name} is not root, which mounting needs"
            ))
            .into());
        }
        Ok(Self {
            machine,
            guest: None,
            is_block_device,
            directories: directories
                .into_iter()
                .collect::<Result<_, _>>()
                .map_err(BadInput)?,
        })
    }

    /// Makes the guest, where it is not made yet and something is to be run.
    fn of_guests(
        wishes: &Wishes,
        dry_run: bool,
        catalog: &Catalog,
        progress: &Progress,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let mut say = |text: &str| progress.note(text);
        let guest = match dry_run {
            true => guest_command::made(catalog, &wishes.build, stop, &mut say)?,
            false => guest_command::obtain(catalog, &wishes.build, stop, &mut say)?,
        };
        let machine = Machine {
            guest: Some(guest_command::contents(catalog, &guest)),
            ..Machine::look()
        };
        Ok(Self {
            machine,
            guest: Some(Arc::new(guest)),
            is_block_device: false,
            directories: Vec::new(),
        })
    }
}

/// The rule by which rounds are added to those that there are anyway.
fn until(args: &RunArgs, file: &RoundRule, rounds: u32) -> anyhow::Result<Option<Until>> {
    let rule = RoundRule {
        until_width: args.until_width.or(file.until_width),
        until_share: args.until_share.or(file.until_share),
        max_rounds: args.max_rounds.or(file.max_rounds),
        max_time: args.max_time.or(file.max_time),
        budget: None,
    };
    let Some(width) = rule.until_width else {
        return match rule == RoundRule::default() {
            true => Ok(None),
            false => Err(BadInput(
                "--until-share, --max-rounds and --max-time limit what --until-width adds: give it, too"
                    .into(),
            )
            .into()),
        };
    };
    if let Some(most) = rule.max_rounds.filter(|most| *most < rounds) {
        let complaint =
            format!("--max-rounds {most} is less than the {rounds} rounds there are anyway");
        return Err(BadInput(complaint).into());
    }
    Ok(Some(Until {
        width,
        share: rule.until_share.unwrap_or(1.0),
        max_rounds: rule.max_rounds.unwrap_or(MOST_ROUNDS.max(rounds)),
        max_time: rule.max_time,
    }))
}

fn directories(args: &RunArgs, file: &CampaignFile) -> Vec<Directory> {
    if args.directories.is_empty() {
        return file.directories.clone();
    }
    args.directories
        .iter()
        .map(|text| directory(text))
        .collect()
}

/// `DIR`, or `NAME=DIR` where that is not itself the path of something.
fn directory(text: &Path) -> Directory {
    let named = text.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if check_name(name).is_ok() && !text.exists() => Directory {
            name: Some(name.to_owned()),
            path: path.into(),
            memory: None,
        },
        _ => Directory {
            name: None,
            path: text.to_owned(),
            memory: None,
        },
    }
}

fn backend(
    args: &RunArgs,
    file: &CampaignFile,
    directories: &[Directory],
) -> anyhow::Result<Backend> {
    let guess = if directories.is_empty() {
        Backend::Loop
    } else {
        Backend::Dir
    };
    let backend = args.backend.or(file.backend).unwrap_or(guess);
    match (backend, directories.is_empty()) {
        (Backend::Dir, true) => {
            Err(BadInput("the dir backend compares mounted directories: give --dir".into()).into())
        }
        (Backend::Loop | Backend::Vm, false) => {
            let complaint = format!("--dir belongs to the dir backend, not to {backend}");
            Err(BadInput(complaint).into())
        }
        _ => Ok(backend),
    }
}

/// With these, an error of a filesystem stops the whole kernel, which is well in a guest.
fn refuse_what_ends_the_machine(contender: &Contender) -> Result<(), BadInput> {
    const PANICS: [&str; 2] = ["errors=panic", "fatal_errors=panic"];
    let mut mount_options = contender.mount_options.iter();
    let of_mount = mount_options.find(|option| PANICS.contains(&option.as_str()));
    // mke2fs takes it as a word of its own (`-e panic`) and behind letters (`-vepanic`).
    let mut mkfs_options = contender.mkfs_options.iter();
    let of_mkfs = mkfs_options.find(|option| option.to_lowercase().contains("panic"));
    let (of, option) = match (of_mount, of_mkfs) {
        (Some(option), _) => ("mount", option),
        (None, Some(option)) => ("mkfs", option),
        (None, None) => return Ok(()),
    };
    Err(BadInput(format!(
        "{of} option `{option}` is refused: an error of the filesystem would end this machine; in a guest \
         (--backend vm) it may"
    )))
}

/// Every cell would die of these, and the filesystem would be blamed.
fn refuse_too_little(memory: Option<Bytes>, stall_timeout: Nanos) -> anyhow::Result<()> {
    let complaint = match memory {
        Some(memory) if memory < LEAST_MEMORY => {
            format!(
                "memory of {memory} is too little (--memory); a cell needs {LEAST_MEMORY} at least"
            )
        }
        _ if stall_timeout < SHORTEST_STALL_TIMEOUT => {
            format!(
                "--stall-timeout {stall_timeout} is too short; give {SHORTEST_STALL_TIMEOUT} at least"
            )
        }
        _ => return Ok(()),
    };
    Err(BadInput(complaint).into())
}

/// Whoever says what machine a guest is expects one.
fn refuse_what_only_guests_grant(wishes: &Wishes, backend: Backend) -> anyhow::Result<()> {
    match wishes.only_for_guests() {
        Some(option) if backend != Backend::Vm => Err(BadInput(format!(
            "{option} is for guests: it means nothing on the {backend} backend, only with --backend vm"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Whoever names a filesystem or a device beside directories expects it to be compared.
fn refuse_what_directories_ignore(args: &RunArgs) -> anyhow::Result<()> {
    let ignored = [
        ("--contender", !args.contenders.is_empty()),
        ("--device", args.storage.device.is_some()),
        ("--size", args.size.is_some()),
    ];
    match ignored.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(BadInput(format!(
            "{option} means nothing for mounted directories; leave it or them out"
        ))
        .into()),
        None => Ok(()),
    }
}

/// The directories that compete, as their machine sees them.
fn mounted(
    directories: &[Directory],
    found: &[MountedDirectory],
    catalog: &Catalog,
) -> anyhow::Result<Vec<Contender>> {
    let contender = |(directory, found): (&Directory, &MountedDirectory)| {
        let (name, filesystem) = (directory.name.as_deref(), found.filesystem.as_deref());
        let contender = catalog.directory_contender(&found.path, name, filesystem)?;
        Ok(Contender {
            own: OwnSetting {
                memory: directory.memory,
                ..contender.own
            },
            ..contender
        })
    };
    directories.iter().zip(found).map(contender).collect()
}

fn suites(
    args: &RunArgs,
    from_file: &[String],
    catalog: &Catalog,
    profile: Profile,
    backend: Backend,
) -> anyhow::Result<Vec<Suite>> {
    if !args.own_suites.is_empty() {
        return Ok(args.own_suites.clone());
    }
    let names = if args.suites.is_empty() {
        from_file
    } else {
        &args.suites
    };
    if names.is_empty() {
        return Ok(catalog
            .default_suites(profile)
            .into_iter()
            .cloned()
            .collect());
    }
    let (peers, names) = peers::taken(names, backend == Backend::Vm || geteuid().is_root())?;
    let mut suites = match names.as_slice() {
        [] => Vec::new(),
        names => catalog.chosen_suites(names, profile)?,
    };
    suites.extend(peers);
    Ok(suites)
}

/// Two of one name would look the same in every table.
pub fn refuse_doubles<'a>(
    what: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(double) => Err(BadInput(format!("the {what} `{double}` is named twice")).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_what_is_written_is_refused_where_disks_lie_in_memory() {
        let catalog = Catalog::builtin().unwrap();
        let mut guest = orchestrate::in_memory::guest(catalog.disk("nvme-consumer").unwrap());
        let wanted = Some(Bytes(1));
        assert_eq!(max_written(wanted, None).unwrap(), wanted);
        assert_eq!(max_written(None, Some(&guest)).unwrap(), None);
        assert!(max_written(wanted, Some(&guest)).is_err());
        guest.disk = model::GuestDisk::Image {
            cache: model::DiskCache::Writeback,
        };
        assert_eq!(max_written(wanted, Some(&guest)).unwrap(), wanted);
    }

    #[test]
    fn a_size_without_its_unit_is_refused() {
        let refused = |size, backend| refuse_no_disk(size, backend).unwrap_err().0;
        let told = "--size 1 B is too little: a filesystem needs 64 KiB at least; give a larger --size, such as 512MiB";
        assert_eq!(refused(Bytes(1), Backend::Loop), told);
        assert!(refused(Bytes::kib(64), Backend::Vm).contains("1 MiB at least"));
        assert!(refuse_no_disk(Bytes::kib(880), Backend::Loop).is_ok());
        assert!(refuse_no_disk(Bytes(1), Backend::Dir).is_ok());
    }

    #[test]
    fn readahead_is_pinned_on_images_and_refused_elsewhere() {
        let kib = Bytes::kib;
        let of = |wanted, backend, device| readahead(wanted, backend, device).unwrap();
        assert_eq!(of(None, Backend::Loop, false), Some(kib(128)));
        assert_eq!(of(None, Backend::Loop, true), None, "a block device");
        assert_eq!(of(Some(kib(64)), Backend::Loop, false), Some(kib(64)));
        for backend in [Backend::Dir, Backend::Vm] {
            assert_eq!(of(None, backend, false), None);
            assert!(readahead(Some(kib(64)), backend, false).is_err());
        }
        let error = readahead(Some(kib(6)), Backend::Loop, false).unwrap_err();
        assert!(
            error.to_string().contains("no multiple of 4 KiB"),
            "{error}"
        );
    }
}
