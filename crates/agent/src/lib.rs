//! Runs one cell: creates the filesystem, mounts it, runs the phases and cleans up.
//!
//! The agent is the same program as the orchestrator. It runs as a child process in separate
//! namespaces, so that its exit removes all its mounts and processes. It reads one [`model::wire::CellJob`]
//! and writes [`model::wire::CellEvent`]s; it stores and judges no results.

mod cell;
mod guest;
mod observe;
mod sandbox;
mod source;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use model::Failure;
use model::wire::machine::MAX_REQUEST_SIZE;
use model::wire::{CellEvent, CellJob, SourceLocation, WorkTarget};
use serde::de::DeserializeOwned;
use sys::io::bounded;

use crate::cell::other_hosts::{OrderReader, OtherHosts};
use crate::observe::event_writer::EventWriter;
use crate::observe::kernel_memory::KernelMemoryProbe;
use crate::sandbox::SandboxedRunner;

pub use guest::run_guest_init;
pub use guest::shell::{SHELL_READY, run_shell};
pub use sandbox::isolation::spawn_isolated;
pub use source::{STEP as SOURCE_STEP, survey};

/// Exit code of an agent whose orchestrator has disappeared.
const ORPHANED: i32 = 3;

/// Reads a job from standard input, runs it, and writes events to standard output. `restricted`
/// must be true on a host, which also contains other devices and files.
///
/// # Errors
/// Returns an error if the job cannot be read, has another version, or /proc and /run cannot be
/// mounted.
pub fn serve(restricted: bool) -> io::Result<ExitCode> {
    let events = EventWriter::new(io::stdout());
    events.send(&CellEvent::Hello { version: model::wire::VERSION });
    let job: CellJob = read_request()?;
    if let Some(Err(reason)) = job.source.as_ref().map(|source| source::mount(&source.place)) {
        events.send(&CellEvent::EnvironmentFault { reason });
        events.send(&CellEvent::Done);
        return Ok(ExitCode::SUCCESS);
    }
    crate::sandbox::isolation::enter_namespaces()?;
    if job.version != model::wire::VERSION {
        let theirs = job.version;
        return Err(io::Error::other(format!(
            "the job is of version {theirs}, not {}",
            model::wire::VERSION
        )));
    }
    match begin(&job, &events, restricted) {
        Ok(session) => session.run(),
        Err(error) => {
            let failure = Failure {
                step: "agent".to_owned(),
                reason: format!("the agent cannot begin: {error}"),
                ..Failure::default()
            };
            let crashed = false;
            events.send(&CellEvent::Failed { crashed, failure });
            events.send(&CellEvent::Done);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Restricts the agent if requested and starts the threads that monitor a session.
fn begin<'a>(
    job: &'a CellJob,
    events: &EventWriter,
    restricted: bool,
) -> io::Result<crate::cell::session::CellSession<'a>> {
    let runner = match &job.target {
        WorkTarget::Volume(volume) if restricted => {
            // A mount point that is mounted into a private /dev could not be unmounted.
            let around = volume.mountpoint.parent().map(Path::to_owned);
            let places = [around, job.archives.clone()];
            sandbox::enter(volume, &used(places))?;
            SandboxedRunner::restricted(volume)?
        }
        WorkTarget::Volume(_) => SandboxedRunner::Unrestricted,
        WorkTarget::Directory { .. } => SandboxedRunner::Directory(used([job.archives.clone()])),
    };
    let (hosts, orders) = job.rank.map(|rank| OtherHosts::new(rank, events.clone())).unzip();
    thread::Builder::new().spawn(|| end_with_orchestrator(orders))?;
    if let Some(silence) = job.stacks_after {
        crate::guest::hang_report::watch(events.clone(), silence)?;
    }
    // An unrestricted agent runs in a guest with its own kernel, except for a directory target.
    let own_kernel = !restricted && matches!(job.target, WorkTarget::Volume(_));
    let footprint = KernelMemoryProbe::baseline(job, own_kernel);
    crate::cell::session::CellSession::new(job, events.clone(), runner, footprint, hosts)
}

/// Returns these paths and those of all programs.
fn used(places: impl IntoIterator<Item = Option<PathBuf>>) -> Vec<PathBuf> {
    let path = crate::sandbox::command::search_path();
    std::env::split_paths(&path).chain(places.into_iter().flatten()).collect()
}

/// Reads the location of a user's source from standard input and writes a summary of its contents
/// to standard output. Uses private mounts, which are removed when this process exits.
///
/// # Errors
/// Returns an error if the location does not exist, cannot be read, or the process is not root.
pub fn serve_survey() -> io::Result<ExitCode> {
    sys::mount::namespace::set_pdeathsig()?;
    sys::mount::namespace::unshare()?;
    let place: SourceLocation = read_request()?;
    let contents = survey(&place).map_err(io::Error::other)?;
    println!("{}", serde_json::to_string(&contents)?);
    Ok(ExitCode::SUCCESS)
}

/// Reads a line of JSON from standard input.
fn read_request<T: DeserializeOwned>() -> io::Result<T> {
    let line = bounded::read_line(&mut io::stdin().lock(), MAX_REQUEST_SIZE)?;
    Ok(serde_json::from_slice(&line.unwrap_or_default())?)
}

/// Waits until the orchestrator closes its end, then exits immediately. This ends every driver and
/// mount, because the agent is the first process of its namespace. Until then, it passes on the orders
/// to one of several hosts.
fn end_with_orchestrator(orders: Option<OrderReader>) {
    // End of file and read errors both mean that the orchestrator has disconnected.
    while let Ok(Some(line)) = bounded::read_line(&mut io::stdin().lock(), MAX_REQUEST_SIZE) {
        orders.iter().for_each(|orders| orders.take(&line));
    }
    crate::sandbox::isolation::kill_namespace();
    std::process::exit(ORPHANED);
}
