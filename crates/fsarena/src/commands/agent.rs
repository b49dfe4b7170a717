//! `fsarena agent`: runs the work of a cell. Started by the orchestrator.

use std::process::ExitCode;

use crate::args::cli::AgentArgs;
use crate::stop;

/// Runs the agent as the first process of a guest, in new namespaces, or in the current ones.
pub fn run(args: &AgentArgs) -> anyhow::Result<ExitCode> {
    if args.guest {
        return Err(agent::run_guest_init(guest::CHANNEL).into());
    }
    if args.guest_shell {
        return Err(agent::run_shell().into());
    }
    if args.machine {
        return backend::serve(&stop::install_handlers()?);
    }
    if args.survey {
        return Ok(agent::serve_survey()?);
    }
    Ok(if args.isolate { agent::spawn_isolated(true)? } else { agent::serve(args.restricted)? })
}
