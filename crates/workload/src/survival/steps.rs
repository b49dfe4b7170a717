//! Performs the steps of a sequence and reads the files that are left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::FileStep;
use nix::fcntl::{FallocateFlags, fallocate};
use sys::fs::mapping::Mapping;

use super::expected::{FoundBlock, FoundFile, FoundFiles};
use super::{BLOCK, block_content};
use crate::OpError;

/// Name of the file by which a recovered filesystem is tried.
const PROBE: &str = "written-after-the-cut";

/// Performs one step below a directory. `number` identifies the step within its sequence and marks
/// its data.
///
/// # Errors
/// Returns the error of the system call.
pub fn perform_step(root: &Path, step: &FileStep, number: u32) -> Result<(), OpError> {
    let at = |path: &str| root.join(path);
    let named = |call: &'static str, path: &str, outcome: io::Result<()>| {
        outcome.map_err(|error| OpError::System { call, path: at(path), offset: None, error })
    };
    match step {
        FileStep::Mkdir(path) => named("mkdir", path, fs::create_dir(at(path))),
        FileStep::Write(path, blocks) => {
            named("write", path, write_new(&at(path), *blocks, number))
        }
        FileStep::Overwrite(path) => named("pwrite", path, overwrite(&at(path), number)),
        FileStep::MapWrite(path) => named("mmap", path, map_write(&at(path), number)),
        FileStep::Allocate(path, blocks) => named("fallocate", path, allocate(&at(path), *blocks)),
        FileStep::Append(path, blocks) => named("write", path, append(&at(path), *blocks, number)),
        FileStep::Truncate(path, blocks) => {
            let size = u64::from(*blocks) * BLOCK as u64;
            let file = OpenOptions::new().write(true).open(at(path));
            named("ftruncate", path, file.and_then(|file| file.set_len(size)))
        }
        FileStep::Rename(from, to) => named("rename", from, fs::rename(at(from), at(to))),
        FileStep::Link(from, to) => named("link", to, fs::hard_link(at(from), at(to))),
        FileStep::Symlink(target, name) => {
            named("symlink", name, std::os::unix::fs::symlink(target, at(name)))
        }
        FileStep::Unlink(path) => named("unlink", path, fs::remove_file(at(path))),
        FileStep::Rmdir(path) => named("rmdir", path, fs::remove_dir(at(path))),
        FileStep::Fsync(path) => {
            named("fsync", path, File::open(at(path)).and_then(|file| file.sync_all()))
        }
        FileStep::Fdatasync(path) => {
            named("fdatasync", path, File::open(at(path)).and_then(|file| file.sync_data()))
        }
        FileStep::Sync => named("syncfs", ".", sys::io::caches::sync_filesystem(root)),
    }
}

fn contents(step: u32, blocks: impl Iterator<Item = u32>) -> Vec<u8> {
    blocks.flat_map(|block| block_content(step, block)).collect()
}

fn write_new(path: &Path, blocks: u32, number: u32) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?
        .write_all(&contents(number, 0..blocks))
}

fn overwrite(path: &Path, number: u32) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let blocks = (file.metadata()?.len() / BLOCK as u64) as u32;
    file.write_all_at(&contents(number, 0..blocks), 0)
}

fn map_write(path: &Path, number: u32) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let blocks = (size / BLOCK as u64) as u32;
    Mapping::new(&file, size, true)?.write(0, &contents(number, 0..blocks))
}

fn allocate(path: &Path, blocks: u32) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let (size, more) = (file.metadata()?.len(), u64::from(blocks) * BLOCK as u64);
    fallocate(&file, FallocateFlags::empty(), size as i64, more as i64)?;
    Ok(())
}

fn append(path: &Path, blocks: u32, number: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    let first = (file.metadata()?.len() / BLOCK as u64) as u32;
    file.write_all(&contents(number, first..first + blocks))
}

/// Reads the files and directories of these names below a directory, each at most up to `limit`
/// blocks and one byte.
pub fn find_files<'a>(root: &Path, names: impl Iterator<Item = &'a str>, limit: u32) -> FoundFiles {
    let found = names.filter_map(|name| Some((name.to_owned(), find(&root.join(name), limit)?)));
    found.collect()
}

fn find(path: &Path, limit: u32) -> Option<FoundFile> {
    let read = || -> io::Result<FoundFile> {
        let kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path)?;
            return Ok(FoundFile::Symlink(target.display().to_string()));
        }
        if kind.is_dir() {
            fs::read_dir(path)?.try_for_each(|entry| entry.map(drop))?;
            return Ok(FoundFile::Directory);
        }
        let mut bytes = Vec::new();
        let most = u64::from(limit) * BLOCK as u64 + 1;
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        let blocks = bytes.chunks(BLOCK).map(recognise).collect();
        Ok(FoundFile::File { size: bytes.len() as u64, blocks })
    };
    match read() {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(FoundFile::Unreadable(sys::errno::describe(&error))),
    }
}

fn recognise(bytes: &[u8]) -> FoundBlock {
    let (words, rest) = bytes.as_chunks::<8>();
    let first = words.first().map_or(0, |word| u64::from_le_bytes(*word));
    let alike = words.iter().all(|word| u64::from_le_bytes(*word) == first);
    let rest_alike = first.to_le_bytes().starts_with(rest);
    match (alike && rest_alike, first) {
        (true, 0) => FoundBlock::Zeros,
        (true, word) => FoundBlock::Written { step: (word >> 32) as u32, block: word as u32 },
        (false, _) => FoundBlock::Other,
    }
}

/// Writes, syncs and removes a file, to show that the filesystem can be used.
///
/// # Errors
/// Returns the first error.
pub fn write_probe(root: &Path) -> io::Result<()> {
    let path = root.join(PROBE);
    let file = File::create(&path)?;
    file.write_all_at(&block_content(u32::MAX, 0), 0)?;
    file.sync_all()?;
    drop(file);
    fs::remove_file(path)
}
