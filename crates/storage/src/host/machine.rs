//! The capabilities of this machine: kernel, modules, programs, permissions. Facts only; `doctor`
//! evaluates them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use model::Bytes;
use nix::sys::utsname::uname;
use nix::unistd::Uid;

use sys::memory;

use crate::find_program;

/// Properties of a machine that determine what can run.
#[derive(Clone, Debug)]
pub struct HostInfo {
    /// True if this process may mount filesystems.
    pub root: bool,
    /// Kernel release.
    pub kernel: String,
    /// Names in `/proc/filesystems`.
    pub filesystems: BTreeSet<String>,
    /// Names of loadable modules, with `_` instead of `-`.
    pub modules: BTreeSet<String>,
    /// True if the kernel loads a filesystem's module automatically on mount.
    pub loads_modules: bool,
    /// Whether `/dev/loop-control` exists.
    pub loop_control: bool,
    /// Whether the kernel has loop devices, even if the node above is missing, as in a container.
    pub loop_driver: bool,
    /// Whether `/dev/fuse` exists.
    pub fuse_device: bool,
    /// Memory available to programs, if known.
    pub available_memory: Option<Bytes>,
    /// Available programs.
    pub programs: ProgramLookup,
    /// Content of the guest that is built on this machine, if any.
    pub guest: Option<GuestContents>,
}

/// Programs that are available on a machine.
#[derive(Clone, Debug)]
pub enum ProgramLookup {
    /// The programs of this machine, on the path.
    OfPath,
    /// A fixed list of programs.
    These(BTreeSet<String>),
}

impl ProgramLookup {
    /// Returns true if there is a program of this name, or a file if the name is an absolute path.
    pub fn have(&self, name: &str) -> bool {
        match self {
            Self::OfPath if name.starts_with('/') => Path::new(name).exists(),
            Self::OfPath => find_program(name).is_some(),
            Self::These(names) => names.contains(name),
        }
    }
}

/// Filesystem support of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestContents {
    /// Kernel release of the guest.
    pub kernel: String,
    /// Filesystems that the guest cannot mount, by name, each with the missing part and how to get
    /// it.
    pub lacks: BTreeMap<String, String>,
}

impl HostInfo {
    /// Inspects this machine. The result contains no information about the guest.
    pub fn inspect() -> Self {
        let kernel = uname().map_or_else(
            |_| "unknown".to_owned(),
            |name| name.release().to_string_lossy().into_owned(),
        );
        Self {
            root: Uid::effective().is_root(),
            filesystems: filesystems(&read("/proc/filesystems")),
            modules: modules(&read(&format!("/lib/modules/{kernel}/modules.dep"))),
            loads_modules: loads_modules(),
            loop_control: Path::new("/dev/loop-control").exists(),
            loop_driver: has_loop_driver(&read("/proc/misc")),
            fuse_device: Path::new("/dev/fuse").exists(),
            available_memory: memory::available(),
            programs: ProgramLookup::OfPath,
            guest: None,
            kernel,
        }
    }
}

/// Returns the text of a file, or an empty string if it cannot be read.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the last word of each line, which may start with `nodev`.
fn filesystems(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

/// Extracts module names: `kernel/fs/jfs/jfs.ko.xz: kernel/…` contains `jfs`.
fn modules(dependencies: &str) -> BTreeSet<String> {
    dependencies
        .lines()
        .filter_map(|line| line.split(':').next()?.rsplit('/').next()?.split(".ko").next())
        .map(|name| name.replace('-', "_"))
        .collect()
}

/// Returns true if the table of miscellaneous devices (`237 loop-control`) contains the control
/// device of loop devices.
fn has_loop_driver(table: &str) -> bool {
    table.lines().any(|line| line.split_whitespace().nth(1) == Some("loop-control"))
}

/// Returns true if the kernel loads modules automatically. It runs the program named in this file;
/// an empty name or `modules_disabled` disables it.
fn loads_modules() -> bool {
    let program = read("/proc/sys/kernel/modprobe");
    let disabled = read("/proc/sys/kernel/modules_disabled");
    disabled.trim() != "1" && Path::new(program.trim()).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_lists() {
        let names = filesystems("nodev\tsysfs\n\text4\nnodev\tfuse\n\tfuseblk\n");
        assert_eq!(names, ["ext4", "fuse", "fuseblk", "sysfs"].map(String::from).into());
        let found = modules(
            "kernel/fs/jfs/jfs.ko: kernel/x.ko\nkernel/fs/nls/nls-cp437.ko.xz:\nkernel/fs/xfs/xfs.ko.zst: a\n",
        );
        assert_eq!(found, ["jfs", "nls_cp437", "xfs"].map(String::from).into());
        assert!(modules("").is_empty());
        assert!(has_loop_driver("130 watchdog\n237 loop-control\n") && !has_loop_driver("130 x\n"));
    }

    #[test]
    fn this_machine_has_proc_and_a_shell() {
        let machine = HostInfo::inspect();
        assert!(machine.filesystems.contains("proc"));
        assert!(machine.programs.have("sh"));
        assert_eq!(machine.root, Uid::effective().is_root());
    }
}
