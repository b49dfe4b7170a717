//! Requests to the agent of a machine outside a campaign: installed programs, contents of a source,
//! device performance, and stale directories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use campaign::run::StopFlag;
use model::wire::machine::{
    CalibrationSubject, HostCapabilities, HostReply, HostRequest, MountedDirectory, SourceScan,
    StaleDirectory,
};
use model::{Calibration, Campaign, CampaignId, CopySource};
use storage::{HostInfo, ProgramLookup};

use crate::error::{self, UserInterrupt};
use crate::remote::connection::{
    AgentConnection, AgentTransport, STOP_POLL_INTERVAL, connection_lost,
};
use crate::remote::user_prompt::UserPrompt;

/// Properties of a machine that decide which contenders can run there.
pub struct MachineInfo {
    /// Kernel, requested programs, and other facts.
    pub machine: HostInfo,
    /// Whether the requested device is a block device.
    pub is_block_device: bool,
    /// The requested directories in the same order, or the reason if one cannot compete.
    pub directories: Vec<Result<MountedDirectory, String>>,
}

/// Reads the facts of a machine: its kernel, these programs, this device and these directories.
///
/// # Errors
/// Returns an error if the machine cannot be reached or the user asks to stop.
pub fn inspect_machine(
    reach: &dyn AgentTransport,
    programs: BTreeSet<String>,
    device: Option<&Path>,
    directories: Vec<PathBuf>,
    stop: &StopFlag,
) -> anyhow::Result<MachineInfo> {
    let request =
        HostRequest::Inspect { programs, device: device.map(Path::to_owned), directories };
    match ask(reach, request, stop)? {
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
            loop_driver: facts.loop_driver,
            fuse_device: facts.fuse_device,
            available_memory: facts.available_memory,
            programs: ProgramLookup::These(facts.programs),
            guest: None,
        },
    }
}

/// Reads the contents of a user's source.
///
/// # Errors
/// Returns an error if the source cannot be copied or the machine cannot be reached.
pub fn scan_source(
    reach: &dyn AgentTransport,
    survey: SourceScan,
    stop: &StopFlag,
) -> anyhow::Result<CopySource> {
    match ask(reach, HostRequest::ScanSource(survey), stop)? {
        HostReply::SourceScanned(source) => Ok(*source),
        _ => Err(unexpected()),
    }
}

/// Measures the harness overhead and a device.
///
/// # Errors
/// Returns an error if the device is refused, the user asks to stop, or the machine cannot be
/// reached.
pub fn measure(
    reach: &dyn AgentTransport,
    what: CalibrationSubject,
    dialogue: &dyn UserPrompt,
    stop: &StopFlag,
) -> anyhow::Result<Calibration> {
    let mut connection = AgentConnection::open(reach, stop)?;
    connection.send(HostRequest::Measure(what))?;
    let is_it = |answer: &HostReply| matches!(answer, HostReply::Calibrated(_));
    match connection.wait_for(is_it, dialogue, &mut |_| {})? {
        HostReply::Calibrated(Some(taken)) => Ok(*taken),
        HostReply::Calibrated(None) => Err(UserInterrupt.into()),
        _ => Err(unexpected()),
    }
}

/// Finds stale directories of killed campaigns in these places.
///
/// # Errors
/// Returns an error if the machine cannot be reached or the user asks to stop.
pub fn find_stale(
    reach: &dyn AgentTransport,
    places: Vec<PathBuf>,
    stop: &StopFlag,
) -> anyhow::Result<Vec<StaleDirectory>> {
    let request = HostRequest::FindStale { places };
    match ask(reach, request, stop)? {
        HostReply::StaleDirectories(left) => Ok(left),
        _ => Err(unexpected()),
    }
}

/// Removes a stale directory and other remains of its campaign.
///
/// # Errors
/// Returns an error if the directory cannot be removed, another process holds it or the user asks to
/// stop.
pub fn remove_stale(
    reach: &dyn AgentTransport,
    directory: &Path,
    campaign: Option<(CampaignId, &Campaign)>,
    stop: &StopFlag,
) -> anyhow::Result<()> {
    let request = HostRequest::RemoveStale {
        directory: directory.to_owned(),
        campaign: campaign.map(|(id, campaign)| (id, Box::new(campaign.clone()))),
    };
    ask(reach, request, stop).map(drop)
}

/// Sends a read-only request and returns its answer. Does not wait for the answer if the user asks
/// to stop, because the agent may be blocked by an unresponsive directory.
fn ask(
    reach: &dyn AgentTransport,
    request: HostRequest,
    stop: &StopFlag,
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

    /// An agent that never answers and does not notice a closed connection.
    struct Silent;

    impl AgentTransport for Silent {
        fn command(&self) -> anyhow::Result<Command> {
            let version = model::wire::VERSION;
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

    /// An agent that exits before its greeting.
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

    fn flag(stop: bool) -> StopFlag {
        StopFlag::new(stop.into())
    }

    #[test]
    fn agent_ended_by_ctrl_c_before_its_greeting_is_an_interruption() {
        let request = HostRequest::FindStale { places: Vec::new() };
        let asked = |stop| ask(&Dead, request.clone(), &flag(stop)).unwrap_err();
        assert!(asked(true).is::<UserInterrupt>());
        assert!(asked(false).to_string().contains("did not start"));
    }

    #[test]
    fn request_does_not_wait_after_the_user_asks_to_stop() {
        let source = SourceScan {
            source: "/".into(),
            backend: model::BackendKind::Dir,
            device: None,
            in_use: Vec::new(),
        };
        let error = scan_source(&Silent, source, &flag(true)).unwrap_err();
        assert!(error.is::<UserInterrupt>(), "{error}");
    }
}
