//! A guest's boot: how long it takes from the start of QEMU until the agent speaks. The guest is the one that
//! `fsarena guest build` makes, and it is made, where it is not there, before anything is timed.

use anyhow::Context;
use config::Catalog;
use guest::{Clock, Recipe};
use model::{Bytes, SizeProfile, Test};
use run::{DiskLocation, StandaloneGuestCell};

use crate::guest_paths;
use crate::peers::{Sample, Samples};
use crate::scratch::ScratchFs;

/// A small filesystem, of which a guest needs one module and one program.
const CONTENDER: &str = "minix";
/// The suite and its test.
const LIFECYCLE: &str = "lifecycle";
const SIZE: Bytes = Bytes::mib(64);

/// Boots an emulated guest in which time passes as outside.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Name of the result that it gives: boots per second.
    pub result: &'static str,
}

impl Boot {
    /// Boots it; the guest ends with the agent's first word. Its files lie in the scratch directory.
    ///
    /// # Errors
    /// When QEMU or the agent is not there, the guest cannot be made, or it does not come up.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<Samples> {
        let agent = guest_paths::agent()?;
        let catalog = Catalog::builtin()?;
        let guest = guest_paths::guest(&Recipe::for_filesystems(catalog.filesystems(), &[]))?;
        let cell = StandaloneGuestCell::new(
            catalog.contender(CONTENDER)?,
            SIZE,
            DiskLocation::HostFile,
            &guest,
        )?;
        let directory = tempfile::tempdir_in(scratch.path())?;
        let executor = cell.executor(guest.into(), &agent, Clock::Real, directory.path())?;
        let taken = executor.time_boot(&cell.job(lifecycle(&catalog)?))?;
        let sample = Sample::rate(1.0 / taken.as_secs_f64());
        Ok(Samples::from([(self.result.to_owned(), sample)]))
    }
}

fn lifecycle(catalog: &Catalog) -> anyhow::Result<Test> {
    let suite = catalog.suite(LIFECYCLE, SizeProfile::Smoke)?;
    let test = suite.tests.iter().find(|test| test.name == LIFECYCLE);
    test.cloned().context("the suite has lost its test")
}
