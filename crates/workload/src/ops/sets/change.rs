//! Changes the entries of a set: names, permissions, attributes, sizes.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use model::EntryKind;
use nix::fcntl::{AtFlags, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, fstatat};
use nix::unistd::truncate as truncate_path;
use sys::fs::xattr_set;

use super::directories::{self, SharedWithHosts};
use super::{EntryCursor, VisitOptions, classify_error, workers};
use crate::error::{OpContext, OpError};
use crate::files::path_buffer::PathBuffer;
use crate::files::set::{FileSet, SetEntry};
use crate::files::visit_order::VisitProgress;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Name of the attribute. Every filesystem with attributes supports those of users.
const ATTRIBUTE: &CStr = c"user.fsarena";

/// Visits every entry of a set with one operation each. Returns the progress of the threads.
fn visit_all<W: Send>(
    stats: &mut ThreadStats,
    set: &FileSet,
    how: VisitOptions,
    prepare: impl FnMut() -> Result<W, OpError>,
    change: impl Fn(&mut W, u64) -> Result<(), OpError> + Sync,
) -> Result<VisitProgress, OpError> {
    let orders = set.visit_orders(how.order, how.threads);
    let done = workers::run(stats, &orders, set.len(), prepare, |worker, turn, stats| {
        change(worker, turn.position)?;
        stats.finish_op();
        Ok(())
    });
    done.map(|done| VisitProgress::new(orders, done)).map_err(classify_error)
}

/// Gives each entry a new name, or moves it to another directory under the same name.
pub fn rename(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    across: bool,
    how: VisitOptions,
) -> Result<(), OpError> {
    let mut set = ws.set(name)?.clone();
    if across && set.add_second_directory() {
        let added = set.first_added()..set.directories();
        directories::make_below(&set, added, SharedWithHosts(stats.has_hosts()))?;
    }
    ws.sets.insert(name.to_owned(), set.clone());
    let part = visit_all(
        stats,
        &set,
        how,
        || Ok((EntryCursor::new(&set)?, PathBuffer::new(&set.top))),
        |(hand, target), position| {
            let entry = hand.reach(position);
            set.write_path(&renamed(&entry, across), target);
            let (from, to) = (hand.path.relative(), target.relative());
            renameat(&hand.top, from, &hand.top, to).with_call("rename", hand.path.path())
        },
    )?;
    set.was_renamed(across, part);
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

/// Returns the entry after a rename.
pub const fn renamed(entry: &SetEntry, across: bool) -> SetEntry {
    let mut renamed = *entry;
    if across {
        renamed.moved += 1;
    } else {
        renamed.renamed += 1;
    }
    renamed
}

/// Changes the permissions of each entry to a value different from the current one.
pub fn permissions(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    how: VisitOptions,
) -> Result<(), OpError> {
    let mut set = ws.set(name)?.clone();
    let usual = match set.kind {
        EntryKind::File => 0o600,
        EntryKind::Directory => 0o700,
    };
    let both = [usual | 0o040, usual];
    let odd = set.permissions_changed % 2 == 1;
    let (wanted, other) = if odd { (both[1], both[0]) } else { both.into() };
    permissions_stay(&set, wanted, other).map_err(classify_error)?;
    visit_all(
        stats,
        &set,
        how,
        || EntryCursor::new(&set),
        |hand, position| {
            hand.reach(position);
            chmod(hand, wanted)
        },
    )?;
    set.permissions_changed += 1;
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

fn chmod(hand: &EntryCursor<'_>, mode: u32) -> Result<(), OpError> {
    let (path, mode) = (hand.path.relative(), Mode::from_bits_truncate(mode));
    fchmodat(&hand.top, path, mode, FchmodatFlags::FollowSymlink)
        .with_call("chmod", hand.path.path())
}

/// Tests with the first entry whether permissions are kept, and restores them. Some filesystems
/// accept permissions but do not store them.
fn permissions_stay(set: &FileSet, wanted: u32, other: u32) -> Result<(), OpError> {
    if set.len() == 0 {
        return Ok(());
    }
    let mut hand = EntryCursor::new(set)?;
    hand.reach(0);
    chmod(&hand, wanted)?;
    let found = fstatat(&hand.top, hand.path.relative(), AtFlags::empty())
        .with_call("stat", hand.path.path())?
        .st_mode
        & 0o777;
    if found != wanted {
        return Err(OpError::Unsupported { reason: format!("chmod to {wanted:o} left {found:o}") });
    }
    chmod(&hand, other)
}

/// Sets an extended attribute of the given size in bytes on each entry, with a new value each time.
pub fn attributes(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    size: usize,
    how: VisitOptions,
) -> Result<(), OpError> {
    let mut set = ws.set(name)?.clone();
    let value = |times: u64| vec![b'a' + (times % 26) as u8; size];
    attributes_stay(&set, &value(set.attributes_set + 1)).map_err(classify_error)?;
    let value = value(set.attributes_set);
    visit_all(
        stats,
        &set,
        how,
        || EntryCursor::new(&set),
        |hand, position| {
            hand.reach(position);
            xattr_set::set(hand.path.absolute(), ATTRIBUTE, &value)
                .with_call("setxattr", hand.path.path())
        },
    )?;
    set.attributes_set += 1;
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

/// Tests whether the first entry keeps an attribute.
fn attributes_stay(set: &FileSet, value: &[u8]) -> Result<(), OpError> {
    if set.len() == 0 {
        return Ok(());
    }
    let mut hand = EntryCursor::new(set)?;
    hand.reach(0);
    let path = hand.path.path();
    xattr_set::set(hand.path.absolute(), ATTRIBUTE, value).with_call("setxattr", path)?;
    let name = OsStr::from_bytes(ATTRIBUTE.to_bytes());
    let found = xattr::get_deref(path, name).with_call("getxattr", path)?;
    if found.as_deref() != Some(value) {
        return Err(OpError::Unsupported {
            reason: "setxattr: the attribute did not stay as set".into(),
        });
    }
    Ok(())
}

/// Sets the size of each file.
pub fn truncate(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    size: u64,
    how: VisitOptions,
) -> Result<(), OpError> {
    let mut set = ws.set(name)?.clone();
    let part = visit_all(
        stats,
        &set,
        how,
        || EntryCursor::new(&set),
        |hand, position| {
            hand.reach(position);
            set_size(hand.path.absolute(), size, hand.path.path())
        },
    )?;
    let mut links = set.links.clone();
    while let Some(target) = links.and_then(|l| ws.sets.get_mut(&l.target_set)) {
        target.sizes_unknown = true;
        links = target.links.clone();
    }
    set.was_truncated(size, part);
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

/// Sets the size of one file.
pub fn set_size(file: &CStr, size: u64, path: &Path) -> Result<(), OpError> {
    truncate_path(file, size as i64).with_call("truncate", path)
}
