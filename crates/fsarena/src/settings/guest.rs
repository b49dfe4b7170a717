//! Resolves the guest options into the machine of a campaign, and checks it before cells run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use config::{Catalog, Settings};
use guest::{Guest, QemuMachine};
use model::{
    Accelerator, Bytes, Campaign, Clock, Contender, DiskCache, DiskModel, GuestConfig, GuestDisk,
    Suite, VirtualTimeMachine,
};

use crate::args::guest_args::BuildOptions;
use crate::args::run_args::RunArgs;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::settings::validate::reject_duplicates;
use backend::disk_size;

/// Default disk model.
pub const DEFAULT_DISK: &str = "nvme-consumer";
/// Default memory of a guest.
const DEFAULT_MEMORY: Bytes = Bytes::mib(768);
/// Note on simulated disks in real time.
const IN_REAL_TIME: &str = "disks are simulated in real time: a request takes as long as the model specifies, or longer if this machine is busy (--clock virtual is exact)";
/// Minimum memory of a guest. The kernel and the first filesystem do not fit into less.
const MIN_MEMORY: Bytes = Bytes::mib(256);
/// Default number of processors of a guest in real time, if the machine has at least as many.
const DEFAULT_PROCESSORS: u32 = 4;

/// Settings of the guests of a campaign.
#[derive(Clone, Debug, Default)]
pub struct GuestSettings {
    /// Settings of the campaign, completed by those of the machine.
    settings: Settings,
    /// Machine of a study, if one is named.
    machine: Option<VirtualTimeMachine>,
    jobs: Option<u32>,
    /// Components of the guest.
    pub build: BuildOptions,
}

impl GuestSettings {
    /// Returns the settings of a campaign, completed by those of the machine of a study, if
    /// requested.
    ///
    /// # Errors
    /// Returns an error if the machine is unknown, or if it would run in real time.
    pub fn of(args: &RunArgs, settings: &Settings, catalog: &Catalog) -> anyhow::Result<Self> {
        let mut wishes = Self {
            settings: settings.clone(),
            machine: None,
            jobs: args.execution.jobs,
            build: args.execution.build.clone(),
        };
        let Some(name) = &args.machine else {
            return Ok(wishes);
        };
        if settings.clock == Some(Clock::Real) {
            return Err(UsageError(format!(
                "--machine {name} sets the time per instruction and needs --clock virtual"
            ))
            .into());
        }
        let machine = catalog.machine(name)?;
        wishes.settings = wishes.settings.over(Settings {
            clock: Some(Clock::Virtual),
            memory: machine.memory,
            disk: vec![machine.disk.clone()],
            disks: vec![machine.disks],
            ..Settings::default()
        });
        wishes.machine = Some(machine.clone());
        Ok(wishes)
    }

    /// Returns the number of disks of a guest, if neither its contender nor its test sets it.
    pub fn disks(&self) -> u32 {
        self.settings.disks.first().copied().unwrap_or(1)
    }

    /// Returns the requested numbers of disks.
    pub fn disk_counts(&self) -> &[u32] {
        &self.settings.disks
    }

    /// Returns the requested disk models.
    ///
    /// # Errors
    /// Returns an error if a disk is unknown or repeated.
    pub fn models(&self, catalog: &Catalog) -> anyhow::Result<Vec<DiskModel>> {
        if self.settings.disk.iter().any(String::is_empty) {
            let why = "--disk: a name is missing; `fsarena list disks` names those that there are";
            return Err(UsageError(why.to_owned()).into());
        }
        reject_duplicates("disk", self.settings.disk.iter())?;
        let models = self.settings.disk.iter().map(|name| Ok(catalog.disk(name)?));
        models.collect()
    }

    /// Returns the number of disks, including the source disk.
    pub fn total_disks(&self) -> u32 {
        self.disks() + u32::from(self.settings.source.is_some())
    }

    /// Returns true if the disk is a real device.
    pub fn has_device(&self) -> bool {
        self.settings.storage.device.is_some()
    }
}

/// Workload in the guests of a campaign, which determines their size.
#[derive(Clone, Copy)]
pub struct GuestLoad<'a> {
    /// Contenders of the campaign.
    pub size: Bytes,
    /// Who competes.
    pub contenders: &'a [Contender],
    /// Suites that run.
    pub suites: &'a [Suite],
}

impl GuestLoad<'_> {
    /// Returns the maximum number of disks in a cell of a contender. `others` is the default
    /// number.
    fn most_disks(&self, contender: &Contender, others: u32) -> u32 {
        let tests = self.suites.iter().flat_map(|suite| &suite.tests);
        let plain = contender.own.disks.unwrap_or(others);
        let counts = tests.map(|test| test.disks().unwrap_or(plain));
        counts.max().unwrap_or(plain)
    }
}

/// Returns whether guests run on KVM here, or the reason why not. Returns `None` if KVM is not
/// needed.
fn proof(
    wishes: &GuestSettings,
    guest: &Guest,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Option<Result<(), String>>> {
    match wishes.settings.clock {
        Some(Clock::Virtual) => Ok(None),
        _ => Ok(Some(guest::check_kvm(guest, stop)?)),
    }
}

/// Returns the clock of a campaign in guests, the reason for that clock, and the machine of its
/// cells without the settings of contenders and tests.
pub fn machine(
    wishes: &GuestSettings,
    load: GuestLoad<'_>,
    guest: &Guest,
    stop: &Arc<AtomicBool>,
    catalog: &Catalog,
) -> anyhow::Result<(Clock, String, GuestConfig)> {
    let (clock, accelerator, words) = clock(wishes, proof(wishes, guest, stop)?);
    let disk = disk(wishes, clock, catalog)?;
    require_modules(guest, &disk, wishes, load)?;
    let machine = settle(wishes, load, clock, accelerator, disk, guest)?;
    let own = load.contenders.iter().filter_map(|c| c.own.memory);
    let largest = own.fold(machine.memory, Bytes::max);
    let in_memory = machine.model().is_some();
    let beside = beside(wishes, load, in_memory)?;
    require_room(largest, beside, sys::memory::available())?;
    Ok((clock, words, machine))
}

/// Returns the notes on the guests of a campaign before it starts: the clock and its reason, the
/// machine with all disks, and the accuracy of simulated disks in real time.
pub fn announcement(campaign: &Campaign, why: &str) -> Vec<String> {
    let Some(machine) = campaign.describe_guest() else {
        return Vec::new();
    };
    let mut said = vec![format!("{}{why}: {machine}", campaign.clock)];
    let is_simulated = campaign.machines().any(|machine| machine.model().is_some());
    if is_simulated && campaign.clock == Clock::Real {
        said.push(IN_REAL_TIME.to_owned());
    }
    said
}

/// Returns the clock, the accelerator and the reason for them. Time is real if the user asks for it
/// or if KVM works.
fn clock(wishes: &GuestSettings, kvm: Option<Result<(), String>>) -> (Clock, Accelerator, String) {
    let wants_real = wishes.settings.clock == Some(Clock::Real) || wishes.has_device();
    match kvm {
        None => (Clock::Virtual, Accelerator::Tcg, String::new()),
        Some(Ok(())) => (Clock::Real, Accelerator::Kvm, " on KVM".to_owned()),
        Some(Err(why)) if wants_real => (
            Clock::Real,
            Accelerator::Tcg,
            format!(" without KVM ({why}), emulated, so that times mean little"),
        ),
        Some(Err(why)) => (Clock::Virtual, Accelerator::Tcg, format!(", for {why}")),
    }
}

/// Returns the type of the guest's disks. In virtual time the guest must not depend on outside
/// devices.
fn disk(wishes: &GuestSettings, clock: Clock, catalog: &Catalog) -> anyhow::Result<GuestDisk> {
    match (clock, wishes.settings.disk.first()) {
        (_, Some(name)) => model(name, wishes, catalog),
        (Clock::Virtual, None) => model(DEFAULT_DISK, wishes, catalog),
        (Clock::Real, None) if wishes.has_device() => {
            Ok(GuestDisk::Device { cache: wishes.settings.disk_cache.unwrap_or(DiskCache::None) })
        }
        (Clock::Real, None) => {
            Ok(GuestDisk::Image { cache: wishes.settings.disk_cache.unwrap_or_default() })
        }
    }
}

/// Returns a disk in the guest's memory. Returns an error if options for other disks are given.
fn model(name: &str, wishes: &GuestSettings, catalog: &Catalog) -> anyhow::Result<GuestDisk> {
    let options =
        [("--device", wishes.has_device()), ("--disk-cache", wishes.settings.disk_cache.is_some())];
    if let Some((option, _)) = options.into_iter().find(|(_, given)| *given) {
        return Err(UsageError(format!(
            "cannot use {option} with disks in the guest's memory (virtual time, or --disk); remove it"
        ))
        .into());
    }
    let model = catalog.disk(name)?;
    Ok(GuestDisk::Model { model })
}

fn settle(
    wishes: &GuestSettings,
    load: GuestLoad<'_>,
    clock: Clock,
    accelerator: Accelerator,
    disk: GuestDisk,
    guest: &Guest,
) -> Result<GuestConfig, UsageError> {
    let disks = wishes.disks();
    refuse_beside_device(wishes, load)?;
    if clock == Clock::Real && wishes.jobs.is_some_and(|jobs| jobs > 1) {
        return Err(UsageError(
            "in real time cells would disturb each other: --jobs is for --clock virtual".into(),
        ));
    }
    let memory = memory_for(wishes, load)?;
    let processors = processors(wishes.settings.processors, clock)?;
    let cpu = QemuMachine { clock, accelerator, ..QemuMachine::default() }.cpu();
    Ok(GuestConfig {
        memory,
        processors,
        accelerator,
        cpu: cpu.to_owned(),
        shift: wishes.machine.as_ref().map_or(0, |machine| machine.shift),
        disks,
        disk,
        kernel: guest.release().to_owned(),
        guest_name: guest.name().to_owned(),
    })
}

/// Returns an error if options conflict with a device, which is the only disk of all guests.
fn refuse_beside_device(wishes: &GuestSettings, load: GuestLoad<'_>) -> Result<(), UsageError> {
    if !wishes.has_device() {
        return Ok(());
    }
    let has_several = |c: &Contender| load.most_disks(c, wishes.disks()) > 1;
    let contenders = load.contenders.iter();
    match contenders.clone().find(|c| c.own.disk.is_some()) {
        Some(contender) => Err(UsageError(format!(
            "--device is the only disk of a guest, but {} specifies another one",
            contender.name
        ))),
        None if contenders.clone().any(has_several) => {
            Err(UsageError("--device is the one disk of a guest: leave --disks out".into()))
        }
        None => Ok(()),
    }
}

/// Returns the memory of guests whose contender does not set it, excluding their disks.
fn memory_for(wishes: &GuestSettings, load: GuestLoad<'_>) -> Result<Bytes, UsageError> {
    for contender in load.contenders {
        if let Some(asked) = contender.own.memory {
            memory(Some(asked)).map_err(|UsageError(complaint)| {
                UsageError(format!("{}: {complaint}", contender.name))
            })?;
        }
    }
    memory(wishes.settings.memory)
}

/// Returns the memory needed by the disks of the guest with the most disks, if they are in its
/// memory.
fn beside(
    wishes: &GuestSettings,
    load: GuestLoad<'_>,
    in_memory: bool,
) -> Result<Bytes, UsageError> {
    let mut most = Bytes(0);
    for contender in load.contenders {
        let disks = load.most_disks(contender, wishes.disks())
            + u32::from(wishes.settings.source.is_some());
        let all = total_disk_size(load.size, disks)?;
        if in_memory || contender.own.disk.is_some() {
            most = most.max(all);
        }
    }
    Ok(most)
}

/// Returns the total size of all disks of a guest.
///
/// # Errors
/// Returns an error if the total size is too large.
pub fn total_disk_size(size: Bytes, disks: u32) -> Result<Bytes, UsageError> {
    let all = size.0.checked_mul(u64::from(disks)).map(Bytes);
    let all = all.filter(|all| *all <= Bytes::MAX_UNITS);
    all.ok_or_else(|| {
        UsageError(format!(
            "--size {size} for each of {disks} disks is too much: give a smaller one"
        ))
    })
}

fn memory(asked: Option<Bytes>) -> Result<Bytes, UsageError> {
    match asked {
        None => Ok(DEFAULT_MEMORY),
        Some(memory) if memory >= MIN_MEMORY => Ok(memory),
        Some(memory) => Err(UsageError(format!(
            "--memory {memory} is too little for a guest; give {MIN_MEMORY} at least"
        ))),
    }
}

fn processors(asked: Option<u32>, clock: Clock) -> Result<u32, UsageError> {
    match (clock, asked) {
        (Clock::Virtual, None | Some(1)) => Ok(1),
        (Clock::Virtual, Some(many)) => Err(UsageError(format!(
            "--processors {many}: in virtual time a machine has one processor"
        ))),
        (Clock::Real, Some(asked)) => Ok(asked),
        (Clock::Real, None) => {
            let here = thread::available_parallelism().map_or(1, |n| n.get() as u32);
            Ok(here.min(DEFAULT_PROCESSORS))
        }
    }
}

/// A kernel of the user may lack the modules for disks.
fn require_modules(
    guest: &Guest,
    disk: &GuestDisk,
    wishes: &GuestSettings,
    load: GuestLoad<'_>,
) -> Result<(), EnvironmentError> {
    let contenders = load.contenders.iter();
    let model = match disk {
        GuestDisk::Model { model } => Some(model),
        GuestDisk::Image { .. } | GuestDisk::Device { .. } => None,
    };
    let own = contenders.clone().filter_map(|c| c.own.disk.as_ref());
    if let Some(model) = model.into_iter().chain(own).find(|m| !guest.can_make(m)) {
        return Err(without_driver(guest, model));
    }
    let is_striped = { contenders }.any(|c| load.most_disks(c, wishes.disks()) > 1);
    if !is_striped || guest.can_stripe() {
        return Ok(());
    }
    let (module, does, bring) = (
        guest::STRIPE_MODULE,
        "puts several disks together",
        "set CONFIG_MD_RAID0 to y or m, or leave --disks out",
    );
    let kernel = guest.release();
    Err(EnvironmentError(format!(
        "the guest's kernel ({kernel}) has no module {module}, which {does}: {bring}"
    )))
}

/// The error for a kernel without the driver of simulated disks.
fn without_driver(guest: &Guest, disk: &DiskModel) -> EnvironmentError {
    let kernel = guest.release();
    let name = &disk.name;
    let why = guest.lacks_disk_driver();
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    EnvironmentError(match guest.can_make(&DiskModel::ideal()) {
        true => format!(
            "cannot simulate the disk {name}: no driver for the guest's kernel ({kernel}){why}; use `--disk ideal`, a null_blk disk without delays and flushes"
        ),
        false => format!(
            "the guest's kernel ({kernel}) can make no disk in its memory: set CONFIG_BLK_DEV_NULL_BLK to m for \
             `--disk ideal`, or leave virtual time with --clock real"
        ),
    })
}

/// Checks the disk models. Otherwise every guest would fail, and the failure would be attributed to
/// the filesystem.
///
/// # Errors
/// Returns an error if the parameters of a disk model do not fit its size.
pub fn reject_unsupported_disks(campaign: &Campaign) -> Result<(), UsageError> {
    let tests = || campaign.suites.iter().flat_map(|suite| &suite.tests);
    let contenders = campaign.contenders.iter();
    let cells = contenders.flat_map(|contender| tests().map(move |test| (contender, test)));
    for (contender, test) in cells {
        // A size that is too small for the filesystem is rejected elsewhere, with the filesystem's
        // name.
        let disk = backend::simulated_disk(campaign, contender, test);
        let Some((model, size)) = disk.filter(|(_, size)| size.0 > 0) else {
            continue;
        };
        let made = simdisk::MechanismParams::new(&model, size, 1).memory();
        made.map_err(|why| UsageError(format!("--disk {}: {why}", model.name)))?;
    }
    Ok(())
}

/// Returns an error if this machine has too little memory for a guest and its disks. Such a guest
/// would be killed, and the failure attributed to its filesystem.
fn require_room(
    memory: Bytes,
    disks: Bytes,
    available: Option<Bytes>,
) -> Result<(), EnvironmentError> {
    let needed = memory.0.saturating_add(disks.0);
    match available {
        Some(available) if needed > available.0 => Err(EnvironmentError(format!(
            "a guest of {memory} with disks of {disks} does not fit the {available} of memory that are free here: give a \
             smaller --size or --memory"
        ))),
        _ => Ok(()),
    }
}

/// Returns a note on contenders whose disks are smaller than the campaign's.
pub fn smaller_disks(contenders: &[Contender], size: Bytes, count: u32) -> Option<String> {
    let smaller = contenders.iter().filter_map(|contender| {
        let largest = contender.filesystem.requires.largest?;
        let count = contender.own.disks.unwrap_or(count);
        let each = disk_size(contender, size, count, None);
        (largest.0 / u64::from(count) < size.0)
            .then(|| format!("{} gets {each}, its maximum", contender.name))
    });
    let smaller: Vec<String> = smaller.collect();
    (!smaller.is_empty()).then(|| format!("instead of {size}, {}", smaller.join("; ")))
}

/// Returns a note on disks with less capacity than the campaign requests.
pub fn smaller_models(campaign: &Campaign) -> Option<String> {
    let machines: Vec<GuestConfig> = campaign.machines().collect();
    let models = machines.iter().filter_map(GuestConfig::model);
    let holds = models.filter_map(|model| Some((model.name.as_str(), model.capacity()?)));
    let smaller: BTreeMap<&str, Bytes> = holds.filter(|(_, size)| *size < campaign.size).collect();
    let smaller = smaller.iter().map(|(name, size)| format!("the disk {name} holds {size}"));
    let smaller: Vec<String> = smaller.collect();
    (!smaller.is_empty()).then(|| format!("instead of {}, {}", campaign.size, smaller.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes() -> GuestSettings {
        GuestSettings::default()
    }

    fn of(settings: Settings) -> GuestSettings {
        GuestSettings { settings, ..wishes() }
    }

    fn refused(outcome: Result<impl std::fmt::Debug, impl Into<anyhow::Error>>) -> String {
        outcome.map_err(Into::<anyhow::Error>::into).unwrap_err().to_string()
    }

    #[test]
    fn without_a_proof_of_kvm_time_is_that_of_a_model() {
        let no = || Some(Err("it hangs".to_owned()));
        let (time, accelerator, words) = clock(&wishes(), no());
        assert_eq!((time, accelerator), (Clock::Virtual, Accelerator::Tcg));
        assert_eq!(words, ", for it hangs");
        let (time, accelerator, _) = clock(&wishes(), Some(Ok(())));
        assert_eq!((time, accelerator), (Clock::Real, Accelerator::Kvm));
        let real = of(Settings { clock: Some(Clock::Real), ..Settings::default() });
        let (time, accelerator, words) = clock(&real, no());
        assert_eq!((time, accelerator), (Clock::Real, Accelerator::Tcg));
        assert!(words.contains("times mean little"));
    }

    #[test]
    fn announcement_lists_all_disks_and_warns_in_real_time() {
        let catalog = Catalog::builtin().unwrap();
        let disks = ["hdd-2003-7200", "nvme-consumer"];
        let contender = |disk: &str| catalog.contender(&format!("ext4@{disk}")).unwrap();
        let mut campaign = Campaign {
            contenders: disks.map(contender).to_vec(),
            suites: vec![catalog.suite("tree", model::SizeProfile::Smoke).unwrap().clone()],
            guest: Some(campaign::run::in_memory::guest(catalog.disk(disks[0]).unwrap())),
            clock: Clock::Virtual,
            ..crate::fixture::campaign()
        };
        let said = announcement(&campaign, ", for once");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("virtual time, for once: "));
        let named = |text: &str| disks.iter().all(|disk| text.contains(disk));
        assert!(named(&said[0]), "{said:?}");
        campaign.clock = Clock::Real;
        let said = announcement(&campaign, " on KVM");
        assert!(named(&said[0]) && said[1] == IN_REAL_TIME, "{said:?}");
        campaign.guest = None;
        assert!(announcement(&campaign, "").is_empty());
    }

    #[test]
    fn in_virtual_time_a_disk_is_a_model_and_no_device_of_this_machines() {
        let catalog = Catalog::builtin().unwrap();
        let model = disk(&wishes(), Clock::Virtual, &catalog).unwrap();
        assert!(matches!(&model, GuestDisk::Model { model } if model.name == "nvme-consumer"));
        let mut device = wishes();
        device.settings.storage.device = Some("/dev/sdz".into());
        assert!(refused(disk(&device, Clock::Virtual, &catalog)).contains("cannot use --device"));
        let cache = DiskCache::None;
        assert_eq!(disk(&device, Clock::Real, &catalog).unwrap(), GuestDisk::Device { cache });
        let wrong = of(Settings { disk: vec!["nvm".into()], ..Settings::default() });
        assert!(refused(disk(&wrong, Clock::Real, &catalog)).contains("`nvme-consumer`"));
    }

    #[test]
    fn memory_does_not_include_disks() {
        let mib = Bytes::mib;
        assert_eq!(memory(None).unwrap(), DEFAULT_MEMORY);
        assert_eq!(memory(Some(mib(512))).unwrap(), mib(512));
        assert!(refused(memory(Some(mib(64)))).contains("give 256 MiB at least"));
    }

    #[test]
    fn disk_memory_is_that_of_the_guest_with_most_disks() {
        let catalog = Catalog::builtin().unwrap();
        let tree = catalog.suite("tree", model::SizeProfile::Smoke).unwrap();
        let of = |specs: &[&str], disks: Option<u32>, in_memory: bool| {
            let contenders: Vec<Contender> =
                specs.iter().map(|s| catalog.contender(s).unwrap()).collect();
            let mut suite = tree.clone();
            if let Some(disks) = disks {
                suite.tests = suite.tests.iter().map(|test| test.with_disks(disks)).collect();
            }
            let load =
                GuestLoad { size: Bytes::mib(1024), contenders: &contenders, suites: &[suite] };
            memory_for(&wishes(), load)?;
            beside(&wishes(), load, in_memory)
        };
        let mib = Bytes::mib;
        assert_eq!(of(&["ext4"], None, false).unwrap(), mib(0));
        assert_eq!(of(&["ext4"], None, true).unwrap(), mib(1024));
        assert_eq!(of(&["ext4", "zfs@disks=4"], None, true).unwrap(), mib(4096));
        assert_eq!(of(&["ext4"], Some(2), true).unwrap(), mib(2048));
        let one = of(&["ext4", "xfs@nvme-consumer"], None, false);
        assert_eq!(one.unwrap(), mib(1024));
        let error = of(&["zfs@disks=4,memory=64MiB"], None, true).unwrap_err();
        let error = error.to_string();
        let told = "zfs@disks=4,memory=64MiB: --memory 64 MiB is too little";
        assert!(error.starts_with(told), "{error}");
    }

    #[test]
    fn disks_of_any_size_are_added_up_or_refused() {
        assert_eq!(total_disk_size(Bytes::mib(3), 8).unwrap(), Bytes::mib(24));
        assert_eq!(total_disk_size(Bytes::MAX_UNITS, 1).unwrap(), Bytes::MAX_UNITS);
        for (size, disks) in [(Bytes::MAX_UNITS, 2), (Bytes(1 << 62), 8)] {
            assert!(refused(total_disk_size(size, disks)).contains("smaller"));
        }
    }

    #[test]
    fn virtual_time_allows_only_one_processor() {
        assert_eq!(processors(None, Clock::Virtual).unwrap(), 1);
        assert_eq!(processors(Some(3), Clock::Real).unwrap(), 3);
        assert!(refused(processors(Some(2), Clock::Virtual)).contains("one processor"));
    }

    #[test]
    fn contenders_with_smaller_disks_are_reported() {
        let catalog = Catalog::builtin().unwrap();
        let contenders = ["fat12", "xfs"].map(|name| catalog.contender(name).unwrap());
        let said = smaller_disks(&contenders, Bytes::mib(384), 1).unwrap();
        assert!(said.ends_with("fat12 gets 255 MiB, its maximum"), "{said}");
        assert_eq!(smaller_disks(&contenders, Bytes::mib(64), 1), None);
    }
}
