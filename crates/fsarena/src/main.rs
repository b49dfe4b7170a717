//! fsarena: runs the same tests on several filesystems and compares the results.
//!
//! This crate is the command line: arguments, output, exit codes. The crate `campaign`
//! runs campaigns, and the crate `backend` runs their cells.

mod args;
mod commands;
mod cpu_sampling;
mod early_checks;
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

use sys::memory::Allocator;

use crate::args::batch_args::ClusterCommand;
use crate::args::cli::{Cli, Command};
use crate::args::disk_args::DiskCommand;
use crate::args::study_args::StudyCommand;
use crate::args::survive_args::SurviveCommand;
use crate::args::tool_args::ToolCommand;
use crate::commands::{cluster, disk, study, survive, tool};
use crate::output::exit::{self, ExitReason};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { code: ExitReason::Environment as i32 };

fn main() -> ExitCode {
    panic_guard::watched(program).unwrap_or(ExitReason::Internal.into())
}

fn program() -> ExitCode {
    if let Err(error) = sys::memory::raise_limits().and_then(|()| stop::ignore_sigxfsz()) {
        return exit::report(&error.into(), false);
    }
    let cli = match Cli::from_arguments() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let globals = &cli.globals;
    let Some(command) = &cli.command else {
        return commands::overview::run(globals)
            .unwrap_or_else(|error| exit::report(&error, globals.json));
    };
    let outcome = match command {
        Command::Run(args) => commands::run::run(args, globals),
        Command::Resume(args) => commands::resume::run(args, globals),
        Command::Watch(args) => commands::watch::run(args, globals),
        Command::Report(args) => commands::report::run(args, globals),
        Command::Advise(args) => commands::advise::run(args, globals),
        Command::Compare(args) => commands::compare::run(args, globals),
        Command::History(args) => commands::history::run(args, globals),
        Command::Guard(args) => commands::regression::run(args, globals),
        Command::Explain(args) => commands::explain::run(args, globals),
        Command::Show(args) => commands::show::run(args, globals),
        Command::List(args) => commands::list::run(args, globals),
        Command::Doctor(args) => commands::doctor::run(args, globals),
        Command::Import(args) => commands::import::run(args, globals),
        Command::Delete(args) => commands::delete::run(args, globals),
        Command::Study(command) => match command {
            StudyCommand::Show(args) => study::show::run(args, globals),
            StudyCommand::Claims(args) => study::claims::run(args, globals),
            StudyCommand::Replicate(args) => study::replicate::run(args, globals),
        },
        Command::Disk(command) => match command {
            DiskCommand::Requests(args) => disk::requests::run(args, globals),
            DiskCommand::Replay(args) => disk::replay::run(args, globals),
            DiskCommand::Validate(args) => disk::validate::run(args, globals),
        },
        Command::Survive(command) => match command {
            SurviveCommand::Write(args) => survive::write::run(args, globals),
            SurviveCommand::Steps(args) => survive::steps::run(args, globals),
            SurviveCommand::Trace(args) => survive::trace::run(args, globals),
            SurviveCommand::Check(args) => survive::check::run(args, globals),
        },
        Command::Trace(command) => commands::trace::run(command, globals),
        Command::Cluster(command) => match command {
            ClusterCommand::Plan(args) => cluster::plan::run(args, globals),
            ClusterCommand::Work(args) => cluster::work::run(args, globals),
            ClusterCommand::Collect(args) => cluster::collect::run(args, globals),
        },
        Command::Guest(command) => commands::guest::run(command, globals),
        Command::Tool(command) => match command {
            ToolCommand::Calibrate(args) => tool::calibrate::run(args, globals),
            ToolCommand::Format(args) => tool::format::run(args, globals),
            ToolCommand::Agree(args) => tool::agree::run(args, globals),
            ToolCommand::Site(args) => tool::site::run(args, globals),
            ToolCommand::Completions(args) => tool::completions::run(args),
            ToolCommand::Man(args) => tool::man::run(args),
        },
        Command::Agent(args) => commands::agent::run(args),
    };
    outcome.unwrap_or_else(|error| exit::report(&error, globals.json))
}
