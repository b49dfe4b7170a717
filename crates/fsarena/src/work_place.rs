//! The directory in which everything lies that is made for a campaign; nothing of it is left in the end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model::{Campaign, CellId};
use nix::fcntl::{Flock, FlockArg};
use store::CampaignId;
use sys::trusted::{Directory, Untrusted};

use crate::exit::Refused;

/// What everything that is made for a campaign is called. The seed stands in it so that campaigns of
/// two databases do not meet.
pub fn unique_name(campaign: &Campaign, id: CampaignId) -> String {
    format!("fsarena-{id}-{:x}", campaign.seed)
}

/// The name of the file by which one process holds a directory.
const LOCK: &str = "lock";

/// The campaign's directory for images and mount points, held by one process, safe from all other users.
pub struct WorkPlace {
    around: Directory,
    directory: Directory,
    _lock: Flock<File>,
}

impl WorkPlace {
    /// Where it is; it need not be there.
    pub fn directory(campaign: &Campaign, id: CampaignId) -> PathBuf {
        campaign.work_dir.join(unique_name(campaign, id))
    }

    /// Makes it where it is not, and takes it for this process alone.
    ///
    /// # Errors
    /// When it cannot be made, or another process has it.
    pub fn take(campaign: &Campaign, id: CampaignId) -> anyhow::Result<Self> {
        let taken = format!("campaign {id} is being run by another process");
        Self::hold(&campaign.work_dir, &unique_name(campaign, id), &taken)
    }

    /// The same for a directory of any name; `taken` says that another process has it.
    ///
    /// # Errors
    /// When it cannot be made, others could tamper with it, or another process has it.
    pub fn hold(work_dir: &Path, name: &str, taken: &str) -> anyhow::Result<Self> {
        let around = Directory::make(work_dir)?;
        let directory = around.subdirectory(name)?;
        let file = directory.file_or_new(LOCK)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Self {
                around,
                directory,
                _lock: lock,
            }),
            Err(_) => Err(Refused(taken.to_owned()).into()),
        }
    }

    /// Where an image of this number is, or would be.
    pub fn image(&self, number: u32) -> PathBuf {
        self.directory.path().join(format!("image-{number}"))
    }

    /// An existing directory to mount on.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn mountpoint(&self) -> Result<PathBuf, Untrusted> {
        Ok(self.directory.subdirectory("mnt")?.path().to_owned())
    }

    /// A new, empty directory for one cell, which goes when it is dropped.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn of_cell(&self, cell: CellId) -> Result<CellDirectory, Untrusted> {
        let name = format!("cell-{}", cell.0);
        // What a killed run has left there is no part of this cell.
        self.directory.remove_tree(&name)?;
        let path = self.directory.subdirectory(&name)?.path().to_owned();
        Ok(CellDirectory(path))
    }

    /// Removes it with everything in it.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove(&self) -> Result<(), Untrusted> {
        self.around
            .remove_tree(self.directory.path().file_name().unwrap_or_default())
    }
}

impl Drop for WorkPlace {
    fn drop(&mut self) {
        // After an error this is all that can be done; after `remove` there is nothing left to do.
        let _ = self.remove();
    }
}

/// The directory of one cell.
pub struct CellDirectory(PathBuf);

impl CellDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for CellDirectory {
    fn drop(&mut self) {
        // What cannot be removed goes, or is complained of, with the campaign's directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_cells_directory_is_empty_at_first_and_gone_at_last() {
        let directory = tempfile::tempdir().unwrap();
        let campaign = Campaign {
            work_dir: directory.path().to_owned(),
            ..fixture::campaign()
        };
        let place = WorkPlace::take(&campaign, CampaignId(7)).unwrap();
        let cell = place.of_cell(CellId(3)).unwrap();
        fs::write(cell.path().join("disk"), "old").unwrap();
        let path = cell.path().to_owned();
        std::mem::forget(cell);
        let again = place.of_cell(CellId(3)).unwrap();
        assert_eq!(again.path(), path);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        drop(again);
        assert!(!path.exists());
        place.remove().unwrap();
    }
}
