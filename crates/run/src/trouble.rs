//! What is wrong with something that cells can do without, which the user is to know once.

use std::sync::{Mutex, PoisonError};

/// What came first, until somebody has been told.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    None,
    Untold(String),
    Told,
}

impl Trouble {
    /// Something that the user is to know; what comes first is told, and no more.
    pub fn say(&self, why: impl FnOnce() -> String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::None) {
            *state = State::Untold(why());
        }
    }

    /// What nobody has been told; once, to whoever asks first.
    pub fn untold(&self) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Untold(why) = &mut *state else {
            return None;
        };
        let why = std::mem::take(why);
        *state = State::Told;
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_is_told_once() {
        let trouble = Trouble::default();
        assert_eq!(trouble.untold(), None);
        trouble.say(|| "first".to_owned());
        trouble.say(|| "second".to_owned());
        assert_eq!(trouble.untold().as_deref(), Some("first"));
        trouble.say(|| "third".to_owned());
        assert_eq!(trouble.untold(), None);
    }
}
