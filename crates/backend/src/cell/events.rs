//! Reads the agent's events and its standard error in separate threads.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::Bytes;
use model::wire::CellEvent;
use sys::io::bounded::{self, StreamLimits};

/// Maximum length of the agent's standard error that is kept as evidence, in bytes, counted from
/// the end.
const ERRORS_KEPT: usize = 4096;
/// Limits of the events of a cell. The largest contain the request log of a phase.
const EVENT_LIMITS: StreamLimits =
    StreamLimits { line: Bytes::mib(16), total: Bytes::mib(256), lines_per_second: None };
/// Number of events that wait to be handled.
const MAX_WAITING_EVENTS: usize = 64;
/// Interval between checks of a file for new data.
const LOOK: Duration = Duration::from_millis(5);

/// A file that is still being written. It ends when its writer has ended and all data is read.
pub struct TailedFile<R> {
    file: R,
    ended: Arc<AtomicBool>,
}

impl<R: Read> TailedFile<R> {
    /// Reads from the start of the file until the flag is set and no data remains.
    pub const fn new(file: R, ended: Arc<AtomicBool>) -> Self {
        Self { file, ended }
    }
}

impl<R: Read> Read for TailedFile<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // The order matters: data written before the end is readable when the flag is set.
            let ended = self.ended.load(Ordering::Acquire);
            match self.file.read(buffer)? {
                0 if !ended => thread::sleep(LOOK),
                n => return Ok(n),
            }
        }
    }
}

/// Returns a channel that yields the events and closes when the agent closes its output. A line
/// that is not an event closes it too, because the agent is no longer reliable.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub fn channel(output: impl Read + Send + 'static) -> io::Result<Receiver<CellEvent>> {
    let (sender, receiver) = mpsc::sync_channel(MAX_WAITING_EVENTS);
    thread::Builder::new().spawn(move || {
        for event in read(output) {
            if sender.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Returns the events up to the first line that is not an event.
pub fn read(output: impl Read) -> impl Iterator<Item = CellEvent> {
    bounded::lines(BufReader::new(output), EVENT_LIMITS)
        .map_while(|line| serde_json::from_slice(&line.ok()?).ok())
}

/// Returns the last part of the agent's standard error after the agent has ended.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub fn errors(mut stream: impl Read + Send + 'static) -> io::Result<JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let mut kept = Vec::new();
        let mut piece = [0; 1024];
        while let Ok(n @ 1..) = stream.read(&mut piece) {
            kept.extend_from_slice(&piece[..n]);
            let surplus = kept.len().saturating_sub(ERRORS_KEPT);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn events_come_in_order_until_the_first_nonsense() {
        let first = CellEvent::Hello { version: 1 }.to_line();
        let text = format!("{first}nonsense\n{}", CellEvent::Done.to_line());
        let events: Vec<CellEvent> = channel(std::io::Cursor::new(text)).unwrap().iter().collect();
        assert_eq!(events, [CellEvent::Hello { version: 1 }]);
    }

    /// Regression test: a guest that never ended a line used all memory of its host.
    #[test]
    fn a_line_without_an_end_is_no_event_and_fills_no_memory() {
        assert_eq!(read(io::repeat(b' ')).next(), None);
    }

    #[test]
    fn a_file_is_followed_until_its_writer_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events");
        let mut writer = std::fs::File::create(&path).unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let reader = TailedFile::new(std::fs::File::open(&path).unwrap(), Arc::clone(&ended));
        let events = channel(reader).unwrap();
        let (hello, done) = (CellEvent::Hello { version: 1 }.to_line(), CellEvent::Done.to_line());
        // A line that arrives in two pieces is one event.
        let (first, rest) = hello.split_at(5);
        writer.write_all(first.as_bytes()).unwrap();
        writer.write_all(rest.as_bytes()).unwrap();
        assert_eq!(events.recv().unwrap(), CellEvent::Hello { version: 1 });
        writer.write_all(done.as_bytes()).unwrap();
        ended.store(true, Ordering::Release);
        assert_eq!(events.iter().collect::<Vec<_>>(), [CellEvent::Done]);
    }

    #[test]
    fn only_the_end_of_the_errors_is_kept() {
        let text = "x".repeat(10_000) + "the end\n";
        let kept = errors(std::io::Cursor::new(text)).unwrap().join().unwrap();
        assert!(kept.len() <= ERRORS_KEPT && kept.ends_with("the end"));
    }
}
