//! Restricts the processes of a cell to its own block devices, with a control group and a device
//! filter.
//!
//! This is a second barrier in addition to the private `/dev` of a cell: a mount option can name a
//! device by its number. Cells run without the filter if the kernel does not support it or does not
//! permit it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;
use sys::mount::{device_filter, mounts};
use sys::process;

/// Suffix of the name of such groups, after the number of their process.
const NAME: &str = "fsarena-devices";

/// A control group that allows its processes to open certain block devices. Removed on drop.
#[derive(Debug)]
pub struct DeviceCgroup {
    group: PathBuf,
}

impl DeviceCgroup {
    /// Creates a group that permits opening only these devices, by major and minor number. Its
    /// parent is this control group (version 2) or, by default, the group of fsarena. Returns
    /// `None` if that fails.
    pub fn create(devices: &[(u64, u64)], around: Option<&Path>) -> Option<Self> {
        let around = match around {
            Some(group) => group.to_owned(),
            None => own_group().ok()??,
        };
        remove_leftovers(&around);
        let made = Self { group: around.join(format!("{NAME}-{}", std::process::id())) };
        fs::create_dir(&made.group).ok()?;
        let group = File::open(&made.group).ok()?;
        device_filter::allow_only(&group, devices).ok()?;
        Some(made)
    }

    /// Moves a process and its descendants into the group.
    ///
    /// # Errors
    /// Returns an error if one of the processes has already ended.
    pub fn add_process(&self, pid: Pid) -> io::Result<()> {
        process::move_to_cgroup(pid, &self.group.join("cgroup.procs"))
    }
}

impl Drop for DeviceCgroup {
    fn drop(&mut self) {
        // A group with an unkillable process stays until that process ends.
        let _ = fs::remove_dir(&self.group);
    }
}

/// Removes the groups of killed runs, that is, groups whose creator has exited.
fn remove_leftovers(around: &Path) {
    let entries = fs::read_dir(around).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('-'));
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the directory of this process's control group (version 2).
fn own_group() -> io::Result<Option<PathBuf>> {
    let mounts = mounts::all()?;
    let Some(mount) = mounts.into_iter().find(|mount| mount.kind == "cgroup2") else {
        return Ok(None);
    };
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    Ok(own_path(&groups).map(|path| below(&mount.on, path)))
}

/// Returns the path of the group (version 2), relative to the root. Format: `0::/path`, cgroups(7).
fn own_path(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

fn below(top: &Path, path: &str) -> PathBuf {
    top.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_group_is_found_among_those_of_the_older_interface() {
        assert_eq!(own_path("4:memory:/a\n0::/slice/b\n"), Some("/slice/b"));
        assert_eq!(own_path("4:memory:/a\n"), None);
        assert_eq!(below(Path::new("/sys/fs/cgroup"), "/"), Path::new("/sys/fs/cgroup/"));
    }

    /// Needs a kernel with device filters, which all distributions enable.
    #[test]
    fn process_in_the_group_cannot_open_other_block_devices() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let attach = || provision_loop(image.path());
        let (own, other) = (attach(), attach());
        let number = |device: &Path| {
            use std::os::unix::fs::MetadataExt;
            sys::block::major_minor(fs::metadata(device).unwrap().rdev())
        };
        let devices =
            DeviceCgroup::create(&[number(own.as_ref())], None).expect("this kernel has filters");
        let read = |device: &str| {
            let script = format!("read line; exec dd if={device} of=/dev/null bs=512 count=1");
            let mut shell = Command::new("sh")
                .args(["-c", &script])
                .stdin(std::process::Stdio::piped())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            devices.add_process(Pid::from_raw(shell.id().cast_signed())).unwrap();
            drop(shell.stdin.take());
            shell.wait().unwrap().success()
        };
        let (may, may_not) = (read(&own), read(&other));
        for device in [&own, &other] {
            Command::new("losetup").args(["--detach", device]).status().unwrap();
        }
        assert!(may && !may_not, "own: {may}, other: {may_not}");
    }

    fn provision_loop(image: &Path) -> String {
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}
