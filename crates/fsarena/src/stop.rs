//! Ctrl-C and its relatives: a flag that whoever works looks at, to clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guest::GuestError;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A flag that rises when the user, the terminal or the system asks the program to stop.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn on_signals() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Does something that looks at such a flag; before and afterwards a signal ends the program as it would anyway.
///
/// # Errors
/// Those of the work, and [`GuestError::Interrupted`] where a signal came that it did not notice any more.
pub fn during<T>(work: impl FnOnce(&Arc<AtomicBool>) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let over = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register_conditional_default(signal, Arc::clone(&over))?;
    }
    let stop = on_signals()?;
    let done = work(&stop);
    over.store(true, Ordering::SeqCst);
    let done = done?;
    match stop.load(Ordering::SeqCst) {
        true => Err(GuestError::Interrupted { left: None }.into()),
        false => Ok(done),
    }
}
