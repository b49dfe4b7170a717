//! Removes the entries of a set, and behind the last one its directories.

use model::EntryKind;
use sys::dir_fd;

use super::{EntryCursor, VisitOptions, directories, workers};
use crate::error::{OpContext, OpError};
use crate::set::FileSet;
use crate::thread_stats::ThreadStats;
use crate::visit_order::VisitProgress;
use crate::workspace::CellWorkspace;

/// A set that was removed, and how much of it.
#[derive(Clone, Debug)]
pub struct RemovedSet {
    /// The set as it was.
    pub set: FileSet,
    /// What was removed of it.
    pub part: VisitProgress,
}

/// Removes each entry, and fsyncs its directory behind it where that is asked for; past its time limit it stops, and the rest stays until the unmount.
pub fn remove(
    ws: &mut CellWorkspace,
    tally: &mut ThreadStats,
    name: &str,
    fsync: bool,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let is_directory = set.kind == EntryKind::Directory;
    let call = if is_directory { "rmdir" } else { "unlink" };
    let orders = set.visit_orders(how.order, how.threads);
    let done = workers::run(
        tally,
        &orders,
        set.len(),
        || EntryCursor::new(set),
        |hand, turn, tally| {
            let entry = hand.reach(turn.position);
            dir_fd::remove(&hand.top, hand.path.as_relative(), is_directory)
                .with_call(call, hand.path.path())?;
            if fsync {
                hand.sync_directory(&entry)?;
            }
            tally.finish_op();
            Ok(())
        },
    )?;
    let part = VisitProgress::new(orders, done);
    if part.is_whole() {
        directories::remove(set)?;
    }
    if let Some(set) = ws.sets.remove(name) {
        ws.removed_sets
            .insert(name.to_owned(), RemovedSet { set, part });
    }
    Ok(())
}
