//! Processes as `/proc` shows them: who lives here, who is whose child, where one is stuck.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// A process that `/proc` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Its parent's number.
    pub parent: Pid,
    /// `R`, `S`, `D` … and `Z` for one that has ended but was not waited for.
    pub state: char,
    /// The name of its program, up to 15 bytes.
    pub name: String,
}

/// Every process of this PID namespace.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|e| {
            e.file_name()
                .as_encoded_bytes()
                .iter()
                .all(u8::is_ascii_digit)
        })
        .filter_map(|e| parse(&fs::read_to_string(e.path().join("stat")).ok()?))
        .collect()
}

/// The processes whose parent is the given one.
pub fn children(parent: Pid) -> Vec<Process> {
    all().into_iter().filter(|p| p.parent == parent).collect()
}

/// The given process and everything that descends from it.
pub fn family(root: Pid) -> Vec<Process> {
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

/// Where each thread of a process is in the kernel, one text per thread; needs root.
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
            Some(format!(
                "{} (thread {thread}, state {}):\n{stack}",
                process.name, process.state
            ))
        })
        .collect()
}

/// Has the kernel kill the program that this command starts as soon as the thread that starts it ends, be it
/// by itself or because its process was killed: start it from a thread that lives as long as the program may.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = Pid::this();
    let ask = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // Who ended before the kernel was asked is not noticed by it.
        if Pid::parent() == parent {
            Ok(())
        } else {
            Err(io::Error::from(Errno::ESRCH))
        }
    };
    // SAFETY: between fork and exec, `ask` makes two system calls (prctl, getppid), takes no lock and
    // allocates nothing: an error that is but a number is kept without allocation.
    unsafe {
        command.pre_exec(ask);
    }
}

/// `pid (name) state parent …`; the name may itself hold spaces and brackets.
fn parse(stat: &str) -> Option<Process> {
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

    #[test]
    fn a_name_with_brackets_is_read() {
        let process = parse("42 (a) b) S 7 42 42 0").unwrap();
        assert_eq!(
            (process.pid, process.parent),
            (Pid::from_raw(42), Pid::from_raw(7))
        );
        assert_eq!((process.state, process.name.as_str()), ('S', "a) b"));
    }

    #[test]
    fn what_a_thread_has_started_ends_with_it() {
        let start = || {
            let mut command = Command::new("sleep");
            end_with_this_thread(command.arg("600"));
            command.spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn finds_itself_and_its_family() {
        let me = Pid::this();
        assert!(family(me).iter().any(|p| p.pid == me));
        assert!(children(Pid::parent()).iter().any(|p| p.pid == me));
    }
}
