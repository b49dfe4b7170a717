//! Guests in which the work of a side runs while its instructions are counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use backend::{DiskLocation, Executor, StandaloneGuestCell};
use config::Catalog;
use guest::{Clock, Guest, Recipe};
use model::{Bytes, Filesystem, Phase, Status, Test};
use tempfile::TempDir;

use super::count::{self, Counter, Part};
use super::list::{self, CountedSide};
use crate::guest_paths;
use crate::peers::loop_c;

/// Filesystems of the comparison.
const FILESYSTEMS: [&str; 2] = ["tmpfs", "ext4"];
/// Disk size. Large enough that mke2fs uses its defaults for ordinary ext4 filesystems.
const SIZE: Bytes = Bytes::mib(640);

/// Resources that all guests share.
pub struct Guests {
    catalog: Catalog,
    guest: Arc<Guest>,
    agent: PathBuf,
    counter: Counter,
    directory: TempDir,
}

impl Guests {
    /// Creates the guest, the plugin and the C loop.
    ///
    /// # Errors
    /// Returns an error if QEMU, the agent or a compiler is missing, or the guest cannot be
    /// created.
    pub fn prepare() -> anyhow::Result<Self> {
        let agent = guest_paths::agent()?;
        let catalog = Catalog::builtin()?;
        let directory = tempfile::tempdir()?;
        let is_used = |f: &&Filesystem| FILESYSTEMS.contains(&f.name.as_str());
        let recipe = Recipe::for_filesystems(catalog.filesystems().filter(is_used), &[]);
        let guest = guest_paths::guest(&recipe.with_programs(&list::programs()))?;
        loop_c::compile(directory.path(), &["-static"])?;
        Ok(Self {
            guest: guest.into(),
            counter: Counter::compile(directory.path())?,
            catalog,
            agent,
            directory,
        })
    }

    /// Returns the path of the agent program.
    pub fn agent(&self) -> &Path {
        &self.agent
    }

    /// Runs a side in a guest with the given number of operations and returns the counts.
    ///
    /// # Errors
    /// Returns an error if the guest or a phase in it fails.
    pub fn count(
        &self,
        filesystem: &str,
        side: &CountedSide,
        operations: u64,
    ) -> anyhow::Result<Vec<Part>> {
        let contender = self.catalog.contender(filesystem)?;
        let cell =
            StandaloneGuestCell::new(contender, SIZE, DiskLocation::GuestMemory, &self.guest)?;
        let place = self.directory.path();
        let counts = place.join("counts");
        let mut executor =
            cell.executor(Arc::clone(&self.guest), &self.agent, Clock::Virtual, place)?;
        executor.machine.plugin = Some(self.counter.plugin(side.parts, &counts));
        executor.commands = list::programs_of(side);
        executor.archives = vec![(loop_c::PROGRAM.to_owned(), place.join(loop_c::PROGRAM))];
        let mut job = cell.job(test((side.phases)(operations)));
        job.archives = Some(Path::new("/").join(guest::ARCHIVES_DIR));
        let result = executor.execute(&job, &mut |_| {});
        let result = result.map_err(|stopped| anyhow::anyhow!("{stopped:?}"))?;
        let failure = result.failure.map(|failure| failure.reason);
        anyhow::ensure!(
            result.status == Status::Ok,
            "{} in a guest: {}",
            side.name,
            failure.unwrap_or_default()
        );
        let text = fs::read_to_string(&counts).context("what QEMU's plugin counted")?;
        count::parse(&text)
    }
}

fn test(phases: Vec<Phase>) -> Test {
    Test {
        name: "instructions".to_owned(),
        suite: "bench".to_owned(),
        title: String::new(),
        rationale: String::new(),
        space: Bytes(0),
        data: model::DataKind::default(),
        sweep: None,
        phases,
    }
}
