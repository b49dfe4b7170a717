//! Tasks of the first process of a machine: mounts the kernel's virtual filesystems, loads modules
//! and powers the machine off.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

/// Mounts the filesystems that every program expects: `/proc`, `/sys` and `/dev`.
///
/// # Errors
/// Returns an error if a directory does not exist, or if the kernel refuses.
pub fn mount_kernel_filesystems() -> io::Result<()> {
    for (kind, on) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount(Some(kind), on, Some(kind), MsFlags::empty(), None::<&str>)?;
    }
    Ok(())
}

/// Random bytes for the kernel (`struct rand_pool_info` of linux/random.h).
#[repr(C)]
struct Entropy {
    /// Number of unpredictable bits.
    bits: libc::c_int,
    /// Size of the pool in bytes.
    size: libc::c_int,
    pool: [u8; 32],
}

/// `_IOW('R', 0x03, int[2])`.
/// Source: include/uapi/linux/random.h.
const RNDADDENTROPY: u32 = 0x4008_5203;

/// Credits these bytes to the kernel as random, so that programs need not wait for entropy. Only
/// for a machine without secrets.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn seed_random(pool: [u8; 32]) -> io::Result<()> {
    let entropy =
        Entropy { bits: pool.len() as libc::c_int * 8, size: pool.len() as libc::c_int, pool };
    let device = File::options().write(true).open("/dev/urandom")?;
    // SAFETY: the kernel reads one `struct rand_pool_info` from the pointer, which is valid for the whole call,
    // has the kernel's layout (repr(C)) and holds as many bytes as it says; the descriptor is open.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), RNDADDENTROPY as _, &raw const entropy) };
    Errno::result(answer)?;
    Ok(())
}

/// Mounts the configuration filesystem of drivers (configfs). Its driver must be loaded.
///
/// # Errors
/// Returns an error if the driver is not loaded, or if the kernel refuses.
pub fn mount_configfs(on: &Path) -> io::Result<()> {
    let kind = Some("configfs");
    Ok(mount(kind, on, kind, MsFlags::empty(), None::<&str>)?)
}

/// Loads a kernel module with parameters. An already loaded module is not an error.
///
/// # Errors
/// Returns an error if the file cannot be read or if the kernel refuses it.
pub fn load_module(path: &Path, parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters)?;
    match finit_module(File::open(path)?, &parameters, ModuleInitFlags::empty()) {
        Err(Errno::EEXIST) => Ok(()),
        other => Ok(other?),
    }
}

/// Writes all data to disk and powers the machine off. Returns only on failure.
pub fn power_off() -> io::Error {
    nix::unistd::sync();
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(error) => error.into(),
    }
}
