//! What the agent of a machine is asked beside a campaign: what there is, what a source holds, what a device can do, and
//! what killed campaigns have left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Calibration, Campaign, CampaignId, CopySource};
use storage::{HostInfo, ProgramLookup};
use wire::machine::{
    CalibrationSubject, HostCapabilities, HostReply, HostRequest, MountedDirectory, SourceScan,
    StaleDirectory,
};

use crate::connection::{AgentConnection, AgentTransport, STOP_POLL_INTERVAL, connection_lost};
use crate::error::{self, UserInterrupt};
use crate::user_prompt::UserPrompt;

/// What a machine has, as far as it decides about what can run there.
pub struct MachineInfo {
    /// Its kernel, the programs that were asked for, and so on.
    pub machine: HostInfo,
    /// Whether the device that was asked for is a block device.
    pub is_block_device: bool,
    /// The directories that were asked for, in the same order; or why one cannot compete.
    pub directories: Vec<Result<MountedDirectory, String>>,
}

/// What a machine has of these programs, its kernel and so on; and what this path and these directories are there.
///
/// # Errors
/// When it cannot be reached, or the user asks to stop.
pub fn inspect_machine(
    reach: &dyn AgentTransport,
    programs: BTreeSet<String>,
    device: Option<&Path>,
    directories: Vec<PathBuf>,
    stop: &AtomicBool,
) -> anyhow::Result<MachineInfo> {
    let request = HostRequest::Inspect {
        programs,
        device: device.map(Path::to_owned),
        directories,
    };
    match ask(reach, &request, stop)? {
        HostReply::Inspected(facts) => Ok(seen(*facts)),
        _ => Err(unexpected()),
    }
}

fn seen(facts: HostCapabilities) -> MachineInfo {
    MachineInfo {
        is_block_device: facts.is_block_device,
        directories: facts.directories,
        machine: HostInfo {
            root: facts.root,
            kernel: facts.kernel,
            filesystems: facts.filesystems,
            modules: facts.modules,
            loads_modules: facts.loads_modules,
            loop_control: facts.loop_control,
            fuse_device: facts.fuse_device,
            available_memory: facts.available_memory,
            programs: ProgramLookup::These(facts.programs),
            guest: None,
        },
    }
}

/// What a source of the user's holds.
///
/// # Errors
/// When it cannot be copied from, or the machine cannot be reached.
pub fn scan_source(
    reach: &dyn AgentTransport,
    survey: SourceScan,
    stop: &AtomicBool,
) -> anyhow::Result<CopySource> {
    match ask(reach, &HostRequest::ScanSource(survey), stop)? {
        HostReply::SourceScanned(source) => Ok(*source),
        _ => Err(unexpected()),
    }
}

/// Measures the harness overhead and a device.
///
/// # Errors
/// When the device is refused, the user asks to stop, or the machine cannot be reached.
pub fn measure(
    reach: &dyn AgentTransport,
    what: CalibrationSubject,
    dialogue: &dyn UserPrompt,
    stop: &AtomicBool,
) -> anyhow::Result<Calibration> {
    let mut connection = AgentConnection::open(reach, stop)?;
    connection.send(&HostRequest::Measure(what))?;
    let is_it = |answer: &HostReply| matches!(answer, HostReply::Calibrated(_));
    match connection.wait_for(is_it, dialogue, stop, &mut |_| {})? {
        HostReply::Calibrated(Some(taken)) => Ok(*taken),
        HostReply::Calibrated(None) => Err(UserInterrupt.into()),
        _ => Err(unexpected()),
    }
}

/// What killed campaigns have left in these directories.
///
/// # Errors
/// When the machine cannot be reached.
pub fn find_stale(
    reach: &dyn AgentTransport,
    places: Vec<PathBuf>,
) -> anyhow::Result<Vec<StaleDirectory>> {
    let request = HostRequest::FindStale { places };
    match ask(reach, &request, &AtomicBool::new(false))? {
        HostReply::StaleDirectories(left) => Ok(left),
        _ => Err(unexpected()),
    }
}

/// Removes a directory that was left, with what else is known of its campaign.
///
/// # Errors
/// When it cannot be removed, or another process has it.
pub fn remove_stale(
    reach: &dyn AgentTransport,
    directory: &Path,
    campaign: Option<(CampaignId, &Campaign)>,
) -> anyhow::Result<()> {
    let request = HostRequest::RemoveStale {
        directory: directory.to_owned(),
        campaign: campaign.map(|(id, campaign)| (id, Box::new(campaign.clone()))),
    };
    ask(reach, &request, &AtomicBool::new(false)).map(drop)
}

/// Asks what changes nothing, and gives the answer. Where the user asks to stop, nobody waits for it: the agent may be
/// looking at a directory of which nothing is heard any more.
fn ask(
    reach: &dyn AgentTransport,
    request: &HostRequest,
    stop: &AtomicBool,
) -> anyhow::Result<HostReply> {
    let mut connection = AgentConnection::open(reach, stop)?;
    connection.send(request)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            connection.abandon();
            return Err(UserInterrupt.into());
        }
        match connection.next(STOP_POLL_INTERVAL)? {
            Some(HostReply::Failed { kind, reason }) => return Err(error::from_kind(kind, reason)),
            Some(answer) => return Ok(answer),
            None => {}
        }
    }
}

fn unexpected() -> anyhow::Error {
    connection_lost("it said something else").into()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// An agent that answers nothing, and does not notice that nobody is there any more.
    struct Silent;

    impl AgentTransport for Silent {
        fn command(&self) -> anyhow::Result<Command> {
            let version = wire::VERSION;
            let hello = HostReply::Hello { version }.to_line();
            let mut command = Command::new("sh");
            command.args(["-c", "printf %s \"$1\"; exec sleep 1000", "sh", &hello]);
            Ok(command)
        }

        fn name(&self) -> String {
            "a machine".into()
        }

        fn is_remote(&self) -> bool {
            false
        }
    }

    /// An agent that ends before its first word.
    struct Dead;

    impl AgentTransport for Dead {
        fn command(&self) -> anyhow::Result<Command> {
            Ok(Command::new("true"))
        }

        fn name(&self) -> String {
            "a machine".into()
        }

        fn is_remote(&self) -> bool {
            false
        }
    }

    #[test]
    fn an_agent_that_ctrl_c_ends_before_it_listens_is_no_failure() {
        let request = HostRequest::FindStale { places: Vec::new() };
        let asked = |stop| ask(&Dead, &request, &AtomicBool::new(stop)).unwrap_err();
        assert!(asked(true).is::<UserInterrupt>());
        assert!(asked(false).to_string().contains("did not start"));
    }

    #[test]
    fn nobody_waits_for_an_answer_once_the_user_asks_to_stop() {
        let source = SourceScan {
            source: "/".into(),
            backend: model::BackendKind::Dir,
            device: None,
            in_use: Vec::new(),
        };
        let error = scan_source(&Silent, source, &AtomicBool::new(true)).unwrap_err();
        assert!(error.is::<UserInterrupt>(), "{error}");
    }
}
