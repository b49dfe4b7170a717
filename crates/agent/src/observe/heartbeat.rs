//! Reports progress to the orchestrator: operations of the phase, device I/O, or process changes of
//! a command.
//!
//! An idle agent sends no heartbeat. The orchestrator can therefore distinguish a blocked phase
//! from a slow one.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use model::wire::CellEvent;
use model::{MachineSample, Nanos};
use sys::block::BlockStats;
use sys::io::clock;
use sys::memory;
use workload::Progress;

use crate::observe::event_writer::EventWriter;
use crate::observe::machine_samples::{MachineReading, MachineSamples};

/// Interval between progress reports: too long to cost anything, short enough for a progress bar.
const INTERVAL: Duration = Duration::from_millis(200);

/// Sources of progress and the thread that reports it.
#[derive(Clone)]
pub struct Heartbeat {
    step: Arc<Mutex<String>>,
    progress: Arc<Progress>,
    /// Whether a command is running. Its operations are not counted.
    command: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    samples: Arc<Mutex<MachineSamples>>,
}

impl Heartbeat {
    /// Starts to report the progress of the phase and the counters of the device.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(events: EventWriter, device: Option<BlockStats>) -> io::Result<Self> {
        let heartbeat = Self {
            step: Arc::default(),
            progress: Arc::default(),
            command: Arc::default(),
            stopped: Arc::default(),
            samples: Arc::default(),
        };
        let watched = heartbeat.clone();
        thread::Builder::new().spawn(move || watched.watch(&events, device.as_ref()))?;
        Ok(heartbeat)
    }

    /// Sets the current step or phase and restarts the progress count.
    pub fn enter(&self, step: &str) {
        self.progress.restart();
        *self.samples.lock().unwrap_or_else(PoisonError::into_inner) = MachineSamples::default();
        step.clone_into(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets whether a command is running.
    pub fn watch_command(&self, runs: bool) {
        self.command.store(runs, Ordering::Relaxed);
    }

    /// Returns the counters of finished operations.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Returns the samples of the machine within a timed part of the current step.
    pub fn samples(&self, begun: Nanos, ended: Nanos) -> Vec<MachineSample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).during(begun, ended)
    }

    /// Stops the heartbeat. A report that is already being sent may still arrive.
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
            let counters = device.and_then(BlockStats::read);
            let reading =
                MachineReading { at: clock::now(), dirty: memory::dirty(), device: counters };
            self.samples.lock().unwrap_or_else(PoisonError::into_inner).add(reading);
            let seen = (self.progress.done(), counters, command.then(newest_process));
            if last.as_ref() != Some(&seen) {
                events.send(&CellEvent::Progress {
                    step: self.step.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                    done: seen.0,
                    total: self.progress.total(),
                });
                last = Some(seen);
            }
        }
    }
}

/// Returns the number of the newest process, which a build raises continuously. Source: the last
/// word of `/proc/loadavg` (proc(5)).
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
