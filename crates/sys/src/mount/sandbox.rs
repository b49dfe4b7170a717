//! Restricts a process and its children: read-only mounts, a private `/dev`, fewer capabilities.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

/// Nodes that filesystem programs expect, if this machine has them.
const NODES: [&str; 9] =
    ["null", "zero", "full", "random", "urandom", "tty", "fuse", "btrfs-control", "zfs"];
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
];

/// Capabilities that filesystem programs do not need: make nodes, load modules, restart the
/// machine, address hardware, inspect other processes, set the clock, change the network. Numbers:
/// `include/uapi/linux/capability.h`.
pub const UNNEEDED_CAPABILITIES: [u32; 8] = [
    12, // CAP_NET_ADMIN
    13, // CAP_NET_RAW
    16, // CAP_SYS_MODULE
    17, // CAP_SYS_RAWIO
    19, // CAP_SYS_PTRACE
    22, // CAP_SYS_BOOT
    25, // CAP_SYS_TIME
    27, // CAP_MKNOD
];

/// Capabilities of administrators, which programs that only use files do not need: freeze or shut
/// down any filesystem that can be opened, make files immutable, rename the machine, clear the
/// kernel log, stop accounting.
pub const ADMINISTRATIVE_CAPABILITIES: [u32; 12] = [
    9,  // CAP_LINUX_IMMUTABLE
    20, // CAP_SYS_PACCT
    21, // CAP_SYS_ADMIN
    26, // CAP_SYS_TTY_CONFIG
    30, // CAP_AUDIT_CONTROL
    33, // CAP_MAC_ADMIN
    34, // CAP_SYSLOG
    35, // CAP_WAKE_ALARM
    36, // CAP_BLOCK_SUSPEND
    38, // CAP_PERFMON
    39, // CAP_BPF
    40, // CAP_CHECKPOINT_RESTORE
];

/// Makes mounts of this namespace read-only or writable: the mount at a directory, and all mounts
/// below it. Does not affect later mounts, or devices accessed through a device node.
///
/// # Errors
/// Returns `ENOSYS` before Linux 5.12.
pub fn set_read_only(below: &Path, read_only: bool) -> io::Result<()> {
    let below = CString::new(below.as_os_str().as_bytes())?;
    let mut attributes =
        libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    match read_only {
        true => attributes.attr_set = libc::MOUNT_ATTR_RDONLY,
        false => attributes.attr_clr = libc::MOUNT_ATTR_RDONLY,
    }
    // SAFETY: the path ends with a zero, the kernel reads as many bytes of the attributes as they have, and both
    // outlive the call.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            below.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match returned {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Mounts a `/dev` that contains only the nodes every program expects, these block devices, by path
/// and number, and these directories, which are below `/dev` (`/dev/shm`).
///
/// # Errors
/// Returns an error if it cannot be mounted or filled.
pub fn private_dev(devices: &[(PathBuf, (u64, u64))], directories: &[PathBuf]) -> io::Result<()> {
    let own: Vec<_> = NODES.iter().filter_map(|name| character_node(name)).collect();
    let kept = open_all(directories)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), "/dev", Some("tmpfs"), flags, Some("mode=755,size=1m"))?;
    for (path, number) in own {
        mknod(&path, SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), number)?;
    }
    for (target, name) in LINKS {
        symlink(target, Path::new("/dev").join(name))?;
    }
    for (path, (major, minor)) in devices {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        mknod(path, SFlag::S_IFBLK, mode, makedev(*major, *minor))?;
    }
    bind_again(kept)?;
    // Otherwise a program that uses the path of another device would create a file of that name.
    let read_only = flags | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    Ok(mount(None::<&str>, "/dev", None::<&str>, read_only, None::<&str>)?)
}

/// Mounts a `/run` in memory that contains only these directories, which are below `/run`.
///
/// # Errors
/// Returns an error if it cannot be mounted or filled.
pub fn private_run(directories: &[PathBuf]) -> io::Result<()> {
    let kept = open_all(directories)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), flags, Some("mode=755,size=64m"))?;
    bind_again(kept)
}

/// Creates an empty directory in memory for temporary files, up to 1 GiB.
///
/// # Errors
/// Returns an error if the directory cannot be created or mounted.
pub fn private_tmp(at: &Path) -> io::Result<()> {
    fs::create_dir(at)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some("tmpfs"), at, Some("tmpfs"), flags, Some("mode=1777,size=1g"))?)
}

/// Binds a directory to another one, or to itself, which gives it flags of its mount.
///
/// # Errors
/// Returns the error of the kernel.
pub fn bind(directory: &Path, at: &Path) -> io::Result<()> {
    Ok(mount(Some(directory), at, None::<&str>, MsFlags::MS_BIND, None::<&str>)?)
}

/// Opens directories that a mount is about to cover.
fn open_all(directories: &[PathBuf]) -> io::Result<Vec<(&PathBuf, File)>> {
    directories.iter().map(|path| Ok((path, File::open(path)?))).collect()
}

/// Makes covered directories visible again at their paths.
fn bind_again(directories: Vec<(&PathBuf, File)>) -> io::Result<()> {
    directories.into_iter().try_for_each(|(path, directory)| {
        fs::create_dir_all(path)?;
        bind(Path::new(&format!("/proc/self/fd/{}", directory.as_raw_fd())), path)
    })
}

fn character_node(name: &str) -> Option<(PathBuf, libc::dev_t)> {
    let path = Path::new("/dev").join(name);
    let metadata = fs::metadata(&path).ok()?;
    let is_node = metadata.file_type().is_char_device();
    is_node.then(|| (path, metadata.rdev()))
}

/// Drops capabilities for all programs that this thread starts afterwards. Skips those that this
/// kernel does not know.
///
/// # Errors
/// Returns an error without root.
pub fn drop_capabilities(capabilities: &[u32]) -> io::Result<()> {
    capabilities.iter().try_for_each(|capability| {
        // SAFETY: this request takes a number and does not access memory of this process.
        let returned =
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(*capability)) };
        match returned {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                unknown if unknown.raw_os_error() == Some(libc::EINVAL) => Ok(()),
                error => Err(error),
            },
        }
    })
}

/// `CAP_SYS_RESOURCE`, which growing a mounted ext4 requires. Some containers lack it.
pub const SYS_RESOURCE: u32 = 24;

/// Returns true if programs can have this capability.
pub fn has_capability(capability: u32) -> bool {
    // SAFETY: this request takes a number and does not access memory of this process.
    unsafe { libc::prctl(libc::PR_CAPBSET_READ, libc::c_ulong::from(capability)) == 1 }
}

/// Whether an error means that this kernel lacks a feature, rather than that it refuses the
/// request.
pub fn is_missing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported
        || matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP))
}
