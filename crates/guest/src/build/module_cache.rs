//! Modules that were built from source, kept in the cache for every guest with the same kernel.

use std::path::{Path, PathBuf};

use crate::build::build_dir::BuildDir;
use crate::{GuestError, files, hash};

/// Prefix of the names of their directories.
const DIRECTORY: &str = "modules-";
/// File with a line for each module, its digest and its file, and the digest of these lines.
const DIGESTS: &str = "digests";

/// Built modules in a cache.
#[derive(Clone, Debug)]
pub struct ModuleCache<'a> {
    cache: &'a Path,
}

impl<'a> ModuleCache<'a> {
    /// Opens the modules in this cache.
    pub const fn new(cache: &'a Path) -> Self {
        Self { cache }
    }

    /// Returns the files that were built from these inputs, in the order of the build. Returns
    /// `None` if they are missing or damaged.
    pub fn get(&self, inputs: &str) -> Option<Vec<PathBuf>> {
        let directory = self.directory(inputs);
        let digests = String::from_utf8(files::read(&directory.join(DIGESTS)).ok()?).ok()?;
        // The last line has the digest of the others.
        let (digests, own) =
            digests.strip_suffix('\n')?.rsplit_once('\n').unwrap_or(("", &digests));
        let (digests, own) = (digests.to_owned(), own.trim_end());
        if hash::sha256_hex(digests.as_bytes()) != own {
            return None;
        }
        let whole = |line: &str| {
            let (digest, name) = line.split_once(' ')?;
            let file = directory.join(name);
            (hash::sha256_file(&file).ok()? == digest).then_some(file)
        };
        digests.lines().map(whole).collect()
    }

    /// Prepares the modules that were built from these inputs for [`ModuleCache::install`].
    pub fn put(inputs: &str, built: &[PathBuf], workshop: &BuildDir<'_>) -> Result<(), GuestError> {
        let whole = workshop.place(&name(inputs));
        files::create_directory(&whole)?;
        let mut digests = String::new();
        for file in built {
            let content = files::read(file).map_err(GuestError::io("read", file))?;
            let name = file.file_name().unwrap_or_default();
            files::write(&whole.join(name), &content)?;
            digests += &format!("{} {}\n", hash::sha256_hex(&content), name.to_string_lossy());
        }
        let digests = digests.trim_end();
        let text = format!("{digests}\n{}\n", hash::sha256_hex(digests.as_bytes()));
        files::write(&whole.join(DIGESTS), text.as_bytes())
    }

    /// Moves all prepared modules into the cache.
    pub fn install(&self, workshop: &BuildDir<'_>) -> Result<(), GuestError> {
        for name in workshop.names()?.iter().filter(|name| name.starts_with(DIRECTORY)) {
            workshop.install(name, &self.cache.join(name))?;
        }
        Ok(())
    }

    fn directory(&self, inputs: &str) -> PathBuf {
        self.cache.join(name(inputs))
    }
}

/// Returns the name of the directory with the modules of these inputs.
fn name(inputs: &str) -> String {
    format!("{DIRECTORY}{}", hash::sha256_hex(inputs.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use std::fs;
    use std::sync::Arc;

    #[test]
    fn stored_modules_are_found_if_they_are_intact_and_of_these_inputs() {
        let place = tempfile::tempdir().unwrap();
        let modules = ModuleCache::new(place.path());
        assert_eq!(modules.get("gcc 12"), None);
        let built = ["ufs.ko", "affs.ko"].map(|name| place.path().join(name));
        for file in &built {
            fs::write(file, file.to_str().unwrap()).unwrap();
        }
        let put = |inputs: &str, is_installed| {
            let stop = Arc::default();
            BuildDir::open(place.path(), Bytes::mib(1), &stop, &mut |_| {}, |workshop, _| {
                ModuleCache::put(inputs, &built, workshop)?;
                if is_installed { modules.install(workshop) } else { Ok(()) }
            })
            .unwrap();
        };
        put("gcc 12", false);
        assert_eq!(modules.get("gcc 12"), None, "the build did not end");
        put("gcc 12", true);
        let stored = modules.get("gcc 12").unwrap();
        let names = stored.iter().map(|file| file.file_name().unwrap().to_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["ufs.ko", "affs.ko"], "in the given order");
        assert_eq!(modules.get("gcc 13"), None);
        fs::write(&stored[1], "damaged").unwrap();
        assert_eq!(modules.get("gcc 12"), None);
        put("gcc 12", true);
        assert_eq!(modules.get("gcc 12"), Some(stored.clone()), "damaged modules are replaced");
        let list = stored[0].with_file_name(DIGESTS);
        let whole = fs::read(&list).unwrap();
        for end in 0..whole.len() {
            fs::write(&list, &whole[..end]).unwrap();
            assert_eq!(modules.get("gcc 12"), None, "a list of {end} bytes");
        }
        fs::write(&list, whole).unwrap();
        assert!(modules.get("gcc 12").is_some());
        fs::remove_file(&stored[0]).unwrap();
        assert_eq!(modules.get("gcc 12"), None);
    }
}
