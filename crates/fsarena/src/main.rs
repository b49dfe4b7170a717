//! fsarena: puts filesystems through the same trials and answers with evidence.
//!
//! This crate is the command line: arguments, what is printed, exit codes. Campaigns are run by `orchestrate`, on machines
//! by `machine`.

mod advise_command;
mod agent_command;
mod calibrate_command;
mod calibration_text;
mod campaign;
mod campaign_text;
mod cell_page;
mod chosen;
mod cli;
mod cli_values;
mod compare_command;
mod completions_command;
mod contender_choice;
mod contender_groups;
mod cost_page;
mod disturbance;
mod doctor_command;
mod erase_question;
mod exit;
mod fault;
#[cfg(test)]
mod fixture;
mod format_command;
mod guest_args;
mod guest_command;
mod guest_request;
mod history_command;
mod leftovers;
mod list_command;
mod machine_args;
mod man_command;
mod output;
mod output_file;
mod paths;
mod progress;
mod report_command;
mod request;
mod resume_command;
mod run_args;
mod run_command;
mod same;
mod selftest_command;
mod several_disks;
mod shell_command;
mod show_command;
mod source_choice;
mod stop;
mod storage_args;

use std::process::ExitCode;

use clap::Parser;
use sys::memory::Allocator;

use crate::cli::{Cli, Command};
use crate::exit::Code;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    code: Code::Refused as i32,
};

fn main() -> ExitCode {
    fault::watched(program).unwrap_or(Code::Internal.into())
}

fn program() -> ExitCode {
    if let Err(error) = stop::outlive_the_limit_of_file_sizes() {
        return exit::report(&error.into(), false);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let globals = &cli.globals;
    let outcome = match &cli.command {
        Command::Run(args) => run_command::run(args, globals),
        Command::Resume(args) => resume_command::run(args, globals),
        Command::List(args) => list_command::run(args, globals),
        Command::Show(args) => show_command::run(args, globals),
        Command::Report(args) => report_command::run(args, globals),
        Command::Advise(args) => advise_command::run(args, globals),
        Command::Compare(args) => compare_command::run(args, globals),
        Command::History(args) => history_command::run(args, globals),
        Command::Doctor(args) => doctor_command::run(args, globals),
        Command::Calibrate(args) => calibrate_command::run(args, globals),
        Command::Format(args) => format_command::run(args, globals),
        Command::Guest(args) => guest_command::run(args, globals),
        Command::Completions(args) => completions_command::run(args),
        Command::Man => man_command::run(),
        Command::Agent(args) => agent_command::run(args),
    };
    outcome.unwrap_or_else(|error| exit::report(&error, globals.json))
}
