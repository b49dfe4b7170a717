//! Ageing of a directory on a mounted filesystem.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use model::{PerMille, SeededRng, SpaceUsage};
use nix::sys::statvfs::statvfs;
use sys::fs::extents::extents;
use sys::io::caches;

use crate::age::AGE_DIRECTORY;
use crate::age::target::{AgedFile, AgeingTarget};
use crate::error::{OpContext, OpError};
use crate::measure::fragmentation::{BLOCK, score};
use crate::measure::meter::statfs;

/// Size of the random, incompressible file content, in bytes. Each file starts at a different
/// offset in it.
const CONTENT: usize = 1 << 20;
/// Temporary name of a file during its rewrite.
const TEMP_NAME: &str = "new";

/// A directory that contains all aged files.
pub struct OpenDirectory {
    root: PathBuf,
    paths: Vec<PathBuf>,
    content: Vec<u8>,
}

impl OpenDirectory {
    /// Prepares a subdirectory, which is created later. The seed determines the file content.
    pub fn new(root: &Path, seed: u64) -> Self {
        let mut rng = SeededRng::substream(seed, "content of aged files");
        let words = (0..CONTENT / 8).flat_map(|_| rng.next_u64().to_le_bytes());
        Self { root: root.to_owned(), paths: Vec::new(), content: words.collect() }
    }

    fn path(&self, file: AgedFile) -> PathBuf {
        self.paths[file.directory as usize].join(format!("f{}", file.name))
    }

    /// Writes a new file and removes it on failure.
    fn write(&self, path: &Path, file: AgedFile) -> Result<(), OpError> {
        let mut options = OpenOptions::new();
        let handle = options.write(true).create_new(true).open(path);
        let written = self.fill(handle.with_call("open", path)?, file).with_call("write", path);
        if written.is_err() {
            // If the removal fails too, the next call reports the error.
            let _ = fs::remove_file(path);
        }
        written
    }

    fn fill(&self, mut handle: File, file: AgedFile) -> std::io::Result<()> {
        let mut left = file.size;
        let mut begin = file.name as usize * 4099 % CONTENT;
        while left > 0 {
            let length = left.min((CONTENT - begin) as u64) as usize;
            handle.write_all(&self.content[begin..begin + length])?;
            left -= length as u64;
            begin = 0;
        }
        Ok(())
    }
}

impl AgeingTarget for OpenDirectory {
    fn make_directories(&mut self, parents: &[u32]) -> Result<(), OpError> {
        for (number, parent) in parents.iter().enumerate() {
            let path = match number {
                0 => self.root.join(AGE_DIRECTORY),
                _ => self.paths[*parent as usize].join(format!("d{number}")),
            };
            fs::create_dir(&path).with_call("mkdir", &path)?;
            self.paths.push(path);
        }
        Ok(())
    }

    fn create(&mut self, file: AgedFile) -> Result<(), OpError> {
        self.write(&self.path(file), file)
    }

    fn rewrite(&mut self, file: AgedFile) -> Result<(), OpError> {
        let path = self.path(file);
        let anew = path.with_file_name(TEMP_NAME);
        self.write(&anew, file)?;
        fs::rename(&anew, &path).with_call("rename", &path).inspect_err(|_| {
            // If the removal fails too, the next call reports the error.
            let _ = fs::remove_file(&anew);
        })
    }

    fn remove(&mut self, file: AgedFile) -> Result<(), OpError> {
        let path = self.path(file);
        fs::remove_file(&path).with_call("unlink", &path)
    }

    fn sync(&mut self) -> Result<SpaceUsage, OpError> {
        caches::sync_filesystem(&self.root).with_call("syncfs", &self.root)?;
        let unknown = std::io::Error::from_raw_os_error(nix::libc::ENOSYS);
        statfs(&self.root).ok_or(unknown).with_call("statfs", &self.root)
    }

    fn block(&mut self) -> Result<u64, OpError> {
        let stat = statvfs(&self.root).with_call("statfs", &self.root)?;
        Ok(stat.fragment_size().max(512))
    }

    fn layout(&mut self, files: &mut dyn Iterator<Item = AgedFile>) -> Option<PerMille> {
        let (mut behind, mut all) = (0, 0);
        for file in files.filter(|file| file.size > BLOCK) {
            let handle = File::open(self.path(file)).ok()?;
            let (more, of) = score(&extents(&handle).ok()?);
            behind += more;
            all += of;
        }
        (all > 0).then(|| PerMille::from_ratio(behind, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_and_removes_files_in_a_separate_tree() {
        let place = tempfile::tempdir().unwrap();
        let mut directory = OpenDirectory::new(place.path(), 1);
        directory.make_directories(&[0, 0, 1]).unwrap();
        let file = AgedFile { name: 7, directory: 2, size: 3 << 20 };
        directory.create(file).unwrap();
        let path = place.path().join("aged.dir/d1/d2/f7");
        assert_eq!(fs::metadata(&path).unwrap().len(), 3 << 20);
        directory.rewrite(AgedFile { size: 5, ..file }).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 5);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(directory.create(file).is_err(), "it is there");
        directory.remove(file).unwrap();
        assert!(directory.sync().unwrap().total.0 > 0);
    }
}
