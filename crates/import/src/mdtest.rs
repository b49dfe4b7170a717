//! The summary of mdtest: operations on files and directories per second.
//!
//! Source of the format: the output of mdtest 1.9 to 4.1 as its users publish it. It prints maximum, minimum, mean and
//! standard deviation over its iterations, but not these: the mean is taken, as one round. What is 0 was not asked for.

use model::Metric;

use crate::gathering::{Gathering, figure};
use crate::number::number;
use crate::text::{lines, option, place, words};
use crate::{Format, Found, ImportError, Naming};

/// Reads all summaries of rates in it.
pub fn read(bytes: &[u8], naming: &Naming) -> Result<Found, ImportError> {
    let mut gathering = Gathering::new(Format::Mdtest, "mdtest", naming);
    let mut place_of = None;
    let mut is_table = false;
    for (line, text) in lines(bytes)? {
        if let Some(version) = text.strip_prefix("mdtest-") {
            let version = version.split_whitespace().next().unwrap_or_default();
            gathering.set_program(&format!("mdtest {version}"));
        }
        let words = words(text);
        match words.as_slice() {
            ["Path", ":", path] => place_of = place(path, false),
            ["Command", "line", "used:", command @ ..] => {
                let path = option(command, "-d").or_else(|| option(command, "'-d'"));
                place_of = path.and_then(|path| place(path.trim_matches('\''), false));
            }
            ["SUMMARY", "rate", ..] | ["SUMMARY:", ..] => {
                is_table = true;
                iterations(&mut gathering, text);
            }
            ["SUMMARY", ..] | ["--", ..] => is_table = false,
            ["Operation" | "---------", ..] | [] => {}
            _ if is_table => {
                let contender = gathering.contender(place_of.as_deref())?;
                row(&mut gathering, line, &contender, &words)?;
            }
            _ => {}
        }
    }
    gathering.finish()
}

/// `(of 10 iterations)`.
fn iterations(gathering: &mut Gathering<'_>, text: &str) {
    let count = text
        .split("(of ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    match count.and_then(|count| count.parse::<u32>().ok()) {
        Some(0 | 1) | None => {}
        Some(count) => gathering.leave_out(format!(
            "single iterations, which mdtest does not print: a mean over {count} is one round"
        )),
    }
}

/// `File creation : 7147.432 6789.531 6996.044 132.149`, the colon in older versions.
fn row(
    gathering: &mut Gathering<'_>,
    line: usize,
    contender: &str,
    words: &[&str],
) -> Result<(), ImportError> {
    let Some(first) = words.len().checked_sub(4).filter(|first| *first > 0) else {
        return Err(ImportError::at(line, "a line of the summary is cut off"));
    };
    let called: Vec<&str> = words[..first]
        .iter()
        .copied()
        .filter(|word| *word != ":")
        .collect();
    let mean = number(words[first + 2], line)?;
    if mean == 0.0 {
        return Ok(());
    }
    let test = gathering.test("mdtest");
    let phase = gathering.phase(&test, &called.join(" "));
    gathering.add(
        line,
        figure(contender, &test, &phase, vec![(Metric::Rate, mean)]),
    )
}
