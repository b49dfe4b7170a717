//! `fsarena survive check`: judges what a power cut left, by the lines that `survive write` printed
//! before it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;
use workload::survival::{ExpectedStates, find_files};

use crate::args::cli::GlobalArgs;
use crate::args::survive_args::SurviveCheckArgs;
use crate::commands::survive::sequences::{
    Line, REMOVED, Sequence, WriteSession, missing_path, sequences,
};
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{counted, line, print, print_json};

/// Maximum size of a log.
const MAX_LOG: u64 = 4 << 30;
/// Number of losses that are shown.
const SHOWN: usize = 20;

/// A run of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LoggedRun {
    name: String,
    done: usize,
}

/// A log.
struct WriteLines {
    session: WriteSession,
    runs: BTreeMap<u32, LoggedRun>,
}

/// A loss.
struct RunLoss<'a> {
    run: u32,
    sequence: &'a Sequence,
    done: usize,
    lost: String,
}

impl RunLoss<'_> {
    /// Returns the last step that succeeded before the cut, according to the log.
    fn after(&self) -> String {
        match self.done.checked_sub(1) {
            None => "its preparation".to_owned(),
            Some(last) => format!("`{}`", self.sequence.steps.steps[last]),
        }
    }
}

/// Checks all runs that remain.
pub fn run(args: &SurviveCheckArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let all = sequences()?;
    let WriteLines { session, mut runs } = parse(&read(args.log.as_deref())?, &all)?;
    let removed = removed_up_to(&session.directory(&args.directory))?;
    runs.retain(|run, _| *run > removed);
    let mut losses = Vec::new();
    for (run, LoggedRun { name, done }) in &runs {
        let sequence = all.iter().find(|one| one.name == *name);
        let sequence = sequence.expect("the log was parsed with these sequences");
        let steps = &sequence.steps;
        let states = ExpectedStates::new(&steps.prepare, &steps.steps);
        let root = session.directory(&args.directory).join(WriteSession::run_name(*run, name));
        let found = find_files(&root, states.names().into_iter(), states.largest_file());
        let base = session.base(*run);
        let found = found.into_iter().map(|(name, file)| (name, file.relative_to(base))).collect();
        let lost = states.lost_of_at_least(*done, &found);
        losses.extend(lost.map(|lost| RunLoss { run: *run, sequence, done: *done, lost }));
    }
    let acknowledged: usize = runs.values().map(|run| run.done).sum();
    if globals.json {
        let losses = losses.iter().map(|loss| {
            json!({ "run": loss.run, "sequence": loss.sequence.name, "done": loss.done, "lost": loss.lost })
        });
        print_json(&json!({
            "runs": runs.len(), "acknowledged": acknowledged, "losses": losses.collect::<Vec<_>>(),
        }))?;
    } else {
        print(&text(runs.len(), acknowledged, &losses))?;
    }
    match losses.is_empty() {
        true => Ok(ExitReason::Success.into()),
        false => Ok(ExitReason::SomeFailed.into()),
    }
}

fn text(runs: usize, acknowledged: usize, losses: &[RunLoss<'_>]) -> String {
    let runs = counted(runs as u64, "run");
    let checked = format!("{runs} ({})", counted(acknowledged as u64, "acknowledged step"));
    if losses.is_empty() {
        return format!(
            "Nothing is lost of {checked}. One power cut is one sample: after 60 without a loss, at most 5 % of such \
             cuts lose something (95 %).\n"
        );
    }
    let mut text = format!("{} of {checked} lost something:\n", losses.len());
    for loss in losses.iter().take(SHOWN) {
        let RunLoss { run, sequence, lost, .. } = loss;
        text +=
            &format!("  run {run}, {}, after {}: {}\n", sequence.name, loss.after(), line(lost));
    }
    if losses.len() > SHOWN {
        text += &format!("  and {} more\n", losses.len() - SHOWN);
    }
    text
}

fn read(log: Option<&Path>) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    match log {
        Some(path) => {
            let shown = path.display();
            let file = File::open(path).map_err(|error| missing_path("read", path, error))?;
            let read = file.take(MAX_LOG + 1).read_to_end(&mut bytes);
            read.with_context(|| format!("cannot read {shown}"))?;
        }
        None if io::stdin().is_terminal() => {
            let error = "cannot read the log: standard input is a terminal; name the file with the output of `survive write`";
            return Err(UsageError(error.into()).into());
        }
        None => {
            let read = io::stdin().lock().take(MAX_LOG + 1).read_to_end(&mut bytes);
            read.context("cannot read the log")?;
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= MAX_LOG => Ok(text),
        Ok(_) => Err(not_a_log("it is larger than 4 GiB")),
        Err(_) => Err(not_a_log("it is not text")),
    }
}

fn not_a_log(reason: &str) -> anyhow::Error {
    UsageError(format!(
        "cannot read the log: {reason}; give the output of `fsarena survive write` (see fsarena survive --help)"
    ))
    .into()
}

/// Returns the number of the last run that may have been removed.
fn removed_up_to(directory: &Path) -> anyhow::Result<u32> {
    let shown = directory.display();
    let entries = fs::read_dir(directory).map_err(|error| {
        EnvironmentError(format!(
            "cannot check {shown}: {error}; mount the filesystem of this log there, and run fsarena as the same user"
        ))
    })?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.to_owned()));
    let numbers = names.filter_map(|name| name.strip_prefix(REMOVED)?.parse().ok());
    Ok(numbers.max().unwrap_or(0))
}

/// Parses a log. The connection may have cut the last line, and messages may be between the lines.
fn parse(text: &str, all: &[Sequence]) -> anyhow::Result<WriteLines> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut lines =
        (1..).zip(whole.lines()).filter(|(_, text): &(usize, _)| !text.starts_with("fsarena: "));
    let first = lines.next().and_then(|(_, first)| first.parse().ok());
    let session = match first {
        Some(Line::Begin(version, session)) if version == env!("CARGO_PKG_VERSION") => session,
        Some(Line::Begin(version, _)) => {
            let version = line(&version);
            return Err(not_a_log(&format!("fsarena {version} wrote it, with other sequences")));
        }
        _ => return Err(not_a_log("its first line has no version of fsarena")),
    };
    let mut runs = BTreeMap::new();
    for (number, text) in lines {
        let is_valid = match text.parse() {
            Ok(Line::Run(run, name)) => {
                let is_known = all.iter().any(|one| one.name == name);
                is_known && runs.insert(run, LoggedRun { name, done: 0 }).is_none()
            }
            Ok(Line::Done(run, done)) => {
                let steps_of = |name: &str| {
                    all.iter().find(|one| one.name == name).map_or(0, |one| one.steps.steps.len())
                };
                runs.get_mut(&run).is_some_and(|run: &mut LoggedRun| {
                    let is_next = done == run.done + 1 && done <= steps_of(&run.name);
                    run.done = done;
                    is_next
                })
            }
            _ => false,
        };
        if !is_valid {
            return Err(not_a_log(&format!("line {number} is damaged")));
        }
    }
    match runs.is_empty() {
        true => Err(not_a_log("no run began")),
        false => Ok(WriteLines { session, runs }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload::survival::perform_step;

    use super::*;

    const SESSION: WriteSession = WriteSession(0xab);

    fn begin() -> String {
        Line::Begin(env!("CARGO_PKG_VERSION").to_owned(), SESSION).to_string()
    }

    fn log(lines: &[&str]) -> String {
        [begin().as_str()].iter().chain(lines).map(|line| format!("{line}\n")).collect()
    }

    fn error(text: &str) -> String {
        parse(text, &sequences().unwrap()).err().unwrap().to_string()
    }

    #[test]
    fn a_log_yields_runs_without_messages_and_without_its_cut_end() {
        let text =
            log(&["fsarena: writing", "run 1 create-fsync", "run 2 replace-fsync", "done 2 1"]);
        let text = format!("{text}done 2 2").replace('\n', "\r\n");
        let WriteLines { session, runs } = parse(&text, &sequences().unwrap()).unwrap();
        assert_eq!(session, SESSION);
        let run = |name: &str, done| LoggedRun { name: name.into(), done };
        let expected = [(1, run("create-fsync", 0)), (2, run("replace-fsync", 1))];
        assert_eq!(runs, BTreeMap::from(expected));
    }

    #[test]
    fn damaged_logs_are_refused_with_the_line() {
        let too_many = ["run 1 replace-fsync", "done 1 1", "done 1 2", "done 1 3", "done 1 4"];
        let too_many = [&too_many[..], &["done 1 5"]].concat();
        for (lines, reason) in [
            (&["run 1 no-such-sequence"][..], "line 2"),
            (&["run 1 create-fsync", "done 1 2"], "line 3"),
            (&["run 1 create-fsync", "run 1 create-fsync"], "line 3"),
            (&["done 1 1"], "line 2"),
            (&too_many, "line 7"),
            (&[], "no run"),
        ] {
            let error = error(&log(lines));
            assert!(error.contains(reason), "{lines:?}: {error}");
        }
        let other = "fsarena 0.0.1 survive 00000000000000ab\nrun 1 create-fsync\n";
        assert!(error(other).contains("other sequences"));
        assert!(error("hello\nyou\n").contains("first line"));
    }

    /// Lines may arrive later than their steps, or not at all.
    #[test]
    fn no_prefix_of_a_log_makes_whole_files_a_loss() {
        let place = tempfile::tempdir().unwrap();
        for (run, sequence) in (1..).zip(&sequences().unwrap()) {
            let root = place.path().join(run.to_string());
            fs::create_dir(&root).unwrap();
            let steps = &sequence.steps;
            let base = SESSION.base(run);
            for (number, step) in (base + 1..).zip(steps.prepare.iter().chain(&steps.steps)) {
                perform_step(&root, step, number).unwrap();
            }
            let states = ExpectedStates::new(&steps.prepare, &steps.steps);
            let find = |base| {
                let found = find_files(&root, states.names().into_iter(), states.largest_file());
                found.into_iter().map(|(name, file)| (name, file.relative_to(base))).collect()
            };
            for done in 0..=steps.steps.len() {
                assert_eq!(states.lost_of_at_least(done, &find(base)), None, "{}", sequence.name);
            }
            let of_another_run = find(SESSION.base(run + 1));
            let lost = states.lost_of_at_least(steps.steps.len(), &of_another_run);
            assert!(lost.is_some(), "{}", sequence.name);
        }
    }

    #[test]
    fn no_log_makes_the_parser_panic() {
        let sequences = sequences().unwrap();
        proptest!(|(text in "(done|run| |[0-9]|create-fsync|\n){0,30}")| {
            let _ = parse(&format!("{}\n{text}", begin()), &sequences);
        });
    }
}
