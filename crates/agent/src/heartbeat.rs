//! Tells the orchestrator that something moves: operations of the phase, or the device.
//!
//! An agent that merely lives says nothing. A phase that waits for ever therefore falls silent, and
//! the orchestrator can tell it from a slow one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use engine::Progress;
use sys::block::DeviceStat;
use wire::Event;

use crate::event_writer::EventWriter;

/// Seldom enough to cost nothing, often enough for a progress bar.
const INTERVAL: Duration = Duration::from_millis(200);

/// What is watched.
#[derive(Clone)]
pub struct Heartbeat {
    step: Arc<Mutex<String>>,
    progress: Arc<Progress>,
    stopped: Arc<AtomicBool>,
}

impl Heartbeat {
    /// Begins to watch the phase's progress and the device.
    ///
    /// # Errors
    /// When its thread cannot be started.
    pub fn start(events: EventWriter, device: Option<DeviceStat>) -> io::Result<Self> {
        let heartbeat = Self {
            step: Arc::default(),
            progress: Arc::default(),
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

    /// Where operations are counted.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Falls silent; nothing is said after this returns but what is being said already.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn watch(&self, events: &EventWriter, device: Option<&DeviceStat>) {
        let mut last = None;
        loop {
            thread::sleep(INTERVAL);
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let seen = (self.progress.done(), device.and_then(DeviceStat::read));
            if last.as_ref() != Some(&seen) {
                events.send(&Event::Progress {
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
