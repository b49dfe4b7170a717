//! Programs for a guest: those that a filesystem needs, with the libraries and settings that they need, out
//! of a tree of unpacked packages.
//!
//! What a program needs is in its ELF file (elf(5)): the loader that starts it, and names of libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::GuestError;

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
/// Where programs have their settings.
const SETTINGS: &str = "etc";
/// More links than any path has.
const MOST_LINKS: u32 = 16;

/// A tree of unpacked packages.
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
            let needs = needs(&content);
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
        let directory = self.root.join(SETTINGS);
        let Ok(entries) = directory.read_dir() else {
            return Ok(());
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".conf") && path.is_file() {
                let content = fs::read(&path).map_err(GuestError::io("read", &path))?;
                files.insert(format!("{SETTINGS}/{name}"), content);
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

/// What a program or library names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    /// The path of its loader, without the slash it begins with.
    loader: Option<String>,
    /// Names of libraries.
    libraries: Vec<String>,
}

/// Reads an ELF file of 64 bits, little-endian; anything else needs nothing.
fn needs(file: &[u8]) -> Needs {
    const LOAD: u64 = 1;
    const DYNAMIC: u64 = 2;
    const INTERPRETER: u64 = 3;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return Needs::default();
    }
    let (table, size, count) = (
        number(file, 0x20, 8),
        number(file, 0x36, 2),
        number(file, 0x38, 2),
    );
    let segments: Vec<Segment> = (0..count)
        .map(|index| Segment::at(file, table + index * size))
        .collect();
    let text = |offset: u64| text(file, offset);
    let interpreter = segments.iter().find(|s| s.kind == INTERPRETER);
    let loader = interpreter.map(|s| text(s.offset).trim_start_matches('/').to_owned());
    let loaded: Vec<&Segment> = segments.iter().filter(|s| s.kind == LOAD).collect();
    let dynamic = segments.iter().find(|s| s.kind == DYNAMIC);
    let libraries = dynamic.map_or_else(Vec::new, |s| {
        let names = library_names(file, s, &loaded);
        names.into_iter().map(text).collect()
    });
    Needs { loader, libraries }
}

/// A part of the file, and where it lies in memory.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    length: u64,
}

impl Segment {
    fn at(file: &[u8], header: u64) -> Self {
        Self {
            kind: number(file, header, 4),
            offset: number(file, header + 8, 8),
            address: number(file, header + 16, 8),
            length: number(file, header + 32, 8),
        }
    }
}

/// Where in the file the names of the needed libraries stand.
fn library_names(file: &[u8], dynamic: &Segment, loaded: &[&Segment]) -> Vec<u64> {
    const END: u64 = 0;
    const NEEDED: u64 = 1;
    const TEXTS: u64 = 5;
    const ENTRY: u64 = 16;
    let entries = (0..dynamic.length / ENTRY).map(|index| {
        let at = dynamic.offset + index * ENTRY;
        (number(file, at, 8), number(file, at + 8, 8))
    });
    let entries: Vec<(u64, u64)> = entries.take_while(|(tag, _)| *tag != END).collect();
    let texts = entries.iter().find(|(tag, _)| *tag == TEXTS);
    let Some((_, address)) = texts else {
        return Vec::new();
    };
    let around = |s: &&&Segment| (s.address..s.address + s.length).contains(address);
    let Some(segment) = loaded.iter().find(around) else {
        return Vec::new();
    };
    let texts = address - segment.address + segment.offset;
    let needed = entries.iter().filter(|(tag, _)| *tag == NEEDED);
    needed.map(|(_, name)| texts + name).collect()
}

/// A little-endian number; zero beyond the end.
fn number(file: &[u8], offset: u64, length: usize) -> u64 {
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes = file
        .get(begin..begin.saturating_add(length))
        .unwrap_or_default();
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The text that begins there and ends with a zero byte.
fn text(file: &[u8], offset: u64) -> String {
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes = file.get(begin..).unwrap_or_default();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
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
    fn a_program_names_its_loader_and_its_libraries() {
        let needs = needs(&program());
        assert_eq!(needs.loader.as_deref(), Some("lib64/ld-linux-x86-64.so.2"));
        assert_eq!(needs.libraries, ["libc.so.6"]);
    }

    #[test]
    fn what_is_no_program_or_is_cut_off_needs_nothing_and_is_no_panic() {
        assert_eq!(needs(b"#!/bin/sh\n"), Needs::default());
        let program = program();
        for length in [0, 6, 40, 64, 100, 700, 5000] {
            let _ = needs(&program[..length]);
        }
        assert_eq!(needs(&program[..6]), Needs::default());
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
                "lib64/ld-linux-x86-64.so.2",
                "usr/bin/mkfs.it"
            ]
        );
        assert_eq!(files["lib64/ld-linux-x86-64.so.2"], b"loader");
    }
}
