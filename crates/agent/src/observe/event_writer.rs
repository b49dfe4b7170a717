//! Sends events to the orchestrator, one line each, from any thread.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::Nanos;
use model::wire::CellEvent;
use sys::io::clock;

/// The agent's end of the channel to the orchestrator.
#[derive(Clone)]
pub struct EventWriter {
    /// Time of the last event on the clock of [`clock::now`]; readable while another event is being
    /// sent.
    last_sent: Arc<AtomicU64>,
    out: Arc<Mutex<dyn Write + Send>>,
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").field("last_sent", &self.last_sent).finish_non_exhaustive()
    }
}

impl EventWriter {
    /// Creates an event writer with this output.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self { last_sent: Arc::new(AtomicU64::new(clock::now().0)), out: Arc::new(Mutex::new(out)) }
    }

    /// Sends one event immediately. Write errors are ignored: the agent ends soon if the reader has
    /// closed its end.
    pub fn send(&self, event: &CellEvent) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.write_all(event.to_line().as_bytes()).and_then(|()| out.flush());
        self.last_sent.store(clock::now().0, Ordering::Relaxed);
    }

    /// Returns the time of the last event.
    pub fn last_sent(&self) -> Nanos {
        Nanos(self.last_sent.load(Ordering::Relaxed))
    }
}
