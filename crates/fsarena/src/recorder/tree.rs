//! Contents of a directory tree.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use trace::{PathId, PathInterner, TracedKind, TreeEntry};

/// Limitation of the recorded trees.
const DEVICES: &str = "Device nodes are omitted.";

/// Returns all entries below a directory, each directory before its contents, sorted by name.
///
/// # Errors
/// Returns an error if the directory cannot be read.
pub fn entries(
    top: &Path,
    paths: &mut PathInterner,
    unseen: &mut BTreeSet<&'static str>,
) -> io::Result<Vec<TreeEntry>> {
    let mut walk = Walk { paths, unseen, names: HashMap::new(), entries: Vec::new() };
    walk.directory(top, PathId::TOP)?;
    Ok(walk.entries)
}

struct Walk<'a> {
    paths: &'a mut PathInterner,
    unseen: &'a mut BTreeSet<&'static str>,
    /// First names of files with several names, by device and inode.
    names: HashMap<(u64, u64), PathId>,
    entries: Vec<TreeEntry>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Path, path: PathId) -> io::Result<()> {
        let told = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
        };
        let names = fs::read_dir(directory).map_err(told)?;
        let mut names = names
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(told)?;
        names.sort_unstable();
        for name in names {
            let below = self.paths.intern_child(path, name.as_bytes());
            self.name(&directory.join(&name), below)?;
        }
        Ok(())
    }

    fn name(&mut self, at: &Path, path: PathId) -> io::Result<()> {
        let found = fs::symlink_metadata(at)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", at.display())))?;
        let kind = found.file_type();
        let kind = if kind.is_dir() {
            TracedKind::Directory
        } else if let Some(first) = self.first_name(&found, path) {
            TracedKind::Link(first)
        } else if kind.is_file() {
            TracedKind::File { size: found.len() }
        } else if kind.is_symlink() {
            TracedKind::Symlink(fs::read_link(at)?.into_os_string().into_vec())
        } else if kind.is_fifo() || kind.is_socket() {
            TracedKind::Pipe
        } else {
            self.unseen.insert(DEVICES);
            return Ok(());
        };
        let is_directory = kind == TracedKind::Directory;
        let mode = (found.mode() & 0o7777) as u16;
        self.entries.push(TreeEntry { path, kind, mode });
        match is_directory {
            true => self.directory(at, path),
            false => Ok(()),
        }
    }

    /// Returns the first name under which this file was found. Stores this path if it is the first
    /// one.
    fn first_name(&mut self, found: &fs::Metadata, path: PathId) -> Option<PathId> {
        if found.nlink() < 2 {
            return None;
        }
        let first = self.names.entry((found.dev(), found.ino())).or_insert(path);
        (*first != path).then_some(*first)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn lists_a_tree_with_links_and_modes_parents_first() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/f"), "12345").unwrap();
        fs::set_permissions(at("d/f"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("d/f"), at("z")).unwrap();
        symlink("nowhere", at("s")).unwrap();
        nix::unistd::mkfifo(&at("p"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let (mut paths, mut unseen) = (PathInterner::default(), BTreeSet::new());
        let found = entries(top.path(), &mut paths, &mut unseen).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|e| (String::from_utf8(paths.full(e.path)).unwrap(), &e.kind))
            .collect();
        let file = paths.intern(b"d/f");
        let expected = [
            ("d".to_owned(), &TracedKind::Directory),
            ("d/f".to_owned(), &TracedKind::File { size: 5 }),
            ("p".to_owned(), &TracedKind::Pipe),
            ("s".to_owned(), &TracedKind::Symlink(b"nowhere".to_vec())),
            ("z".to_owned(), &TracedKind::Link(file)),
        ];
        assert_eq!(shown, expected);
        assert_eq!(found[1].mode, 0o640);
        assert!(unseen.is_empty());
    }
}
