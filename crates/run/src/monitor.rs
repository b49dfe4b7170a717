//! The monitor of a machine: QEMU's own commands, and what QEMU says (QMP, `docs/interop/qmp-spec.txt` of QEMU).

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Duration;

use model::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use sys::clock;

/// How often a machine is asked how many instructions it has executed.
const INSTRUCTION_POLL_INTERVAL: Nanos = Nanos(250_000_000);
/// How the answer to that is known.
const COUNT: &str = "instructions";

/// A machine whose commands come from its standard input, and answers go to its standard output.
#[derive(Debug)]
pub(crate) struct QmpMonitor {
    input: ChildStdin,
    output: ChildStdout,
    /// What was read and is no whole line yet.
    read: Vec<u8>,
    /// The last answer, in instructions; nothing where it does not count them.
    count: Option<u64>,
    /// When it was asked last; nothing while an answer is missing.
    asked: Option<Nanos>,
}

impl QmpMonitor {
    /// The monitor of a machine that was just started, both of whose streams are pipes.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(crate) fn of(child: &mut Child) -> io::Result<Self> {
        let input = child.stdin.take();
        let output = child.stdout.take();
        let mut monitor = Self {
            input: input.expect("piped at the start"),
            output: output.expect("piped at the start"),
            read: Vec::new(),
            count: Some(0),
            asked: Some(clock::now()),
        };
        monitor.send(&json!({"execute": "qmp_capabilities"}))?;
        Ok(monitor)
    }

    /// Gives a command. A machine that has ended takes it, too: who waits for its answer finds out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn send(&mut self, command: &Value) -> io::Result<()> {
        match writeln!(self.input, "{command}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// What it says within such a time, if anything.
    ///
    /// # Errors
    /// `UnexpectedEof` when it has ended.
    pub(crate) fn receive(&mut self, within: Duration) -> io::Result<Option<Value>> {
        let begun = clock::now();
        loop {
            if let Some(said) = self.line() {
                if said["id"] != COUNT {
                    return Ok(Some(said));
                }
                // Only a machine that records has a count (`query-replay` of QEMU): one in virtual time.
                self.count = said["return"]["icount"].as_u64();
                self.asked = Some(clock::now());
                continue;
            }
            let left = within.saturating_sub(clock::since(begun).to_duration());
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut ready = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ready, left) {
                Ok(0) | Err(Errno::EINTR) => return Ok(None),
                other => other?,
            };
            let mut more = [0; 4096];
            match self.output.read(&mut more)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                bytes => self.read.extend_from_slice(&more[..bytes]),
            }
        }
    }

    /// Asks, now and then, how many instructions the machine has executed; [`Monitor::hear`] takes the answer. Nothing of
    /// that reaches the machine: what asks is no device of it.
    fn ask(&mut self) -> io::Result<()> {
        if self
            .asked
            .is_none_or(|asked| clock::since(asked) < INSTRUCTION_POLL_INTERVAL)
        {
            return Ok(());
        }
        self.asked = None;
        self.send(&json!({"execute": "query-replay", "id": COUNT}))
    }

    /// The next line that is whole; what is no JSON is `null`.
    fn line(&mut self) -> Option<Value> {
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.read.drain(..=end).collect();
        Some(serde_json::from_slice(&line).unwrap_or(Value::Null))
    }
}

/// How far a guest in virtual time has come, by the instructions that it has executed. A machine that is busy runs it more
/// slowly, and gives it up no sooner.
#[derive(Debug)]
pub(crate) struct GuestProgress {
    monitor: QmpMonitor,
    before: u64,
    /// The count when something moved in it last.
    moved: u64,
}

impl GuestProgress {
    /// Of a guest that was just started.
    pub(crate) const fn of(monitor: QmpMonitor) -> Self {
        Self {
            monitor,
            before: 0,
            moved: 0,
        }
    }

    /// Its monitor.
    pub(crate) const fn monitor(&mut self) -> &mut QmpMonitor {
        &mut self.monitor
    }

    /// What counts of a time that has passed here, by what was heard of the machine.
    pub(crate) fn pass(&mut self, passed: Nanos) -> Nanos {
        // A machine that cannot be asked has ended, which others find out.
        let _ = self.monitor.ask();
        let Some(now) = self.monitor.count else {
            return passed;
        };
        let executed = now.saturating_sub(self.before);
        self.before = now;
        counted(executed, passed)
    }

    /// Takes note that something moved in it.
    pub(crate) const fn moved(&mut self) {
        self.moved = self.before;
    }

    /// How many instructions it has executed since; nothing where it does not count them.
    pub(crate) fn executed(&self) -> Option<u64> {
        self.monitor.count.map(|_| self.before - self.moved)
    }

    /// The same where nobody else hears what the machine says, none of which matters but the count.
    pub(crate) fn poll_and_advance(&mut self, passed: Nanos) -> Nanos {
        while let Ok(Some(_)) = self.monitor.receive(Duration::ZERO) {}
        self.pass(passed)
    }
}

/// A second of a guest is so many instructions: about what QEMU emulates in one on a processor of 3 GHz.
const A_SECOND: u64 = 250_000_000;
/// The part of the time that counts whatever the guest does, so that one that never runs again is given up all the same.
const REAL_TIME_DIVISOR: u64 = 10;

/// Nine tenths by what was executed, and one by the clock.
const fn counted(executed: u64, passed: Nanos) -> Nanos {
    let by_work = executed.saturating_mul(1_000_000_000 / A_SECOND);
    Nanos(by_work / REAL_TIME_DIVISOR * (REAL_TIME_DIVISOR - 1) + passed.0 / REAL_TIME_DIVISOR)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// A machine that says this, and then nothing.
    fn machine(says: &str) -> (Child, QmpMonitor) {
        let mut child = Command::new("sh")
            .args(["-c", &format!("printf '{says}'; exec cat >/dev/null")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let monitor = QmpMonitor::of(&mut child).unwrap();
        (child, monitor)
    }

    #[test]
    fn a_guest_has_its_time_by_what_it_executes() {
        assert_eq!(counted(A_SECOND, SECOND), SECOND, "as fast as usual");
        let half = counted(A_SECOND / 2, SECOND);
        assert_eq!(half, Nanos(550_000_000), "half as fast");
        assert_eq!(
            counted(0, SECOND),
            Nanos(100_000_000),
            "it never runs again"
        );
        counted(u64::MAX, SECOND);
    }

    #[test]
    fn what_it_says_is_heard_line_by_line_and_counts_are_kept() {
        let (mut child, mut monitor) = machine(
            r#"{"QMP": {}}\n{"return": {"mode": "record", "icount": 70}, "id": "instructions"}\n{"event": "STOP"}\n{"ev"#,
        );
        // It says so at once; a busy machine may be slow to start it.
        let long = Duration::from_secs(60);
        let greeting = monitor.receive(long).unwrap().unwrap();
        assert!(greeting["QMP"].is_object());
        let stopped = monitor.receive(long).unwrap().unwrap();
        assert_eq!(
            (stopped["event"].as_str(), monitor.count),
            (Some("STOP"), Some(70))
        );
        assert_eq!(
            monitor.receive(Duration::ZERO).unwrap(),
            None,
            "half a line"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = monitor.receive(long).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
        monitor.send(&json!({"execute": "quit"})).unwrap();
    }
}
