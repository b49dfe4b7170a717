//! Ctrl-C and its relatives: a flag that the campaign looks at, so that it can clean up.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that rises when the user, the terminal or the system asks the program to stop.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn on_signals() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
