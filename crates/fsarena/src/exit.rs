//! Exit codes, and how an error is told: one line that says what to do.

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;

/// What the program's end means to a script; documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Done; a contender that failed is a result.
    Done = 0,
    /// Done, but some cell is not ok and `--strict` was given.
    NotAllOk = 1,
    /// Bad input.
    BadInput = 2,
    /// Refused, or something is missing.
    Refused = 3,
    /// Something went wrong that should not.
    Internal = 4,
    /// The user interrupted it.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// An error that is the user's to mend: what they said is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// An error that is the machine's: something is not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Tells an error in one line on standard error and gives the exit code that fits.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    if is_broken_pipe(error) {
        return Code::Done.into();
    }
    let text = one_line(&format!("{error:#}"));
    if json {
        eprintln!("{}", serde_json::json!({ "event": "error", "text": text }));
    } else {
        eprintln!("fsarena: {text}");
    }
    code(error).into()
}

/// Tells a wrong command line in one line; help and version are no errors.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Whoever reads the help may stop reading it.
        let _ = error.print();
        return if error.use_stderr() { Code::BadInput } else { Code::Done }.into();
    }
    let text = error.render().to_string();
    let reason = text.split("\n\nUsage:").next().unwrap_or(&text);
    let reason = reason.split("\n\nFor more information").next().unwrap_or(reason);
    eprintln!("fsarena: {} (see --help)", one_line(reason.trim_start_matches("error: ")));
    Code::BadInput.into()
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Which kind of error this is, by its type.
fn code(error: &anyhow::Error) -> Code {
    let is = |found: bool, code: Code| found.then_some(code);
    error
        .chain()
        .find_map(|e| {
            is(e.is::<BadInput>() || e.is::<catalog::CatalogError>(), Code::BadInput)
                .or(is(matches!(e.downcast_ref(), Some(provision::ProvisionError::Interrupted)), Code::Interrupted))
                .or(is(e.is::<Refused>(), Code::Refused))
                .or(is(e.is::<provision::ProvisionError>(), Code::Refused))
                .or(is(e.is::<provision::Refusal>(), Code::Refused))
                .or(is(e.is::<run::MemoryError>(), Code::Refused))
        })
        .unwrap_or(Code::Internal)
}

/// Whoever read the output has seen enough (`fsarena list | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_error_decides_and_not_its_place_in_the_chain() {
        let input = anyhow::Error::new(BadInput("no".into())).context("while reading");
        assert_eq!(code(&input), Code::BadInput);
        assert_eq!(code(&anyhow::Error::new(Refused("no".into()))), Code::Refused);
        assert_eq!(code(&anyhow::anyhow!("surprise")), Code::Internal);
    }

    #[test]
    fn an_error_of_several_lines_becomes_one() {
        assert_eq!(one_line("a\n  b\r\n\nc"), "a; b; c");
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        let gone = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&gone.context("writing the report")));
    }
}
