//! Passes traces from files to cells. A campaign identifies a trace by its digest and keeps a copy
//! of the file next to the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use campaign::run::{CellBackend, CellUpdate};
use config::Catalog;
use model::{
    Bytes, Calibration, Campaign, Cell, Environment, Op, Replay, SizeProfile, Suite, Test,
    TraceStats,
};
use sha2::{Digest, Sha256};
use sys::fs::plain_file;
use sys::fs::safe_path::{SafeDir, default_mode};
use trace::{Trace, TraceSummary};

use crate::args::cli::GlobalArgs;
use crate::output::exit::UsageError;
use crate::paths;

/// Name of the suite with the traces that `fsarena trace make` records.
pub const SUITE: &str = "traces";
/// File name extension of traces.
pub const ENDING: &str = "trace";
/// Maximum size of a trace file that is read, in bytes. No trace is larger.
const MAX_TRACES_SIZE: u64 = 512 << 20;
/// Maximum space for temporary data of operations, in bytes. Traces that write less need only that
/// much.
const ROOM: u64 = 64 << 20;
/// Additional space for names and small files, in bytes: small files use whole blocks.
const NAMES: u64 = 8 << 20;

/// Returns the directory of the traces of campaigns.
pub fn directory(globals: &GlobalArgs) -> anyhow::Result<PathBuf> {
    let database = paths::database(globals)?;
    Ok(database.parent().unwrap_or(Path::new("/")).join("traces"))
}

/// Reads a trace file. Returns its bytes and the trace.
pub fn read(path: &Path) -> anyhow::Result<(Vec<u8>, Trace)> {
    let bytes = bytes(path)?;
    let trace =
        Trace::decode(&bytes).map_err(|e| UsageError(format!("{}: {e}", path.display())))?;
    Ok((bytes, trace))
}

/// Reads a trace file, or the stored trace of that name if no such file exists.
pub fn read_named(file: &Path, globals: &GlobalArgs) -> anyhow::Result<(Vec<u8>, Trace)> {
    let name = file.to_str().filter(|name| !name.contains('/'));
    match name.filter(|_| !file.exists()) {
        Some(name) => read(found(name, globals)?.as_deref().unwrap_or(file)),
        None => read(file),
    }
}

/// Reads a file of the user.
pub fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = plain_file::read(path, MAX_TRACES_SIZE);
    Ok(bytes.map_err(|e| UsageError(format!("cannot read {}: {e}", path.display())))?)
}

/// Returns the summary of a trace that a campaign stores.
pub fn facts(bytes: &[u8], trace: &Trace) -> TraceStats {
    let summary = TraceSummary::from_trace(trace);
    TraceStats {
        sha256: digest(bytes),
        operations: summary.operations,
        syncs: summary.syncs,
        read: summary.read,
        written: Bytes(summary.written.0.saturating_add(summary.bytes_before.0)),
        space: summary.bytes_before.max(summary.bytes_after),
    }
}

/// Returns the free space that a replay needs.
pub fn space(facts: &TraceStats) -> Bytes {
    let room = facts.written.0.min(ROOM) + NAMES;
    Bytes(facts.space.0.saturating_mul(2).saturating_add(room))
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores a copy of a trace for the cells of campaigns.
pub fn store_copy(bytes: &[u8], globals: &GlobalArgs) -> anyhow::Result<()> {
    let kept = SafeDir::make(&directory(globals)?)?;
    Ok(kept.replace(file_name(&digest(bytes)), default_mode(), bytes)?)
}

fn file_name(sha256: &str) -> String {
    format!("{sha256}.{ENDING}")
}

/// Resolves the traces that suites name, with the user's catalog. Returns an error if a trace is
/// missing.
pub fn require_known(
    mut suites: Vec<Suite>,
    globals: &GlobalArgs,
    dry_run: bool,
) -> anyhow::Result<Vec<Suite>> {
    refuse_missing(&suites, globals)?;
    for test in suites.iter_mut().flat_map(|suite| &mut suite.tests) {
        let Test { phases, space: room, .. } = test;
        for phase in phases {
            if let Op::Replay(replay) = &mut phase.op
                && replay.facts.is_none()
            {
                let (bytes, trace) = read(&named(&replay.trace, globals)?)?;
                if !dry_run {
                    store_copy(&bytes, globals)?;
                }
                let facts = facts(&bytes, &trace);
                *room = (*room).max(space(&facts));
                replay.facts = Some(facts);
            }
        }
    }
    Ok(suites)
}

/// Returns the traces that the suite `traces` replays: the requested ones, or all.
///
/// # Errors
/// Returns an error if a name is unknown or repeated.
pub fn traces_of_suite(asked: &[String]) -> anyhow::Result<BTreeSet<String>> {
    let catalog = Catalog::builtin()?;
    let wanted: Vec<String> = match asked {
        [] => vec![SUITE.to_owned()],
        names => names.iter().map(|n| format!("{SUITE}/{n}")).collect(),
    };
    let suites = catalog
        .chosen_suites(&wanted, SizeProfile::Quick)
        .map_err(|error| UsageError(error.to_string()))?;
    Ok(suites.iter().flat_map(unread).collect())
}

/// Returns the traces that a suite replays and that have not been read yet.
fn unread(suite: &Suite) -> impl Iterator<Item = String> {
    let phases = suite.tests.iter().flat_map(|test| &test.phases);
    phases.filter_map(|phase| match &phase.op {
        Op::Replay(replay) if replay.facts.is_none() => Some(replay.trace.clone()),
        _ => None,
    })
}

/// Returns the file of a trace named by a suite. Returns `None` if it does not exist.
fn found(name: &str, globals: &GlobalArgs) -> anyhow::Result<Option<PathBuf>> {
    let of_user = globals.catalog.as_ref();
    let of_user = of_user.map(|catalog| catalog.join(SUITE));
    let mut places = of_user.into_iter().chain([directory(globals)?]);
    let file = format!("{name}.{ENDING}");
    let place = places.find(|place| place.join(&file).is_file());
    Ok(place.map(|place| place.join(&file)))
}

/// Returns the file of a trace that a suite names.
fn named(name: &str, globals: &GlobalArgs) -> anyhow::Result<PathBuf> {
    found(name, globals)?.with_context(|| format!("the trace `{name}` is gone"))
}

/// Returns an error if traces are missing. It lists all of them in one line, with the command that
/// records them.
fn refuse_missing(suites: &[Suite], globals: &GlobalArgs) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for name in suites.iter().flat_map(unread) {
        if found(&name, globals)?.is_none() && !missing.contains(&name) {
            missing.push(name);
        }
    }
    let foreign = missing.iter().find(|name| traces_of_suite(&[(*name).clone()]).is_err());
    match (foreign, &missing[..]) {
        (_, []) => Ok(()),
        (Some(name), _) => Err(UsageError(format!(
            "there is no trace `{name}`: put it into {SUITE}/{name}.{ENDING} of the directory that --catalog names, or \
             replay a file with `fsarena trace replay`"
        ))
        .into()),
        (None, missing) => {
            let (are, them) = match missing.len() {
                1 => ("is no trace", "it"),
                _ => ("are no traces", "them"),
            };
            let (listed, names) = (missing.join("`, `"), missing.join(" "));
            let why = format!(
                "there {are} `{listed}` yet: `sudo fsarena trace make {names}` records {them}"
            );
            Err(UsageError(why).into())
        }
    }
}

/// Returns the file names of a campaign's traces.
pub fn trace_files(campaign: &Campaign) -> impl Iterator<Item = String> {
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let operations = tests.flat_map(|test| &test.phases).map(|phase| &phase.op);
    let facts = operations.filter_map(|op| match op {
        Op::Replay(replay) => replay.facts.as_ref(),
        _ => None,
    });
    let names: BTreeSet<String> = facts.map(|facts| file_name(&facts.sha256)).collect();
    names.into_iter()
}

/// Trace files of a campaign, encoded for jobs, by their digests.
#[derive(Debug, Default)]
pub struct Traces(BTreeMap<String, String>);

impl Traces {
    /// Reads the traces of a campaign, which were stored when it started.
    ///
    /// # Errors
    /// Returns an error if a trace file is missing or does not match its digest.
    pub fn of(campaign: &Campaign, directory: &Path) -> anyhow::Result<Self> {
        let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
        let mut traces = BTreeMap::new();
        for phase in tests.flat_map(|test| &test.phases) {
            let Op::Replay(Replay { facts: Some(facts), trace, .. }) = &phase.op else {
                continue;
            };
            let path = directory.join(file_name(&facts.sha256));
            let bytes = bytes(&path).with_context(|| format!("the trace `{trace}` is gone"))?;
            if digest(&bytes) != facts.sha256 {
                let path = path.display();
                return Err(UsageError(format!("{path} is not the trace that it was")).into());
            }
            traces.insert(facts.sha256.clone(), BASE64_STANDARD.encode(bytes));
        }
        Ok(Self(traces))
    }

    /// Wraps a backend so that cells get their traces.
    pub const fn wrap_backend<'a, B>(&'a self, backend: &'a mut B) -> WithTraces<'a, B> {
        WithTraces { traces: self, backend }
    }

    fn given(&self, test: &Test) -> Test {
        let mut test = test.clone();
        for phase in &mut test.phases {
            if let Op::Replay(replay) = &mut phase.op {
                let sha256 = replay.facts.as_ref().map(|facts| &facts.sha256);
                replay.data = sha256.and_then(|sha256| self.0.get(sha256)).cloned();
            }
        }
        test
    }
}

/// A backend that adds the traces to each test.
pub struct WithTraces<'a, B> {
    traces: &'a Traces,
    backend: &'a mut B,
}

impl<B: CellBackend> CellBackend for WithTraces<'_, B> {
    type Error = B::Error;

    fn parallel_cells(&self) -> usize {
        self.backend.parallel_cells()
    }

    fn queue_depth(&self) -> usize {
        self.backend.queue_depth()
    }

    fn can_run(&self, cell: &Cell) -> bool {
        self.backend.can_run(cell)
    }

    fn environment(&mut self) -> Result<Environment, Self::Error> {
        self.backend.environment()
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, Self::Error> {
        self.backend.calibrate()
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        match self.traces.0.is_empty() {
            true => self.backend.start(cell, test),
            false => self.backend.start(cell, &self.traces.given(test)),
        }
    }

    fn next_update(&mut self) -> CellUpdate {
        self.backend.next_update()
    }
}
