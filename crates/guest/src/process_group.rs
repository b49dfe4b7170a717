//! A process group for the programs of a guest build. The group, with all child processes, ends
//! when this process ends for any reason.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Interval between checks for an interrupt.
const ATTENTION: Duration = Duration::from_millis(20);
/// Maximum wait for killed processes to end.
const REAP_TIMEOUT: Duration = Duration::from_millis(300);
/// Command of the guard. Its standard input closes when this process ends or is killed, because no
/// other process holds the write end.
const GUARD: &str = "read line; kill -KILL 0";

/// A process group. All its processes have ended when the drop returns.
#[derive(Debug)]
pub struct ProcessGroup {
    /// First process of the group, which kills the group when this process has ended.
    guard: Child,
    watcher: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl ProcessGroup {
    /// Starts a group, which is killed when `stop` becomes true. The group holds `lock` while any
    /// of its processes lives.
    pub fn spawn(stop: &Arc<AtomicBool>, lock: Option<&File>) -> io::Result<Self> {
        let held = match lock {
            Some(lock) => Stdio::from(lock.try_clone()?),
            None => Stdio::null(),
        };
        let guard = Command::new("sh")
            .args(["-c", GUARD])
            .stdin(Stdio::piped())
            .stdout(held)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut group = Self { guard, watcher: None, over: Arc::default() };
        group.watcher = Some(group.watch(Arc::clone(stop))?);
        Ok(group)
    }

    /// Its number.
    pub fn id(&self) -> Pid {
        Pid::from_raw(self.guard.id().cast_signed())
    }

    /// Kills the group repeatedly after `stop` becomes true, because a program may just be
    /// starting.
    fn watch(&self, stop: Arc<AtomicBool>) -> io::Result<JoinHandle<()>> {
        let (id, over) = (self.id(), Arc::clone(&self.over));
        thread::Builder::new().spawn(move || {
            while !over.load(Ordering::Acquire) {
                if stop.load(Ordering::Relaxed) {
                    end(id);
                }
                thread::park_timeout(ATTENTION);
            }
        })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // The thread cannot panic.
            let _ = watcher.join();
        }
        end(self.id());
        // No other group can get this number before the process is waited for.
        let _ = self.guard.wait();
        let start = Instant::now();
        while killpg(self.id(), None).is_ok() && start.elapsed() < REAP_TIMEOUT {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Kills the group. Errors are ignored, because the group may have ended already.
fn end(group: Pid) {
    let _ = killpg(group, Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Starts a program that starts another one. Both live until they are killed, and both hold the
    /// write end of the returned pipe.
    fn start(group: &ProcessGroup) -> (Child, impl Read + use<>) {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & echo; wait"])
            .stdout(Stdio::piped())
            .process_group(group.id().as_raw())
            .spawn()
            .unwrap();
        let mut said = child.stdout.take().unwrap();
        said.read_exact(&mut [0]).unwrap();
        (child, said)
    }

    #[test]
    fn child_processes_end_with_their_group() {
        let group = ProcessGroup::spawn(&Arc::default(), None).unwrap();
        let (mut child, mut said) = start(&group);
        drop(group);
        // The pipe is closed only after the second program has ended, too.
        assert_eq!(said.read(&mut [0]).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn interrupt_ends_the_group() {
        let stop = Arc::new(AtomicBool::new(false));
        let group = ProcessGroup::spawn(&stop, None).unwrap();
        let (mut child, mut said) = start(&group);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(said.read(&mut [0]).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }

    /// The guard's standard input is closed when this process ends.
    #[test]
    fn group_ends_with_the_process_that_started_it() {
        let mut group = ProcessGroup::spawn(&Arc::default(), None).unwrap();
        let (mut child, mut said) = start(&group);
        drop(group.guard.stdin.take());
        assert_eq!(said.read(&mut [0]).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }
}
