//! IOzone: operations on one file, with results as "Excel output" (`-R`), which names each
//! operation.

use std::process::Command;

use anyhow::Context;
use model::Bytes;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// IOzone's names of operations and the names of the results.
const REPORTS: [(&str, &str); 13] = [
    ("Writer report", "write"),
    ("Re-writer report", "overwrite"),
    ("Reader report", "read"),
    ("Re-Reader report", "reread"),
    ("Random read report", "random-read"),
    ("Random write report", "random-write"),
    ("Backward read report", "read-backward"),
    ("Record rewrite report", "record-rewrite"),
    ("Stride read report", "read-stride"),
    ("Fwrite report", "fwrite"),
    ("Re-Fwrite report", "refwrite"),
    ("Fread report", "fread"),
    ("Re-Fread report", "refread"),
];

/// A series of runs on one file, which is kept between the runs.
#[derive(Clone, Debug)]
pub struct IozoneRun {
    /// Names of the files in the scratch directory: one for requests, one for streams (`fwrite`).
    /// With a single file, IOzone would overwrite the first with the second.
    pub files: [&'static str; 2],
    /// `-s`.
    pub size: Bytes,
    /// `-r`.
    pub record: Bytes,
    /// `-i` of each run. Before a run marked cold, the filesystem is remounted with dropped caches.
    pub tests: Vec<IozoneStep>,
    /// Flags such as `-e` (include the flush in the time).
    pub flags: &'static [&'static str],
}

/// One run of IOzone.
#[derive(Clone, Copy, Debug)]
pub struct IozoneStep {
    /// `-i`.
    pub test: u32,
    /// Whether caches are dropped before the run.
    pub cold: bool,
    /// Flags of only this run.
    pub flags: &'static [&'static str],
}

impl IozoneStep {
    /// Returns true for tests 6 and 7, fwrite and fread.
    const fn is_stream(self) -> bool {
        matches!(self.test, 6 | 7)
    }
}

impl IozoneRun {
    /// Runs all steps.
    ///
    /// # Errors
    /// Returns an error if IOzone fails or its output has an unexpected format.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        let paths = self.files.map(|name| scratch.path().join(name));
        let mut results = PeerSamples::new();
        for step in &self.tests {
            if step.cold {
                scratch.make_cold()?;
            }
            let output = peers::run(
                Command::new("iozone")
                    .args(["-R", "-w", "-i", &step.test.to_string()])
                    .args(["-s", &format!("{}k", self.size.0 / 1024)])
                    .args(["-r", &format!("{}k", self.record.0 / 1024)])
                    .args(self.flags)
                    .args(step.flags)
                    .arg("-f")
                    .arg(&paths[usize::from(step.is_stream())])
                    // IOzone leaves a file in the working directory.
                    .current_dir(scratch.path()),
            )?;
            results.extend(parse(&output)?);
        }
        for path in paths.iter().filter(|path| path.exists()) {
            std::fs::remove_file(path)?;
        }
        Ok(results)
    }
}

/// Parses a title, a line of record sizes, and a line with the file size and the KiB per second.
fn parse(output: &str) -> anyhow::Result<PeerSamples> {
    let mut results = PeerSamples::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        let title = line.trim().trim_matches('"');
        let Some((_, name)) = REPORTS.iter().find(|(report, _)| *report == title) else {
            continue;
        };
        let row = lines.nth(1).context("IOzone's report ends early")?;
        let rate = row.split_whitespace().nth(1);
        let rate: f64 = rate
            .and_then(|word| word.parse().ok())
            .with_context(|| format!("{title} of IOzone is {row}"))?;
        results.insert((*name).to_owned(), PeerSample::rate(rate * 1024.0));
    }
    anyhow::ensure!(!results.is_empty(), "IOzone said: {output}");
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IOzone 3.489, shortened.
    const OUTPUT: &str = "
\t                                                    random    random
              kB  reclen    write  rewrite    read    reread
           65536      64  2339649  4344741

iozone test complete.
Excel output is below:

\"Writer report\"
        \"64\"
\"65536\"   2339649 

\"Re-writer report\"
        \"64\"
\"65536\"   4344741 
";

    #[test]
    fn reads_each_report_by_its_name() {
        let results = parse(OUTPUT).unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(results["write"].rate, 2_339_649.0 * 1024.0);
        assert_eq!(results["overwrite"].rate, 4_344_741.0 * 1024.0);
    }

    #[test]
    fn a_report_without_its_number_is_refused() {
        assert!(parse("\"Writer report\"\n  \"64\"\n").is_err());
        assert!(parse("\"Writer report\"\n  \"64\"\n\"65536\"  x\n").is_err());
        assert!(parse("Can not open temporary file").is_err());
    }
}
