//! Figures as charts in SVG, for those who want pictures: a row as bars, a slice of a sweep as curves. The
//! page draws for itself, from the same numbers.

use analyse::{Analysis, Figure, Row, Slice, Sweep, SweptPhase};
use model::Axis;

use crate::line_chart::{Curve, LineChart};
use crate::overview::{entry, scale_of, status_counts};
use crate::svg::{Bar, Chart, LABEL_COLUMNS, Value};
use crate::sweeps::over;
use crate::text::{clean, short_names};
use crate::{Scale, line_chart, svg, words};

/// A row as bars, in the campaign's order of contenders; SVG without a style of its own.
pub fn bars(row: &Row) -> String {
    let names: Vec<String> = row.figures.iter().map(|f| f.contender.clone()).collect();
    let labels = short_names(&names, LABEL_COLUMNS);
    let scale = scale_of(row);
    let figures = row.figures.iter().zip(&labels);
    svg::draw(&Chart {
        description: format!(
            "Bar chart: {} of {}, {}, by contender.",
            words::title(row.metric),
            clean(&row.phase),
            words::direction(row.direction)
        ),
        unit: scale.axis().to_owned(),
        bars: figures
            .map(|(figure, label)| bar(row, figure, label, &scale))
            .collect(),
    })
}

fn bar(row: &Row, figure: &Figure, label: &str, scale: &Scale) -> Bar {
    let shown = entry(row, figure, scale);
    match &figure.estimate {
        None => Bar {
            label: label.to_owned(),
            text: status_counts(figure),
            tone: shown.tone,
            value: Value::Word,
        },
        Some(estimate) => Bar {
            label: label.to_owned(),
            text: format!("{}{}", shown.text, shown.signs),
            tone: shown.tone,
            value: Value::Figure {
                median: scale.scaled(estimate.median),
                interval: (estimate.rounds > 1).then(|| {
                    let interval = estimate.interval;
                    (scale.scaled(interval.low), scale.scaled(interval.high))
                }),
                rounds: figure
                    .rounds
                    .iter()
                    .filter_map(|r| Some(scale.scaled(r.value?)))
                    .collect(),
            },
        },
    }
}

/// A slice of a sweep as curves, one for each contender, with the borders of the caches; SVG without a
/// style of its own. `None` where the slice has no points.
pub fn curves(
    sweep: &Sweep,
    phase: &SweptPhase,
    slice: &Slice<'_>,
    analysis: &Analysis,
) -> Option<String> {
    let rows = || slice.points.iter().map(|(_, p)| &analysis.rows[p.row]);
    let figures = rows().flat_map(|row| &row.figures);
    let medians = figures.filter_map(|f| Some(f.estimate?.median));
    let scale = Scale::for_metric(rows().next()?.metric, medians);
    let contenders = analysis.contenders.iter().enumerate();
    let curves = contenders.map(|(index, name)| Curve {
        name: clean(name),
        values: rows()
            .map(|row| Some(scale.scaled(row.figures[index].estimate?.median)))
            .collect(),
    });
    let places = slice.points.iter().map(|(value, _)| *value);
    Some(line_chart::draw(&LineChart {
        description: format!(
            "Line chart: {} {}, in {}, a line for each contender.",
            clean(&phase.phase),
            over(slice),
            scale.axis()
        ),
        unit: scale.axis(),
        ticks: places.clone().map(|value| slice.axis.show(value)).collect(),
        rules: match slice.axis {
            Axis::Size => rules(sweep, places),
            _ => Vec::new(),
        },
        curves: curves.collect(),
    }))
}

/// Before which of the sizes something ends.
fn rules(sweep: &Sweep, sizes: impl Iterator<Item = u64>) -> Vec<(usize, &'static str)> {
    let mut rules = Vec::new();
    let mut before = None;
    for (place, size) in sizes.enumerate() {
        let ended = sweep.borders(before, size).into_iter();
        rules.extend(ended.map(|(words, _)| (place, words)));
        before = Some(size);
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn a_row_is_as_many_bars_as_contenders_and_a_word_where_there_is_none() {
        let analysis = analyse(&fixture::hostile());
        for row in &analysis.rows {
            let drawn = bars(row);
            let names = drawn.matches("class=\"name\"").count();
            assert_eq!(names, row.figures.len());
            let words = row.figures.iter().filter(|f| f.estimate.is_none()).count();
            assert_eq!(
                drawn.matches("class=\"word").count(),
                words,
                "{}",
                row.phase
            );
            assert!(!drawn.contains("<script>"));
        }
    }

    #[test]
    fn curves_over_sizes_have_the_borders() {
        let analysis = analyse(&fixture::swept());
        let grid = &analysis.sweeps[0];
        let phase = &grid.phases[0];
        let slices = grid.slices(phase);
        let drawn = curves(grid, phase, &slices[0], &analysis).unwrap();
        assert!(drawn.contains("CPU cache ends") && drawn.contains("memory ends"));
        let other = curves(grid, phase, &slices[1], &analysis).unwrap();
        assert!(
            !other.contains("memory ends"),
            "an axis of requests has none"
        );
    }
}
