//! The programs to compare, a file for each: how to start it and how to parse its output. No file
//! judges results.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};

pub mod bonnie;
pub mod boot;
pub mod dd;
pub mod engine;
pub mod fio;
pub mod fsmark;
pub mod iozone;
pub mod loop_c;

/// One result of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerSample {
    /// Bytes or operations per second, depending on the unit of the result.
    pub rate: f64,
    /// Processor time of the program itself, in seconds per operation. `None` if the program does
    /// not report it.
    pub processor: Option<f64>,
}

impl PeerSample {
    /// Returns a sample with a rate but without processor time.
    pub const fn rate(rate: f64) -> Self {
        Self { rate, processor: None }
    }
}

/// Results of one run, by name.
pub type PeerSamples = BTreeMap<String, PeerSample>;

/// Runs a program to its end and returns its standard output.
///
/// # Errors
/// Returns an error with the program's output if it cannot be started or fails.
pub fn run(command: &mut Command) -> anyhow::Result<String> {
    both(command).map(|(output, _)| output)
}

/// Runs a program like [`run`], but also returns its standard error.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn both(command: &mut Command) -> anyhow::Result<(String, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} cannot be started"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    if !output.status.success() {
        anyhow::bail!("{name} failed, {}: {}{}", output.status, err, out);
    }
    Ok((out, err))
}
