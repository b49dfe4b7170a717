//! Imports traces of other programs: text output of strace and iologs of fio.

mod calls;
mod descriptors;
mod fs_model;
mod iolog;
mod line;
mod log_text;
mod messages;
mod recording;
mod resolve;
mod tasks;
mod tidy;

use thiserror::Error;

use crate::trace::Trace;

pub use recording::{InheritedFile, RecordingStart, STRACE_CALLS, Surroundings};
pub use tasks::{Standing, StraceImporter};

/// Maximum length of a path in bytes. Source: `PATH_MAX` in limits.h.
const MAX_PATH: usize = 4096;
/// Maximum number of paths, so that they fit into memory.
const MAX_PATHS: usize = 4_000_000;
const TOO_MANY_PATHS: &str = "it has more than 4000000 paths; record a part";

/// A supported format of imported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Output of `strace -f -ttt -T -y -o FILE`.
    Strace,
    /// Output of `fio --write_iolog=FILE`, version 2 or 3.
    Iolog,
}

/// Error in an imported file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct TraceImportError {
    /// The line, from 1.
    pub line: usize,
    /// Description of the problem, with a hint.
    pub message: String,
}

/// Returns the format of a file, detected from its beginning.
pub fn detect_format(text: &[u8]) -> ImportFormat {
    match text.starts_with(b"fio version ") {
        true => ImportFormat::Iolog,
        false => ImportFormat::Strace,
    }
}

/// Parses a recording of another program. From strace output, only operations `below` a directory
/// are imported; the default is the working directory of the first process.
///
/// # Errors
/// Returns an error at the first line with invalid syntax.
pub fn import(
    text: &[u8],
    format: ImportFormat,
    below: Option<&[u8]>,
) -> Result<Trace, TraceImportError> {
    if let Some((line, _)) = lines(text).find(|(_, line)| line.contains(&0)) {
        let is_wide = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
        let what = match is_wide {
            true => "it is UTF-16; save it as UTF-8",
            false => "this is no text: give the output of strace, or an iolog of fio",
        };
        return Err(TraceImportError { line, message: what.to_owned() });
    }
    match format {
        ImportFormat::Strace => tasks::import(text, below),
        ImportFormat::Iolog => iolog::import(text, below),
    }
}

/// Iterates over the lines of a text with their numbers.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n');
    (1..).zip(lines.map(<[u8]>::trim_ascii)).filter(|(_, line)| !line.is_empty())
}

#[cfg(test)]
mod tests;
