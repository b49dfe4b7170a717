//! The monitor of a machine: commands to QEMU and its answers (QMP, `docs/interop/qmp-spec.txt` of
//! QEMU).

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Duration;

use model::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use sys::io::clock;

/// Interval between queries of the number of executed instructions.
const INSTRUCTION_POLL_INTERVAL: Nanos = Nanos(250_000_000);
/// Identifier of the query in QEMU's answers.
const COUNT: &str = "instructions";

/// Monitor of a machine: commands go to QEMU's standard input, and answers come from its standard
/// output.
#[derive(Debug)]
pub(crate) struct QmpMonitor {
    input: ChildStdin,
    output: ChildStdout,
    /// Incomplete last line of the input.
    read: Vec<u8>,
    /// Last answer, in instructions. `None` if the machine does not count them.
    count: Option<u64>,
    /// Time of the last query, or `None` while an answer is missing.
    asked: Option<Nanos>,
}

impl QmpMonitor {
    /// Returns the monitor of a new machine with piped streams.
    ///
    /// # Errors
    /// Returns an error if the monitor cannot be written to.
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

    /// Sends a command. Also succeeds if the machine has ended; the missing answer reveals that.
    ///
    /// # Errors
    /// Returns an error if the command cannot be written.
    pub(crate) fn send(&mut self, command: &Value) -> io::Result<()> {
        match writeln!(self.input, "{command}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Returns the next message, or `None` if none arrives within this time.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the machine has ended, or `InvalidData` for a line that is too long.
    pub(crate) fn receive(&mut self, within: Duration) -> io::Result<Option<Value>> {
        let begun = clock::now();
        loop {
            if let Some(said) = self.line() {
                if said["id"] != COUNT {
                    return Ok(Some(said));
                }
                // Only a machine in virtual time records and therefore has a count (`query-replay`
                // of QEMU).
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
                _ if self.read.len() > MAX_LINE => return Err(io::ErrorKind::InvalidData.into()),
                bytes => self.read.extend_from_slice(&more[..bytes]),
            }
        }
    }

    /// Queries the number of executed instructions at intervals. [`Self::receive`] reads the
    /// answer. The guest is not affected, because the query uses no device.
    fn ask(&mut self) -> io::Result<()> {
        if self.asked.is_none_or(|asked| clock::since(asked) < INSTRUCTION_POLL_INTERVAL) {
            return Ok(());
        }
        self.asked = None;
        self.send(&json!({"execute": "query-replay", "id": COUNT}))
    }

    /// Returns the next complete line. A line that is not JSON becomes `null`.
    fn line(&mut self) -> Option<Value> {
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.read.drain(..=end).collect();
        Some(serde_json::from_slice(&line).unwrap_or(Value::Null))
    }
}

/// Progress of a guest in virtual time, in executed instructions. A guest on a busy machine runs
/// more slowly but gets the same number of instructions before a timeout.
#[derive(Debug)]
pub(crate) struct GuestProgress {
    monitor: QmpMonitor,
    before: u64,
    /// Instruction count at the last progress.
    moved: u64,
}

impl GuestProgress {
    /// Tracks a guest that has just started.
    pub(crate) const fn of(monitor: QmpMonitor) -> Self {
        Self { monitor, before: 0, moved: 0 }
    }

    /// Its monitor.
    pub(crate) const fn monitor(&mut self) -> &mut QmpMonitor {
        &mut self.monitor
    }

    /// Returns the part of an elapsed wall time that counts for timeouts, based on the executed
    /// instructions.
    pub(crate) fn pass(&mut self, passed: Nanos) -> Nanos {
        // If the query fails, the machine has ended, which other code detects.
        let _ = self.monitor.ask();
        let Some(now) = self.monitor.count else {
            return passed;
        };
        let executed = now.saturating_sub(self.before);
        self.before = now;
        counted(executed, passed)
    }

    /// Records that the guest made progress.
    pub(crate) const fn moved(&mut self) {
        self.moved = self.before;
    }

    /// Returns the number of instructions executed since the last progress. Returns `None` if the
    /// machine does not count them.
    pub(crate) fn executed(&self) -> Option<u64> {
        self.monitor.count.map(|_| self.before - self.moved)
    }

    /// Reads pending messages and then calls [`Self::pass`], if no other reader exists. Only
    /// the instruction count is used.
    pub(crate) fn poll_and_advance(&mut self, passed: Nanos) -> Nanos {
        for _ in 0..MAX_MESSAGES {
            if !matches!(self.monitor.receive(Duration::ZERO), Ok(Some(_))) {
                break;
            }
        }
        self.pass(passed)
    }
}

/// Maximum length of a line of the monitor, in bytes.
const MAX_LINE: usize = 1 << 20;
/// Maximum number of messages that are read at once: a broken machine sends them without end.
const MAX_MESSAGES: u32 = 1000;
/// Instructions that count as one second of a guest: about the speed of QEMU emulation on a 3 GHz
/// processor.
const A_SECOND: u64 = 250_000_000;
/// One in this number of parts of wall time always counts, so that a guest that never runs again
/// also times out.
const REAL_TIME_DIVISOR: u64 = 10;

/// Combines nine tenths of the time by executed instructions with one tenth of the wall time.
const fn counted(executed: u64, passed: Nanos) -> Nanos {
    let by_work = executed.saturating_mul(1_000_000_000 / A_SECOND);
    Nanos(by_work / REAL_TIME_DIVISOR * (REAL_TIME_DIVISOR - 1) + passed.0 / REAL_TIME_DIVISOR)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// Starts a machine that writes this text and then stays silent. Descriptor 3 keeps its output
    /// open.
    fn machine(says: &str) -> (Child, QmpMonitor) {
        let mut child = Command::new("sh")
            .args(["-c", &format!("printf '{says}'; exec cat 3>&1 >/dev/null")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let monitor = QmpMonitor::of(&mut child).unwrap();
        (child, monitor)
    }

    #[test]
    fn time_of_a_guest_follows_its_executed_instructions() {
        assert_eq!(counted(A_SECOND, SECOND), SECOND, "as fast as usual");
        let half = counted(A_SECOND / 2, SECOND);
        assert_eq!(half, Nanos(550_000_000), "half as fast");
        assert_eq!(counted(0, SECOND), Nanos(100_000_000), "it never runs again");
        counted(u64::MAX, SECOND);
    }

    #[test]
    fn messages_are_read_line_by_line_and_counts_are_stored() {
        let (mut child, mut monitor) = machine(
            r#"{"QMP": {}}\n{"return": {"mode": "record", "icount": 70}, "id": "instructions"}\n{"event": "STOP"}\n{"ev"#,
        );
        // The answer is immediate, but a busy machine may start it slowly.
        let long = Duration::from_secs(60);
        let greeting = monitor.receive(long).unwrap().unwrap();
        assert!(greeting["QMP"].is_object());
        let stopped = monitor.receive(long).unwrap().unwrap();
        assert_eq!((stopped["event"].as_str(), monitor.count), (Some("STOP"), Some(70)));
        assert_eq!(monitor.receive(Duration::ZERO).unwrap(), None, "half a line");
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = monitor.receive(long).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
        monitor.send(&json!({"execute": "quit"})).unwrap();
    }
}
