//! Makes a guest out of packages: kernel, modules, programs and what every guest has, in one directory that
//! holds nothing else. The same packages give the same bytes.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::thread;

use crate::archive::Archive;
use crate::modules::Modules;
use crate::order::{Order, TOOLS};
use crate::packages::{Package, only_file, unpack};
use crate::rebuild::Rebuild;
use crate::tools::Tools;
use crate::{GuestError, Recipe, add_on, kernel, rebuild, source};

/// The kernel, an ELF file.
pub const KERNEL: &str = "vmlinux";
/// What every guest has.
pub const BASE: &str = "base.cpio";
/// Modules, in a directory that is called after the kernel's release.
pub const MODULES: &str = "modules";
/// Programs; those of an add-on are beside them in a directory that is called after it, too.
pub const PROGRAMS: &str = "tools";
/// Everything that it was made of, a line each.
const RECIPE: &str = "recipe";

const TOOLS_PROGRAM: &str = "bin/busybox";
/// What command lines of the catalog call by these names, and what a person in a guest may want.
pub const TOOL_NAMES: [&str; 39] = [
    "[", "basename", "cat", "chmod", "cp", "cut", "dd", "df", "dirname", "dmesg", "du", "echo",
    "expr", "false", "find", "free", "grep", "head", "kill", "ln", "ls", "mkdir", "mknod",
    "mktemp", "mount", "mv", "ps", "readlink", "rm", "sed", "sh", "sleep", "stat", "sync", "tail",
    "touch", "true", "umount", "wc",
];
/// Modules for what every guest has: disks and the channel to the orchestrator.
pub const MACHINE_MODULES: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// The module of disks in the guest's memory.
pub const MEMORY_DISK_MODULE: &str = "null_blk";
/// The module that puts several disks together to one.
pub const STRIPE_MODULE: &str = "raid0";
const DIRECTORIES: [&str; 12] = [
    "bin", "dev", "etc", "mnt", "modules", "proc", "root", "run", "sys", "tmp", "var", "var/lib",
];
/// Programs that keep a list of mounts of their own are shown the kernel's; locks and sockets lie below
/// `/run`, wherever a program looks for them.
const LINKS: [(&str, &str); 3] = [
    ("etc/mtab", "/proc/self/mounts"),
    ("var/lock", "/run/lock"),
    ("var/run", "/run"),
];
const CONSOLE: (u32, u32) = (5, 1);
const NULL: (u32, u32) = (1, 3);

/// A build under way: what is brought, and where things lie meanwhile.
pub struct Build<'a> {
    recipe: &'a Recipe,
    order: &'a Order,
    into: &'a Path,
    brought: PathBuf,
}

impl<'a> Build<'a> {
    /// One that makes a guest in a directory that is not there yet.
    pub fn new(recipe: &'a Recipe, order: &'a Order, into: &'a Path) -> Self {
        Self {
            recipe,
            order,
            into,
            brought: into.join("packages"),
        }
    }

    /// Makes it. Packages that lie in `kept` are not brought again, and those of this guest lie there
    /// afterwards.
    pub fn run(&self, kept: &Path, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        create(&self.brought)?;
        self.bring(kept, say)?;
        say("unpacking");
        self.unpack()?;
        let release = self.order.release();
        let system = self.place("system");
        let image = system.join("boot").join(format!("vmlinuz-{release}"));
        write(&self.into.join(KERNEL), &kernel::unpacked(&image)?)?;
        collect_tools(
            &self.recipe.programs,
            &self.place(PROGRAMS),
            &self.into.join(PROGRAMS),
        )?;
        let mut modules = Modules::below(&system.join("lib/modules").join(release))?;
        self.rebuild(&mut modules, say)?;
        self.add(&mut modules, say)?;
        say("collecting modules");
        self.collect_modules(&modules)?;
        let tools = system.join(TOOLS_PROGRAM);
        let tools = fs::read(&tools).map_err(GuestError::io("read", &tools))?;
        let base = self.into.join(BASE);
        write_base(&base, &tools).map_err(GuestError::io("write", &base))?;
        write(
            &self.into.join(RECIPE),
            self.order.text(self.recipe).as_bytes(),
        )?;
        self.clean_up(kept)
    }

    /// Where something lies while the guest is made.
    fn place(&self, what: &str) -> PathBuf {
        self.into.join("unpacked").join(what)
    }

    /// Packages that were kept are links to the same files, which another build may take away meanwhile.
    fn bring(&self, kept: &Path, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        for Package { file, .. } in &self.order.packages {
            // What was not kept, or cannot be linked, is brought.
            let _ = fs::hard_link(kept.join(file), self.brought.join(file));
        }
        let Order { apt, packages, .. } = self.order;
        apt.bring(packages, &self.brought, say)
    }

    /// The kernel's source takes longest: it is unpacked beside all else.
    fn unpack(&self) -> Result<(), GuestError> {
        let order = self.order;
        thread::scope(|scope| {
            let source = scope.spawn(|| self.unpack_source());
            self.unpack_to([order.kernel.as_str(), TOOLS], "system")?;
            self.unpack_to(order.headers.iter().map(String::as_str), "headers")?;
            self.unpack_to(order.programs.iter().map(String::as_str), PROGRAMS)?;
            for (add_on, programs) in &order.add_ons {
                let programs = programs.iter().map(String::as_str);
                self.unpack_to(programs, &programs_of(&add_on.name))?;
                self.unpack_to([add_on.source.as_str()], &add_on.name)?;
            }
            source.join().expect("unpacking does not panic")
        })
    }

    fn unpack_to<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        place: &str,
    ) -> Result<(), GuestError> {
        let into = self.place(place);
        create(&into)?;
        for name in names {
            unpack(&self.package(name)?, &into)?;
        }
        Ok(())
    }

    fn unpack_source(&self) -> Result<(), GuestError> {
        let Some(name) = &self.order.source else {
            return Ok(());
        };
        let directories: Vec<&str> = self.order.rebuilds.iter().map(|r| r.source).collect();
        source::unpack(&self.package(name)?, &directories, &self.place("source"))
    }

    /// The file of a package.
    fn package(&self, name: &str) -> Result<PathBuf, GuestError> {
        only_file(&self.brought, &format!("{name}_"))
    }

    fn headers(&self) -> Result<PathBuf, GuestError> {
        rebuild::settle(&self.place("headers"), self.order.release())
    }

    /// Builds modules of the kernel's source; a kernel that has no source for one goes without.
    fn rebuild(&self, modules: &mut Modules, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        let source = |rebuild: &Rebuild| self.place("source").join(rebuild.source);
        let there = self.order.rebuilds.iter().filter(|r| source(r).is_dir());
        let is_as_good = |r: &Rebuild| r.where_missing && modules.has(r.module);
        let wanted: Vec<_> = there.filter(|r| !is_as_good(r)).collect();
        for rebuild in wanted {
            say(&format!("building the module {}", rebuild.module));
            let file = rebuild::build(rebuild, &self.headers()?, &source(rebuild))?;
            modules.put(rebuild.module, &file);
        }
        Ok(())
    }

    /// Builds the drivers of add-ons and collects their programs.
    fn add(&self, modules: &mut Modules, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        for (add_on, _) in &self.order.add_ons {
            let tree = self.place(&add_on.name);
            for file in add_on::build(&add_on.name, &tree, &self.headers()?, say)? {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                modules.put(&name, &file);
            }
            let programs = programs_of(&add_on.name);
            collect_tools(
                &add_on.programs,
                &self.place(&programs),
                &self.into.join(&programs),
            )?;
        }
        Ok(())
    }

    /// Keeps of all modules those of the recipe and what they need, unpacked.
    fn collect_modules(&self, all: &Modules) -> Result<(), GuestError> {
        let of_add_ons = self.recipe.add_ons.iter().flat_map(|a| &a.modules);
        let ours = self.recipe.modules.iter().chain(of_add_ons);
        let wanted: Vec<&str> = MACHINE_MODULES
            .into_iter()
            .chain([MEMORY_DISK_MODULE, STRIPE_MODULE])
            .chain(ours.map(String::as_str).filter(|name| all.has(name)))
            .collect();
        let into = self.into.join(MODULES).join(all.kernel());
        let files = into.join("kernel");
        create(&files)?;
        for (name, content) in all.in_order(&wanted)? {
            write(&files.join(format!("{name}.ko")), &content)?;
        }
        const LIST: &str = "modules.builtin";
        let list = self.place("system").join("lib/modules");
        let list = list.join(all.kernel()).join(LIST);
        fs::copy(&list, into.join(LIST)).map_err(GuestError::io("copy", &list))?;
        Ok(())
    }

    /// Keeps the packages for the next guest, and nothing else.
    fn clean_up(&self, kept: &Path) -> Result<(), GuestError> {
        let unpacked = self.into.join("unpacked");
        fs::remove_dir_all(&unpacked).map_err(GuestError::io("remove", &unpacked))?;
        if kept.exists() {
            fs::remove_dir_all(kept).map_err(GuestError::io("remove", kept))?;
        }
        // Where another build was faster, its packages are as good.
        if fs::rename(&self.brought, kept).is_err() {
            fs::remove_dir_all(&self.brought).map_err(GuestError::io("remove", &self.brought))?;
        }
        Ok(())
    }
}

/// The directory of an add-on's programs.
pub fn programs_of(add_on: &str) -> String {
    format!("{PROGRAMS}-{add_on}")
}

/// Keeps of all that packages bring these programs and what they need.
fn collect_tools(programs: &[String], unpacked: &Path, into: &Path) -> Result<(), GuestError> {
    create(into)?;
    for (path, content) in Tools::below(unpacked).needed(programs)? {
        let path = into.join(path);
        create(path.parent().unwrap_or(into))?;
        write(&path, &content)?;
    }
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
    for (name, target) in LINKS {
        archive.link(name, target)?;
    }
    archive.program(TOOLS_PROGRAM, tools)?;
    for name in TOOL_NAMES {
        archive.link(&format!("bin/{name}"), "busybox")?;
    }
    archive.finish()
}

fn create(directory: &Path) -> Result<(), GuestError> {
    fs::create_dir_all(directory).map_err(GuestError::io("create", directory))
}

fn write(path: &Path, content: &[u8]) -> Result<(), GuestError> {
    fs::write(path, content).map_err(GuestError::io("write", path))
}
