//! Removes the entries of a set, and its directories after the last entry.

use model::EntryKind;
use sys::fs::dir_fd;

use super::{EntryCursor, VisitOptions, directories, workers};
use crate::error::{OpContext, OpError};
use crate::files::set::FileSet;
use crate::files::visit_order::VisitProgress;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// A removed set, with the part that was removed.
#[derive(Clone, Debug)]
pub struct RemovedSet {
    /// The set before the removal.
    pub set: FileSet,
    /// The removed part.
    pub part: VisitProgress,
}

/// Removes each entry and then fsyncs its directory if requested. Stops at the time limit; the
/// remaining entries stay until the unmount.
pub fn remove(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    fsync: bool,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let is_directory = set.kind == EntryKind::Directory;
    let call = if is_directory { "rmdir" } else { "unlink" };
    let orders = set.visit_orders(how.order, how.threads);
    let done = workers::run(
        stats,
        &orders,
        set.len(),
        || EntryCursor::new(set),
        |hand, turn, stats| {
            let entry = hand.reach(turn.position);
            dir_fd::remove(&hand.top, hand.path.as_relative(), is_directory)
                .with_call(call, hand.path.path())?;
            if fsync {
                hand.sync_directory(&entry)?;
            }
            stats.finish_op();
            Ok(())
        },
    )?;
    let part = VisitProgress::new(orders, done);
    if part.is_whole() && stats.is_first_host() {
        directories::remove(set)?;
    }
    if let Some(set) = ws.sets.remove(name) {
        ws.removed_sets.insert(name.to_owned(), RemovedSet { set, part });
    }
    Ok(())
}
