//! Source disk of copied trees and files. It is read-only. Only regular files and directories of
//! one filesystem are used; all are opened below one open directory, so that no link or mount leads
//! outside (openat2(2), `RESOLVE_BENEATH`). Other entries are excluded and counted.

use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::{Bytes, SourceInventory};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, SFlag, fstat, fstatat};
use sys::io::caches;
use twox_hash::XxHash64;

use crate::data::shape::{TreeFile, TreeLayout};
use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;

/// A source as found when it was opened.
#[derive(Debug)]
pub struct ScannedSource {
    /// Path used in error messages.
    path: PathBuf,
    root: File,
    /// Name prefix of each tree and file, if fsarena created the source.
    prefix: Option<String>,
    shape: TreeLayout,
    contents: SourceInventory,
}

impl ScannedSource {
    /// Scans a directory and counts each entry as an operation. Reads only names and
    /// attributes.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be read.
    pub fn open(
        path: &Path,
        prefix: Option<String>,
        stats: &mut ThreadStats,
    ) -> Result<Self, OpError> {
        let root = File::open(path).map_err(|error| failed("open", path, &error))?;
        let mut survey = Survey::new(&root, path, stats)?;
        survey.walk()?;
        let (shape, left_out) = (survey.shape, survey.left_out);
        let digest = survey.hash.finish();
        Ok(Self {
            contents: SourceInventory {
                files: shape.files.len() as u64,
                directories: shape.directories.len() as u64,
                bytes: Bytes(shape.bytes()),
                largest: shape.files.iter().map(|f| f.size).max().unwrap_or_default(),
                skipped_entries: left_out,
                digest: format!("{digest:016x}"),
            },
            path: path.to_owned(),
            root,
            prefix,
            shape,
        })
    }

    /// Returns the contents found on opening.
    pub const fn contents(&self) -> &SourceInventory {
        &self.contents
    }

    /// Surveys the source again and returns its current contents.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`].
    pub fn rescan(&self, stats: &mut ThreadStats) -> Result<SourceInventory, OpError> {
        Ok(Self::open(&self.path, None, stats)?.contents)
    }

    /// Asks the kernel to drop the cached pages of the source.
    pub fn drop_cache(&self) {
        for file in &self.shape.files {
            // Ignore missing files: the copy reports them.
            if let Ok(open) = self.file(&file.path) {
                let _ = caches::drop_clean_pages(&open);
            }
        }
    }

    /// Returns the tree that is copied under a name: the whole source, or the tree created for this
    /// name.
    pub(crate) fn tree(&self, name: &str) -> SourceTree {
        let Some(prefix) = &self.prefix else {
            return SourceTree { top: PathBuf::new(), shape: self.shape.clone() };
        };
        let top = PathBuf::from(format!("{prefix}{name}"));
        let below = |path: &Path| path.strip_prefix(&top).ok().map(Path::to_owned);
        let directories = self.shape.directories.iter();
        let files = self.shape.files.iter();
        let shape = TreeLayout {
            directories: directories
                .filter_map(|path| below(path).filter(|path| path != Path::new("")))
                .collect(),
            files: files
                .filter_map(|file| {
                    let path = below(&file.path)?;
                    Some(TreeFile { path, size: file.size })
                })
                .collect(),
        };
        SourceTree { top, shape }
    }

    /// Returns the largest file of a tree (the first of several), with its path in the source.
    pub(crate) fn largest(&self, name: &str) -> Result<TreeFile, OpError> {
        let SourceTree { top, shape } = self.tree(name);
        let largest = shape.files.iter().rev().max_by_key(|file| file.size);
        let largest = largest.ok_or_else(|| OpError::Source {
            reason: format!("the source {} has no file to copy", self.path.display()),
        })?;
        Ok(TreeFile { path: top.join(&largest.path), size: largest.size })
    }

    /// Opens a file of the source, given its path in the source.
    pub(crate) fn file(&self, path: &Path) -> Result<File, OpError> {
        let file = open_beneath(&self.root, path, OFlag::O_RDONLY | OFlag::O_NONBLOCK);
        file.map(File::from)
            .map_err(|errno| failed("openat2", &self.path.join(path), &errno.into()))
    }

    /// Returns the path of a file for error messages.
    pub(crate) fn label_for(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }
}

/// A tree inside a source.
pub(crate) struct SourceTree {
    /// Top directory within the source.
    pub top: PathBuf,
    /// Directories and files below the top.
    pub shape: TreeLayout,
}

/// Builds the error of an unreadable source, which is not attributed to the measured filesystem.
pub(crate) fn failed(call: &str, path: &Path, error: &io::Error) -> OpError {
    OpError::Source {
        reason: format!("the source cannot be read: {call} of {}: {error}", path.display()),
    }
}

/// Opens a path below a directory, without updating its access time if permitted.
fn open_beneath(root: &impl AsFd, path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
    let resolve = ResolveFlag::RESOLVE_BENEATH
        | ResolveFlag::RESOLVE_NO_SYMLINKS
        | ResolveFlag::RESOLVE_NO_XDEV;
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let open = |flags| openat2(root, path, OpenHow::new().flags(flags).resolve(resolve));
    match open(flags | OFlag::O_NOATIME) {
        Err(Errno::EPERM) => open(flags),
        other => other,
    }
}

/// Scan of a source, directory by directory, in name order.
struct Survey<'a> {
    root: &'a File,
    path: &'a Path,
    device: u64,
    stats: &'a mut ThreadStats,
    shape: TreeLayout,
    left_out: u64,
    hash: XxHash64,
}

impl<'a> Survey<'a> {
    fn new(root: &'a File, path: &'a Path, stats: &'a mut ThreadStats) -> Result<Self, OpError> {
        let top = fstat(root).map_err(|errno| failed("fstat", path, &errno.into()))?;
        stats.start_timed(0);
        Ok(Self {
            root,
            path,
            device: top.st_dev,
            stats,
            shape: TreeLayout { directories: Vec::new(), files: Vec::new() },
            left_out: 0,
            hash: XxHash64::with_seed(0),
        })
    }

    fn walk(&mut self) -> Result<(), OpError> {
        let mut waiting = vec![PathBuf::new()];
        while let Some(directory) = waiting.pop() {
            let mut below = self.directory(&directory)?;
            // Reverse the order, because the last directory is popped first.
            below.reverse();
            waiting.append(&mut below);
        }
        Ok(())
    }

    /// Adds the entries of a directory and returns its subdirectories.
    fn directory(&mut self, path: &Path) -> Result<Vec<PathBuf>, OpError> {
        let here = &self.path.join(path);
        let trouble = |call| move |errno: Errno| failed(call, here, &errno.into());
        let from_root = match path == Path::new("") {
            true => Path::new("."),
            false => path,
        };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let open = open_beneath(self.root, from_root, flags).map_err(trouble("openat2"))?;
        let mut directory = Dir::from_fd(open).map_err(trouble("opendir"))?;
        let mut names = Vec::new();
        for entry in directory.iter() {
            let entry = entry.map_err(trouble("readdir"))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort_unstable();
        let mut below = Vec::new();
        for name in names {
            let found = fstatat(&directory, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
            let found = found.map_err(trouble("fstatat"))?;
            let path = path.join(std::ffi::OsStr::from_bytes(name.as_bytes()));
            below.extend(self.entry(path, &found));
            self.stats.finish_op();
        }
        Ok(below)
    }

    /// Adds an entry. Returns its path if it is a directory to search.
    fn entry(&mut self, path: PathBuf, found: &FileStat) -> Option<PathBuf> {
        let kind = SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits());
        let is_here = found.st_dev == self.device;
        match kind {
            SFlag::S_IFDIR if is_here => {
                self.note(b'd', &path, [0, 0, 0]);
                self.shape.directories.push(path.clone());
                Some(path)
            }
            SFlag::S_IFREG if is_here => {
                let size = found.st_size.unsigned_abs();
                let changed = [found.st_mtime, found.st_mtime_nsec].map(i64::cast_unsigned);
                self.note(b'f', &path, [size, changed[0], changed[1]]);
                self.shape.files.push(TreeFile { path, size: Bytes(size) });
                None
            }
            _ => {
                self.left_out += 1;
                None
            }
        }
    }

    fn note(&mut self, kind: u8, path: &Path, numbers: [u64; 3]) {
        let name = path.as_os_str().as_bytes();
        self.hash.write_u8(kind);
        self.hash.write_u64(name.len() as u64);
        self.hash.write(name);
        numbers.into_iter().for_each(|number| self.hash.write_u64(number));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use super::*;
    use crate::measure::meter::PhaseMeter;

    fn stats() -> ThreadStats {
        ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None))
    }

    fn open(path: &Path) -> ScannedSource {
        ScannedSource::open(path, None, &mut stats()).unwrap()
    }

    /// Creates a source with links to files outside, and these files.
    fn with_links() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("secret"), "of another").unwrap();
        fs::create_dir(place.path().join("others")).unwrap();
        fs::write(place.path().join("others/file"), "of another").unwrap();
        let source = place.path().join("source");
        fs::create_dir_all(source.join("a/b")).unwrap();
        fs::write(source.join("a/b/small"), [1; 10]).unwrap();
        fs::write(source.join("large"), [2; 5_000]).unwrap();
        symlink("../secret", source.join("link")).unwrap();
        symlink("../others", source.join("a/linked")).unwrap();
        nix::unistd::mkfifo(&source.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        (place, source)
    }

    #[test]
    fn finds_files_and_directories_and_counts_excluded_links() {
        let (_place, path) = with_links();
        let source = open(&path);
        let SourceInventory {
            files, directories, bytes, largest, skipped_entries: left_out, ..
        } = source.contents();
        assert_eq!((*files, *directories, *left_out), (2, 2, 3));
        assert_eq!((*bytes, *largest), (Bytes(5_010), Bytes(5_000)));
        assert_eq!(source.largest("any").unwrap().path, Path::new("large"));
    }

    /// A user may replace a file or directory by a link after the survey.
    #[test]
    fn does_not_follow_links_created_after_the_survey() {
        let (place, path) = with_links();
        let source = open(&path);
        for (was, to) in [("a/b", "../../others"), ("large", "../secret")] {
            let was = path.join(was);
            fs::rename(&was, place.path().join("away")).unwrap();
            symlink(to, &was).unwrap();
            fs::remove_dir_all(place.path().join("away"))
                .or_else(|_| fs::remove_file(place.path().join("away")))
                .unwrap();
        }
        for name in ["a/b/file", "large", "../secret", "/etc/passwd"] {
            let error = source.file(Path::new(name)).unwrap_err();
            assert!(matches!(error, OpError::Source { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn a_change_of_any_file_is_another_digest_and_the_same_source_has_the_same() {
        let (_place, path) = with_links();
        let source = open(&path);
        let again = || source.rescan(&mut stats()).unwrap();
        assert_eq!(again(), *source.contents());
        fs::write(path.join("a/b/small"), [1; 11]).unwrap();
        assert_ne!(again().digest, source.contents().digest);
        fs::write(path.join("a/b/small"), [1; 10]).unwrap();
        assert_ne!(again().digest, source.contents().digest, "the time of change");
    }

    #[test]
    fn a_prefixed_tree_contains_only_its_entries() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("t.original/d")).unwrap();
        fs::create_dir_all(place.path().join("t.other")).unwrap();
        fs::write(place.path().join("t.original/d/f"), [0; 7]).unwrap();
        fs::write(place.path().join("t.other/f"), [0; 99]).unwrap();
        let source = ScannedSource::open(place.path(), Some("t.".into()), &mut stats()).unwrap();
        let tree = source.tree("original");
        assert_eq!(tree.top, Path::new("t.original"));
        assert_eq!(tree.shape.directories, [PathBuf::from("d")]);
        assert_eq!(tree.shape.files[0].path, Path::new("d/f"));
        assert_eq!(source.largest("original").unwrap().size, Bytes(7));
        assert!(source.largest("nothing").is_err());
    }
}
