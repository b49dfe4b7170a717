//! Reads campaign files. A file may be a pipe without a writer, so the wait can be interrupted.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context;
use config::Catalog;
use storage::ProvisionError;

use crate::output::exit::UsageError;

/// Interval between checks for an interrupt.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Reads the text, until the user asks to stop.
pub fn read(path: &Path, stop: &AtomicBool) -> anyhow::Result<String> {
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()) {
        let path = path.display();
        let complaint = format!("{path} is a device, and no campaign file: give it with --device");
        return Err(UsageError(complaint).into());
    }
    if let Some(name) = path.to_str().filter(|_| !path.exists())
        && is_builtin_filesystem(name)
    {
        let complaint = format!("there is no campaign file {name}; did you mean `-c {name}`?");
        return Err(UsageError(complaint).into());
    }
    let (say, heard) = mpsc::channel();
    let file = path.to_owned();
    // Opening a pipe also blocks, and a signal does not end that. This thread is not joined.
    let reading = move || drop(say.send(config::read_text(&file)));
    thread::Builder::new()
        .spawn(reading)
        .context("cannot start a thread to read the campaign file")?;
    loop {
        match heard.recv_timeout(STOP_POLL_INTERVAL) {
            Ok(text) => return Ok(text?),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(ProvisionError::Interrupted.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(error @ RecvTimeoutError::Disconnected) => return Err(error.into()),
        }
    }
}

/// Returns true if the built-in catalog has a filesystem of this name, so that `-c` was forgotten.
pub fn is_builtin_filesystem(name: &str) -> bool {
    Catalog::builtin().is_ok_and(|catalog| catalog.filesystem(name).is_ok())
}
