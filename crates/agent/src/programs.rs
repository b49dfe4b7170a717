//! Runs the commands of phases ([`model::op::Exec`]) below the directory of the cell, and keeps what they say.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use engine::OpError;
use model::StepRecord;
use model::op::{ARCHIVES, Exec};
use wire::Event;

use crate::command::{self, record};
use crate::event_writer::EventWriter;
use crate::sandbox::Runner;

/// The step that evidence of a command stands under.
const STEP: &str = "exec";

/// Runs commands as programs of the cell.
pub struct Programs {
    runner: Runner,
    events: EventWriter,
    /// Where archives of sources lie.
    archives: Option<PathBuf>,
}

impl Programs {
    /// Commands are run so, and what they said goes there.
    pub const fn new(runner: Runner, events: EventWriter, archives: Option<PathBuf>) -> Self {
        Self {
            runner,
            events,
            archives,
        }
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}

impl engine::Programs for Programs {
    fn run(&self, exec: &Exec, directory: &Path, begin: &mut dyn FnMut()) -> Result<(), OpError> {
        let words = exec.arguments().map_err(failed)?;
        let program = &words[0];
        let output = command::output_file().map_err(|e| failed(format!("no output file: {e}")))?;
        let outputs = output
            .try_clone()
            .and_then(|out| Ok((out, output.try_clone()?)));
        let (out, errors) = outputs.map_err(|e| failed(format!("no output file: {e}")))?;
        let below = self.runner.below(directory);
        let below = below.map_err(|e| failed(format!("cannot restrict `{program}`: {e}")))?;
        let mut started = Command::new(program);
        started
            .args(&words[1..])
            .env("PATH", command::search_path())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors);
        if let Some(archives) = &self.archives {
            started.env(ARCHIVES, archives);
        }
        begin();
        let start = sys::clock::now();
        let status = below.status(started).map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing(program, &exec.packages),
            _ => failed(format!("cannot run `{program}`: {error}")),
        })?;
        let record = record(STEP, &words, status, sys::clock::since(start), &output);
        let reason = complaint(program, &record);
        self.events.send(&Event::Step(record));
        reason.map_or(Ok(()), |reason| Err(failed(reason)))
    }
}

fn failed(reason: String) -> OpError {
    OpError::Command { reason }
}

fn missing(program: &str, packages: &[String]) -> OpError {
    let advice = match packages {
        [] => String::new(),
        packages => format!(
            "; apt-get install {} (for guests: --with and the name of the suite)",
            packages.join(" ")
        ),
    };
    OpError::Unsupported {
        reason: format!("there is no program `{program}`{advice}"),
    }
}

/// Why a command is no success, with the last line that it said.
fn complaint(program: &str, record: &StepRecord) -> Option<String> {
    let end = match (record.exit, record.signal) {
        (Some(0), _) => return None,
        (Some(code), _) => format!("ended with {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or_default()),
    };
    let last = record
        .output
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let last = last.map(|line| format!(": {line}")).unwrap_or_default();
    Some(format!("`{program}` {end}{last}"))
}
