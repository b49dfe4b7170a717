//! Compares the tree after a replay with the recorded one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use trace::{PathId, Syscall, SyscallResult, Trace, TracedKind};

use super::paths::{PathTable, confine_link_target};
use crate::error::{OpContext, OpError};

/// Default umask of a process if the trace does not reveal one.
const DEFAULT_MASK: u16 = 0o022;

/// State of a name that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FoundTree {
    File { size: u64, inode: u64 },
    Directory,
    Symlink(Vec<u8>),
    Pipe,
}

/// Compares names, sizes, link targets, and permissions if the filesystem keeps them.
///
/// # Errors
/// Returns the first difference.
pub fn compare(trace: &Trace, top: &Path, modes_are_kept: bool) -> Result<(), OpError> {
    let mut found = BTreeMap::new();
    walk(top, top, &mut found)?;
    let paths = PathTable::new(&trace.paths, top);
    let made = made(trace);
    for entry in &trace.after {
        let path = paths.display(entry.path);
        let differs = |what: String| differs(&path, &what);
        let Some((there, mode)) = found.remove(&path) else {
            return Err(differs("is missing".into()));
        };
        match (&entry.kind, there) {
            (TracedKind::File { size }, FoundTree::File { size: now, .. }) if *size == now => {}
            (TracedKind::File { size }, FoundTree::File { size: now, .. }) => {
                return Err(differs(format!("has {now} bytes instead of {size}")));
            }
            (TracedKind::Symlink(text), FoundTree::Symlink(now))
                if confine_link_target(text, entry.path, &trace.paths) == now => {}
            (TracedKind::Symlink(_), FoundTree::Symlink(_)) => {
                return Err(differs("leads elsewhere".into()));
            }
            (TracedKind::Link(other), FoundTree::File { inode, .. }) => {
                let first = top.join(paths.display(*other));
                let metadata = fs::symlink_metadata(&first).with_call("stat", &first)?;
                if metadata.ino() != inode {
                    return Err(differs("is a separate file instead of a link".into()));
                }
            }
            (TracedKind::Directory, FoundTree::Directory) | (TracedKind::Pipe, FoundTree::Pipe) => {
            }
            _ => return Err(differs("is of another kind".into())),
        }
        let unforeseen = made.get(&entry.path).is_some_and(|new| new.mode != entry.mode);
        let has_mode = !matches!(entry.kind, TracedKind::Symlink(_) | TracedKind::Link(_));
        if modes_are_kept && has_mode && !unforeseen && mode != entry.mode {
            return Err(differs(format!(
                "has the permissions {mode:o} instead of {:o}",
                entry.mode
            )));
        }
    }
    match found.pop_first() {
        Some((path, _)) => Err(differs(&path, "should not exist")),
        None => Ok(()),
    }
}

fn differs(path: &Path, what: &str) -> OpError {
    OpError::Differs {
        call: "the tree",
        reason: format!("the tree is another one after the replay: {} {what}", path.display()),
        error: None,
    }
}

fn walk(
    top: &Path,
    directory: &Path,
    found: &mut BTreeMap<PathBuf, (FoundTree, u16)>,
) -> Result<(), OpError> {
    for entry in fs::read_dir(directory).with_call("getdents", directory)? {
        let path = entry.with_call("getdents", directory)?.path();
        let metadata = fs::symlink_metadata(&path).with_call("stat", &path)?;
        let kind = metadata.file_type();
        let what = if kind.is_dir() {
            walk(top, &path, found)?;
            FoundTree::Directory
        } else if kind.is_symlink() {
            let text = fs::read_link(&path).with_call("readlink", &path)?;
            FoundTree::Symlink(text.as_os_str().as_bytes().to_vec())
        } else if kind.is_fifo() || kind.is_socket() {
            FoundTree::Pipe
        } else {
            FoundTree::File { size: metadata.len(), inode: metadata.ino() }
        };
        let relative = path.strip_prefix(top).unwrap_or(&path).to_owned();
        found.insert(relative, (what, (metadata.mode() & 0o7777) as u16));
    }
    Ok(())
}

/// A name that the recorded program created.
struct NewEntry {
    process: u32,
    /// Requested permissions.
    mode: u16,
}

/// Returns the created names whose permissions were not changed later.
fn made(trace: &Trace) -> BTreeMap<PathId, NewEntry> {
    let mut made = BTreeMap::new();
    let mut opened = BTreeMap::new();
    let before: BTreeSet<PathId> = trace.before.iter().map(|e| e.path).collect();
    for operation in &trace.operations {
        if matches!(operation.outcome, SyscallResult::Err(_)) {
            continue;
        }
        let process = operation.process;
        match operation.call {
            Syscall::Open { path, mode, flags, handle } => {
                opened.extend(handle.map(|handle| (handle, path)));
                if flags.has(trace::OpenFlags::CREATE) && !before.contains(&path) {
                    made.entry(path).or_insert(NewEntry { process, mode });
                }
            }
            Syscall::MakeDirectory { path, mode } | Syscall::MakePipe { path, mode } => {
                made.insert(path, NewEntry { process, mode });
            }
            Syscall::ChangeMode { path, .. } | Syscall::Unlink { path } => {
                made.remove(&path);
            }
            Syscall::ChangeModeHandle { handle, .. } => {
                opened.get(&handle).map(|path| made.remove(path));
            }
            Syscall::Rename { from, to, .. } => {
                made.remove(&to);
                if let Some(new) = made.remove(&from) {
                    made.insert(to, new);
                }
            }
            _ => {}
        }
    }
    made
}

/// Removes the umask of each process from the permissions that it requests, so that the replay can
/// run with none. Traces of this version contain no umask, imports of earlier versions do.
pub fn apply_umasks(trace: &mut Trace) {
    let masks = masks(trace);
    for operation in &mut trace.operations {
        if let Syscall::Open { mode, .. }
        | Syscall::MakeDirectory { mode, .. }
        | Syscall::MakePipe { mode, .. } = &mut operation.call
        {
            *mode &= !masks.get(&operation.process).copied().unwrap_or(DEFAULT_MASK);
        }
    }
}

/// Returns the umask of each process that created a name of the final tree: the value that explains
/// most of them. Of several the largest, because files do not show a mask of execution.
fn masks(trace: &Trace) -> BTreeMap<u32, u16> {
    let made = made(trace);
    let mut counts: BTreeMap<u32, BTreeMap<u16, u64>> = BTreeMap::new();
    for entry in &trace.after {
        if let Some(new) = made.get(&entry.path) {
            let mask = new.mode & !entry.mode & 0o777;
            *counts.entry(new.process).or_default().entry(mask).or_default() += 1;
        }
    }
    let most = |masks: BTreeMap<u16, u64>| {
        let most = masks.into_iter().max_by_key(|(mask, count)| (*count, *mask));
        most.map(|(mask, _)| mask)
    };
    counts.into_iter().filter_map(|(process, masks)| Some((process, most(masks)?))).collect()
}
