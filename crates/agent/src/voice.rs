//! Events out, one line each, from whichever thread has something to say.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use wire::Event;

/// The agent's end of the channel to the orchestrator.
#[derive(Clone)]
pub struct Voice(Arc<Mutex<dyn Write + Send>>);

impl Voice {
    /// A voice that writes here.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }

    /// Says one event at once. Where nobody listens, the agent is about to end anyway.
    pub fn say(&self, event: &Event) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out
            .write_all(event.to_line().as_bytes())
            .and_then(|()| out.flush());
    }
}
