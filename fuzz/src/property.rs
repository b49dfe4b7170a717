//! Properties of all parsers: errors are one line, and parsed values survive a round trip.

use std::fmt::{Debug, Display};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Checks that an error is one line that is safe to print on a terminal.
pub fn is_one_line(error: &impl Display) {
    let text = error.to_string();
    assert!(!text.is_empty(), "an error must not be empty");
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// Checks that a value survives a round trip through JSON.
pub fn survives_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("JSON can say it");
    let again: T = serde_json::from_str(&text).expect("it is read again");
    assert_eq!(*value, again);
}
