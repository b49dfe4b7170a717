//! The bare loop in C, compiled at run time: the limit for a program that only reads data and the
//! clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

const SOURCE: &str = include_str!("../loop.c");
/// Name of the program.
pub const PROGRAM: &str = "loop";
/// Directory for the compiled program, private to the mount namespace of this process.
const DIRECTORY: &str = "/run/fsarena-bench-loop";

/// A run of the C loop.
#[derive(Clone, Debug)]
pub struct CLoopRun {
    /// Name of the result.
    pub result: &'static str,
    /// Name of the file in the scratch directory.
    pub file: &'static str,
    /// How long.
    pub seconds: u64,
    /// Number of threads.
    pub threads: u32,
}

impl CLoopRun {
    /// Runs the loop.
    ///
    /// # Errors
    /// Returns an error if the compiler or the program fails.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        let output = peers::run(
            Command::new(compiled(Path::new(DIRECTORY))?)
                .arg(scratch.path().join(self.file))
                .arg(self.seconds.to_string())
                .arg(self.threads.to_string()),
        )?;
        Ok(PeerSamples::from([(self.result.to_owned(), parse(&output)?)]))
    }
}

/// Returns the path of the program, compiling it on the first call.
fn compiled(directory: &Path) -> anyhow::Result<PathBuf> {
    let program = directory.join(PROGRAM);
    match program.exists() {
        true => Ok(program),
        false => compile(directory, &[]),
    }
}

/// Compiles the loop in a directory, with additional flags.
///
/// # Errors
/// Returns an error if the compiler fails.
pub fn compile(directory: &Path, more: &[&str]) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let (source, program) = (directory.join("loop.c"), directory.join(PROGRAM));
    fs::write(&source, SOURCE)?;
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
    let mut compile = Command::new("cc");
    compile.args(flags).args(more).arg("-o");
    peers::run(compile.args([program.as_path(), source.as_path()]))?;
    Ok(program)
}

/// Parses operations, seconds and processor seconds.
fn parse(output: &str) -> anyhow::Result<PeerSample> {
    let numbers: Vec<f64> = output.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [operations, seconds, processor] = numbers[..] else {
        anyhow::bail!("the loop said: {output}");
    };
    let per = |whole: f64| Some(whole / operations).filter(|n| n.is_finite());
    Ok(PeerSample {
        rate: operations / seconds,
        processor: Some(per(processor).context("the loop did nothing")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiles_runs_and_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let program = compiled(directory.path()).unwrap();
        let file = directory.path().join("file");
        fs::write(&file, [7; 16_384]).unwrap();
        let output = peers::run(Command::new(&program).args([&file, Path::new("0.01")])).unwrap();
        let sample = parse(&output).unwrap();
        assert!(sample.rate > 0.0 && sample.processor.is_some());
        let missing = directory.path().join("missing");
        assert!(peers::run(Command::new(&program).args([&missing, Path::new("0.01")])).is_err());
    }

    #[test]
    fn refuses_two_numbers_or_zero_operations() {
        assert!(parse("12 0.5").is_err());
        assert!(parse("0 0.5 0.1").is_err() || parse("0 0.5 0.0").is_err());
    }
}
