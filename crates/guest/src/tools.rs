//! Programs for a guest: those that a filesystem needs, with the libraries and settings that they need, out
//! of a tree of unpacked packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::GuestError;
use crate::elf;

/// Where programs are, and where the loader looks for libraries.
const PROGRAMS: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];
const LIBRARIES: [&str; 6] = [
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu",
    "lib64",
    "usr/lib64",
    "lib",
    "usr/lib",
];
/// Where programs have their settings, and how the names of such files end.
const SETTINGS: [(&str, &str); 2] = [("etc", ".conf"), ("etc/zfs", "rc")];
/// The library of C loads it when a thread ends, and no program names it.
const LOADED_LATER: &str = "libgcc_s.so.1";
/// More links than any path has.
const MOST_LINKS: u32 = 16;

/// A tree of unpacked packages.
#[derive(Clone, Debug)]
pub struct Tools {
    root: PathBuf,
}

impl Tools {
    /// The tree below a directory.
    pub fn below(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Whether a program is there.
    pub fn has(&self, program: &str) -> bool {
        self.find(&PROGRAMS, program).is_some()
    }

    /// These programs and all that they need, by their paths; what is not there is left out: the guest
    /// may have it from elsewhere.
    pub fn needed(&self, programs: &[String]) -> Result<BTreeMap<String, Vec<u8>>, GuestError> {
        let mut files = BTreeMap::new();
        let found = |program: &String| self.find(&PROGRAMS, program);
        let mut wanted: Vec<String> = programs.iter().filter_map(found).collect();
        while let Some(path) = wanted.pop() {
            if files.contains_key(&path) {
                continue;
            }
            let file = self.resolved(&path);
            let content = fs::read(&file).map_err(GuestError::io("read", &file))?;
            let needs = elf::needs(&content);
            if needs.loader.is_some() {
                wanted.extend(self.find(&LIBRARIES, LOADED_LATER));
            }
            wanted.extend(needs.loader);
            let libraries = needs.libraries.iter();
            wanted.extend(libraries.filter_map(|name| self.find(&LIBRARIES, name)));
            files.insert(path, content);
        }
        if !files.is_empty() {
            self.add_settings(&mut files)?;
        }
        Ok(files)
    }

    /// Settings lie beside each other, and each is small.
    fn add_settings(&self, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), GuestError> {
        for (below, end) in SETTINGS {
            let entries = self.root.join(below).read_dir().into_iter().flatten();
            for path in entries.flatten().map(|entry| entry.path()) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if name.ends_with(end) && path.is_file() {
                    let content = fs::read(&path).map_err(GuestError::io("read", &path))?;
                    files.insert(format!("{below}/{name}"), content);
                }
            }
        }
        Ok(())
    }

    /// The path, within the tree, of a file in one of some directories.
    fn find(&self, directories: &[&str], name: &str) -> Option<String> {
        let mut paths = directories.iter().map(|d| format!("{d}/{name}"));
        paths.find(|path| self.resolved(path).is_file())
    }

    /// The file that a path within the tree stands for: links lead to where they would in a guest.
    fn resolved(&self, path: &str) -> PathBuf {
        let mut file = self.root.join(path);
        for _ in 0..MOST_LINKS {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A program of this machine's that is linked with the library of C, as all but static ones are.
    fn program() -> Vec<u8> {
        fs::read("/usr/bin/env").unwrap()
    }

    #[test]
    fn a_program_comes_with_what_it_needs_wherever_links_lead() {
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
        let tools = Tools::below(root);
        assert!(tools.has("mkfs.it") && !tools.has("mkfs.other"));
        let files = tools
            .needed(&["mkfs.it".into(), "mkfs.other".into()])
            .unwrap();
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
}
