//! `fsarena trace record`: runs a command and records its file operations below a directory.

use std::path::Path;
use std::process::ExitCode;

use record::{Ending, RecordError};
use sys::io::clock;

use crate::args::cli::GlobalArgs;
use crate::args::trace_args::RecordArgs;
use crate::commands::trace;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::output::output_file;
use crate::output::text::print_note;

/// Records, writes the trace, and exits with the exit code of the command.
pub fn run(args: &RecordArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    output_file::require_directory(&args.output)?;
    let below = args.below.as_deref().unwrap_or(Path::new("."));
    let mut left = |processes| {
        print_note(&format!(
            "The command has ended; {processes} of its processes run on and are recorded until they end. Ctrl-C kills \
             them."
        ));
    };
    let recording = record::record(&args.command, below, &mut left).map_err(told)?;
    let trace = match args.anonymise {
        true => recording.trace.anonymised(clock::realtime().0),
        false => recording.trace,
    };
    trace::write(&args.output, &trace, globals)?;
    Ok(code(recording.ending))
}

/// Converts an error into a usage error or an environment error.
fn told(error: RecordError) -> anyhow::Error {
    match error {
        RecordError::Directory { .. } | RecordError::Command { .. } => {
            UsageError(error.to_string()).into()
        }
        RecordError::Tracing(_) => EnvironmentError(error.to_string()).into(),
    }
}

/// Returns the exit code that a shell would report for a command.
fn code(ending: Ending) -> ExitCode {
    let code = match ending {
        Ending::Code(code) => code,
        Ending::Signal(signal) => 128 + signal,
    };
    u8::try_from(code).unwrap_or(u8::MAX).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_of_a_signal_is_as_in_a_shell() {
        assert_eq!(code(Ending::Code(7)), ExitCode::from(7));
        assert_eq!(code(Ending::Signal(9)), ExitCode::from(137));
    }
}
