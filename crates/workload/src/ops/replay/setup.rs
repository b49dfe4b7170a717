//! Creates the contents of the directory before the first operation of a trace.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use model::DataKind;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sys::io::caches;
use trace::{Trace, TracedKind};

use super::paths::{PathTable, confine_link_target};
use crate::data::pattern::{BlockIdentity, Pattern};
use crate::error::{OpContext, OpError};

/// Bytes per request.
const REQUEST: usize = 1 << 20;
/// Permissions that are set on a directory to test whether the filesystem keeps them.
const PROBE: u32 = 0o710;

/// Creates the directory with its initial contents and writes them to the device. Returns true if
/// the filesystem keeps permissions.
///
/// # Errors
/// Returns an error if a call fails, or [`OpError::Unsupported`] if the filesystem lacks the
/// feature.
pub fn make(trace: &Trace, top: &Path, data: DataKind, seed: u64) -> Result<bool, OpError> {
    fs::create_dir(top).with_call("mkdir", top)?;
    let modes_are_kept = keeps_modes(top)?;
    let paths = PathTable::new(&trace.paths, top);
    let mut pattern = Pattern::of_kind(data, seed, REQUEST);
    for entry in &trace.before {
        let path = &top.join(paths.display(entry.path));
        let made = match &entry.kind {
            TracedKind::File { size } => {
                let origin = BlockIdentity { file: entry.path.0.into(), generation: 1 };
                file(path, *size, origin, &mut pattern)
            }
            TracedKind::Directory => fs::create_dir(path).with_call("mkdir", path),
            TracedKind::Symlink(text) => {
                let text = confine_link_target(text, entry.path, &trace.paths);
                let text: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(&text[..]);
                symlink(text, path).with_call("symlink", path)
            }
            TracedKind::Link(other) => {
                fs::hard_link(top.join(paths.display(*other)), path).with_call("link", path)
            }
            TracedKind::Pipe => {
                mkfifo(path, Mode::from_bits_truncate(0o644)).with_call("mknod", path)
            }
        };
        made.map_err(super::super::sets::classify_error)?;
    }
    if modes_are_kept {
        set_modes(trace, top, &paths)?;
    }
    caches::sync_filesystem(top).with_call("syncfs", top)?;
    Ok(modes_are_kept)
}

fn keeps_modes(top: &Path) -> Result<bool, OpError> {
    // An error means that permissions are not kept.
    let _ = fs::set_permissions(top, Permissions::from_mode(PROBE));
    let kept = fs::metadata(top).with_call("stat", top)?.mode() & 0o777 == PROBE;
    let _ = fs::set_permissions(top, Permissions::from_mode(0o755));
    Ok(kept)
}

fn file(
    path: &Path,
    size: u64,
    origin: BlockIdentity,
    pattern: &mut Pattern,
) -> Result<(), OpError> {
    use std::os::unix::fs::FileExt;
    let made = File::create_new(path).with_call("open", path)?;
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(REQUEST as u64) as usize;
        let data = pattern.fill(origin, offset, length);
        made.write_all_at(data, offset).at("pwrite", path, offset)?;
        offset += length as u64;
    }
    Ok(())
}

/// Sets permissions after all entries exist, because a directory may be read-only.
fn set_modes(trace: &Trace, top: &Path, paths: &PathTable) -> Result<(), OpError> {
    let entries = trace.before.iter().rev();
    for entry in entries.filter(|e| !matches!(e.kind, TracedKind::Symlink(_) | TracedKind::Link(_)))
    {
        let path = &top.join(paths.display(entry.path));
        let mode = Permissions::from_mode(entry.mode.into());
        fs::set_permissions(path, mode).with_call("chmod", path)?;
    }
    Ok(())
}
