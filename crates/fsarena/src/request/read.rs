//! From the command line and a campaign file to one resolved campaign, checked before anything runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalog::Catalog;
use guest::Guest;
use machine::Reach;
use model::{Backend, Campaign, Clock, Contender, DiskModel, GuestMachine, Nanos, Source, Suite};
use sys::clock;

use crate::arguments::cli::Globals;
use crate::arguments::run_args::RunArgs;
use crate::commands::guest as guest_command;
use crate::output::progress::Progress;
use crate::paths;
use crate::request::ages;
use crate::request::asked::Asked;
use crate::request::contender_groups;
use crate::request::guest_request::{self, Load, Wishes};
use crate::request::peers;
use crate::request::refusals::{
    refuse_doubles, refuse_too_little, refuse_too_many_cells, refuse_what_ends_the_machine,
    refuse_what_only_guests_grant,
};
use crate::request::rounds::Rounds;
use crate::request::several_disks;
use crate::request::source_choice;
use crate::request::test_machine::TestMachine;
use crate::traces;

/// Time without progress after which a cell is given up, unless the user says otherwise.
const STALL_TIMEOUT: Nanos = Nanos::from_secs(120);
/// The seed in virtual time, where nobody gives one.
const VIRTUAL_SEED: u64 = 1;

/// What the user asks for.
pub struct Request {
    /// The campaign, resolved.
    pub campaign: Campaign,
    /// The guest that its cells run in, where they do.
    pub guest: Option<Arc<Guest>>,
}

/// Puts together what the user asks for. Where a guest has to be made for it, `stop` ends that.
///
/// # Errors
/// When something asked for cannot be, or would not mean what its user expects.
pub fn read(
    args: &RunArgs,
    globals: &Globals,
    catalog: &Catalog,
    reach: &dyn Reach,
    progress: &Progress,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Request> {
    let asked = Asked::of(args, catalog, stop)?;
    let wishes = Wishes::of(args, &asked.file, asked.memory, catalog)?;
    refuse_what_only_guests_grant(&wishes, asked.backend)?;
    // Before the machine is looked at, which may have much to say.
    let suites = traces::known(asked.suites(catalog)?, globals, args.dry_run)?;
    let suites = several_disks::over_each_number(suites, wishes.numbers_of_disks(), asked.backend)?;
    let models = wishes.models(catalog)?;
    let reader = Reader {
        work_dir: work_dir(args, globals)?,
        asked,
        catalog,
        reach,
        progress,
        stop,
    };
    reader.request(wishes, suites, &models)
}

/// Where images are made.
fn work_dir(args: &RunArgs, globals: &Globals) -> anyhow::Result<PathBuf> {
    match &args.storage.work_dir {
        Some(directory) => paths::absolute("--work-dir", directory),
        None => paths::work_directory(args.host.as_deref(), globals),
    }
}

/// What is asked for, and where it is looked up.
struct Reader<'a> {
    asked: Asked<'a>,
    work_dir: PathBuf,
    catalog: &'a Catalog,
    reach: &'a dyn Reach,
    progress: &'a Progress,
    stop: &'a Arc<AtomicBool>,
}

impl Reader<'_> {
    fn request(
        self,
        mut wishes: Wishes,
        mut suites: Vec<Suite>,
        models: &[DiskModel],
    ) -> anyhow::Result<Request> {
        let asked = &self.asked;
        let here = self.test_machine(&mut wishes, &suites)?;
        peers::refuse_missing(&suites, asked.backend, &here.machine)?;
        let contenders = self.contenders(&here, &suites, models)?;
        let (clock, why, machine) = self.guest_machine(&wishes, &here, &contenders, &suites)?;
        let groups =
            contender_groups::groups(&asked.args.groups, asked.file.groups.clone(), &contenders)?;
        self.refuse_or_shrink(&wishes, &contenders)?;
        let Rounds {
            count: rounds,
            until,
            budget,
        } = asked.rounds()?;
        self.require_utf8_device()?;
        let max_written = asked.max_written(machine.as_ref())?;
        let source = self.source(&here, &contenders, &mut suites)?;
        if asked.keep_aged() {
            ages::refuse_to_keep(&contenders, asked.backend, asked.device().is_some())?;
        }
        let args = asked.args;
        let campaign = Campaign {
            name: asked.name(),
            contenders,
            groups,
            suites,
            profile: asked.profile,
            rounds,
            until,
            budget,
            seed: args.seed.or(asked.file.seed).unwrap_or_else(|| seed(clock)),
            size: asked.size,
            memory: machine
                .as_ref()
                .map_or(asked.memory, |machine| Some(machine.memory)),
            backend: asked.backend,
            measured_by: None,
            clock,
            guest: machine,
            readahead: asked.readahead(&here)?,
            host: args.host.clone(),
            // They are brought where the campaign really begins.
            archives: Vec::new(),
            max_written,
            keep_aged: asked.keep_aged(),
            source,
            device: asked.device().map(Path::to_owned),
            work_dir: self.work_dir.clone(),
            stall_timeout: self.stall_timeout(),
            phase_limit: args
                .phase_limit
                .unwrap_or(asked.profile.phase_limit(asked.backend)),
        };
        self.say(&guest_request::announcement(&campaign, &why));
        guest_request::refuse_impossible_disks(&campaign)?;
        self.say(guest_request::smaller_models(&campaign).as_slice());
        several_disks::refuse_where_there_is_one(&campaign)?;
        ages::refuse_to_keep_on_several(&campaign)?;
        refuse_too_many_cells(&campaign)?;
        Ok(Request {
            campaign,
            guest: here.guest,
        })
    }

    fn say(&self, texts: &[String]) {
        texts.iter().for_each(|text| self.progress.note(text));
    }

    fn stall_timeout(&self) -> Nanos {
        self.asked.args.stall_timeout.unwrap_or(STALL_TIMEOUT)
    }

    /// The machine on whose kernel cells run; a guest is made, where there is none of that kind yet.
    fn test_machine(&self, wishes: &mut Wishes, suites: &[Suite]) -> anyhow::Result<TestMachine> {
        let asked = &self.asked;
        match asked.backend {
            Backend::Vm => {
                guest_request::together(asked.size, wishes.all_disks())?;
                let with = &mut wishes.build.with;
                with.extend(guest_command::brought(self.catalog, suites));
                // Who names one again has it once.
                let mut seen = BTreeSet::new();
                with.retain(|name| seen.insert(name.clone()));
                let dry_run = asked.args.dry_run;
                TestMachine::of_guests(wishes, dry_run, self.catalog, self.progress, self.stop)
            }
            // No option and no campaign file names `elsewhere`.
            Backend::Loop | Backend::Dir | Backend::Elsewhere => TestMachine::of_machine(
                self.reach,
                self.catalog,
                asked.backend,
                asked.device(),
                &asked.directories,
                self.stop,
            ),
        }
    }

    /// Who competes: on each model of a disk, fresh and at each age.
    fn contenders(
        &self,
        here: &TestMachine,
        suites: &[Suite],
        models: &[DiskModel],
    ) -> anyhow::Result<Vec<Contender>> {
        let Asked {
            args,
            file,
            backend,
            ..
        } = &self.asked;
        let contenders = self
            .asked
            .contenders(here, suites, self.catalog, self.progress)?;
        let profile = args.age.as_deref();
        let ages = ages::ages(
            profile,
            &args.fill,
            file.ages.clone(),
            *backend,
            self.catalog,
        )?;
        several_disks::refuse_unused(&contenders, models)?;
        let contenders = several_disks::on_each_model(contenders, models);
        let contenders = ages::beside(contenders, &ages, self.progress);
        refuse_doubles("contender", contenders.iter().map(|c| &c.name))?;
        Ok(contenders)
    }

    /// The clock, why it is that, and the machine that guests are, where there are any.
    fn guest_machine(
        &self,
        wishes: &Wishes,
        here: &TestMachine,
        contenders: &[Contender],
        suites: &[Suite],
    ) -> anyhow::Result<(Clock, String, Option<GuestMachine>)> {
        let Some(guest) = &here.guest else {
            return Ok((Clock::Real, String::new(), None));
        };
        let load = Load {
            size: self.asked.size,
            contenders,
            suites,
        };
        let (clock, why, machine) =
            guest_request::machine(wishes, load, guest, self.stop, self.catalog)?;
        Ok((clock, why, Some(machine)))
    }

    /// Refuses contenders that would end the machine or die of what they get; says who gets a smaller disk.
    fn refuse_or_shrink(&self, wishes: &Wishes, contenders: &[Contender]) -> anyhow::Result<()> {
        let Asked {
            backend,
            size,
            memory,
            ..
        } = self.asked;
        if backend == Backend::Loop {
            contenders
                .iter()
                .try_for_each(refuse_what_ends_the_machine)?;
        }
        if backend == Backend::Vm && !wishes.has_device() {
            let smaller = guest_request::smaller_disks(contenders, size, wishes.disks());
            self.say(smaller.as_slice());
        }
        let own = contenders.iter().filter_map(|c| c.own.memory);
        refuse_too_little(own.chain(memory).min(), self.stall_timeout())?;
        Ok(())
    }

    /// What a device is called is written down.
    fn require_utf8_device(&self) -> anyhow::Result<()> {
        let is_far = self.asked.args.host.is_some();
        let here = self.asked.device().filter(|_| !is_far);
        match here.and_then(|path| path.canonicalize().ok()) {
            Some(found) => Ok(paths::require_utf8("--device", &found).map(drop)?),
            None => Ok(()),
        }
    }

    /// The disk that is copied from, looked through; tests that copy in copy what is there.
    fn source(
        &self,
        here: &TestMachine,
        contenders: &[Contender],
        suites: &mut [Suite],
    ) -> anyhow::Result<Option<Source>> {
        let Some(wanted) = self.asked.source() else {
            return Ok(None);
        };
        let destination = source_choice::Destination {
            backend: self.asked.backend,
            size: self.asked.size,
            contenders,
            device: self.asked.device(),
            work_dir: &self.work_dir,
            machine: &here.machine,
            survey: &|survey| machine::survey(self.reach, survey, self.stop),
        };
        source_choice::choose(wanted, suites, &destination, self.catalog).map(Some)
    }
}

/// The seed where nobody gives one: in virtual time the same each time, so that the same command gives the same
/// results, which are there already.
fn seed(time: Clock) -> u64 {
    match time {
        Clock::Virtual => VIRTUAL_SEED,
        Clock::Real => clock::calendar().0,
    }
}
