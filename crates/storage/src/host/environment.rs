//! The environment of a campaign: machine, kernel, storage and tool versions.

use std::fs;
use std::path::Path;
use std::thread;

use model::{Bytes, CpuCache, DiskIdentity, Environment, Filesystem, HostSetting};
use nix::sys::utsname::uname;
use sys::mount::mounts;

use crate::host::host_memory;
use crate::host::host_settings;
use crate::host::sysfs::{self, DeviceId};
use crate::tool_version::tool_version;

/// Parts of an environment that the caller must provide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentContext {
    /// Version of fsarena.
    pub program: String,
    /// The storage of the contenders.
    pub device: String,
    /// Identity of the disk, if the user gave a block device.
    pub disk: Option<DiskIdentity>,
    /// Method by which the image is attached.
    pub attachment: String,
    /// Conditions of the storage that affect speed.
    pub conditions: Vec<HostSetting>,
    /// Clock used for all times.
    pub clock: String,
}

/// Collects the environment of this machine, and the versions of the filesystem tools (at most five
/// seconds each). Unknown values are empty.
pub fn collect<'a>(
    setting: EnvironmentContext,
    filesystems: impl IntoIterator<Item = &'a Filesystem>,
) -> Environment {
    let mut commands: Vec<&[String]> =
        filesystems.into_iter().map(|filesystem| filesystem.commands.version.as_slice()).collect();
    commands.sort_unstable();
    commands.dedup();
    let mut conditions = setting.conditions;
    conditions.extend(host_settings::machine_settings(Path::new("/")));
    Environment {
        program: setting.program,
        kernel: kernel(),
        distribution: distribution(&read("/etc/os-release")),
        cpu: cpu_model(&read("/proc/cpuinfo")),
        cpus: thread::available_parallelism()
            .map_or(0, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        memory: memory(&read("/proc/meminfo")),
        memory_goes_back: host_memory::is_ballooned(),
        caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        device: setting.device,
        disk: setting.disk,
        attachment: setting.attachment,
        conditions,
        clock: setting.clock,
        tools: commands.into_iter().filter_map(tool_version).collect(),
        spread: None,
    }
}

/// Describes a device, image or directory together with its disk: `/dev/sdb (CT1000, 931.5 GiB,
/// SSD)`, `/var/x.img on ext4 on /dev/sda2 (…)`.
pub fn describe_storage(path: &Path) -> String {
    let identity = DeviceId::from_path(path);
    if let Some(device @ DeviceId::Block(..)) = identity {
        return format!("{}{}", path.display(), hardware(device));
    }
    let Ok(Some(mount)) = mounts::mount_of(path) else {
        return path.display().to_string();
    };
    let below = match DeviceId::from_path(&mount.source) {
        Some(device @ DeviceId::Block(..)) => {
            format!(" on {}{}", mount.source.display(), hardware(device))
        }
        _ => String::new(),
    };
    format!("{} on {}{below}", path.display(), mount.kind)
}

/// Returns model, size and kind of a disk, omitting facts that sysfs lacks.
fn hardware(device: DeviceId) -> String {
    let size = device
        .directory()
        .ok()
        .flatten()
        .and_then(|directory| fs::read_to_string(directory.join("size")).ok())
        .and_then(|sectors| sectors.trim().parse::<u64>().ok())
        .map(|sectors| rounded(sectors.saturating_mul(512)));
    let kind = sysfs::attribute(device, "queue/rotational").map(|flag| match flag.as_str() {
        "1" => "rotating".to_owned(),
        _ => "not rotating".to_owned(),
    });
    let cache = sysfs::attribute(device, "queue/write_cache").map(|mode| format!("cache {mode}"));
    let facts = [sysfs::attribute(device, "device/model"), size, kind, cache];
    let facts: Vec<String> = facts.into_iter().flatten().filter(|f| !f.is_empty()).collect();
    if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
}

/// Formats a size for display.
fn rounded(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    if bytes >= GIB {
        format!("{:.1} GiB", bytes as f64 / GIB as f64)
    } else {
        Bytes(bytes).to_string()
    }
}

fn kernel() -> String {
    let Ok(name) = uname() else {
        return String::new();
    };
    let parts = [name.sysname(), name.release(), name.version(), name.machine()];
    parts.map(|part| part.to_string_lossy()).join(" ")
}

/// Returns the display name of the distribution, from the text of `/etc/os-release`.
pub fn distribution(os_release: &str) -> String {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    line.unwrap_or_default().trim_matches('"').to_owned()
}

/// Returns the release of Debian on this machine. `None` on other distributions.
pub fn debian_release() -> Option<u32> {
    debian_release_of(&read("/etc/os-release"))
}

fn debian_release_of(os_release: &str) -> Option<u32> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"'))
    };
    value("ID").filter(|id| *id == "debian")?;
    value("VERSION_ID")?.parse().ok()
}

/// Returns the processor model from the text of `/proc/cpuinfo`: `model name` on x86, `Model` or
/// `cpu model` elsewhere.
pub fn cpu_model(cpuinfo: &str) -> String {
    let value = |wanted: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
        })
    };
    ["model name", "cpu model", "model", "hardware"].into_iter().find_map(value).unwrap_or_default()
}

/// Returns the total memory, from the text of `/proc/meminfo`; 0 if it is missing.
pub fn memory(meminfo: &str) -> Bytes {
    let kib: Option<u64> = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next())
        .and_then(|number| number.parse().ok());
    Bytes(kib.and_then(|kib| kib.checked_mul(1024)).unwrap_or(0))
}

/// Returns the caches of a processor. Empty if sysfs does not list them, as on some virtual
/// machines.
///
/// Format: `index*/{level,type,size}`, the size as `32K`;
/// Documentation/ABI/testing/sysfs-devices-system-cpu of the kernel.
fn caches(directory: &Path) -> Vec<CpuCache> {
    let indices = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut caches: Vec<CpuCache> = indices.filter_map(|i| cache(&i.path())).collect();
    caches.sort_by(|a, b| (a.level, &a.kind).cmp(&(b.level, &b.kind)));
    caches
}

fn cache(index: &Path) -> Option<CpuCache> {
    let attribute = |name: &str| {
        let text = fs::read_to_string(index.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let size = attribute("size")?;
    let (number, factor) = match size.strip_suffix('M') {
        Some(mebibytes) => (mebibytes, 1 << 20),
        None => (size.strip_suffix('K')?, 1 << 10),
    };
    Some(CpuCache {
        level: attribute("level")?.parse().ok()?,
        kind: attribute("type")?.to_lowercase(),
        size: Bytes(number.parse::<u64>().ok()?.checked_mul(factor)?),
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use model::{Commands, DriverKind, FilesystemFacts, Requirements};

    use super::*;

    #[test]
    fn reads_the_systems_files() {
        assert_eq!(
            distribution("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(cpu_model("processor\t: 0\nmodel\t\t: 85\nmodel name\t: A Chip\n"), "A Chip");
        assert_eq!(cpu_model("Model\t: Raspberry Pi\n"), "Raspberry Pi");
        assert_eq!(memory("MemTotal:  1024 kB\nMemFree: 1 kB\n"), Bytes::mib(1));
        assert_eq!(memory("MemTotal:  18446744073709551615 kB\n"), Bytes(0));
        assert_eq!((distribution(""), memory("junk")), (String::new(), Bytes(0)));
    }

    #[test]
    fn only_debian_has_a_release_of_debian() {
        let id = "ID=debian\nVERSION_ID=\"12\"\n";
        assert_eq!(debian_release_of(id), Some(12));
        assert_eq!(debian_release_of(&id.replace("debian", "ubuntu")), None);
        assert_eq!(debian_release_of("ID=debian\n"), None);
    }

    #[test]
    fn reads_processor_caches_from_sysfs() {
        let place = tempfile::tempdir().unwrap();
        for (index, level, kind, size) in [
            ("index3", "3", "Unified", "32M"),
            ("index0", "1", "Data", "48K"),
            ("index1", "1", "Instruction", "many"),
        ] {
            let directory = place.path().join(index);
            fs::create_dir(&directory).unwrap();
            for (name, value) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(directory.join(name), format!("{value}\n")).unwrap();
            }
        }
        fs::write(place.path().join("uevent"), "").unwrap();
        let found = caches(place.path());
        let found: Vec<_> = found.iter().map(|c| (c.level, c.kind.as_str(), c.size)).collect();
        assert_eq!(found, [(1, "data", Bytes::kib(48)), (3, "unified", Bytes::mib(32))]);
        assert_eq!(caches(Path::new("/no/such")), []);
    }

    #[test]
    fn describes_this_machine_and_runs_each_tool_once() {
        let version = ["sh", "-c", "echo 1.0"].map(String::from).to_vec();
        let filesystem = Filesystem {
            name: "it".into(),
            title: "It".into(),
            aliases: Vec::new(),
            driver: DriverKind::Kernel,
            facts: FilesystemFacts::default(),
            source: "a test".into(),
            requires: Requirements::default(),
            commands: Commands { version, ..Commands::default() },
            quirks: Vec::new(),
            unavailable: None,
            only_in_guest: None,
            only_when_named: None,
            layers: Vec::new(),
        };
        let environment = collect(EnvironmentContext::default(), [&filesystem, &filesystem]);
        assert!(environment.kernel.starts_with("Linux "));
        assert!(environment.cpus > 0 && environment.memory > Bytes::mib(16));
        let tools: Vec<_> = environment.tools.iter().map(|t| t.version.as_str()).collect();
        assert_eq!(tools, ["1.0"]);
    }

    #[test]
    fn describes_a_path_with_its_filesystem() {
        assert_eq!(describe_storage(Path::new("/proc/self")), "/proc/self on proc");
        assert_eq!(describe_storage(Path::new("/no/such/x")), "/no/such/x");
    }
}
