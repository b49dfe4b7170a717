//! Makes what lay in the directory before the first operation of a trace.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sys::caches;
use trace::{EntryKind, Trace};

use super::paths::{PathTable, harmless};
use crate::error::{Context, OpError};
use crate::pattern::{Origin, Pattern};

/// Bytes per request.
const REQUEST: usize = 1 << 20;
/// Permissions that a directory gets to see whether they are kept.
const PROBE: u32 = 0o710;

/// Makes the directory and what lay in it, and brings that to the device; says whether permissions are kept there.
///
/// # Errors
/// When the filesystem refuses; [`OpError::Unsupported`] where it has no such thing.
pub fn make(trace: &Trace, top: &Path, seed: u64) -> Result<bool, OpError> {
    fs::create_dir(top).of("mkdir", top)?;
    let modes_are_kept = keeps_modes(top)?;
    let paths = PathTable::new(&trace.paths, top);
    let mut pattern = Pattern::new(seed, REQUEST);
    for entry in &trace.before {
        let path = &top.join(paths.shown(entry.path));
        let made = match &entry.kind {
            EntryKind::File { size } => {
                let origin = Origin {
                    file: entry.path.0.into(),
                    generation: 1,
                };
                file(path, *size, origin, &mut pattern)
            }
            EntryKind::Directory => fs::create_dir(path).of("mkdir", path),
            EntryKind::Symlink(text) => {
                let text = harmless(text, entry.path, &trace.paths);
                let text: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(&text[..]);
                symlink(text, path).of("symlink", path)
            }
            EntryKind::Link(other) => {
                fs::hard_link(top.join(paths.shown(*other)), path).of("link", path)
            }
            EntryKind::Pipe => mkfifo(path, Mode::from_bits_truncate(0o644)).of("mknod", path),
        };
        made.map_err(super::super::sets::refused_or_failed)?;
    }
    if modes_are_kept {
        set_modes(trace, top, &paths)?;
    }
    caches::sync_filesystem(top).of("syncfs", top)?;
    Ok(modes_are_kept)
}

fn keeps_modes(top: &Path) -> Result<bool, OpError> {
    // A refusal says that they are not.
    let _ = fs::set_permissions(top, Permissions::from_mode(PROBE));
    let kept = fs::metadata(top).of("stat", top)?.mode() & 0o777 == PROBE;
    let _ = fs::set_permissions(top, Permissions::from_mode(0o755));
    Ok(kept)
}

fn file(path: &Path, size: u64, origin: Origin, pattern: &mut Pattern) -> Result<(), OpError> {
    use std::os::unix::fs::FileExt;
    let made = File::create_new(path).of("open", path)?;
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(REQUEST as u64) as usize;
        let data = pattern.fill(origin, offset, length);
        made.write_all_at(data, offset).at("pwrite", path, offset)?;
        offset += length as u64;
    }
    Ok(())
}

/// Sets permissions when everything is there: a directory may be closed to writing.
fn set_modes(trace: &Trace, top: &Path, paths: &PathTable) -> Result<(), OpError> {
    let entries = trace.before.iter().rev();
    for entry in entries.filter(|e| !matches!(e.kind, EntryKind::Symlink(_) | EntryKind::Link(_))) {
        let path = &top.join(paths.shown(entry.path));
        let mode = Permissions::from_mode(entry.mode.into());
        fs::set_permissions(path, mode).of("chmod", path)?;
    }
    Ok(())
}
