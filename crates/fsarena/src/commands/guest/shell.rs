//! `fsarena guest shell`: boots a guest with a mounted filesystem, and connects its console to the
//! terminal.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::slice;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use backend::{DiskLocation, StandaloneGuestCell};
use guest::{Clock, InitramfsContents};
use model::Test;
use sys::process;

use crate::args::cli::GlobalArgs;
use crate::args::guest_args::ShellArgs;
use crate::commands::guest as guest_command;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::text::print_note;
use crate::paths;

/// Maximum time until the shell of a guest is ready, if its input is not a terminal at which a user
/// would notice the failure.
const BOOT_TIMEOUT: Duration = Duration::from_secs(90);

/// Boots the guest, and waits until it exits.
pub fn run(args: &ShellArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let contender = catalog.contender(&args.contender)?;
    let guest = guest_command::obtain_with_progress(
        &catalog,
        &args.made_of,
        slice::from_ref(&args.contender),
        globals,
    )?;
    let cell = StandaloneGuestCell::new(contender, args.size, DiskLocation::GuestMemory, &guest)?;
    let directory = tempfile::tempdir().context("no directory for the guest")?;
    let job = cell.job(nothing());
    let program = std::env::current_exe().context("cannot find this program")?;
    let executor = cell.executor(guest.into(), &program, Clock::Real, directory.path())?;
    let first = directory.path().join("first-filesystem");
    let line = job.to_line();
    let contents = InitramfsContents {
        agent: &executor.program,
        modules: &executor.modules,
        programs: &executor.programs,
        commands: &executor.commands,
        archives: &[],
        disk: executor.disk_in_memory(),
        job: Some(&line),
    };
    executor.guest.write_initramfs(&contents, &first)?;
    let mut command = executor.machine.shell(&executor.guest, &first, &[]);
    process::set_pdeathsig(&mut command);
    let status = if io::stdin().is_terminal() {
        if !globals.quiet {
            print_note("the guest boots; Ctrl-A X kills it");
        }
        command.status().context("QEMU cannot be started")?
    } else {
        relay(&mut command)?
    };
    if status.success() {
        Ok(ExitReason::Success.into())
    } else {
        Err(EnvironmentError(format!("QEMU failed: {status}")).into())
    }
}

/// Returns a test without operations.
fn nothing() -> Test {
    Test {
        name: "shell".to_owned(),
        suite: "shell".to_owned(),
        title: String::new(),
        rationale: String::new(),
        space: model::Bytes(0),
        data: model::DataKind::default(),
        sweep: None,
        phases: Vec::new(),
    }
}

/// Relays commands from a pipe: holds them back until the shell is ready, and ends the shell after
/// the last one.
fn relay(command: &mut Command) -> anyhow::Result<ExitStatus> {
    let mut guest = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("QEMU cannot be started")?;
    let (ready, is_ready) = mpsc::channel();
    // If the thread cannot start, this process exits, which also ends the guest.
    let shown = show(&mut guest, ready).context("cannot start a thread")?;
    match is_ready.recv_timeout(BOOT_TIMEOUT) {
        Ok(()) => dictate(&mut guest).context("cannot start a thread")?,
        // The guest exited early. Its output is already shown.
        Err(mpsc::RecvTimeoutError::Disconnected) => {}
        Err(mpsc::RecvTimeoutError::Timeout) => {
            guest.kill()?;
            guest.wait()?;
            let reason = format!("the guest did not come up within {} s", BOOT_TIMEOUT.as_secs());
            return Err(EnvironmentError(reason).into());
        }
    }
    let status = guest.wait()?;
    // The thread ends when the guest exits.
    let _ = shown.join();
    Ok(status)
}

/// Copies the guest's output to standard output, and signals when its shell is ready.
fn show(guest: &mut Child, ready: Sender<()>) -> io::Result<JoinHandle<()>> {
    let mut from = guest.stdout.take().expect("piped in `relay`");
    thread::Builder::new().spawn(move || {
        let mut said = Vec::new();
        let mut ready = Some(ready);
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let piece = &piece[..length];
            // A closed standard output must not stop the guest.
            let _ = io::stdout().write_all(piece).and_then(|()| io::stdout().flush());
            if let Some(sender) = &ready {
                said.extend_from_slice(piece);
                if String::from_utf8_lossy(&said).contains(agent::SHELL_READY) {
                    let _ = sender.send(());
                    ready = None;
                }
            }
        }
    })
}

/// Copies standard input to the guest. The thread is not joined, because standard input may stay
/// open after the guest ends.
fn dictate(guest: &mut Child) -> io::Result<()> {
    let mut to = guest.stdin.take().expect("piped in `relay`");
    let dictation = thread::Builder::new().spawn(move || {
        let passed = io::copy(&mut io::stdin().lock(), &mut to);
        if passed.is_ok() && to.write_all(b"\nexit\n").is_ok() {
            // The guest does not notice the end of its console; it exits by itself.
            let _ = to.flush();
            thread::park();
        }
    });
    dictation.map(drop)
}
