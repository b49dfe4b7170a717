//! Lists the directories of a set.

use nix::dir::Dir;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::{Hand, How, workers};
use crate::error::{Context, OpError};
use crate::tally::Tally;
use crate::visit_order::shares;
use crate::workspace::Workspace;

/// Lists each directory once; every name found is an operation, and their number must be right.
pub fn readdir(ws: &Workspace, tally: &mut Tally, name: &str, how: How) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let expected = set.names_in_directories();
    let shares = shares(set.directories(), how.threads);
    let orders = set.ordered(&shares, how.order, "directories");
    let names = expected.iter().map(|&n| u64::from(n)).sum();
    workers::run(
        tally,
        &orders,
        names,
        || Hand::on(set),
        |hand, turn, tally| {
            let levels = set.levels(turn.position);
            set.write_directory(turn.position, levels, &mut hand.path);
            list(hand, expected[turn.position as usize].into(), tally)
        },
    )
    .map(|_| ())
}

fn list(hand: &Hand<'_>, expected: u64, tally: &mut Tally) -> Result<(), OpError> {
    let path = hand.path.path();
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut directory =
        Dir::openat(&hand.top, hand.path.relative(), flags, Mode::empty()).of("open", path)?;
    let mut found = 0;
    for entry in directory.iter() {
        let entry = entry.of("getdents", path)?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        found += 1;
        tally.lap();
        if tally.out_of_time() {
            return Ok(());
        }
    }
    if found != expected {
        return Err(OpError::WrongEntries {
            path: path.to_owned(),
            expected,
            found,
        });
    }
    Ok(())
}
