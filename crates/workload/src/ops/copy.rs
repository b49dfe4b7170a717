//! Copies within a filesystem by reading and writing, as `cp` did before it could share extents.
//! Every filesystem does the same work.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{Bytes, SyncAtEnd};

use crate::error::{OpContext, OpError};
use crate::measure::meter::statfs;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::data;
use crate::workspace::CellWorkspace;

/// Copies one file.
pub fn file(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    from: &str,
    to: &str,
    block: Bytes,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let state = ws.file_to_copy(from, to)?;
    let mut buffer = vec![0; block.as_usize()];
    stats.start_timed(state.size.div_ceil(block.0));
    let target = ws.path(to);
    let copy = copy_contents(&ws.path(from), &target, state.size, &mut buffer, stats)?;
    data::finish(&copy, &target, ends)?;
    ws.files.insert(to.to_owned(), state);
    Ok(())
}

/// Copies a tree. The blocks keep the identity of the tree for which they were first written.
pub fn tree(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    from: &str,
    to: &str,
    block: Bytes,
) -> Result<(), OpError> {
    let tree = match ws.tree(from).cloned() {
        Err(OpError::Unsupported { reason }) => {
            ws.discard_failed_tree(to, &reason);
            return Err(OpError::Unsupported { reason });
        }
        other => other?,
    };
    if tree.copied.is_some() {
        require_inodes(ws, tree.shape.entries() + 1)?;
    }
    let (source, target) = (ws.path(from), ws.path(to));
    let mut buffer = vec![0; block.as_usize()];
    stats.start_timed(tree.shape.entries() + 1);
    for directory in
        std::iter::once(Path::new("")).chain(tree.shape.directories.iter().map(AsRef::as_ref))
    {
        let path = target.join(directory);
        fs::create_dir(&path).with_call("mkdir", &path)?;
        stats.finish_op();
    }
    for file in &tree.shape.files {
        let (source, target) = (source.join(&file.path), target.join(&file.path));
        copy_contents(&source, &target, file.size.0, &mut buffer, stats)?;
    }
    ws.trees.insert(to.to_owned(), tree);
    Ok(())
}

/// Checks that the filesystem has enough free inodes. A source may need more, which does not count
/// as a failure of the filesystem; the content of suites always fits.
pub fn require_inodes(ws: &CellWorkspace, needed: u64) -> Result<(), OpError> {
    let space = statfs(ws.root());
    // A total of zero means that the filesystem creates inodes on demand.
    match space.filter(|space| space.inodes > 0) {
        Some(space) if space.inodes_free < needed => Err(OpError::Unsupported {
            reason: format!(
                "it has {} inodes free, and the source needs {needed}: give a larger --size",
                space.inodes_free
            ),
        }),
        _ => Ok(()),
    }
}

/// Copies the contents of a file into a new one; each request is one operation.
fn copy_contents(
    source: &Path,
    target: &Path,
    size: u64,
    buffer: &mut [u8],
    stats: &mut ThreadStats,
) -> Result<File, OpError> {
    let from = File::open(source).with_call("open", source)?;
    let to = data::create_new(target)?;
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(buffer.len() as u64) as usize;
        data::read_exact(&from, source, &mut buffer[..length], offset, size)?;
        to.write_all_at(&buffer[..length], offset).at("pwrite", target, offset)?;
        stats.finish_write(length);
        offset += length as u64;
    }
    Ok(to)
}
