//! `fsarena tool completions`: prints a script for the completion of a shell.

use std::process::ExitCode;

use clap::{Command, CommandFactory};

use crate::args::cli::Cli;
use crate::args::tool_args::CompletionsArgs;
use crate::output::exit::ExitReason;
use crate::output::text::print_unwrapped;

/// Writes the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "fsarena", &mut script);
    print_unwrapped(&String::from_utf8(script)?)?;
    Ok(ExitReason::Success.into())
}

/// Returns the command line without hidden commands, which would otherwise be completed, too.
fn visible() -> Command {
    let whole = Cli::command();
    let seen = whole.get_subcommands().filter(|c| !c.is_hide_set()).cloned();
    Command::new("fsarena")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .args(whole.get_arguments().cloned())
        .subcommands(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn completions_omit_hidden_commands_and_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut visible(), "fsarena", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("doctor") && !script.contains("agent"), "{shell}");
        }
    }
}
