//! Conditions that affect speed in addition to the hardware: settings of the kernel and of a disk's
//! queue, and the place where fsarena runs. Unknown conditions are omitted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use model::{Bytes, HostSetting};
use sys::mount::mounts;

use crate::host::sysfs::{self, DeviceId};

/// Kernel limits at which writeback starts and writers are throttled. Source:
/// Documentation/admin-guide/sysctl/vm.rst.
const DIRTY: [&str; 6] = [
    "dirty_ratio",
    "dirty_bytes",
    "dirty_background_ratio",
    "dirty_background_bytes",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
];

/// Returns the queue settings of a block device, or of the device that contains a file or
/// directory.
pub fn storage_settings(path: &Path) -> Vec<HostSetting> {
    let device = match DeviceId::from_path(path) {
        Some(device @ DeviceId::Block(..)) => Some(device),
        _ => mounts::mount_of(path)
            .ok()
            .flatten()
            .and_then(|mount| DeviceId::from_path(&mount.source)),
    };
    let attribute = |name| device.and_then(|device| sysfs::attribute(device, name));
    let readahead = attribute("queue/read_ahead_kb").and_then(|kib| kib.parse().ok());
    let readahead = readahead.map(|kib| HostSetting::new("readahead", Bytes::kib(kib).to_string()));
    let scheduler = attribute("queue/scheduler");
    let scheduler = scheduler.map(|words| HostSetting::new("I/O scheduler", chosen(&words)));
    readahead.into_iter().chain(scheduler).collect()
}

/// Returns the settings of the machine. `root` is `/`, except in tests.
pub fn machine_settings(root: &Path) -> Vec<HostSetting> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let found = [
        (HostSetting::HOST, read("proc/sys/kernel/hostname").map(|name| name.trim().to_owned())),
        ("dirty memory", dirty(&read)),
        (
            "transparent huge pages",
            read("sys/kernel/mm/transparent_hugepage/enabled").map(|words| chosen(&words)),
        ),
        ("frequency governor", governors(root)),
        ("cgroup", read("proc/self/cgroup").map(|table| cgroup(&table))),
        ("virtual machine", hypervisor(&read)),
    ];
    found.into_iter().filter_map(|(what, value)| Some(HostSetting::new(what, value?))).collect()
}

/// Returns the bracketed choice of a list such as `always [madvise] never`.
fn chosen(words: &str) -> String {
    let mut choices = words.split_whitespace();
    let chosen = choices.find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.unwrap_or(words.trim()).to_owned()
}

/// Returns the limits that are set. Each is a ratio or a number of bytes; the unused one is 0.
fn dirty(read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let limit = |name: &&str| {
        let value = read(&format!("proc/sys/vm/{name}"))?;
        (value.trim() != "0").then(|| format!("{name} {}", value.trim()))
    };
    let limits: Vec<String> = DIRTY.iter().filter_map(limit).collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// Returns the distinct frequency governors of all processors.
fn governors(root: &Path) -> Option<String> {
    let processors = fs::read_dir(root.join("sys/devices/system/cpu")).ok()?;
    let governor = |entry: fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok()?;
        Some(name.trim().to_owned())
    };
    let names: BTreeSet<String> = processors.flatten().filter_map(governor).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// Returns the control groups of this process other than root groups, with their controllers if
/// there are several hierarchies. Format: `number:controllers:path`, cgroups(7).
fn cgroup(table: &str) -> String {
    let group = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        (path != "/").then(|| match controllers {
            "" => path.to_owned(),
            _ => format!("{path} ({controllers})"),
        })
    };
    let groups: Vec<String> = table.lines().filter_map(group).collect();
    match groups.is_empty() {
        true => "/".to_owned(),
        false => groups.join(", "),
    }
}

/// Returns whether the processor reports a hypervisor (a flag on x86), and if so the machine name
/// of the firmware. Returns `None` if the processor has no such flag.
fn hypervisor(read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let cpuinfo = read("proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some("no".to_owned());
    }
    let names = ["sys_vendor", "product_name"];
    let names = names.map(|name| read(&format!("sys/class/dmi/id/{name}")).unwrap_or_default());
    let names = names.map(|name| name.trim().to_owned());
    let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    Some(match names.is_empty() {
        true => "yes".to_owned(),
        false => format!("yes: {}", names.join(" ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn describes_a_machine_in_terms_of_the_kernel() {
        let root = machine(&[
            ("proc/sys/kernel/hostname", "box\n"),
            ("proc/sys/vm/dirty_ratio", "0\n"),
            ("proc/sys/vm/dirty_bytes", "1048576\n"),
            ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("proc/self/cgroup", "4:memory:/limited\n1:cpu:/\n0::/\n"),
            ("proc/cpuinfo", "processor : 0\nflags\t: fpu hypervisor lahf_lm\n"),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ]);
        let found = machine_settings(root.path());
        let found: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.value.as_str())).collect();
        assert_eq!(
            found,
            [
                ("host", "box"),
                ("dirty memory", "dirty_bytes 1048576, dirty_expire_centisecs 3000"),
                ("transparent huge pages", "madvise"),
                ("frequency governor", "powersave"),
                ("cgroup", "/limited (memory)"),
                ("virtual machine", "yes: QEMU"),
            ]
        );
    }

    #[test]
    fn omits_unknown_conditions() {
        assert_eq!(machine_settings(Path::new("/no/such")), []);
        let root = machine(&[("proc/self/cgroup", "0::/\n"), ("proc/cpuinfo", "flags : fpu\n")]);
        let found = machine_settings(root.path());
        let found: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.value.as_str())).collect();
        assert_eq!(found, [("cgroup", "/"), ("virtual machine", "no")]);
    }
}
