//! Undoes the changes of a set, untimed, so that they can be repeated.

use std::fs;
use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use nix::fcntl::{OFlag, renameat};
use nix::unistd::close;
use sys::io::clock;

use super::change::{renamed, set_size};
use super::create::{self, EntryWriter};
use super::directories::{self, CLOSING, SharedWithHosts};
use super::links::LinkWriter;
use super::remove::RemovedSet;
use super::{EntryCursor, classify_error};
use crate::error::{OpContext, OpError};
use crate::files::path_buffer::PathBuffer;
use crate::files::set::FileSet;
use crate::files::visit_order::VisitOrder;
use crate::workspace::CellWorkspace;

/// Removes a set and everything in it.
pub fn remove_set(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    let Some(set) = ws.sets.remove(name) else {
        return Ok(());
    };
    let start = clock::now();
    loop {
        match fs::remove_dir_all(&set.top) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty && clock::since(start) < CLOSING => {
                thread::sleep(Duration::from_millis(1));
            }
            other => return other.with_call("rmdir", &set.top),
        }
    }
}

/// Gives the entries their previous names.
pub fn rename_back(ws: &mut CellWorkspace, name: &str, across: bool) -> Result<(), OpError> {
    let Some(set) = ws.sets.get_mut(name) else {
        return Ok(());
    };
    let Some(part) = set.undo_last() else {
        return Ok(());
    };
    let mut hand = EntryCursor::new(set)?;
    let mut source = PathBuffer::new(&set.top);
    for (_, position) in part.visited() {
        let entry = hand.reach(position);
        set.write_path(&renamed(&entry, across), &mut source);
        let (from, to) = (source.relative(), hand.path.relative());
        renameat(&hand.top, from, &hand.top, to).with_call("rename", source.path())?;
    }
    Ok(())
}

/// Restores the previous sizes of files, and their content if it was truncated.
pub fn restore_sizes(ws: &mut CellWorkspace, name: &str, truncated: u64) -> Result<(), OpError> {
    let Some(mut set) = ws.sets.get(name).cloned() else {
        return Ok(());
    };
    let Some(part) = set.undo_last() else {
        return Ok(());
    };
    let mut maker = EntryWriter::new(ws, set.largest(), false);
    let mut hand = EntryCursor::new(&set)?;
    for (_, position) in part.visited() {
        let entry = hand.reach(position);
        set_size(hand.path.absolute(), entry.size, hand.path.path())?;
        if entry.size > truncated && set.links.is_none() {
            let file = create::open(&hand, OFlag::O_WRONLY)?;
            let file = maker.fill(&hand, &entry, file)?;
            close(file).with_call("close", hand.path.path())?;
        }
    }
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

/// Recreates the removed entries under their previous names.
pub fn recreate(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    let Some(RemovedSet { set, part }) = ws.removed_sets.remove(name) else {
        return Ok(());
    };
    let part = if part.is_whole() {
        directories::make(&set, SharedWithHosts(false))?;
        set.all_positions()
    } else {
        part
    };
    match &set.links {
        Some(links) => {
            let target = ws.set(&links.target_set)?;
            let mut linker = LinkWriter::between(&links.target_set, target, &set)?;
            let orders = target.visit_orders(links.order, set.makers() as u32);
            for (_, position) in part.visited() {
                let number = set.entry(position).index;
                linker.link(number, linked_position(&orders, number)).map_err(classify_error)?;
            }
        }
        None => make_entries(ws, &set, part.visited().map(|(_, position)| position))?,
    }
    ws.sets.insert(name.to_owned(), set);
    Ok(())
}

/// Returns the position to which the link with this number points.
fn linked_position(orders: &[VisitOrder], number: u64) -> u64 {
    let after = orders.partition_point(|t| t.ordinal(0) <= number);
    let order = &orders[after - 1];
    order.position(number - order.ordinal(0))
}

fn make_entries(
    ws: &mut CellWorkspace,
    set: &FileSet,
    positions: impl Iterator<Item = u64>,
) -> Result<(), OpError> {
    let mut maker = EntryWriter::new(ws, set.largest(), false);
    let mut hand = EntryCursor::new(set)?;
    for position in positions {
        let entry = hand.reach(position);
        maker.make(&hand, &entry)?;
    }
    Ok(())
}
