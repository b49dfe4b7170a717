//! fs_mark: opens, writes and closes many files, then removes them.

use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// Run of fs_mark without fsync on empty files, with the results `create` and `delete`.
#[derive(Clone, Debug)]
pub struct FsMarkRun {
    /// How many.
    pub files: u64,
}

impl FsMarkRun {
    /// Runs fs_mark.
    ///
    /// # Errors
    /// Returns an error if fs_mark fails or its output has an unexpected format.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        let directory = scratch.path().join("fs_mark");
        fs::create_dir(&directory)?;
        let output = peers::run(
            Command::new("fs_mark")
                .args(["-s", "0", "-S", "0", "-t", "1", "-v", "-n"])
                .arg(self.files.to_string())
                .arg("-d")
                .arg(&directory)
                // fs_mark leaves a log in the working directory.
                .current_dir(scratch.path()),
        )?;
        fs::remove_dir_all(&directory)?;
        parse(&output)
    }
}

/// Parses the last line of the output with `-v`: space used, files, size, files per second,
/// overhead, followed by the minimum, mean and maximum in microseconds of create, write, fsync,
/// sync, close and unlink.
///
/// Files per second include all steps of a file except its removal. fs_mark truncates the mean of
/// unlink to whole microseconds; the parser adds half a microsecond.
fn parse(output: &str) -> anyhow::Result<PeerSamples> {
    let line = output.lines().rfind(|l| !l.trim().is_empty());
    let line = line.context("fs_mark said nothing")?;
    let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let whole = numbers.len() == 23;
    anyhow::ensure!(whole, "fs_mark said: {line}");
    let unlink_microseconds = numbers[21] + 0.5;
    Ok(PeerSamples::from([
        ("create".to_owned(), PeerSample::rate(numbers[3])),
        ("delete".to_owned(), PeerSample::rate(1e6 / unlink_microseconds)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Last two lines of the output of fs_mark 3.3.
    const OUTPUT: &str = "\
FSUse%        Count         Size    Files/sec     App Overhead        CREAT (Min/Avg/Max)        WRITE (Min/Avg/Max)        FSYNC (Min/Avg/Max)         SYNC (Min/Avg/Max)        CLOSE (Min/Avg/Max)       UNLINK (Min/Avg/Max)
     0       200000            0      99443.9           654978        3        5     4757        0        0     3940        0        0        0        0        0        0        0        0     2682        3        8   164610
";

    #[test]
    fn reads_files_per_second_and_the_mean_of_unlink() {
        let results = parse(OUTPUT).unwrap();
        assert_eq!(results["create"].rate, 99_443.9);
        assert_eq!(results["delete"].rate, 1e6 / 8.5);
    }

    #[test]
    fn other_words_are_refused() {
        assert!(parse("").is_err());
        assert!(parse("fs_mark: cannot open").is_err());
        assert!(parse(OUTPUT.lines().next().unwrap()).is_err());
    }
}
