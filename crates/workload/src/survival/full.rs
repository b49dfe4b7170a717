//! Fills a filesystem with files of known content, and tries the calls that it should still allow.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};

use model::{Fill, SyscallError};
use nix::unistd;

use crate::OpError;
use crate::data::pattern::{BLOCK, BlockIdentity, Pattern};
use crate::error::OpContext;
use crate::measure::thread_stats::Progress;

/// Files in each directory, and empty files between two syncs.
const FILES_PER_DIRECTORY: u64 = 1000;
/// One in this number of files is removed.
const REMOVED_PART: usize = 10;
/// Name of the file that is replaced.
const SMALL: &str = "small";
/// Blocks of the file that is replaced.
const SMALL_BLOCKS: u32 = 4;
/// Identity of the file that is replaced.
const SMALL_FILE: u64 = u64::MAX;

/// A file by its number, with its size in blocks.
#[derive(Clone, Copy, Debug)]
struct NumberedFile {
    number: u64,
    blocks: u32,
}

/// Files that fill a filesystem.
#[derive(Debug)]
pub struct FillingFiles<'a> {
    root: PathBuf,
    op: &'a Fill,
    pattern: Pattern,
    /// Number of files that were begun.
    begun: u64,
    synced: Vec<NumberedFile>,
    first_failure: Option<SyscallError>,
    name_failure: Option<SyscallError>,
    /// Generation of the file that is replaced.
    small: u32,
}

impl<'a> FillingFiles<'a> {
    /// Creates a directory for the files, and the small file that is replaced later.
    ///
    /// # Errors
    /// Returns the error of the first call that failed.
    pub fn new(root: PathBuf, op: &'a Fill, seed: u64) -> Result<Self, OpError> {
        let longest = op.size.0.max(u64::from(SMALL_BLOCKS) * Fill::BLOCK);
        let pattern = Pattern::new(seed, longest as usize);
        let mut files = Self {
            root,
            op,
            pattern,
            begun: 0,
            synced: Vec::new(),
            first_failure: None,
            name_failure: None,
            small: 1,
        };
        fs::create_dir(&files.root).with_call("mkdir", &files.root)?;
        let small = files.root.join(SMALL);
        files.write(&small, SMALL_FILE, SMALL_BLOCKS, files.small)?;
        files.sync()?;
        Ok(files)
    }

    /// Number of synced files.
    pub const fn count(&self) -> u64 {
        self.synced.len() as u64
    }

    /// Bytes of the synced files.
    pub fn bytes(&self) -> u64 {
        self.synced.iter().map(|file| u64::from(file.blocks) * BLOCK as u64).sum()
    }

    /// First call that failed while the filesystem was filled.
    pub const fn first_failure(&self) -> Option<&SyscallError> {
        self.first_failure.as_ref()
    }

    /// Call that failed for an empty file or its sync.
    pub const fn name_failure(&self) -> Option<&SyscallError> {
        self.name_failure.as_ref()
    }

    /// Creates files until a call fails, or until the limits of the phase.
    pub fn fill(&mut self, progress: &Progress) {
        if self.op.fill.has_bytes() {
            self.fill_bytes(progress);
        }
        if self.op.fill.has_names() {
            self.fill_names(progress);
        }
    }

    /// Writes and syncs files. After a failure, smaller ones use the rest of the space.
    fn fill_bytes(&mut self, progress: &Progress) {
        let mut blocks = (self.op.size.0 / Fill::BLOCK) as u32;
        while blocks > 0 && self.bytes() < self.op.bytes.0 {
            match self.add(blocks) {
                Ok(file) => self.synced.push(file),
                Err(error) => {
                    self.failed(&error);
                    blocks /= 4;
                }
            }
            progress.add(1);
        }
    }

    /// Creates empty files. They count as synced after a sync of the whole filesystem.
    fn fill_names(&mut self, progress: &Progress) {
        let mut created = Vec::new();
        let mut left = self.op.names;
        while left > 0 {
            match self.add(0) {
                Ok(file) => created.push(file),
                Err(error) => {
                    self.name_failed(&error);
                    break;
                }
            }
            progress.add(1);
            left -= 1;
            if created.len() as u64 == FILES_PER_DIRECTORY && !self.acknowledge(&mut created) {
                return;
            }
        }
        self.acknowledge(&mut created);
    }

    /// Syncs created files. Returns false if that failed.
    fn acknowledge(&mut self, created: &mut Vec<NumberedFile>) -> bool {
        match self.sync() {
            Ok(()) => self.synced.append(created),
            Err(error) => self.name_failed(&error),
        }
        created.is_empty()
    }

    fn failed(&mut self, error: &OpError) {
        self.first_failure = self.first_failure.take().or_else(|| error.system_error());
    }

    fn name_failed(&mut self, error: &OpError) {
        self.failed(error);
        self.name_failure = self.name_failure.take().or_else(|| error.system_error());
    }

    fn sync(&self) -> Result<(), OpError> {
        sys::io::caches::sync_filesystem(&self.root).with_call("syncfs", &self.root)
    }

    fn path(&self, number: u64) -> PathBuf {
        let directory = self.root.join(format!("d{}", number / FILES_PER_DIRECTORY));
        directory.join(format!("f{number}"))
    }

    /// Creates the next file.
    fn add(&mut self, blocks: u32) -> Result<NumberedFile, OpError> {
        let number = self.begun;
        self.begun += 1;
        let path = self.path(number);
        let directory = path.parent().unwrap_or(&self.root);
        match fs::create_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_call("mkdir", directory);
            }
            _ => {}
        }
        self.write(&path, number, blocks, 1)?;
        Ok(NumberedFile { number, blocks })
    }

    /// Creates a file. Syncs it if it has data.
    fn write(
        &mut self,
        path: &Path,
        number: u64,
        blocks: u32,
        generation: u32,
    ) -> Result<(), OpError> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(path).with_call("open", path)?;
        if blocks > 0 {
            let content = content(&mut self.pattern, number, blocks, generation);
            file.write_all(content).with_call("write", path)?;
            file.sync_all().with_call("fsync", path)?;
        }
        // The last chance to report a delayed error.
        unistd::close(file.into_raw_fd()).map_err(io::Error::from).with_call("close", path)
    }

    /// Returns the number of synced files without their content, and an example.
    pub fn lost(&self, progress: &Progress) -> (u64, String) {
        let mut lost = 0;
        let mut example = String::new();
        let small = (self.root.join(SMALL), SMALL_FILE, SMALL_BLOCKS, self.small);
        let files = self.synced.iter();
        let files = files.map(|file| (self.path(file.number), file.number, file.blocks, 1));
        for (path, number, blocks, generation) in files.chain([small]) {
            if let Some(loss) = self.lost_file(&path, number, blocks, generation) {
                lost += 1;
                if example.is_empty() {
                    example = loss;
                }
            }
            progress.add(1);
        }
        (lost, example)
    }

    fn lost_file(&self, path: &Path, number: u64, blocks: u32, generation: u32) -> Option<String> {
        let name = path.strip_prefix(&self.root).unwrap_or(path).display();
        let found = match fs::read(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Some(format!("{name} is missing"));
            }
            Err(error) => {
                return Some(format!("{name} cannot be read: {}", sys::errno::describe(&error)));
            }
        };
        let size = blocks as usize * BLOCK;
        if found.len() != size {
            return Some(format!("{name} has {} instead of {size} bytes", found.len()));
        }
        let origin = BlockIdentity { file: number, generation };
        let wrong = self.pattern.check(origin, 0, &found).err()?;
        Some(format!("{name} {wrong}"))
    }

    /// Replaces the small file: writes and syncs a new one, and renames it. If a call fails, the
    /// old one must have its content.
    ///
    /// # Errors
    /// Returns the error of the first call that failed.
    pub fn replace(&mut self) -> Result<(), OpError> {
        let old = self.root.join(SMALL);
        let new = self.root.join("small.new");
        let generation = self.small + 1;
        let replaced = self
            .write(&new, SMALL_FILE, SMALL_BLOCKS, generation)
            .and_then(|()| fs::rename(&new, &old).with_call("rename", &new));
        match replaced {
            Ok(()) => {
                self.small = generation;
                self.sync()
            }
            Err(error) => {
                // As programs do; a file that stays takes space, and the removal shows the error.
                let _ = fs::remove_file(&new);
                Err(error)
            }
        }
    }

    /// Removes every tenth synced file, and returns their number.
    ///
    /// # Errors
    /// Returns the error of the first call that failed.
    pub fn remove(&mut self, progress: &Progress) -> (u64, Result<(), OpError>) {
        let mut removed = 0;
        let mut outcome = Ok(());
        for file in self.synced.iter().step_by(REMOVED_PART) {
            let path = self.path(file.number);
            match fs::remove_file(&path).with_call("unlink", &path) {
                Ok(()) => removed += 1,
                error => outcome = outcome.and(error),
            }
            progress.add(1);
        }
        let synced = self.sync();
        (removed, outcome.and(synced))
    }

    /// Writes and syncs another file of the first size.
    ///
    /// # Errors
    /// Returns the error of the first call that failed.
    pub fn write_again(&mut self) -> Result<(), OpError> {
        let blocks = match self.op.fill.has_bytes() {
            true => (self.op.size.0 / Fill::BLOCK) as u32,
            false => 0,
        };
        self.add(blocks)?;
        self.sync()
    }
}

fn content(pattern: &mut Pattern, file: u64, blocks: u32, generation: u32) -> &[u8] {
    pattern.fill(BlockIdentity { file, generation }, 0, blocks as usize * BLOCK)
}

#[cfg(test)]
mod tests {
    use model::{Bytes, FillWith};
    use tempfile::TempDir;

    use super::*;

    fn op(fill: FillWith) -> Fill {
        Fill { fill, size: Bytes::kib(16), bytes: Bytes::kib(64), names: 1500 }
    }

    #[test]
    fn files_are_written_up_to_the_limits_and_lose_nothing() {
        let directory = TempDir::new().unwrap();
        let op = op(FillWith::Both);
        let progress = Progress::default();
        let mut files = FillingFiles::new(directory.path().join("full"), &op, 7).unwrap();
        files.fill(&progress);
        assert_eq!((files.count(), files.bytes()), (1504, 64 << 10));
        assert_eq!(files.first_failure(), None);
        files.replace().unwrap();
        assert_eq!(files.lost(&progress), (0, String::new()));
        let (removed, outcome) = files.remove(&progress);
        assert_eq!((removed, outcome.is_ok()), (151, true));
        files.write_again().unwrap();
    }

    #[test]
    fn missing_short_and_wrong_files_are_lost() {
        let directory = TempDir::new().unwrap();
        let root = directory.path().join("full");
        let op = op(FillWith::Bytes);
        let progress = Progress::default();
        let mut files = FillingFiles::new(root.clone(), &op, 7).unwrap();
        files.fill(&progress);
        fs::remove_file(root.join("d0/f0")).unwrap();
        fs::write(root.join("d0/f1"), "short").unwrap();
        let mut content = fs::read(root.join("d0/f2")).unwrap();
        content[5000] ^= 1;
        fs::write(root.join("d0/f2"), content).unwrap();
        fs::copy(root.join("d0/f3"), root.join(SMALL)).unwrap();
        let (lost, example) = files.lost(&progress);
        assert_eq!((lost, example.as_str()), (4, "d0/f0 is missing"));
    }

    #[test]
    fn a_replacement_that_fails_keeps_the_old_file() {
        let directory = TempDir::new().unwrap();
        let root = directory.path().join("full");
        let op = op(FillWith::Bytes);
        let mut files = FillingFiles::new(root.clone(), &op, 7).unwrap();
        fs::create_dir(root.join("small.new")).unwrap();
        assert!(files.replace().is_err());
        assert_eq!(files.lost(&Progress::default()), (0, String::new()));
    }
}
