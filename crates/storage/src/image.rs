//! The image file that a campaign's cells are put on, one after the other.
//!
//! Written completely once, so that no result holds the time in which the filesystem below allocates
//! blocks. Never removed on its own: a resumed campaign goes on with the same blocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Bytes, SeededRng};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::{DeviceRefusal, ProvisionError, space};

/// How much of it is written at a time.
pub const CHUNK: usize = 1 << 20;
/// After so many bytes they are flushed, so that progress is true and an interruption is quick.
const FLUSH_EVERY: u64 = 32 << 20;
const ADVICE: &str = "give a smaller --size, or a --work-dir on another filesystem";

/// A completely written image file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    path: PathBuf,
    size: Bytes,
}

impl Image {
    /// The image file of the given path and size: the one that is there, where it is complete, or a
    /// new one. `progress` gets the bytes written so far and may stop the work.
    ///
    /// The bytes are pseudo-random: zeros would be left out by a filesystem or disk below that
    /// compresses.
    ///
    /// # Errors
    /// When there is no room (size and 5 % more), something fails, or `progress` says stop; nothing
    /// is left behind then.
    pub fn prepare(
        path: &Path,
        size: Bytes,
        progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
    ) -> Result<Self, ProvisionError> {
        let image = Self {
            path: path.to_owned(),
            size,
        };
        if image.is_complete() {
            return Ok(image);
        }
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(ProvisionError::io("create", directory))?;
        image.remove()?;
        Self::check_free_space(directory, size)?;
        // Only a complete file ever has the image's name.
        let partial = path.with_extension("partial");
        let written = write_file(&partial, size, progress);
        if written.is_err() {
            // The reason is in `written`; a file that cannot be removed either adds nothing to it.
            let _ = fs::remove_file(&partial);
        }
        written?;
        fs::rename(&partial, path).map_err(ProvisionError::io("rename", &partial))?;
        Ok(image)
    }

    /// Checks that an existing directory has room for an image of this size and 5 % more.
    ///
    /// # Errors
    /// When it has not.
    pub fn check_free_space(directory: &Path, size: Bytes) -> Result<(), ProvisionError> {
        space::require_free_space(directory, size, ADVICE)
    }

    /// Writes all of it anew, over the blocks that it has; `content` gives it chunk by chunk, from its beginning.
    ///
    /// # Errors
    /// When it cannot be written, `content` fails, or `progress` says stop.
    pub fn rewrite(
        &self,
        content: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
        progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
    ) -> Result<(), ProvisionError> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let mut file = file.map_err(ProvisionError::io("open", &self.path))?;
        write_content(&mut file, &self.path, self.size, content, progress)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there as it was made.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_unchanged(&self) -> Result<(), DeviceRefusal> {
        match self.is_complete() {
            true => Ok(()),
            false => Err(DeviceRefusal::Disappeared {
                path: self.path.clone(),
            }),
        }
    }

    /// How large it is.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Removes the file, and what an interrupted run left of one.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
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

    /// A plain file of the right size under the final name was written to its end. One that has another name
    /// is kept by somebody under that.
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

/// Takes the pages out of the cache again, so that cells begin with the memory they would have had.
/// A mere hint: where the kernel does not follow it, cells run all the same.
fn forget(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

/// What an image holds before anything was written to it.
#[derive(Debug)]
pub struct ImageFill(SeededRng);

impl ImageFill {
    /// That of an image of this size, from its beginning.
    pub fn for_size(size: Bytes) -> Self {
        Self(SeededRng::substream(size.0, "image"))
    }

    /// The next bytes; but for the last, a multiple of eight.
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
    fn a_complete_image_is_used_again_and_any_other_is_made_anew() {
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
    fn stopping_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.img");
        let stopped = Image::prepare(&path, Bytes::mib(4), &mut |_| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(ProvisionError::Interrupted)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn too_little_room_is_said_before_anything_is_written() {
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
