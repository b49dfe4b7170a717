//! dd: one file, sequentially. dd prints its result to standard error.

use std::fs;
use std::process::Command;

use anyhow::Context;
use model::Bytes;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// Run of dd that writes a file from `/dev/zero` or reads a file to `/dev/null`.
#[derive(Clone, Debug)]
pub struct DdRun {
    /// Name of the result.
    pub result: &'static str,
    /// Name of the file in the scratch directory.
    pub file: &'static str,
    /// Bytes per request.
    pub block: Bytes,
    /// Size to write; the file is removed before and after. `None` reads the existing file.
    pub write: Option<Bytes>,
}

impl DdRun {
    /// Runs dd.
    ///
    /// # Errors
    /// Returns an error if dd fails or its output has an unexpected format.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        let path = scratch.path().join(self.file);
        let mut command = Command::new("dd");
        command.arg(format!("bs={}", self.block.0));
        match self.write {
            Some(size) => command
                .arg("if=/dev/zero")
                .arg(format!("of={}", path.display()))
                .arg(format!("count={}", size.0 / self.block.0)),
            None => command.arg(format!("if={}", path.display())).arg("of=/dev/null"),
        };
        let (_, said) = peers::both(&mut command)?;
        if self.write.is_some() {
            fs::remove_file(&path)?;
        }
        let sample = PeerSample::rate(parse(&said)?);
        Ok(PeerSamples::from([(self.result.to_owned(), sample)]))
    }
}

/// Parses `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.161535 s, 6.6 GB/s` and returns bytes per
/// second, unrounded.
fn parse(said: &str) -> anyhow::Result<f64> {
    let line = said.lines().find(|l| l.contains(" copied, "));
    let line = line.with_context(|| format!("dd said: {said}"))?;
    let number = |text: &str| -> anyhow::Result<f64> {
        let word = text.split(' ').next().unwrap_or_default();
        word.parse().with_context(|| format!("dd said: {line}"))
    };
    let (_, time) = line.split_once(" copied, ").context("looked for above")?;
    Ok(number(line)? / number(time)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_and_seconds() {
        let said = "1024+0 records in\n1024+0 records out\n\
                    1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.161535 s, 6.6 GB/s\n";
        assert_eq!(parse(said).unwrap(), 1_073_741_824.0 / 0.161535);
        assert!(parse("dd: failed to open").is_err());
        assert!(parse("x bytes copied, y s").is_err());
    }
}
