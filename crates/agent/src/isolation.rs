//! Putting the agent into namespaces of its own.

use std::io;
use std::process::{Command, ExitCode};

use nix::unistd::Pid;
use sys::namespace;

/// Starts the agent as the first process of new mount and PID namespaces and waits for its end.
///
/// # Errors
/// Without root, or when the program cannot be started again.
pub fn isolate() -> io::Result<ExitCode> {
    namespace::die_with_parent()?;
    namespace::leave()?;
    let status = Command::new("/proc/self/exe").arg("agent").status()?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Settles in: a private `/proc` and `/run` where the agent is first in its namespace.
pub fn settle() -> io::Result<()> {
    namespace::die_with_parent()?;
    if is_first() {
        namespace::furnish()?;
    }
    Ok(())
}

/// Whether this is the first process of its PID namespace, so that all others there are drivers.
pub fn is_first() -> bool {
    Pid::this().as_raw() == 1
}
