//! Limits the block devices that processes of a control group may open, with a BPF program that the
//! kernel runs for each access.
//!
//! Source: "Device controller" in Documentation/admin-guide/cgroup-v2.rst, and
//! `include/uapi/linux/bpf.h`, of the kernel.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const BPF_PROG_LOAD: u32 = 5;
const BPF_PROG_ATTACH: u32 = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
/// Constants of `struct bpf_cgroup_dev_ctx`. The type is in the lower half of the first word.
const BPF_DEVCG_DEV_BLOCK: i32 = 1;
const ACCESS_TYPE: i16 = 0;
const MAJOR: i16 = 4;
const MINOR: i16 = 8;

/// `struct bpf_insn`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination in the lower four bits, source in the upper four bits.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Part of `union bpf_attr` for loading a program.
#[repr(C)]
struct Load {
    kind: u32,
    length: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// Part of `union bpf_attr` for attaching a program.
#[repr(C)]
struct Attach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

/// Allows the processes of a control group (version 2), given by its open directory, to open only
/// these block devices, by major and minor number. Replaces an earlier filter.
///
/// # Errors
/// Returns an error without root, or if the kernel does not support such filters.
pub fn allow_only(group: &File, devices: &[(u64, u64)]) -> io::Result<()> {
    let program = load(&program(devices)?)?;
    let attach = Attach {
        target: number(group.as_raw_fd())?,
        program: number(program.as_raw_fd())?,
        kind: BPF_CGROUP_DEVICE,
        flags: 0,
    };
    // SAFETY: `Attach` begins like the union, and the kernel treats the remaining bytes as zero.
    unsafe { bpf(BPF_PROG_ATTACH, &attach) }.map(drop)
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let load = Load {
        kind: BPF_PROG_TYPE_CGROUP_DEVICE,
        length: u32::try_from(program.len()).map_err(io::Error::other)?,
        instructions: program.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: `Load` begins as the union does; the instructions and the license, which ends with a zero, outlive
    // the call, and the kernel only reads them.
    let descriptor = unsafe { bpf(BPF_PROG_LOAD, &load) }?;
    // SAFETY: the kernel has just created this descriptor, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Calls bpf(2).
///
/// # Safety
/// `attributes` must be a prefix of `union bpf_attr` that fits the command, and its pointers must
/// be valid for that command.
// SAFETY: said above, for the caller.
unsafe fn bpf<T>(command: u32, attributes: &T) -> io::Result<RawFd> {
    let attributes = std::ptr::from_ref(attributes);
    // SAFETY: the kernel reads as many bytes as are said here, which the reference holds.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    match RawFd::try_from(returned) {
        Ok(descriptor) if descriptor >= 0 => Ok(descriptor),
        _ => Err(io::Error::last_os_error()),
    }
}

fn number(descriptor: RawFd) -> io::Result<u32> {
    u32::try_from(descriptor).map_err(io::Error::other)
}

/// Builds a program that returns 1 (allowed) for these block devices and for all other kinds of
/// devices, and 0 for all other block devices.
fn program(devices: &[(u64, u64)]) -> io::Result<Vec<Instruction>> {
    let context = 1;
    let mut program = vec![
        load_word(2, context, ACCESS_TYPE),
        keep_lower_half(2),
        skip_if_equal(2, BPF_DEVCG_DEV_BLOCK, 2),
        answer(1),
        exit(),
        load_word(3, context, MAJOR),
        load_word(4, context, MINOR),
    ];
    for &(major, minor) in devices {
        let small = |number| i32::try_from(number).map_err(io::Error::other);
        program.extend([
            skip_if_not_equal(3, small(major)?, 3),
            skip_if_not_equal(4, small(minor)?, 2),
            answer(1),
            exit(),
        ]);
    }
    program.extend([answer(0), exit()]);
    Ok(program)
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers, offset, immediate }
}

/// Returns the instruction `destination = *(u32 *)(source + offset)`.
const fn load_word(destination: u8, source: u8, offset: i16) -> Instruction {
    instruction(0x61, destination | source << 4, offset, 0)
}

/// `register &= 0xffff`.
const fn keep_lower_half(register: u8) -> Instruction {
    instruction(0x57, register, 0, 0xffff)
}

const fn skip_if_equal(register: u8, value: i32, skipped: i16) -> Instruction {
    instruction(0x15, register, skipped, value)
}

const fn skip_if_not_equal(register: u8, value: i32, skipped: i16) -> Instruction {
    instruction(0x55, register, skipped, value)
}

const fn answer(value: i32) -> Instruction {
    instruction(0xb7, 0, 0, value)
}

const fn exit() -> Instruction {
    instruction(0x95, 0, 0, 0)
}
