//! Copying within a filesystem by reading and writing, as `cp` did before it could share extents:
//! every filesystem does the same work.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{Bytes, End};

use crate::error::{Context, OpError};
use crate::ops::data;
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Copies one file.
pub fn file(
    ws: &mut Workspace,
    tally: &mut Tally,
    from: &str,
    to: &str,
    block: Bytes,
    ends: End,
) -> Result<(), OpError> {
    let state = ws.file(from)?.clone();
    let mut buffer = vec![0; block.as_usize()];
    tally.begin(state.size.div_ceil(block.0));
    let target = ws.path(to);
    let copy = copy_contents(&ws.path(from), &target, state.size, &mut buffer, tally)?;
    data::finish(&copy, &target, ends)?;
    ws.files.insert(to.to_owned(), state);
    Ok(())
}

/// Copies a tree; its blocks keep the identity of the tree they were first written for.
pub fn tree(
    ws: &mut Workspace,
    tally: &mut Tally,
    from: &str,
    to: &str,
    block: Bytes,
) -> Result<(), OpError> {
    let tree = ws.tree(from)?.clone();
    let (source, target) = (ws.path(from), ws.path(to));
    let mut buffer = vec![0; block.as_usize()];
    tally.begin(tree.shape.entries() + 1);
    for directory in
        std::iter::once(Path::new("")).chain(tree.shape.directories.iter().map(AsRef::as_ref))
    {
        let path = target.join(directory);
        fs::create_dir(&path).of("mkdir", &path)?;
        tally.lap();
    }
    for file in &tree.shape.files {
        let (source, target) = (source.join(&file.path), target.join(&file.path));
        copy_contents(&source, &target, file.size.0, &mut buffer, tally)?;
    }
    ws.trees.insert(to.to_owned(), tree);
    Ok(())
}

/// Copies the contents of a file into a new one; each request is one operation.
fn copy_contents(
    source: &Path,
    target: &Path,
    size: u64,
    buffer: &mut [u8],
    tally: &mut Tally,
) -> Result<File, OpError> {
    let from = File::open(source).of("open", source)?;
    let to = data::create_new(target)?;
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(buffer.len() as u64) as usize;
        data::read_exact(&from, source, &mut buffer[..length], offset, size)?;
        to.write_all_at(&buffer[..length], offset)
            .at("pwrite", target, offset)?;
        tally.lap_written(length);
        offset += length as u64;
    }
    Ok(to)
}
