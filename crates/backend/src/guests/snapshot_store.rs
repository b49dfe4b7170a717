//! Snapshots of guests on disk, so that a kind of guest boots once on this machine and not once in
//! each campaign.
//!
//! An entry is a zstd stream with a checksum. It holds the console output and the state of the
//! devices, each after its length, the size of the memory, and the parts of the memory that are not
//! zero, each after its offset and length. Numbers have 8 bytes, the lowest first.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use model::Bytes;
use sys::fs::memfd;
use sys::fs::safe_path::{SafeDir, UntrustedPath};

use crate::cache::cell_key::CellKey;
use crate::guests::snapshot::Snapshot;

/// Maximum size of all entries. An entry has some ten megabytes.
const LIMIT: Bytes = Bytes::mib(1024);
/// Maximum length of the console output, of the state, and of a part, in bytes.
const MAX_PART: u64 = 1 << 28;
/// Length of the parts of the memory.
const PART: usize = 1 << 16;
const ONLY_THE_USER: u32 = 0o600;
/// Level of the compression: the fastest one that does not store.
const LEVEL: i32 = 1;

/// A directory of snapshots, each named after the kind of its guest.
#[derive(Debug)]
pub struct SnapshotStore {
    directory: SafeDir,
    limit: Bytes,
}

impl SnapshotStore {
    /// Opens a private directory of this user and creates it unless it exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or is not safe from other users.
    pub fn open(path: &Path) -> Result<Self, UntrustedPath> {
        Ok(Self { directory: SafeDir::make(path)?, limit: LIMIT })
    }

    /// Returns the snapshot of a kind. A damaged entry counts as missing.
    pub(crate) fn load(&self, kind: CellKey) -> Option<Snapshot> {
        let file = self.directory.file(kind.to_string()).ok()??;
        // An entry whose time cannot be set is only removed earlier.
        let _ = file.set_modified(SystemTime::now());
        read(file).ok()
    }

    /// Stores a snapshot. Removes the least recently used ones above the limit.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(crate) fn save(&self, kind: CellKey, snapshot: &Snapshot) -> io::Result<()> {
        let content = content(snapshot)?;
        let put = self.directory.replace(kind.to_string(), ONLY_THE_USER, &content);
        put.map_err(io::Error::other)?;
        self.make_room();
        Ok(())
    }

    /// Removes the snapshot of a kind, from which no guest resumes.
    pub(crate) fn remove(&self, kind: CellKey) {
        // If it stays, each campaign tries it once.
        let _ = self.directory.remove(kind.to_string());
    }

    fn make_room(&self) {
        let found = fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let mut entries: Vec<_> = found
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.file_name()))
            })
            .collect();
        entries.sort();
        let mut used: u64 = entries.iter().map(|(_, size, _)| size).sum();
        // The newest entry stays, however large it is.
        entries.pop();
        for (_, size, name) in entries {
            if used > self.limit.0 && self.directory.remove(name).is_ok() {
                used -= size;
            }
        }
    }
}

fn content(snapshot: &Snapshot) -> io::Result<Vec<u8>> {
    let mut out = zstd::Encoder::new(Vec::new(), LEVEL)?;
    out.include_checksum(true)?;
    write_part(&mut out, &snapshot.console)?;
    write_part(&mut out, &fs::read(memfd::path(&snapshot.state))?)?;
    out.write_all(&snapshot.memory.metadata()?.len().to_le_bytes())?;
    memfd::for_each_part(&snapshot.memory, PART, |offset, part| {
        if part.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        out.write_all(&offset.to_le_bytes())?;
        write_part(&mut out, part)
    })?;
    out.finish()
}

fn write_part(out: &mut impl Write, part: &[u8]) -> io::Result<()> {
    out.write_all(&(part.len() as u64).to_le_bytes())?;
    out.write_all(part)
}

fn read(file: File) -> io::Result<Snapshot> {
    let mut from = zstd::Decoder::new(file)?;
    let mut part = Vec::new();
    read_part(&mut from, &mut part)?;
    let console = part.clone();
    read_part(&mut from, &mut part)?;
    let state = memfd::memfd("state")?;
    state.write_all_at(&part, 0)?;
    let memory = memfd::memfd("memory")?;
    memory.set_len(read_number(&mut from)?.ok_or(io::ErrorKind::UnexpectedEof)?)?;
    while let Some(offset) = read_number(&mut from)? {
        read_part(&mut from, &mut part)?;
        memory.write_all_at(&part, offset)?;
    }
    Ok(Snapshot { memory, state, console })
}

/// Returns the next number, or `None` at the end.
fn read_number(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    if from.read(&mut bytes[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut bytes[1..])?;
    Ok(Some(u64::from_le_bytes(bytes)))
}

fn read_part(from: &mut impl Read, part: &mut Vec<u8>) -> io::Result<()> {
    let length = read_number(from)?.filter(|length| *length <= MAX_PART);
    part.resize(length.ok_or(io::ErrorKind::InvalidData)? as usize, 0);
    from.read_exact(part)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn kind(number: u8) -> CellKey {
        CellKey::sha256(&[number])
    }

    fn snapshot() -> Snapshot {
        let (memory, state) = (memfd::memfd("memory").unwrap(), memfd::memfd("state").unwrap());
        memory.set_len(1 << 30).unwrap();
        memory.write_all_at(b"program", 4096).unwrap();
        memory.write_all_at(&[0; 3 * PART], 1 << 20).unwrap();
        memory.write_all_at(b"end", (1 << 30) - 3).unwrap();
        state.write_all_at(b"state", 0).unwrap();
        Snapshot { memory, state, console: b"it boots".to_vec() }
    }

    fn store(limit: Bytes) -> (tempfile::TempDir, SnapshotStore) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SnapshotStore::open(&directory.path().join("snapshots")).unwrap();
        store.limit = limit;
        (directory, store)
    }

    #[test]
    fn a_snapshot_is_read_as_it_was_saved_without_its_zeros() {
        let (_directory, store) = store(LIMIT);
        assert!(store.load(kind(1)).is_none());
        store.save(kind(1), &snapshot()).unwrap();
        let read = store.load(kind(1)).unwrap();
        assert_eq!(read.console, b"it boots");
        assert_eq!(fs::read(memfd::path(&read.state)).unwrap(), b"state");
        let metadata = read.memory.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 30);
        assert!(metadata.blocks() * 512 <= 2 * PART as u64, "{}", metadata.blocks());
        let mut bytes = [0; 7];
        read.memory.read_exact_at(&mut bytes, 4096).unwrap();
        assert_eq!(&bytes, b"program");
        read.memory.read_exact_at(&mut bytes, (1 << 30) - 7).unwrap();
        assert_eq!(&bytes, b"\0\0\0\0end");
    }

    #[test]
    fn a_changed_or_short_entry_is_missing() {
        let (_directory, store) = store(LIMIT);
        store.save(kind(1), &snapshot()).unwrap();
        let path = store.directory.path().join(kind(1).to_string());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 1;
            fs::write(&path, &wrong).unwrap();
            // Some bits of the header do not change the content.
            let read = store.load(kind(1)).map(|read| content(&read).unwrap());
            assert!(read.is_none_or(|read| read == whole), "byte {at} of {}", whole.len());
            fs::write(&path, &whole[..at]).unwrap();
            assert!(store.load(kind(1)).is_none(), "{at} of {} bytes", whole.len());
        }
        fs::write(&path, &whole).unwrap();
        assert!(store.load(kind(1)).is_some());
    }

    #[test]
    fn entries_above_the_limit_go_the_least_recently_used_first() {
        let (_directory, store) = store(Bytes(1));
        store.save(kind(1), &snapshot()).unwrap();
        assert!(store.load(kind(1)).is_some(), "the newest stays");
        store.save(kind(2), &snapshot()).unwrap();
        assert!(store.load(kind(1)).is_none());
        assert!(store.load(kind(2)).is_some());
    }
}
