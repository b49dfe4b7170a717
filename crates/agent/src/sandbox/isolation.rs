//! Runs the agent in separate namespaces.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::mount::namespace;

/// Base of exit codes that report a signal: the rest is the number of the signal that killed the
/// inner agent.
const SIGNAL_EXIT_BASE: i32 = 128;

/// Starts the agent as the first process of new mount and PID namespaces and waits for it to exit.
/// On a host, the agent is restricted further; in a guest, this is not necessary.
///
/// # Errors
/// Returns an error if the caller is not root or the program cannot be started again.
pub fn spawn_isolated(on_host: bool) -> io::Result<ExitCode> {
    namespace::set_pdeathsig()?;
    namespace::unshare()?;
    let mut agent = Command::new("/proc/self/exe");
    agent.arg("agent");
    if on_host {
        agent.arg("--restricted");
    }
    let status = agent.status()?;
    // A signal is encoded as in shells: 128 + number.
    let code = status.code().or(status.signal().map(|s| SIGNAL_EXIT_BASE + s));
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Sets up the namespaces: mounts a private `/proc` and `/run` if the agent is the first process.
pub fn enter_namespaces() -> io::Result<()> {
    if is_first() {
        // The first process must survive its parent, because it has to stop the drivers first.
        namespace::mount_proc_and_run()
    } else {
        namespace::set_pdeathsig()
    }
}

/// Kills all other processes of the namespace. The exit of the agent would also kill them, but one
/// of its calls may block uninterruptibly on a driver that never answers.
pub fn kill_namespace() {
    if is_first() {
        // Fails if no other process exists.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    }
}

/// Returns true if this is the first process of its PID namespace. All other processes in it are
/// then drivers.
pub fn is_first() -> bool {
    Pid::this().as_raw() == 1
}
