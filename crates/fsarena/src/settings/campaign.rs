//! Resolves the command line and a campaign file into one campaign, and checks it before cells run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::guest::Guest;
use backend::AgentTransport;
use config::Catalog;
use model::{
    BackendKind, Campaign, Clock, Contender, CopySource, DiskModel, GuestConfig, Nanos,
    SkippedSuite, Suite,
};
use sys::io::clock;

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::commands::guest as guest_command;
use crate::output::exit::UsageError;
use crate::output::progress::ProgressDisplay;
use crate::paths;
use crate::settings::ages;
use crate::settings::disk_sweep;
use crate::settings::external_programs;
use crate::settings::guest::{self, GuestLoad, GuestSettings};
use crate::settings::resolve::ResolvedSettings;
use crate::settings::rounds::RoundCounts;
use crate::settings::source_choice;
use crate::settings::test_machine::TestMachine;
use crate::settings::together;
use crate::settings::validate::{
    reject_duplicates, reject_panic_options, reject_small_limits, reject_too_many_cells,
    reject_unmatched_only,
};
use crate::traces;

/// Default time without progress after which a cell is aborted.
const STALL_TIMEOUT: Nanos = Nanos::from_secs(120);
/// Default seed in virtual time.
const VIRTUAL_SEED: u64 = 1;

/// A resolved request of the user.
pub struct ResolvedCampaign {
    /// Resolved campaign.
    pub campaign: Campaign,
    /// Guest in which cells run, if any.
    pub guest: Option<Arc<Guest>>,
}

/// Resolves the request of the user. If a guest must be built, `stop` interrupts the build.
///
/// # Errors
/// Returns an error if a setting is impossible, or would not have the effect that the user expects.
pub fn read(
    args: &RunArgs,
    globals: &GlobalArgs,
    catalog: &Catalog,
    reach: &dyn AgentTransport,
    progress: &ProgressDisplay,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<ResolvedCampaign> {
    let asked = ResolvedSettings::resolve(args, catalog, stop)?;
    let wishes = GuestSettings::of(args, &asked.settings, catalog)?;
    // Check this before the machine is examined, which may print many notes.
    let mut suites = traces::require_known(asked.suites(catalog)?, globals, args.dry_run)?;
    asked.set_data(&mut suites)?;
    if let (Some(study), Some(data)) = (&args.study, asked.settings.data) {
        progress.note(&format!(
            "study {study} did not write {data} data: its claims are not those of this run"
        ));
    }
    together::share_work(&mut suites, args)?;
    let suites = disk_sweep::expand_disk_counts(suites, wishes.disk_counts(), asked.backend)?;
    reject_unmatched_only(&args.compared, &suites)?;
    // Check the names before a guest is built.
    for entry in &asked.settings.contenders {
        entry.contender(catalog)?;
    }
    let models = wishes.models(catalog)?;
    let reader = SettingsReader {
        work_dir: paths::given_work_directory(
            asked.settings.storage.work_dir.as_deref(),
            args.host.as_deref(),
            globals,
        )?,
        database: backend::database_digest(&paths::database(globals)?),
        asked,
        catalog,
        reach,
        progress,
        stop,
    };
    reader.request(wishes, suites, &models)
}

/// Settings and the places to resolve them.
struct SettingsReader<'a> {
    asked: ResolvedSettings<'a>,
    work_dir: PathBuf,
    database: u64,
    catalog: &'a Catalog,
    reach: &'a dyn AgentTransport,
    progress: &'a ProgressDisplay,
    stop: &'a Arc<AtomicBool>,
}

impl SettingsReader<'_> {
    fn request(
        self,
        mut wishes: GuestSettings,
        mut suites: Vec<Suite>,
        models: &[DiskModel],
    ) -> anyhow::Result<ResolvedCampaign> {
        let asked = &self.asked;
        let here = self.test_machine(&mut wishes, &suites)?;
        let needs_all = asked.args.needs_every_suite || asked.args.study.is_some();
        let skipped = external_programs::skip_without_programs(
            &mut suites,
            needs_all,
            asked.backend,
            &here.machine,
        )?;
        for SkippedSuite { suite, reason } in &skipped {
            self.progress.note(&format!("suite {suite} is skipped: {reason}"));
        }
        let contenders = self.contenders(&here, &suites, models)?;
        let (clock, why, machine) = self.guest_machine(&wishes, &here, &contenders, &suites)?;
        let groups = asked.groups(&contenders)?;
        self.refuse_or_shrink(&wishes, &contenders)?;
        let RoundCounts { count: rounds, until, budget } = asked.rounds()?;
        self.require_utf8_device()?;
        let max_written = asked.max_written(machine.as_ref())?;
        let source = self.source(&here, &contenders, &mut suites)?;
        let settings = &asked.settings;
        if settings.keep_aged {
            ages::reject_keep_aged(&contenders, asked.backend, asked.device().is_some())?;
        }
        let args = asked.args;
        let campaign = Campaign {
            name: asked.name(),
            contenders,
            groups,
            suites,
            skipped,
            profile: asked.profile,
            rounds,
            stopping_rule: until,
            budget,
            seed: settings.seed.unwrap_or_else(|| seed(clock)),
            size: asked.size,
            memory: machine.as_ref().map_or(settings.memory, |machine| Some(machine.memory)),
            backend: asked.backend,
            measured_by: None,
            clock,
            guest: machine,
            readahead: asked.readahead(&here)?,
            host: args.host.clone(),
            together: args.ranks.clone(),
            // Archives are downloaded when the campaign starts.
            archives: Vec::new(),
            max_written,
            keep_aged: settings.keep_aged,
            source,
            device: asked.device().map(Path::to_owned),
            work_dir: self.work_dir.clone(),
            database: Some(self.database),
            stall_timeout: self.stall_timeout(),
            phase_limit: args.phase_limit.unwrap_or_else(|| {
                let profile = asked.profile;
                budget.filter(|_| clock == Clock::Real).map_or_else(
                    || profile.phase_limit(asked.backend),
                    |budget| profile.phase_limit_within(asked.backend, budget),
                )
            }),
        };
        self.say(&guest::announcement(&campaign, &why));
        guest::reject_unsupported_disks(&campaign)?;
        self.say(guest::smaller_models(&campaign).as_slice());
        disk_sweep::reject_multi_disk_outside_guests(&campaign)?;
        ages::reject_keep_aged_on_images(&campaign)?;
        reject_too_many_cells(&campaign)?;
        import::check_plan(&campaign)
            .map_err(|why| UsageError(format!("cannot report on this campaign: {why}")))?;
        Ok(ResolvedCampaign { campaign, guest: here.guest })
    }

    fn say(&self, texts: &[String]) {
        texts.iter().for_each(|text| self.progress.note(text));
    }

    fn stall_timeout(&self) -> Nanos {
        self.asked.args.stall_timeout.unwrap_or(STALL_TIMEOUT)
    }

    /// Returns the machine on whose kernel cells run. Builds a guest, if none of that kind exists.
    fn test_machine(
        &self,
        wishes: &mut GuestSettings,
        suites: &[Suite],
    ) -> anyhow::Result<TestMachine> {
        let asked = &self.asked;
        match asked.backend {
            BackendKind::Vm => {
                guest::total_disk_size(asked.size, wishes.total_disks())?;
                let with = &mut wishes.build.with;
                with.extend(guest_command::required_packages(self.catalog, suites));
                let named = asked.settings.contenders.iter();
                let named = named.map(|entry| Ok(entry.contender(self.catalog)?.filesystem));
                let named = named.collect::<anyhow::Result<Vec<_>>>()?;
                with.extend(guest_command::required_layers(&named));
                let note = guest_command::choose_kernel(
                    &mut wishes.build,
                    &named,
                    self.catalog.kernels(),
                    storage::debian_release(),
                )?;
                self.say(note.as_slice());
                // Remove duplicate names.
                let with = &mut wishes.build.with;
                let mut seen = BTreeSet::new();
                with.retain(|name| seen.insert(name.clone()));
                let dry_run = asked.args.dry_run;
                TestMachine::prepare_guest(wishes, dry_run, self.catalog, self.progress, self.stop)
            }
            // Neither an option nor a campaign file can name `elsewhere`.
            BackendKind::Loop | BackendKind::Dir | BackendKind::Imported => {
                TestMachine::inspect_host(
                    self.reach,
                    self.catalog,
                    asked.backend,
                    asked.device(),
                    &asked.settings.directories,
                    self.stop,
                )
            }
        }
    }

    /// Returns the contenders: on each disk model, fresh and at each age.
    fn contenders(
        &self,
        here: &TestMachine,
        suites: &[Suite],
        models: &[DiskModel],
    ) -> anyhow::Result<Vec<Contender>> {
        let ResolvedSettings { settings, backend, .. } = &self.asked;
        let contenders = self.asked.contenders(here, suites, self.catalog, self.progress)?;
        let (age, fill) = (settings.age.as_ref(), &settings.fill);
        let ages = ages::ages(age, fill, *backend, self.catalog)?;
        disk_sweep::reject_unused_models(&contenders, models)?;
        let contenders = disk_sweep::expand_disk_models(contenders, models);
        let contenders = ages::expand_ages(contenders, &ages, self.progress);
        reject_duplicates("contender", contenders.iter().map(|c| &c.name))?;
        Ok(contenders)
    }

    /// Returns the clock, the reason for it, and the machine of the guests, if any.
    fn guest_machine(
        &self,
        wishes: &GuestSettings,
        here: &TestMachine,
        contenders: &[Contender],
        suites: &[Suite],
    ) -> anyhow::Result<(Clock, String, Option<GuestConfig>)> {
        let Some(guest) = &here.guest else {
            return Ok((Clock::Real, String::new(), None));
        };
        let load = GuestLoad { size: self.asked.size, contenders, suites };
        let (clock, why, machine) = guest::machine(wishes, load, guest, self.stop, self.catalog)?;
        Ok((clock, why, Some(machine)))
    }

    /// Rejects contenders that would stop the machine or fail for lack of memory. Reports
    /// contenders with smaller disks.
    fn refuse_or_shrink(
        &self,
        wishes: &GuestSettings,
        contenders: &[Contender],
    ) -> anyhow::Result<()> {
        let ResolvedSettings { backend, size, .. } = self.asked;
        if backend == BackendKind::Loop {
            contenders.iter().try_for_each(reject_panic_options)?;
        }
        if backend == BackendKind::Vm && !wishes.has_device() {
            let smaller = guest::smaller_disks(contenders, size, wishes.disks());
            self.say(smaller.as_slice());
        }
        let own = contenders.iter().filter_map(|c| c.own.memory);
        reject_small_limits(own.chain(self.asked.settings.memory).min(), self.stall_timeout())?;
        Ok(())
    }

    /// Rejects a device whose resolved path is not UTF-8, because it is stored.
    fn require_utf8_device(&self) -> anyhow::Result<()> {
        let is_far = self.asked.args.host.is_some();
        let here = self.asked.device().filter(|_| !is_far);
        match here.and_then(|path| path.canonicalize().ok()) {
            Some(found) => Ok(paths::require_utf8("--device", &found).map(drop)?),
            None => Ok(()),
        }
    }

    /// Returns the source disk with a survey of its contents. Tests that copy in copy these
    /// contents.
    fn source(
        &self,
        here: &TestMachine,
        contenders: &[Contender],
        suites: &mut [Suite],
    ) -> anyhow::Result<Option<CopySource>> {
        let Some(wanted) = self.asked.settings.source.as_deref() else {
            return Ok(None);
        };
        let destination = source_choice::CopyDestination {
            backend: self.asked.backend,
            size: self.asked.size,
            contenders,
            device: self.asked.device(),
            work_dir: &self.work_dir,
            machine: &here.machine,
            survey: &|survey| backend::scan_source(self.reach, survey, self.stop),
        };
        source_choice::choose(wanted, suites, &destination, self.catalog).map(Some)
    }
}

/// Returns the default seed. It is constant in virtual time, so that an equal command finds its
/// results in the cache.
fn seed(time: Clock) -> u64 {
    match time {
        Clock::Virtual => VIRTUAL_SEED,
        Clock::Real => clock::realtime().0,
    }
}
