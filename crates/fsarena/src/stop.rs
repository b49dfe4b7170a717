//! Signal handling. Termination signals (Ctrl-C and others) set a flag that running work checks, so
//! that it can clean up. SIGXFSZ, which would kill the program without a message, is caught.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guest::GuestError;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Installs signal handlers. Returns a flag that is set to true when the user, the terminal or the
/// system asks the program to stop.
///
/// # Errors
/// Returns an error if the handlers cannot be installed.
pub fn install_handlers() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register(signal, Arc::clone(&stop))?;
    }
    sys::interruption::set_flag(&stop);
    Ok(stop)
}

/// Makes a write beyond the maximum file size (`RLIMIT_FSIZE`) fail with EFBIG, which can be
/// reported; without a handler, SIGXFSZ kills the program. A handler is used because child
/// processes reset it to the default, unlike an ignored signal.
///
/// # Errors
/// Returns an error if the handler cannot be installed.
pub fn ignore_sigxfsz() -> std::io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Runs `work` with a flag that termination signals set. Before and after, a signal ends the
/// program as usual.
///
/// # Errors
/// Returns the error of the work, or [`GuestError::Interrupted`] if a signal arrived that the work
/// did not notice.
pub fn with_stop_flag<T>(
    work: impl FnOnce(&Arc<AtomicBool>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let over = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register_conditional_default(signal, Arc::clone(&over))?;
    }
    let stop = install_handlers()?;
    let done = work(&stop);
    over.store(true, Ordering::SeqCst);
    let done = done?;
    match stop.load(Ordering::SeqCst) {
        true => Err(GuestError::Interrupted { left: None }.into()),
        false => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns true if the bit of a signal is set in a mask of `/proc/PID/status`.
    fn is_in(mask: &str, status: &str, signal: i32) -> bool {
        let line = status.lines().find_map(|line| line.strip_prefix(mask));
        let mask = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
        mask >> (signal - 1) & 1 == 1
    }

    #[test]
    fn the_limit_of_file_sizes_is_heard_here_and_by_default_in_programs_that_are_started() {
        ignore_sigxfsz().unwrap();
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(is_in("SigCgt:", &own, SIGXFSZ));
        let output = Command::new("cat").arg("/proc/self/status").output();
        let started = String::from_utf8(output.unwrap().stdout).unwrap();
        for mask in ["SigCgt:", "SigIgn:"] {
            assert!(!is_in(mask, &started, SIGXFSZ), "{mask}");
        }
    }
}
