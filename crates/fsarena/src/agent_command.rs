//! `fsarena agent`: the side of a cell that does the work; started by the orchestrator, not by people.

use std::process::ExitCode;

/// Runs the agent, in namespaces of its own where the orchestrator asks for them.
pub fn run(isolate: bool) -> anyhow::Result<ExitCode> {
    Ok(if isolate {
        agent::isolate()?
    } else {
        agent::serve()?
    })
}
