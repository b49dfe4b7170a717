//! The sequences of steps that `survive` repeats, and the lines by which it tells what succeeded.
//! Sequences are those of the suites `survival` and `applications` that a sync makes durable.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use config::Catalog;
use model::{Expectation, Op, PowerCut, SeededRng, SizeProfile};

use crate::output::exit::UsageError;

/// Suites with sequences.
const SUITES: [&str; 2] = ["survival", "applications"];

/// A sequence with its name.
pub struct Sequence {
    /// Name of its phase.
    pub name: String,
    /// Its steps.
    pub steps: PowerCut,
}

/// Returns all sequences whose losses break a promise.
///
/// # Errors
/// Returns an error if the catalog lacks a suite.
pub fn sequences() -> anyhow::Result<Vec<Sequence>> {
    // A catalog of the user could change them between `write` and `check`.
    let catalog = Catalog::builtin()?;
    let mut all = Vec::new();
    for suite in SUITES {
        let suite = catalog.suite(suite, SizeProfile::Smoke)?;
        for phase in suite.tests.iter().flat_map(|test| &test.phases) {
            match &phase.op {
                Op::PowerCut(op) if op.expect == Expectation::Promise && !op.ignores_flushes => {
                    all.push(Sequence { name: phase.name.clone(), steps: op.clone() });
                }
                _ => {}
            }
        }
    }
    Ok(all)
}

/// One call of `survive write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSession(pub u64);

impl WriteSession {
    /// Returns the directory of all runs.
    pub fn directory(self, parent: &Path) -> PathBuf {
        parent.join(format!("fsarena-power-cut-{:016x}", self.0))
    }

    /// Returns the name of the directory of a run, in the directory of all runs.
    pub fn run_name(run: u32, name: &str) -> String {
        format!("{run}-{name}")
    }

    /// Returns the number before the first step of a run. Blocks contain the numbers of their steps,
    /// so that old blocks on the disk differ from those of other runs and sessions.
    pub fn base(self, run: u32) -> u32 {
        let random = SeededRng::substream(self.0, &run.to_string()).next_u64();
        // Below the number of the probe, with room for the steps of a sequence.
        (random as u32 & 0x7fff_ff00) | 0x100
    }
}

/// Beginning of the name of a file on the disk: all runs up to its number may be removed.
pub const REMOVED: &str = "removed-up-to-";

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The version of the program that wrote, and its session.
    Begin(String, WriteSession),
    /// A run of this sequence begins; its prepared files are durable.
    Run(u32, String),
    /// This number of steps of a run has succeeded.
    Done(u32, usize),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(version, session) => {
                write!(f, "fsarena {version} survive {:016x}", session.0)
            }
            Self::Run(run, name) => write!(f, "run {run} {name}"),
            Self::Done(run, steps) => write!(f, "done {run} {steps}"),
        }
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<&str> = line.split(' ').collect();
        let run = |word: &str| word.parse().map_err(drop);
        match words[..] {
            ["fsarena", version, "survive", session] if session.len() == 16 => {
                let session = u64::from_str_radix(session, 16).map_err(drop)?;
                Ok(Self::Begin(version.to_owned(), WriteSession(session)))
            }
            ["run", number, name] => Ok(Self::Run(run(number)?, name.to_owned())),
            ["done", number, steps] => Ok(Self::Done(run(number)?, steps.parse().map_err(drop)?)),
            _ => Err(()),
        }
    }
}

/// Returns the error of a path that the user named.
pub fn missing_path(verb: &str, path: &Path, error: io::Error) -> anyhow::Error {
    let text = format!("cannot {verb} {}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            UsageError(format!("{text}: {error}")).into()
        }
        _ => anyhow::Error::from(error).context(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_line() -> impl Strategy<Value = Line> {
        prop_oneof![
            ("[0-9.]{1,8}", any::<u64>())
                .prop_map(|(version, session)| Line::Begin(version, WriteSession(session))),
            (any::<u32>(), "[a-z-]{1,20}").prop_map(|(run, name)| Line::Run(run, name)),
            (any::<u32>(), any::<usize>()).prop_map(|(run, steps)| Line::Done(run, steps)),
        ]
    }

    proptest! {
        #[test]
        fn lines_survive_a_round_trip(line in any_line()) {
            prop_assert_eq!(line.to_string().parse(), Ok(line));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,40}") {
            let _ = text.parse::<Line>();
        }
    }

    #[test]
    fn each_sequence_has_a_sync_and_another_name() {
        let all = sequences().unwrap();
        assert!(all.len() >= 6, "{}", all.len());
        let names: std::collections::BTreeSet<&str> =
            all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|one| one.steps.steps.iter().any(model::FileStep::is_sync)));
    }
}
