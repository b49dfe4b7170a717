//! Working directory of a cell in `dir` mode.

use std::fs;
use std::path::{Path, PathBuf};

use model::CellId;
use nix::unistd::geteuid;
use sys::fs::safe_path::{SafeDir, UntrustedPath};

use crate::ProvisionError;

/// Marks every work directory, so that one left by a killed run is recognised.
const MARKER: &str = ".made-by-fsarena";
const WORK: &str = "work";

/// A directory `CAMPAIGN-CELL` that contains an empty directory. Both are removed on drop.
#[derive(Debug)]
pub struct CellMountDir {
    directory: SafeDir,
    name: String,
    work: PathBuf,
}

impl CellMountDir {
    /// Creates the directory of a cell below an existing directory, after removing one left by a
    /// killed run. `campaign` must be unique within the directory.
    ///
    /// # Errors
    /// Returns an error if a foreign file of that name exists, if the directory cannot be created,
    /// or, as root, if other users could modify it.
    pub fn create(directory: &Path, campaign: &str, cell: CellId) -> Result<Self, ProvisionError> {
        let directory = open(directory)?;
        let name = format!("{campaign}-{}", cell.0);
        clear_leftover(&directory, &name)?;
        let top = directory.subdirectory(&name)?;
        // From here on, an incomplete directory is removed on error.
        let mut workspace = Self { directory, name, work: top.path().to_owned() };
        top.create(MARKER)?;
        workspace.work = top.subdirectory(WORK)?.path().to_owned();
        Ok(workspace)
    }

    /// Removes directories of killed runs of a campaign.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read, or if a directory in it cannot be removed.
    pub fn remove_stale(directory: &Path, campaign: &str) -> Result<(), ProvisionError> {
        let cannot =
            |source| ProvisionError::Io { doing: "read", path: directory.to_owned(), source };
        let around = open(directory)?;
        let begin = format!("{campaign}-");
        for entry in fs::read_dir(around.path()).map_err(cannot)? {
            let name = entry.map_err(cannot)?.file_name();
            let cell = name.to_str().and_then(|name| name.strip_prefix(&begin));
            if cell.is_some_and(|cell| cell.parse::<u32>().is_ok()) {
                clear_leftover(&around, &name)?;
            }
        }
        Ok(())
    }

    /// Returns the path of the empty working directory.
    pub fn path(&self) -> PathBuf {
        self.work.clone()
    }
}

impl Drop for CellMountDir {
    fn drop(&mut self) {
        // If the filesystem cannot remove the directory, the phases of the cell already report
        // this. The marker remains for the next run.
        let _ = self.directory.remove_tree(&self.name);
    }
}

/// Opens the parent directory. A user may use a world-writable directory, such as a mount without
/// permissions; root may not, because others could redirect its operations.
fn open(directory: &Path) -> Result<SafeDir, UntrustedPath> {
    match geteuid().is_root() {
        true => SafeDir::open(directory),
        false => SafeDir::open_shared(directory),
    }
}

/// Removes a work directory: one with the marker, or an empty one (killed before the marker was
/// written).
fn clear_leftover(directory: &SafeDir, name: impl AsRef<Path>) -> Result<(), ProvisionError> {
    let name = name.as_ref();
    let top = directory.path().join(name);
    if !directory.has(name) {
        return Ok(());
    }
    let is_directory = fs::symlink_metadata(&top).is_ok_and(|m| m.is_dir());
    let empty = || fs::read_dir(&top).is_ok_and(|mut entries| entries.next().is_none());
    let marked = || fs::symlink_metadata(top.join(MARKER)).is_ok_and(|m| m.is_file());
    if !is_directory || !(empty() || marked()) {
        return Err(ProvisionError::Foreign { path: top });
    }
    Ok(directory.remove_tree(name)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const CELL: CellId = CellId(3);

    #[test]
    fn is_private_and_empty_and_removed_on_drop() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = CellMountDir::create(directory.path(), "fsarena-12", CELL).unwrap();
        let top = directory.path().join("fsarena-12-3");
        assert!(workspace.path().starts_with(&top));
        assert_eq!(fs::read_dir(workspace.path()).unwrap().count(), 0);
        assert_eq!(top.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(workspace.path().join("file"), "x").unwrap();
        drop(workspace);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn reuses_the_directory_of_a_killed_run() {
        let directory = tempfile::tempdir().unwrap();
        let killed = CellMountDir::create(directory.path(), "fsarena-1", CELL).unwrap();
        fs::write(killed.path().join("old"), "x").unwrap();
        std::mem::forget(killed);
        let next = CellMountDir::create(directory.path(), "fsarena-1", CELL).unwrap();
        assert_eq!(fs::read_dir(next.path()).unwrap().count(), 0);
        drop(next);
        fs::create_dir(directory.path().join("fsarena-1-3")).unwrap();
        CellMountDir::create(directory.path(), "fsarena-1", CELL)
            .expect("killed before the marker");
    }

    #[test]
    fn removes_only_directories_of_the_killed_campaign() {
        let directory = tempfile::tempdir().unwrap();
        for (campaign, cell) in
            [("fsarena-1", CELL), ("fsarena-1", CellId(40)), ("fsarena-12", CELL)]
        {
            std::mem::forget(CellMountDir::create(directory.path(), campaign, cell).unwrap());
        }
        fs::create_dir(directory.path().join("fsarena-1-mine")).unwrap();
        CellMountDir::remove_stale(directory.path(), "fsarena-1").unwrap();
        let entries = fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["fsarena-1-mine", "fsarena-12-3"]);
    }

    #[test]
    fn leaves_foreign_directories_alone() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("fsarena-1-3");
        fs::create_dir(&top).unwrap();
        fs::write(top.join("precious"), "x").unwrap();
        let refused = CellMountDir::create(directory.path(), "fsarena-1", CELL);
        assert!(matches!(refused, Err(ProvisionError::Foreign { .. })));
        assert!(top.join("precious").exists());

        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), directory.path().join("fsarena-2-3")).unwrap();
        let refused = CellMountDir::create(directory.path(), "fsarena-2", CELL);
        assert!(matches!(refused, Err(ProvisionError::Foreign { .. })));
    }

    #[test]
    fn removing_never_follows_a_link() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "x").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let workspace = CellMountDir::create(directory.path(), "fsarena-1", CELL).unwrap();
        symlink(elsewhere.path(), workspace.path().join("out")).unwrap();
        drop(workspace);
        assert!(elsewhere.path().join("precious").exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
