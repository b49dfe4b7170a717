//! Runs programs that stop at some of their system calls (ptrace(2) with a seccomp(2) filter).
//!
//! The thread that starts a program is its tracer, and all calls of this module must come from that
//! thread.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::{size_of, zeroed};
use std::os::fd::OwnedFd;
use std::ptr;

use libc::{c_int, c_long, c_void, pid_t, sock_filter, sock_fprog};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, pipe2};

/// Options of the tracer: report each new process and thread, program starts, exits, and calls of
/// the filter; and make the kernel kill all traced processes when the tracer ends.
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_EXITKILL;

/// `AUDIT_ARCH_X86_64` of linux/audit.h.
pub const X86_64: u32 = 0xc000_003e;

/// A traced program that has just been started.
#[derive(Debug)]
pub struct Started {
    /// Its process.
    pub pid: Pid,
    fault: File,
}

impl Started {
    /// Returns the reason why the program could not start, once its process has ended: the errno of
    /// `execvp`, or `None` if it ran.
    pub fn fault(mut self) -> Option<io::Error> {
        let mut number = [0; size_of::<i32>()];
        self.fault.read_exact(&mut number).ok()?;
        Some(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
    }
}

/// Reason for a stop or the end of a thread. Source: ptrace(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The thread is about to make a system call that matches the filter.
    Entry,
    /// A system call has returned after [`Resume::ToReturn`].
    Return,
    /// The thread has created a process or thread; [`event_message`] returns the new number.
    Clone,
    /// The thread now runs another program; [`event_message`] returns the previous thread number.
    Exec,
    /// The thread is about to end and still has its memory.
    Exiting,
    /// It is new and has not run yet, or continues after a stop.
    New,
    /// A signal has stopped the whole process.
    Group,
    /// The thread is about to receive this signal.
    Signal(c_int),
    /// The thread has exited with this code.
    Exited(c_int),
    /// The thread was killed by this signal.
    Killed(c_int),
}

/// Ways to resume a stopped thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Run until the next system call that matches the filter.
    Run,
    /// Run until the current call has returned.
    ToReturn,
    /// It stays stopped by the signal, and is reported when it continues.
    Listen,
}

/// A system call at its entry.
#[derive(Clone, Copy, Debug)]
pub struct SyscallEntry {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// Instruction set of the call number, such as [`X86_64`].
    pub architecture: u32,
}

/// Starts a program from `PATH` with a filter for its system calls. Signals have their default
/// actions.
///
/// # Errors
/// Returns an error if the process cannot be created or traced. If the program does not exist, its
/// process ends: see [`Started::fault`].
pub fn start(command: &[CString], filter: &[sock_filter]) -> io::Result<Started> {
    let (wait, go) = pipe2(OFlag::O_CLOEXEC)?;
    let (fault, tell) = pipe2(OFlag::O_CLOEXEC)?;
    let mut arguments: Vec<_> = command.iter().map(|argument| argument.as_ptr()).collect();
    arguments.push(ptr::null());
    // SAFETY: the child only makes system calls, and uses only memory that was allocated before.
    let pid = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            drop(go);
            become_program(&arguments, filter, wait, tell)
        }
        pid => pid,
    };
    let started = Started { pid: Pid::from_raw(pid), fault: File::from(fault) };
    request(libc::PTRACE_SEIZE, pid, 0, OPTIONS as usize)?;
    File::from(go).write_all(b"1")?;
    Ok(started)
}

/// Runs in the child: waits until it is traced, installs the filter and executes the program.
fn become_program(
    arguments: &[*const libc::c_char],
    filter: &[sock_filter],
    wait: OwnedFd,
    tell: OwnedFd,
) -> ! {
    let become_it = || -> io::Result<()> {
        File::from(wait).read_exact(&mut [0])?;
        // SAFETY: the calls set an empty signal mask and a default action; no handler of this
        // program is involved.
        unsafe {
            let mut none = zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        install(filter)?;
        // SAFETY: `arguments` ends with a null pointer, and the strings are in the parent's copied
        // memory.
        unsafe { libc::execvp(arguments[0], arguments.as_ptr()) };
        Err(io::Error::last_os_error())
    };
    let error = become_it().err().and_then(|error| error.raw_os_error());
    let number = error.unwrap_or(libc::EIO).to_ne_bytes();
    // If this fails, the reader has ended.
    let _ = File::from(tell).write_all(&number);
    // SAFETY: ends this process without handlers of the parent's.
    unsafe { libc::_exit(127) }
}

/// Installs the filter for the calls of this process. Without privilege, its programs can no longer
/// gain privileges.
fn install(filter: &[sock_filter]) -> io::Result<()> {
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut(),
    };
    let set = || {
        // SAFETY: the kernel copies the program, whose length is that of the slice.
        let set = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        Errno::result(set).map(drop)
    };
    if set() == Err(Errno::EACCES) {
        nix::sys::prctl::set_no_new_privs()?;
        set()?;
    }
    Ok(())
}

/// Waits for the next thread that has stopped or ended. Returns `None` if no thread remains.
///
/// # Errors
/// Returns the errors of `waitpid`.
pub fn wait() -> io::Result<Option<(Pid, Stop)>> {
    loop {
        let mut status = 0;
        // SAFETY: the status is an own variable.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        match Errno::result(pid) {
            Ok(pid) => return Ok(Some((Pid::from_raw(pid), stop(status)))),
            Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Decodes a status of `waitpid`.
fn stop(status: c_int) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Killed(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::Entry,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Stop::Clone
        }
        libc::PTRACE_EVENT_EXEC => Stop::Exec,
        libc::PTRACE_EVENT_EXIT => Stop::Exiting,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::New,
        libc::PTRACE_EVENT_STOP => Stop::Group,
        _ if signal == libc::SIGTRAP | 0x80 => Stop::Return,
        _ => Stop::Signal(signal),
    }
}

/// Resumes a stopped thread, with a signal, or 0 for none. A thread that has been killed is not an
/// error.
///
/// # Errors
/// Returns an error if the thread is not stopped.
pub fn resume(thread: Pid, how: Resume, signal: c_int) -> io::Result<()> {
    let how = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::ToReturn => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
    };
    match request(how, thread.as_raw(), 0, signal as usize) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Returns the number that belongs to [`Stop::Clone`] or [`Stop::Exec`].
///
/// # Errors
/// Returns an error if the thread is not stopped.
pub fn event_message(thread: Pid) -> io::Result<Pid> {
    let mut message: libc::c_ulong = 0;
    let to = (&raw mut message) as usize;
    request(libc::PTRACE_GETEVENTMSG, thread.as_raw(), 0, to)?;
    Ok(Pid::from_raw(message as pid_t))
}

fn syscall_info(thread: Pid) -> io::Result<libc::ptrace_syscall_info> {
    // SAFETY: all of its fields are numbers, for which zeros are valid.
    let mut info: libc::ptrace_syscall_info = unsafe { zeroed() };
    let (size, to) = (size_of_val(&info), (&raw mut info) as usize);
    request(libc::PTRACE_GET_SYSCALL_INFO, thread.as_raw(), size, to)?;
    Ok(info)
}

/// Returns the system call that a thread is about to make, at [`Stop::Entry`].
///
/// # Errors
/// Returns an error if the thread is not stopped.
pub fn entry(thread: Pid) -> io::Result<SyscallEntry> {
    let info = syscall_info(thread)?;
    // SAFETY: `seccomp` and `entry` begin with the same fields, all numbers, which the kernel has filled or left zero.
    let call = unsafe { info.u.entry };
    Ok(SyscallEntry { number: call.nr, arguments: call.args, architecture: info.arch })
}

/// Returns the result of a system call at [`Stop::Return`]: a negative errno if it failed.
///
/// # Errors
/// Returns an error if the thread is not stopped.
pub fn returned(thread: Pid) -> io::Result<i64> {
    let info = syscall_info(thread)?;
    // SAFETY: all bits are valid for its numbers.
    Ok(unsafe { info.u.exit }.sval)
}

/// Returns number and first argument of the current call of a thread, at [`Stop::Clone`].
///
/// # Errors
/// Returns an error if the thread is not stopped.
pub fn call_inside(thread: Pid) -> io::Result<(u64, u64)> {
    // SAFETY: all of its fields are numbers, for which zeros are valid.
    let mut registers: libc::user_regs_struct = unsafe { zeroed() };
    let to = (&raw mut registers) as usize;
    request(libc::PTRACE_GETREGS, thread.as_raw(), 0, to)?;
    Ok((registers.orig_rax, registers.rdi))
}

/// Reads from the memory of a stopped thread, up to the end of its mapping. Returns the number of
/// bytes.
///
/// # Errors
/// Returns an error if no memory is mapped at this address.
pub fn read_memory(thread: Pid, address: u64, to: &mut [u8]) -> io::Result<usize> {
    let from = RemoteIoVec { base: address as usize, len: to.len() };
    Ok(process_vm_readv(thread, &mut [IoSliceMut::new(to)], &[from])?)
}

/// Reads a text of at most `most` bytes that ends with a zero byte from the memory of a stopped
/// thread.
///
/// # Errors
/// Returns an error if no such text exists.
pub fn read_text(thread: Pid, address: u64, most: usize) -> io::Result<Vec<u8>> {
    const PAGE: u64 = 4096;
    let mut text = Vec::with_capacity(256);
    while text.len() < most {
        let at = address + text.len() as u64;
        // Stops at the end of the page: the next one may not be mapped.
        let length = (PAGE - at % PAGE).min(256) as usize;
        let before = text.len();
        text.resize(before + length, 0);
        let read = read_memory(thread, at, &mut text[before..])?;
        text.truncate(before + read);
        if let Ok(end) = CStr::from_bytes_until_nul(&text).map(CStr::count_bytes) {
            text.truncate(end);
            return Ok(text);
        }
    }
    Err(io::Error::from(Errno::ENAMETOOLONG))
}

fn request(what: libc::c_uint, pid: pid_t, address: usize, data: usize) -> io::Result<c_long> {
    // SAFETY: `address` and `data` are numbers, or `data` points to a variable of the caller's that is as large as this
    // request fills, which each caller here sees to.
    let outcome = unsafe { libc::ptrace(what, pid, address as *mut c_void, data as *mut c_void) };
    Ok(Errno::result(outcome)?)
}
