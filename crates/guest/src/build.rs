//! Makes a guest's kernel, modules and first filesystem, once for each recipe.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::modules::Modules;
use crate::tools::Tools;
use crate::{GuestError, MemoryDisk, kernel, packages};

/// Changes when what is made of the same packages changes.
const VERSION: u32 = 2;
/// One static program that is `mount`, `umount`, `sh` and others.
const TOOLS: &str = "busybox-static";
const TOOLS_PROGRAM: &str = "bin/busybox";
/// What command lines of the catalog call by these names.
const TOOL_NAMES: [&str; 11] = [
    "cat", "kill", "ln", "ls", "mkdir", "mktemp", "mount", "rm", "sh", "sleep", "umount",
];
/// Modules for what every guest has: disks and the channel to the orchestrator.
const MACHINE_MODULES: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// The module of disks in the guest's memory, and what it is told: no disk but those that are asked for.
const MEMORY_DISK_MODULE: (&str, &str) = ("null_blk", "nr_devices=0");
const DIRECTORIES: [&str; 8] = ["bin", "dev", "mnt", "modules", "proc", "run", "sys", "tmp"];
const CONSOLE: (u32, u32) = (5, 1);
const NULL: (u32, u32) = (1, 3);

/// What a guest is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Modules that it should have; those that the kernel does not have are left out.
    pub modules: Vec<String>,
    /// Programs that it should have; those that are in none of the packages are left out.
    pub programs: Vec<String>,
    /// Sets of packages, each brought with all that it depends on; those that apt does not know are left
    /// out.
    pub packages: Vec<Vec<String>>,
}

/// What is put into a guest for one cell.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// The program that is also the agent.
    pub agent: &'a Path,
    /// Modules that load first, with what they need.
    pub modules: &'a [String],
    /// Programs, with what they need.
    pub programs: &'a [String],
    /// A disk in the guest's memory.
    pub disk: Option<MemoryDisk>,
    /// The agent's job, where it does not come through the channel.
    pub job: Option<&'a str>,
}

/// A guest that is made: everything but the agent.
pub struct Guest {
    directory: PathBuf,
    modules: Modules,
    tools: Tools,
}

impl Guest {
    /// The guest of this recipe and of the packages that apt has now: the one in the cache, or a new one.
    /// `say` hears what is being done, where anything is.
    ///
    /// # Errors
    /// When apt, dpkg or an unpacker is not there or fails, or there is no room.
    pub fn build(
        recipe: &Recipe,
        cache: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        let kernel = packages::newest_kernel()?;
        let sets = known_sets(recipe)?;
        let mut names: BTreeSet<&str> = sets.iter().flatten().copied().collect();
        names.extend([kernel.as_str(), TOOLS]);
        let names: Vec<&str> = names.into_iter().collect();
        let asked = packages::ask(&names)?;
        let directory = cache.join(format!("guest-{:016x}", key(recipe, &asked)));
        if directory.is_dir() {
            return Self::open(&directory);
        }
        fs::create_dir_all(cache).map_err(GuestError::io("create", cache))?;
        // Only what is complete ever has the final name.
        let partial = directory.with_extension(format!("partial-{}", std::process::id()));
        let made = make(recipe, &kernel, &sets, &partial, say);
        if made.is_err() {
            // The reason is in `made`; a directory that cannot be removed either adds nothing to it.
            let _ = fs::remove_dir_all(&partial);
        }
        made?;
        match fs::rename(&partial, &directory) {
            // Another process made the same meanwhile.
            Err(_) if directory.is_dir() => {
                fs::remove_dir_all(&partial).map_err(GuestError::io("remove", &partial))?;
            }
            other => other.map_err(GuestError::io("rename", &partial))?,
        }
        Self::open(&directory)
    }

    fn open(directory: &Path) -> Result<Self, GuestError> {
        let below = packages::only_file(&directory.join("modules"), "")?;
        Ok(Self {
            directory: directory.to_owned(),
            modules: Modules::below(&below)?,
            tools: Tools::below(&directory.join("tools")),
        })
    }

    /// Where it is kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The release of its kernel.
    pub fn release(&self) -> &str {
        self.modules.kernel()
    }

    /// The kernel, an ELF file.
    pub fn kernel(&self) -> PathBuf {
        self.directory.join("vmlinux")
    }

    /// Whether its kernel has a module, or has it built in.
    pub fn has(&self, module: &str) -> bool {
        self.modules.has(module)
    }

    /// Whether it has a program.
    pub fn has_program(&self, program: &str) -> bool {
        TOOL_NAMES.contains(&program) || self.tools.has(program)
    }

    /// Writes the first filesystem of a guest.
    ///
    /// # Errors
    /// When the kernel does not have one of the modules, or a file cannot be read or written.
    pub fn first_filesystem(&self, contents: &Contents<'_>, to: &Path) -> Result<(), GuestError> {
        let agent = contents.agent;
        let memory_disk = contents.disk.map(|_| MEMORY_DISK_MODULE.0);
        let wanted: Vec<&str> = MACHINE_MODULES
            .into_iter()
            .chain(memory_disk)
            .chain(contents.modules.iter().map(String::as_str))
            .collect();
        let modules = self.modules.in_order(&wanted)?;
        let base = self.directory.join("base.cpio");
        let base = fs::read(&base).map_err(GuestError::io("read", &base))?;
        let agent = fs::read(agent).map_err(GuestError::io("read", agent))?;
        let tools = self.tools.needed(contents.programs)?;
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(to)?);
            out.write_all(&base)?;
            let mut archive = Archive::new(out);
            archive.program("init", &agent)?;
            add_files(&mut archive, &tools)?;
            let mut order = String::new();
            for (name, content) in &modules {
                archive.file(&format!("modules/{name}.ko"), content)?;
                order += &format!("{name}.ko {}\n", parameters(name));
            }
            archive.file("modules/order", order.as_bytes())?;
            if let Some(disk) = contents.disk {
                archive.file("disk", disk.attributes().as_bytes())?;
            }
            if let Some(job) = contents.job {
                archive.file("job", job.as_bytes())?;
            }
            archive.finish()
        };
        write().map_err(GuestError::io("write", to))
    }
}

/// Files, each behind the directories it lies in. Whatever came with a package is made executable: that is
/// right for programs and libraries, and does no harm to settings.
fn add_files<W: Write>(
    archive: &mut Archive<W>,
    files: &BTreeMap<String, Vec<u8>>,
) -> io::Result<()> {
    let mut made = BTreeSet::new();
    for (path, content) in files {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        for directory in ends {
            if made.insert(directory) {
                archive.directory(directory)?;
            }
        }
        archive.program(path, content)?;
    }
    Ok(())
}

/// What a module is told when it loads.
fn parameters(module: &str) -> &'static str {
    let (name, parameters) = MEMORY_DISK_MODULE;
    if module == name { parameters } else { "" }
}

/// Names a guest by everything that goes into it (FNV-1a of 64 bits; nobody is to be kept from making
/// two recipes with the same name).
fn key(recipe: &Recipe, packages: &[packages::Package]) -> u64 {
    let modules = recipe.modules.join(" ");
    let mut text = format!("{VERSION}\n{modules}\n{}\n", recipe.programs.join(" "));
    for package in packages {
        text += &format!("{} {}\n", package.file, package.digest);
    }
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The recipe's sets of packages without what apt does not know.
fn known_sets(recipe: &Recipe) -> Result<Vec<Vec<&str>>, GuestError> {
    let all: Vec<&str> = recipe
        .packages
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let known: BTreeSet<&str> = packages::known(&all)?.into_iter().collect();
    let sets = recipe.packages.iter().map(|set| {
        let names = set.iter().map(String::as_str);
        names.filter(|name| known.contains(name)).collect()
    });
    Ok(sets.collect())
}

fn make(
    recipe: &Recipe,
    kernel: &str,
    sets: &[Vec<&str>],
    into: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), GuestError> {
    let names = [kernel, TOOLS];
    let unpacked = into.join("unpacked");
    let brought = into.join("packages");
    for directory in [&unpacked, &brought] {
        fs::create_dir_all(directory).map_err(GuestError::io("create", directory))?;
    }
    say(&format!("bringing {}", names.join(" and ")));
    packages::bring(&names, &brought)?;
    say("unpacking");
    for name in names {
        let package = packages::only_file(&brought, &format!("{name}_"))?;
        packages::unpack(&package, &unpacked)?;
    }
    let image = packages::only_file(&unpacked.join("boot"), "vmlinuz-")?;
    write(&into.join("vmlinux"), &kernel::unpacked(&image)?)?;
    say("bringing programs");
    collect_tools(recipe, sets, &brought, &into.join("tools"))?;
    say("collecting modules");
    collect_modules(recipe, &unpacked, &into.join("modules"))?;
    let tools = unpacked.join(TOOLS_PROGRAM);
    let tools = fs::read(&tools).map_err(GuestError::io("read", &tools))?;
    let base = into.join("base.cpio");
    write_base(&base, &tools).map_err(GuestError::io("write", &base))?;
    for directory in [unpacked, brought] {
        fs::remove_dir_all(&directory).map_err(GuestError::io("remove", &directory))?;
    }
    Ok(())
}

/// Keeps of all that the packages bring the programs of the recipe and what they need.
fn collect_tools(
    recipe: &Recipe,
    sets: &[Vec<&str>],
    brought: &Path,
    into: &Path,
) -> Result<(), GuestError> {
    let mut names = BTreeSet::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        names.extend(packages::with_dependencies(set)?);
    }
    let names: Vec<String> = names.into_iter().collect();
    let unpacked = into.with_extension("unpacked");
    for directory in [into, &unpacked] {
        fs::create_dir_all(directory).map_err(GuestError::io("create", directory))?;
    }
    if !names.is_empty() {
        packages::bring(&names, brought)?;
    }
    for name in &names {
        packages::unpack(
            &packages::only_file(brought, &format!("{name}_"))?,
            &unpacked,
        )?;
    }
    for (path, content) in Tools::below(&unpacked).needed(&recipe.programs)? {
        let path = into.join(path);
        let directory = path.parent().unwrap_or(into);
        fs::create_dir_all(directory).map_err(GuestError::io("create", directory))?;
        write(&path, &content)?;
    }
    fs::remove_dir_all(&unpacked).map_err(GuestError::io("remove", &unpacked))
}

/// Keeps of all modules those of the recipe and what they need, unpacked.
fn collect_modules(recipe: &Recipe, unpacked: &Path, into: &Path) -> Result<(), GuestError> {
    let below = packages::only_file(&unpacked.join("lib/modules"), "")?;
    let all = Modules::below(&below)?;
    let ours = recipe.modules.iter().map(String::as_str);
    let wanted: Vec<&str> = MACHINE_MODULES
        .into_iter()
        .chain([MEMORY_DISK_MODULE.0])
        .chain(ours.filter(|name| all.has(name)))
        .collect();
    let into = into.join(all.kernel());
    let files = into.join("kernel");
    fs::create_dir_all(&files).map_err(GuestError::io("create", &files))?;
    for (name, content) in all.in_order(&wanted)? {
        write(&files.join(format!("{name}.ko")), &content)?;
    }
    const LIST: &str = "modules.builtin";
    fs::copy(below.join(LIST), into.join(LIST)).map_err(GuestError::io("copy", &into))?;
    Ok(())
}

/// What every guest has: directories, the devices that the kernel and the agent open first, the tools.
fn write_base(to: &Path, tools: &[u8]) -> io::Result<()> {
    let mut archive = Archive::new(BufWriter::new(File::create(to)?));
    for directory in DIRECTORIES {
        archive.directory(directory)?;
    }
    archive.device("dev/console", CONSOLE)?;
    archive.device("dev/null", NULL)?;
    archive.program(TOOLS_PROGRAM, tools)?;
    for name in TOOL_NAMES {
        archive.link(&format!("bin/{name}"), "busybox")?;
    }
    archive.finish()
}

fn write(path: &Path, content: &[u8]) -> Result<(), GuestError> {
    fs::write(path, content).map_err(GuestError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::Package;

    #[test]
    fn a_guest_is_named_by_all_that_goes_into_it() {
        let recipe = |module: &str| Recipe {
            modules: vec![module.to_owned()],
            programs: Vec::new(),
            packages: Vec::new(),
        };
        let package = |digest: &str| Package {
            file: "linux.deb".into(),
            digest: digest.into(),
        };
        let keys = [
            key(&recipe("affs"), &[package("1")]),
            key(&recipe("hpfs"), &[package("1")]),
            key(&recipe("affs"), &[package("2")]),
            key(&recipe("affs"), &[package("1"), package("2")]),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
        assert_eq!(keys[0], key(&recipe("affs"), &[package("1")]));
    }
}
