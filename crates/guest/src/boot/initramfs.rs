//! Initramfs of a guest: the agent, modules in load order, and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::{Bytes, ProgramRequirements};

use crate::boot::archive::Archive;
use crate::build::driver::{DRIVER, NULL_BLK, RECORDER};
use crate::build::elf;
use crate::build::program_tree::ProgramTree;
use crate::build::{BASE, MACHINE_MODULES, TOOL_NAMES};
use crate::guest::Guest;
use crate::{GuestError, MemoryDisk, files};

/// Parameters of the module for disks in memory: no disks except the configured ones.
const NO_MEMORY_DISKS: &str = "nr_devices=0";

/// Contents of a guest for one cell.
#[derive(Clone, Copy, Debug)]
pub struct InitramfsContents<'a> {
    /// Program that also works as the agent.
    pub agent: &'a Path,
    /// Modules to load first, with their dependencies. The last one is the filesystem's; earlier
    /// ones are omitted if the kernel does not have them.
    pub modules: &'a [String],
    /// Programs of one filesystem, with their dependencies. Two trees may contain programs of the
    /// same name.
    pub programs: &'a [String],
    /// Programs of the suite, with their dependencies. Programs that the guest does not have are
    /// omitted.
    pub commands: &'a ProgramRequirements,
    /// Source archives, by name.
    pub archives: &'a [(String, PathBuf)],
    /// Disks in the guest's memory, and the amount of memory that its kernel manages.
    pub disk: Option<(&'a MemoryDisk, Bytes)>,
    /// The agent's job, unless it is sent through the channel.
    pub job: Option<&'a str>,
}

/// Directory of source archives in the initramfs of a guest.
pub const ARCHIVES_DIR: &str = "archives";

impl Guest {
    /// Writes the initramfs of a guest that boots with its complete contents.
    ///
    /// # Errors
    /// Returns an error if the kernel does not have the filesystem's module, a file cannot be read
    /// or written, or a file of the guest has changed.
    pub fn write_initramfs(
        &self,
        contents: &InitramfsContents<'_>,
        to: &Path,
    ) -> Result<(), GuestError> {
        let modules = self.modules.load_order(&self.wanted(contents))?;
        let parts = self.parts(contents, modules)?;
        self.boots_with(contents.agent, &parts, to)
    }

    /// Writes the initramfs that all guests share. Such guests find their other files on a
    /// [file in shared memory](crate::SharedMemoryFile).
    ///
    /// # Errors
    /// Returns the errors of [`Guest::write_initramfs`].
    pub fn write_common_initramfs(&self, agent: &Path, to: &Path) -> Result<(), GuestError> {
        let modules = self.modules.load_order(&MACHINE_MODULES)?;
        let parts =
            InitramfsParts { order: order(&modules, None), modules, ..InitramfsParts::default() };
        self.boots_with(agent, &parts, to)
    }

    /// Writes the archive in shared memory: all files that are not in the common initramfs
    /// ([`Guest::write_common_initramfs`]).
    ///
    /// # Errors
    /// Returns the errors of [`Guest::write_initramfs`].
    pub fn write_cell_archive(
        &self,
        contents: &InitramfsContents<'_>,
        to: &Path,
    ) -> Result<(), GuestError> {
        let common = self.modules.load_order(&MACHINE_MODULES)?;
        let mut modules = self.modules.load_order(&self.wanted(contents))?;
        modules.retain(|(name, _)| common.iter().all(|(known, _)| known != name));
        let parts = self.parts(contents, modules)?;
        let write = || {
            let mut archive = Archive::new(BufWriter::new(File::create(to)?));
            parts.add_to(&mut archive)?;
            archive.finish()
        };
        write().map_err(GuestError::io("write", to))
    }

    /// Returns the memory for the programs and files of commands in a guest, whose root is in
    /// memory.
    ///
    /// # Errors
    /// Returns an error if the guest is damaged.
    pub fn command_memory(&self, commands: &ProgramRequirements) -> Result<Bytes, GuestError> {
        let Some(tree) = self.tree_of(&commands.programs) else { return Ok(Bytes(0)) };
        let mut files = tree.needed(&commands.programs)?;
        files.extend(tree.files(&commands.files)?);
        let copies = copies(&files);
        let own = files.iter().filter(|(path, _)| !copies.contains_key(path.as_str()));
        Ok(Bytes(own.map(|(_, content)| content.len() as u64).sum()))
    }

    fn boots_with(
        &self,
        agent: &Path,
        parts: &InitramfsParts,
        to: &Path,
    ) -> Result<(), GuestError> {
        let base = self.manifest.read(&self.directory.join(BASE))?;
        let agent = fs::read(agent).map_err(GuestError::io("read", agent))?;
        let write = || {
            let mut out = BufWriter::new(File::create(to)?);
            out.write_all(&base)?;
            let mut archive = Archive::new(out);
            archive.program("init", &elf::strip(&agent))?;
            parts.add_to(&mut archive)?;
            archive.finish()
        };
        write().map_err(GuestError::io("write", to))
    }

    /// Reads the contents of a guest, with these modules.
    fn parts(
        &self,
        contents: &InitramfsContents<'_>,
        modules: Vec<(String, Vec<u8>)>,
    ) -> Result<InitramfsParts, GuestError> {
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
        Ok(InitramfsParts {
            tools,
            order: order(&modules, contents.disk),
            modules,
            archives: archives.collect::<Result<_, GuestError>>()?,
            disk: disk.map(|(disk, _)| disk.null_blk_settings()),
            job: contents.job.map(str::to_owned),
        })
    }

    /// Returns the modules of the machine and of the filesystem.
    fn wanted<'c>(&self, contents: &InitramfsContents<'c>) -> Vec<&'c str> {
        let memory_disk = contents.disk.map(|(disk, _)| self.disk_module(disk.records_writes));
        let machine = MACHINE_MODULES.into_iter().chain(memory_disk);
        let (filesystem, helpers) = match contents.modules.split_last() {
            Some((last, before)) => (Some(last.as_str()), before),
            None => (None, contents.modules),
        };
        let helpers = helpers.iter().map(String::as_str);
        let helpers = helpers.filter(|helper| self.has(helper));
        machine.chain(helpers).chain(filesystem).collect()
    }

    /// Reads programs and their dependencies from the first tree that has all of them. Two trees
    /// may contain programs of the same name.
    fn programs(&self, names: &[String]) -> Result<BTreeMap<String, Vec<u8>>, GuestError> {
        let tree = self.tree_of(names);
        tree.map_or_else(|| Ok(BTreeMap::new()), |tree| tree.needed(names))
    }

    pub(crate) fn tree_of(&self, names: &[String]) -> Option<&ProgramTree> {
        let own = |name: &&String| !TOOL_NAMES.contains(&name.as_str());
        let has_all = |tree: &&ProgramTree| names.iter().filter(own).all(|name| tree.has(name));
        self.tools.iter().find(has_all).or(self.tools.last())
    }
}

/// Contents of a guest, in memory.
#[derive(Default)]
struct InitramfsParts {
    tools: BTreeMap<String, Vec<u8>>,
    modules: Vec<(String, Vec<u8>)>,
    order: String,
    archives: Vec<(String, Vec<u8>)>,
    disk: Option<String>,
    job: Option<String>,
}

impl InitramfsParts {
    fn add_to<W: Write>(&self, archive: &mut Archive<W>) -> io::Result<()> {
        add_files(archive, &self.tools)?;
        for (name, content) in &self.modules {
            archive.file(&format!("modules/{name}.ko"), content)?;
        }
        archive.file("modules/order", self.order.as_bytes())?;
        if !self.archives.is_empty() {
            archive.directory(ARCHIVES_DIR)?;
        }
        for (name, content) in &self.archives {
            archive.file(&format!("{ARCHIVES_DIR}/{name}"), content)?;
        }
        for (name, text) in [("disk", &self.disk), ("job", &self.job)] {
            if let Some(text) = text {
                archive.file(name, text.as_bytes())?;
            }
        }
        Ok(())
    }
}

/// Returns the modules in load order, one per line with its parameters.
fn order(modules: &[(String, Vec<u8>)], disk: Option<(&MemoryDisk, Bytes)>) -> String {
    let lines = modules.iter();
    lines.map(|(name, _)| format!("{name}.ko {}\n", parameters(name, disk))).collect()
}

/// Adds files, each preceded by its parent directories. Files of packages become executable: this
/// is right for programs and libraries, and harmless for settings.
fn add_files<W: Write>(
    archive: &mut Archive<W>,
    files: &BTreeMap<String, Vec<u8>>,
) -> io::Result<()> {
    let mut made = BTreeSet::new();
    let copies = copies(files);
    for (path, content) in files {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        for directory in ends {
            if made.insert(directory) {
                archive.directory(directory)?;
            }
        }
        match copies.get(path.as_str()) {
            Some(first) => archive.link(path, &format!("/{first}"))?,
            None => archive.program(path, content)?,
        }
    }
    Ok(())
}

/// Smallest file that a guest does not hold twice.
const LARGE: usize = 1 << 20;

/// Returns the large files whose content an earlier file has, with that file. In a package they are
/// links.
fn copies(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, &str> {
    let mut known: BTreeMap<&[u8], &str> = BTreeMap::new();
    let large = files.iter().filter(|(_, content)| content.len() >= LARGE);
    let copy = large.filter_map(|(path, content)| match known.get(content.as_slice()) {
        Some(first) => Some((path.as_str(), *first)),
        None => {
            known.insert(content, path);
            None
        }
    });
    copy.collect()
}

/// Returns the parameters of a module.
fn parameters(module: &str, disk: Option<(&MemoryDisk, Bytes)>) -> String {
    match (module, disk) {
        (DRIVER | RECORDER, Some((disk, memory))) => disk.module_parameters(memory),
        (NULL_BLK, _) => NO_MEMORY_DISKS.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::guest;

    /// zfs-fuse and OpenZFS contain different programs with the name zpool.
    #[test]
    fn programs_are_read_from_the_first_tree_with_all_of_them() {
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
    fn large_copies_are_links_to_the_first() {
        let large = || vec![7; LARGE];
        let files = [("a/b", large()), ("a/c", large()), ("d", vec![7; 3]), ("e", vec![7; 3])];
        let files = files.map(|(path, content)| (path.to_owned(), content)).into();
        assert_eq!(copies(&files), [("a/c", "a/b")].into());
        let mut written = Vec::new();
        let mut archive = Archive::new(&mut written);
        add_files(&mut archive, &files).unwrap();
        archive.finish().unwrap();
        assert!(written.len() < 2 * LARGE);
        assert!(written.windows(4).any(|bytes| bytes == b"/a/b"), "the target of the link");
    }

    #[test]
    fn missing_helper_modules_are_omitted_but_not_the_filesystem() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &["ext4", "crc16"], &[("tools", &[])]);
        let write = |modules: &[&str]| {
            let modules: Vec<String> = modules.iter().map(|&m| m.to_owned()).collect();
            let contents = InitramfsContents {
                agent: Path::new("/dev/null"),
                modules: &modules,
                programs: &[],
                commands: &ProgramRequirements::default(),
                archives: &[],
                disk: None,
                job: None,
            };
            guest.write_initramfs(&contents, &directory.path().join("first"))
        };
        write(&["crc32c-intel", "crc16", "ext4"]).unwrap();
        let first = fs::read(directory.path().join("first")).unwrap();
        let first = String::from_utf8_lossy(&first);
        assert!(first.contains("crc16.ko \next4.ko \n"), "{first}");
        let error = write(&["ext4", "btrfs"]).unwrap_err().to_string();
        assert!(error.ends_with("has no module btrfs"), "{error}");
    }

    /// The kernel creates a directory only if the archive lists it before the files in it.
    #[test]
    fn archive_directory_is_listed_before_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let guest = guest(directory.path(), &[], &[("tools", &[])]);
        let source = directory.path().join("lua.tar.gz");
        fs::write(&source, "a source").unwrap();
        let contents = InitramfsContents {
            agent: Path::new("/dev/null"),
            modules: &[],
            programs: &[],
            commands: &ProgramRequirements::default(),
            archives: &[("lua".to_owned(), source)],
            disk: None,
            job: None,
        };
        let first = directory.path().join("first");
        guest.write_initramfs(&contents, &first).unwrap();
        let first = fs::read(first).unwrap();
        let first = String::from_utf8_lossy(&first);
        let at = |text: &str| first.find(text);
        assert!(at("archives\0").unwrap() < at("archives/lua\0").unwrap());
        assert!(at("a source") > at("archives/lua"));
    }
}
