//! fsarena: runs the same tests on several filesystems and compares the results.
//!
//! This crate is the command line: arguments, output, exit codes. The crate `campaign`
//! runs campaigns, and the crate `backend` runs their cells.

mod args;
mod commands;
mod cpu_sampling;
#[cfg(test)]
mod fixture;
mod output;
mod panic_guard;
mod past_durations;
mod paths;
mod recorder;
mod request_logs;
mod session;
mod settings;
mod ssh_host;
mod stale_directories;
mod stop;
mod stressor;
mod traces;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use sys::memory::Allocator;

use crate::args::cli::{Cli, Command};
use crate::output::exit::{self, ExitReason};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { code: ExitReason::Environment as i32 };

fn main() -> ExitCode {
    panic_guard::watched(program).unwrap_or(ExitReason::Internal.into())
}

fn program() -> ExitCode {
    if let Err(error) = stop::ignore_sigxfsz() {
        return exit::report(&error.into(), false);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let globals = &cli.globals;
    let outcome = match &cli.command {
        Command::Run(args) => commands::run::run(args, globals),
        Command::Resume(args) => commands::resume::run(args, globals),
        Command::Plan(args) => commands::plan::run(args, globals),
        Command::Work(args) => commands::work::run(args, globals),
        Command::Collect(args) => commands::collect::run(args, globals),
        Command::List(args) => commands::list::run(args, globals),
        Command::Show(args) => commands::show::run(args, globals),
        Command::Claims(args) => commands::claims::run(args, globals),
        Command::Replicate(args) => commands::replicate::run(args, globals),
        Command::Watch(args) => commands::watch::run(args, globals),
        Command::Journal(args) => commands::journal::run(args, globals),
        Command::Explain(args) => commands::explain::run(args, globals),
        Command::Replay(args) => commands::replay::run(args, globals),
        Command::Validate(args) => commands::validate::run(args, globals),
        Command::Report(args) => commands::report::run(args, globals),
        Command::Site(args) => commands::site::run(args, globals),
        Command::Advise(args) => commands::advise::run(args, globals),
        Command::Compare(args) => commands::compare::run(args, globals),
        Command::Agree(args) => commands::agree::run(args, globals),
        Command::Guard(args) => commands::regression::run(args, globals),
        Command::History(args) => commands::history::run(args, globals),
        Command::Import(args) => commands::import::run(args, globals),
        Command::Doctor(args) => commands::doctor::run(args, globals),
        Command::Calibrate(args) => commands::calibrate::run(args, globals),
        Command::Format(args) => commands::format::run(args, globals),
        Command::Guest(args) => commands::guest::run(args, globals),
        Command::Trace(args) => commands::trace::run(args, globals),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man => commands::man::run(),
        Command::Agent(args) => commands::agent::run(args),
    };
    outcome.unwrap_or_else(|error| exit::report(&error, globals.json))
}
