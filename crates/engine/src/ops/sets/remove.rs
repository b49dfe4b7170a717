//! Removes the entries of a set, and behind the last one its directories.

use model::EntryKind;
use sys::at;

use super::{Hand, How, directories, workers};
use crate::error::{Context, OpError};
use crate::set::FileSet;
use crate::tally::Tally;
use crate::visit_order::Part;
use crate::workspace::Workspace;

/// A set that was removed, and how much of it.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The set as it was.
    pub set: FileSet,
    /// What was removed of it.
    pub part: Part,
}

/// Removes each entry, and fsyncs its directory behind it where that is asked for; past its time limit it stops, and the rest stays until the unmount.
pub fn remove(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    fsync: bool,
    how: How,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let is_directory = set.kind == EntryKind::Directory;
    let call = if is_directory { "rmdir" } else { "unlink" };
    let orders = set.visit_orders(how.order, how.threads);
    let done = workers::run(
        tally,
        &orders,
        set.len(),
        || Hand::on(set),
        |hand, turn, tally| {
            let entry = hand.reach(turn.position);
            at::remove(&hand.top, hand.path.below_top(), is_directory)
                .of(call, hand.path.path())?;
            if fsync {
                hand.sync_directory(&entry)?;
            }
            tally.lap();
            Ok(())
        },
    )?;
    let part = Part::new(orders, done);
    if part.is_whole() {
        directories::remove(set)?;
    }
    if let Some(set) = ws.sets.remove(name) {
        ws.removed_sets
            .insert(name.to_owned(), Removed { set, part });
    }
    Ok(())
}
