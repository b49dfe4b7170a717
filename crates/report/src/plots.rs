//! Charts over several metrics or phases as SVG: the steps of a test as stacked bars, latency as
//! percentile curves, processor time against speed. The same figures always give the same bytes.

use std::fmt::Write;

use analyse::{Analysis, Outcome, Row};
use model::{Metric, Unit};

use crate::Scale;
use crate::axis::{Axis, tick_label};
use crate::svg::{escape, number};
use crate::text::{clean, short_names, shorten};

/// Colours there are for steps and contenders; classes `k0` …
pub(crate) const COLOURS: usize = 10;
/// The percentiles of a curve, with what stands below each.
const PERCENTILES: [(Metric, &str); 6] = [
    (Metric::LatencyP50, "50 %"),
    (Metric::LatencyP90, "90 %"),
    (Metric::LatencyP99, "99 %"),
    (Metric::LatencyP999, "99.9 %"),
    (Metric::LatencyP9999, "99.99 %"),
    (Metric::LatencyMax, "worst"),
];

const WIDTH: f64 = 640.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 226.0;
const LINE: f64 = 14.0;
/// Columns of a name beside a chart.
const NAME_COLUMNS: usize = 20;
/// Where bars begin and end, and how high a line of them is.
const BARS_LEFT: f64 = 140.0;
const BARS_RIGHT: f64 = 540.0;
const BAR_LINE: f64 = 24.0;

/// The rows of one test, with their places in the analysis left out: by phase, in order.
fn elapsed<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let elapsed = rows.iter().filter(|row| row.metric == Metric::Elapsed);
    let any = |row: &&&Row| row.figures.iter().any(|f| f.estimate.is_some());
    elapsed.filter(any).copied().collect()
}

/// The steps of a test as stacked bars, one for each contender; `None` where there are not two. A total over a step
/// that failed, in whatever round, is invalid.
pub(crate) fn steps(rows: &[&Row], analysis: &Analysis) -> Option<String> {
    let steps = elapsed(rows);
    if steps.len() < 2 {
        return None;
    }
    let seconds = |row: &Row, contender: usize| {
        let figure = &row.figures[contender];
        let estimate = figure.estimate.filter(|_| !figure.has_failed_rounds());
        Some(estimate?.median)
    };
    let totals: Vec<(f64, usize)> = (0..analysis.contenders.len())
        .map(|contender| {
            let known = steps.iter().filter_map(|row| seconds(row, contender));
            let known: Vec<f64> = known.collect();
            (known.iter().sum(), known.len())
        })
        .collect();
    let scale = Scale::of(Unit::Seconds, totals.iter().map(|(total, _)| *total));
    let axis = Axis::for_values(totals.iter().map(|(total, _)| scale.scaled(*total)));
    let x = |value: f64| BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * axis.share(value);
    let bottom = TOP + BAR_LINE * totals.len() as f64;
    let legend_lines = steps.len().div_ceil(4) as f64;
    let height = bottom + 26.0 + LINE * legend_lines + 6.0;
    let mut out = open(
        height,
        &format!(
            "Stacked bars: the steps of {}, by contender.",
            clean(&steps[0].test)
        ),
    );
    for tick in &axis.ticks {
        let at = number(x(*tick));
        let _ = write!(
            out,
            r#"<path class="grid" d="M{at} {}V{}"/><text class="tick" x="{at}" y="{}">{}</text>"#,
            number(TOP),
            number(bottom),
            number(bottom + 14.0),
            tick_label(*tick)
        );
    }
    text(&mut out, "unit", WIDTH - 4.0, bottom + 14.0, scale.axis());
    let names = short_names(&analysis.contenders, NAME_COLUMNS);
    for (contender, (name, (total, known))) in names.iter().zip(&totals).enumerate() {
        let top = TOP + BAR_LINE * contender as f64;
        let mut begin = 0.0;
        for (place, row) in steps.iter().enumerate() {
            let Some(value) = seconds(row, contender) else {
                continue;
            };
            let end = begin + scale.scaled(value);
            let _ = write!(
                out,
                r#"<rect class="k{}" x="{}" y="{}" width="{}" height="14"/>"#,
                place % COLOURS,
                number(x(begin)),
                number(top + 4.0),
                number(x(end) - x(begin))
            );
            begin = end;
        }
        text(&mut out, "name", BARS_LEFT - 6.0, top + 15.0, name);
        let value = match steps.len() == *known {
            true => scale.with_unit(*total),
            false => Outcome::Invalid.to_string(),
        };
        text(&mut out, "value", WIDTH - 4.0, top + 15.0, &value);
    }
    for (place, row) in steps.iter().enumerate() {
        let x = BARS_LEFT + 125.0 * (place % 4) as f64;
        let y = bottom + 32.0 + LINE * (place / 4) as f64;
        let _ = write!(
            out,
            r#"<rect class="k{}" x="{}" y="{}" width="9" height="9"/>"#,
            place % COLOURS,
            number(x),
            number(y - 8.0)
        );
        text(
            &mut out,
            "key",
            x + 13.0,
            y,
            &shorten(&clean(&row.phase), 17),
        );
    }
    out.push_str("</svg>");
    Some(out)
}

/// The latency of a phase as percentile curves, on a logarithmic axis; `None` where it was not taken.
pub(crate) fn latency(rows: &[&Row], phase: &str, analysis: &Analysis) -> Option<String> {
    let of = |metric: Metric| {
        let mut rows = rows.iter();
        rows.find(|row| row.phase == phase && row.metric == metric)
    };
    let points: Vec<(&Row, &str)> = PERCENTILES
        .iter()
        .filter_map(|(metric, label)| Some((*of(*metric)?, *label)))
        .collect();
    let medians = points.iter().flat_map(|(row, _)| &row.figures);
    let medians: Vec<f64> = medians
        .filter_map(|f| Some(f.estimate?.median))
        .filter(|median| *median > 0.0)
        .collect();
    if points.len() < 2 || medians.is_empty() {
        return None;
    }
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let most = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (first, last) = (
        least.log10().floor(),
        most.log10().ceil().max(least.log10().floor() + 1.0),
    );
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * (value.log10() - first) / (last - first);
    let x = |place: usize| LEFT + (RIGHT - LEFT) * place as f64 / (points.len() - 1) as f64;
    let mut out = open(
        BOTTOM + 30.0,
        &format!(
            "Line chart: latency percentiles of {}, by contender.",
            clean(phase)
        ),
    );
    for decade in first as i32..=last as i32 {
        let value = 10f64.powi(decade);
        let at = number(y(value));
        let _ = write!(
            out,
            r#"<path class="grid" d="M{} {at}H{}"/>"#,
            number(LEFT),
            number(RIGHT)
        );
        let label = Scale::of(Unit::Seconds, [value]).with_unit(value);
        text(
            &mut out,
            "level",
            LEFT - 6.0,
            y(value) + 4.0,
            &label.replace(".00", ""),
        );
    }
    for (place, (_, label)) in points.iter().enumerate() {
        text(&mut out, "tick", x(place), BOTTOM + 16.0, label);
    }
    let mut ends = Vec::new();
    for contender in 0..analysis.contenders.len() {
        let curve: Vec<(f64, f64)> = points
            .iter()
            .enumerate()
            .filter_map(|(place, (row, _))| {
                let median = row.figures[contender].estimate?.median;
                (median > 0.0).then(|| (x(place), y(median)))
            })
            .collect();
        let Some(end) = curve.last() else { continue };
        ends.push((end.1, contender));
        let points = curve.iter().enumerate().map(|(index, (x, y))| {
            let pen = if index == 0 { 'M' } else { 'L' };
            format!("{pen}{} {}", number(*x), number(*y))
        });
        let _ = write!(
            out,
            r#"<path class="line line-{}" d="{}"/>"#,
            contender % 6,
            points.collect::<String>()
        );
    }
    end_names(&mut out, ends, analysis);
    out.push_str("</svg>");
    Some(out)
}

/// Processor time of the machine against the figure that judges a phase, a point for each contender;
/// `None` where either is missing.
pub(crate) fn processor(rows: &[&Row], phase: &str, analysis: &Analysis) -> Option<String> {
    let of_phase = || rows.iter().filter(|row| row.phase == phase);
    let speed = of_phase()
        .find(|row| row.headline && matches!(row.metric, Metric::Throughput | Metric::Rate))?;
    let processor = of_phase().find(|row| row.metric == Metric::CpuMachine);
    let processor = processor.or_else(|| of_phase().find(|row| row.metric == Metric::Cpu))?;
    let medians = speed
        .figures
        .iter()
        .filter_map(|f| Some(f.estimate?.median));
    let scale = Scale::for_metric(speed.metric, medians);
    let points: Vec<(usize, f64, f64)> = (0..analysis.contenders.len())
        .filter_map(|c| {
            let across = scale.scaled(speed.figures[c].estimate?.median);
            Some((c, across, processor.figures[c].estimate?.median))
        })
        .collect();
    if points.is_empty() {
        return None;
    }
    let across = Axis::for_values(points.iter().map(|p| p.1));
    let up = Axis::for_values(points.iter().map(|p| p.2));
    let x = |value: f64| LEFT + (RIGHT - LEFT) * across.share(value);
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * up.share(value);
    let mut out = open(
        BOTTOM + 30.0,
        &format!(
            "Scatter plot: processor time against speed of {}.",
            clean(phase)
        ),
    );
    for tick in &across.ticks {
        text(
            &mut out,
            "tick",
            x(*tick),
            BOTTOM + 16.0,
            &tick_label(*tick),
        );
    }
    for tick in &up.ticks {
        let at = number(y(*tick));
        let _ = write!(
            out,
            r#"<path class="grid" d="M{} {at}H{}"/>"#,
            number(LEFT),
            number(RIGHT)
        );
        text(
            &mut out,
            "level",
            LEFT - 6.0,
            y(*tick) + 4.0,
            &format!("{} %", tick_label(*tick)),
        );
    }
    text(&mut out, "unit", WIDTH - 4.0, BOTTOM + 16.0, scale.axis());
    let names = short_names(&analysis.contenders, NAME_COLUMNS);
    for (contender, speed, busy) in points {
        let (at_x, at_y) = (x(speed), y(busy));
        let _ = write!(
            out,
            r#"<circle class="k{}" cx="{}" cy="{}" r="4"/>"#,
            contender % COLOURS,
            number(at_x),
            number(at_y)
        );
        text(&mut out, "key", at_x + 7.0, at_y + 4.0, &names[contender]);
    }
    out.push_str("</svg>");
    Some(out)
}

/// The beginning of a chart of this height.
fn open(height: f64, description: &str) -> String {
    format!(
        r#"<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
        number(WIDTH),
        number(height),
        escape(description)
    )
}

fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let _ = write!(
        out,
        r#"<text class="{class}" x="{}" y="{}">{}</text>"#,
        number(x),
        number(y),
        escape(words)
    );
}

/// Names at the ends of curves, moved apart where they would lie over each other.
fn end_names(out: &mut String, mut ends: Vec<(f64, usize)>, analysis: &Analysis) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names = short_names(&analysis.contenders, NAME_COLUMNS);
    let mut free = f64::MIN;
    for (wanted, contender) in ends {
        let y = wanted.max(free);
        free = y + LINE;
        text(out, "end", RIGHT + 8.0, y + 4.0, &names[contender]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    fn rows(analysis: &Analysis) -> Vec<&Row> {
        analysis
            .rows
            .iter()
            .filter(|row| row.test == "file")
            .collect()
    }

    #[test]
    fn steps_lie_end_to_end_and_add_up() {
        let analysis = analyse(&fixture::plain());
        let drawn = steps(&rows(&analysis), &analysis).unwrap();
        // 1 s + 1 s, 2 s + 1 s, 4 s + 1 s.
        for total in ["2.00 s", "3.00 s", "5.00 s"] {
            assert!(
                drawn.contains(&format!(">{total}</text>")),
                "{total}: {drawn}"
            );
        }
        let bars = drawn.matches("height=\"14\"").count();
        assert_eq!(bars, 6, "two steps of three contenders");
    }

    #[test]
    fn a_total_without_a_step_is_invalid_and_no_smaller_number() {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            if stored.cell.contender == "slow" {
                stored.result.as_mut().unwrap().phases[1].status = model::Status::Failed;
            }
        }
        let analysis = analyse(&results);
        let drawn = steps(&rows(&analysis), &analysis).unwrap();
        assert!(drawn.contains(">invalid</text>"), "{drawn}");
        assert!(!drawn.contains(">4.00 s"), "{drawn}");
    }

    #[test]
    fn percentiles_rise_from_left_to_right() {
        let analysis = analyse(&fixture::plain());
        let drawn = latency(&rows(&analysis), "write", &analysis).unwrap();
        let curve = drawn.split("class=\"line line-0\" d=\"M").nth(1).unwrap();
        let curve = curve.split('"').next().unwrap();
        let heights: Vec<f64> = curve
            .split('L')
            .map(|point| point.split(' ').nth(1).unwrap().parse().unwrap())
            .collect();
        assert!(
            heights.len() > 2 && heights.windows(2).all(|w| w[1] <= w[0]),
            "{heights:?}"
        );
        assert!(latency(&rows(&analysis), "nothing", &analysis).is_none());
    }

    #[test]
    fn every_contender_with_both_figures_is_a_point() {
        let analysis = analyse(&fixture::plain());
        let drawn = processor(&rows(&analysis), "write", &analysis).unwrap();
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert!(drawn.contains(">slow</text>") && drawn.contains(">MB/s</text>"));
    }
}
