//! `fsarena trace`: what a program does below a directory, recorded.

use std::process::ExitCode;

use crate::arguments::cli::Globals;
use crate::arguments::trace_args::{TraceAction, TraceArgs};
use crate::commands::trace_record;

/// Does what is asked.
pub fn run(args: &TraceArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    match &args.action {
        TraceAction::Record(args) => trace_record::run(args, globals),
    }
}
