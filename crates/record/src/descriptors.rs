//! Handling of calls on descriptors and processes, at entry.

use std::rc::Rc;

use libc::c_long;

use crate::calls::has;
use crate::files::HeldFile;
use crate::recorder::{Caller, Recorder};
use crate::then::Then;

/// Range of all addresses.
pub const ALL_MEMORY: std::ops::Range<u64> = 0..u64::MAX;
/// Limitation: requests through io_uring or io_submit.
const RINGS: &str =
    "A program used io_uring or io_submit: what it did through these is not in the trace.";
const BY_NUMBER: &str = "A program opened files by handles or took descriptors of other processes: what it did with \
                         these is not in the trace.";
const PASSED: &str = "Descriptors that were sent through a socket are not followed.";
const NETWORK: &str = "Order through connections of the network is not in the trace.";
const NAMESPACES: &str =
    "A program mounted something or entered another namespace: names may have led elsewhere then.";
const PIPES: &str = "Data from memory to pipes and between pipes (vmsplice, tee) is not followed.";

impl Recorder {
    pub(crate) fn descriptors(
        &mut self,
        caller: &Caller,
        number: c_long,
        a: [u64; 6],
    ) -> Option<Then> {
        match number {
            libc::SYS_close => {
                let held = caller.files.borrow_mut().remove(a[0] as i32);
                match held {
                    Some(HeldFile::Opening(opening)) => Some(Then::Close(opening)),
                    held => {
                        self.released(caller, held);
                        None
                    }
                }
            }
            libc::SYS_close_range => self.close_range(caller, a),
            libc::SYS_dup => self.copy(caller, a[0], None, false),
            libc::SYS_dup2 => self.copy(caller, a[0], Some(a[1]), false),
            libc::SYS_dup3 => self.copy(caller, a[0], Some(a[1]), has(a[2], libc::O_CLOEXEC)),
            libc::SYS_fcntl => self.file_control(caller, a),
            libc::SYS_ioctl => self.control(caller, a),
            libc::SYS_flock => self.locks(caller, a[0], has(a[1], libc::LOCK_UN)),
            _ => None,
        }
    }

    fn close_range(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        let number = |number: u64| i32::try_from(number as u32).unwrap_or(i32::MAX);
        let numbers = caller.files.borrow().numbers(number(a[0]), number(a[1]));
        for number in numbers {
            if has(a[2], libc::CLOSE_RANGE_CLOEXEC as i32) {
                caller.files.borrow_mut().set_close_on_exec(number, true);
            } else {
                let held = caller.files.borrow_mut().remove(number);
                self.released(caller, held);
            }
        }
        None
    }

    /// Duplicates a descriptor. The return of the call matters only if one of both descriptors is
    /// known.
    fn copy(
        &mut self,
        caller: &Caller,
        from: u64,
        to: Option<u64>,
        close_on_exec: bool,
    ) -> Option<Then> {
        let files = caller.files.borrow();
        let held = files.get(from as i32).cloned();
        let takes_place = to.is_some_and(|to| from != to && files.get(to as i32).is_some());
        (held.is_some() && to != Some(from) || takes_place)
            .then_some(Then::Copy { held, close_on_exec })
    }

    fn file_control(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        match a[1] as i32 {
            libc::F_DUPFD => self.copy(caller, a[0], None, false),
            libc::F_DUPFD_CLOEXEC => self.copy(caller, a[0], None, true),
            libc::F_SETFD => {
                let close = has(a[2], libc::FD_CLOEXEC);
                let mut files = caller.files.borrow_mut();
                files.set_close_on_exec(a[0] as i32, close);
                None
            }
            libc::F_SETFL => {
                let opening = caller.files.borrow().opening(a[0] as i32)?;
                opening.appends.set(has(a[2], libc::O_APPEND));
                None
            }
            _ => {
                // `l_type` is the first field of `struct flock`.
                let kind = caller.bytes(a[2], 2)?;
                let releases = kind == (libc::F_UNLCK as i16).to_ne_bytes();
                self.locks(caller, a[0], releases)
            }
        }
    }

    /// Handles calls for communication between processes.
    pub(crate) fn messages(
        &mut self,
        caller: &Caller,
        number: c_long,
        a: [u64; 6],
    ) -> Option<Then> {
        match number {
            libc::SYS_pipe => pair(a[0], 0, false),
            libc::SYS_pipe2 => pair(a[0], a[1], false),
            libc::SYS_socketpair => pair(a[3], a[1], true),
            libc::SYS_bind => self.bind(caller, a),
            libc::SYS_connect => self.connect(caller, a),
            libc::SYS_accept => self.accept(caller, a[0], 0),
            libc::SYS_accept4 => self.accept(caller, a[0], a[3]),
            libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => {
                if number == libc::SYS_sendmsg {
                    // `msg_controllen` is the sixth word of `struct msghdr`.
                    let header = caller.numbers::<6>(a[1]);
                    if header.is_some_and(|header| header[5] != 0) {
                        self.log.unseen.insert(PASSED);
                    }
                }
                let held = caller.files.borrow().get(a[0] as i32).cloned();
                self.message(caller, &held?, true)
            }
            libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => {
                let held = caller.files.borrow().get(a[0] as i32).cloned();
                self.message(caller, &held?, false)
            }
            _ => None,
        }
    }

    /// Handles a write to a pipe or socket, or a read that may wait.
    pub(crate) fn message(
        &mut self,
        caller: &Caller,
        held: &HeldFile,
        sends: bool,
    ) -> Option<Then> {
        let HeldFile::End(end) = held else {
            return None;
        };
        if !sends {
            end.receives?;
            return Some(Then::Receive(Rc::clone(end)));
        }
        self.orders.send(&mut self.log, caller.who, end.sends?);
        None
    }

    /// Returns the name of a local socket at this address. Returns `None` for other kinds of
    /// sockets.
    fn socket_name(&mut self, caller: &Caller, address: u64, length: u64) -> Option<Vec<u8>> {
        /// Sizes of `sa_family` and of `struct sockaddr_un`, in bytes.
        const FAMILY: usize = 2;
        const MAX_SOCKET_ADDRESS: usize = 110;
        let bytes = caller.bytes(address, (length as usize).min(MAX_SOCKET_ADDRESS))?;
        let family = u16::from_ne_bytes(bytes.get(..FAMILY)?.try_into().ok()?);
        if i32::from(family) != libc::AF_UNIX {
            if [libc::AF_INET, libc::AF_INET6].contains(&i32::from(family)) {
                self.log.unseen.insert(NETWORK);
            }
            return None;
        }
        let name = &bytes[FAMILY..];
        // A name that starts with a zero byte is not a path; only its length ends it.
        let end = name.iter().position(|byte| *byte == 0);
        let end = end.filter(|end| *end > 0).unwrap_or(name.len());
        (!name.is_empty()).then(|| name[..end].to_vec())
    }

    /// Returns the name by which connections find a socket. For a path, this is the real path, with
    /// its number in the trace if the path is below the recorded directory.
    fn found_name(&mut self, caller: &Caller, name: Vec<u8>) -> (Vec<u8>, Option<trace::PathId>) {
        if name[0] == 0 {
            return (name, None);
        }
        let here = libc::AT_FDCWD as u64;
        match self.resolve(caller, here, &name, true) {
            Some(found) => (found.real, found.below),
            None => (name, None),
        }
    }

    fn bind(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        let name = self.socket_name(caller, a[1], a[2])?;
        let (name, below) = self.found_name(caller, name);
        let descriptor = a[0] as i32;
        Some(match below {
            Some(path) => Then::MakePipe {
                path,
                mode: caller.without_umask(0o777),
                socket: Some((descriptor, name)),
            },
            None => Then::Bind { descriptor, name },
        })
    }

    /// Records a connection request. Another process can accept it before this call returns.
    fn connect(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        let name = self.socket_name(caller, a[1], a[2])?;
        let (name, _) = self.found_name(caller, name);
        let ends = (self.orders.channel(), self.orders.channel());
        let waiting = self.connections.entry(name.clone()).or_default();
        waiting.push_back(ends);
        self.orders.send(&mut self.log, caller.who, ends.0);
        Some(Then::Connect { descriptor: a[0] as i32, ends, name })
    }

    fn accept(&mut self, caller: &Caller, descriptor: u64, flags: u64) -> Option<Then> {
        let files = caller.files.borrow();
        let HeldFile::Listener(name) = files.get(descriptor as i32)? else {
            return None;
        };
        Some(Then::Accept { name: Rc::clone(name), close_on_exec: has(flags, libc::SOCK_CLOEXEC) })
    }

    /// Handles calls that change the environment of a process or its program, and calls that bypass
    /// the recorder.
    pub(crate) fn surroundings(
        &mut self,
        caller: &Caller,
        number: c_long,
        a: [u64; 6],
    ) -> Option<Then> {
        let unseen = match number {
            libc::SYS_chdir | libc::SYS_fchdir => return Some(Then::Moved { root: false }),
            libc::SYS_chroot | libc::SYS_pivot_root => return Some(Then::Moved { root: true }),
            libc::SYS_umask => {
                caller.standing.borrow_mut().umask = (a[0] & 0o777) as u16;
                return None;
            }
            libc::SYS_execve | libc::SYS_execveat => {
                if Rc::strong_count(&caller.memory) == 1 {
                    self.tell_touched(caller, &ALL_MEMORY);
                }
                return None;
            }
            libc::SYS_wait4 => return Some(Then::Wait(None)),
            libc::SYS_waitid => return Some(Then::Wait(Some(a[2]))),
            libc::SYS_io_uring_setup | libc::SYS_io_submit => RINGS,
            libc::SYS_open_by_handle_at | libc::SYS_pidfd_getfd => BY_NUMBER,
            libc::SYS_mount | libc::SYS_umount2 | libc::SYS_setns => NAMESPACES,
            libc::SYS_unshare if has(a[0], libc::CLONE_NEWNS) => NAMESPACES,
            libc::SYS_vmsplice | libc::SYS_tee => PIPES,
            _ => return None,
        };
        self.log.unseen.insert(unseen);
        (unseen == NAMESPACES).then_some(Then::Remounted)
    }
}

/// Handles the creation of a pipe or socket pair. The close-on-exec flag of both has the same
/// value.
fn pair(address: u64, flags: u64, both_ways: bool) -> Option<Then> {
    Some(Then::Pair { address, both_ways, close_on_exec: has(flags, libc::O_CLOEXEC) })
}
