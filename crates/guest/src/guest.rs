//! A guest that is made: what it has, and the first filesystem of one that boots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{Bytes, DiskModel, Filesystem, Programs, Requirements};
use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::build::{
    BASE, KERNEL, MACHINE_MODULES, MODULES, PROGRAMS, STRIPE_MODULE, TOOL_NAMES, programs_of,
};
use crate::driver::{DRIVER, SUBSTITUTE};
use crate::manifest::{Manifest, damaged, differs, unreadable};
use crate::modules::Modules;
use crate::own::Own;
use crate::packages::only_file;
use crate::tools::{Missing, Tools};
use crate::{GuestError, MemoryDisk, Recipe, digest, elf, files, memory_disk, recipe};

/// What the module of disks in memory is told: no disk but those that are asked for.
const NO_MEMORY_DISKS: &str = "nr_devices=0";

/// What is put into a guest for one cell.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// The program that is also the agent.
    pub agent: &'a Path,
    /// Modules that load first, with what they need. Of several the last is the filesystem; those before
    /// it that the kernel does not have are left out.
    pub modules: &'a [String],
    /// Programs, with what they need: of one filesystem, for two trees may each have one of the same name.
    pub programs: &'a [String],
    /// Programs of the suite, with what they need; those that the guest does not have are left out.
    pub commands: &'a Programs,
    /// Archives of sources, by name.
    pub archives: &'a [(String, PathBuf)],
    /// Disks in the guest's memory, and how much memory its kernel manages.
    pub disk: Option<(&'a MemoryDisk, Bytes)>,
    /// The agent's job, where it does not come through the channel.
    pub job: Option<&'a str>,
}

/// The directory of archives in a guest's first filesystem.
pub const ARCHIVES: &str = "archives";

/// A guest that is made: everything but the agent.
#[derive(Clone, Debug)]
pub struct Guest {
    name: String,
    directory: PathBuf,
    manifest: Arc<Manifest>,
    kernel: Kernel,
    modules: Modules,
    /// Trees of programs; what comes first goes before what comes later.
    tools: Vec<Tools>,
    /// Why a kernel of the user's own has no driver of disks that have a mechanism.
    no_driver: Option<String>,
    /// Filesystems whose drivers were built for it of packages of their source.
    add_ons: Vec<String>,
    /// Whether the user put something of their own in the place of Debian's.
    has_own: bool,
}

/// A guest that was copied to where other hosts find it: all of it that is not in the directory itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Its name, which is that of its directory.
    pub name: String,
    /// The digest of its manifest (SHA-256, in hexadecimal), which vouches for every file.
    pub manifest: String,
    /// Filesystems whose drivers were built for it of packages of their source.
    pub add_ons: Vec<String>,
}

/// A kernel that QEMU starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The file.
    pub path: PathBuf,
    /// What it must hold.
    pub digest: String,
}

impl Guest {
    /// The guest in a directory.
    pub(crate) fn open(
        directory: &Path,
        recipe: &Recipe,
        manifest: Manifest,
    ) -> Result<Self, GuestError> {
        let add_ons = recipe.add_ons.iter().map(|add_on| add_on.name.clone());
        Self::of(directory, add_ons.collect(), manifest)
    }

    /// Copies it into a directory for other hosts.
    ///
    /// # Errors
    /// When it holds something of the user's own, which lies elsewhere; a file cannot be read or written, or is no
    /// longer what it was.
    pub fn carry(&self, to: &Path) -> Result<Carried, GuestError> {
        if self.has_own {
            let why = "a guest with a kernel or programs of your own stays on its machine: leave --kernel and --rootfs out";
            return Err(GuestError::Unexpected(why.to_owned()));
        }
        self.manifest.copy(&to.join(&self.name))?;
        Ok(Carried {
            name: self.name.clone(),
            manifest: self.manifest.digest(),
            add_ons: self.add_ons.clone(),
        })
    }

    /// The guest that was carried into a directory. Its files are looked at when they are read, and not before.
    ///
    /// # Errors
    /// When it is not there, or is not what it was.
    pub fn carried(from: &Path, carried: &Carried) -> Result<Self, GuestError> {
        let directory = from.join(&carried.name);
        let manifest = Manifest::read_listed(&directory, &carried.manifest)?;
        Self::of(&directory, carried.add_ons.clone(), manifest)
    }

    fn of(directory: &Path, add_ons: Vec<String>, manifest: Manifest) -> Result<Self, GuestError> {
        let below = only_file(&directory.join(MODULES), "")?;
        let kernel = directory.join(KERNEL);
        let manifest = Arc::new(manifest);
        let own_trees = add_ons.iter().map(|name| programs_of(name));
        let trees = own_trees.chain([PROGRAMS.to_owned()]);
        let name = directory.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            directory: directory.to_owned(),
            kernel: Kernel {
                digest: manifest.digest_of(&kernel).unwrap_or_default().to_owned(),
                path: kernel,
            },
            modules: Modules::below(&below, Some(&manifest))?,
            tools: trees
                .map(|tree| Tools::below(&directory.join(tree), Some(&manifest)))
                .collect(),
            manifest,
            no_driver: None,
            add_ons,
            has_own: false,
        })
    }

    /// The same with a kernel or programs of the user's own in the place of Debian's; `cache` is where an
    /// unpacked kernel is put.
    ///
    /// # Errors
    /// When `stop` rises, they are not what they should be, or cannot be read.
    pub fn with_own(
        mut self,
        own: &Own,
        cache: &Path,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        self.has_own |= own.rootfs.is_some() || own.kernel.is_some();
        if let Some(rootfs) = &own.rootfs {
            self.name += &format!("+{}", own.rootfs_name(rootfs));
            self.tools.insert(0, Tools::below(rootfs, None));
        }
        if let Some((kernel, modules)) = own.kernel()? {
            let name = own.kernel_name(&modules)?;
            self.name += &format!("+{name}");
            self.kernel = Own::startable(kernel, cache, stop, say)?;
            self.modules = Modules::below(&modules, None)?;
            let missing = MACHINE_MODULES.into_iter().find(|module| !self.has(module));
            if let Some(module) = missing {
                return Err(GuestError::Unexpected(format!(
                    "{} has no module {module}, without which it does not find the guest's devices: set \
                     CONFIG_VIRTIO_PCI, CONFIG_VIRTIO_BLK and CONFIG_VIRTIO_CONSOLE to y or m",
                    self.release()
                )));
            }
            match own.driver(&modules, &name, cache, stop, say)? {
                Ok(driver) => self.take_driver(&driver)?,
                Err(why) => self.no_driver = Some(why),
            }
        }
        Ok(self)
    }

    /// Takes the driver that was built for a kernel of the user's own; the guest is called after it.
    fn take_driver(&mut self, module: &Path) -> Result<(), GuestError> {
        let digest = digest::of_file(module).map_err(GuestError::io("read", module))?;
        self.name += &format!("+{}", &digest[..16]);
        self.modules.put(DRIVER, module);
        Ok(())
    }

    /// Its name; the same name means the same kernel, modules and programs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The release of its kernel.
    pub fn release(&self) -> &str {
        self.modules.kernel()
    }

    /// The kernel, a file that QEMU starts.
    pub fn kernel(&self) -> PathBuf {
        self.kernel.path.clone()
    }

    /// Looks whether the kernel is still what it was when the guest was taken: the file is not read here, but by
    /// QEMU.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_kernel(&self) -> Result<(), GuestError> {
        let Kernel { path, digest } = &self.kernel;
        let what = match digest::of_file(path) {
            Ok(found) if found == *digest => return Ok(()),
            Ok(_) => differs(KERNEL),
            Err(error) => unreadable(KERNEL, &error),
        };
        Err(damaged(path.parent().unwrap_or(path), what))
    }

    /// Whether its kernel has a module, or has it built in.
    pub fn has(&self, module: &str) -> bool {
        self.modules.has(module)
    }

    /// Whether it has the driver of disks in memory that have a mechanism.
    pub fn has_disk_driver(&self) -> bool {
        self.has(DRIVER)
    }

    /// Why it has none, in one line; nothing where it has one.
    pub fn lacks_disk_driver(&self) -> Option<&str> {
        self.no_driver.as_deref()
    }

    /// Whether it can make such a disk in its memory; without the driver it makes the ideal one alone.
    pub fn can_make(&self, disk: &DiskModel) -> bool {
        self.has_disk_driver() || self.has(SUBSTITUTE) && memory_disk::has_substitute(disk)
    }

    /// The module that makes its disks in memory.
    fn maker(&self) -> &'static str {
        match self.has_disk_driver() {
            true => DRIVER,
            false => SUBSTITUTE,
        }
    }

    /// What it calls so many disks in its memory.
    pub fn memory_disks(&self, count: u32) -> Vec<String> {
        memory_disk::names(self.maker(), count)
    }

    /// Whether its kernel can put several disks together to one.
    pub fn can_stripe(&self) -> bool {
        self.has(STRIPE_MODULE)
    }

    /// Whether it has a program.
    pub fn has_program(&self, program: &str) -> bool {
        TOOL_NAMES.contains(&program) || self.tools.iter().any(|tree| tree.has(program))
    }

    /// What keeps it from driving a filesystem, and what would bring that; nothing where it can.
    pub fn lacks(&self, filesystem: &Filesystem) -> Option<String> {
        if let Some(why) = &filesystem.unavailable {
            return Some(why.clone());
        }
        let requires = &filesystem.requires;
        let missing = |module: &&String| !self.has(module);
        if let Some(module) = requires.modules.last().filter(missing) {
            if recipe::comes_as_source(filesystem) {
                let name = &filesystem.name;
                return Some(format!(
                    "its driver has to be built: `fsarena guest build --with {name}`"
                ));
            }
            let kernel = self.release();
            return Some(format!(
                "the guest's kernel ({kernel}) has no module {module}: bring one that has \
                 (`fsarena guest build --kernel FILE --modules DIR`)"
            ));
        }
        if let Some(why) = self.lacks_module_of(requires) {
            return Some(why);
        }
        let missing = requires.programs.iter().filter(|p| !self.has_program(p));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        if missing.is_empty() {
            return self.cannot_start(&requires.programs);
        }
        let unpackaged = missing.iter().find_map(|p| requires.unpackaged.get(*p));
        let brings = match (unpackaged, requires.packages.join(", ")) {
            (Some(brings), _) => format!("no package brings it, but {brings}"),
            (None, none) if none.is_empty() => "no package brings it".to_owned(),
            (None, some) => format!("it did not come with {some} from apt"),
        };
        let missing = missing.join(", ");
        Some(format!(
            "the guest has no {missing}: {brings}; bring it (`fsarena guest build --rootfs DIR`)"
        ))
    }

    /// A module that those of a filesystem need in turn; only a kernel of the user's own is without.
    fn lacks_module_of(&self, requires: &Requirements) -> Option<String> {
        if self.modules.are_whole() {
            return None;
        }
        let there = requires.modules.iter().filter(|module| self.has(module));
        let there: Vec<&String> = there.collect();
        let error = self.modules.in_order(&there).err()?;
        Some(format!(
            "{error}, which it needs: bring one that has (`fsarena guest build --kernel FILE --modules DIR`)"
        ))
    }

    /// Which of the programs would not start, for want of what; that is what a tree of the user's own may come to.
    fn cannot_start(&self, programs: &[String]) -> Option<String> {
        let missing = self.tree_of(programs)?.missing(programs);
        let each = missing.iter().map(
            |Missing {
                 program,
                 what,
                 needed_by,
             }| {
                format!("{program} cannot start: {needed_by} needs {what}, which is not there")
            },
        );
        let text = each.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| format!("{text} (--rootfs has to hold it)"))
    }
    /// Writes the first filesystem of a guest that boots with all that it is to have.
    ///
    /// # Errors
    /// When the kernel does not have the filesystem's module, a file cannot be read or written, or one of the
    /// guest's is no longer what it was when the guest was taken.
    pub fn first_filesystem(&self, contents: &Contents<'_>, to: &Path) -> Result<(), GuestError> {
        let modules = self.modules.in_order(&self.wanted(contents))?;
        let parts = self.parts(contents, modules)?;
        self.boots_with(contents.agent, &parts, to)
    }

    /// Writes the first filesystem that all guests have in common which find the rest on a [card](crate::Card).
    ///
    /// # Errors
    /// As for [`Guest::first_filesystem`].
    pub fn common_filesystem(&self, agent: &Path, to: &Path) -> Result<(), GuestError> {
        let modules = self.modules.in_order(&MACHINE_MODULES)?;
        let parts = Parts {
            order: order(&modules, None),
            modules,
            ..Parts::default()
        };
        self.boots_with(agent, &parts, to)
    }

    /// Writes what a card holds: all that [`Guest::common_filesystem`] does not.
    ///
    /// # Errors
    /// As for [`Guest::first_filesystem`].
    pub fn rest(&self, contents: &Contents<'_>, to: &Path) -> Result<(), GuestError> {
        let common = self.modules.in_order(&MACHINE_MODULES)?;
        let mut modules = self.modules.in_order(&self.wanted(contents))?;
        modules.retain(|(name, _)| common.iter().all(|(known, _)| known != name));
        let parts = self.parts(contents, modules)?;
        let write = || {
            let mut archive = Archive::new(BufWriter::new(File::create(to)?));
            parts.add_to(&mut archive)?;
            archive.finish()
        };
        write().map_err(GuestError::io("write", to))
    }

    fn boots_with(&self, agent: &Path, parts: &Parts, to: &Path) -> Result<(), GuestError> {
        let base = self.manifest.read(&self.directory.join(BASE))?;
        let agent = fs::read(agent).map_err(GuestError::io("read", agent))?;
        let write = || {
            let mut out = BufWriter::new(File::create(to)?);
            out.write_all(&base)?;
            let mut archive = Archive::new(out);
            archive.program("init", &elf::loaded(&agent))?;
            parts.add_to(&mut archive)?;
            archive.finish()
        };
        write().map_err(GuestError::io("write", to))
    }

    /// What is put into a guest, with these modules.
    fn parts(
        &self,
        contents: &Contents<'_>,
        modules: Vec<(String, Vec<u8>)>,
    ) -> Result<Parts, GuestError> {
        let mut tools = self.programs(&contents.commands.programs)?;
        if let Some(tree) = self.tree_of(&contents.commands.programs) {
            tools.extend(tree.files(&contents.commands.files)?);
        }
        tools.extend(self.programs(contents.programs)?);
        let archive = |(name, path): &(String, PathBuf)| {
            let content = files::read(path).map_err(GuestError::io("read", path))?;
            Ok((name.clone(), content))
        };
        let archives = contents.archives.iter().map(archive);
        let disk = contents.disk.filter(|_| !self.has_disk_driver());
        Ok(Parts {
            tools,
            order: order(&modules, contents.disk),
            modules,
            archives: archives.collect::<Result<_, GuestError>>()?,
            disk: disk.map(|(disk, _)| disk.of_substitute()),
            job: contents.job.map(str::to_owned),
        })
    }

    /// The modules of the machine and of the filesystem.
    fn wanted<'c>(&self, contents: &Contents<'c>) -> Vec<&'c str> {
        let memory_disk = contents.disk.map(|_| self.maker());
        let machine = MACHINE_MODULES.into_iter().chain(memory_disk);
        let (filesystem, helpers) = match contents.modules.split_last() {
            Some((last, before)) => (Some(last.as_str()), before),
            None => (None, contents.modules),
        };
        let helpers = helpers.iter().map(String::as_str);
        let helpers = helpers.filter(|helper| self.has(helper));
        machine.chain(helpers).chain(filesystem).collect()
    }

    /// Programs with what they need, all out of one tree: the first that has them all. Two trees may each
    /// have a program of the same name.
    fn programs(&self, names: &[String]) -> Result<BTreeMap<String, Vec<u8>>, GuestError> {
        let tree = self.tree_of(names);
        tree.map_or_else(|| Ok(BTreeMap::new()), |tree| tree.needed(names))
    }

    fn tree_of(&self, names: &[String]) -> Option<&Tools> {
        let own = |name: &&String| !TOOL_NAMES.contains(&name.as_str());
        let has_all = |tree: &&Tools| names.iter().filter(own).all(|name| tree.has(name));
        self.tools.iter().find(has_all).or(self.tools.last())
    }
}

/// What is put into a guest, read.
#[derive(Default)]
struct Parts {
    tools: BTreeMap<String, Vec<u8>>,
    modules: Vec<(String, Vec<u8>)>,
    order: String,
    archives: Vec<(String, Vec<u8>)>,
    disk: Option<String>,
    job: Option<String>,
}

impl Parts {
    fn add_to<W: Write>(&self, archive: &mut Archive<W>) -> io::Result<()> {
        add_files(archive, &self.tools)?;
        for (name, content) in &self.modules {
            archive.file(&format!("modules/{name}.ko"), content)?;
        }
        archive.file("modules/order", self.order.as_bytes())?;
        if !self.archives.is_empty() {
            archive.directory(ARCHIVES)?;
        }
        for (name, content) in &self.archives {
            archive.file(&format!("{ARCHIVES}/{name}"), content)?;
        }
        for (name, text) in [("disk", &self.disk), ("job", &self.job)] {
            if let Some(text) = text {
                archive.file(name, text.as_bytes())?;
            }
        }
        Ok(())
    }
}

/// Modules in the order in which they load, a line each with what it is told.
fn order(modules: &[(String, Vec<u8>)], disk: Option<(&MemoryDisk, Bytes)>) -> String {
    let lines = modules.iter();
    lines
        .map(|(name, _)| format!("{name}.ko {}\n", parameters(name, disk)))
        .collect()
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
fn parameters(module: &str, disk: Option<(&MemoryDisk, Bytes)>) -> String {
    match (module, disk) {
        (DRIVER, Some((disk, memory))) => disk.of_driver(memory),
        (SUBSTITUTE, _) => NO_MEMORY_DISKS.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::filesystem;

    /// A guest with these modules and, in trees that go before each other, these programs.
    fn guest(at: &Path, modules: &[&str], trees: &[(&str, &[&str])]) -> Guest {
        let kernel = at.join(MODULES).join("6.1.0-1-amd64");
        fs::create_dir_all(kernel.join("kernel")).unwrap();
        fs::write(kernel.join("modules.builtin"), "").unwrap();
        for module in modules.iter().chain(&MACHINE_MODULES) {
            let file = kernel.join(format!("kernel/{module}.ko"));
            fs::write(file, "\0depends=\0").unwrap();
        }
        for (tree, programs) in trees {
            let directory = at.join(tree).join("usr/sbin");
            fs::create_dir_all(&directory).unwrap();
            for program in *programs {
                fs::write(directory.join(program), format!("{program} of {tree}")).unwrap();
            }
        }
        fs::write(at.join(BASE), "base").unwrap();
        fs::write(at.join(KERNEL), "kernel").unwrap();
        let manifest = Manifest::of(at).unwrap();
        let mut guest = Guest::open(at, &Recipe::default(), manifest.clone()).unwrap();
        let manifest = Arc::new(manifest);
        let trees = trees.iter();
        let trees = trees.map(|(tree, _)| Tools::below(&at.join(tree), Some(&manifest)));
        guest.tools = trees.collect();
        guest
    }

    #[test]
    fn what_a_guest_lacks_is_said_with_what_would_bring_it() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &["jfs"], &[("tools", &["mkfs.jfs"])]);
        let jfs = filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs");
        assert_eq!(guest.lacks(&jfs), None);
        let hfs = filesystem("hfs", "jfs", "hfsprogs", "mkfs.hfs");
        let why = guest.lacks(&hfs).unwrap();
        assert!(
            why.contains("mkfs.hfs") && why.contains("hfsprogs"),
            "{why}"
        );
        let reiser4 = filesystem("reiser4", "reiser4", "reiser4progs", "mkfs.jfs");
        let why = guest.lacks(&reiser4).unwrap();
        assert!(
            why.contains("no module reiser4") && why.contains("--kernel"),
            "{why}"
        );
        let zfs = filesystem("zfs", "zfs", "zfs-dkms", "mkfs.jfs");
        assert!(guest.lacks(&zfs).unwrap().contains("--with zfs"));
        let mut chunkfs = jfs;
        chunkfs.unavailable = Some("a prototype".into());
        assert_eq!(guest.lacks(&chunkfs).as_deref(), Some("a prototype"));
    }

    #[test]
    fn a_kernel_that_finds_no_devices_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (base, modules) = (
            directory.path().join("base"),
            directory.path().join("6.9.0"),
        );
        fs::create_dir_all(modules.join("kernel")).unwrap();
        let built_in = ["virtio_pci", "virtio_blk"].map(|m| format!("kernel/drivers/{m}.ko\n"));
        fs::write(modules.join("modules.builtin"), built_in.concat()).unwrap();
        let kernel = directory.path().join("vmlinux");
        fs::write(&kernel, b"\x7fELF\x02\x01 and the note \x12\0\0\0Xen\0").unwrap();
        let own = Own {
            kernel: Some(kernel),
            modules: Some(modules.clone()),
            ..Own::default()
        };
        let cache = directory.path().join("cache");
        let with_own = || {
            let guest = guest(&base, &[], &[]);
            guest.with_own(&own, &cache, &Arc::default(), &mut |_| {})
        };
        let error = with_own().err().unwrap().to_string();
        assert!(
            error.starts_with("6.9.0 has no module virtio_console"),
            "{error}"
        );
        fs::write(modules.join("kernel/virtio_console.ko"), "\0depends=\0").unwrap();
        fs::write(modules.join("kernel/jfs.ko"), "\0depends=nls_none\0").unwrap();
        let own = with_own().unwrap();
        assert_eq!(
            (own.release(), own.can_make(&DiskModel::ideal())),
            ("6.9.0", false)
        );
        let why = own
            .lacks(&filesystem("jfs", "jfs", "jfsutils", "sh"))
            .unwrap();
        assert!(why.contains("no module nls_none"), "{why}");
    }

    #[test]
    fn a_program_of_the_users_own_that_cannot_start_is_lacking() {
        let directory = tempfile::tempdir().unwrap();
        let rootfs = directory.path().join("rootfs");
        fs::create_dir_all(rootfs.join("usr/bin")).unwrap();
        fs::copy("/usr/bin/env", rootfs.join("usr/bin/mkfs.jfs")).unwrap();
        let own = Own {
            rootfs: Some(rootfs),
            ..Own::default()
        };
        let base = directory.path().join("base");
        let cache = directory.path().join("cache");
        let guest = guest(&base, &["jfs"], &[]);
        let guest = guest.with_own(&own, &cache, &Arc::default(), &mut |_| {});
        let jfs = filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs");
        let why = guest.unwrap().lacks(&jfs).unwrap();
        let told = "mkfs.jfs cannot start: usr/bin/mkfs.jfs needs /lib64/ld-linux-x86-64.so.2";
        assert!(why.starts_with(told), "{why}");
    }

    /// zpool of zfs-fuse and that of OpenZFS are two programs.
    #[test]
    fn programs_come_from_the_first_tree_that_has_them_all() {
        let directory = tempfile::tempdir().unwrap();
        let trees: [(&str, &[&str]); 2] =
            [("tools-zfs", &["zpool"]), ("tools", &["zfs-fuse", "zpool"])];
        let guest = guest(directory.path(), &[], &trees);
        let content = |programs: &[&str]| {
            let programs: Vec<String> = programs.iter().map(|&p| p.to_owned()).collect();
            let files = guest.programs(&programs).unwrap();
            String::from_utf8(files["usr/sbin/zpool"].clone()).unwrap()
        };
        assert_eq!(content(&["zpool", "sh"]), "zpool of tools-zfs");
        assert_eq!(content(&["zfs-fuse", "zpool"]), "zpool of tools");
    }

    #[test]
    fn helpers_that_a_kernel_lacks_are_left_out_and_its_filesystem_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &["ext4", "crc16"], &[("tools", &[])]);
        let write = |modules: &[&str]| {
            let modules: Vec<String> = modules.iter().map(|&m| m.to_owned()).collect();
            let contents = Contents {
                agent: Path::new("/dev/null"),
                modules: &modules,
                programs: &[],
                commands: &Programs::default(),
                archives: &[],
                disk: None,
                job: None,
            };
            guest.first_filesystem(&contents, &directory.path().join("first"))
        };
        write(&["crc32c-intel", "crc16", "ext4"]).unwrap();
        let first = fs::read(directory.path().join("first")).unwrap();
        let first = String::from_utf8_lossy(&first);
        assert!(first.contains("crc16.ko \next4.ko \n"), "{first}");
        let error = write(&["ext4", "btrfs"]).unwrap_err().to_string();
        assert!(error.ends_with("has no module btrfs"), "{error}");
    }

    /// The kernel makes no directory that an archive of its first filesystem does not name before what lies in it.
    #[test]
    fn sources_lie_in_a_directory_of_the_first_filesystem() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &[], &[("tools", &[])]);
        let source = directory.path().join("lua.tar.gz");
        fs::write(&source, "a source").unwrap();
        let contents = Contents {
            agent: Path::new("/dev/null"),
            modules: &[],
            programs: &[],
            commands: &Programs::default(),
            archives: &[("lua".to_owned(), source)],
            disk: None,
            job: None,
        };
        let first = directory.path().join("first");
        guest.first_filesystem(&contents, &first).unwrap();
        let first = fs::read(first).unwrap();
        let first = String::from_utf8_lossy(&first);
        let at = |text: &str| first.find(text);
        assert!(at("archives\0").unwrap() < at("archives/lua\0").unwrap());
        assert!(at("a source") > at("archives/lua"));
    }
}
