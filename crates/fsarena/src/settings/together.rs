//! `fsarena run --together`: several hosts run each cell together.

use std::collections::BTreeSet;

use model::Suite;

use crate::args::batch_args::SchedulerArgs;
use crate::args::run_args::RunArgs;
use crate::output::exit::UsageError;

/// The suite for many clients of one filesystem, and the default of `--together`.
const SUITE: &str = "many-clients";

/// Returns the options of the campaign: the first host stands for all, which become its ranks.
pub fn resolve(args: &RunArgs) -> Result<RunArgs, UsageError> {
    let refuse = |why: &str| Err(UsageError(why.to_owned()));
    if args.host.is_some() {
        return refuse("--together takes its hosts from --hosts: leave --host out");
    }
    let hosts = &args.engine.hosts;
    if hosts.iter().collect::<BTreeSet<_>>().len() < hosts.len() {
        return refuse(
            "a host is named twice in --hosts: each runs one share; use more threads in the suite for more",
        );
    }
    if hosts.len() < 2 {
        return refuse("--together needs two or more --hosts");
    }
    let mut args = args.clone();
    if args.settings.suites.is_empty() && args.study.is_none() && args.file.is_none() {
        args.settings.suites = vec![SUITE.to_owned()];
    }
    args.host = hosts.first().cloned();
    args.ranks = std::mem::take(&mut args.engine).hosts;
    args.engine = SchedulerArgs::default();
    Ok(args)
}

/// Gives each host the work that the suites plan for one.
///
/// # Errors
/// Returns an error if no phase of a test can be shared.
pub fn share_work(suites: &mut [Suite], args: &RunArgs) -> Result<(), UsageError> {
    let Ok(hosts) = u32::try_from(args.ranks.len()) else { return Ok(()) };
    if hosts == 0 {
        return Ok(());
    }
    for suite in suites {
        for test in &mut suite.tests {
            let is_shared = |op: &model::Op| op.info().on_hosts(hosts).is_some();
            if !test.phases.iter().any(|phase| is_shared(&phase.op)) {
                return Err(UsageError(format!(
                    "cannot run {}/{} on several hosts together: its phases have no threads that hosts can share; -s {SUITE} has",
                    suite.name, test.name
                )));
            }
            *test = test.on_hosts(hosts);
        }
    }
    Ok(())
}
