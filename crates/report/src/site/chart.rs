//! A result of one contender over campaigns as a line: medians with their intervals, and the level
//! changes.

use std::fmt::Write as _;

use model::Direction;
use stats::Series;

use crate::UnitScale;
use crate::text::sanitize::sanitize_line;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 450.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 122.0;
/// Width of a campaign number below the axis.
const TICK: f64 = 30.0;

/// Range of the values.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Returns the range of all medians and intervals, with some margin.
    fn of(series: &Series) -> Self {
        let estimates = series.points.iter().filter_map(|point| point.estimate);
        let ends = estimates.flat_map(|e| [e.median, e.interval.low, e.interval.high]);
        let ends = ends.filter(|value| value.is_finite());
        let (mut low, mut high) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // A variation of less than a tenth must not fill the whole chart.
        let least = high.abs().max(low.abs()) * 0.1;
        let room = ((least - (high - low)) / 2.0).max((high - low) * 0.08);
        let room = if room > 0.0 { room } else { 1.0 };
        let lowest = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Self { low: (low - room).max(lowest), high: high + room }
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        BOTTOM - (BOTTOM - TOP) * share.clamp(0.0, 1.0)
    }
}

/// Renders the chart as SVG. Its colours come from the page.
pub(super) fn svg(series: &Series, scale: &UnitScale) -> String {
    let range = Range::of(series);
    let count = series.points.len();
    let x = |place: usize| match count {
        0 | 1 => f64::midpoint(LEFT, RIGHT),
        _ => LEFT + 8.0 + (RIGHT - LEFT - 16.0) * place as f64 / (count - 1) as f64,
    };
    let mut out = format!(
        "<svg class=\"chart level-line\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        description(series, scale)
    );
    levels(&mut out, &range, scale);
    for change in &series.changes {
        let at = f64::midpoint(x(change.at.saturating_sub(1)), x(change.at));
        let class = match change.worse {
            Some(true) => "border worse",
            Some(false) => "border better",
            None => "border",
        };
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/><text class=\"{class}\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            TOP - 5.0,
            times(change.before, change.after)
        );
    }
    line(&mut out, series, &range, &x);
    let every = (count as f64 * TICK / (RIGHT - LEFT)).ceil().max(1.0) as usize;
    for (place, point) in series.points.iter().enumerate() {
        let at = x(place);
        if place % every == 0 {
            let y = BOTTOM + 15.0;
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{at:.1}\" y=\"{y}\">{}</text>",
                point.campaign
            );
        }
        dot(&mut out, at, point, &range, scale);
    }
    out + "</svg>"
}

/// Draws three horizontal lines with their values.
fn levels(out: &mut String, range: &Range, scale: &UnitScale) {
    for share in [0.0, 0.5, 1.0] {
        let value = range.low + (range.high - range.low) * share;
        let y = range.y(value);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/><text class=\"level\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            scale.number(value)
        );
    }
}

/// Draws the line through the medians, with a gap at each campaign without a median.
fn line(out: &mut String, series: &Series, range: &Range, x: &impl Fn(usize) -> f64) {
    let mut path = String::new();
    let mut pen = 'M';
    for (place, point) in series.points.iter().enumerate() {
        match point.estimate {
            Some(estimate) => {
                let _ = write!(path, "{pen}{:.1} {:.1}", x(place), range.y(estimate.median));
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    let _ = write!(out, "<g class=\"series k0\"><path class=\"line\" d=\"{path}\"/></g>");
}

fn dot(out: &mut String, x: f64, point: &stats::HistoryPoint, range: &Range, scale: &UnitScale) {
    let Some(estimate) = point.estimate else {
        let word = point.outcomes.first().map_or("?", |word| word.as_str());
        let y = f64::midpoint(TOP, BOTTOM);
        let _ = write!(
            out,
            "<text class=\"tick word\" x=\"{x:.1}\" y=\"{y}\"><title>campaign {}: {}</title>×</text>",
            point.campaign,
            escaped(word)
        );
        return;
    };
    let y = range.y(estimate.median);
    if estimate.rounds > 1 {
        let (low, high) = (range.y(estimate.interval.low), range.y(estimate.interval.high));
        let _ = write!(out, "<path class=\"whisker\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>");
    }
    let _ = write!(
        out,
        "<g class=\"series k0\"><circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>campaign {}: {}</title></circle></g>",
        point.campaign,
        escaped(&scale.with_unit(estimate.median))
    );
}

/// `×1.30`.
fn times(before: f64, after: f64) -> String {
    let factor = crate::text::scale::three_digits(after / before);
    format!("×{factor}")
}

/// Returns the text read by screen readers in place of the picture.
fn description(series: &Series, scale: &UnitScale) -> String {
    let mut medians = series.points.iter().filter_map(|p| Some(p.estimate?.median));
    let ends = [medians.clone().next(), medians.next_back()];
    let [first, last] = ends.map(|value| value.map_or_else(String::new, |v| scale.with_unit(v)));
    let better = match series.direction {
        Direction::Higher => ", more is better",
        Direction::Lower => ", less is better",
        Direction::Neutral => "",
    };
    let changes = match series.changes.len() {
        0 => "no change of level".to_owned(),
        1 => "one change of level".to_owned(),
        count => format!("{count} changes of level"),
    };
    escaped(&format!(
        "{} in {} campaigns: first {first}, last {last}{better}; {changes}",
        series.contender,
        series.points.len()
    ))
}

fn escaped(text: &str) -> String {
    sanitize_line(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
