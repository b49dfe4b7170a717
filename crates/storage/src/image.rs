//! The image file that contains the filesystem of each cell in turn.
//!
//! Written completely once, so that results exclude the time the underlying filesystem needs to
//! allocate blocks. Removed only on request: a resumed campaign continues with the same blocks.

pub(crate) mod loop_attachment;
pub(crate) mod loop_device;
pub(crate) mod loop_node;
pub(crate) mod raid0;
pub(crate) mod space;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Bytes, SeededRng};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::{DeviceRefusal, ProvisionError};

/// Bytes written at a time.
pub const CHUNK: usize = 1 << 20;
/// Bytes between flushes, so that progress is accurate and interrupting is quick.
const FLUSH_EVERY: u64 = 32 << 20;
const ADVICE: &str = "give a smaller --size, or a --work-dir on another filesystem";

/// A completely written image file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    path: PathBuf,
    size: Bytes,
}

impl Image {
    /// Returns the image file of the given path and size; creates it unless a complete one exists.
    /// `progress` receives the bytes written so far and may stop the work.
    ///
    /// The bytes are pseudo-random, because a filesystem or disk that compresses would not store
    /// zeros.
    ///
    /// # Errors
    /// Returns an error if space is insufficient (size and 5 % more), if a step fails, or if
    /// `progress` stops the work. No partial file remains.
    pub fn prepare(
        path: &Path,
        size: Bytes,
        progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
    ) -> Result<Self, ProvisionError> {
        let image = Self { path: path.to_owned(), size };
        if image.is_complete() {
            return Ok(image);
        }
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(ProvisionError::io("create", directory))?;
        image.remove()?;
        Self::check_free_space(directory, size)?;
        // A file gets the image's name only when it is complete.
        let partial = path.with_extension("partial");
        let written = write_file(&partial, size, progress);
        if written.is_err() {
            // `written` contains the cause. A failure to remove the file adds no information.
            let _ = fs::remove_file(&partial);
        }
        written?;
        fs::rename(&partial, path).map_err(ProvisionError::io("rename", &partial))?;
        Ok(image)
    }

    /// Checks that an existing directory has space for an image of this size plus 5 %.
    ///
    /// # Errors
    /// Returns an error if the space is insufficient.
    pub fn check_free_space(directory: &Path, size: Bytes) -> Result<(), ProvisionError> {
        space::require_free_space(directory, size, ADVICE)
    }

    /// Rewrites the image in place; `content` fills it in chunks, from the beginning.
    ///
    /// # Errors
    /// Returns an error if the image cannot be written, if `content` fails, or if `progress` stops
    /// the work.
    pub fn rewrite(
        &self,
        content: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
        progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
    ) -> Result<(), ProvisionError> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let mut file = file.map_err(ProvisionError::io("open", &self.path))?;
        write_content(&mut file, &self.path, self.size, content, progress)
    }

    /// Returns the path of the image.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the image still exists and is complete.
    ///
    /// # Errors
    /// Returns an error if it does not.
    pub fn check_unchanged(&self) -> Result<(), DeviceRefusal> {
        match self.is_complete() {
            true => Ok(()),
            false => Err(DeviceRefusal::Disappeared { path: self.path.clone() }),
        }
    }

    /// Returns the size of the image.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Removes the image file and any partial file of an interrupted run.
    ///
    /// # Errors
    /// Returns an error if an existing file cannot be removed.
    pub fn remove(&self) -> Result<(), ProvisionError> {
        for file in [&self.path, &self.path.with_extension("partial")] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ProvisionError::io("remove", file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns true if the image is complete: only a complete file gets the final name. A file with
    /// a second hard link is not reused, because it is in use under that other name.
    fn is_complete(&self) -> bool {
        let is_ours = |m: fs::Metadata| m.is_file() && m.len() == self.size.0 && m.nlink() == 1;
        fs::symlink_metadata(&self.path).is_ok_and(is_ours)
    }
}

fn write_file(
    path: &Path,
    size: Bytes,
    progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
) -> Result<(), ProvisionError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(ProvisionError::io("create", path))?;
    let mut blank = ImageFill::for_size(size);
    let content = &mut |chunk: &mut [u8]| {
        blank.fill(chunk);
        Ok(())
    };
    write_content(&mut file, path, size, content, progress)
}

fn write_content(
    file: &mut File,
    path: &Path,
    size: Bytes,
    content: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
    progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
) -> Result<(), ProvisionError> {
    let fail = |doing| ProvisionError::io(doing, path);
    let mut buffer = vec![0; CHUNK];
    let mut written = 0;
    let mut flushed = 0;
    while written < size.0 {
        let rest = usize::try_from(size.0 - written).unwrap_or(CHUNK);
        let chunk = &mut buffer[..rest.min(CHUNK)];
        content(chunk).map_err(fail("fill"))?;
        file.write_all(chunk).map_err(fail("write"))?;
        written += chunk.len() as u64;
        if written - flushed >= FLUSH_EVERY {
            file.sync_data().map_err(fail("flush"))?;
            flushed = written;
        }
        if progress(Bytes(written)).is_break() {
            return Err(ProvisionError::Interrupted);
        }
    }
    file.sync_all().map_err(fail("flush"))?;
    forget(file);
    Ok(())
}

/// Drops the pages of the file from the cache, so that cells start with the usual memory. Only a
/// hint: the campaign also works if the kernel ignores it.
fn forget(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

/// The content of an image before first use.
#[derive(Debug)]
pub struct ImageFill(SeededRng);

impl ImageFill {
    /// Creates the content of an image of this size.
    pub fn for_size(size: Bytes) -> Self {
        Self(SeededRng::substream(size.0, "image"))
    }

    /// Returns the next bytes. Every call except the last must request a multiple of eight.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_mut(8) {
            word.copy_from_slice(&self.0.next_u64().to_le_bytes()[..word.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

    #[test]
    fn the_file_is_whole_private_and_not_sparse() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("work/7/disk.img");
        let mut seen = Vec::new();
        let image = Image::prepare(&path, Bytes(3_000_001), &mut |done| {
            seen.push(done.0);
            GO_ON
        })
        .unwrap();
        let metadata = fs::metadata(image.path()).unwrap();
        assert_eq!(metadata.len(), 3_000_001);
        assert!(metadata.blocks() * 512 >= 3_000_001, "sparse");
        assert_eq!(metadata.mode() & 0o777, 0o600);
        assert!(seen.is_sorted() && seen.last() == Some(&3_000_001));
    }

    #[test]
    fn reuses_a_complete_image_and_recreates_any_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.img");
        let make = |size| Image::prepare(&path, Bytes(size), &mut |_| GO_ON).unwrap();
        make(8192);
        fs::write(&path, [7; 8192]).unwrap();
        make(8192);
        assert_eq!(fs::read(&path).unwrap(), [7; 8192]);
        make(4096);
        assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
        assert_ne!(fs::read(&path).unwrap(), [7; 4096]);
    }

    #[test]
    fn an_interrupted_image_leaves_no_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.img");
        let stopped = Image::prepare(&path, Bytes::mib(4), &mut |_| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(ProvisionError::Interrupted)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn reports_insufficient_space_before_writing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.img");
        let error = Image::prepare(&path, Bytes(1 << 60), &mut |_| GO_ON).unwrap_err();
        assert!(error.to_string().contains("--work-dir"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        let path = directory.path().join("disk.img");
        symlink(&precious, &path).unwrap();
        symlink(&precious, path.with_extension("partial")).unwrap();
        let image = Image::prepare(&path, Bytes(4096), &mut |_| GO_ON).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        image.remove().unwrap();
        assert!(!path.exists());
        image.remove().expect("removing twice is no error");
    }
}
