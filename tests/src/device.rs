//! Loop devices for tests: one on a plain image, and one that disappears.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// A loop device. When dropped, it unmounts the filesystems on it and detaches.
#[derive(Debug)]
pub struct TestLoopDevice {
    device: PathBuf,
    image: PathBuf,
    below: Option<PathBuf>,
}

impl TestLoopDevice {
    /// Creates a device on a new image of zeros.
    ///
    /// # Panics
    /// Panics if the device cannot be created.
    pub fn new(image: &Path, size: u64) -> Self {
        let file = File::create(image).expect("the image can be made");
        file.set_len(size).expect("the image can be that large");
        Self::attach(image, None)
    }

    /// Attaches a device to an image on the fault driver. The driver dies when it should write a
    /// block that begins with `fatal`; the device then fails every request.
    ///
    /// # Panics
    /// Panics if the device cannot be created.
    pub fn vanishing(directory: &Path, size: u64, fatal: &str) -> Self {
        std::fs::create_dir(directory).expect("the directory is new");
        let options = format!("die-at={fatal}");
        let arguments = ["-o", &options, "none"];
        succeed(Command::new(program::faultfs()).args(arguments).arg(directory));
        let image = directory.join("disk");
        let file = File::create(&image).expect("the driver makes files");
        file.set_len(size).expect("files may have holes");
        Self::attach(&image, Some(directory.to_owned()))
    }

    fn attach(image: &Path, below: Option<PathBuf>) -> Self {
        let mut losetup = Command::new("losetup");
        let device = succeed(losetup.args(["--show", "--find"]).arg(image));
        Self { device: PathBuf::from(device.trim()), image: image.to_owned(), below }
    }

    /// Returns the path of the device, such as `/dev/loop3`.
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Returns true if the device still belongs to its image. A device that a test has detached may
    /// belong to another test.
    fn is_attached(&self) -> bool {
        let name = self.device.file_name().unwrap_or_default();
        let backing = Path::new("/sys/block").join(name).join("loop/backing_file");
        let file = std::fs::read_to_string(backing).unwrap_or_default();
        // The kernel adds this suffix if the file was removed.
        let file = file.trim_end().trim_end_matches(" (deleted)");
        Path::new(file) == self.image
    }

    /// Returns the image file of the device.
    pub fn image(&self) -> &Path {
        &self.image
    }
}

impl Drop for TestLoopDevice {
    fn drop(&mut self) {
        let mut commands = Vec::new();
        if self.is_attached() {
            commands.push(("losetup", "--detach", &self.device));
        }
        commands.extend(self.below.as_ref().map(|below| ("umount", "--lazy", below)));
        for (program, option, what) in commands {
            // The sandbox reports devices and mounts that remain.
            let _ = Command::new(program).arg(option).arg(what).status();
        }
    }
}

/// Runs a command that must succeed and returns its output.
///
/// # Panics
/// Panics if the command fails.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program can be started");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
