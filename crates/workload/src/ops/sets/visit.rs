//! Reads the entries of a set without changing them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::EntryKind;
use nix::fcntl::OFlag;
use sys::fs::dir_fd;

use super::{EntryCursor, VisitOptions, create, workers};
use crate::data::corruption::{Corruption, CorruptionKind};
use crate::error::{OpContext, OpError};
use crate::files::set::SetEntry;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Bytes per request when a file is read.
const REQUEST: usize = 64 << 10;

/// Opens each entry for reading and closes it.
pub fn open(
    ws: &CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    workers::run(
        stats,
        &set.visit_orders(how.order, how.threads),
        set.len(),
        || EntryCursor::new(set),
        |hand, turn, stats| {
            hand.reach(turn.position);
            let opened = create::open(hand, OFlag::O_RDONLY)?;
            dir_fd::close(opened).with_call("close", hand.path.path())?;
            stats.finish_op();
            Ok(())
        },
    )
    .map(|_| ())
}

/// Reads the attributes of each entry, without following links. Also reads the content of files
/// that have any, if requested.
pub fn stat(
    ws: &CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    read: bool,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let read = read && set.kind == EntryKind::File;
    let room = if read { REQUEST } else { 0 };
    workers::run(
        stats,
        &set.visit_orders(how.order, how.threads),
        set.len(),
        || Ok((EntryCursor::new(set)?, vec![0; room])),
        |(hand, buffer), turn, stats| {
            let entry = hand.reach(turn.position);
            dir_fd::stat(&hand.top, hand.path.as_relative()).with_call("stat", hand.path.path())?;
            let bytes = if read && (entry.size > 0 || set.sizes_unknown) {
                read_whole(hand, &entry, buffer)?
            } else {
                0
            };
            stats.finish_read(bytes as usize);
            Ok(())
        },
    )
    .map(|_| ())
}

/// Reads a whole file and checks its expected size.
fn read_whole(hand: &EntryCursor<'_>, entry: &SetEntry, buffer: &mut [u8]) -> Result<u64, OpError> {
    let file = File::from(create::open(hand, OFlag::O_RDONLY)?);
    let path = hand.path.path();
    let mut offset = 0;
    // If the size is known, there is no further read to detect the end of the file.
    while hand.set.sizes_unknown || offset < entry.size {
        let read = file.read_at(buffer, offset).at("pread", path, offset)?;
        if read == 0 {
            break;
        }
        offset += read as u64;
    }
    if !hand.set.sizes_unknown && offset != entry.size {
        return Err(OpError::Corrupt {
            path: path.to_owned(),
            corruption: Corruption { offset, kind: CorruptionKind::Short { expected: entry.size } },
        });
    }
    Ok(offset)
}
