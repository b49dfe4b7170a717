//! Trees of files: plant, list, find, verify, remove.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::Hasher;
use std::path::Path;

use model::TreeSpec;
use twox_hash::XxHash64;

use crate::data::corruption::{Corruption, CorruptionKind};
use crate::data::pattern::{BlockIdentity, file_id};
use crate::data::shape::TreeLayout;
use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::data;
use crate::workspace::{CellWorkspace, PlantedTree};

/// Bytes per request when a tree is planted or verified.
const REQUEST: usize = 128 << 10;

/// Writes a tree with content generated in memory, so that no other disk affects the result.
pub fn plant(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    spec: &TreeSpec,
) -> Result<(), OpError> {
    let shape = TreeLayout::generate(spec, ws.seed());
    let tree = PlantedTree { shape, planted_as: name.to_owned(), copied: None };
    write_tree(ws, stats, name, tree)
}

/// Writes a tree with a known shape and records it.
pub fn write_tree(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    tree: PlantedTree,
) -> Result<(), OpError> {
    let top = ws.path(name);
    let mut pattern = ws.pattern(REQUEST);
    stats.start_timed(tree.shape.entries() + 1);
    fs::create_dir(&top).with_call("mkdir", &top)?;
    stats.finish_op();
    for directory in &tree.shape.directories {
        let path = top.join(directory);
        fs::create_dir(&path).with_call("mkdir", &path)?;
        stats.finish_op();
    }
    for file in &tree.shape.files {
        let path = top.join(&file.path);
        let handle = data::create_new(&path)?;
        let origin = origin(&tree, &file.path);
        data::write_all(&handle, &path, &mut pattern, origin, file.size.0, REQUEST, stats)?;
    }
    ws.trees.insert(name.to_owned(), tree);
    Ok(())
}

/// Returns the origin of the blocks of a tree's file.
fn origin(tree: &PlantedTree, path: &Path) -> BlockIdentity {
    BlockIdentity {
        file: file_id(&format!("{}/{}", tree.planted_as, path.display())),
        generation: 1,
    }
}

/// Lists every entry with its attributes, as `ls -lR` does, and counts them.
pub fn list(ws: &CellWorkspace, stats: &mut ThreadStats, name: &str) -> Result<(), OpError> {
    let expected = ws.tree(name)?.shape.entries();
    stats.start_timed(expected);
    let mut found = 0;
    walk(&ws.path(name), &mut |entry| {
        let path = entry.path();
        entry.metadata().with_call("stat", &path)?;
        stats.finish_op();
        found += 1;
        Ok(())
    })?;
    counted(ws, name, expected, found)
}

/// Searches the whole tree for the name of the last file, as `find -name` does.
pub fn find(ws: &CellWorkspace, stats: &mut ThreadStats, name: &str) -> Result<(), OpError> {
    let shape = &ws.tree(name)?.shape;
    let wanted = sought(shape).to_owned();
    // A copied tree may contain the name several times.
    let all = shape.directories.iter().chain(shape.files.iter().map(|f| &f.path));
    let expected = all.filter(|path| path.file_name() == Some(&wanted)).count() as u64;
    stats.start_timed(shape.entries());
    let mut found = 0;
    walk(&ws.path(name), &mut |entry| {
        found += u64::from(entry.file_name() == wanted);
        stats.finish_op();
        Ok(())
    })?;
    counted(ws, name, expected, found)
}

/// Returns the name to search for: one of ASCII characters if any file has one, because a
/// filesystem may normalise others.
fn sought(shape: &TreeLayout) -> &OsStr {
    let mut names = shape.files.iter().rev().filter_map(|f| f.path.file_name());
    let last = names.clone().next();
    names.find(|name| name.is_ascii()).or(last).unwrap_or_default()
}

fn counted(ws: &CellWorkspace, name: &str, expected: u64, found: u64) -> Result<(), OpError> {
    if found == expected {
        return Ok(());
    }
    Err(OpError::WrongEntries { path: ws.path(name), expected, found })
}

/// Visits every entry below a directory. The entries of a directory precede those of its
/// subdirectories.
fn walk(
    top: &Path,
    visit: &mut dyn FnMut(&fs::DirEntry) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).with_call("readdir", &directory)? {
            let entry = entry.with_call("readdir", &directory)?;
            visit(&entry)?;
            if entry.file_type().with_call("stat", &directory)?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Reads every file and compares it with the generated content, or with the checksum of copied
/// content.
pub fn verify(ws: &mut CellWorkspace, stats: &mut ThreadStats, name: &str) -> Result<(), OpError> {
    let top = ws.path(name);
    let pattern = ws.pattern(REQUEST);
    let tree = ws.tree(name)?;
    let mut buffer = vec![0; REQUEST];
    stats.start_timed(tree.shape.files.len() as u64);
    for (number, file) in tree.shape.files.iter().enumerate() {
        let sum = tree.copied.as_ref().map(|sums| sums[number]);
        let mut hash = XxHash64::with_seed(0);
        let path = top.join(&file.path);
        let handle = File::open(&path).with_call("open", &path)?;
        let mut offset = 0;
        while offset < file.size.0 {
            let length = (file.size.0 - offset).min(REQUEST as u64) as usize;
            data::read_exact(&handle, &path, &mut buffer[..length], offset, file.size.0)?;
            match sum {
                Some(_) => hash.write(&buffer[..length]),
                None => pattern
                    .check(origin(tree, &file.path), offset, &buffer[..length])
                    .map_err(|corruption| corrupt(&path, corruption))?,
            }
            stats.bytes += length as u64;
            offset += length as u64;
        }
        if sum.is_some_and(|sum| sum != hash.finish()) {
            let (offset, kind) = (0, CorruptionKind::DiffersFromSource);
            return Err(corrupt(&path, Corruption { offset, kind }));
        }
        stats.finish_op();
    }
    Ok(())
}

fn corrupt(path: &Path, corruption: Corruption) -> OpError {
    OpError::Corrupt { path: path.to_owned(), corruption }
}

/// Removes a tree, as `rm -r` does: all entries found, not only the planted ones.
pub fn remove(ws: &mut CellWorkspace, stats: &mut ThreadStats, name: &str) -> Result<(), OpError> {
    stats.start_timed(ws.tree(name)?.shape.entries() + 1);
    remove_directory(&ws.path(name), stats)?;
    if let Some(tree) = ws.trees.remove(name) {
        ws.removed_trees.insert(name.to_owned(), tree);
    }
    Ok(())
}

fn remove_directory(directory: &Path, stats: &mut ThreadStats) -> Result<(), OpError> {
    // Read the whole directory before the first removal: the behaviour of readdir during removals
    // differs between filesystems.
    let entries: Vec<_> = fs::read_dir(directory)
        .with_call("readdir", directory)?
        .collect::<Result<_, _>>()
        .with_call("readdir", directory)?;
    for entry in entries {
        let path = entry.path();
        if entry.file_type().with_call("stat", &path)?.is_dir() {
            remove_directory(&path, stats)?;
        } else {
            fs::remove_file(&path).with_call("unlink", &path)?;
            stats.finish_op();
        }
    }
    fs::remove_dir(directory).with_call("rmdir", directory)?;
    stats.finish_op();
    Ok(())
}
