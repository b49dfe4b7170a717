//! Runs cells in guests: a machine of its own for each, which may die of it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use guest::{Clock, Contents, Guest, Machine, MemoryDisk};
use model::{CellResult, Nanos};
use sys::clock;
use wire::{Event, Job};

use crate::agent::{Agent, Watch};
use crate::collector::{Collector, Ending};
use crate::{Executor, Interrupted, console};

/// How long a guest may take to boot. One in ten emulated ones stalls for a minute when all processors
/// are busy, and a new one seldom does.
const BOOT: Nanos = Nanos::from_secs(45);
/// How often a guest is started that does not come up.
const BOOTS: u32 = 2;

/// Runs agents as the first process of guests.
pub struct GuestExecutor {
    /// Kernel and modules.
    pub guest: Guest,
    /// The machine.
    pub machine: Machine,
    /// The program that is also the agent.
    pub program: PathBuf,
    /// Modules that the filesystem of the next cell needs, in the order in which they load.
    pub modules: Vec<String>,
    /// Programs that it needs.
    pub programs: Vec<String>,
    /// What the guest gets as its disks.
    pub disks: Vec<PathBuf>,
    /// A disk in the guest's memory.
    pub memory_disk: Option<MemoryDisk>,
    /// A directory for the guest's first filesystem and its console.
    pub directory: PathBuf,
    /// Time without any event after which a cell is `hung`.
    pub patience: Nanos,
    /// Set by whoever wants the campaign to stop.
    pub stop: Arc<AtomicBool>,
}

impl Executor for GuestExecutor {
    fn execute(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Interrupted> {
        let (started, start) = (clock::calendar(), clock::now());
        let mut boots = 0;
        let mut result = loop {
            boots += 1;
            let (came_up, result) = self.boot(job, observe)?;
            if came_up || boots == BOOTS {
                break result;
            }
        };
        result.started = started;
        result.elapsed = clock::since(start);
        Ok(result)
    }
}

impl GuestExecutor {
    /// One guest from its first moment to its last, and whether it came as far as its agent.
    fn boot(
        &self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<(bool, CellResult), Interrupted> {
        let mut collector = Collector::new(&job.test);
        let mut booted = None;
        let mut ending = match self.start(job) {
            Ok(agent) => agent.watch(&self.watch(), &mut collector, &mut |event: &Event| {
                booted.get_or_insert_with(|| self.console().len());
                observe(event);
            })?,
            Err(error) => Ending::Died {
                how: format!("the guest could not be started: {error}"),
            },
        };
        let said = self.console();
        if let Ending::Died { how } = &mut ending {
            *how = format!(
                "{how}; the guest's last words: {}",
                console::last_words(&said)
            );
        }
        // What the kernel says while it boots is about the machine and not about the cell.
        let log = console::lines(&said, booted.unwrap_or_default());
        Ok((booted.is_some(), collector.finish(ending, Some(log))))
    }

    fn start(&self, job: &Job) -> io::Result<Agent> {
        let first = self.directory.join("first-filesystem");
        // In model time, nothing may come from outside: the job is there from the beginning.
        let inside = self.machine.clock == Clock::Model;
        let line = job.to_line();
        let contents = Contents {
            agent: &self.program,
            modules: &self.modules,
            programs: &self.programs,
            disk: self.memory_disk,
            job: inside.then_some(line.as_str()),
        };
        self.guest
            .first_filesystem(&contents, &first)
            .map_err(io::Error::other)?;
        // What an earlier guest said is not this one's.
        fs::write(self.console_file(), "")?;
        let disks: Vec<_> = self.disks.iter().map(PathBuf::as_path).collect();
        let mut command = self
            .machine
            .command(&self.guest, &first, &disks, &self.console_file());
        Agent::start(&mut command, (!inside).then_some(job), None)
    }

    fn watch(&self) -> Watch<'_> {
        Watch {
            first: BOOT,
            patience: self.patience,
            stop: &self.stop,
        }
    }

    fn console_file(&self) -> PathBuf {
        self.directory.join("console")
    }

    /// What the guest has said so far; nothing where that cannot be read.
    fn console(&self) -> Vec<u8> {
        fs::read(self.console_file()).unwrap_or_default()
    }
}
