//! A filesystem for tests of features that not every filesystem has.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A mounted filesystem on an image; unmounted on drop.
pub struct Mounted {
    place: TempDir,
}

impl Mounted {
    /// Creates and mounts a filesystem.
    ///
    /// # Panics
    /// Panics if this machine cannot, which needs root and loop devices.
    pub fn new(mkfs: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("image");
        File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let mounted = Self { place };
        fs::create_dir(mounted.top()).unwrap();
        run(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image));
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(mounted.top()));
        mounted
    }

    pub fn top(&self) -> PathBuf {
        self.place.path().join("mnt")
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Fails if it is not mounted.
        let _ = Command::new("umount").arg(self.top()).output();
    }
}
