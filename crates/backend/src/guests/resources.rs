//! Cells in guests. Each cell has its own directory, disks and machine, so cells can run in
//! parallel and leave no data for the next cell. The counterpart of `storage` that does not need
//! root.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{
    CachedExecutor, CellCache, DiskLocation, Executor, GuestExecutor, SnapshotPool, guest_volume,
};
use anyhow::Context;
use config::Placeholders;
use guest::{Guest, GuestError, MemoryDisk, QemuMachine};
use model::wire::{
    AbortReason, AgeingParams, CellEvent, CellJob, GeneratedSource, MultiDevice, SourceLocation,
    Volume, WorkTarget,
};
use model::{
    BackendKind, Bytes, Campaign, CampaignId, Cell, CellId, CellResult, Clock, Contender,
    CopySource, DiskCache, DiskModel, Environment, GuestConfig, GuestDisk, ProgramRequirements,
    Requirements, Sampling, Test,
};
use storage::{DeviceRefusal, EnvironmentContext, ExclusiveDevice, Image, describe_storage};

use crate::archives;
use crate::compatibility;
use crate::error::EnvironmentError;
use crate::guests::snapshot_store::SnapshotStore;
use crate::host::campaign_dir::{CampaignDir, CellDir};
use crate::host::local::run_cell_on;
use crate::source;

/// Memory of a guest for its kernel modules and its agent.
const SPARE_ROOT: Bytes = Bytes::mib(64);

/// Resources of a campaign in guests.
pub struct GuestBackend {
    campaign: Campaign,
    parts: GuestConfig,
    guest: Arc<Guest>,
    program: PathBuf,
    place: CampaignDir,
    /// A user's device that replaces the images.
    device: Option<Mutex<ExclusiveDevice>>,
    /// Source archives, by name, that commands unpack.
    archives: Vec<(String, PathBuf)>,
    /// Memory of the programs and archives of each suite with commands.
    program_memory: BTreeMap<String, Bytes>,
    /// Snapshots from which cells in virtual time start.
    snapshots: Arc<SnapshotPool>,
    saves: bool,
    stop: Arc<AtomicBool>,
    cache: Option<CellCache>,
    sampling: Option<Sampling>,
    only_its_own: bool,
}

/// Resources of one cell.
struct CellGuest {
    volume: Box<Volume>,
    /// Source of the files that the cell copies.
    source: Option<model::wire::SourceMount>,
    /// Ageing parameters, if the contender is aged.
    age: Option<AgeingParams>,
    executor: GuestExecutor,
    /// Keeps other processes from using a user's device while the guest has it.
    _claim: Option<File>,
    /// Directory of the guest's files, removed on drop.
    _directory: CellDir,
}

/// Checks that the directory has enough space for the images. Changes nothing.
pub fn inspect_place(campaign: &Campaign, directory: &Path) -> anyhow::Result<()> {
    let source = u64::from(campaign.source.is_some());
    let images = campaign.machines().map(|machine| match machine.disk {
        GuestDisk::Image { .. } => u64::from(machine.disks) + source,
        GuestDisk::Device { .. } => source,
        GuestDisk::Model { .. } => 0,
    });
    match images.max().unwrap_or(0) {
        0 => Ok(()),
        count => {
            let size = Bytes(campaign.size.0.saturating_mul(count));
            Ok(Image::check_free_space(directory, size)?)
        }
    }
}

/// Opens the store of snapshots in the user's cache. Without it, each campaign boots a guest.
fn snapshot_store() -> Option<SnapshotStore> {
    SnapshotStore::open(&guest::cache_directory().ok()?.join("snapshots")).ok()
}

impl GuestBackend {
    /// Prepares the resources of all cells and locks the campaign for this process.
    pub fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        guest: Arc<Guest>,
        device: Option<ExclusiveDevice>,
        stop: Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let parts = parts(campaign)?.clone();
        require_same(&parts, &guest)?;
        let archives = archives::campaign_archives(campaign, &stop, &mut |_| {})?;
        Ok(Self {
            program_memory: program_memory(campaign, &guest, &archives)?,
            device: device.map(Mutex::new),
            campaign: campaign.clone(),
            parts,
            guest,
            program: std::env::current_exe().context("cannot find this program")?,
            place: CampaignDir::acquire(campaign, id)?,
            archives,
            snapshots: Arc::new(SnapshotPool::stored(snapshot_store())),
            saves: true,
            stop,
            cache: None,
            sampling: None,
            only_its_own: false,
        })
    }

    /// Sets whether a cell that ended for a cause outside its guest has no result.
    pub fn ignore_host_faults(&mut self, only: bool) {
        self.only_its_own = only;
    }

    /// Uses this cache for the results of cells.
    pub fn serve_from(&mut self, cache: Option<CellCache>) {
        self.cache = cache;
    }

    /// Sets the sampling of the processor during cells.
    pub fn sample(&mut self, sampling: Option<Sampling>) {
        self.sampling = sampling;
    }

    /// Sets whether cells start from a saved snapshot of a guest.
    pub fn save(&mut self, saves: bool) {
        self.saves = saves;
    }

    /// Returns the environment of the campaign. Describes the guest's machine in place of this one.
    pub fn environment(&self) -> Environment {
        let Self { parts, .. } = self;
        let setting = EnvironmentContext {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            device: self.storage(),
            disk: self.device().and_then(|device| device.identity().cloned()),
            attachment: attachment(&parts.disk),
            conditions: Vec::new(),
            clock: self.campaign.clock.name().to_owned(),
        };
        let mut environment = storage::collect(setting, std::iter::empty());
        environment.kernel = format!("Linux {} in a guest", parts.kernel);
        environment.cpus = parts.processors;
        environment.memory = parts.memory;
        environment.cpu = match self.campaign.clock {
            Clock::Virtual => format!(
                "a model (QEMU's {}), {}",
                parts.cpu,
                match parts.instruction() {
                    1 => "an instruction a nanosecond".to_owned(),
                    time => format!("an instruction {time} ns"),
                }
            ),
            Clock::Real => {
                let accelerator = parts.accelerator.name();
                format!("{} as QEMU's {} ({accelerator})", environment.cpu, parts.cpu)
            }
        };
        if self.campaign.clock == Clock::Virtual {
            // The values of this machine do not affect results.
            environment.caches.clear();
            environment.memory_goes_back = false;
            environment.conditions.clear();
        }
        let on = match self.campaign.clock {
            Clock::Virtual => "filled in each guest".to_owned(),
            Clock::Real => {
                format!("filled in each guest, {}", describe_storage(&self.campaign.work_dir))
            }
        };
        let source = self.campaign.source.as_ref();
        let source = source.map(|source| source::condition(source, &on));
        environment.conditions.extend(source);
        let version = [guest::QEMU, "--version"].map(str::to_owned);
        environment.tools.extend(storage::tool_version(&version));
        environment
    }

    fn device(&self) -> Option<MutexGuard<'_, ExclusiveDevice>> {
        let device = self.device.as_ref()?;
        Some(device.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the directory of the archives inside the guest, if the campaign has archives.
    fn archives_inside(&self) -> Option<PathBuf> {
        let inside = Path::new("/").join(guest::ARCHIVES_DIR);
        (!self.archives.is_empty()).then_some(inside)
    }

    fn storage(&self) -> String {
        let size = self.campaign.size;
        let several = |one: &str| match self.parts.disks {
            1 => one.to_owned(),
            count => format!("{count} {one}s"),
        };
        match (&self.parts.disk, self.device()) {
            (GuestDisk::Model { model }, _) => {
                let disks = models(&self.campaign).unwrap_or_else(|| model.to_string());
                format!("{} of {size} after the model {disks}", several("disk"))
            }
            (_, Some(device)) => describe_storage(device.path()),
            (_, None) => {
                let below = describe_storage(&self.campaign.work_dir);
                format!("{} of {size}: {below}", several("image"))
            }
        }
    }

    /// Runs one cell in its own guest. Can be called from any thread.
    pub fn execute(
        &self,
        cell: &Cell,
        test: &Test,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        run_cell_on(
            || self.of_cell(cell, test),
            test,
            |cell_guest| {
                let job = CellJob {
                    version: model::wire::VERSION,
                    // The cell number affects neither the work nor its duration.
                    cell: CellId(0),
                    target: WorkTarget::Volume(cell_guest.volume),
                    source: cell_guest.source,
                    archives: self.archives_inside(),
                    memory_limit: None,
                    test: test.clone(),
                    age: cell_guest.age,
                    aged: None,
                    seed: cell.seed,
                    stacks_after: None,
                    sampling: self.sampling.clone(),
                    rank: None,
                };
                let mut executor = CachedExecutor::new(
                    cell_guest.executor,
                    self.cache.clone(),
                    Some(self.campaign.seed),
                )
                .ignore_host_faults(self.only_its_own);
                let outcome = executor.execute(&job, observe);
                if let Some(mut device) = self.device() {
                    device.record_write();
                }
                outcome
            },
        )
    }

    /// Takes the pending warning, if any.
    pub fn take_warning(&self) -> Option<String> {
        let why = self.snapshots.take_warning();
        let booting = why.map(|why| {
            format!("each guest boots, which takes longer and changes no result: {why}")
        });
        booting.or_else(|| self.cache.as_ref()?.take_warning())
    }

    /// Prepares the resources of a cell. An error here is a result of the cell.
    fn of_cell(&self, cell: &Cell, test: &Test) -> anyhow::Result<CellGuest> {
        let mut contenders = self.campaign.contenders.iter();
        let contender = contenders
            .find(|c| c.name == cell.contender)
            .with_context(|| format!("no contender `{}`", cell.contender))?;
        let device = self.device().map(|device| device.size());
        if let Some(misfit) = compatibility::misfit(&self.campaign, contender, test, device)? {
            return Err(misfit.into());
        }
        let parts = self.campaign.guest_for(contender, test);
        let parts = parts.context("the campaign does not say what machine its guests are")?;
        let directory = self.place.of_cell(cell.id)?;
        let supply = self.supply(test);
        let count = parts.disks;
        let all = count + u32::from(supply.is_some());
        let size = disk_size(contender, simulated_size(&parts, self.campaign.size), count, device);
        let memory_disk = parts.model().map(|model| MemoryDisk {
            model: model.clone(),
            size,
            count: all,
            records_writes: test.records_writes(),
        });
        let disk = match memory_disk {
            Some(_) => DiskLocation::GuestMemory,
            None => DiskLocation::HostFile,
        };
        let mut volume = guest_volume(contender, &disk.devices(&self.guest, count), size);
        if !test.records_writes() {
            // The job is an input of a cell in virtual time.
            volume.commands.repair.clear();
            volume.commands.repair_clean.clear();
            volume.commands.replays_at_mount = false;
        }
        let (modules, programs) = needs(&volume, contender, supply);
        let source = supply.map(|supply| {
            let disks = disk.devices(&self.guest, all);
            source_in_guest(
                supply,
                disks.last().map_or("", String::as_str),
                size,
                &self.campaign,
                test,
            )
        });
        let executor = GuestExecutor {
            guest: Arc::clone(&self.guest),
            machine: QemuMachine {
                memory: self.memory_with_programs(parts.memory, test),
                disk_memory: memory_disk.as_ref().map_or(Bytes(0), MemoryDisk::extra_memory),
                ..machine(&parts, self.campaign.clock)
            },
            program: self.program.clone(),
            modules,
            programs,
            commands: commands(&self.campaign, test),
            archives: self.archives.clone(),
            disks: self.disks(&parts, directory.path(), size, supply.is_some())?,
            memory_disk,
            directory: directory.path().to_owned(),
            stall_timeout: self.campaign.stall_timeout,
            step_limit: self.campaign.step_limit(),
            phase_limit: self.campaign.budget_phase_limit(),
            snapshots: self.saves.then(|| Arc::clone(&self.snapshots)),
            stop: Arc::clone(&self.stop),
        };
        Ok(CellGuest {
            volume: Box::new(volume),
            source,
            age: contender
                .own
                .age
                .as_ref()
                .map(|age| AgeingParams::for_round(age, self.campaign.seed, cell.round)),
            executor,
            _claim: self.claim()?,
            _directory: directory,
        })
    }

    /// Returns the memory of a guest with the programs of its commands: they are in its memory, and a
    /// test may use as much as it has without them.
    fn memory_with_programs(&self, memory: Bytes, test: &Test) -> Bytes {
        let Some(files) = self.program_memory.get(&test.suite) else { return memory };
        // Linux lets the root of a guest take half of the memory.
        Bytes((memory.0 + files.0).max(2 * files.0 + SPARE_ROOT.0))
    }

    /// Claims the user's device, if any. The emulator opens it under this claim.
    fn claim(&self) -> Result<Option<File>, DeviceRefusal> {
        self.device().map(|mut device| device.claim()).transpose()
    }

    /// Creates the backing storage of the guest's disks on this machine. Empty if the disks are in
    /// guest memory.
    fn disks(
        &self,
        parts: &GuestConfig,
        directory: &Path,
        size: Bytes,
        has_source: bool,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let image = |number: u32| {
            let path = directory.join(format!("disk-{number}"));
            let file = File::create_new(&path)?;
            file.set_len(size.0)?;
            Ok::<_, anyhow::Error>(path)
        };
        match (&parts.disk, self.device()) {
            (GuestDisk::Model { .. }, _) => Ok(Vec::new()),
            (_, Some(device)) => {
                let second = has_source.then(|| image(1)).transpose()?;
                Ok([device.path().to_owned()].into_iter().chain(second).collect())
            }
            (_, None) => (0..parts.disks + u32::from(has_source)).map(image).collect(),
        }
    }

    /// Returns the filesystem on the source disk of a test, if it copies from one.
    fn supply(&self, test: &Test) -> Option<&Contender> {
        match &self.campaign.source {
            Some(CopySource::Image { contender, .. }) if source::needs_source(test) => {
                Some(contender)
            }
            _ => None,
        }
    }

    /// Removes all files created for the campaign.
    pub fn clear(&self) -> anyhow::Result<()> {
        Ok(self.place.remove()?)
    }
}

/// Returns the machine that each cell of a guest campaign gets.
fn parts(campaign: &Campaign) -> anyhow::Result<&GuestConfig> {
    debug_assert_eq!(campaign.backend, BackendKind::Vm);
    let parts = campaign.guest.as_ref();
    parts.context("the campaign does not say what machine its guests are")
}

/// Returns an error unless the guest is the one that the campaign started with.
fn require_same(parts: &GuestConfig, guest: &Guest) -> Result<(), EnvironmentError> {
    let made = guest.name();
    if made == parts.guest_name {
        return Ok(());
    }
    Err(EnvironmentError(format!(
        "cannot use another guest: the campaign ran in {} (Linux {}) and the guest is now {made} (Linux {}), so results are not comparable; repeat its options (--with, --guest-kernel, --kernel) or start a new campaign",
        parts.guest_name,
        parts.kernel,
        guest.release()
    )))
}

/// Mountpoint of the source disk in a guest.
const SOURCE_MOUNTPOINT: &str = "/source";

/// Returns the modules and programs of a cell. Those of the source filesystem come first.
fn needs(
    volume: &Volume,
    contender: &Contender,
    source: Option<&Contender>,
) -> (Vec<String>, Vec<String>) {
    let own = &contender.filesystem.requires;
    let (mut modules, mut programs) = (modules(volume, own), own.programs.clone());
    if let Some(source) = source {
        let requires = &source.filesystem.requires;
        let add = |all: &mut Vec<String>, more: &[String]| {
            let missing = more.iter().filter(|one| !all.contains(one)).cloned();
            *all = missing.collect::<Vec<_>>().into_iter().chain(all.drain(..)).collect();
        };
        add(&mut modules, &requires.modules);
        add(&mut programs, &requires.programs);
    }
    (modules, programs)
}

/// Returns the programs that the suite of a test needs.
fn commands(campaign: &Campaign, test: &Test) -> ProgramRequirements {
    let suite = campaign.suites.iter().find(|suite| suite.name == test.suite);
    suite.map_or_else(ProgramRequirements::default, |suite| suite.requires.clone())
}

/// Returns the memory of the programs and archives of each suite with commands.
fn program_memory(
    campaign: &Campaign,
    guest: &Guest,
    archives: &[(String, PathBuf)],
) -> Result<BTreeMap<String, Bytes>, GuestError> {
    let sizes = archives.iter().filter_map(|(_, path)| fs::metadata(path).ok());
    let archives: u64 = sizes.map(|file| file.len()).sum();
    let suites = campaign.suites.iter().filter(|suite| !suite.requires.is_empty());
    suites
        .map(|suite| {
            let files = guest.command_memory(&suite.requires)?.0 + archives;
            Ok((suite.name.clone(), Bytes(files.next_multiple_of(1 << 20))))
        })
        .collect()
}

/// Returns the disk that a cell in a guest copies from. The agent fills the disk.
fn source_in_guest(
    contender: &Contender,
    device: &str,
    size: Bytes,
    campaign: &Campaign,
    test: &Test,
) -> model::wire::SourceMount {
    let place =
        Placeholders { devices: &[device], mountpoint: SOURCE_MOUNTPOINT, size, fsarena: "/init" };
    let volume = Volume {
        device: Some(device.into()),
        span: None,
        states: Vec::new(),
        size,
        mountpoint: SOURCE_MOUNTPOINT.into(),
        driver: contender.filesystem.driver,
        commands: config::expand_commands(contender, &place),
    };
    model::wire::SourceMount {
        place: SourceLocation::Generated(Box::new(GeneratedSource {
            volume,
            kind: contender.filesystem.name.clone(),
            seed: campaign.seed,
        })),
        prefix: Some(model::wire::source_prefix(test)),
        contents: None,
    }
}

/// Returns the modules that a volume needs in a guest.
fn modules(volume: &Volume, requires: &Requirements) -> Vec<String> {
    let stripe = matches!(volume.span, Some(MultiDevice::Stripe(_)));
    let stripe = stripe.then(|| guest::STRIPE_MODULE.to_owned());
    stripe.into_iter().chain(requires.modules.iter().cloned()).collect()
}

/// Returns the number of cells that run in parallel. Cells in real time would disturb each other,
/// so they run one at a time. In model time the number is `jobs`, or by default limited by
/// processors and guest memory.
pub fn parallel_cells(campaign: &Campaign, jobs: Option<u32>) -> usize {
    let Some(parts) = campaign.guest.as_ref().filter(|_| campaign.clock == Clock::Virtual) else {
        return 1;
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let memory = sys::memory::available();
    let fit = memory.map_or(processors, |memory| {
        let inside = |machine: &GuestConfig| {
            machine.model().map_or(0, |_| campaign.size.0 * u64::from(machine.disks))
        };
        let machines = campaign.machines().map(|machine| machine.memory.0 + inside(&machine));
        let largest = machines.fold(parts.memory.0.max(1), u64::max);
        usize::try_from(memory.0 / largest).unwrap_or(processors)
    });
    let chosen = jobs.map_or(processors.min(fit), |jobs| jobs as usize);
    chosen.max(1)
}

/// Returns the size of each disk of a contender. A device keeps its size. Other disks are a
/// multiple of 1 MiB, as required for disks in memory and stripes, and together do not exceed the
/// maximum of the filesystem.
pub fn disk_size(contender: &Contender, size: Bytes, count: u32, device: Option<Bytes>) -> Bytes {
    const WHOLE: u64 = 1 << 20;
    if let Some(size) = device {
        return size;
    }
    let largest = contender.filesystem.requires.largest;
    let share = largest.map(|largest| Bytes(largest.0 / u64::from(count.max(1))));
    let size = share.map_or(size, |share| share.min(size));
    Bytes(size.0 / WHOLE * WHOLE)
}

/// Returns the simulated disk of a cell's guest and its size. Returns `None` if its disk is not
/// simulated.
pub fn simulated_disk(
    campaign: &Campaign,
    contender: &Contender,
    test: &Test,
) -> Option<(DiskModel, Bytes)> {
    let machine = campaign.guest_for(contender, test)?;
    let model = machine.model()?.clone();
    let size = simulated_size(&machine, campaign.size);
    let size = disk_size(contender, size, machine.disks, None);
    Some((model, size))
}

/// Limits the size of a guest's disk to the capacity of the simulated model.
pub(crate) fn simulated_size(parts: &GuestConfig, size: Bytes) -> Bytes {
    let holds = parts.model().and_then(DiskModel::capacity);
    holds.map_or(size, |holds| holds.min(size))
}

/// Returns the machine configuration for QEMU.
fn machine(parts: &GuestConfig, clock: Clock) -> QemuMachine {
    let (cache, io_uring) = match parts.disk {
        GuestDisk::Model { .. } => (DiskCache::default(), false),
        GuestDisk::Image { cache } => (cache, false),
        GuestDisk::Device { cache } => (cache, true),
    };
    QemuMachine {
        memory: parts.memory,
        disk_memory: Bytes(0),
        shift: parts.shift,
        processors: parts.processors,
        clock,
        accelerator: parts.accelerator,
        cache,
        io_uring,
        ..QemuMachine::default()
    }
}

/// Returns the distinct disk models of a campaign, or `None` if no cell has one.
fn models(campaign: &Campaign) -> Option<String> {
    let disks = campaign.disks().into_iter();
    let models = disks.filter_map(|disk| match disk {
        GuestDisk::Model { model } => Some(model.to_string()),
        GuestDisk::Image { .. } | GuestDisk::Device { .. } => None,
    });
    let models: Vec<String> = models.collect();
    (!models.is_empty()).then(|| models.join(", or "))
}

fn attachment(disk: &GuestDisk) -> String {
    match disk {
        GuestDisk::Model { .. } => "in the guest's own memory".to_owned(),
        GuestDisk::Image { cache } => format!("virtio, cache {}", cache.name()),
        GuestDisk::Device { cache } => format!("virtio through io_uring, cache {}", cache.name()),
    }
}

#[cfg(test)]
mod tests {
    use config::Catalog;

    use super::*;
    use crate::host::fixture;

    fn contender(name: &str) -> Contender {
        Catalog::builtin().unwrap().contender(name).unwrap()
    }

    fn campaign(contenders: &[&str]) -> Campaign {
        let catalog = Catalog::builtin().unwrap();
        Campaign {
            backend: BackendKind::Vm,
            skipped: Vec::new(),
            measured_by: None,
            clock: Clock::Virtual,
            contenders: contenders.iter().map(|name| contender(name)).collect(),
            suites: vec![catalog.suite("tree", model::SizeProfile::Smoke).unwrap().clone()],
            size: Bytes::mib(384),
            guest: Some(campaign::run::in_memory::guest(catalog.disk("nvme-consumer").unwrap())),
            ..fixture::campaign()
        }
    }

    #[test]
    fn size_of_several_disks_respects_the_maximum_of_the_filesystem() {
        let each = |name, size, count| disk_size(&contender(name), Bytes::mib(size), count, None);
        assert_eq!(each("xfs", 384, 2), Bytes::mib(384));
        assert_eq!(each("fat12", 384, 1), Bytes::mib(255));
        assert_eq!(each("fat12", 384, 2), Bytes::mib(127));
        assert_eq!(each("fat12", 64, 3), Bytes::mib(64));
        let size = Bytes(100_000_000);
        assert_eq!(disk_size(&contender("xfs"), size, 2, None), Bytes::mib(95));
    }

    #[test]
    fn several_disks_require_the_stripe_module() {
        let modules = |name, count| {
            let contender = contender(name);
            let volume = guest_volume(&contender, &guest::disks(count), Bytes::mib(64));
            modules(&volume, &contender.filesystem.requires)
        };
        assert_eq!(modules("minix", 1), ["minix"]);
        assert_eq!(modules("minix", 2), ["raid0", "minix"]);
        assert_eq!(modules("zfs", 2), modules("zfs", 1));
    }

    #[test]
    fn qemu_gets_the_cache_mode_of_the_disks() {
        let with = |disk| {
            let mut parts = campaign(&[]).guest.unwrap();
            parts.disk = disk;
            let machine = machine(&parts, Clock::Real);
            (machine.cache, machine.io_uring)
        };
        let cache = DiskCache::None;
        assert_eq!(with(GuestDisk::Device { cache }), (cache, true));
        assert_eq!(with(GuestDisk::Image { cache }), (cache, false));
    }
}
