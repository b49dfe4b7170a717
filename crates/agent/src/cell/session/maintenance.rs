//! Measures one task of an administrator. The command is timed, and an unmount that it needs is not.

use std::path::Path;

use model::{Failure, MaintenanceTask, PhaseResult};
use sys::errno;
use sys::fs::trim;
use sys::mount::sandbox;

use super::{CellSession, PhaseError};

impl CellSession<'_> {
    pub(super) fn maintain(
        &mut self,
        task: MaintenanceTask,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        let Some(command) = self.volume()?.maintenance(task).cloned() else {
            if task == MaintenanceTask::Trim {
                return self.trim(result);
            }
            let wanted = task.in_words();
            return Err(PhaseError::Unsupported(format!("the catalog has no command to {wanted}")));
        };
        if command.sys_resource && !sandbox::has_capability(sandbox::SYS_RESOURCE) {
            let program = &command.command[0];
            return Err(PhaseError::Unsupported(format!(
                "`{program}` needs CAP_SYS_RESOURCE, which root lacks here"
            )));
        }
        let before = self.size()?;
        let remounts = command.unmounted && before.is_some();
        if remounts {
            let outcome = self.volume()?.unmount();
            self.must(outcome)?;
        }
        let done = self.timed(result, |volume| volume.maintain(task, &command.command))?;
        let mounted = if remounts { self.volume()?.mount() } else { Ok(Vec::new()) };
        self.must(done)?;
        self.must(mounted)?;
        let after = self.size()?;
        let is_done = match task {
            MaintenanceTask::Grow => after > before,
            MaintenanceTask::Shrink => after < before,
            _ => true,
        };
        match is_done {
            true => Ok(()),
            false => Err(failed(task, "the program ended with 0, but the size is the old one")),
        }
    }

    /// Returns the size of the filesystem in bytes if it is mounted (statfs(2)).
    fn size(&mut self) -> Result<Option<u64>, PhaseError> {
        let volume = self.volume()?;
        let mounted = volume.is_mounted().then(|| size_of(volume.root()));
        mounted.transpose().map_err(|error| {
            let error = sys::errno::system_error("statfs", &error.into());
            let reason = "cannot read the size of the filesystem".to_owned();
            PhaseError::Failed {
                crashed: false,
                failure: Failure { reason, error, ..Failure::default() },
            }
        })
    }

    fn trim(&mut self, result: &mut PhaseResult) -> Result<(), PhaseError> {
        let Err(error) = self.timed(result, |volume| trim::trim(volume.root()))? else {
            return Ok(());
        };
        let reason = format!("FITRIM: {}", errno::describe(&error));
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL | libc::ENOSYS) => {
                Err(PhaseError::Unsupported(reason))
            }
            _ => Err(failed(MaintenanceTask::Trim, &reason)),
        }
    }
}

fn failed(task: MaintenanceTask, reason: &str) -> PhaseError {
    let failure =
        Failure { step: task.name().to_owned(), reason: reason.to_owned(), ..Failure::default() };
    PhaseError::Failed { crashed: false, failure }
}

fn size_of(root: &Path) -> nix::Result<u64> {
    let found = nix::sys::statvfs::statvfs(root)?;
    Ok(found.blocks() * found.fragment_size())
}
