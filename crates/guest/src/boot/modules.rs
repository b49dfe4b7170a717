//! Kernel modules: available modules, their dependencies, and the load order.
//!
//! A package has no list of dependencies (depmod(8) creates it during installation), but the
//! section `.modinfo` of each module lists them: `depends=jbd2,mbcache`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build::kernel;
use crate::build::manifest::Manifest;
use crate::process_runner::ProcessRunner;
use crate::{GuestError, files};

/// Directories with modules, below that of a kernel. Modules in later directories replace those in
/// earlier ones.
const DIRECTORIES: [&str; 3] = ["kernel", "extra", "updates"];

/// The modules of one kernel.
#[derive(Clone, Debug)]
pub struct Modules {
    /// Kernel release.
    kernel: String,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    /// Expected contents of the files, if known.
    manifest: Option<Arc<Manifest>>,
}

impl Modules {
    /// Lists the modules below a directory such as `/lib/modules/6.1.0-1-amd64`, which may have a
    /// manifest.
    pub fn in_directory(
        directory: &Path,
        manifest: Option<&Arc<Manifest>>,
    ) -> Result<Self, GuestError> {
        let release = directory.file_name().unwrap_or_default().to_string_lossy();
        let mut modules = Self {
            kernel: release.into_owned(),
            files: BTreeMap::new(),
            built_in: BTreeSet::new(),
            manifest: manifest.cloned(),
        };
        for below in DIRECTORIES {
            let below = directory.join(below);
            if below.is_dir() {
                modules.collect(&below)?;
            }
        }
        let list = modules.read(&directory.join("modules.builtin"))?;
        let list = String::from_utf8_lossy(&list);
        modules.built_in = list.lines().filter_map(|l| name_of(Path::new(l))).collect();
        Ok(modules)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, GuestError> {
        match &self.manifest {
            Some(manifest) => manifest.read(path),
            None => files::read_of_user(path),
        }
    }

    fn collect(&mut self, directory: &Path) -> Result<(), GuestError> {
        let cannot = |source| GuestError::io("read", directory)(source);
        for entry in fs::read_dir(directory).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let path = entry.path();
            // A link could lead to a directory above.
            if entry.file_type().map_err(cannot)?.is_dir() {
                self.collect(&path)?;
            } else if let Some(name) = name_of(&path) {
                self.files.insert(name, path);
            }
        }
        Ok(())
    }

    /// Returns the kernel release.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Returns true if the modules are from a package, which contains all their dependencies.
    pub const fn are_complete(&self) -> bool {
        self.manifest.is_some()
    }

    /// Returns true if the kernel has this module, built in or loadable.
    pub fn has(&self, name: &str) -> bool {
        let name = canonical(name);
        self.files.contains_key(&name) || self.built_in.contains(&name)
    }

    /// Adds a module file and replaces an existing one of the same name.
    pub fn replace(&mut self, name: &str, file: &Path) {
        self.files.insert(canonical(name), file.to_owned());
    }

    /// Returns these modules and all their dependencies with their contents, in load order.
    /// Built-in modules are omitted.
    pub fn load_order<S: AsRef<str>>(
        &self,
        wanted: &[S],
    ) -> Result<Vec<(String, Vec<u8>)>, GuestError> {
        let mut ordered = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.visit(&canonical(name.as_ref()), &mut seen, &mut ordered)?;
        }
        Ok(ordered)
    }

    fn visit(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        ordered: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<(), GuestError> {
        if self.built_in.contains(name) || !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(path) = self.files.get(name) else {
            return Err(GuestError::NoModule {
                kernel: self.kernel.clone(),
                module: name.to_owned(),
            });
        };
        let file = self.read(path)?;
        let module = kernel::unpack(&file, &ProcessRunner::default())?.unwrap_or(file);
        for needed in needs(&module) {
            self.visit(&needed, seen, ordered)?;
        }
        ordered.push((name.to_owned(), module));
        Ok(())
    }
}

/// Returns the dependencies listed in a module's `.modinfo`, which consists of zero-terminated
/// strings.
fn needs(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|w| w == KEY) else {
        return Vec::new();
    };
    let rest = &module[at + KEY.len()..];
    let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
    let names = String::from_utf8_lossy(&rest[..end]).into_owned();
    names.split(',').filter(|n| !n.is_empty()).map(canonical).collect()
}

/// Returns the module name of a file: `fs/ext4/ext4.ko` is `ext4`, and so is the compressed
/// `ext4.ko.xz`.
fn name_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (name, packed) = file.split_once(".ko")?;
    (packed.is_empty() || packed.starts_with('.')).then(|| canonical(name))
}

/// Replaces `-` by `_`. Module names can be written with either.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(modules: &[(&str, &str)], built_in: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let kernel = directory.path().join("kernel/fs");
        fs::create_dir_all(&kernel).unwrap();
        for (name, depends) in modules {
            let content = format!("\x7fELF…\0license=GPL\0depends={depends}\0name={name}\0");
            fs::write(kernel.join(format!("{name}.ko")), content).unwrap();
        }
        fs::write(directory.path().join("modules.builtin"), built_in).unwrap();
        directory
    }

    fn order(tree: &tempfile::TempDir, wanted: &[&str]) -> Result<Vec<String>, GuestError> {
        let modules = Modules::in_directory(tree.path(), None)?;
        let ordered = modules.load_order(wanted)?;
        Ok(ordered.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn dependencies_load_first_and_once() {
        let modules = [
            ("ext4", "mbcache,jbd2,crc16"),
            ("jbd2", "crc16"),
            ("mbcache", ""),
            ("crc16", ""),
            ("crc32c-intel", ""),
        ];
        let tree = tree(&modules, "");
        let found = order(&tree, &["crc32c-intel", "ext4", "jbd2"]).unwrap();
        assert_eq!(found, ["crc32c_intel", "mbcache", "crc16", "jbd2", "ext4"]);
    }

    #[test]
    fn built_in_modules_exist_but_are_not_loaded() {
        let tree = tree(&[("affs", "loop")], "kernel/drivers/block/loop.ko\n");
        assert_eq!(order(&tree, &["affs", "loop"]).unwrap(), ["affs"]);
        let modules = Modules::in_directory(tree.path(), None).unwrap();
        assert!(modules.has("loop") && modules.has("affs") && !modules.has("hpfs"));
    }

    #[test]
    fn rebuilt_module_replaces_that_of_the_kernel() {
        let tree = tree(&[("ufs", "old"), ("nls-base", "")], "");
        let updates = tree.path().join("updates");
        fs::create_dir(&updates).unwrap();
        fs::write(updates.join("ufs.ko"), "\0depends=nls-base\0").unwrap();
        assert_eq!(order(&tree, &["ufs"]).unwrap(), ["nls_base", "ufs"]);
        let mut modules = Modules::in_directory(tree.path(), None).unwrap();
        let file = tree.path().join("other.ko");
        fs::write(&file, "\0depends=\0").unwrap();
        modules.replace("nls-new", &file);
        assert!(modules.has("nls_new"));
    }

    #[test]
    fn reports_the_name_of_a_missing_module() {
        let tree = tree(&[("a", "b")], "");
        let error = order(&tree, &["a"]).unwrap_err().to_string();
        assert!(error.ends_with("has no module b"), "{error}");
    }

    #[test]
    fn files_of_modules_are_known_by_their_ends() {
        assert_eq!(name_of(Path::new("x/xor-neon.ko.zst")).as_deref(), Some("xor_neon"));
        assert_eq!(name_of(Path::new("x/Module.kosher")), None);
        assert_eq!(name_of(Path::new("x/modules.order")), None);
    }
}
