//! JSON output of a program, optionally after lines of text.

use serde::de::DeserializeOwned;

use crate::ImportError;
use crate::parse::text::as_utf8;

/// Reads the first JSON value that starts on a line with `{`. `serde_json` limits the nesting
/// depth.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ImportError> {
    let text = as_utf8(bytes)?;
    let lines = text.split_inclusive('\n');
    let before: Vec<&str> = lines.take_while(|line| !line.trim_start().starts_with('{')).collect();
    let skipped = before.iter().map(|line| line.len()).sum();
    let mut values = serde_json::Deserializer::from_str(&text[skipped..]).into_iter::<T>();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => {
            Err(ImportError::at_line(before.len() + error.line(), model::json_error_cause(&error)))
        }
        None => Err(ImportError::in_file("there is no JSON in it")),
    }
}
