//! Checks whether a filesystem runs on this machine, and finds the command that installs missing
//! parts. Pure.

use model::{BackendKind, DriverKind, Filesystem, Suite};
use serde::Serialize;

use crate::HostInfo;

/// The emulator of a guest's machine and its Debian package.
const EMULATOR: (&str, &str) = ("qemu-system-x86_64", "qemu-system-x86");

/// Availability of a filesystem for a backend of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Availability {
    /// The filesystem runs without changes.
    #[serde(rename = "runs")]
    Available,
    /// The filesystem runs once the missing parts are installed.
    Missing {
        /// The missing parts, and how to install them; never empty.
        needs: Vec<MissingRequirement>,
    },
    /// The filesystem cannot run on this machine.
    Impossible {
        /// Why.
        why: String,
    },
}

/// A missing requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingRequirement {
    /// Short description.
    #[serde(rename = "what")]
    pub description: String,
    /// The command that installs it.
    pub command: String,
    /// Debian packages that the command installs.
    pub packages: Vec<String>,
}

/// Checks whether a filesystem can run on a backend of a machine.
pub fn check_availability(
    filesystem: &Filesystem,
    backend: BackendKind,
    machine: &HostInfo,
) -> Availability {
    match backend {
        // Any mounted directory works with any filesystem.
        BackendKind::Dir => Availability::Available,
        BackendKind::Vm => in_guest(filesystem, machine),
        BackendKind::Loop => on_loop(filesystem, machine),
        BackendKind::Imported => impossible("nothing runs there".to_owned()),
    }
}

fn on_loop(filesystem: &Filesystem, machine: &HostInfo) -> Availability {
    if let Some(why) = &filesystem.unavailable {
        return impossible(why.clone());
    }
    if let Some(why) = &filesystem.only_in_guest {
        return impossible(format!("only in a guest (`fsarena guest build`): {why}"));
    }
    let mut needs = Vec::new();
    for check in [driver, loop_driver] {
        match check(filesystem, machine) {
            Ok(need) => needs.extend(need),
            Err(why) => return impossible(why),
        }
    }
    needs.extend(fuse_device(filesystem, machine));
    needs.extend(packages(filesystem, machine));
    needs.extend(unpackaged(filesystem, machine));
    needs.extend(root(filesystem, machine));
    if needs.is_empty() { Availability::Available } else { Availability::Missing { needs } }
}

/// Checks a filesystem in a guest. It needs QEMU, and its modules and programs in the guest, but no
/// root.
fn in_guest(filesystem: &Filesystem, machine: &HostInfo) -> Availability {
    if let Some(why) = &filesystem.unavailable {
        return impossible(why.clone());
    }
    let mut needs: Vec<MissingRequirement> = emulator(machine).into_iter().collect();
    match &machine.guest {
        None => needs.push(MissingRequirement {
            description: "the guest".to_owned(),
            command: "fsarena guest build".to_owned(),
            packages: Vec::new(),
        }),
        Some(stock) => {
            if let Some(why) = stock.lacks.get(filesystem.name_without_layers()) {
                return impossible(why.clone());
            }
        }
    }
    if needs.is_empty() { Availability::Available } else { Availability::Missing { needs } }
}

/// Returns the programs and files that the commands of a suite need and that are missing on this
/// machine.
pub fn missing_programs(suite: &Suite, machine: &HostInfo) -> Option<MissingRequirement> {
    let packages = &suite.requires.packages;
    let missing: Vec<String> =
        suite.requires.on_host().filter(|needed| !machine.programs.have(needed)).collect();
    (!missing.is_empty()).then(|| MissingRequirement {
        description: missing.join(", "),
        command: as_root(machine, format!("apt-get install {}", packages.join(" "))),
        packages: packages.clone(),
    })
}

/// Returns the emulator of a guest's machine if it is missing.
pub fn emulator(machine: &HostInfo) -> Option<MissingRequirement> {
    let (program, package) = EMULATOR;
    (!machine.programs.have(program)).then(|| MissingRequirement {
        description: program.to_owned(),
        command: as_root(machine, format!("apt-get install {package}")),
        packages: vec![package.to_owned()],
    })
}

const fn impossible(why: String) -> Availability {
    Availability::Impossible { why }
}

/// Checks the kernel driver of a filesystem: available, loadable, or missing.
fn driver(
    filesystem: &Filesystem,
    machine: &HostInfo,
) -> Result<Option<MissingRequirement>, String> {
    let Some(name) = &filesystem.requires.kernel else {
        return Ok(None);
    };
    if machine.filesystems.contains(name) {
        return Ok(None);
    }
    // Modules are listed in load order: the filesystem itself is the last one.
    let module = filesystem.requires.modules.last().unwrap_or(name);
    match module_need(module, machine) {
        Some(_) if machine.loads_modules => Ok(None),
        Some(need) => Ok(Some(need)),
        None => Err(format!(
            "this kernel ({}) has {name} neither built in nor as a module",
            machine.kernel
        )),
    }
}

fn loop_driver(
    filesystem: &Filesystem,
    machine: &HostInfo,
) -> Result<Option<MissingRequirement>, String> {
    if machine.loop_control || !filesystem.commands.need_device() {
        return Ok(None);
    }
    if machine.loop_driver {
        // The kernel has them: a container was started without the nodes.
        return Ok(Some(MissingRequirement {
            description:
                "the device node /dev/loop-control, which a container has if it is privileged,"
                    .to_owned(),
            command: as_root(machine, "mknod -m 660 /dev/loop-control c 10 237".to_owned()),
            packages: Vec::new(),
        }));
    }
    match module_need("loop", machine) {
        Some(need) => Ok(Some(need)),
        None => Err(format!("this kernel ({}) has no loop devices", machine.kernel)),
    }
}

/// Returns the command to load a module, if the module exists.
fn module_need(module: &str, machine: &HostInfo) -> Option<MissingRequirement> {
    let known = machine.modules.contains(&module.replace('-', "_"));
    known.then(|| MissingRequirement {
        description: format!("the kernel module {module}"),
        command: as_root(machine, format!("modprobe {module}")),
        packages: Vec::new(),
    })
}

/// Checks the device node of FUSE, which may be missing although the driver exists, for example in
/// a container.
fn fuse_device(filesystem: &Filesystem, machine: &HostInfo) -> Option<MissingRequirement> {
    let needed = filesystem.driver == DriverKind::Fuse && machine.filesystems.contains("fuse");
    (needed && !machine.fuse_device).then(|| MissingRequirement {
        description: "/dev/fuse".to_owned(),
        command: as_root(machine, "mknod -m 666 /dev/fuse c 10 229".to_owned()),
        packages: Vec::new(),
    })
}

/// Returns missing programs that packages provide.
fn packages(filesystem: &Filesystem, machine: &HostInfo) -> Option<MissingRequirement> {
    let requires = &filesystem.requires;
    let missing: Vec<&str> = requires
        .programs
        .iter()
        .map(String::as_str)
        .filter(|program| !requires.unpackaged.contains_key(*program))
        .filter(|program| !machine.programs.have(program))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let command = if requires.packages.is_empty() {
        format!("install {} from its authors", missing.join(" "))
    } else {
        let packages = requires.packages.join(" ");
        as_root(machine, format!("apt-get install {packages}"))
    };
    Some(MissingRequirement {
        description: missing.join(", "),
        command,
        packages: requires.packages.clone(),
    })
}

/// Returns missing programs that no package provides.
fn unpackaged(
    filesystem: &Filesystem,
    machine: &HostInfo,
) -> impl Iterator<Item = MissingRequirement> {
    let programs = filesystem.requires.unpackaged.iter();
    let missing = programs.filter(|(program, _)| !machine.programs.have(program));
    missing.map(|(program, brings)| MissingRequirement {
        description: program.clone(),
        command: brings.clone(),
        packages: Vec::new(),
    })
}

fn root(filesystem: &Filesystem, machine: &HostInfo) -> Option<MissingRequirement> {
    (!machine.root).then(|| MissingRequirement {
        description: "root".to_owned(),
        command: format!("sudo fsarena run -c {}", filesystem.name),
        packages: Vec::new(),
    })
}

fn as_root(machine: &HostInfo, command: String) -> String {
    if machine.root { command } else { format!("sudo {command}") }
}

#[cfg(test)]
mod tests {
    use model::{Commands, FilesystemFacts, Requirements};

    use super::*;
    use std::collections::BTreeSet;

    use crate::{GuestContents, ProgramLookup};

    fn machine() -> HostInfo {
        HostInfo {
            root: true,
            kernel: "6.1.0".into(),
            filesystems: ["ext4".to_owned(), "fuse".to_owned()].into(),
            modules: ["jfs".to_owned()].into(),
            loads_modules: false,
            loop_control: true,
            loop_driver: true,
            fuse_device: true,
            available_memory: None,
            programs: ProgramLookup::These(
                ["there", "qemu-system-x86_64"].map(str::to_owned).into(),
            ),
            guest: None,
        }
    }

    fn filesystem(kernel: &str, driver: DriverKind, program: &str) -> Filesystem {
        Filesystem {
            name: "it".into(),
            title: "It".into(),
            aliases: Vec::new(),
            driver,
            facts: FilesystemFacts::default(),
            source: "a test".into(),
            requires: Requirements {
                kernel: Some(kernel.into()),
                modules: Vec::new(),
                packages: vec!["itprogs".into()],
                programs: vec![program.into()],
                ..Requirements::default()
            },
            commands: Commands {
                mkfs: vec!["mkfs.it".into(), "{device}".into()],
                ..Commands::default()
            },
            quirks: Vec::new(),
            unavailable: None,
            only_in_guest: None,
            only_when_named: None,
            layers: Vec::new(),
        }
    }

    fn commands(verdict: Availability) -> Vec<String> {
        match verdict {
            Availability::Missing { needs } => needs.into_iter().map(|n| n.command).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn why(verdict: Availability) -> String {
        match verdict {
            Availability::Impossible { why } => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn runs_if_all_requirements_are_met() {
        let it = filesystem("ext4", DriverKind::Kernel, "there");
        assert_eq!(check_availability(&it, BackendKind::Loop, &machine()), Availability::Available);
    }

    #[test]
    fn a_missing_program_is_a_package_to_install() {
        let it = filesystem("ext4", DriverKind::Kernel, "mkfs.it");
        let found = commands(check_availability(&it, BackendKind::Loop, &machine()));
        assert_eq!(found, ["apt-get install itprogs"]);
    }

    #[test]
    fn a_program_without_a_package_has_its_own_install_command() {
        let mut it = filesystem("ext4", DriverKind::Kernel, "there");
        let brings = ("driver".to_owned(), "cargo install driver".to_owned());
        it.requires.programs.push(brings.0.clone());
        it.requires.unpackaged = [brings].into();
        let found = commands(check_availability(&it, BackendKind::Loop, &machine()));
        assert_eq!(found, ["cargo install driver"]);
        it.requires.programs[0] = "mkfs.it".into();
        let found = commands(check_availability(&it, BackendKind::Loop, &machine()));
        assert_eq!(found, ["apt-get install itprogs", "cargo install driver"]);
    }

    #[test]
    fn without_root_every_command_starts_with_sudo() {
        let user = HostInfo { root: false, ..machine() };
        let it = filesystem("jfs", DriverKind::Kernel, "mkfs.it");
        assert_eq!(
            commands(check_availability(&it, BackendKind::Loop, &user)),
            ["sudo modprobe jfs", "sudo apt-get install itprogs", "sudo fsarena run -c it"]
        );
    }

    #[test]
    fn a_module_is_not_required_if_the_kernel_loads_it_itself() {
        let loading = HostInfo { loads_modules: true, ..machine() };
        let it = filesystem("jfs", DriverKind::Kernel, "there");
        assert_eq!(check_availability(&it, BackendKind::Loop, &loading), Availability::Available);
        assert_eq!(
            commands(check_availability(&it, BackendKind::Loop, &machine())),
            ["modprobe jfs"]
        );
    }

    #[test]
    fn without_driver_or_module_the_filesystem_is_impossible() {
        let it = filesystem("hpfs", DriverKind::Kernel, "there");
        let reason = why(check_availability(&it, BackendKind::Loop, &machine()));
        assert!(reason.contains("6.1.0") && reason.contains("hpfs"), "{reason}");
    }

    #[test]
    fn no_driver_for_linux_leaves_only_a_directory() {
        let mut it = filesystem("ext4", DriverKind::Kernel, "there");
        it.unavailable = Some("OS/2 only".into());
        assert_eq!(why(check_availability(&it, BackendKind::Loop, &machine())), "OS/2 only");
        assert_eq!(check_availability(&it, BackendKind::Dir, &machine()), Availability::Available);
        assert_eq!(why(check_availability(&it, BackendKind::Vm, &machine())), "OS/2 only");
    }

    /// The kernel and programs of this machine are irrelevant, and root is not needed.
    #[test]
    fn in_a_guest_only_the_content_of_the_guest_counts() {
        let lacks = "the guest's kernel has no module ufs";
        let machine = HostInfo {
            root: false,
            loop_control: false,
            loop_driver: false,
            guest: Some(GuestContents {
                kernel: "6.1.0-guest".into(),
                lacks: [("other".to_owned(), lacks.to_owned())].into(),
            }),
            ..machine()
        };
        let mut it = filesystem("hpfs", DriverKind::Kernel, "mkfs.it");
        it.only_in_guest = Some("its driver is built specially".into());
        assert_eq!(check_availability(&it, BackendKind::Vm, &machine), Availability::Available);
        it.name = "other".into();
        assert_eq!(why(check_availability(&it, BackendKind::Vm, &machine)), lacks);
    }

    #[test]
    fn a_missing_guest_or_emulator_is_reported_with_its_command() {
        let it = filesystem("ext4", DriverKind::Kernel, "there");
        let bare = HostInfo { programs: ProgramLookup::These(BTreeSet::new()), ..machine() };
        assert_eq!(
            commands(check_availability(&it, BackendKind::Vm, &bare)),
            ["apt-get install qemu-system-x86", "fsarena guest build"]
        );
        assert_eq!(
            commands(check_availability(&it, BackendKind::Vm, &machine())),
            ["fsarena guest build"]
        );
    }

    /// Although the kernel has the filesystem and all programs are installed.
    #[test]
    fn a_specially_built_driver_runs_only_in_a_guest() {
        let mut it = filesystem("ext4", DriverKind::Kernel, "there");
        it.only_in_guest = Some("the stock driver only reads".into());
        let reason = why(check_availability(&it, BackendKind::Loop, &machine()));
        assert!(
            reason.contains("fsarena guest build") && reason.ends_with("only reads"),
            "{reason}"
        );
    }

    #[test]
    fn fuse_needs_its_device_and_disks_need_loop_devices() {
        let bare = HostInfo {
            fuse_device: false,
            available_memory: None,
            loop_control: false,
            loop_driver: false,
            ..machine()
        };
        let mut it = filesystem("fuse", DriverKind::Fuse, "there");
        assert!(why(check_availability(&it, BackendKind::Loop, &bare)).contains("no loop devices"));
        let container =
            HostInfo { fuse_device: true, loop_driver: true, loop_control: false, ..machine() };
        let found = commands(check_availability(&it, BackendKind::Loop, &container));
        assert_eq!(found, ["mknod -m 660 /dev/loop-control c 10 237"]);
        it.commands.mkfs.clear();
        let found = commands(check_availability(&it, BackendKind::Loop, &bare));
        assert_eq!(found, ["mknod -m 666 /dev/fuse c 10 229"]);
    }
}
