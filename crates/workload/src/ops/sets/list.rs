//! Lists the directories of a set.

use nix::dir::Dir;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::{EntryCursor, VisitOptions, workers};
use crate::error::{OpContext, OpError};
use crate::files::visit_order::split_evenly;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Lists each directory once. Every name found is an operation, and the number of names must be
/// correct.
pub fn readdir(
    ws: &CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let expected = set.names_in_directories();
    let shares = split_evenly(set.directories(), how.threads);
    let orders = set.ordered(&shares, how.order, "directories");
    let names = expected.iter().map(|&n| u64::from(n)).sum();
    workers::run(
        stats,
        &orders,
        names,
        || EntryCursor::new(set),
        |hand, turn, stats| {
            let levels = set.levels(turn.position);
            set.write_directory(turn.position, levels, &mut hand.path);
            list(hand, expected[turn.position as usize].into(), stats)
        },
    )
    .map(|_| ())
}

fn list(hand: &EntryCursor<'_>, expected: u64, stats: &mut ThreadStats) -> Result<(), OpError> {
    let path = hand.path.path();
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut directory = Dir::openat(&hand.top, hand.path.relative(), flags, Mode::empty())
        .with_call("open", path)?;
    let mut found = 0;
    for entry in directory.iter() {
        let entry = entry.with_call("getdents", path)?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        found += 1;
        stats.finish_op();
        if stats.is_time_up() {
            return Ok(());
        }
    }
    if found != expected {
        return Err(OpError::WrongEntries { path: path.to_owned(), expected, found });
    }
    Ok(())
}
