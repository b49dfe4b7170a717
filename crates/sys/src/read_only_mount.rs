//! Mounts that take no writes, start no programs and open no devices; private to the namespace of whoever makes them.

use std::io;
use std::path::Path;

use nix::mount::{MsFlags, mount};

/// The same as words of mount(8).
pub const OPTIONS: &str = "ro,nosuid,nodev,noexec";

const FLAGS: MsFlags = MsFlags::MS_RDONLY
    .union(MsFlags::MS_NOSUID)
    .union(MsFlags::MS_NODEV)
    .union(MsFlags::MS_NOEXEC);

/// Binds a directory to another one; what is mounted below it is not there.
///
/// # Errors
/// What the kernel says.
pub fn bind(directory: &Path, at: &Path) -> io::Result<()> {
    mount(
        Some(directory),
        at,
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    )?;
    let again = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | FLAGS;
    Ok(mount(None::<&str>, at, None::<&str>, again, None::<&str>)?)
}

/// Mounts the filesystem of this kind that is on a device.
///
/// # Errors
/// What the kernel says.
pub fn mount_device(device: &Path, at: &Path, kind: &str) -> io::Result<()> {
    Ok(mount(Some(device), at, Some(kind), FLAGS, None::<&str>)?)
}
