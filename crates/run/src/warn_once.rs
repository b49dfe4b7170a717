//! What is wrong with something that cells can do without, which the user is to know once.

use std::sync::{Mutex, PoisonError};

/// What came first, until somebody has been told.
#[derive(Debug, Default)]
pub struct WarnOnce(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    None,
    Pending(String),
    Shown,
}

impl WarnOnce {
    /// Something that the user is to know; what comes first is told, and no more.
    pub fn set(&self, why: impl FnOnce() -> String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::None) {
            *state = State::Pending(why());
        }
    }

    /// What nobody has been told; once, to whoever asks first.
    pub fn take(&self) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Pending(why) = &mut *state else {
            return None;
        };
        let why = std::mem::take(why);
        *state = State::Shown;
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_is_told_once() {
        let trouble = WarnOnce::default();
        assert_eq!(trouble.take(), None);
        trouble.set(|| "first".to_owned());
        trouble.set(|| "second".to_owned());
        assert_eq!(trouble.take().as_deref(), Some("first"));
        trouble.set(|| "third".to_owned());
        assert_eq!(trouble.take(), None);
    }
}
