//! Builds a guest from packages: kernel, modules, programs and the base archive, in a new
//! directory. Equal packages give equal bytes.

pub(crate) mod build_dir;
pub(crate) mod build_index;
pub(crate) mod disk_module;
pub(crate) mod dkms;
pub(crate) mod driver;
pub mod elf;
pub(crate) mod get_or_build;
pub(crate) mod kernel;
pub(crate) mod manifest;
pub(crate) mod mirrors;
pub(crate) mod module_cache;
pub(crate) mod package_selection;
pub(crate) mod packages;
pub(crate) mod program_tree;
pub(crate) mod rebuild;
pub(crate) mod recipe;
pub(crate) mod source;
pub(crate) mod toolchain;
pub(crate) mod user_kernel;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{slice, thread};

use crate::boot::archive::Archive;
use crate::boot::modules::Modules;
use crate::build::build_dir::BuildDir;
use crate::build::module_cache::ModuleCache;
use crate::build::package_selection::{PackageSelection, TOOLS};
use crate::build::packages::Package;
use crate::build::packages::single_file;
use crate::build::program_tree::ProgramTree;
use crate::build::rebuild::Rebuild;
use crate::build::recipe::DkmsPackage;
use crate::build::toolchain::Toolchain;

use crate::files::{create, create_directory, write};
use crate::process_runner::spawn_scoped;
use crate::{GuestError, Recipe};

/// Kernel of the guest, an ELF file.
pub const KERNEL: &str = "vmlinux";
/// Base archive that all guests use.
pub const BASE: &str = "base.cpio";
/// Directory of kernel modules, named after the kernel release.
pub const MODULES: &str = "modules";
/// Directory of programs. Programs of an add-on are in a sibling directory whose name also contains
/// that of the add-on.
pub const PROGRAMS: &str = "tools";
/// Directory of downloaded packages, used during a build and kept for the next one.
pub const PACKAGES: &str = "packages";
/// Directory of the unpacked compiler of a newer release, and of its packages.
const TOOLCHAIN: &str = "toolchain";
const TOOLCHAIN_PACKAGES: &str = "toolchain-packages";
/// List of all inputs of the guest, one per line.
const RECIPE: &str = "recipe";

const TOOLS_PROGRAM: &str = "bin/busybox";
/// Names of tools that command lines in the catalog use, or that a person in a guest may need.
pub const TOOL_NAMES: [&str; 39] = [
    "[", "basename", "cat", "chmod", "cp", "cut", "dd", "df", "dirname", "dmesg", "du", "echo",
    "expr", "false", "find", "free", "grep", "head", "kill", "ln", "ls", "mkdir", "mknod",
    "mktemp", "mount", "mv", "ps", "readlink", "rm", "sed", "sh", "sleep", "stat", "sync", "tail",
    "touch", "true", "umount", "wc",
];
/// Modules that every guest needs: disks and the channel to the orchestrator.
pub const MACHINE_MODULES: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// Kernel module that combines several disks into one.
pub const STRIPE_MODULE: &str = "raid0";
/// Drivers of devices that no guest has. They are two thirds of all drivers.
const NOT_OF_A_GUEST: [&str; 9] = [
    "kernel/drivers/gpu",
    "kernel/drivers/hid",
    "kernel/drivers/iio",
    "kernel/drivers/infiniband",
    "kernel/drivers/media",
    "kernel/drivers/net",
    "kernel/drivers/scsi",
    "kernel/drivers/usb",
    "kernel/sound",
];
/// Headers for other processors and boards, and empty marker files that only matter when the kernel
/// itself is built: two thirds of all header files. With the types of the kernel (`vmlinux`), a build
/// would need pahole to add those of the module, which nothing in a guest reads.
const NOT_TO_BUILD_WITH: [&str; 4] = [
    "usr/src/linux-headers-*/arch/[!x]*",
    "usr/src/linux-headers-*/include/config/[A-Z0-9]*",
    "usr/src/linux-headers-*/include/dt-bindings",
    "usr/src/linux-headers-*/vmlinux",
];
/// Files that are not needed at run time: a tool of gcc's developers that is as large as gcc, and
/// Python.
const NOT_TO_RUN: [&str; 3] = ["usr/bin/*lto-dump*", "usr/bin/python3*", "usr/lib/python3*"];
/// Directory of manuals, translations and similar data.
const SHARED_DATA: &str = "usr/share";
/// Excluded parts of that directory if a program of a suite reads its other files.
const MANUALS: [&str; 6] = [
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "usr/share/perl",
    "usr/share/perl5",
];
const DIRECTORIES: [&str; 12] =
    ["bin", "dev", "etc", "mnt", "modules", "proc", "root", "run", "sys", "tmp", "var", "var/lib"];
/// Programs that read their own mount table get the kernel's. Locks and sockets are below `/run`,
/// also if a program uses the older paths.
const LINKS: [(&str, &str); 3] =
    [("etc/mtab", "/proc/self/mounts"), ("var/lock", "/run/lock"), ("var/run", "/run")];
const CONSOLE: (u32, u32) = (5, 1);
const NULL: (u32, u32) = (1, 3);

/// A build in progress: its inputs, its output directory and its build directory.
pub struct Build<'a> {
    recipe: &'a Recipe,
    order: &'a PackageSelection<'a>,
    into: &'a Path,
    workshop: &'a BuildDir<'a>,
    brought: PathBuf,
    built: ModuleCache<'a>,
}

impl<'a> Build<'a> {
    /// Prepares a build of a guest in a directory that does not exist yet.
    pub fn new(
        recipe: &'a Recipe,
        order: &'a PackageSelection<'_>,
        into: &'a Path,
        workshop: &'a BuildDir<'_>,
    ) -> Self {
        let built = ModuleCache::new(workshop.cache());
        Self { recipe, order, into, workshop, brought: workshop.place(PACKAGES), built }
    }

    /// Builds the guest and leaves its packages in the build directory. Packages in `kept` are not
    /// downloaded again.
    pub fn run(&self, kept: &Path, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        create_directory(self.into)?;
        self.bring(kept, say)?;
        say("unpacking");
        self.unpack()?;
        let release = self.order.release();
        let system = self.place("system");
        let in_boot = system.join("boot").join(format!("vmlinuz-{release}"));
        let beside_modules = system.join("lib/modules").join(release).join("vmlinuz");
        let image = if in_boot.exists() { in_boot } else { beside_modules };
        let kernel = kernel::unpacked(&image, self.workshop.programs())?;
        write(&self.into.join(KERNEL), &kernel)?;
        collect_tools(
            &self.recipe.programs,
            &self.recipe.files,
            &self.place(PROGRAMS),
            &self.into.join(PROGRAMS),
        )?;
        let mut modules = Modules::in_directory(&system.join("lib/modules").join(release), None)?;
        self.build_driver(&mut modules, say)?;
        self.rebuild(&mut modules, say)?;
        self.add(&mut modules, say)?;
        say("collecting modules");
        self.collect_modules(&modules)?;
        let tools = system.join(TOOLS_PROGRAM);
        let tools = fs::read(&tools).map_err(GuestError::io("read", &tools))?;
        let base = self.into.join(BASE);
        write_base(create(&base)?, &tools).map_err(GuestError::io("write", &base))?;
        let text = self.order.text(self.recipe);
        write(&self.into.join(RECIPE), text.as_bytes())
    }

    /// Returns the path of an unpacked item in the build directory.
    fn place(&self, what: &str) -> PathBuf {
        self.workshop.place("unpacked").join(what)
    }

    /// Downloads the packages. Links packages that are kept and complete instead of downloading
    /// them again.
    fn bring(&self, kept: &Path, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        create_directory(&self.brought)?;
        let PackageSelection { apt, packages, newer, .. } = self.order;
        let of_kernel = newer.iter().flat_map(|newer| &newer.kernel);
        let all: Vec<Package> = packages.iter().chain(of_kernel).cloned().collect();
        let (whole, damaged) = packages::complete_packages(&all, kept);
        for file in damaged {
            say(&format!("{} is damaged: bringing it again", file.display()));
        }
        for Package { file, .. } in whole {
            // Packages that cannot be linked are downloaded.
            let _ = fs::hard_link(kept.join(file), self.brought.join(file));
        }
        apt.download(packages, &self.brought, say)?;
        let Some(newer) = newer else { return Ok(()) };
        newer.apt.download(&newer.kernel, &self.brought, say)?;
        if self.builds_modules() {
            let into = self.place(TOOLCHAIN_PACKAGES);
            create_directory(&into)?;
            newer.apt.download(&newer.toolchain, &into, say)?;
        }
        Ok(())
    }

    /// Unpacks all packages, except for sources of modules that the cache contains. The kernel source
    /// takes longest and is unpacked in parallel with the rest.
    fn unpack(&self) -> Result<(), GuestError> {
        let order = self.order;
        let is_missing = |inputs: &str| self.built.get(inputs).is_none();
        let rebuilds = order.rebuilds.iter().copied();
        let rebuilds: Vec<&Rebuild> =
            rebuilds.filter(|rebuild| is_missing(&self.inputs_of(rebuild))).collect();
        let add_ons = order.add_ons.iter().map(|(add_on, _)| add_on);
        let add_ons: Vec<&DkmsPackage> =
            add_ons.filter(|add_on| is_missing(&self.inputs_of_add_on(add_on))).collect();
        thread::scope(|scope| {
            let source = spawn_scoped(scope, || self.unpack_source(&rebuilds))?;
            let system = [&order.kernel_parts[..], &[TOOLS.to_owned()]].concat();
            self.unpack_to(&system, "system", &NOT_OF_A_GUEST)?;
            if !rebuilds.is_empty() || !add_ons.is_empty() || is_missing(&self.inputs_of_driver()) {
                self.unpack_to(&order.headers, "headers", &NOT_TO_BUILD_WITH)?;
            }
            self.unpack_toolchain()?;
            let reads_data = self.recipe.files.iter().any(|file| file.starts_with(SHARED_DATA));
            let data = if reads_data { &MANUALS[..] } else { &[SHARED_DATA] };
            let left_out = [&NOT_TO_RUN, data].concat();
            self.unpack_to(&order.programs, PROGRAMS, &left_out)?;
            for (add_on, programs) in &order.add_ons {
                self.unpack_to(programs, &programs_dir(&add_on.name), &left_out)?;
            }
            for add_on in &add_ons {
                self.unpack_to(slice::from_ref(&add_on.source), &add_on.name, &[])?;
            }
            source.join().expect("unpacking does not panic")
        })
    }

    fn unpack_to(
        &self,
        names: &[String],
        place: &str,
        left_out: &[&str],
    ) -> Result<(), GuestError> {
        let into = self.place(place);
        create_directory(&into)?;
        for name in names {
            let programs = self.workshop.programs();
            packages::unpack(&self.package(name)?, &into, left_out, programs)?;
        }
        link_to_usr(&into)
    }

    /// Unpacks the compiler of the modules, unless it is that of this machine.
    fn unpack_toolchain(&self) -> Result<(), GuestError> {
        let Some(newer) = self.order.newer.as_ref().filter(|_| self.builds_modules()) else {
            return Ok(());
        };
        let (from, into) = (self.place(TOOLCHAIN_PACKAGES), self.place(TOOLCHAIN));
        create_directory(&into)?;
        for Package { file, .. } in &newer.toolchain {
            let left_out = [&NOT_TO_RUN[..], &[SHARED_DATA]].concat();
            packages::unpack(&from.join(file), &into, &left_out, self.workshop.programs())?;
        }
        link_to_usr(&into)
    }

    fn unpack_source(&self, rebuilds: &[&Rebuild]) -> Result<(), GuestError> {
        let Some(name) = self.order.source.as_ref().filter(|_| !rebuilds.is_empty()) else {
            return Ok(());
        };
        let directories: Vec<&str> = rebuilds.iter().map(|r| r.source).collect();
        let (package, into) = (self.package(name)?, self.place("source"));
        source::unpack(&package, &directories, &into, self.workshop.programs())
    }

    /// Returns the file of a package.
    fn package(&self, name: &str) -> Result<PathBuf, GuestError> {
        single_file(&self.brought, &format!("{name}_"))
    }

    /// Returns the compiler of the release that has the kernel, if it is newer than this machine's.
    fn toolchain(&self) -> Result<Option<Toolchain>, GuestError> {
        let newer = self.order.newer.as_ref();
        newer.map(|_| Toolchain::prepare(&self.place(TOOLCHAIN), &self.place(""))).transpose()
    }

    /// Returns true if the cache lacks a module that is built.
    fn builds_modules(&self) -> bool {
        let is_missing = |inputs: &str| self.built.get(inputs).is_none();
        let mut rebuilds = self.order.rebuilds.iter();
        is_missing(&self.inputs_of_driver())
            || rebuilds.any(|rebuild| is_missing(&self.inputs_of(rebuild)))
    }

    fn headers(&self) -> Result<PathBuf, GuestError> {
        rebuild::fix_header_paths(&self.place("headers"), self.order.release())
    }

    fn inputs_of_driver(&self) -> String {
        self.order.module_inputs(&driver::description(), None)
    }

    fn inputs_of(&self, rebuild: &Rebuild) -> String {
        let description = rebuild::description(&[rebuild]);
        self.order.module_inputs(&description, self.order.source.as_ref())
    }

    fn inputs_of_add_on(&self, add_on: &DkmsPackage) -> String {
        self.order.module_inputs(&add_on.name, Some(&add_on.source))
    }

    /// Returns the modules of these inputs from the cache, or builds and stores them.
    fn get_or_build(
        &self,
        inputs: &str,
        build: impl FnOnce() -> Result<Vec<PathBuf>, GuestError>,
    ) -> Result<Vec<PathBuf>, GuestError> {
        match self.built.get(inputs) {
            Some(kept) => Ok(kept),
            None => {
                let built = build()?;
                ModuleCache::put(inputs, &built, self.workshop)?;
                Ok(built)
            }
        }
    }

    /// Builds the driver for simulated disks in memory.
    fn build_driver(
        &self,
        modules: &mut Modules,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), GuestError> {
        let files = self.get_or_build(&self.inputs_of_driver(), || {
            say("building the driver of disks in memory");
            let toolchain = self.toolchain()?;
            let (into, programs) = (self.place("driver"), self.workshop.programs());
            driver::build(&self.headers()?, &into, toolchain.as_ref(), programs)
        })?;
        for (name, file) in driver::DRIVERS.into_iter().zip(&files) {
            modules.replace(name, file);
        }
        Ok(())
    }

    /// Rebuilds modules from the kernel source. Skips modules for which the kernel has no source.
    fn rebuild(&self, modules: &mut Modules, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        for rebuild in self.order.rebuilds.iter().copied() {
            let (source, inputs) =
                (self.place("source").join(rebuild.source), self.inputs_of(rebuild));
            let is_as_good = rebuild.only_if_missing && modules.has(rebuild.module);
            let files = self.get_or_build(&inputs, || {
                if is_as_good || !source.is_dir() {
                    return Ok(Vec::new());
                }
                say(&format!("building the module {}", rebuild.module));
                let (headers, toolchain) = (self.headers()?, self.toolchain()?);
                let programs = self.workshop.programs();
                let built =
                    rebuild::build(rebuild, &headers, &source, toolchain.as_ref(), programs)?;
                Ok(vec![built])
            })?;
            for file in &files {
                modules.replace(rebuild.module, file);
            }
        }
        Ok(())
    }

    /// Builds the drivers of add-ons and collects their programs.
    fn add(&self, modules: &mut Modules, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        for (add_on, _) in &self.order.add_ons {
            let files = self.get_or_build(&self.inputs_of_add_on(add_on), || {
                let (tree, programs) = (self.place(&add_on.name), self.workshop.programs());
                dkms::build(&add_on.name, &tree, &self.headers()?, programs, say)
            })?;
            for file in files {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                modules.replace(&name, &file);
            }
            let programs = programs_dir(&add_on.name);
            collect_tools(
                &add_on.programs,
                &[],
                &self.place(&programs),
                &self.into.join(&programs),
            )?;
        }
        Ok(())
    }

    /// Extracts the modules of the recipe and their dependencies from all modules.
    fn collect_modules(&self, all: &Modules) -> Result<(), GuestError> {
        let of_add_ons = self.recipe.add_ons.iter().flat_map(|a| &a.modules);
        let ours = self.recipe.modules.iter().chain(of_add_ons);
        let wanted: Vec<&str> = MACHINE_MODULES
            .into_iter()
            .chain([driver::NULL_BLK, STRIPE_MODULE])
            .chain(driver::DRIVERS.into_iter().filter(|name| all.has(name)))
            .chain(ours.map(String::as_str).filter(|name| all.has(name)))
            .collect();
        let into = self.into.join(MODULES).join(all.kernel());
        let files = into.join("kernel");
        create_directory(&files)?;
        for (name, content) in all.load_order(&wanted)? {
            write(&files.join(format!("{name}.ko")), &content)?;
        }
        const LIST: &str = "modules.builtin";
        let list = self.place("system").join("lib/modules");
        let list = list.join(all.kernel()).join(LIST);
        let content = fs::read(&list).map_err(GuestError::io("read", &list))?;
        write(&into.join(LIST), &content)
    }
}

/// Links the directories that a package of Debian 13 or later expects below the root, but has only
/// below `usr`: file-hierarchy(7). Debian's installer makes these links.
fn link_to_usr(tree: &Path) -> Result<(), GuestError> {
    for name in ["bin", "lib", "lib64", "sbin"] {
        let link = tree.join(name);
        if tree.join("usr").join(name).is_dir() && link.symlink_metadata().is_err() {
            symlink(Path::new("usr").join(name), &link).map_err(GuestError::io("link", &link))?;
        }
    }
    Ok(())
}

/// Returns the directory of an add-on's programs.
pub fn programs_dir(add_on: &str) -> String {
    format!("{PROGRAMS}-{add_on}")
}

/// Extracts these programs, their dependencies and these files from the unpacked packages.
fn collect_tools(
    programs: &[String],
    files: &[String],
    unpacked: &Path,
    into: &Path,
) -> Result<(), GuestError> {
    create_directory(into)?;
    let tools = ProgramTree::in_directory(unpacked, None);
    let mut needed = tools.needed(programs)?;
    needed.extend(tools.files(files)?);
    for (path, content) in needed {
        let path = into.join(path);
        create_directory(path.parent().unwrap_or(into))?;
        write(&path, &content)?;
    }
    Ok(())
}

/// Writes the base archive: directories, the devices that the kernel and the agent open first, and
/// the tools.
fn write_base(to: File, tools: &[u8]) -> io::Result<()> {
    let mut archive = Archive::new(BufWriter::new(to));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_are_only_below_usr_are_linked() {
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        for directory in ["usr/lib/modules", "usr/lib64", "usr/sbin", "sbin"] {
            fs::create_dir_all(tree.join(directory)).unwrap();
        }
        for _ in 0..2 {
            link_to_usr(tree).unwrap();
            assert!(tree.join("lib/modules").is_dir() && tree.join("lib64").is_dir());
            assert!(
                !tree.join("sbin").is_symlink() && tree.join("bin").symlink_metadata().is_err()
            );
        }
        // The tree can be moved.
        assert_eq!(fs::read_link(tree.join("lib64")).unwrap(), Path::new("usr/lib64"));
    }
}
