//! Private namespaces for a cell: what is mounted and started in them ends with their first process.

use std::io;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{self, CloneFlags};
use nix::sys::prctl;
use nix::sys::signal::Signal;

/// Gives this process a private mount namespace, and its next child a private PID namespace.
///
/// # Errors
/// Returns an error without root, or in a chroot whose root is not a mount point.
pub fn unshare() -> io::Result<()> {
    sched::unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID)?;
    // Otherwise mounts made here would appear outside where `/` is shared (systemd makes it so).
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    match mount(None::<&str>, "/", None::<&str>, private, None::<&str>) {
        Err(Errno::EINVAL) => Err(io::Error::other(
            "mounts cannot be made private: `/` is no mount point, as in a chroot; run outside of it",
        )),
        other => Ok(other?),
    }
}

/// Furnishes the namespace from inside: its own `/proc`, and an empty `/run` for the drivers' files.
///
/// # Errors
/// When one of them cannot be mounted.
pub fn mount_proc_and_run() -> io::Result<()> {
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), safe, None::<&str>)?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        safe,
        Some("mode=755,size=64m"),
    )?;
    std::fs::create_dir_all("/run/lock")
}

/// Asks the kernel to kill this process when the thread that started it ends.
///
/// # Errors
/// Never on a Linux that fsarena supports.
pub fn set_pdeathsig() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}
