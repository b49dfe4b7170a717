//! Replaces values of stalled cells: a value far above the other rounds of its contender is
//! replaced by an estimate from them.
//!
//! A disturbance makes a cell slower and hardly ever faster, so only high values are checked: with
//! two stalls in three rounds the good value is never replaced. A replaced value is not an
//! observation, so its series has one degree of freedom less. Its round still counts in the
//! comparisons of all other contenders. The value is replaced rather than removed because otherwise
//! two stalls of another contender in the other rounds would be all that is compared.

use super::LogCosts;
use super::prior::{Prior, PriorWeighting, SeriesTable};
use super::scale::from_mad;
use super::student::quantile;
use crate::median;

/// Minimum number of contenders to distinguish the effect of a round from the effect of a
/// contender.
const FEWEST_CONTENDERS: usize = 4;
/// Tail probability, divided by the square of the rounds, of the distance beyond which a value is a
/// stall. The distribution is the t distribution of the prior, and `STALL_MARGIN` increases the
/// distance.
///
/// With more rounds, one stall matters less, and an extreme value more likely indicates a long
/// tail.
const STALL_ALPHA: f64 = 0.015;
const STALL_MARGIN: f64 = 1.15;

/// Whether the value of each row, contender and round was replaced.
pub(super) type Replaced = Vec<Vec<Vec<bool>>>;

/// Nothing replaced.
pub(super) fn no_replacements(rows: &[LogCosts]) -> Replaced {
    let of_row = |row: &LogCosts| row.logs.iter().map(|l| vec![false; l.len()]).collect();
    rows.iter().map(of_row).collect()
}

/// Replaces values of cells that stalled.
pub(super) fn replace(rows: &mut [LogCosts], contenders: usize, tests: usize) -> Replaced {
    let mut replaced = no_replacements(rows);
    if contenders < FEWEST_CONTENDERS {
        return replaced;
    }
    let of_rounds: Vec<Vec<f64>> = rows.iter().map(parts_of_rounds).collect();
    let mut known = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        for (contender, logs) in row.logs.iter().enumerate() {
            let values: Vec<f64> = without_rounds(logs, &of_rounds[place]).map(|v| v.1).collect();
            known.extend(from_mad(&values).map(|scale| (place, contender, scale)));
        }
    }
    let table = SeriesTable {
        rows: rows.len(),
        columns: contenders,
        independent_columns: contenders as f64 - 1.0,
        down: tests as f64,
    };
    let Some(prior) = Prior::fit(table, &known, PriorWeighting::Full) else {
        return replaced;
    };
    let far = |rounds: usize| {
        STALL_MARGIN * quantile(STALL_ALPHA / (rounds * rounds) as f64, prior.freedom())
    };
    let far: Vec<f64> = rows.iter().map(|row| far(row.rounds().max(1))).collect();
    for (place, row) in rows.iter_mut().enumerate() {
        for (contender, logs) in row.logs.iter_mut().enumerate() {
            let reach = far[place] * prior.expected(place, contender).variance.sqrt();
            for round in replace_above(logs, &of_rounds[place], reach) {
                replaced[place][contender][round] = true;
            }
        }
    }
    replaced
}

/// Replaces values of a contender that exceed their median by more than `reach`. Returns the
/// affected rounds.
fn replace_above(logs: &mut [Option<f64>], of_rounds: &[f64], reach: f64) -> Vec<usize> {
    let values: Vec<(usize, f64)> = without_rounds(logs, of_rounds).collect();
    let all: Vec<f64> = values.iter().map(|v| v.1).collect();
    let Some(middle) = median(&all).filter(|_| values.len() > 2) else {
        return Vec::new();
    };
    let (above, rest): (Vec<_>, Vec<_>) = values.into_iter().partition(|v| v.1 > middle + reach);
    let mean = rest.iter().map(|v| v.1).sum::<f64>() / rest.len() as f64;
    for (round, _) in &above {
        logs[*round] = Some(mean + of_rounds[*round]);
    }
    above.into_iter().map(|v| v.0).collect()
}

/// Returns the values of a contender with their rounds, without the common effect of each round.
fn without_rounds<'a>(
    logs: &'a [Option<f64>],
    of_rounds: &'a [f64],
) -> impl Iterator<Item = (usize, f64)> {
    let values = logs.iter().zip(of_rounds).enumerate();
    values.filter_map(|(round, (value, part))| Some((round, (*value)? - part)))
}

/// Returns the effect of each round on all contenders: the median of each contender's deviation
/// from its median.
fn parts_of_rounds(row: &LogCosts) -> Vec<f64> {
    let present = |logs: &Vec<Option<f64>>| logs.iter().flatten().copied().collect::<Vec<f64>>();
    let centres: Vec<Option<f64>> = row.logs.iter().map(|l| median(&present(l))).collect();
    (0..row.rounds())
        .map(|round| {
            let contenders = row.logs.iter().zip(&centres);
            let off =
                contenders.filter_map(|(logs, centre)| Some((*logs.get(round)?)? - (*centre)?));
            median(&off.collect::<Vec<f64>>()).unwrap_or(0.0)
        })
        .collect()
}
