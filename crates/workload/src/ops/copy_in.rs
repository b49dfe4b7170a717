//! Copies from the campaign's source into the filesystem by reading and writing. Without a source,
//! content is generated in memory.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use model::{Bytes, SyncAtEnd};
use nix::errno::Errno;
use twox_hash::XxHash64;

use crate::data::expected_content::{ExpectedFile, block_checksum};
use crate::data::pattern::BLOCK;
use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::copy::require_inodes;
use crate::ops::data;
use crate::source::{ScannedSource, SourceTree, failed};
use crate::workspace::{CellWorkspace, PlantedTree};

/// Copies a tree and records a checksum of each file as read, so that copies can be verified.
pub fn tree(
    source: &ScannedSource,
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    block: Bytes,
) -> Result<(), OpError> {
    let outcome = copy_tree(source, ws, stats, name, block.as_usize());
    if let Err(OpError::Unsupported { reason }) = &outcome {
        ws.discard_failed_tree(name, reason);
    }
    outcome
}

fn copy_tree(
    source: &ScannedSource,
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    block: usize,
) -> Result<(), OpError> {
    let SourceTree { top, shape } = source.tree(name);
    let target = ws.path(name);
    let mut buffer = vec![0; block];
    let mut sums = Vec::with_capacity(shape.files.len());
    require_inodes(ws, shape.entries() + 1)?;
    stats.start_timed(shape.entries() + 1);
    fs::create_dir(&target).with_call("mkdir", &target)?;
    stats.finish_op();
    for directory in &shape.directories {
        let path = target.join(directory);
        let made = fs::create_dir(&path);
        named(made, directory)?.with_call("mkdir", &path)?;
        stats.finish_op();
    }
    for file in &shape.files {
        let path = target.join(&file.path);
        let to = named(File::create_new(&path), &file.path)?.with_call("open", &path)?;
        let from = top.join(&file.path);
        let copy = Copy { source, from: &from, to: &to, target: &path, size: file.size.0 };
        let mut hash = XxHash64::with_seed(0);
        copy.run(&mut buffer, stats, |data| hash.write(data))?;
        sums.push(hash.finish());
    }
    let tree = PlantedTree { shape, planted_as: name.to_owned(), copied: Some(sums.into()) };
    ws.trees.insert(name.to_owned(), tree);
    Ok(())
}

/// Copies the largest file and remembers a checksum of each of its blocks.
pub fn file(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    block: Bytes,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let source = ws
        .source
        .clone()
        .ok_or_else(|| OpError::Source { reason: "no source to copy from".into() })?;
    let largest = source.largest(name)?;
    let target = ws.path(name);
    let mut buffer = vec![0; block.as_usize()];
    let mut sums = BlockSums::default();
    stats.start_timed(largest.size.0.div_ceil(block.0.max(1)));
    let to = data::create_new(&target)?;
    let copy = Copy {
        source: &source,
        from: &largest.path,
        to: &to,
        target: &target,
        size: largest.size.0,
    };
    copy.run(&mut buffer, stats, |data| sums.add(data))?;
    data::finish(&to, &target, ends)?;
    let state = ExpectedFile::copied(name, largest.size.0, sums.finish());
    ws.files.insert(name.to_owned(), state);
    Ok(())
}

/// Separates errors of names that the filesystem cannot store, or that differ from an existing one
/// only in case: they do not count as failures of the filesystem.
fn named<T>(outcome: io::Result<T>, name: &Path) -> Result<io::Result<T>, OpError> {
    const REFUSALS: [Errno; 6] = [
        Errno::EEXIST,
        Errno::ENOENT,
        Errno::EPERM,
        Errno::EILSEQ,
        Errno::EINVAL,
        Errno::ENAMETOOLONG,
    ];
    let errno = |error: &io::Error| error.raw_os_error().map(Errno::from_raw);
    match &outcome {
        Err(error) if errno(error).is_some_and(|errno| REFUSALS.contains(&errno)) => {
            Err(OpError::Unsupported {
                reason: format!(
                    "it cannot have the name {} of the source: {}",
                    name.display(),
                    sys::errno::describe(error)
                ),
            })
        }
        _ => Ok(outcome),
    }
}

/// Copy of one file.
struct Copy<'a> {
    source: &'a ScannedSource,
    from: &'a Path,
    to: &'a File,
    target: &'a Path,
    size: u64,
}

impl Copy<'_> {
    /// Copies the file in requests of the buffer's size, one operation each. Passes the data read
    /// to `seen`.
    fn run(
        &self,
        buffer: &mut [u8],
        stats: &mut ThreadStats,
        mut seen: impl FnMut(&[u8]),
    ) -> Result<(), OpError> {
        let from = self.source.file(self.from)?;
        let mut offset = 0;
        while offset < self.size {
            let length = (self.size - offset).min(buffer.len() as u64) as usize;
            let data = &mut buffer[..length];
            let read = from.read_exact_at(data, offset);
            read.map_err(|error| failed("pread", &self.source.label_for(self.from), &error))?;
            seen(data);
            let written = self.to.write_all_at(data, offset);
            written.at("pwrite", self.target, offset)?;
            stats.finish_write(length);
            offset += length as u64;
        }
        Ok(())
    }
}

/// Checksums of the blocks of a file that is read front to back, in requests of any size.
#[derive(Default)]
struct BlockSums {
    sums: Vec<u64>,
    /// Beginning of an incomplete block.
    begun: Vec<u8>,
}

impl BlockSums {
    fn add(&mut self, mut data: &[u8]) {
        if !self.begun.is_empty() {
            let missing = (BLOCK - self.begun.len()).min(data.len());
            self.begun.extend_from_slice(&data[..missing]);
            data = &data[missing..];
            if self.begun.len() < BLOCK {
                return;
            }
            self.sums.push(block_checksum(&self.begun));
            self.begun.clear();
        }
        let (whole, rest) = data.as_chunks::<BLOCK>();
        self.sums.extend(whole.iter().map(|block| block_checksum(block)));
        self.begun.extend_from_slice(rest);
    }

    fn finish(mut self) -> Arc<[u64]> {
        if !self.begun.is_empty() {
            self.sums.push(block_checksum(&self.begun));
        }
        self.sums.into()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use model::{
        AccessPattern, CopyFile, CopyFileIn, CopyTree, CopyTreeIn, FindInTree, Io, ListTree, Op,
        RemoveFile, RemoveTree, TreeSpec, VerifyTree,
    };

    use super::*;
    use crate::data::corruption::CorruptionKind;
    use crate::ops::{perform, undo};

    const BLOCKS: Bytes = Bytes::kib(10);

    /// A filesystem and a source, with a file that ends in the middle of a block.
    struct Places {
        _both: tempfile::TempDir,
        source: std::path::PathBuf,
        ws: CellWorkspace,
    }

    fn nobody() -> ThreadStats {
        ThreadStats::new(None, Arc::default(), crate::PhaseMeter::start(None, None))
    }

    fn places() -> Places {
        let both = tempfile::tempdir().unwrap();
        let (source, target) = (both.path().join("source"), both.path().join("target"));
        fs::create_dir_all(source.join("d/e")).unwrap();
        fs::create_dir(&target).unwrap();
        let bytes = |seed: usize, size: usize| -> Vec<u8> {
            (0..size).map(|i| (i * 31 + i / 4096 + seed) as u8).collect()
        };
        fs::write(source.join("d/e/small"), bytes(1, 100)).unwrap();
        fs::write(source.join("d/empty"), "").unwrap();
        fs::write(source.join("large"), bytes(2, 70_001)).unwrap();
        let open = ScannedSource::open(&source, None, &mut nobody()).unwrap();
        Places { ws: CellWorkspace::new(&target, 3).with_source(open), source, _both: both }
    }

    fn run(ws: &mut CellWorkspace, op: &Op) -> Result<ThreadStats, OpError> {
        let mut stats = nobody();
        perform(op, SyncAtEnd::Call, ws, &mut stats).map(|()| stats)
    }

    fn tree_in() -> Op {
        Op::CopyTreeIn(CopyTreeIn {
            tree: "tree".into(),
            spec: TreeSpec {
                files: 5,
                directories: 1,
                bytes: Bytes(10_000),
                smallest: Bytes(1_000),
                largest: Bytes(5_000),
            },
            block: BLOCKS,
        })
    }

    fn file_in() -> Op {
        Op::CopyFileIn(CopyFileIn { file: "file".into(), size: Bytes(20_000), block: BLOCKS })
    }

    fn verify_file(ws: &mut CellWorkspace, name: &str) -> Result<ThreadStats, OpError> {
        let read = Io { verify: true, ..Io::new(name, AccessPattern::Read, Bytes::kib(64)) };
        run(ws, &Op::Io(read))
    }

    fn verify_tree(ws: &mut CellWorkspace, tree: &str) -> Result<ThreadStats, OpError> {
        let tree = tree.to_owned();
        run(ws, &Op::VerifyTree(VerifyTree { tree }))
    }

    fn kind(outcome: Result<ThreadStats, OpError>) -> CorruptionKind {
        match outcome.unwrap_err() {
            OpError::Corrupt { corruption, .. } => corruption.kind,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_copied_tree_and_its_copy_equal_the_source() {
        let Places { source, mut ws, _both } = places();
        let before = fs::metadata(source.join("large")).unwrap();
        let stats = run(&mut ws, &tree_in()).unwrap();
        assert_eq!(stats.bytes_written, 70_101);
        let copy = Op::CopyTree(CopyTree { from: "tree".into(), to: "copy".into(), block: BLOCKS });
        run(&mut ws, &copy).unwrap();
        // The comparison below reads the files, which changes their access times.
        let after = fs::metadata(source.join("large")).unwrap();
        for tree in ["tree", "copy"] {
            assert_eq!(verify_tree(&mut ws, tree).unwrap().bytes, 70_101);
            for file in ["d/e/small", "d/empty", "large"] {
                let (from, to) = (source.join(file), ws.path(tree).join(file));
                assert_eq!(fs::read(from).unwrap(), fs::read(to).unwrap(), "{file}");
            }
        }
        let times = |m: &fs::Metadata| {
            [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec(), m.atime(), m.atime_nsec()]
        };
        assert_eq!(times(&before), times(&after));
        assert_eq!(before.len(), after.len());
    }

    /// Generated trees contain each name only once, but a copied tree may repeat names.
    #[test]
    fn a_name_that_several_files_have_is_found_as_often() {
        let Places { source, ws, _both } = places();
        for directory in ["d", "d/e", ""] {
            fs::write(source.join(directory).join("zz"), directory).unwrap();
        }
        fs::write(source.join("zz\u{e9}"), "").unwrap();
        let open = ScannedSource::open(&source, None, &mut nobody()).unwrap();
        let mut ws = CellWorkspace::new(ws.root(), 3).with_source(open);
        run(&mut ws, &tree_in()).unwrap();
        let find = Op::FindInTree(FindInTree { tree: "tree".into() });
        run(&mut ws, &find).unwrap();
        fs::remove_file(ws.path("tree").join("d/zz")).unwrap();
        assert!(matches!(
            run(&mut ws, &find),
            Err(OpError::WrongEntries { expected: 3, found: 2, .. })
        ));
    }

    #[test]
    fn one_other_byte_in_a_copy_is_found() {
        let Places { mut ws, _both, .. } = places();
        run(&mut ws, &tree_in()).unwrap();
        run(&mut ws, &file_in()).unwrap();
        for path in [ws.path("tree").join("large"), ws.path("file")] {
            let mut bytes = fs::read(&path).unwrap();
            bytes[60_000] ^= 4;
            fs::write(&path, bytes).unwrap();
        }
        assert_eq!(kind(verify_tree(&mut ws, "tree")), CorruptionKind::DiffersFromSource);
        assert_eq!(kind(verify_file(&mut ws, "file")), CorruptionKind::DiffersFromSource);
    }

    #[test]
    fn the_largest_file_is_copied_verified_and_copied_on() {
        let Places { source, mut ws, _both } = places();
        assert_eq!(run(&mut ws, &file_in()).unwrap().bytes_written, 70_001);
        let copy = Op::CopyFile(CopyFile { from: "file".into(), to: "copy".into(), block: BLOCKS });
        run(&mut ws, &copy).unwrap();
        for name in ["file", "copy"] {
            assert_eq!(verify_file(&mut ws, name).unwrap().bytes, 70_001);
            let bytes = fs::read(ws.path(name)).unwrap();
            assert_eq!(bytes, fs::read(source.join("large")).unwrap());
        }
    }

    #[test]
    fn overwrites_of_a_copied_file_are_tracked_per_block() {
        let Places { mut ws, _both, .. } = places();
        run(&mut ws, &file_in()).unwrap();
        let overwrite = Op::Io(Io {
            operations: Some(7),
            ..Io::new("file", AccessPattern::RandomWrite, Bytes::kib(4))
        });
        run(&mut ws, &overwrite).unwrap();
        assert_eq!(verify_file(&mut ws, "file").unwrap().bytes, 70_001);
    }

    #[test]
    fn copies_and_removals_can_be_repeated() {
        let Places { mut ws, _both, .. } = places();
        for op in [tree_in(), file_in()] {
            for _ in 0..2 {
                run(&mut ws, &op).unwrap();
                undo(&op, &mut ws).unwrap();
            }
            run(&mut ws, &op).unwrap();
        }
        for op in [
            Op::RemoveTree(RemoveTree { tree: "tree".into() }),
            Op::RemoveFile(RemoveFile { file: "file".into() }),
        ] {
            run(&mut ws, &op).unwrap();
            undo(&op, &mut ws).unwrap();
        }
        assert_eq!(verify_tree(&mut ws, "tree").unwrap().bytes, 70_101);
        assert_eq!(verify_file(&mut ws, "file").unwrap().bytes, 70_001);
    }

    /// Simulates a filesystem that treats `A` and `a` as the same name.
    #[test]
    fn an_impossible_name_is_unsupported_and_so_are_dependent_phases() {
        let Places { source, ws, _both } = places();
        let long = source.join("x".repeat(255));
        fs::write(&long, "").unwrap();
        let deep = ws.root().to_owned();
        let refused =
            named(Err::<(), _>(io::Error::from_raw_os_error(libc_eexist())), Path::new("d/A"));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("cannot have the name d/A"), "{error}");
        let other =
            named(Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull)), Path::new("d/A"));
        assert!(other.unwrap().is_err());
        let mut ws = CellWorkspace::new(&deep, 3);
        ws.discard_failed_tree("tree", "EEXIST");
        let copied =
            Op::CopyTree(CopyTree { from: "tree".into(), to: "copy".into(), block: BLOCKS });
        let list = |tree: &str| Op::ListTree(ListTree { tree: tree.into() });
        for needs_it in [list("tree"), copied, list("copy")] {
            let outcome = run(&mut ws, &needs_it);
            assert!(matches!(outcome, Err(OpError::Unsupported { .. })), "{outcome:?}");
        }
    }

    /// Filesystems that report zero inodes allocate them dynamically.
    #[test]
    fn a_source_with_more_entries_than_inodes_is_unsupported() {
        let Places { ws, _both, .. } = places();
        let free = crate::measure::meter::statfs(ws.root()).unwrap();
        if free.inodes > 0 {
            assert!(matches!(require_inodes(&ws, u64::MAX), Err(OpError::Unsupported { .. })));
        }
        assert!(require_inodes(&ws, 1).is_ok());
    }

    fn libc_eexist() -> i32 {
        Errno::EEXIST as i32
    }

    #[test]
    fn a_source_changed_during_the_copy_is_not_a_filesystem_failure() {
        let Places { source, mut ws, _both } = places();
        fs::write(source.join("large"), "short now").unwrap();
        let error = run(&mut ws, &file_in()).err().unwrap();
        assert!(matches!(error, OpError::Source { .. }), "{error}");
    }

    #[test]
    fn without_a_source_content_is_made_in_memory() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        assert_eq!(run(&mut ws, &tree_in()).unwrap().bytes_written, 10_000);
        assert_eq!(run(&mut ws, &file_in()).unwrap().bytes_written, 20_000);
        assert_eq!(verify_tree(&mut ws, "tree").unwrap().bytes, 10_000);
        assert_eq!(verify_file(&mut ws, "file").unwrap().bytes, 20_000);
    }

    #[test]
    fn sums_of_blocks_do_not_depend_on_the_requests() {
        let data: Vec<u8> = (0..20_001u32).map(|i| (i % 251) as u8).collect();
        let sums = |request: usize| {
            let mut sums = BlockSums::default();
            data.chunks(request).for_each(|part| sums.add(part));
            sums.finish()
        };
        let whole = sums(data.len());
        assert_eq!(whole.len(), 5);
        for request in [1, 100, 4095, 4096, 4097, 10_000] {
            assert_eq!(sums(request), whole, "{request}");
        }
    }
}
