//! Exit codes, and one-line error reports that include a hint.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use batch::BatchError;
use batch::hosts::HostsError;
use batch::slurm::SlurmError;
use campaign::store::StoreError;
use clap::error::ErrorKind;
use model::wire::machine::FailureKind;
use sys::interruption;

pub use backend::{EnvironmentError, UsageError, UserInterrupt, error_chain};
use backend::{MAX_MESSAGE_LENGTH, kind, shorten};

use crate::output::text as output;
use crate::output::usage_error;

/// Exit code of the program; documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// Completed. A failed contender is a result, not an error.
    Success = 0,
    /// Completed, but a cell is not ok and `--strict` was given, or `compare --threshold` found a
    /// regression.
    SomeFailed = 1,
    /// Bad input.
    Usage = 2,
    /// Refused, or a requirement is missing.
    Environment = 3,
    /// Internal error.
    Internal = 4,
    /// Completed, but more results are needed: the rounds are too few to decide what `guard` or
    /// `compare` was asked, or hosts have not run all cells that `cluster collect` collects.
    Undecided = 5,
    /// Interrupted by the user.
    Interrupted = 130,
}

/// A question that the results do not decide: more rounds, or results of other hosts, are needed.
#[derive(Debug)]
pub struct UndecidedError(pub String);

impl fmt::Display for UndecidedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UndecidedError {}

impl From<ExitReason> for ExitCode {
    fn from(code: ExitReason) -> Self {
        Self::from(code as u8)
    }
}

/// Reports an error in one line on standard error. Returns its exit code.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitReason::Success.into();
    }
    print_error(&with_fix(&error_chain(error)), json);
    code(error).into()
}

/// Fixes for errors of the operating system, by the text of the error.
const FIXES: [(&str, &str); 13] = [
    ("No such file or directory", "check the path"),
    ("Not a directory", "check the path"),
    ("Is a directory", "name a file"),
    ("Permission denied", "change its permissions, or run fsarena as root"),
    ("Operation not permitted", "run fsarena as root"),
    ("Read-only file system", "name a place that can be written to"),
    ("No space left on device", "free space there, or name another place"),
    ("Too many levels of symbolic links", "name a path whose links do not lead to themselves"),
    ("File name too long", "choose a shorter name"),
    (
        "File too large",
        "choose a smaller size, raise the limit (`ulimit -f`), or name another place",
    ),
    ("Input/output error", "check the disk: `dmesg` shows its errors"),
    ("File exists", "remove it, or choose another name"),
    ("Resource temporarily unavailable", "end other programs, or raise the limits (`ulimit -a`)"),
];

/// Removes the number of an error of the operating system. Adds a fix if the text ends with such an
/// error and has none.
fn with_fix(text: &str) -> String {
    let parts = text.split(" (os error ").enumerate().map(|(number, part)| match number {
        0 => part,
        _ => part.split_once(')').map_or(part, |(_, rest)| rest),
    });
    let text: String = parts.collect();
    let fix = FIXES.iter().find(|(end, _)| text.ends_with(end) && !text.contains("; "));
    fix.map(|(_, fix)| format!("{text}; {fix}")).unwrap_or(text)
}

/// Reports an error in one line of limited length: it may quote a value of any length.
pub fn print_error(text: &str, json: bool) {
    let text = &shorten(&one_line(text), MAX_MESSAGE_LENGTH);
    if json {
        output::print_note_unwrapped(
            &serde_json::json!({ "event": "error", "text": text }).to_string(),
        );
    } else {
        // Quoted text may come from outside and contain control characters.
        output::print_note(&format!("fsarena: {}", report::escape_invisible(text)));
    }
}

/// Reports a usage error in one line. Help and version are not errors.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let printed = error.print().and_then(|()| io::stdout().flush());
        return match printed {
            Err(error) => report(&output::not_written(&error).into(), json_is_asked_for()),
            Ok(()) if error.use_stderr() => ExitReason::Usage.into(),
            Ok(()) => ExitReason::Success.into(),
        };
    }
    print_error(&usage_error::text(error, std::env::args_os()), json_is_asked_for());
    ExitReason::Usage.into()
}

/// Whether to report errors as JSON. Searches for the option, because the command line was not
/// parsed.
pub fn json_is_asked_for() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}

/// Returns the lines of a text, joined.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the exit code of an error, from the first type in its chain that has one.
fn code(error: &anyhow::Error) -> ExitReason {
    let of_store = |error: &(dyn std::error::Error + 'static)| match error.downcast_ref()? {
        // Ctrl-C ends the wait for another user of the database.
        StoreError::Busy { .. } if interruption::is_requested() => Some(ExitReason::Interrupted),
        error => of_store(error),
    };
    if error.chain().any(<dyn std::error::Error>::is::<UndecidedError>) {
        return ExitReason::Undecided;
    }
    let of_batch = |error: &(dyn std::error::Error + 'static)| {
        if matches!(error.downcast_ref(), Some(SlurmError::Interrupted)) {
            return Some(ExitReason::Interrupted);
        }
        if error.is::<SlurmError>() || error.is::<HostsError>() {
            return Some(ExitReason::Environment);
        }
        let error: &BatchError = error.downcast_ref()?;
        Some(match error.is_input() {
            true => ExitReason::Usage,
            false => ExitReason::Environment,
        })
    };
    error.chain().find_map(|error| of_store(error).or_else(|| of_batch(error))).unwrap_or(
        match kind(error) {
            FailureKind::Usage => ExitReason::Usage,
            FailureKind::Environment => ExitReason::Environment,
            FailureKind::Interrupted => ExitReason::Interrupted,
            FailureKind::Internal => ExitReason::Internal,
        },
    )
}

/// Returns the exit code of a store error. A missing or damaged database is a usage error; a
/// database that cannot be read or written is a refusal.
const fn of_store(error: &StoreError) -> Option<ExitReason> {
    match error {
        StoreError::NotAFile { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::NotAnFsarenaDatabase { .. }
        | StoreError::Damaged { .. }
        | StoreError::NoCampaign(_) => Some(ExitReason::Usage),
        StoreError::Directory { .. }
        | StoreError::Unreachable { .. }
        | StoreError::CannotOpen { .. }
        | StoreError::ReadOnly { .. }
        | StoreError::Busy { .. }
        | StoreError::DiskFull { .. }
        | StoreError::IoError { .. }
        | StoreError::AlreadyRecorded { .. }
        | StoreError::NoMemory { .. } => Some(ExitReason::Environment),
        StoreError::NoSession(_)
        | StoreError::NotPlanned { .. }
        | StoreError::NonContiguousPlan { .. }
        | StoreError::InvalidJson { .. }
        | StoreError::Sqlite { .. } => None,
    }
}

/// Returns true if the reader closed the pipe (`fsarena list | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use guest::GuestError;

    use super::*;

    #[test]
    fn the_kind_of_error_decides_and_not_its_place_in_the_chain() {
        let input = anyhow::Error::new(UsageError("no".into())).context("while reading");
        assert_eq!(code(&input), ExitReason::Usage);
        assert_eq!(
            code(&anyhow::Error::new(EnvironmentError("no".into()))),
            ExitReason::Environment
        );
        assert_eq!(code(&anyhow::anyhow!("surprise")), ExitReason::Internal);
        assert_eq!(code(&UndecidedError("too few rounds".into()).into()), ExitReason::Undecided);
        let interrupted = anyhow::Error::new(GuestError::Interrupted { left: None }).context("x");
        assert_eq!(code(&interrupted), ExitReason::Interrupted);
    }

    #[test]
    fn an_error_of_the_operating_system_gets_a_fix_unless_it_has_one() {
        let missing = "cannot read a: No such file or directory (os error 2)";
        assert_eq!(with_fix(missing), "cannot read a: No such file or directory; check the path");
        let fixed = "cannot open a: Permission denied (os error 13); run it as root";
        assert_eq!(with_fix(fixed), "cannot open a: Permission denied; run it as root");
        assert_eq!(with_fix("cannot use a: it is empty"), "cannot use a: it is empty");
        for number in [1, 2, 5, 11, 13, 17, 20, 21, 27, 28, 30, 36, 40] {
            let error = format!("cannot open a: {}", io::Error::from_raw_os_error(number));
            assert!(with_fix(&error).contains("; "), "{error} gets no fix");
        }
    }

    #[test]
    fn a_database_that_is_damaged_is_bad_input() {
        let damaged = StoreError::Damaged {
            path: "a.db".into(),
            what: None,
            why: "it is cut off".to_owned(),
        };
        assert_eq!(code(&anyhow::Error::new(damaged)), ExitReason::Usage);
    }

    #[test]
    fn system_errors_are_refusals_not_internal_errors() {
        let error = anyhow::Error::from(io::Error::from_raw_os_error(28));
        assert_eq!(code(&error.context("cannot write a")), ExitReason::Environment);
    }

    #[test]
    fn repeated_causes_are_reported_once() {
        let error = anyhow::Error::new(io::Error::from_raw_os_error(2))
            .context("cannot open a: No such file or directory (os error 2)")
            .context("while reading");
        assert_eq!(
            error_chain(&error),
            "while reading: cannot open a: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn joins_the_lines_of_an_error() {
        assert_eq!(one_line("a\n  b\r\n\nc"), "a; b; c");
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        let gone = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&gone.context("writing the report")));
    }
}
