//! Performs the steps of a sequence and reads the files that are left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use model::FileStep;
use nix::fcntl::{FallocateFlags, OFlag, fallocate};
use nix::unistd::close;
use sys::fs::mapping::Mapping;
use sys::io::caches::{sync_filesystem, sync_range};

use super::expected::{FoundBlock, FoundFile, FoundFiles};
use super::{BLOCK, block_content};
use crate::OpError;
use crate::error::OpContext;

/// Name of the file by which a recovered filesystem is tried.
const PROBE: &str = "written-after-the-cut";
/// Name of the extended attribute of step `setxattr`.
const ATTRIBUTE: &str = "user.step";
/// Maximum number of entries that are read of a directory. The order of damaged ones may be a ring.
const MOST_ENTRIES: usize = 1000;

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
        FileStep::Write(path, blocks) => write_new(&at(path), *blocks, number),
        FileStep::Overwrite(path) => overwrite(&at(path), number),
        FileStep::WriteAt(path, first, blocks) => write_at(&at(path), *first, *blocks, number),
        FileStep::Append(path, blocks) => append(&at(path), *blocks, number),
        FileStep::MapWrite(path) => map_write(&at(path), number),
        FileStep::Allocate(path, blocks) => allocate(&at(path), *blocks),
        FileStep::Punch(path) => punch(&at(path)),
        FileStep::SetAttribute(path) => {
            named("setxattr", path, xattr::set(at(path), ATTRIBUTE, &number.to_le_bytes()))
        }
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
        FileStep::SyncRange(path) => {
            let file = File::open(at(path));
            named("sync_file_range", path, file.and_then(|file| sync_range(&file, 0, 0)))
        }
        FileStep::Sync => named("syncfs", ".", sync_filesystem(root)),
    }
}

fn contents(step: u32, blocks: impl Iterator<Item = u32>) -> Vec<u8> {
    blocks.flat_map(|block| block_content(step, block)).collect()
}

fn write_new(path: &Path, blocks: u32, number: u32) -> Result<(), OpError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.with_call("open", path)?;
    file.write_all(&contents(number, 0..blocks)).with_call("write", path)?;
    close(file).with_call("close", path)
}

fn overwrite(path: &Path, number: u32) -> Result<(), OpError> {
    let file = OpenOptions::new().write(true).open(path).with_call("open", path)?;
    let blocks = (file.metadata().with_call("fstat", path)?.len() / BLOCK as u64) as u32;
    file.write_all_at(&contents(number, 0..blocks), 0).with_call("pwrite", path)?;
    close(file).with_call("close", path)
}

fn write_at(path: &Path, first: u32, blocks: u32, number: u32) -> Result<(), OpError> {
    let file = OpenOptions::new().write(true).open(path).with_call("open", path)?;
    let content = contents(number, first..first + blocks);
    file.write_all_at(&content, u64::from(first) * BLOCK as u64).with_call("pwrite", path)?;
    close(file).with_call("close", path)
}

fn map_write(path: &Path, number: u32) -> Result<(), OpError> {
    let file = OpenOptions::new().read(true).write(true).open(path).with_call("open", path)?;
    let size = file.metadata().with_call("fstat", path)?.len();
    let content = contents(number, 0..(size / BLOCK as u64) as u32);
    let mapping = Mapping::new(&file, size, true);
    mapping.and_then(|mapping| mapping.write(0, &content)).with_call("mmap", path)?;
    close(file).with_call("close", path)
}

fn allocate(path: &Path, blocks: u32) -> Result<(), OpError> {
    let file = OpenOptions::new().write(true).open(path).with_call("open", path)?;
    let size = file.metadata().with_call("fstat", path)?.len();
    let more = i64::from(blocks) * BLOCK as i64;
    fallocate(&file, FallocateFlags::empty(), size as i64, more).with_call("fallocate", path)?;
    close(file).with_call("close", path)
}

fn punch(path: &Path) -> Result<(), OpError> {
    let file = OpenOptions::new().write(true).open(path).with_call("open", path)?;
    let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    fallocate(&file, how, 0, BLOCK as i64).with_call("fallocate", path)?;
    close(file).with_call("close", path)
}

fn append(path: &Path, blocks: u32, number: u32) -> Result<(), OpError> {
    let mut file = OpenOptions::new().append(true).open(path).with_call("open", path)?;
    let first = (file.metadata().with_call("fstat", path)?.len() / BLOCK as u64) as u32;
    file.write_all(&contents(number, first..first + blocks)).with_call("write", path)?;
    close(file).with_call("close", path)
}

/// Reads the files and directories of these names below a directory, each at most up to `limit`
/// blocks and one byte.
pub fn find_files<'a>(root: &Path, names: impl Iterator<Item = &'a str>, limit: u32) -> FoundFiles {
    let found = names.filter_map(|name| Some((name.to_owned(), find(&root.join(name), limit)?)));
    found.collect()
}

fn find(path: &Path, limit: u32) -> Option<FoundFile> {
    let in_call = |call: &'static str| move |error: io::Error| (call, error);
    let read = || -> Result<FoundFile, (&'static str, io::Error)> {
        let kind = fs::symlink_metadata(path).map_err(in_call("stat"))?.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path).map_err(in_call("readlink"))?;
            return Ok(FoundFile::Symlink(target.display().to_string()));
        }
        if kind.is_dir() {
            let mut entries = fs::read_dir(path).map_err(in_call("opendir"))?.take(MOST_ENTRIES);
            entries.try_for_each(|entry| entry.map(drop)).map_err(in_call("readdir"))?;
            return Ok(FoundFile::Directory);
        }
        if !kind.is_file() {
            let error = "it is no regular file".to_owned();
            return Ok(FoundFile::Unreadable { call: "open", error });
        }
        let mut bytes = Vec::new();
        let most = u64::from(limit) * BLOCK as u64 + 1;
        // Between the two calls, another process may replace the file.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.map_err(in_call("open"))?;
        file.take(most).read_to_end(&mut bytes).map_err(in_call("read"))?;
        let blocks = bytes.chunks(BLOCK).map(recognise).collect();
        let attribute = attribute(path).map_err(in_call("getxattr"))?;
        Ok(FoundFile::File { size: bytes.len() as u64, blocks, attribute })
    };
    match read() {
        Ok(found) => Some(found),
        Err((_, error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err((call, error)) => {
            Some(FoundFile::Unreadable { call, error: sys::errno::describe(&error) })
        }
    }
}

/// Returns the step that set the extended attribute of a file, or 0 if it has none.
fn attribute(path: &Path) -> io::Result<u32> {
    match xattr::get(path, ATTRIBUTE) {
        Ok(value) => Ok(value
            .map_or(0, |value| value.as_slice().try_into().map_or(u32::MAX, u32::from_le_bytes))),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(0),
        Err(error) => Err(error),
    }
}

/// Returns true if a sector contains a part of a block that one of the first `steps` steps wrote.
pub fn is_content(sector: &[u8], steps: usize) -> bool {
    let steps = 1..=steps as u32;
    matches!(recognise(sector), FoundBlock::Written { step, .. } if steps.contains(&step))
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
pub fn write_probe(root: &Path) -> Result<(), OpError> {
    let path = &root.join(PROBE);
    let file = File::create(path).with_call("open", path)?;
    file.write_all_at(&block_content(u32::MAX, 0), 0).with_call("pwrite", path)?;
    file.sync_all().with_call("fsync", path)?;
    close(file).with_call("close", path)?;
    fs::remove_file(path).with_call("unlink", path)
}
