//! Definitions of the command line for clap.

pub mod batch_args;
pub mod cli;
pub mod cli_values;
pub mod compare_args;
pub mod delete_args;
pub mod disk_args;
#[cfg(test)]
mod documented_commands_tests;
pub mod execution_args;
pub mod guest_args;
pub mod import_args;
pub mod report_args;
pub mod run_args;
pub mod show_args;
pub mod study_args;
pub mod survive_args;
pub mod tool_args;
pub mod trace_args;
