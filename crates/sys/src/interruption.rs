//! Whether the user has asked this process to stop, for waits that get no stop flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Sets the flag that signals set. Later calls have no effect, because signals set all flags.
pub fn set_flag(flag: &Arc<AtomicBool>) {
    FLAG.get_or_init(|| Arc::clone(flag));
}

/// Returns true if the user has asked to stop.
pub fn is_requested() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
