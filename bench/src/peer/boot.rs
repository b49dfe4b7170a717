//! A guest's boot: how long it takes from the start of QEMU until the agent speaks. The guest is the one that
//! `fsarena guest build` makes, and it is made, where it is not there, before anything is timed.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use catalog::Catalog;
use guest::{Clock, Guest, QEMU, Recipe};
use model::{Bytes, Profile, Test};
use provision::find_program;
use run::{Disk, GuestCell};

use crate::peer::{Sample, Samples};
use crate::scratch::Scratch;

/// The program that is the agent, beside this one.
const AGENT: &str = "fsarena";
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
    pub fn run(&self, scratch: &Scratch) -> anyhow::Result<Samples> {
        if find_program(QEMU).is_none() {
            anyhow::bail!("there is no {QEMU}: `apt-get install qemu-system-x86`");
        }
        let agent = agent()?;
        let catalog = Catalog::builtin()?;
        let recipe = Recipe::of(catalog.filesystems(), &[]);
        let cache = guest::cache_directory()?;
        let mut say = |doing: &str| eprintln!("{doing}");
        let guest = Guest::build(&recipe, &cache, &Arc::default(), &mut say)?;
        let cell = GuestCell::new(catalog.contender(CONTENDER)?, SIZE, Disk::Outside, &guest)?;
        let directory = tempfile::tempdir_in(scratch.path())?;
        let executor = cell.executor(guest.into(), &agent, Clock::Real, directory.path())?;
        let taken = executor.time_boot(&cell.job(lifecycle(&catalog)?))?;
        let sample = Sample::rate(1.0 / taken.as_secs_f64());
        Ok(Samples::from([(self.result.to_owned(), sample)]))
    }
}

fn agent() -> anyhow::Result<PathBuf> {
    let path = env::current_exe()?.with_file_name(AGENT);
    let there = find_program(&path.to_string_lossy());
    there.with_context(|| format!("there is no {}: `cargo build --release`", path.display()))
}

fn lifecycle(catalog: &Catalog) -> anyhow::Result<Test> {
    let suite = catalog.suite(LIFECYCLE, Profile::Smoke)?;
    let test = suite.tests.iter().find(|test| test.name == LIFECYCLE);
    test.cloned().context("the suite has lost its test")
}
