//! Measures the boot time of a guest, from the start of QEMU until the agent's first message. The
//! guest is the one that `fsarena guest build` builds. It is built before timing starts if it does
//! not exist.

use anyhow::Context;
use backend::{DiskLocation, StandaloneGuestCell};
use config::Catalog;
use guest::{Clock, Recipe};
use model::{Bytes, SizeProfile, Test};

use crate::guest_paths;
use crate::peers::{PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// A small filesystem that needs only one module and one program in the guest.
const CONTENDER: &str = "minix";
/// Name of the suite and of its test.
const LIFECYCLE: &str = "lifecycle";
const SIZE: Bytes = Bytes::mib(64);

/// Boot of an emulated guest in real time.
#[derive(Clone, Debug)]
pub struct BootBenchmark {
    /// Name of the result: boots per second.
    pub result: &'static str,
}

impl BootBenchmark {
    /// Boots the guest, which ends after the agent's first message. The guest's files are located
    /// in the scratch directory.
    ///
    /// # Errors
    /// Returns an error if QEMU or the agent is missing, or if the guest cannot be built or does
    /// not boot.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
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
        let sample = PeerSample::rate(1.0 / taken.as_secs_f64());
        Ok(PeerSamples::from([(self.result.to_owned(), sample)]))
    }
}

fn lifecycle(catalog: &Catalog) -> anyhow::Result<Test> {
    let suite = catalog.suite(LIFECYCLE, SizeProfile::Smoke)?;
    let test = suite.tests.iter().find(|test| test.name == LIFECYCLE);
    test.cloned().context("the suite has lost its test")
}
