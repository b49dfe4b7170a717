//! Signal handling of the recorder: passes signals to the command, and kills its remaining
//! processes after it has ended.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Running processes of the recording.
#[derive(Debug, Default)]
pub struct Living {
    /// Process of the command, until it ends.
    pub first: Option<Pid>,
    /// All processes of the recording.
    pub all: BTreeSet<Pid>,
    /// True if the remaining processes of the command were killed.
    pub killed: bool,
}

/// Forwards signals until it is dropped. Ctrl-C reaches the command directly, like all processes in
/// the terminal's foreground.
pub struct Interruption {
    living: Arc<Mutex<Living>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interruption {
    /// Starts forwarding signals.
    ///
    /// # Errors
    /// Returns an error if the signal handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let living = Arc::new(Mutex::new(Living::default()));
        let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
        let handle = signals.handle();
        let shared = Arc::clone(&living);
        let listen = move || signals.forever().for_each(|signal| pass(&shared, signal));
        let thread = thread::Builder::new().spawn(listen)?;
        Ok(Self { living, handle, thread: Some(thread) })
    }

    /// Returns the running processes.
    pub fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread only forwards signals and has no result.
            let _ = thread.join();
        }
    }
}

fn pass(living: &Mutex<Living>, signal: i32) {
    let mut living = living.lock().unwrap_or_else(PoisonError::into_inner);
    match living.first {
        // Errors are ignored: the process may just have ended.
        Some(first) if [SIGTERM, SIGHUP].contains(&signal) => {
            let _ = kill(first, Signal::try_from(signal).ok());
        }
        Some(_) => {}
        None => {
            living.killed = true;
            for process in &living.all {
                let _ = kill(*process, Signal::SIGKILL);
            }
        }
    }
}
