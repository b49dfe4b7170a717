//! Events out, one line each, from whichever thread has something to say.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::Nanos;
use sys::clock;
use wire::Event;

/// The agent's end of the channel to the orchestrator.
#[derive(Clone)]
pub struct EventWriter {
    /// When it spoke last, on the clock of [`clock::now`]: known also while somebody is speaking.
    spoke: Arc<AtomicU64>,
    out: Arc<Mutex<dyn Write + Send>>,
}

impl EventWriter {
    /// A events that writes here.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self {
            spoke: Arc::new(AtomicU64::new(clock::now().0)),
            out: Arc::new(Mutex::new(out)),
        }
    }

    /// Says one event at once. Where nobody listens, the agent is about to end anyway.
    pub fn say(&self, event: &Event) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out
            .write_all(event.to_line().as_bytes())
            .and_then(|()| out.flush());
        self.spoke.store(clock::now().0, Ordering::Relaxed);
    }

    /// When it spoke last.
    pub fn spoke(&self) -> Nanos {
        Nanos(self.spoke.load(Ordering::Relaxed))
    }
}
