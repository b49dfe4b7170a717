//! The table of fs_mark: files made per second, a line for each iteration, which is a round.
//!
//! Source of the format: the output of fs_mark 3.3 with and without `-v`, which adds minimum, mean and maximum of six
//! system calls in microseconds. Iterations (`-L`) are on one filesystem, which fills.

use model::{Figure, Group, Metric};

use crate::gathering::{Gathering, figure};
use crate::number::number;
use crate::text::{lines, option, place, words};
use crate::{Format, Found, ImportError, Naming};

/// Columns without `-v`.
const COLUMNS: usize = 5;
/// Columns with it.
const VERBOSE: usize = COLUMNS + 6 * 3;

/// Reads its table.
pub fn read(bytes: &[u8], naming: &Naming) -> Result<Found, ImportError> {
    let mut gathering = Gathering::new(Format::FsMark, "fs_mark", naming);
    let mut place_of = None;
    let mut is_table = false;
    let mut group = None;
    for (line, text) in lines(bytes)? {
        let words = words(text);
        match words.as_slice() {
            ["#", command @ ..] if command.first().is_some_and(|c| c.ends_with("fs_mark")) => {
                place_of = option(command, "-d").and_then(|path| place(path, false));
            }
            ["#", "Version", version, ..] => {
                let version = version.trim_end_matches(',');
                gathering.set_program(&format!("fs_mark {version}"));
            }
            ["#", "Sync", "method:", method @ ..] => {
                let none = method.starts_with(&["NO", "SYNC:"]);
                group = Some(if none {
                    Group::ManyFiles
                } else {
                    Group::Durable
                });
            }
            [first, ..] if first.starts_with('#') => {}
            ["FSUse%", ..] => is_table = true,
            [] => {}
            // Iterations after which the filesystem was full, and the like.
            _ if !is_table || !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {}
            _ => {
                let contender = gathering.contender(place_of.as_deref())?;
                result(&mut gathering, line, &contender, group, &words)?;
            }
        }
    }
    gathering.finish()
}

fn result(
    gathering: &mut Gathering<'_>,
    line: usize,
    contender: &str,
    group: Option<Group>,
    columns: &[&str],
) -> Result<(), ImportError> {
    if ![COLUMNS, VERBOSE].contains(&columns.len()) {
        let count = columns.len();
        let what = format!("{count} columns where fs_mark has {COLUMNS}, or {VERBOSE} with -v");
        return Err(ImportError::at(line, what));
    }
    let mut values = vec![(Metric::Rate, number(columns[3], line)?)];
    if columns.len() == VERBOSE {
        let microseconds = |column: usize| Ok(number(columns[column], line)? / 1e6);
        values.push((Metric::SyncMax, microseconds(COLUMNS + 8)?));
        values.push((Metric::CloseMean, microseconds(COLUMNS + 13)?));
        values.push((Metric::CloseMax, microseconds(COLUMNS + 14)?));
    }
    let test = gathering.test("fs-mark");
    let taken = figure(contender, &test, "create", values);
    gathering.add(line, Figure { group, ..taken })
}
