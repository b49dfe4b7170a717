//! Runs cells on the kernel of this host: the agent is a child process, watched and killed if
//! necessary.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::wire::{AbortReason, CellEvent, CellJob, SourceLocation, WorkTarget};
use model::{CellResult, Nanos};
use sys::io::clock;
use sys::kmsg::KernelLog;

use crate::Executor;
use crate::cell::agent::{AgentEnd, AgentProcess, OrderInput, WatchTimeouts};
use crate::cell::cell_devices::DeviceCgroup;
use crate::cell::ending::CellEnd;
use crate::cell::host_snapshot::HostSnapshot;
use crate::cell::memory::MemoryCgroup;
use crate::cell::result_builder::CellResultBuilder;
use crate::kernel_log;

/// Runs agents as child processes.
pub struct HostExecutor {
    /// This program, which is also the agent.
    pub program: PathBuf,
    /// Time without any event after which a cell is `hung`.
    pub stall_timeout: Nanos,
    /// Time limit of a step, after which it is `hung` even if it makes progress.
    pub step_limit: Nanos,
    /// Time limit of a phase within a budget, after which it has failed.
    pub phase_limit: Option<Nanos>,
    /// Memory limit, if the campaign has one.
    pub memory: Option<MemoryCgroup>,
    /// Stop flag.
    pub stop: Arc<AtomicBool>,
    /// Input of the running agent.
    pub orders: OrderInput,
}

impl Executor for HostExecutor {
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        let (started, start) = (clock::realtime(), clock::now());
        let before = HostSnapshot::take();
        let mut kernel_log = KernelLog::from_now().ok();
        let mut collector = CellResultBuilder::new(&job.test);
        let killed_before = self.memory.as_ref().map_or(0, MemoryCgroup::kills);
        let mut remark = None;
        let around = self.memory.as_ref().and_then(MemoryCgroup::cgroup_v2_path);
        let devices = devices(job, around);
        let ending = match self.start(job, devices.as_ref()) {
            Ok(agent) => {
                let watched = agent.watch(&self.watch(), &mut collector, observe)?;
                remark = watched.remark;
                ending(watched.outcome)
            }
            Err(error) => CellEnd::NotStarted { why: error.to_string() },
        };
        let own =
            kernel_log::CellIdentifiers::of(job, self.memory.as_ref().map(MemoryCgroup::group));
        let news = kernel_log.as_mut().map(|log| kernel_log::events_for_cell(log.read_new(), &own));
        if let Some(memory) = self.memory.as_ref().filter(|m| m.kills() > killed_before) {
            collector.record_oom(memory.limit());
        }
        let mut result = collector.finish(ending, news);
        result.remarks.extend(remark);
        result.disturbance = Some(before.noise_until(&HostSnapshot::take()));
        result.started = started;
        result.elapsed = clock::since(start);
        Ok(result)
    }
}

impl HostExecutor {
    /// Starts the agent with its job. A cell that mounts gets private namespaces.
    fn start(&self, job: &CellJob, devices: Option<&DeviceCgroup>) -> io::Result<AgentProcess> {
        let mut command = Command::new(&self.program);
        command.arg("agent");
        if matches!(job.target, WorkTarget::Volume(_)) {
            command.arg("--isolate");
        }
        let agent = AgentProcess::start(&mut command, job, &|pid| {
            if let Some(limit) = &self.memory {
                limit.add_process(pid)?;
            }
            devices.map_or(Ok(()), |devices| devices.add_process(pid))
        })?;
        Ok(match job.rank {
            Some(_) => agent.with_orders(&self.orders),
            None => agent,
        })
    }

    fn watch(&self) -> WatchTimeouts<'_> {
        WatchTimeouts {
            console: None,
            first: self.stall_timeout,
            stall_timeout: self.stall_timeout,
            step_limit: self.step_limit,
            phase_limit: self.phase_limit,
            stop: &self.stop,
        }
    }
}

/// Returns the device filter of a cell that mounts. A cell in a directory has none, so it can open
/// all devices of its user.
fn devices(job: &CellJob, around: Option<&Path>) -> Option<DeviceCgroup> {
    let WorkTarget::Volume(volume) = &job.target else {
        return None;
    };
    let own = volume.states.iter().map(|state| state.identity.number);
    let source = job.source.iter().filter_map(|source| match source.place {
        SourceLocation::Device { number, .. } => Some(number),
        SourceLocation::Directory { .. } | SourceLocation::Generated(_) => None,
    });
    DeviceCgroup::create(&own.chain(source).collect::<Vec<_>>(), around)
}

fn ending(outcome: AgentEnd) -> CellEnd {
    match outcome {
        AgentEnd::Done => CellEnd::Done,
        AgentEnd::Exited { status, errors } => {
            let how =
                status.map_or_else(|| "it closed its channel but did not end".to_owned(), describe);
            CellEnd::AgentDied {
                how: if errors.is_empty() { how } else { format!("{how}: {errors}") },
            }
        }
        AgentEnd::Hung { stall, stacks, unkillable } => CellEnd::Hung { stall, stacks, unkillable },
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        // The parent of the agent proper reports a signal as shells do: 128 plus its number.
        (Some(code @ 129..=192), _) => format!("signal {} killed it", code - 128),
        (Some(code), _) => format!("it ended with {code}"),
        (None, Some(signal)) => format!("signal {signal} killed it"),
        (None, None) => "its end is unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::Status;

    use super::*;
    use crate::cell::fixture::job;

    /// Runs a cell whose agent ends before it reads its job.
    fn run_what_ends_at_once(stopping: bool) -> Result<CellResult, AbortReason> {
        let mut executor = HostExecutor {
            program: "/bin/false".into(),
            stall_timeout: Nanos::from_secs(60),
            step_limit: Nanos::from_secs(60),
            phase_limit: None,
            memory: None,
            stop: Arc::new(AtomicBool::new(stopping)),
            orders: OrderInput::default(),
        };
        executor.execute(&job(1), &mut |_| {})
    }

    #[test]
    fn early_end_of_an_agent_is_a_crash_unless_the_user_stops() {
        let result = run_what_ends_at_once(false).unwrap();
        let reason = result.failure.map(|failure| failure.reason);
        assert_eq!(result.status, Status::Crashed);
        assert_eq!(reason.as_deref(), Some("the agent died: it ended with 1"));
        let stopped = run_what_ends_at_once(true);
        assert!(matches!(stopped, Err(AbortReason::Interrupted)), "{stopped:?}");
    }
}
