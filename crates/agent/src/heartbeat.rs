//! Tells the orchestrator that something moves: operations of the phase, the device, or processes of a command that come and go.
//!
//! An agent that merely lives says nothing. A phase that waits for ever therefore falls silent, and
//! the orchestrator can tell it from a slow one.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sys::block::BlockStats;
use wire::CellEvent;
use workload::Progress;

use crate::event_writer::EventWriter;

/// Seldom enough to cost nothing, often enough for a progress bar.
const INTERVAL: Duration = Duration::from_millis(200);

/// What is watched.
#[derive(Clone)]
pub struct Heartbeat {
    step: Arc<Mutex<String>>,
    progress: Arc<Progress>,
    /// Whether a command runs, whose work nobody counts.
    command: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
}

impl Heartbeat {
    /// Begins to watch the phase's progress and the device.
    ///
    /// # Errors
    /// When its thread cannot be started.
    pub fn start(events: EventWriter, device: Option<BlockStats>) -> io::Result<Self> {
        let heartbeat = Self {
            step: Arc::default(),
            progress: Arc::default(),
            command: Arc::default(),
            stopped: Arc::default(),
        };
        let watched = heartbeat.clone();
        thread::Builder::new().spawn(move || watched.watch(&events, device.as_ref()))?;
        Ok(heartbeat)
    }

    /// Says which step or phase the progress belongs to from now on, and begins to count anew.
    pub fn enter(&self, step: &str) {
        self.progress.restart();
        step.clone_into(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Says whether a command runs from now on.
    pub fn watch_command(&self, runs: bool) {
        self.command.store(runs, Ordering::Relaxed);
    }

    /// Where operations are counted.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Falls silent; nothing is said after this returns but what is being said already.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn watch(&self, events: &EventWriter, device: Option<&BlockStats>) {
        let mut last = None;
        loop {
            thread::sleep(INTERVAL);
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let command = self.command.load(Ordering::Relaxed);
            let seen = (
                self.progress.done(),
                device.and_then(BlockStats::read),
                command.then(newest_process),
            );
            if last.as_ref() != Some(&seen) {
                events.send(&CellEvent::Progress {
                    step: self
                        .step
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .clone(),
                    done: seen.0,
                    total: self.progress.total(),
                });
                last = Some(seen);
            }
        }
    }
}

/// The number of the newest process, which a build raises all the time: the last word of `/proc/loadavg` (proc(5)).
fn newest_process() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_begins_moves_something() {
        let before = newest_process().unwrap();
        assert!(Command::new("true").status().unwrap().success());
        assert_ne!(newest_process().unwrap(), before);
    }
}
