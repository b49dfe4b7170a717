//! Reads the agent's events, and what it writes to its standard error, on threads of their own.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use wire::Event;

/// The last bytes of an agent's standard error that are kept as evidence.
const ERRORS_KEPT: usize = 4096;

/// A channel that yields the events and closes when the agent does; a line that is no event closes
/// it, too: an agent that talks nonsense is as good as dead.
pub fn channel(output: impl Read + Send + 'static) -> Receiver<Event> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            let Ok(event) = serde_json::from_str(&line) else {
                return;
            };
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The end of what the agent writes to its standard error, once it has ended.
pub fn errors(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
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

    #[test]
    fn events_come_in_order_until_the_first_nonsense() {
        let first = Event::Hello { version: 1 }.to_line();
        let text = format!("{first}nonsense\n{}", Event::Done.to_line());
        let events: Vec<Event> = channel(std::io::Cursor::new(text)).iter().collect();
        assert_eq!(events, [Event::Hello { version: 1 }]);
    }

    #[test]
    fn only_the_end_of_the_errors_is_kept() {
        let text = "x".repeat(10_000) + "the end\n";
        let kept = errors(std::io::Cursor::new(text)).join().unwrap();
        assert!(kept.len() <= ERRORS_KEPT && kept.ends_with("the end"));
    }
}
