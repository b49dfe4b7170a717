//! Drives one cell from inside: makes the filesystem, mounts it, runs the phases, cleans up.
//!
//! The agent is the same program as the orchestrator, started as a child process in namespaces of
//! its own, so that its end is the end of everything that it mounted or started. It reads one
//! [`wire::Job`] and writes [`wire::Event`]s; it keeps nothing and judges nothing.

mod command;
mod command_runner;
mod cpu_profile;
mod event_writer;
mod guest;
mod hang_report;
mod heartbeat;
mod isolation;
mod iterations;
mod kernel_memory;
mod kernel_symbols;
mod program_output;
mod request_log;
mod sandbox;
mod session;
mod shared_memory;
mod shell;
mod source;
mod volume;

use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use model::Failure;
use wire::{CellEvent, CellJob, SourceLocation, WorkTarget};

use crate::event_writer::EventWriter;
use crate::kernel_memory::KernelMemoryProbe;
use crate::sandbox::SandboxedRunner;

pub use guest::run_guest_init;
pub use isolation::spawn_isolated;
pub use shell::{SHELL_READY, run_shell};
pub use source::{STEP as SOURCE_STEP, survey};

/// Exit code of an agent whose orchestrator went away.
const ORPHANED: i32 = 3;

/// Reads a job from standard input, does it, and says on standard output how it went; `restricted` on a host, where
/// others have devices and files, too.
///
/// # Errors
/// When the job cannot be read, is of another version, or /proc and /run cannot be mounted.
pub fn serve(restricted: bool) -> io::Result<ExitCode> {
    let events = EventWriter::new(io::stdout());
    events.send(&CellEvent::Hello {
        version: wire::VERSION,
    });
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let job: CellJob = serde_json::from_str(&line)?;
    if let Some(Err(reason)) = job
        .source
        .as_ref()
        .map(|source| source::mount(&source.place))
    {
        events.send(&CellEvent::EnvironmentFault { reason });
        events.send(&CellEvent::Done);
        return Ok(ExitCode::SUCCESS);
    }
    isolation::enter_namespaces()?;
    if job.version != wire::VERSION {
        let theirs = job.version;
        return Err(io::Error::other(format!(
            "the job is of version {theirs}, not {}",
            wire::VERSION
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

/// Restricts the agent, where it is to be, and starts the threads that watch over a session.
fn begin<'a>(
    job: &'a CellJob,
    events: &EventWriter,
    restricted: bool,
) -> io::Result<session::Session<'a>> {
    let runner = match &job.target {
        WorkTarget::Volume(volume) if restricted => {
            let path = command::search_path();
            let programs = std::env::split_paths(&path);
            let places = [Some(volume.mountpoint.clone()), job.archives.clone()];
            let used: Vec<PathBuf> = programs.chain(places.into_iter().flatten()).collect();
            sandbox::enter(volume, &used)?;
            SandboxedRunner::restricted(volume)?
        }
        _ => SandboxedRunner::unrestricted(),
    };
    thread::Builder::new().spawn(end_with_orchestrator)?;
    if let Some(silence) = job.stacks_after {
        hang_report::watch(events.clone(), silence)?;
    }
    // Whoever need not be restricted has a guest's kernel, but for a directory, for itself.
    let own_kernel = !restricted && matches!(job.target, WorkTarget::Volume(_));
    let footprint = KernelMemoryProbe::baseline(job, own_kernel);
    session::Session::new(job, events.clone(), runner, footprint)
}

/// Reads from standard input where a source of the user's is, and writes to standard output what is in it; in mounts
/// of its own, which go with this process.
///
/// # Errors
/// When there is no such place, it cannot be read, or without root.
pub fn serve_survey() -> io::Result<ExitCode> {
    sys::namespace::set_pdeathsig()?;
    sys::namespace::unshare()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let place: SourceLocation = serde_json::from_str(&line)?;
    let contents = survey(&place).map_err(io::Error::other)?;
    println!("{}", serde_json::to_string(&contents)?);
    Ok(ExitCode::SUCCESS)
}

/// Waits until the orchestrator closes its end and ends the agent there and then, and with it, as
/// it is the first process of its namespace, every driver and every mount.
fn end_with_orchestrator() {
    let mut rest = Vec::new();
    // Whatever comes, end of file or error: nobody is listening any more.
    let _ = io::stdin().lock().read_to_end(&mut rest);
    isolation::kill_namespace();
    std::process::exit(ORPHANED);
}
