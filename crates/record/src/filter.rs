//! Filter for the system calls that stop a program. All other calls run at full speed.

use std::collections::BTreeMap;

use libc::sock_filter;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that always stop the program.
const CALLS: &[i64] = &[
    // Names.
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_statfs,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    // Data and attributes of open files.
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_lseek,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_splice,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_getdents,
    libc::SYS_getdents64,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fremovexattr,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_flock,
    // Descriptors.
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    // Messages.
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    // Processes.
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // Calls that change the meaning of names or bypass the recorder.
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_io_uring_setup,
    libc::SYS_io_submit,
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
    libc::SYS_vmsplice,
    libc::SYS_tee,
];

/// Number of `fchmodat2`, which libc does not define on all platforms.
pub const FCHMODAT2: i64 = 452;

/// `FS_IOC_SETFLAGS` of linux/fs.h.
pub const SET_FLAGS: u64 = 0x4008_6602;
/// `FICLONE` of linux/fs.h.
pub const CLONE: u64 = 0x4004_9409;
/// `FICLONERANGE` of linux/fs.h.
pub const CLONE_RANGE: u64 = 0x4020_940d;
/// `FIDEDUPERANGE` of linux/fs.h.
pub const DEDUPLICATE: u64 = 0xc018_9436;

/// Requests of `fcntl` that stop the program. The last two are for locks of open file descriptions
/// (`F_OFD_SETLK`).
const FCNTL: &[u64] = &[
    libc::F_DUPFD as u64,
    libc::F_DUPFD_CLOEXEC as u64,
    libc::F_SETFD as u64,
    libc::F_SETFL as u64,
    libc::F_SETLK as u64,
    libc::F_SETLKW as u64,
    libc::F_OFD_SETLK as u64,
    libc::F_OFD_SETLKW as u64,
];

/// Requests of `ioctl` that stop the program.
const IOCTL: &[u64] = &[libc::FIOCLEX, libc::FIONCLEX, SET_FLAGS, CLONE, CLONE_RANGE, DEDUPLICATE];

/// Returns the filter program for the kernel. Calls of another instruction set, such as those of a
/// 32-bit program, also stop the program. The check that the library generates would kill it.
///
/// # Errors
/// Returns an error if the library cannot compile the filter.
pub fn program() -> Result<Vec<sock_filter>, BackendError> {
    let argument = |index, operator, value| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
    };
    let rule = |condition| SeccompRule::new(vec![condition]);
    let one_of = |values: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        let conditions = values.iter().map(|value| argument(1, SeccompCmpOp::Eq, *value));
        conditions.map(|condition| rule(condition?)).collect()
    };
    // Anonymous memory is not recorded.
    let anonymous = SeccompCmpOp::MaskedEq(libc::MAP_ANONYMOUS as u64);
    let of_a_file = vec![rule(argument(3, anonymous, 0)?)?];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_mmap, of_a_file);
    rules.insert(libc::SYS_fcntl, one_of(FCNTL)?);
    rules.insert(libc::SYS_ioctl, one_of(IOCTL)?);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Trace(0),
        TargetArch::x86_64,
    )?;
    let program: BpfProgram = filter.try_into()?;
    let program = program.iter().map(|step| sock_filter {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    });
    Ok(other_instruction_sets().into_iter().chain(program).collect())
}

/// Returns instructions that stop calls without x86-64 numbers. Source: seccomp(2), `struct
/// seccomp_data`.
fn other_instruction_sets() -> [sock_filter; 3] {
    const ARCHITECTURE: u32 = 4;
    let step = |code: u32, jt, k| sock_filter { code: code as u16, jt, jf: 0, k };
    [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, ARCHITECTURE),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, sys::ptrace::X86_64),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_TRACE),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_named_once_and_the_filter_fits_the_kernel() {
        let mut calls = CALLS.to_vec();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), CALLS.len());
        let program = program().unwrap();
        assert!(program.len() <= usize::try_from(libc::BPF_MAXINSNS).unwrap());
    }
}
