//! Handling of system calls at entry: their arguments, and whether their return must be traced.

use libc::c_long;
use sys::ptrace::SyscallEntry;
use trace::Syscall;

use crate::filter::{self, FCHMODAT2};
use crate::recorder::{Caller, Recorder, TracedTarget};
use crate::then::Then;

/// Value of a descriptor argument that stands for the working directory.
const HERE: u64 = libc::AT_FDCWD as u64;

/// Limitation: a 32-bit program, or one that makes 32-bit calls.
const OTHER_CALLS: &str = "A program made system calls of another instruction set, of 32 bits or so: none of them is \
                           in the trace.";

impl Recorder {
    /// Handles the entry of a call. Returns the action to take on its return, if any.
    pub fn begins(&mut self, caller: &Caller, entry: &SyscallEntry) -> Option<Then> {
        if entry.architecture != sys::ptrace::X86_64 {
            self.log.unseen.insert(OTHER_CALLS);
            return None;
        }
        let number = entry.number as c_long;
        self.names(caller, number, entry.arguments)
            .or_else(|| self.attributes(caller, number, entry.arguments))
            .or_else(|| self.data(caller, number, entry.arguments))
            .or_else(|| self.descriptors(caller, number, entry.arguments))
            .or_else(|| self.messages(caller, number, entry.arguments))
            .or_else(|| self.surroundings(caller, number, entry.arguments))
    }

    /// Handles calls that create, remove or look up names.
    fn names(&mut self, caller: &Caller, number: c_long, a: [u64; 6]) -> Option<Then> {
        match number {
            libc::SYS_open => self.opens(caller, (HERE, a[0]), a[1], a[2]),
            libc::SYS_openat => self.opens(caller, (a[0], a[1]), a[2], a[3]),
            libc::SYS_openat2 => {
                let [flags, mode] = caller.numbers(a[2])?;
                self.opens(caller, (a[0], a[1]), flags, mode)
            }
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                self.opens(caller, (HERE, a[0]), flags as u64, a[1])
            }
            libc::SYS_mkdir => self.make_directory(caller, (HERE, a[0]), a[1]),
            libc::SYS_mkdirat => self.make_directory(caller, (a[0], a[1]), a[2]),
            libc::SYS_mknod => self.make_node(caller, (HERE, a[0]), a[1]),
            libc::SYS_mknodat => self.make_node(caller, (a[0], a[1]), a[2]),
            libc::SYS_rmdir => self.remove_directory(caller, (HERE, a[0])),
            libc::SYS_unlink => self.unlink(caller, (HERE, a[0])),
            libc::SYS_unlinkat if has(a[2], libc::AT_REMOVEDIR) => {
                self.remove_directory(caller, (a[0], a[1]))
            }
            libc::SYS_unlinkat => self.unlink(caller, (a[0], a[1])),
            libc::SYS_rename => self.rename(caller, (HERE, a[0]), (HERE, a[1]), 0),
            libc::SYS_renameat => self.rename(caller, (a[0], a[1]), (a[2], a[3]), 0),
            libc::SYS_renameat2 => self.rename(caller, (a[0], a[1]), (a[2], a[3]), a[4]),
            libc::SYS_link => self.link(caller, (HERE, a[0]), (HERE, a[1]), 0),
            libc::SYS_linkat => self.link(caller, (a[0], a[1]), (a[2], a[3]), a[4]),
            libc::SYS_symlink => self.symlink(caller, a[0], (HERE, a[1])),
            libc::SYS_symlinkat => self.symlink(caller, a[0], (a[1], a[2])),
            libc::SYS_readlink => {
                let read = |path| Syscall::ReadLink { path };
                counted(self.on_path(caller, (HERE, a[0]), false, read))
            }
            libc::SYS_readlinkat => {
                let read = |path| Syscall::ReadLink { path };
                counted(self.on_path(caller, (a[0], a[1]), false, read))
            }
            libc::SYS_stat => self.stat(caller, (HERE, a[0]), 0),
            libc::SYS_lstat => self.stat(caller, (HERE, a[0]), NO_FOLLOW),
            libc::SYS_newfstatat => self.stat(caller, (a[0], a[1]), a[3]),
            libc::SYS_statx => self.stat(caller, (a[0], a[1]), a[2]),
            libc::SYS_access => self.access(caller, (HERE, a[0]), a[1]),
            libc::SYS_faccessat | libc::SYS_faccessat2 => self.access(caller, (a[0], a[1]), a[2]),
            libc::SYS_statfs => {
                self.on_path(caller, (HERE, a[0]), true, |_| Syscall::StatFilesystem)
            }
            _ => None,
        }
    }

    /// Handles calls that read or set attributes.
    fn attributes(&mut self, caller: &Caller, number: c_long, a: [u64; 6]) -> Option<Then> {
        match number {
            libc::SYS_truncate => self
                .on_path(caller, (HERE, a[0]), true, |path| Syscall::Truncate { path, size: a[1] }),
            libc::SYS_chmod => self.change_mode(caller, (HERE, a[0]), a[1], 0),
            libc::SYS_fchmodat => self.change_mode(caller, (a[0], a[1]), a[2], 0),
            FCHMODAT2 => self.change_mode(caller, (a[0], a[1]), a[2], a[3]),
            libc::SYS_chown => self.change_owner(caller, (HERE, a[0]), 0),
            libc::SYS_lchown => self.change_owner(caller, (HERE, a[0]), NO_FOLLOW),
            libc::SYS_fchownat => self.change_owner(caller, (a[0], a[1]), a[4]),
            libc::SYS_utime | libc::SYS_utimes => self.set_times(caller, (HERE, a[0]), 0),
            libc::SYS_futimesat => self.set_times(caller, (a[0], a[1]), 0),
            libc::SYS_utimensat => self.set_times(caller, (a[0], a[1]), a[3]),
            libc::SYS_setxattr | libc::SYS_lsetxattr => {
                let name = caller.text(a[1])?;
                let length = a[3] as u32;
                let follow = number == libc::SYS_setxattr;
                self.on_path(caller, (HERE, a[0]), follow, |path| Syscall::SetAttribute {
                    path,
                    name,
                    length,
                })
            }
            libc::SYS_fsetxattr => {
                let name = caller.text(a[1])?;
                let length = a[3] as u32;
                self.on_opened_path(caller, a[0], |path| Syscall::SetAttribute {
                    path,
                    name,
                    length,
                })
            }
            libc::SYS_getxattr | libc::SYS_lgetxattr => {
                let name = caller.text(a[1])?;
                let follow = number == libc::SYS_getxattr;
                let get = |path| Syscall::GetAttribute { path, name };
                counted(self.on_path(caller, (HERE, a[0]), follow, get))
            }
            libc::SYS_fgetxattr => {
                let name = caller.text(a[1])?;
                let get = |path| Syscall::GetAttribute { path, name };
                counted(self.on_opened_path(caller, a[0], get))
            }
            libc::SYS_listxattr | libc::SYS_llistxattr => {
                let follow = number == libc::SYS_listxattr;
                let list = |path| Syscall::ListAttributes { path };
                counted(self.on_path(caller, (HERE, a[0]), follow, list))
            }
            libc::SYS_flistxattr => {
                counted(self.on_opened_path(caller, a[0], |path| Syscall::ListAttributes { path }))
            }
            libc::SYS_removexattr | libc::SYS_lremovexattr => {
                let name = caller.text(a[1])?;
                let follow = number == libc::SYS_removexattr;
                let remove = |path| Syscall::RemoveAttribute { path, name };
                self.on_path(caller, (HERE, a[0]), follow, remove)
            }
            libc::SYS_fremovexattr => {
                let name = caller.text(a[1])?;
                self.on_opened_path(caller, a[0], |path| Syscall::RemoveAttribute { path, name })
            }
            _ => None,
        }
    }

    fn stat(&mut self, caller: &Caller, name: (u64, u64), flags: u64) -> Option<Then> {
        let follow = !has(flags, libc::AT_SYMLINK_NOFOLLOW);
        let call = match self.target(caller, name, follow, has(flags, libc::AT_EMPTY_PATH))? {
            TracedTarget::Path(path, _) => Syscall::Stat { path, follow },
            TracedTarget::Opening(opening) => Syscall::StatHandle { handle: opening.handle },
        };
        Some(Then::record(call))
    }

    fn access(&mut self, caller: &Caller, name: (u64, u64), mode: u64) -> Option<Then> {
        let mode = mode as u8;
        self.on_path(caller, name, true, |path| Syscall::Access { path, mode })
    }

    fn change_mode(
        &mut self,
        caller: &Caller,
        name: (u64, u64),
        mode: u64,
        flags: u64,
    ) -> Option<Then> {
        let mode = (mode & 0o7777) as u16;
        let follow = !has(flags, libc::AT_SYMLINK_NOFOLLOW);
        let call = match self.target(caller, name, follow, has(flags, libc::AT_EMPTY_PATH))? {
            TracedTarget::Path(path, _) => Syscall::ChangeMode { path, mode },
            TracedTarget::Opening(opening) => {
                Syscall::ChangeModeHandle { handle: opening.handle, mode }
            }
        };
        Some(Then::record(call))
    }

    fn change_owner(&mut self, caller: &Caller, name: (u64, u64), flags: u64) -> Option<Then> {
        let follow = !has(flags, libc::AT_SYMLINK_NOFOLLOW);
        let call = match self.target(caller, name, follow, has(flags, libc::AT_EMPTY_PATH))? {
            TracedTarget::Path(path, _) => Syscall::ChangeOwner { path, follow },
            TracedTarget::Opening(opening) => Syscall::ChangeOwnerHandle { handle: opening.handle },
        };
        Some(Then::record(call))
    }

    fn set_times(&mut self, caller: &Caller, name: (u64, u64), flags: u64) -> Option<Then> {
        let follow = !has(flags, libc::AT_SYMLINK_NOFOLLOW);
        let may_be_empty = name.1 == 0 || has(flags, libc::AT_EMPTY_PATH);
        let call = match self.target(caller, name, follow, may_be_empty)? {
            TracedTarget::Path(path, _) => Syscall::SetTimes { path, follow },
            TracedTarget::Opening(opening) => Syscall::SetTimesHandle { handle: opening.handle },
        };
        Some(Then::record(call))
    }

    /// Handles `ioctl` requests for data or attributes of files.
    pub fn control(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        match a[1] & u64::from(u32::MAX) {
            libc::FIOCLEX | libc::FIONCLEX => {
                let close = a[1] == libc::FIOCLEX;
                let mut files = caller.files.borrow_mut();
                files.set_close_on_exec(a[0] as i32, close);
                None
            }
            filter::CLONE => self.clone_range(caller, a[0], a[2], [0; 3]),
            filter::CLONE_RANGE => {
                let [from, from_offset, length, to_offset] = caller.numbers(a[2])?;
                self.clone_range(caller, a[0], from, [from_offset, length, to_offset])
            }
            _ => {
                self.opening(caller, a[0])?;
                self.log.unseen.insert(
                    "Flags of files (chattr) and requests to share equal data are not in the trace.",
                );
                None
            }
        }
    }
}

/// Flag of calls that do not follow a link. The older calls do not have this flag.
const NO_FOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;

/// Returns true if a flag is set.
pub fn has(flags: u64, flag: i32) -> bool {
    flags & flag as u64 != 0
}

/// Makes the recorder also record the return value of the call.
pub fn counted(then: Option<Then>) -> Option<Then> {
    match then {
        Some(Then::Record { call, .. }) => Some(Then::Record { call, counts: true }),
        other => other,
    }
}
