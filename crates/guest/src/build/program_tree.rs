//! Programs for a guest, taken from a tree of unpacked packages with the required libraries and
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build::manifest::Manifest;
use crate::build::{TOOL_NAMES, elf};
use crate::{GuestError, files};

/// Directories of programs, and search path of the loader for libraries.
const PROGRAMS: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];
const LIBRARIES: [&str; 8] = [
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu",
    // Directories of Ceph and Samba, whose libraries look for others there (RUNPATH). fio is linked
    // with those of Ceph.
    "usr/lib/x86_64-linux-gnu/ceph",
    "usr/lib/x86_64-linux-gnu/samba",
    "lib64",
    "usr/lib64",
    "lib",
    "usr/lib",
];
/// Directories of program settings, and the suffixes of such files.
const SETTINGS: [(&str, &str); 2] = [("etc", ".conf"), ("etc/zfs", "rc")];
/// Library that libc loads when a thread ends, although no program lists it.
const DLOPENED_LIBRARY: &str = "libgcc_s.so.1";
/// Maximum number of links in a path.
const MAX_LINKS: u32 = 16;

/// A missing dependency of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLibrary {
    /// The program.
    pub program: String,
    /// Path of the loader, or name of a library.
    pub path: String,
    /// File of the tree that needs it: the program, or one of its libraries.
    pub needed_by: String,
}

/// A tree of unpacked packages.
#[derive(Clone, Debug)]
pub struct ProgramTree {
    root: PathBuf,
    /// Expected contents of the files, if known. The tree then contains no links, and a missing
    /// file that the manifest lists means damage, not a program that was never downloaded.
    manifest: Option<Arc<Manifest>>,
}

impl ProgramTree {
    /// Opens the tree below a directory, which may have a manifest.
    pub fn in_directory(root: &Path, manifest: Option<&Arc<Manifest>>) -> Self {
        Self { root: root.to_owned(), manifest: manifest.cloned() }
    }

    /// Returns true if the tree contains a program.
    pub fn has(&self, program: &str) -> bool {
        self.find(&PROGRAMS, program).is_some()
    }

    /// Returns true if the tree contains any program.
    pub fn has_any(&self) -> bool {
        PROGRAMS.iter().any(|directory| !self.names_in(directory).is_empty())
    }

    /// Returns the directory of a tree that the user supplied.
    pub fn of_user(&self) -> Option<&Path> {
        self.manifest.is_none().then_some(&self.root)
    }

    /// Returns these programs and their dependencies, by path. Missing programs are omitted: the
    /// guest may have them in another tree.
    pub fn needed(&self, programs: &[String]) -> Result<BTreeMap<String, Vec<u8>>, GuestError> {
        let mut files = BTreeMap::new();
        let found = |program: &String| self.find(&PROGRAMS, program);
        self.load(programs.iter().filter_map(found).collect(), &mut files)?;
        if !files.is_empty() {
            self.add_settings(&mut files)?;
        }
        Ok(files)
    }

    /// Adds files by path, with the loader and the libraries that they need.
    fn load(
        &self,
        mut wanted: Vec<String>,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<(), GuestError> {
        while let Some(path) = wanted.pop() {
            if files.contains_key(&path) {
                continue;
            }
            let content = self.read(&path)?;
            wanted.extend(self.needs(&content));
            files.insert(path, content);
        }
        Ok(())
    }

    /// Returns the paths of the loader and libraries of a program or library.
    fn needs(&self, content: &[u8]) -> Vec<String> {
        let needs = elf::dependencies(content);
        let later = needs.loader.as_ref().map(|_| DLOPENED_LIBRARY.to_owned());
        let libraries = needs.libraries.into_iter().chain(later);
        let found = libraries.filter_map(|name| self.find(&LIBRARIES, &name));
        needs.loader.into_iter().chain(found).collect()
    }

    /// Returns the files with these paths, and the libraries of programs among them (parts of a
    /// compiler, for example). A path that ends with `*` matches all paths with this prefix.
    /// Missing files are omitted.
    pub fn files(&self, paths: &[String]) -> Result<BTreeMap<String, Vec<u8>>, GuestError> {
        let mut files = BTreeMap::new();
        for path in paths {
            let (beginning, several) = match path.strip_suffix('*') {
                Some(beginning) => (beginning, true),
                None => (path.as_str(), false),
            };
            let (directory, _) = beginning.rsplit_once('/').unwrap_or_default();
            let mut waiting = vec![directory.to_owned()];
            while let Some(directory) = waiting.pop() {
                for name in self.names_in(&directory) {
                    let path = format!("{directory}/{name}");
                    let is_it = path.starts_with(beginning) && (several || path == beginning);
                    if is_it && self.is_file(&path) {
                        files.insert(path.clone(), self.read(&path)?);
                    }
                }
                let below = self.directories_in(&directory).into_iter();
                let below = below.map(|name| format!("{directory}/{name}"));
                waiting.extend(below.filter(|path| several && path.starts_with(beginning)));
            }
        }
        let wanted = files.values().flat_map(|content| self.needs(content)).collect();
        self.load(wanted, &mut files)?;
        Ok(files)
    }

    /// Returns the first missing dependency of each program: a loader or a library, direct or
    /// indirect. Ignores programs that do not exist or cannot be read. A tree with a manifest has
    /// no missing dependencies, because packages are downloaded with theirs.
    pub fn missing(&self, programs: &[String]) -> Vec<MissingLibrary> {
        if self.manifest.is_some() {
            return Vec::new();
        }
        let each = programs.iter();
        each.filter_map(|program| self.missing_of(program)).collect()
    }

    fn missing_of(&self, program: &str) -> Option<MissingLibrary> {
        let mut wanted = vec![self.find(&PROGRAMS, program)?];
        let mut seen = BTreeSet::new();
        while let Some(path) = wanted.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let content = self.read(&path).ok()?;
            let needs = elf::dependencies(&content);
            let loader = needs.loader.or_else(|| interpreter(&content)).into_iter().map(|loader| {
                let there = self.is_file(&loader).then(|| loader.clone());
                (format!("/{loader}"), there)
            });
            let libraries = needs.libraries.into_iter().map(|name| {
                let there = self.find(&LIBRARIES, &name);
                (name, there)
            });
            for (what, there) in loader.chain(libraries) {
                let Some(there) = there else {
                    return Some(MissingLibrary {
                        program: program.to_owned(),
                        path: what,
                        needed_by: path,
                    });
                };
                wanted.push(there);
            }
        }
        None
    }

    /// Adds the files with settings, which are few and small.
    fn add_settings(&self, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), GuestError> {
        for (below, end) in SETTINGS {
            for name in self.names_in(below) {
                let path = format!("{below}/{name}");
                if name.ends_with(end) && self.is_file(&path) {
                    files.insert(path.clone(), self.read(&path)?);
                }
            }
        }
        Ok(())
    }

    fn names_in(&self, directory: &str) -> Vec<String> {
        let directory = self.root.join(directory);
        if let Some(manifest) = &self.manifest {
            return manifest.files_in(&directory).map(str::to_owned).collect();
        }
        let entries = directory.read_dir().into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    }

    fn directories_in(&self, directory: &str) -> Vec<String> {
        let directory = self.root.join(directory);
        if let Some(manifest) = &self.manifest {
            return manifest.directories_in(&directory);
        }
        let entries = directory.read_dir().into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let names = directories.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    }

    fn is_file(&self, path: &str) -> bool {
        match &self.manifest {
            Some(manifest) => manifest.has(&self.root.join(path)),
            None => self.resolved(path).is_file(),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, GuestError> {
        if let Some(manifest) = &self.manifest {
            return manifest.read(&self.root.join(path));
        }
        files::read_of_user(&self.resolved(path))
    }

    /// Finds a file in several directories and returns its path in the tree.
    fn find(&self, directories: &[&str], name: &str) -> Option<String> {
        let mut paths = directories.iter().map(|d| format!("{d}/{name}"));
        paths.find(|path| self.is_file(path))
    }

    /// Returns the file for a path within the tree. Links are resolved as they would be in a guest.
    fn resolved(&self, path: &str) -> PathBuf {
        let mut file = self.root.join(path);
        for _ in 0..MAX_LINKS {
            let Ok(target) = fs::read_link(&file) else {
                break;
            };
            file = match target.strip_prefix("/") {
                Ok(inside) => self.root.join(inside),
                Err(_) => file.parent().unwrap_or(&self.root).join(target),
            };
        }
        file
    }
}

/// Returns the path of the program that runs a script (execve(2)), without the leading slash, unless
/// every guest has it.
fn interpreter(script: &[u8]) -> Option<String> {
    let line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let path = line.split_whitespace().next()?.trim_start_matches('/');
    let is_known = path.strip_prefix("bin/").is_some_and(|name| TOOL_NAMES.contains(&name));
    (!is_known).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_come_by_their_paths_and_by_beginnings() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for file in [
            "usr/include/a.h",
            "usr/include/sys/b.h",
            "usr/lib/crt1.o",
            "usr/lib/crti.o",
            "usr/lib/c",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let wanted = ["usr/include/*", "usr/lib/crt*", "usr/lib/c", "usr/no/*"].map(str::to_owned);
        let found = |tools: &ProgramTree| -> Vec<String> {
            let files = tools.files(&wanted).unwrap();
            assert!(files.iter().all(|(path, content)| path.as_bytes() == content));
            files.into_keys().collect()
        };
        let all = [
            "usr/include/a.h",
            "usr/include/sys/b.h",
            "usr/lib/c",
            "usr/lib/crt1.o",
            "usr/lib/crti.o",
        ];
        assert_eq!(found(&ProgramTree::in_directory(root, None)), all);
        let manifest = Arc::new(Manifest::of(root).unwrap());
        assert_eq!(found(&ProgramTree::in_directory(root, Some(&manifest))), all);
    }

    /// Returns a program of this machine that is dynamically linked with libc.
    fn program() -> Vec<u8> {
        fs::read("/usr/bin/env").unwrap()
    }

    #[test]
    fn program_is_copied_with_its_dependencies_across_links() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for below in ["usr/bin", "lib/x86_64-linux-gnu", "lib64", "etc/other"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        fs::write(root.join("usr/bin/env"), program()).unwrap();
        symlink("env", root.join("usr/bin/mkfs.it")).unwrap();
        fs::write(root.join("lib/x86_64-linux-gnu/libc.so.6"), "c").unwrap();
        fs::write(root.join("lib/x86_64-linux-gnu/libgcc_s.so.1"), "threads").unwrap();
        fs::write(root.join("lib/x86_64-linux-gnu/ld.so"), "loader").unwrap();
        let loader = root.join("lib64/ld-linux-x86-64.so.2");
        symlink("/lib/x86_64-linux-gnu/ld.so", loader).unwrap();
        fs::write(root.join("etc/it.conf"), "settings").unwrap();
        let tools = ProgramTree::in_directory(root, None);
        assert!(tools.has("mkfs.it") && !tools.has("mkfs.other"));
        assert_eq!(tools.missing(&["mkfs.it".into(), "mkfs.other".into()]), []);
        let files = tools.needed(&["mkfs.it".into(), "mkfs.other".into()]).unwrap();
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "etc/it.conf",
                "lib/x86_64-linux-gnu/libc.so.6",
                "lib/x86_64-linux-gnu/libgcc_s.so.1",
                "lib64/ld-linux-x86-64.so.2",
                "usr/bin/mkfs.it"
            ]
        );
        assert_eq!(files["lib64/ld-linux-x86-64.so.2"], b"loader");
    }

    /// Regression test: `lib64` was a link in the root directory that was not copied, and the tree
    /// still counted as complete.
    #[test]
    fn program_that_cannot_start_is_reported_with_its_missing_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for below in ["usr/bin", "usr/lib/x86_64-linux-gnu", "usr/lib64"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        fs::write(root.join("usr/bin/mkfs.it"), program()).unwrap();
        fs::write(root.join("usr/bin/mount.it"), "#!/bin/sh\n").unwrap();
        let loader = "usr/lib64/ld-linux-x86-64.so.2";
        fs::write(root.join(loader), "loader").unwrap();
        let missing = || {
            let programs = ["mkfs.it".to_owned(), "mount.it".to_owned()];
            let missing = ProgramTree::in_directory(root, None).missing(&programs);
            let told = missing.into_iter().map(|m| (m.program, m.path, m.needed_by));
            told.collect::<Vec<_>>()
        };
        let of_program = |what: &str| {
            let (program, path) = ("mkfs.it".to_owned(), "usr/bin/mkfs.it".to_owned());
            vec![(program, what.to_owned(), path)]
        };
        assert_eq!(missing(), of_program("/lib64/ld-linux-x86-64.so.2"));
        symlink("usr/lib64", root.join("lib64")).unwrap();
        assert_eq!(missing(), of_program("libc.so.6"));
        // A library of this machine that needs another one, which is missing.
        let library = root.join("usr/lib/x86_64-linux-gnu/libc.so.6");
        fs::copy("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &library).unwrap();
        let [(program, what, needed_by)] = &missing()[..] else {
            panic!("{:?}", missing());
        };
        assert_eq!(
            (program.as_str(), what.as_str(), needed_by.as_str()),
            ("mkfs.it", "libm.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6")
        );
        fs::write(&library, "c").unwrap();
        assert_eq!(missing(), []);
    }
}
