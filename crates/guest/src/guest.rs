//! A guest that has been built, its features and its missing parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{DiskModel, Filesystem, Requirements};
use serde::{Deserialize, Serialize};

use crate::boot::memory_disk;
use crate::boot::modules::Modules;
use crate::build::driver::{DRIVER, DRIVERS, NULL_BLK, RECORDER};
use crate::build::manifest::{Manifest, damaged, differs, unreadable};
use crate::build::packages::single_file;
use crate::build::program_tree::{MissingLibrary, ProgramTree};
use crate::build::recipe;
use crate::build::user_kernel::UserKernel;
use crate::build::{
    KERNEL, MACHINE_MODULES, MODULES, PROGRAMS, STRIPE_MODULE, TOOL_NAMES, programs_dir,
};
use crate::{GuestError, Recipe, hash};

/// A guest that has been built: kernel, modules and programs, without the agent.
#[derive(Clone, Debug)]
pub struct Guest {
    name: String,
    pub(crate) directory: PathBuf,
    pub(crate) manifest: Arc<Manifest>,
    kernel: QemuKernel,
    pub(crate) modules: Modules,
    /// Trees of programs. Earlier trees have priority over later ones.
    pub(crate) tools: Vec<ProgramTree>,
    /// Reason why a user-supplied kernel has no driver for simulated disks.
    no_driver: Option<String>,
    /// Filesystems whose drivers were built for the guest from source packages.
    add_ons: Vec<String>,
    /// True if the user replaced parts of Debian's.
    has_own: bool,
}

/// A copy of a guest for other hosts, without the contents of its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCopy {
    /// Name of the guest and of its directory.
    pub name: String,
    /// SHA-256 digest of the manifest, in hexadecimal. The manifest contains the digest of every
    /// file.
    pub manifest: String,
    /// Filesystems whose drivers were built for the guest from source packages.
    pub add_ons: Vec<String>,
}

/// A kernel that QEMU can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QemuKernel {
    /// The file.
    pub path: PathBuf,
    /// Expected digest of the file.
    pub digest: String,
}

impl Guest {
    /// Opens the guest in a directory.
    pub(crate) fn open(
        directory: &Path,
        recipe: &Recipe,
        manifest: Manifest,
    ) -> Result<Self, GuestError> {
        let add_ons = recipe.add_ons.iter().map(|add_on| add_on.name.clone());
        Self::of(directory, add_ons.collect(), manifest)
    }

    /// Copies the guest into a directory for other hosts.
    ///
    /// # Errors
    /// Returns an error if the guest contains user-supplied files, which are located elsewhere, if
    /// a file cannot be read or written, or if a file has changed.
    pub fn copy_to(&self, to: &Path) -> Result<GuestCopy, GuestError> {
        if self.has_own {
            let why = "a guest with a kernel or programs of your own stays on its machine: leave --kernel and --rootfs out";
            return Err(GuestError::UnexpectedOutput(why.to_owned()));
        }
        self.manifest.copy(&to.join(&self.name))?;
        Ok(GuestCopy {
            name: self.name.clone(),
            manifest: self.manifest.digest(),
            add_ons: self.add_ons.clone(),
        })
    }

    /// Opens a guest that was copied into a directory. Each file is checked only when it is read.
    ///
    /// # Errors
    /// Returns an error if the guest is missing or was changed.
    pub fn open_copy(from: &Path, carried: &GuestCopy) -> Result<Self, GuestError> {
        let directory = from.join(&carried.name);
        let manifest = Manifest::read_listed(&directory, &carried.manifest)?;
        Self::of(&directory, carried.add_ons.clone(), manifest)
    }

    fn of(directory: &Path, add_ons: Vec<String>, manifest: Manifest) -> Result<Self, GuestError> {
        let below = single_file(&directory.join(MODULES), "")?;
        let kernel = directory.join(KERNEL);
        let manifest = Arc::new(manifest);
        let own_trees = add_ons.iter().map(|name| programs_dir(name));
        let trees = own_trees.chain([PROGRAMS.to_owned()]);
        let name = directory.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            directory: directory.to_owned(),
            kernel: QemuKernel {
                digest: manifest.digest_of(&kernel).unwrap_or_default().to_owned(),
                path: kernel,
            },
            modules: Modules::in_directory(&below, Some(&manifest))?,
            tools: trees
                .map(|tree| ProgramTree::in_directory(&directory.join(tree), Some(&manifest)))
                .collect(),
            manifest,
            no_driver: None,
            add_ons,
            has_own: false,
        })
    }

    /// Replaces the kernel or the programs by user-supplied ones. An unpacked kernel is stored in
    /// `cache`.
    ///
    /// # Errors
    /// Returns an error if `stop` becomes true, or if the files are invalid or cannot be read.
    pub fn with_user_kernel(
        mut self,
        own: &UserKernel,
        cache: &Path,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        self.has_own |= own.rootfs.is_some() || own.kernel.is_some();
        if let Some(rootfs) = &own.rootfs {
            self.name += &format!("+{}", own.rootfs_name(rootfs));
            self.tools.insert(0, ProgramTree::in_directory(rootfs, None));
        }
        if let Some((kernel, modules)) = own.kernel()? {
            let name = own.kernel_name(&modules)?;
            self.name += &format!("+{name}");
            self.kernel = UserKernel::startable(kernel, cache, stop, say)?;
            self.modules = Modules::in_directory(&modules, None)?;
            let missing = MACHINE_MODULES.into_iter().find(|module| !self.has(module));
            if let Some(module) = missing {
                return Err(GuestError::UnexpectedOutput(format!(
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

    /// Adds the driver that was built for a user-supplied kernel. The digests of its modules become
    /// part of the guest's name.
    fn take_driver(&mut self, modules: &[PathBuf]) -> Result<(), GuestError> {
        for (name, module) in DRIVERS.into_iter().zip(modules) {
            let digest = hash::sha256_file(module).map_err(GuestError::io("read", module))?;
            self.name += &format!("+{}", &digest[..16]);
            self.modules.replace(name, module);
        }
        Ok(())
    }

    /// Returns the name. Equal names mean equal kernels, modules and programs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the directory of the guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the release of the guest's kernel.
    pub fn release(&self) -> &str {
        self.modules.kernel()
    }

    /// Returns the path of the kernel file that QEMU starts.
    pub fn kernel(&self) -> PathBuf {
        self.kernel.path.clone()
    }

    /// Checks that the kernel has not changed since the guest was opened. QEMU reads the kernel
    /// file itself, so no other read detects a change.
    ///
    /// # Errors
    /// Returns an error if the kernel has changed.
    pub fn check_kernel(&self) -> Result<(), GuestError> {
        let QemuKernel { path, digest } = &self.kernel;
        let what = match hash::sha256_file(path) {
            Ok(found) if found == *digest => return Ok(()),
            Ok(_) => differs(KERNEL),
            Err(error) => unreadable(KERNEL, &error),
        };
        Err(damaged(path.parent().unwrap_or(path), what))
    }

    /// Returns true if the kernel has this module, built in or loadable.
    pub fn has(&self, module: &str) -> bool {
        self.modules.has(module)
    }

    /// Returns true if the guest has the driver for simulated disks in memory.
    pub fn has_disk_driver(&self) -> bool {
        self.has(DRIVER)
    }

    /// Returns in one line why the guest has no disk driver. Returns `None` if it has one.
    pub fn lacks_disk_driver(&self) -> Option<&str> {
        self.no_driver.as_deref()
    }

    /// Returns true if the guest can simulate such a disk. Without the driver it supports only the
    /// ideal disk.
    pub fn can_make(&self, disk: &DiskModel) -> bool {
        self.has_disk_driver() || self.has(NULL_BLK) && memory_disk::null_blk_suffices(disk)
    }

    /// Returns the name of the module that provides the disks in memory. `records` is true if it
    /// must keep the bytes of every write, which the kernel's own module cannot.
    pub(crate) fn disk_module(&self, records: bool) -> &'static str {
        match self.has_disk_driver() {
            true if records => RECORDER,
            true => DRIVER,
            false => NULL_BLK,
        }
    }

    /// Returns the names of `count` disks in the guest's memory.
    pub fn memory_disks(&self, count: u32) -> Vec<String> {
        memory_disk::names(self.disk_module(false), count)
    }

    /// Returns true if the kernel can combine several disks into one.
    pub fn can_stripe(&self) -> bool {
        self.has(STRIPE_MODULE)
    }

    /// Returns true if the guest has this program.
    pub fn has_program(&self, program: &str) -> bool {
        TOOL_NAMES.contains(&program) || self.tools.iter().any(|tree| tree.has(program))
    }

    /// Returns the reason why the guest cannot use a filesystem, with a hint. Returns `None` if it
    /// can.
    pub fn missing_for(&self, filesystem: &Filesystem) -> Option<String> {
        if let Some(why) = &filesystem.unavailable {
            return Some(why.clone());
        }
        let requires = &filesystem.requires;
        let missing = |module: &&String| !self.has(module);
        if let Some(module) = requires.modules.last().filter(missing) {
            if recipe::is_dkms(filesystem) {
                let name = &filesystem.name;
                return Some(format!(
                    "its driver has to be built: `fsarena guest build --with {name}`"
                ));
            }
            let (kernel, linux) = (self.release(), &requires.linux);
            let is_other =
                kernel.parse().is_ok_and(|version| !linux.is_all() && !linux.contains(version));
            return Some(match is_other {
                true => format!("it needs {linux}, and the guest's kernel is {kernel}"),
                false => format!(
                    "the guest's kernel ({kernel}) has no module {module}; use a kernel with this module (`fsarena guest build --kernel FILE --modules DIR`)"
                ),
            });
        }
        if let Some(why) = self.lacks_module_of(requires) {
            return Some(why);
        }
        let missing = requires.programs.iter().filter(|p| !self.has_program(p));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        if missing.is_empty() {
            let partly = self.overrides_partly(&requires.programs);
            return partly.or_else(|| self.cannot_start(&requires.programs));
        }
        let unpackaged = missing.iter().find_map(|p| requires.unpackaged.get(*p));
        let brings = match (unpackaged, requires.packages.join(", ")) {
            (Some(brings), _) => format!("no package contains it; use {brings}"),
            (None, none) if none.is_empty() => "no package contains it".to_owned(),
            (None, some) => format!("it did not come with {some} from apt"),
        };
        let missing = missing.join(", ");
        Some(format!(
            "the guest has no {missing}: {brings}; add it with `fsarena guest build --rootfs DIR`"
        ))
    }

    /// Returns the reason if a dependency of the filesystem's modules is missing. Only
    /// user-supplied kernels can lack one.
    fn lacks_module_of(&self, requires: &Requirements) -> Option<String> {
        if self.modules.are_complete() {
            return None;
        }
        let there = requires.modules.iter().filter(|module| self.has(module));
        let there: Vec<&String> = there.collect();
        let error = self.modules.load_order(&there).err()?;
        Some(format!(
            "{error}, which the filesystem needs; use a kernel with this module (`fsarena guest build --kernel FILE --modules DIR`)"
        ))
    }

    /// Returns the reason if the user's tree has only some of the programs: programs of two trees
    /// are not combined, because their libraries may differ.
    fn overrides_partly(&self, programs: &[String]) -> Option<String> {
        let (tree, rootfs) = self.tools.iter().find_map(|tree| Some((tree, tree.of_user()?)))?;
        let from_trees = programs.iter().filter(|name| !TOOL_NAMES.contains(&name.as_str()));
        let (has, lacks): (Vec<&str>, Vec<&str>) =
            from_trees.map(String::as_str).partition(|name| tree.has(name));
        (!has.is_empty() && !lacks.is_empty()).then(|| {
            format!(
                "cannot use {} of --rootfs {}: it lacks {}, which the filesystem needs too; add all its programs",
                has.join(", "),
                rootfs.display(),
                lacks.join(", ")
            )
        })
    }

    /// Returns the programs that cannot start and their missing dependencies. This can happen with
    /// a user-supplied tree.
    fn cannot_start(&self, programs: &[String]) -> Option<String> {
        let missing = self.tree_of(programs)?.missing(programs);
        let each = missing.iter().map(|MissingLibrary { program, path: what, needed_by }| {
            format!("{program} cannot start: {needed_by} needs {what}, which is not there")
        });
        let text = each.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| format!("{text} (--rootfs has to hold it)"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::{filesystem, guest};

    #[test]
    fn missing_parts_are_reported_with_a_hint() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &["jfs"], &[("tools", &["mkfs.jfs"])]);
        let jfs = filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs");
        assert_eq!(guest.missing_for(&jfs), None);
        let hfs = filesystem("hfs", "jfs", "hfsprogs", "mkfs.hfs");
        let why = guest.missing_for(&hfs).unwrap();
        assert!(why.contains("mkfs.hfs") && why.contains("hfsprogs"), "{why}");
        let reiser4 = filesystem("reiser4", "reiser4", "reiser4progs", "mkfs.jfs");
        let why = guest.missing_for(&reiser4).unwrap();
        assert!(why.contains("no module reiser4") && why.contains("--kernel"), "{why}");
        let zfs = filesystem("zfs", "zfs", "zfs-dkms", "mkfs.jfs");
        assert!(guest.missing_for(&zfs).unwrap().contains("--with zfs"));
        let mut chunkfs = jfs;
        chunkfs.unavailable = Some("a prototype".into());
        assert_eq!(guest.missing_for(&chunkfs).as_deref(), Some("a prototype"));
    }

    #[test]
    fn a_kernel_that_finds_no_devices_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (base, modules) = (directory.path().join("base"), directory.path().join("6.9.0"));
        fs::create_dir_all(modules.join("kernel")).unwrap();
        let built_in = ["virtio_pci", "virtio_blk"].map(|m| format!("kernel/drivers/{m}.ko\n"));
        fs::write(modules.join("modules.builtin"), built_in.concat()).unwrap();
        let kernel = directory.path().join("vmlinux");
        fs::write(&kernel, b"\x7fELF\x02\x01 and the note \x12\0\0\0Xen\0").unwrap();
        let own = UserKernel {
            kernel: Some(kernel),
            modules: Some(modules.clone()),
            ..UserKernel::default()
        };
        let cache = directory.path().join("cache");
        let with_own = || {
            let guest = guest(&base, &[], &[]);
            guest.with_user_kernel(&own, &cache, &Arc::default(), &mut |_| {})
        };
        let error = with_own().err().unwrap().to_string();
        assert!(error.starts_with("6.9.0 has no module virtio_console"), "{error}");
        fs::write(modules.join("kernel/virtio_console.ko"), "\0depends=\0").unwrap();
        fs::write(modules.join("kernel/jfs.ko"), "\0depends=nls_none\0").unwrap();
        let own = with_own().unwrap();
        assert_eq!((own.release(), own.can_make(&DiskModel::ideal())), ("6.9.0", false));
        let why = own.missing_for(&filesystem("jfs", "jfs", "jfsutils", "sh")).unwrap();
        assert!(why.contains("no module nls_none"), "{why}");
    }

    #[test]
    fn user_programs_are_used_together_or_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let programs = path("rootfs/usr/sbin");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("mkfs.jfs"), "#!/bin/sh\n").unwrap();
        let own = UserKernel { rootfs: Some(path("rootfs")), ..UserKernel::default() };
        let mut jfs = filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs");
        jfs.requires.programs.push("fsck.jfs".to_owned());
        let guest = guest(&path("base"), &["jfs"], &[("tools", &["mkfs.jfs", "fsck.jfs"])]);
        assert_eq!(guest.missing_for(&jfs), None);
        let guest =
            guest.with_user_kernel(&own, &path("cache"), &Arc::default(), &mut |_| {}).unwrap();
        let why = guest.missing_for(&jfs).unwrap();
        assert!(why.starts_with("cannot use mkfs.jfs of --rootfs "), "{why}");
        assert!(why.contains("it lacks fsck.jfs"), "{why}");
        fs::write(programs.join("fsck.jfs"), "#!/usr/bin/perl -w\n").unwrap();
        let why = guest.missing_for(&jfs).unwrap();
        assert!(why.contains("usr/sbin/fsck.jfs needs /usr/bin/perl"), "{why}");
        fs::write(programs.join("fsck.jfs"), "#!/bin/sh\n").unwrap();
        assert_eq!(guest.missing_for(&jfs), None);
        let used = guest.tree_of(&jfs.requires.programs).unwrap().needed(&jfs.requires.programs);
        assert_eq!(used.unwrap()["usr/sbin/mkfs.jfs"], b"#!/bin/sh\n");
    }

    #[test]
    fn reports_user_programs_that_cannot_start() {
        let directory = tempfile::tempdir().unwrap();
        let rootfs = directory.path().join("rootfs");
        fs::create_dir_all(rootfs.join("usr/bin")).unwrap();
        fs::copy("/usr/bin/env", rootfs.join("usr/bin/mkfs.jfs")).unwrap();
        let own = UserKernel { rootfs: Some(rootfs), ..UserKernel::default() };
        let base = directory.path().join("base");
        let cache = directory.path().join("cache");
        let guest = guest(&base, &["jfs"], &[]);
        let guest = guest.with_user_kernel(&own, &cache, &Arc::default(), &mut |_| {});
        let jfs = filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs");
        let why = guest.unwrap().missing_for(&jfs).unwrap();
        let told = "mkfs.jfs cannot start: usr/bin/mkfs.jfs needs /lib64/ld-linux-x86-64.so.2";
        assert!(why.starts_with(told), "{why}");
    }
}
