//! Processes from `/proc`: parents, children, states and kernel stacks.

pub mod kernel_memory;
pub mod sampler;
pub mod usage;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Nanos;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{major, minor};
use nix::unistd::Pid;

/// A process listed in `/proc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// The parent's number.
    pub parent: Pid,
    /// `R`, `S`, `D` … and `Z` for a process that has ended but was not waited for.
    pub state: char,
    /// Name of the program, up to 15 bytes.
    pub name: String,
}

impl Process {
    /// Returns true if a signal (SIGSTOP, SIGTSTP) or a debugger has stopped the process.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// Describes a process for messages: its number, program and user. Only the number of a process that
/// has ended is known.
pub fn describe(pid: u32) -> String {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let name = fs::read_to_string(process.join("comm"));
    let owner = fs::metadata(&process);
    let program = name.map_or_else(|_| String::new(), |name| format!(" ({})", name.trim_end()));
    let user = owner.map_or_else(|_| String::new(), |p| format!(" of user {}", user_name(p.uid())));
    format!("process {pid}{program}{user}")
}

/// Returns the name of a user of this machine, else the number.
fn user_name(user: u32) -> String {
    let number = user.to_string();
    let table = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = table.lines().map(|line| line.split(':'));
    let found = lines.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    found.unwrap_or(number)
}

/// Returns the number of a process that holds a write lock on a file (fcntl(2) or flock(2)).
/// Returns `None` if the file has no such lock, or if the holder has another PID namespace.
pub fn write_lock_holder(path: &Path) -> Option<u32> {
    let file = fs::metadata(path).ok()?;
    let device = (major(file.dev()), minor(file.dev()));
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| lock_holder_in(line, device, file.ino()))
}

/// Reads a line of `proc_locks(5)`. Returns the holder if the line is a write lock on the file.
fn lock_holder_in(line: &str, device: (u64, u64), inode: u64) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(3);
    let (kind, pid) = (fields.next()?, fields.next()?);
    let mut file = fields.next()?.split(':');
    let mut number = |radix| u64::from_str_radix(file.next()?, radix).ok();
    let found = ((number(16)?, number(16)?), number(10)?);
    (kind == "WRITE" && found == (device, inode))
        .then(|| pid.parse().ok().filter(|pid| *pid > 0))?
}

/// Whether the process does not end on a signal whose default action ends a process, because it
/// catches, blocks or ignores the signal. Format: `proc_pid_status(5)`.
pub fn ignores_signal(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
    };
    let masks = ["SigBlk:", "SigIgn:", "SigCgt:"].map(|field| mask(field).unwrap_or(0));
    masks.iter().any(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

/// Returns the longest time that any thread of a process was ready to run without a processor,
/// since it began; zero if the kernel does not count it. Source:
/// Documentation/scheduler/sched-stats.rst of the kernel.
pub fn run_queue_wait(process: &Process) -> Nanos {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.pid));
    let waits = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let statistics = fs::read_to_string(task.path().join("schedstat")).ok()?;
        statistics.split_whitespace().nth(1)?.parse().ok()
    });
    Nanos(waits.max().unwrap_or(0))
}

/// Returns all processes of this PID namespace.
pub fn all() -> Vec<Process> {
    let directories = directories().into_iter().flatten();
    directories.filter_map(|process| read(&process)).collect()
}

/// Returns the directories of processes, without `self` and `thread-self`.
fn directories() -> io::Result<impl Iterator<Item = PathBuf>> {
    let is_number = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let entries = fs::read_dir("/proc")?.flatten();
    let numbered = entries.filter(move |entry| is_number(&entry.file_name()));
    Ok(numbered.map(|entry| entry.path()))
}

/// Returns the children of a process.
pub fn children(parent: Pid) -> Vec<Process> {
    all().into_iter().filter(|p| p.parent == parent).collect()
}

/// Returns the given process and all of its descendants.
pub fn descendants(root: Pid) -> Vec<Process> {
    let everyone = all();
    let mut family: Vec<Process> = everyone.iter().filter(|p| p.pid == root).cloned().collect();
    let mut next = 0;
    while next < family.len() {
        let parent = family[next].pid;
        family.extend(everyone.iter().filter(|p| p.parent == parent).cloned());
        next += 1;
    }
    family
}

/// Moves a process and all its descendants into a control group, given by its list of members.
///
/// # Errors
/// Returns an error if one of the processes has already ended.
pub fn move_to_cgroup(root: Pid, members: &Path) -> io::Result<()> {
    fs::write(members, root.to_string())?;
    // New children start in the group. The kernel takes some time to move a process, so some
    // children may be older.
    let family = descendants(root);
    let mut older = family.iter().skip(1);
    older.try_for_each(|process| fs::write(members, process.pid.to_string()))
}

/// Returns the other processes that have a matching file open for writing, or mapped for writing;
/// `is_it` recognises the file. Only root can see the files of other users' processes.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub fn all_with_open_for_writing(
    is_it: &dyn Fn(&fs::Metadata) -> bool,
) -> io::Result<Vec<Process>> {
    let me = Pid::this();
    let writers = directories()?.filter_map(|directory| {
        let process = read(&directory).filter(|process| process.pid != me)?;
        let writes = writes(&directory, is_it) || maps_for_writing(&directory, is_it);
        writes.then_some(process)
    });
    Ok(writers.collect())
}

/// Returns true if a process has a matching file open for writing. Returns false if the process is
/// ending.
fn writes(process: &Path, is_it: &dyn Fn(&fs::Metadata) -> bool) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten();
    files.flatten().any(|file| {
        let is_it = fs::metadata(file.path()).is_ok_and(|metadata| is_it(&metadata));
        let info = || fs::read_to_string(process.join("fdinfo").join(file.file_name()));
        is_it && info().is_ok_and(|info| is_for_writing(&info))
    })
}

/// Whether a process has a shared writable mapping of such a file. The process may have closed the
/// file. Source: proc_pid_maps(5), proc_pid_map_files(5).
fn maps_for_writing(process: &Path, is_it: &dyn Fn(&fs::Metadata) -> bool) -> bool {
    let maps = fs::read(process.join("maps")).unwrap_or_default();
    maps.split(|byte| *byte == b'\n').any(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let (range, permissions) = (fields.next(), fields.next());
        let is_shared = permissions.is_some_and(|p| matches!(p, [_, b'w', _, b's']));
        is_shared
            && range.is_some_and(|range| {
                let file = process.join("map_files").join(OsStr::from_bytes(range));
                fs::metadata(file).is_ok_and(|metadata| is_it(&metadata))
            })
    })
}

/// Returns true if the text of a `fdinfo` belongs to a file open for writing, or lacks the flags.
///
/// Format: `flags:` of proc_pid_fdinfo(5), in octal as for open(2).
pub fn is_for_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// Returns the kernel stack of each thread of a process, one text per thread; needs root.
pub fn kernel_stacks(process: &Process) -> Vec<String> {
    let tasks = format!("/proc/{}/task", process.pid);
    let Ok(entries) = fs::read_dir(tasks) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|task| {
            let stack = fs::read_to_string(task.path().join("stack")).ok()?;
            let thread = task.file_name().to_string_lossy().into_owned();
            Some(format!("{} (thread {thread}, state {}):\n{stack}", process.name, process.state))
        })
        .collect()
}

/// Makes the kernel kill the started program when the thread that starts it ends, even if its
/// process is killed. The thread must live as long as the program may run.
pub fn set_pdeathsig(command: &mut Command) {
    let parent = Pid::this();
    let ask = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The kernel does not report a parent that ended before this request. A parent in another
        // PID namespace has the number 0.
        match Pid::parent() {
            alive if alive == parent || alive.as_raw() == 0 => Ok(()),
            _ => Err(io::Error::from(Errno::ESRCH)),
        }
    };
    // SAFETY: between fork and exec, `ask` makes two system calls (prctl, getppid), takes no lock and
    // allocates nothing: an error that is but a number is kept without allocation.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Reads the process of a directory in `/proc`. Returns `None` if it has no `stat`, for example
/// because it has just ended. A name may contain any bytes.
fn read(directory: &Path) -> Option<Process> {
    let stat = fs::read(directory.join("stat")).ok()?;
    parse(&String::from_utf8_lossy(&stat))
}

/// Parses the text of a `stat`, `pid (name) state parent …`. Returns `None` if it is invalid. The
/// name may contain spaces and brackets. Format: proc_pid_stat(5).
pub fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some(Process {
        pid: Pid::from_raw(pid.parse().ok()?),
        state: fields.next()?.chars().next()?,
        parent: Pid::from_raw(fields.next()?.parse().ok()?),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// Waits for an event that happens soon or never.
    #[track_caller]
    fn wait_until(event: &str, has_happened: impl Fn() -> bool) {
        let start = std::time::Instant::now();
        while !has_happened() {
            assert!(start.elapsed().as_secs() < 120, "not within 120 s: {event}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_name_with_brackets_is_read() {
        let process = parse("42 (a) b) S 7 42 42 0").unwrap();
        assert_eq!((process.pid, process.parent), (Pid::from_raw(42), Pid::from_raw(7)));
        assert_eq!((process.state, process.name.as_str()), ('S', "a) b"));
    }

    #[test]
    fn the_holder_of_a_write_lock_is_described() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(write_lock_holder(file.path()), None);
        let lock = nix::fcntl::Flock::lock(
            file.reopen().unwrap(),
            nix::fcntl::FlockArg::LockExclusiveNonblock,
        );
        let holder = write_lock_holder(file.path());
        assert_eq!(holder, Some(std::process::id()), "{:?}", lock.is_ok());
        let text = describe(std::process::id());
        assert!(text.starts_with(&format!("process {} (", std::process::id())), "{text}");
        assert!(text.contains(") of user "), "{text}");
        assert_eq!(describe(u32::MAX), format!("process {}", u32::MAX));
    }

    #[test]
    fn only_write_locks_of_the_file_count() {
        let line = |line: &str| lock_holder_in(line, (0xfe, 0), 12);
        assert_eq!(line("1: POSIX  ADVISORY  WRITE 7 fe:00:12 0 EOF"), Some(7));
        for other in [
            "1: POSIX  ADVISORY  READ 7 fe:00:12 0 EOF",
            "1: POSIX  ADVISORY  WRITE 7 fe:00:13 0 EOF",
            "1: POSIX  ADVISORY  WRITE 0 fe:00:12 0 EOF",
            "1: -> POSIX  ADVISORY  WRITE 7 fe:00:12 0 EOF",
            "1: OFDLCK ADVISORY  WRITE -1 fe:00:12 0 EOF",
            "",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            set_pdeathsig(command.arg("600"));
            command.spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn an_ignored_signal_does_not_end_a_process() {
        let io = Signal::SIGIO as i32;
        for (before, expected) in [(String::new(), false), (format!("trap '' {io};"), true)] {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{before} echo ready; exec sleep 600")]);
            let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
            let mut ready = [0; 6];
            let mut said = child.stdout.take().unwrap();
            io::Read::read_exact(&mut said, &mut ready).unwrap();
            let pid = Pid::from_raw(child.id().cast_signed());
            assert_eq!(ignores_signal(pid, Signal::SIGIO), expected);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn finds_a_process_that_writes_to_a_file_but_not_a_reader() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        let number = file.as_file().metadata().unwrap().ino();
        let is_it = |metadata: &fs::Metadata| metadata.ino() == number;
        let shell = |redirection: &str| {
            let command = format!("exec sleep 600 {redirection} '{}'", file.path().display());
            Command::new("sh").args(["-c", &command]).spawn().unwrap()
        };
        for (redirection, expected) in [("<", false), (">>", true)] {
            let mut child = shell(redirection);
            let name = || fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
            wait_until("the program runs", || name().trim_end() == "sleep");
            // Until they call execve, programs that other tests start have every file open.
            let expected = expected.then(|| "sleep".to_owned());
            wait_until("only the program has the file", || {
                all_with_open_for_writing(&is_it).unwrap().pop().map(|p| p.name) == expected
            });
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(is_for_writing("nonsense"), "what is not known is a use");
    }

    #[test]
    fn a_shared_writable_mapping_counts_as_writing() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let (file, process) =
            (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
        let number = file.as_file().metadata().unwrap().ino();
        let range = "7f00-7f01";
        std::fs::create_dir(process.path().join("map_files")).unwrap();
        symlink(file.path(), process.path().join("map_files").join(range)).unwrap();
        for (permissions, expected) in [("rw-s", true), ("r--s", false), ("rw-p", false)] {
            let maps = format!("5500-5501 rw-p 0 00:00 0 \n{range} {permissions} 0 fe:00 7 /x\n");
            fs::write(process.path().join("maps"), maps).unwrap();
            let found = maps_for_writing(process.path(), &|metadata| metadata.ino() == number);
            assert_eq!(found, expected, "{permissions}");
        }
    }

    #[test]
    fn a_stopped_process_is_reported_as_stopped() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        let is_stopped = || descendants(pid)[0].is_stopped();
        assert!(!is_stopped());
        nix::sys::signal::kill(pid, Signal::SIGSTOP).unwrap();
        wait_until("the process is stopped", is_stopped);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn finds_itself_and_its_family() {
        let me = Pid::this();
        assert!(descendants(me).iter().any(|p| p.pid == me));
        assert!(children(Pid::parent()).iter().any(|p| p.pid == me));
    }
}
