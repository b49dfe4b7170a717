//! Read-only mounts without programs and devices, private to the namespace of the process that
//! creates them.

use std::io;
use std::path::Path;

use nix::mount::{MsFlags, mount};

/// The mount flags as options of mount(8).
pub const OPTIONS: &str = "ro,nosuid,nodev,noexec";

const FLAGS: MsFlags =
    MsFlags::MS_RDONLY.union(MsFlags::MS_NOSUID).union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);

/// Binds a directory to another one, without the mounts below it.
///
/// # Errors
/// Returns the error of the kernel.
pub fn bind(directory: &Path, at: &Path) -> io::Result<()> {
    mount(Some(directory), at, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    let again = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | FLAGS;
    Ok(mount(None::<&str>, at, None::<&str>, again, None::<&str>)?)
}

/// Mounts the filesystem of this kind that is on a device.
///
/// # Errors
/// Returns the error of the kernel.
pub fn mount_device(device: &Path, at: &Path, kind: &str) -> io::Result<()> {
    Ok(mount(Some(device), at, Some(kind), FLAGS, None::<&str>)?)
}
