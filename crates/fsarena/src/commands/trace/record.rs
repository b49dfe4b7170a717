//! `fsarena trace record`: runs a command and records its file operations below a directory.

use std::path::Path;
use std::process::ExitCode;

use sys::io::clock;

use crate::args::cli::GlobalArgs;
use crate::args::trace_args::RecordArgs;
use crate::commands::trace;
use crate::output::output_file;
use crate::output::text::print_note;
use crate::recorder;

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
    let recording = recorder::record(&args.command, below, &mut left)?;
    let trace = match args.anonymise {
        true => recording.trace.anonymised(clock::realtime().0),
        false => recording.trace,
    };
    trace::write(&args.output, &trace, globals)?;
    Ok(recorder::exit_code(recording.status).into())
}
