//! The agent as the first process of a guest for interactive use. It creates and mounts the
//! filesystem of its job and gives the console to a shell. It measures nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::process::Command;

use model::CommandRecord;
use model::wire::{CellJob, Volume, WorkTarget};

use crate::cell::volume::{CellVolume, StepResult};
use crate::guest;
use crate::sandbox::SandboxedRunner;
use crate::sandbox::command::CommandFailed;

/// Printed when the shell is about to start and accepts input.
pub const SHELL_READY: &str = "`exit` ends the guest";
const CONSOLE: &str = "/dev/ttyS0";
const TOOLS: &str = "/bin/busybox";
/// Directory of links to the multi-call program; programs with a separate binary come first in the
/// search path.
const TOOL_NAMES: &str = "/names";
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/names";

/// Runs the guest until the shell exits. Returns only if the machine cannot be powered off.
pub fn run_shell() -> io::Error {
    if let Err(error) = attend() {
        eprintln!("fsarena: there is no shell: {error}");
    }
    sys::machine::power_off()
}

fn attend() -> io::Result<()> {
    guest::prepare_machine()?;
    fs::create_dir_all("/run/lock")?;
    let job = guest::job()?.ok_or_else(|| io::Error::other("there is no job"))?;
    let job: CellJob = serde_json::from_str(&job)?;
    let WorkTarget::Volume(volume) = &job.target else {
        return Err(io::Error::other("the job is about a directory"));
    };
    make(volume);
    shell(volume)
}

/// Creates and mounts the filesystem. On failure, the shell can be used to find the cause.
fn make(volume: &Volume) {
    let mut mounted = CellVolume::new(volume, SandboxedRunner::Unrestricted);
    if let Err(failure) = mounted.assemble().and_then(|()| mounted.wipe()) {
        eprintln!("{}", failure.reason);
    }
    let made = !mounted.has_mkfs() || tell(mounted.mkfs());
    if made && tell(mounted.mount()) {
        eprintln!("mounted on {}", volume.mountpoint.display());
    }
}

/// Prints the executed commands and their output. Returns true on success.
fn tell(step: StepResult) -> bool {
    let show = |record: &CommandRecord| {
        eprintln!("$ {}", record.command.join(" "));
        if !record.output.is_empty() {
            eprintln!("{}", record.output);
        }
    };
    match step {
        Ok(records) => {
            records.iter().for_each(show);
            true
        }
        Err(CommandFailed { record, failure }) => {
            record.iter().for_each(show);
            eprintln!("{}", failure.reason);
            false
        }
    }
}

/// Runs a shell in a separate session, so that Ctrl-C interrupts its command and not the shell.
fn shell(volume: &Volume) -> io::Result<()> {
    fs::create_dir_all(TOOL_NAMES)?;
    let install = ["--install", "-s", TOOL_NAMES];
    Command::new(TOOLS).args(install).status()?;
    eprintln!("{SHELL_READY}");
    Command::new(TOOLS)
        .args(["setsid", "-c", "sh"])
        .current_dir(&volume.mountpoint)
        .env_clear()
        .envs([("PATH", SEARCH_PATH), ("HOME", "/"), ("TERM", "linux")])
        .env("PS1", "guest:\\w # ")
        .stdin(console()?)
        .stdout(console()?)
        .stderr(console()?)
        .status()?;
    Ok(())
}

fn console() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(CONSOLE)
}
