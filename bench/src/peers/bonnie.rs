//! bonnie++ 2.00: its phases in its order, with results in a line of CSV (bon_csv2html(1)).

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use model::Bytes;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// Column and name of each result, and the size of one unit: KiB per second, or operations per
/// second.
const COLUMNS: [(usize, &str, f64); 12] = [
    (9, "write-chars", 1024.0),
    (11, "write", 1024.0),
    (13, "rewrite", 1024.0),
    (15, "read-chars", 1024.0),
    (17, "read", 1024.0),
    (19, "seek", 1.0),
    (26, "create", 1.0),
    (28, "stat", 1.0),
    (30, "delete", 1.0),
    (32, "create-random", 1.0),
    (34, "stat-random", 1.0),
    (36, "delete-random", 1.0),
];
/// Number of columns in the format.
const WIDTH: usize = 50;
/// Value of a column if the phase was too short for a result.
const TOO_SHORT: &str = "+++++";

/// A run. Results of phases that were too short are omitted.
#[derive(Clone, Debug)]
pub struct BonnieRun {
    /// `-s`: MiB in the large file, 0 for none.
    pub size_mib: u64,
    /// Bytes per request to the large file.
    pub chunk: u64,
    /// Number of seeks in the large file.
    pub seeks: u64,
    /// Number of processes that seek.
    pub seekers: u32,
    /// `-f`: MiB of the file that is written and read a byte at a time. `None` skips these phases.
    pub chars_mib: Option<u64>,
    /// `-n`: empty files, in units of 1024, 0 for none.
    pub files: u64,
}

impl BonnieRun {
    /// Returns a run with only the large file and bonnie++'s default number of seeks.
    pub const fn large(size: Bytes, chunk: Bytes) -> Self {
        Self {
            size_mib: size.0 >> 20,
            chunk: chunk.0,
            seeks: 8192,
            seekers: 5,
            chars_mib: None,
            files: 0,
        }
    }

    /// Returns a run with only empty files, in units of 1024.
    pub const fn files(files: u64) -> Self {
        Self { files, ..Self::large(Bytes(0), Bytes::kib(8)) }
    }

    /// Runs bonnie++.
    ///
    /// # Errors
    /// Returns an error if bonnie++ fails or its output has an unexpected format.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        parse(&peers::run(&mut self.command(scratch.path()))?)
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("bonnie++");
        command.args(["-q", "-u", "root", "-m", "bench", "-d"]);
        let Self { size_mib, chunk, seeks, seekers, .. } = self;
        command.arg(directory).args(["-s", &format!("{size_mib}:{chunk}:{seeks}:{seekers}")]);
        // bonnie++ requires a file of twice the memory size; `-r` with a smaller size overrides
        // this check.
        command.args(["-r", &(self.size_mib / 2).to_string()]);
        command.args(["-n", &self.files.to_string()]);
        match self.chars_mib {
            // bonnie++ would ignore the size in a separate argument.
            Some(size) => command.arg(format!("-f{size}")),
            None => command.arg("-f"),
        };
        command
    }
}

fn parse(output: &str) -> anyhow::Result<PeerSamples> {
    let line = output.lines().rfind(|l| l.starts_with("1.98,"));
    let line = line.with_context(|| format!("bonnie++ said: {output}"))?;
    let columns: Vec<&str> = line.split(',').collect();
    anyhow::ensure!(columns.len() == WIDTH, "bonnie++ gave {} columns", columns.len());
    let mut results = PeerSamples::new();
    for (column, name, unit) in COLUMNS {
        let text = columns[column];
        if text.is_empty() || text == TOO_SHORT {
            continue;
        }
        let number: f64 = text.parse().with_context(|| format!("{name} of bonnie++ is {text}"))?;
        results.insert(name.to_owned(), PeerSample::rate(number * unit));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files_and_skips_phases_that_were_too_short() {
        let line = "1.98,2.00a,vm,1,1795260555,,,,,,,,,,,,,,,,,256,,,,,146244,91,+++++,+++,169289,81,149411,89,495475,89,142091,94,,,,,,,6188us,5053us,7915us,4622us,4144us,11578us\n";
        let results = parse(line).unwrap();
        let names: Vec<&str> = results.keys().map(String::as_str).collect();
        assert_eq!(names, ["create", "create-random", "delete", "delete-random", "stat-random"]);
        assert_eq!(results["create"].rate, 146_244.0);
        assert_eq!(results["delete-random"].rate, 142_091.0);
    }

    #[test]
    fn reads_block_results_in_bytes() {
        let line = "1.98,2.00a,vm,1,1795269379,64M,,8192,5,1492,98,1000,+++,+++++,+++,1832,84,2000,+++,77,+++,,,,,,,,,,,,,,,,,,13235us,266us,96us,12532us,45us,15293us,,,,,,\n";
        let results = parse(line).unwrap();
        let rate = |name: &str| results[name].rate;
        assert_eq!(rate("write-chars"), 1492.0 * 1024.0);
        assert_eq!(rate("write"), 1000.0 * 1024.0);
        assert_eq!(rate("seek"), 77.0);
        assert!(!results.contains_key("rewrite"));
    }

    #[test]
    fn other_words_are_refused() {
        assert!(parse("Can't open file").is_err());
        assert!(parse("1.98,2.00a,vm").is_err());
    }

    #[test]
    fn no_character_size_skips_the_character_phases() {
        let run = |chars_mib| BonnieRun {
            size_mib: 1024,
            chunk: 8192,
            seeks: 100,
            seekers: 3,
            chars_mib,
            files: 0,
        };
        let arguments = |run: BonnieRun| -> Vec<String> {
            let command = run.command(Path::new("/d"));
            let words = command.get_args();
            words.map(|a| a.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(arguments(run(None)).last().unwrap(), "-f");
        assert_eq!(arguments(run(Some(20))).last().unwrap(), "-f20");
        let has = |pair: [&str; 2]| arguments(run(None)).windows(2).any(|w| w == pair);
        assert!(has(["-r", "512"]));
        assert!(has(["-s", "1024:8192:100:3"]));
    }
}
