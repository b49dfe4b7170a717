//! The kernel's loop driver: creates a device, attaches a file to it, detaches the file and removes
//! the device.
//!
//! Layouts and numbers from `include/uapi/linux/loop.h`. The caller decides which file to attach
//! and how to handle errors.

use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::AsRawFd;
use std::os::raw::{c_int, c_ulong};

const LOOP_CLR_FD: c_ulong = 0x4c01;
const LOOP_GET_STATUS64: c_ulong = 0x4c05;
const LOOP_CONFIGURE: c_ulong = 0x4c0a;
const LOOP_CTL_ADD: c_ulong = 0x4c80;
const LOOP_CTL_REMOVE: c_ulong = 0x4c81;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
const LO_NAME_SIZE: usize = 64;
const LO_KEY_SIZE: usize = 32;

/// `struct loop_info64`. All fields are plain numbers, so every bit pattern is valid.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; LO_NAME_SIZE],
    crypt_name: [u8; LO_NAME_SIZE],
    encrypt_key: [u8; LO_KEY_SIZE],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

// The kernel copies exactly these sizes.
const _: () = assert!(size_of::<LoopInfo>() == 232);
const _: () = assert!(size_of::<LoopConfig>() == 304);

/// Creates the loop device of this number, in its initial state.
///
/// # Errors
/// Returns `EEXIST` if it exists, or another error of the kernel; `control` must be
/// `/dev/loop-control`.
pub fn add(control: &File, number: u32) -> io::Result<()> {
    control_request(control, LOOP_CTL_ADD, number)
}

/// Removes an unused loop device.
///
/// # Errors
/// Returns `EBUSY` if it is open or has a backing file, `ENODEV` if it does not exist; `control`
/// must be `/dev/loop-control`.
pub fn remove(control: &File, number: u32) -> io::Result<()> {
    control_request(control, LOOP_CTL_REMOVE, number)
}

fn control_request(control: &File, request: c_ulong, number: u32) -> io::Result<()> {
    // SAFETY: these requests take a number and do not access memory of this process; the descriptor
    // is open for as long as `control` is borrowed.
    checked(unsafe { libc::ioctl(control.as_raw_fd(), request as _, c_ulong::from(number)) })
}

/// Attaches a file to an unused loop device, atomically. The device detaches the file when its last
/// user closes it. With `direct` the device bypasses the page cache of the file, if the filesystem
/// below supports it.
///
/// # Errors
/// Returns `EBUSY` if another process has taken the device, `EINVAL` if direct I/O is refused, or
/// another error of the kernel.
pub fn attach(device: &File, backing: &File, name: &str, direct: bool) -> io::Result<()> {
    let config = LoopConfig {
        fd: u32::try_from(backing.as_raw_fd()).map_err(io::Error::other)?,
        block_size: 0,
        info: LoopInfo {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR | if direct { LO_FLAGS_DIRECT_IO } else { 0 },
            file_name: file_name(name),
            crypt_name: [0; LO_NAME_SIZE],
            encrypt_key: [0; LO_KEY_SIZE],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: the kernel reads one `struct loop_config` from the pointer, which is valid for the
    // whole call and has the kernel's layout (repr(C), sizes asserted above); both descriptors are
    // open for as long as the files are borrowed. The kernel takes its own reference to `backing`.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) })
}

/// The backing file or device of a loop device, identified like in stat(2), independent of its
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backing {
    /// Device number of the filesystem that contains the file.
    pub device: u64,
    /// Inode number of the file.
    pub inode: u64,
    /// Device number if the backing is a device; zero if it is a file.
    pub own_device: u64,
}

/// Returns the backing file or device of a loop device.
///
/// # Errors
/// Returns `ENXIO` if it has none.
pub fn backing(device: &File) -> io::Result<Backing> {
    let mut info = MaybeUninit::<LoopInfo>::zeroed();
    // SAFETY: the kernel writes one `struct loop_info64` to the pointer, which is valid for the whole call and has
    // the kernel's layout (repr(C), size asserted above); the descriptor is open for as long as `device` is borrowed.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, info.as_mut_ptr()) })?;
    // SAFETY: every bit pattern is a value of this struct of numbers, and it was zero before.
    let info = unsafe { info.assume_init() };
    Ok(Backing { device: info.device, inode: info.inode, own_device: info.rdevice })
}

/// Detaches a loop device from its file. If other processes still have it open, this takes effect
/// when the last one closes it.
///
/// # Errors
/// Returns `ENXIO` if it has no file.
pub fn detach(device: &File) -> io::Result<()> {
    // SAFETY: this request takes no argument and does not access memory of this process; the
    // descriptor is open for as long as `device` is borrowed.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD as _) })
}

/// Returns the name that `losetup` shows, truncated to leave room for its terminating NUL.
fn file_name(name: &str) -> [u8; LO_NAME_SIZE] {
    let mut field = [0; LO_NAME_SIZE];
    let length = name.len().min(LO_NAME_SIZE - 1);
    field[..length].copy_from_slice(&name.as_bytes()[..length]);
    field
}

fn checked(answer: c_int) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_always_ends_with_nul() {
        assert_eq!(&file_name("img")[..4], b"img\0");
        assert_eq!(file_name(&"x".repeat(200))[62..], [b'x', 0]);
    }

    #[test]
    fn a_file_that_is_no_loop_device_gives_an_error() {
        let null = File::open("/dev/null").expect("every Linux has it");
        assert_eq!(detach(&null).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert!(add(&null, 0).is_err() && remove(&null, 0).is_err());
        assert!(attach(&null, &null, "x", true).is_err());
    }
}
