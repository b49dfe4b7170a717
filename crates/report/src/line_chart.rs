//! Line charts as SVG: a curve for each contender over the values of one axis, evenly spaced, with lines
//! where a cache ends. The same figures always give the same bytes.
//!
//! Curves are told apart by dashes and by the name at their end, not by colour alone.

use std::fmt::Write;

use crate::axis::{Axis, tick_label};
use crate::svg::{escape, number};
use crate::text::shorten;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LineChart {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// What the numbers of the upright axis are.
    pub unit: &'static str,
    /// The values of the level axis, in rising order.
    pub ticks: Vec<String>,
    /// What ends before the tick of this number.
    pub rules: Vec<(usize, &'static str)>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The curve of a contender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// The contender.
    pub name: String,
    /// A value for each tick, in the numbers of the axis; a gap where there is none.
    pub values: Vec<Option<f64>>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 520.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 226.0;
/// The most labels below the level axis.
const MOST_LABELS: usize = 8;
/// Columns of a name at the end of its curve.
const NAME_COLUMNS: usize = 18;
/// Lines that are as far apart as a name is high.
const LINE: f64 = 13.0;

/// Draws a chart.
pub(crate) fn draw(chart: &LineChart) -> String {
    let values = chart.curves.iter().flat_map(|c| c.values.iter().flatten());
    let axis = Axis::for_values(values.copied());
    let place = Place {
        axis,
        count: chart.ticks.len(),
    };
    let mut out = format!(
        r#"<svg class="chart curve" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
        number(WIDTH),
        number(HEIGHT),
        escape(&chart.description)
    );
    grid(&mut out, &place, chart);
    rules(&mut out, &place, chart);
    for (index, curve) in chart.curves.iter().enumerate() {
        line(&mut out, &place, curve, index);
    }
    names(&mut out, &place, chart);
    out.push_str("</svg>");
    out
}

/// Where values lie.
struct Place {
    axis: Axis,
    count: usize,
}

impl Place {
    fn x(&self, tick: f64) -> f64 {
        let steps = self.count.saturating_sub(1).max(1) as f64;
        LEFT + (RIGHT - LEFT) * tick / steps
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * self.axis.share(value)
    }
}

fn grid(out: &mut String, place: &Place, chart: &LineChart) {
    let mut path = String::new();
    for tick in &place.axis.ticks {
        let y = number(place.y(*tick));
        let _ = write!(path, "M{} {y}H{}", number(LEFT), number(RIGHT));
        let _ = write!(
            out,
            r#"<text class="level" x="{}" y="{}">{}</text>"#,
            number(LEFT - 6.0),
            number(place.y(*tick) + 4.0),
            tick_label(*tick)
        );
    }
    let _ = write!(
        out,
        r#"<path class="grid" d="{path}"/><text class="unit" x="{}" y="{}">{}</text>"#,
        number(LEFT + 40.0),
        number(TOP - 6.0),
        escape(chart.unit)
    );
    let step = chart.ticks.len().div_ceil(MOST_LABELS).max(1);
    for (index, tick) in chart.ticks.iter().enumerate().step_by(step) {
        let _ = write!(
            out,
            r#"<text class="tick" x="{}" y="{}">{}</text>"#,
            number(place.x(index as f64)),
            number(BOTTOM + 16.0),
            escape(tick)
        );
    }
}

/// Upright lines half-way between the last value that fits and the first that does not.
fn rules(out: &mut String, place: &Place, chart: &LineChart) {
    for (order, (tick, words)) in chart.rules.iter().enumerate() {
        let x = number(place.x((*tick as f64 - 0.5).max(0.0)));
        let _ = write!(
            out,
            r#"<path class="border" d="M{x} {}V{}"/><text class="border" x="{x}" y="{}">{}</text>"#,
            number(TOP),
            number(BOTTOM),
            number(TOP + LINE * (order as f64 + 0.8)),
            escape(words)
        );
    }
}

fn line(out: &mut String, place: &Place, curve: &Curve, index: usize) {
    let (mut path, mut dots) = (String::new(), String::new());
    let mut pen = 'M';
    for (tick, value) in curve.values.iter().enumerate() {
        let Some(value) = value else {
            pen = 'M';
            continue;
        };
        let (x, y) = (number(place.x(tick as f64)), number(place.y(*value)));
        let _ = write!(path, "{pen}{x} {y}");
        let _ = write!(dots, "M{x} {y}h0");
        pen = 'L';
    }
    let class = format!("line line-{}", index % 6);
    let _ = write!(
        out,
        r#"<path class="{class}" d="{path}"/><path class="{class} dots" d="{dots}"/>"#
    );
}

/// Names at the ends of their curves, moved apart where they would lie over each other.
fn names(out: &mut String, place: &Place, chart: &LineChart) {
    let end = |curve: &Curve| Some(place.y(curve.values.iter().rev().flatten().next().copied()?));
    let mut ends: Vec<(f64, usize)> = chart
        .curves
        .iter()
        .enumerate()
        .filter_map(|(index, curve)| Some((end(curve)?, index)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::MIN;
    for (wanted, index) in ends {
        let y = wanted.max(free);
        free = y + LINE;
        let _ = write!(
            out,
            r#"<text class="end line-{}" x="{}" y="{}">{}</text>"#,
            index % 6,
            number(RIGHT + 8.0),
            number(y + 4.0),
            escape(&shorten(&chart.curves[index].name, NAME_COLUMNS))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> LineChart {
        LineChart {
            description: "A <chart>".into(),
            unit: "MB/s",
            ticks: ["1 MiB", "2 MiB", "4 MiB"].map(String::from).into(),
            rules: vec![(2, "memory ends")],
            curves: vec![
                Curve {
                    name: "fast & safe".into(),
                    values: vec![Some(10.0), None, Some(30.0)],
                },
                Curve {
                    name: "slow".into(),
                    values: vec![Some(1.0), Some(2.0), Some(29.9)],
                },
            ],
        }
    }

    #[test]
    fn a_chart_in_full() {
        insta::assert_snapshot!(draw(&chart()).replace("><", ">\n<"));
    }

    #[test]
    fn a_gap_breaks_the_line_and_names_do_not_lie_over_each_other() {
        let drawn = draw(&chart());
        let first = drawn.split("class=\"line line-0\" d=\"").nth(1).unwrap();
        let path = first.split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        let heights: Vec<f64> = drawn
            .split("class=\"end ")
            .skip(1)
            .map(|text| {
                let y = text.split("y=\"").nth(1).unwrap();
                y.split('"').next().unwrap().parse().unwrap()
            })
            .collect();
        assert!(
            (heights[1] - heights[0]).abs() >= LINE - 0.01,
            "{heights:?}"
        );
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        let mut empty = chart();
        empty.curves.clear();
        assert!(draw(&empty).ends_with("</svg>"));
    }
}
