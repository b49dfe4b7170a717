//! Private namespaces for a cell. Mounts and processes in them end with their first process.

use std::io;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{self, CloneFlags};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::mount::sandbox;

/// Gives this process private mounts, and the namespaces of [`unshare_processes`].
///
/// # Errors
/// Returns an error without root, or in a chroot whose root is not a mount point.
pub fn unshare() -> io::Result<()> {
    unshare_mounts()?;
    unshare_processes()
}

/// Gives this thread private IPC and UTS namespaces, and its next child a private PID namespace,
/// in which all later children are too. Semaphores, queues and shared memory of programs then end
/// with them, and a changed host name affects only them. Signals reach no other process.
///
/// # Errors
/// Returns an error without root.
pub fn unshare_processes() -> io::Result<()> {
    sched::unshare(CloneFlags::CLONE_NEWPID)?;
    for namespace in [CloneFlags::CLONE_NEWIPC, CloneFlags::CLONE_NEWUTS] {
        match sched::unshare(namespace) {
            // The kernel of a guest may lack such namespaces.
            Ok(()) | Err(Errno::EINVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Gives this thread private mounts.
///
/// # Errors
/// Returns the errors of [`unshare`].
pub fn unshare_mounts() -> io::Result<()> {
    sched::unshare(CloneFlags::CLONE_NEWNS)?;
    make_private()
}

fn make_private() -> io::Result<()> {
    // Otherwise, if `/` is shared (as by systemd), mounts made here would appear outside the
    // namespace.
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    match mount(None::<&str>, "/", None::<&str>, private, None::<&str>) {
        Err(Errno::EINVAL) => Err(io::Error::other(
            "mounts cannot be made private: `/` is no mount point, as in a chroot; run outside of it",
        )),
        other => Ok(other?),
    }
}

/// Mounts a separate `/proc` in the namespace, and an empty `/run` for files of drivers.
///
/// # Errors
/// Returns an error if one of them cannot be mounted.
pub fn mount_proc_and_run() -> io::Result<()> {
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), safe, None::<&str>)?;
    sandbox::private_run(&[])?;
    std::fs::create_dir_all("/run/lock")
}

/// Asks the kernel to kill this process when the thread that started it ends.
///
/// # Errors
/// Returns no error on any Linux that fsarena supports.
pub fn set_pdeathsig() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}
