//! Runs each cell in its own guest, which a fault may crash.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guest::{
    Clock, ConsoleOutput, Guest, InitramfsContents, MemoryDisk, QemuMachine, SharedMemoryFile,
    StartFrom,
};
use model::wire::{AbortReason, CellEvent, CellJob};
use model::{
    Bytes, CellId, CellResult, Failure, KernelEvent, Nanos, ProgramRequirements, Status, Test,
};
use sys::fs::memfd;
use sys::io::{bounded, clock};
use sys::process;

use crate::cache::cache_executor::Cacheable;
use crate::cache::cell_key::{self, CellKey};
use crate::cell::agent::{AgentEnd, AgentProcess, MAX_CONSOLE_SIZE, WatchTimeouts};
use crate::cell::ending::{CellEnd, GuestEnd};
use crate::cell::result_builder::CellResultBuilder;
use crate::guests::snapshot::{Snapshot, SnapshotPool};
use crate::kernel_log::{console, hung_tasks};
use crate::{Executor, kernel_log};

/// Time limit for booting a guest. One in ten emulated guests stalls for a minute when all
/// processors are busy; another attempt seldom does.
const BOOT: Nanos = Nanos::from_secs(45);
/// Number of attempts to boot a guest.
const BOOTS: u32 = 2;

/// Runs agents as the first process of guests.
pub struct GuestExecutor {
    /// Kernel and modules.
    pub guest: Arc<Guest>,
    /// The machine.
    pub machine: QemuMachine,
    /// This program, which is also the agent.
    pub program: PathBuf,
    /// Modules that the filesystem of the next cell needs, in load order.
    pub modules: Vec<String>,
    /// Programs that the filesystem of the next cell needs.
    pub programs: Vec<String>,
    /// Programs that the suite of the next cell needs.
    pub commands: ProgramRequirements,
    /// Source archives that the commands of the suite unpack, by name.
    pub archives: Vec<(String, PathBuf)>,
    /// Disks of the guest.
    pub disks: Vec<PathBuf>,
    /// A disk in the guest's memory.
    pub memory_disk: Option<MemoryDisk>,
    /// Directory for the guest's initramfs and console output.
    pub directory: PathBuf,
    /// Time without any event after which a cell is `hung`.
    pub stall_timeout: Nanos,
    /// Time limit of a step, after which it is `hung` even if it makes progress.
    pub step_limit: Nanos,
    /// Time limit of a phase within a budget, after which it has failed.
    pub phase_limit: Option<Nanos>,
    /// Snapshots from which guests in virtual time start. Without them, each guest boots.
    pub snapshots: Option<Arc<SnapshotPool>>,
    /// Stop flag.
    pub stop: Arc<AtomicBool>,
}

/// Snapshot from which a guest starts instead of booting.
struct BootSnapshot {
    kind: CellKey,
    snapshot: Arc<Snapshot>,
    /// Private copy of the snapshot's memory. It must stay open while QEMU uses it.
    memory: File,
}

/// Result of one start of a guest.
struct GuestBoot {
    result: CellResult,
    /// Whether the agent sent no event although it had enough time.
    stalled: bool,
    /// Whether the result is repeatable.
    repeatable: bool,
}

impl Executor for GuestExecutor {
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        Ok(self.execute_checked(job, observe)?.0)
    }
}

impl Cacheable for GuestExecutor {
    fn key(&self, job: &CellJob) -> io::Result<Option<CellKey>> {
        if self.machine.clock != Clock::Virtual || !self.disks.is_empty() {
            return Ok(None);
        }
        // Inputs of the initial guest memory, including the job and the disk. The agent is equal in
        // all cells and enters by its digest.
        let (first, card) = (self.first_file(), self.card_file());
        self.common_filesystem(Path::new("/dev/null"))?;
        self.fill_card(job)?;
        let content = cell_key::digest(&card)?;
        let kernel = self.guest.kernel();
        let command = self.straight(&SharedMemoryFile::of(&card)?, Path::new("console"));
        // Exclude paths, because the contents of the files are digested below.
        let place = self.directory.to_string_lossy();
        let words = command.get_args().filter(|word| **word != *kernel);
        let words = words.map(|word| word.to_string_lossy().replace(&*place, ""));
        let words: Vec<String> = words.collect();
        let mut parts = cell_key::KeyBuilder::new();
        parts.add("first filesystem", &cell_key::digest(&first)?);
        parts.add("card", &content);
        parts.add("kernel", &cell_key::cached_digest(&kernel)?);
        parts.add("agent", &cell_key::cached_digest(&self.program)?);
        parts.add("machine", words.join("\n").as_bytes());
        parts.add("emulator", cell_key::version(command.get_program(), &self.stop)?.as_bytes());
        Ok(Some(parts.key()))
    }

    fn execute_checked(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason> {
        let (started, start) = (clock::realtime(), clock::now());
        let mut boot = until_up(|tries| self.boot(job, tries, observe))?;
        boot.result.started = started;
        boot.result.elapsed = clock::since(start);
        Ok((boot.result, boot.repeatable))
    }

    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl GuestExecutor {
    /// Runs one guest from start to end.
    fn boot(
        &self,
        job: &CellJob,
        tries: u32,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<GuestBoot, AbortReason> {
        if let Err(error) = self.prepare(job) {
            return Ok(GuestBoot::not_provisioned(&job.test, &error));
        }
        let mut collector = CellResultBuilder::new(&job.test);
        let mut came_up = false;
        let (watched, saved) = match self.launch(job) {
            Ok((agent, saved)) => (
                agent.watch(
                    &self.watch(&self.console_file()),
                    &mut collector,
                    &mut |event: &CellEvent| {
                        came_up = true;
                        observe(event);
                    },
                )?,
                saved,
            ),
            Err(error) => {
                if let Err(error) = self.check_kernel() {
                    return Ok(GuestBoot::not_provisioned(&job.test, &error));
                }
                let why = error.to_string();
                return Ok(GuestBoot::failed(collector, GuestEnd::NotStarted { why }));
            }
        };
        let said = self.console();
        let mut ending = ending(watched.outcome, &said);
        let stalled = !came_up && matches!(ending, CellEnd::Hung { .. });
        if stalled {
            ending = CellEnd::Guest {
                end: GuestEnd::BootTimeout { waited: self.time_to_boot(), tries },
                last_words: console::last_line(&said),
            };
        }
        if let Some(saved) = saved.filter(|_| !came_up) {
            // The guest failed to continue from its snapshot. Boot it instead, which gives the same
            // result.
            self.snapshots.iter().for_each(|all| all.discard(saved.kind));
            return self.boot(job, tries, observe);
        }
        let repeatable = match &ending {
            CellEnd::Done => true,
            CellEnd::Guest { end, .. } => end.is_reproducible(),
            CellEnd::AgentDied { .. } | CellEnd::NotStarted { .. } | CellEnd::Hung { .. } => false,
        };
        let mut result = collector.finish(ending, Some(told(&said)));
        // If the kernel file was damaged before QEMU read it, the failure is not the filesystem's.
        if result.status != Status::Ok
            && let Err(error) = self.check_kernel()
        {
            return Ok(GuestBoot::not_provisioned(&job.test, &error));
        }
        // The times of a machine that counts instructions do not include external pauses.
        let remark = watched.remark.filter(|_| self.machine.clock == Clock::Real);
        result.remarks.extend(remark);
        Ok(GuestBoot { result, stalled, repeatable })
    }

    /// Measures the time from the start of QEMU to the first event of the agent, and then ends the
    /// guest.
    ///
    /// # Errors
    /// Returns an error if the guest cannot be started or its agent reports no event in time.
    pub fn time_boot(&self, job: &CellJob) -> io::Result<Nanos> {
        self.prepare(job)?;
        let start = clock::now();
        let (agent, _) = self.launch(job)?;
        let (up, mut taken) = (AtomicBool::new(false), None);
        let console = self.console_file();
        let watch = WatchTimeouts { stop: &up, ..self.watch(&console) };
        let mut collector = CellResultBuilder::new(&job.test);
        let outcome = agent.watch(&watch, &mut collector, &mut |_| {
            taken.get_or_insert_with(|| clock::since(start));
            up.store(true, Ordering::Relaxed);
        });
        taken.ok_or_else(|| {
            let said = self.console();
            let ended = outcome.ok().map(|watched| ending(watched.outcome, &said));
            let result = ended.map(|end| collector.finish(end, Some(told(&said))));
            let failure = result.and_then(|result| result.failure);
            let reason = failure.map(|failure| failure.reason);
            io::Error::other(reason.unwrap_or_else(|| "its agent said nothing".to_owned()))
        })
    }

    /// Writes the files that are specific to this guest.
    fn prepare(&self, job: &CellJob) -> io::Result<()> {
        match self.has_card() {
            true => self.fill_card(job)?,
            false => self.first_filesystem()?,
        }
        // Remove the output of an earlier guest.
        fs::write(self.console_file(), "")
    }

    /// Starts QEMU. Returns the snapshot from which the guest starts, if any.
    fn launch(&self, job: &CellJob) -> io::Result<(AgentProcess, Option<BootSnapshot>)> {
        let (mut command, saved) = self.begin()?;
        process::set_pdeathsig(&mut command);
        let events = self.events_file();
        let agent = match self.has_card() {
            true => AgentProcess::start_virtual_guest(&mut command, &events)?,
            false => {
                // In virtual time a waiting thread would change the results.
                let stacks_after = Some(self.time_to_tell());
                let job = CellJob { stacks_after, ..job.clone() };
                AgentProcess::start_guest(&mut command, &job, &events)?
            }
        };
        Ok((agent, saved))
    }

    fn begin(&self) -> io::Result<(Command, Option<BootSnapshot>)> {
        let (first, console, disks) = (self.first_file(), self.console_file(), self.disks());
        if !self.has_card() {
            self.check_kernel()?;
            let machine = &self.machine;
            return Ok((machine.command(&self.guest, &first, &disks, &console), None));
        }
        let card = self.card_file();
        let card = SharedMemoryFile::of(&card)?;
        if let Some(saved) = self.saved(&card) {
            fs::write(&console, saved.snapshot.console())?;
            let begin = StartFrom::Snapshot {
                memory: &memfd::path(&saved.memory),
                state: &saved.snapshot.state(),
            };
            let command = self.with_card(&begin, &card, &console);
            return Ok((command, Some(saved)));
        }
        self.check_kernel()?;
        self.common_filesystem(&self.program)?;
        Ok((self.straight(&card, &console), None))
    }

    /// Verifies the files that QEMU itself reads.
    fn check_kernel(&self) -> io::Result<()> {
        self.guest.check_kernel().map_err(io::Error::other)
    }

    /// Returns the command that boots the machine with its shared memory, without a snapshot.
    fn straight(&self, card: &SharedMemoryFile<'_>, console: &Path) -> Command {
        let begin = StartFrom::Boot { guest: &self.guest, first_filesystem: &self.first_file() };
        self.with_card(&begin, card, console)
    }

    fn with_card(
        &self,
        begin: &StartFrom<'_>,
        card: &SharedMemoryFile<'_>,
        console: &Path,
    ) -> Command {
        let (disks, events) = (self.disks(), self.events_file());
        let says = ConsoleOutput { events: &events, console };
        self.machine.command_with_shared_memory(begin, card, &disks, &says)
    }

    /// Returns a snapshot of a guest that boots like this one. Returns `None` if this guest must
    /// boot.
    fn saved(&self, card: &SharedMemoryFile<'_>) -> Option<BootSnapshot> {
        // A snapshot does not include QEMU's own state of disks on this machine.
        let snapshots = self.snapshots.as_ref().filter(|_| self.disks.is_empty())?;
        let kind = self.kind(card).ok()?;
        let snapshot = snapshots.get(kind, &self.stop, || self.save(card))?;
        let memory = snapshot.memory();
        if let Err(error) = &memory {
            snapshots.warn(&format!("the memory of a saved guest cannot be copied: {error}"));
        }
        let memory = memory.ok()?;
        Some(BootSnapshot { kind, snapshot, memory })
    }

    /// Returns the key shared by all guests that boot identically.
    fn kind(&self, card: &SharedMemoryFile<'_>) -> io::Result<CellKey> {
        let mut parts = cell_key::KeyBuilder::new();
        parts.add("guest", self.guest.name().as_bytes());
        parts.add("kernel", &cell_key::cached_digest(&self.guest.kernel())?);
        parts.add("agent", &cell_key::cached_digest(&self.program)?);
        parts.add("machine", format!("{:?}", self.machine).as_bytes());
        parts.add("card", &card.size().0.to_le_bytes());
        parts.add("emulator", cell_key::version(guest::QEMU.as_ref(), &self.stop)?.as_bytes());
        Ok(parts.key())
    }

    fn save(&self, card: &SharedMemoryFile<'_>) -> io::Result<Snapshot> {
        self.check_kernel()?;
        let first = self.first_file();
        self.common_filesystem(&self.program)?;
        let empty = self.directory.join("empty-card");
        let card = SharedMemoryFile::empty(&empty, card)?;
        let start = |memory: &Path, console: &Path| {
            let machine = &self.machine;
            let mut command =
                machine.command_for_snapshot(&self.guest, &first, &card, memory, console);
            process::set_pdeathsig(&mut command);
            command
        };
        Snapshot::make(start, self.time_to_boot(), &self.stop)
    }

    /// In virtual time the guest must not receive external input, so a card contains all its files
    /// from the start.
    fn has_card(&self) -> bool {
        self.machine.clock == Clock::Virtual
    }

    fn fill_card(&self, job: &CellJob) -> io::Result<()> {
        // Results must not depend on the number of the cell in its campaign.
        let nameless = CellJob { cell: CellId(0), ..job.clone() };
        let line = nameless.to_line();
        let contents = self.contents(Some(&line));
        let written = self.guest.write_cell_archive(&contents, &self.card_file());
        written.map_err(io::Error::other)
    }

    fn first_filesystem(&self) -> io::Result<()> {
        let contents = self.contents(None);
        let written = self.guest.write_initramfs(&contents, &self.first_file());
        written.map_err(io::Error::other)
    }

    fn common_filesystem(&self, agent: &Path) -> io::Result<()> {
        let written = self.guest.write_common_initramfs(agent, &self.first_file());
        written.map_err(io::Error::other)
    }

    fn contents<'a>(&'a self, job: Option<&'a str>) -> InitramfsContents<'a> {
        InitramfsContents {
            agent: &self.program,
            modules: &self.modules,
            programs: &self.programs,
            commands: &self.commands,
            archives: &self.archives,
            disk: self.disk_in_memory(),
            job,
        }
    }

    fn disks(&self) -> Vec<&Path> {
        self.disks.iter().map(PathBuf::as_path).collect()
    }

    /// Returns the disks in memory and the amount of memory that the guest's kernel manages.
    pub fn disk_in_memory(&self) -> Option<(&MemoryDisk, Bytes)> {
        let disk = self.memory_disk.as_ref()?;
        Some((disk, self.machine.memory))
    }

    fn watch<'a>(&'a self, console: &'a Path) -> WatchTimeouts<'a> {
        WatchTimeouts {
            console: Some(console),
            first: self.time_to_boot(),
            stall_timeout: self.stall_timeout,
            step_limit: self.step_limit,
            phase_limit: self.phase_limit,
            stop: &self.stop,
        }
    }

    /// Returns the time allowed for booting, which never exceeds the user's stall timeout. In
    /// virtual time, an emulator without progress means that this host is too busy, which must not
    /// become the result of the cell.
    fn time_to_boot(&self) -> Nanos {
        match self.machine.clock {
            Clock::Real => BOOT.min(self.stall_timeout),
            Clock::Virtual => self.stall_timeout,
        }
    }

    /// Returns the time without progress after which a guest prints its stacks: late, but early
    /// enough to complete the output before the user's stall timeout.
    const fn time_to_tell(&self) -> Nanos {
        Nanos(self.stall_timeout.0 / 3 * 2)
    }

    fn first_file(&self) -> PathBuf {
        self.directory.join("first-filesystem")
    }

    fn card_file(&self) -> PathBuf {
        self.directory.join("card")
    }

    fn events_file(&self) -> PathBuf {
        self.directory.join("events")
    }

    fn console_file(&self) -> PathBuf {
        self.directory.join("console")
    }

    /// Returns the console output of the guest, or an empty buffer if it cannot be read.
    fn console(&self) -> Vec<u8> {
        let console = File::open(self.console_file());
        let read = console.and_then(|file| bounded::read_beginning(file, MAX_CONSOLE_SIZE));
        read.unwrap_or_default()
    }
}

impl GuestBoot {
    /// Builds the result of a cell whose guest is missing or damaged, which is not a fault of the
    /// filesystem.
    fn not_provisioned(test: &Test, error: &io::Error) -> Self {
        let mut collector = CellResultBuilder::new(test);
        let failure =
            Failure { step: "provision".into(), reason: error.to_string(), ..Failure::default() };
        collector.apply(CellEvent::Failed { crashed: false, failure });
        Self {
            result: collector.finish(CellEnd::Done, Some(Vec::new())),
            stalled: false,
            repeatable: false,
        }
    }

    fn failed(collector: CellResultBuilder<'_>, end: GuestEnd) -> Self {
        let last_words = String::new();
        Self {
            result: collector.finish(CellEnd::Guest { end, last_words }, Some(Vec::new())),
            stalled: false,
            repeatable: false,
        }
    }
}

/// Starts a guest, and retries if it stalls during boot. The result includes a remark on retries.
fn until_up(
    mut start: impl FnMut(u32) -> Result<GuestBoot, AbortReason>,
) -> Result<GuestBoot, AbortReason> {
    for tries in 1..BOOTS {
        let boot = start(tries)?;
        if !boot.stalled {
            return Ok(boot);
        }
    }
    let mut boot = start(BOOTS)?;
    if !boot.stalled {
        let remark = format!("the guest was started {BOOTS} times: it did not come up before");
        boot.result.remarks.push(remark);
    }
    Ok(boot)
}

/// Returns the events of the guest's kernel log.
fn told(console: &[u8]) -> Vec<KernelEvent> {
    kernel_log::events_for_guest(console::lines(console))
}

/// Converts the end of an agent to the end of a guest.
fn ending(outcome: AgentEnd, console: &[u8]) -> CellEnd {
    match outcome {
        AgentEnd::Done => CellEnd::Done,
        AgentEnd::Exited { status, errors } => CellEnd::Guest {
            end: guest_end(status, errors),
            last_words: console::last_line(console),
        },
        // The stacks of the emulator's threads are irrelevant; the guest prints its own stacks.
        AgentEnd::Hung { stall, unkillable, .. } => {
            CellEnd::Hung { stall, stacks: hung_tasks::hung_task_stacks(console), unkillable }
        }
    }
}

fn guest_end(status: Option<ExitStatus>, errors: String) -> GuestEnd {
    /// Message of QEMU when a signal asks it to end. It exits with status 0 then.
    const QEMU_TERMINATED_PATTERN: &str = "terminating on signal ";
    let Some(status) = status else {
        return GuestEnd::ProtocolError;
    };
    if let Some(signal) = status.signal() {
        return GuestEnd::Killed { signal };
    }
    let asked = errors.split_once(QEMU_TERMINATED_PATTERN).and_then(|(_, rest)| {
        let number = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        number.parse().ok()
    });
    match (asked, status.code().unwrap_or_default()) {
        (Some(signal), _) => GuestEnd::Killed { signal },
        (None, 0) => GuestEnd::PoweredOff,
        (None, code) => GuestEnd::EmulatorFailed { code, said: errors },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;

    fn boot(stalled: bool) -> GuestBoot {
        let test = Test {
            name: "t".into(),
            suite: "s".into(),
            title: String::new(),
            rationale: String::new(),
            space: Bytes(0),
            data: model::DataKind::default(),
            sweep: None,
            phases: Vec::new(),
        };
        GuestBoot {
            result: CellResultBuilder::new(&test).finish(CellEnd::Done, None),
            stalled,
            repeatable: true,
        }
    }

    #[test]
    fn stalled_guest_is_started_again_with_a_remark() {
        let tried = |stalls: u32| {
            let mut starts = 0;
            let boot = until_up(|tries| {
                starts = tries;
                Ok(boot(tries <= stalls))
            });
            (starts, boot.unwrap().result.remarks.len())
        };
        assert_eq!(tried(0), (1, 0));
        assert_eq!(tried(1), (2, 1));
        assert_eq!(tried(2), (2, 0), "its end is reported as never up");
        assert_eq!(
            until_up(|_| Err(AbortReason::Interrupted)).err(),
            Some(AbortReason::Interrupted)
        );
    }

    fn end(raw: i32, errors: &str) -> GuestEnd {
        guest_end(Some(ExitStatus::from_raw(raw)), errors.to_owned())
    }

    #[test]
    fn killed_guest_differs_from_normal_end_and_failed_emulator() {
        assert_eq!(end(9, ""), GuestEnd::Killed { signal: 9 });
        let asked = "qemu-system-x86_64: terminating on signal 15 from pid 12 (kill)";
        assert_eq!(end(0, asked), GuestEnd::Killed { signal: 15 });
        assert_eq!(end(0, ""), GuestEnd::PoweredOff);
        let said = "qemu-system-x86_64: cannot set up guest memory".to_owned();
        assert_eq!(end(1 << 8, &said), GuestEnd::EmulatorFailed { code: 1, said });
        assert_eq!(guest_end(None, String::new()), GuestEnd::ProtocolError);
    }
}
