//! Measures one task of an administrator. The command is timed, and an unmount that it needs is not.

use std::path::Path;

use model::{Failure, MaintenanceCommand, MaintenanceTask, PhaseResult};
use sys::errno;
use sys::fs::trim;
use sys::mount::sandbox;
use workload::PhaseMeter;

use super::{CellSession, PhaseError};
use crate::cell::volume::StepResult;

impl CellSession<'_> {
    pub(super) fn maintain(
        &mut self,
        task: MaintenanceTask,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        let Some(volume) = &self.volume else {
            let reason = "fsarena changes only filesystems that it created";
            return Err(PhaseError::Unsupported(reason.into()));
        };
        let command = volume.maintenance(task).cloned();
        match command {
            Some(command) => self.run_task(task, &command, result),
            None if task == MaintenanceTask::Trim => self.trim(result),
            None => {
                let wanted = task.in_words();
                Err(PhaseError::Unsupported(format!("the catalog has no command to {wanted}")))
            }
        }
    }

    fn run_task(
        &mut self,
        task: MaintenanceTask,
        command: &MaintenanceCommand,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        let Some(volume) = &mut self.volume else { return Ok(()) };
        let before = volume.is_mounted().then(|| total(volume.root())).flatten();
        let remounts = command.unmounted && volume.is_mounted();
        if remounts {
            let outcome = volume.unmount();
            self.must(outcome)?;
        }
        let Some(volume) = &mut self.volume else { return Ok(()) };
        let mut meter = PhaseMeter::start(self.device.clone(), None);
        let done = volume.maintain(task, command);
        meter.stop(volume.is_mounted().then_some(volume.root()), result);
        result.operations = 1;
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        let mounted = match (&mut self.volume, remounts) {
            (Some(volume), true) => volume.mount(),
            _ => Ok(Vec::new()),
        };
        if let Err(failed) = &done
            && !sandbox::has_capability(sandbox::SYS_RESOURCE)
            && failed.failure.reason.contains("Permission denied")
        {
            let cause = &failed.failure.reason;
            let reason = format!("{cause}; root lacks CAP_SYS_RESOURCE here");
            self.must(mounted)?;
            return Err(PhaseError::Unsupported(reason));
        }
        self.must(done)?;
        self.must(mounted)?;
        self.require_new_size(task, before)
    }

    /// Fails if a program that resizes ended with 0, and the size is the old one.
    fn require_new_size(
        &self,
        task: MaintenanceTask,
        before: Option<u64>,
    ) -> Result<(), PhaseError> {
        let now = self.volume.as_ref().and_then(|volume| total(volume.root()));
        let (Some(before), Some(now)) = (before, now) else { return Ok(()) };
        let is_done = match task {
            MaintenanceTask::Grow => now > before,
            MaintenanceTask::Shrink => now < before,
            _ => true,
        };
        if is_done {
            return Ok(());
        }
        let reason = format!(
            "the program ended with 0, but the filesystem has {now} bytes, and had {before}"
        );
        let failure = Failure { step: task.name().to_owned(), reason, ..Failure::default() };
        Err(PhaseError::Failed { crashed: false, failure })
    }

    fn trim(&self, result: &mut PhaseResult) -> Result<(), PhaseError> {
        let root = self.workspace.root();
        let mut meter = PhaseMeter::start(self.device.clone(), None);
        let outcome = trim::trim(root);
        meter.stop(Some(root), result);
        result.operations = 1;
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        outcome.map(drop).map_err(|error| {
            let reason = format!("FITRIM: {}", errno::describe(&error));
            match error.raw_os_error() {
                Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL | libc::ENOSYS) => {
                    PhaseError::Unsupported(reason)
                }
                _ => {
                    let error = errno::system_error("ioctl", &error);
                    let failure = Failure { reason, error, ..Failure::default() };
                    PhaseError::Failed { crashed: false, failure }
                }
            }
        })
    }

    fn must(&self, outcome: StepResult) -> Result<(), PhaseError> {
        self.records(outcome).map_err(|failure| PhaseError::Failed { crashed: false, failure })
    }
}

/// Returns the size of a mounted filesystem in bytes (statfs(2)).
fn total(root: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(root).ok()?;
    Some(found.blocks() * found.fragment_size())
}
