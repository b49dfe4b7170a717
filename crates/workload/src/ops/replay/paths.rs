//! Paths of a trace in the form that system calls need, built before the clock starts.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trace::{PathId, PathInterner};

/// All paths of a trace below a directory, null-terminated and concatenated.
#[derive(Debug)]
pub struct PathTable {
    bytes: Vec<u8>,
    /// Start of each path, and the end of the last one.
    begins: Vec<usize>,
    /// Length of the directory's path, including the trailing slash.
    base: usize,
}

impl PathTable {
    /// Builds the paths below this directory.
    pub fn new(paths: &PathInterner, top: &Path) -> Self {
        let top = top.as_os_str().as_bytes();
        let mut table = Self { bytes: Vec::new(), begins: vec![0], base: top.len() + 1 };
        let all = [PathId::TOP].into_iter().chain(paths.ids());
        for id in all {
            let relative = match id {
                PathId::TOP => b".".to_vec(),
                id => paths.full(id),
            };
            for part in [top, b"/", &relative, b"\0"] {
                table.bytes.extend_from_slice(part);
            }
            table.begins.push(table.bytes.len());
        }
        table
    }

    /// Returns the path relative to the directory.
    pub fn relative(&self, path: PathId) -> &CStr {
        self.from(path, self.base)
    }

    /// Returns the whole path.
    pub fn absolute(&self, path: PathId) -> &CStr {
        self.from(path, 0)
    }

    /// Returns the path for messages.
    pub fn display(&self, path: PathId) -> PathBuf {
        Path::new(OsStr::from_bytes(self.relative(path).to_bytes())).to_owned()
    }

    fn from(&self, path: PathId, skipped: usize) -> &CStr {
        let number = path.0 as usize;
        let whole = &self.bytes[self.begins[number]..self.begins[number + 1]];
        CStr::from_bytes_with_nul(&whole[skipped..]).expect("names hold no zero")
    }
}

/// Returns the text of a symbolic link to create. A link that would leave the replayed directory is
/// made dangling, so that a trace cannot access files of the user.
pub fn confine_link_target(text: &[u8], link: PathId, paths: &PathInterner) -> Vec<u8> {
    let up = |path: &PathId| paths.parent(*path);
    let depth = std::iter::successors(up(&link), up).count() - 1;
    let mut names = text.split(|letter| *letter == b'/').peekable();
    let mut climbs = 0;
    while let Some(name) = names.next_if(|name| matches!(*name, b".." | b"." | b"")) {
        climbs += usize::from(name == b"..");
    }
    let descends_first = names.any(|name| name == b"..");
    match text.first() == Some(&b'/') || climbs > depth || descends_first {
        false => text.to_vec(),
        true => text
            .iter()
            .map(|letter| match letter {
                b'/' | b'.' => b'_',
                other => *other,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_nowhere_out_of_the_directory() {
        let mut paths = PathInterner::default();
        let link = paths.intern(b"a/b/link");
        let kept = [&b"c"[..], b"../x", b"../../x", b"./c/d", b"..", b"c.d"];
        for text in kept {
            assert_eq!(confine_link_target(text, link, &paths), text);
        }
        for text in [&b"/etc/passwd"[..], b"../../../x", b"c/../../../../x", b"./../../.././x"] {
            let made = confine_link_target(text, link, &paths);
            assert_eq!(made.len(), text.len());
            assert!(!made.contains(&b'/'), "{made:?}");
        }
    }

    #[test]
    fn paths_are_relative_to_the_top_or_absolute() {
        let mut paths = PathInterner::default();
        let path = paths.intern(b"a/b");
        let table = PathTable::new(&paths, Path::new("/mnt/x"));
        assert_eq!(table.relative(path), c"a/b");
        assert_eq!(table.absolute(path), c"/mnt/x/a/b");
        assert_eq!(table.relative(PathId::TOP), c".");
    }
}
