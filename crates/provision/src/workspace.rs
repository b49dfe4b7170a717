//! The one sub-directory in which a cell of `dir` mode works.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use model::CellId;

use crate::ProvisionError;

/// Lies in every directory of ours, so that one left by a killed run is known again.
const MARKER: &str = ".made-by-fsarena";

/// A directory `CAMPAIGN-CELL` with an empty directory in it; removed when dropped.
#[derive(Debug)]
pub struct Workspace {
    top: PathBuf,
}

impl Workspace {
    /// Makes the directory of a cell below an existing directory. One that a killed run left there
    /// is emptied first; so `campaign` must be a name that no other campaign in this directory has.
    ///
    /// # Errors
    /// When something else of that name is there, or the directory cannot be made.
    pub fn create(directory: &Path, campaign: &str, cell: CellId) -> Result<Self, ProvisionError> {
        let top = directory.join(format!("{campaign}-{}", cell.0));
        clear_leftover(&top)?;
        make_directory(&top)?;
        let workspace = Self { top };
        let marker = workspace.top.join(MARKER);
        fs::write(&marker, "").map_err(ProvisionError::io("create", &marker))?;
        make_directory(&workspace.path())?;
        Ok(workspace)
    }

    /// The empty directory to work in.
    pub fn path(&self) -> PathBuf {
        self.top.join("work")
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A filesystem that cannot remove it has said so in the cell's own phases; the marker stays
        // for the next run.
        let _ = fs::remove_dir_all(&self.top);
    }
}

/// `mkdir` fails where anything of the name exists, a dangling link included.
fn make_directory(path: &Path) -> Result<(), ProvisionError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(ProvisionError::io("create", path))
}

/// Removes a directory of ours: one with the marker, or an empty one (killed before the marker).
fn clear_leftover(top: &Path) -> Result<(), ProvisionError> {
    match fs::symlink_metadata(top) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ProvisionError::io("examine", top)(error)),
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(foreign(top)),
    }
    let empty = fs::read_dir(top).is_ok_and(|mut entries| entries.next().is_none());
    let marked = fs::symlink_metadata(top.join(MARKER)).is_ok_and(|m| m.is_file());
    if !empty && !marked {
        return Err(foreign(top));
    }
    // The standard library removes links themselves and never what they point to.
    fs::remove_dir_all(top).map_err(ProvisionError::io("remove", top))
}

fn foreign(path: &Path) -> ProvisionError {
    ProvisionError::Foreign {
        path: path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const CELL: CellId = CellId(3);

    #[test]
    fn is_private_empty_and_gone_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::create(directory.path(), "fsarena-12", CELL).unwrap();
        let top = directory.path().join("fsarena-12-3");
        assert!(workspace.path().starts_with(&top));
        assert_eq!(fs::read_dir(workspace.path()).unwrap().count(), 0);
        assert_eq!(top.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(workspace.path().join("file"), "x").unwrap();
        drop(workspace);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_leftover_of_a_killed_run_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let killed = Workspace::create(directory.path(), "fsarena-1", CELL).unwrap();
        fs::write(killed.path().join("old"), "x").unwrap();
        std::mem::forget(killed);
        let next = Workspace::create(directory.path(), "fsarena-1", CELL).unwrap();
        assert_eq!(fs::read_dir(next.path()).unwrap().count(), 0);
        drop(next);
        fs::create_dir(directory.path().join("fsarena-1-3")).unwrap();
        Workspace::create(directory.path(), "fsarena-1", CELL).expect("killed before the marker");
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("fsarena-1-3");
        fs::create_dir(&top).unwrap();
        fs::write(top.join("precious"), "x").unwrap();
        let refused = Workspace::create(directory.path(), "fsarena-1", CELL);
        assert!(matches!(refused, Err(ProvisionError::Foreign { .. })));
        assert!(top.join("precious").exists());

        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), directory.path().join("fsarena-2-3")).unwrap();
        let refused = Workspace::create(directory.path(), "fsarena-2", CELL);
        assert!(matches!(refused, Err(ProvisionError::Foreign { .. })));
    }

    #[test]
    fn removing_never_follows_a_link() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "x").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::create(directory.path(), "fsarena-1", CELL).unwrap();
        symlink(elsewhere.path(), workspace.path().join("out")).unwrap();
        drop(workspace);
        assert!(elsewhere.path().join("precious").exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
