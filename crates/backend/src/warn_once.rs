//! Warnings about optional resources of cells, each reported once.

use std::sync::{Mutex, PoisonError};

/// First warning, until it is reported.
#[derive(Debug, Default)]
pub struct WarnOnce(Mutex<WarningState>);

#[derive(Debug, Default)]
enum WarningState {
    #[default]
    None,
    Pending(String),
    Shown,
}

impl WarnOnce {
    /// Records a warning. Only the first one is reported.
    pub fn set(&self, why: impl FnOnce() -> String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, WarningState::None) {
            *state = WarningState::Pending(why());
        }
    }

    /// Takes the pending warning, if any.
    pub fn take(&self) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let WarningState::Pending(why) = &mut *state else {
            return None;
        };
        let why = std::mem::take(why);
        *state = WarningState::Shown;
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_warning_is_reported_once() {
        let trouble = WarnOnce::default();
        assert_eq!(trouble.take(), None);
        trouble.set(|| "first".to_owned());
        trouble.set(|| "second".to_owned());
        assert_eq!(trouble.take().as_deref(), Some("first"));
        trouble.set(|| "third".to_owned());
        assert_eq!(trouble.take(), None);
    }
}
