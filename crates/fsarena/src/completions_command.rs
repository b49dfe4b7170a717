//! `fsarena completions`: a script with which a shell completes our words.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Code;
use crate::output::print;

/// Writes the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fsarena", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Code::Done.into())
}
