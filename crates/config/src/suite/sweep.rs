//! `[test.sweep]`: the points of a sweep. Each point is a separate test.
//!
//! Knows only axes and numbers; phases interpret them.

use std::collections::BTreeMap;

use model::{GuestConfig, SweepAxis, SweepPoint};

use crate::CatalogError;
use crate::catalog::document::TomlValue;

/// Maximum number of points of a sweep. Prevents endless campaigns after a typing error.
const MAX_POINTS: usize = 1000;
/// Limit of every count of a point; far below an overflow.
const MAX_COUNT: u64 = 1 << 32;

/// Names of the axes in data files.
pub(crate) const AXES: [&str; SweepAxis::ALL.len()] = {
    let mut names = [""; SweepAxis::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SweepAxis::ALL[i].name();
        i += 1;
    }
    names
};
/// Keys of an axis with a range.
pub(crate) const RANGE: [&str; 3] = ["from", "to", "times"];

/// One point: the value on each axis and its place in the file.
#[derive(Clone, Default)]
pub(crate) struct ParsedPoint<'a>(Vec<(SweepAxis, u64, TomlValue<'a>)>);

impl<'a> ParsedPoint<'a> {
    /// Returns the parameters that the point sets, named after their axes. Excludes `disks`, which
    /// is not a parameter of an operation.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, TomlValue<'a>)> {
        let values = self.0.iter().filter(|(axis, ..)| *axis != SweepAxis::Disks);
        values.map(|(axis, number, place)| (axis.name(), place.with_number(*number)))
    }

    /// Returns the name of the point's test.
    pub fn name(&self, of: &str) -> String {
        let values = self.0.iter();
        values.fold(of.to_owned(), |name, (axis, number, _)| {
            format!("{name}-{}", axis.format_short(*number))
        })
    }

    /// Returns the coordinates as readable text: `size 64 KiB, block 8 KiB`.
    pub fn label(&self) -> String {
        let values = self.0.iter();
        let values =
            values.map(|(axis, number, _)| format!("{axis} {}", axis.format_long(*number)));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Converts the point to the form that results contain.
    pub fn to_model(&self, sweep: &str) -> SweepPoint {
        SweepPoint { sweep: sweep.to_owned(), at: self.at() }
    }

    fn at(&self) -> BTreeMap<SweepAxis, u64> {
        self.0.iter().map(|(axis, n, _)| (*axis, *n)).collect()
    }

    /// Returns true if request and stride fit into the file, and the request fits into the stride.
    fn makes_sense(&self) -> bool {
        let at = self.at();
        let within = |small, large| match (at.get(&small), at.get(&large)) {
            (Some(small), Some(large)) => small <= large,
            _ => true,
        };
        within(SweepAxis::Block, SweepAxis::Size)
            && within(SweepAxis::Stride, SweepAxis::Size)
            && within(SweepAxis::Block, SweepAxis::Stride)
    }
}

/// Returns the points of a sweep in ascending order, the first axis slowest. Omits points that make
/// no sense. `resolve` returns the value of an axis for the profile.
pub(crate) fn points<'a>(
    sweep: &TomlValue<'a>,
    resolve: impl Fn(TomlValue<'a>) -> Result<TomlValue<'a>, CatalogError>,
) -> Result<Vec<ParsedPoint<'a>>, CatalogError> {
    let table = sweep.table(&AXES)?;
    let mut points = vec![ParsedPoint::default()];
    for axis in SweepAxis::ALL {
        let Some(value) = table.get(axis.name())? else {
            continue;
        };
        let value = resolve(value)?;
        let numbers = numbers(axis, &value)?;
        if points.len() * numbers.len() > MAX_POINTS {
            return Err(value.error(format!("the sweep has more than {MAX_POINTS} points")));
        }
        points = points
            .iter()
            .flat_map(|point| {
                numbers.iter().map(|(number, place)| {
                    let mut point = point.clone();
                    point.0.push((axis, *number, *place));
                    point
                })
            })
            .collect();
    }
    if points[0].0.is_empty() {
        return Err(sweep.expected_error("at least one axis"));
    }
    points.retain(ParsedPoint::makes_sense);
    if points.is_empty() {
        return Err(sweep.error(
            "no point of the sweep makes sense: in each, `block` or `stride` is above `size`, or \
             `block` above `stride`"
                .into(),
        ));
    }
    Ok(points)
}

/// Reads the values of an axis, in ascending order: a list, or a range with its ends and its
/// factor.
fn numbers<'a>(
    axis: SweepAxis,
    value: &TomlValue<'a>,
) -> Result<Vec<(u64, TomlValue<'a>)>, CatalogError> {
    let numbers = if value.is_table() {
        range(axis, value)?
    } else {
        let list = value.list("values, or { from, to, times }")?;
        let numbers = list.into_iter().map(|v| Ok((number(axis, &v)?, v)));
        numbers.collect::<Result<Vec<_>, CatalogError>>()?
    };
    match numbers.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        None => Ok(numbers),
        Some(pair) => Err(pair[1].1.error(format!(
            "the values of `{axis}` do not rise: {} comes after {}",
            axis.format_long(pair[1].0),
            axis.format_long(pair[0].0)
        ))),
    }
}

fn range<'a>(
    axis: SweepAxis,
    value: &TomlValue<'a>,
) -> Result<Vec<(u64, TomlValue<'a>)>, CatalogError> {
    let table = value.table(&RANGE)?;
    let from = number(axis, &table.required("from")?)?;
    let end = table.required("to")?;
    let to = number(axis, &end)?;
    let times = table.required("times")?.count(2..=1024)?;
    let steps = std::iter::successors(Some(from), |n| n.checked_mul(times));
    let numbers: Vec<u64> = steps.take_while(|n| *n <= to).collect();
    if numbers.last() != Some(&to) {
        return Err(end.error(format!(
            "`to` is {}, which {} does not reach in steps of ×{times}",
            axis.format_long(to),
            axis.format_long(from)
        )));
    }
    Ok(numbers.into_iter().map(|n| (n, *value)).collect())
}

fn number(axis: SweepAxis, value: &TomlValue<'_>) -> Result<u64, CatalogError> {
    match axis {
        SweepAxis::Disks => value.count(1..=GuestConfig::MAX_DISKS).map(u64::from),
        SweepAxis::Used => value.count(1..=99),
        _ if axis.is_bytes() => value.size().map(|bytes| bytes.0),
        _ => value.count(1..=MAX_COUNT - 1),
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
