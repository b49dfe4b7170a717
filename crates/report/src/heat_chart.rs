//! Heat maps as SVG: a table whose cells are shaded, with the number in each, so that nothing is said by
//! colour alone. The same figures always give the same bytes.

use std::fmt::Write;

use analyse::{Analysis, Figure, Ranking, Row, Sweep, SweptPhase};
use model::{Axis, Direction, Metric};

use crate::Scale;
use crate::overview::status_words;
use crate::scale::three_figures;
use crate::svg::{escape, number};
use crate::text::{clean, short_names, shorten};

/// Shades there are, from the lightest; classes `h0` …
pub(crate) const SHADES: usize = 7;
/// The ratio to the best from which on a cell has the darkest shade.
const DARKEST: f64 = 8.0;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    text: String,
    /// The shade; `None` where there is no number.
    shade: Option<usize>,
}

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
struct HeatChart {
    description: String,
    /// What the numbers are.
    unit: &'static str,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Cell>)>,
}

const LEFT: f64 = 196.0;
const TOP: f64 = 96.0;
const COLUMN: f64 = 54.0;
const ROW: f64 = 20.0;
/// Room on the right for the last of the slanting names.
const RIGHT: f64 = 70.0;
/// Columns of text that a name on the left and one above may take.
const ROW_COLUMNS: usize = 32;
const HEAD_COLUMNS: usize = 18;

/// Contender × phase: how many times the cost of the best, of every phase that is judged and no point
/// of a sweep; `None` where there is none.
pub(crate) fn overview(analysis: &Analysis) -> Option<String> {
    let swept: Vec<&String> = analysis.sweeps.iter().flat_map(|s| &s.tests).collect();
    let is_judged =
        |row: &&Row| row.headline && row.metric != Metric::Supported && !swept.contains(&&row.test);
    let rows: Vec<(String, Vec<Cell>)> = analysis
        .rows
        .iter()
        .filter(is_judged)
        .map(|row| {
            let name = clean(&format!("{}/{}", row.test, row.phase));
            (
                name,
                row.figures.iter().map(|f| of_figure(row, f)).collect(),
            )
        })
        .collect();
    (!rows.is_empty()).then(|| {
        draw(&HeatChart {
            description: "Heat map: how many times the cost of the best, by phase and contender."
                .to_owned(),
            unit: "× the cost of the best",
            columns: short_names(&analysis.contenders, HEAD_COLUMNS),
            rows,
        })
    })
}

fn of_figure(row: &Row, figure: &Figure) -> Cell {
    match ratio_to_best(row, figure) {
        Some(ratio) => Cell {
            text: three_figures(ratio),
            shade: Some(step(ratio.ln() / DARKEST.ln())),
        },
        None => Cell {
            text: figure.estimate.map_or_else(
                || status_words(figure),
                |e| Scale::for_metric(row.metric, [e.median]).with_unit(e.median),
            ),
            shade: None,
        },
    }
}

/// How many times the cost of the best a median is: 1 where it is the best; `None` where the row
/// compares nothing.
fn ratio_to_best(row: &Row, figure: &Figure) -> Option<f64> {
    if row.ranking != Ranking::Ranked || figure.set_apart {
        return None;
    }
    let together = row.figures.iter().filter(|f| !f.set_apart);
    let medians = together.filter_map(|f| Some(f.estimate?.median));
    let own = figure.estimate?.median;
    let ratio = match row.direction {
        Direction::Higher => medians.fold(f64::NEG_INFINITY, f64::max) / own,
        Direction::Lower => own / medians.fold(f64::INFINITY, f64::min),
        Direction::Neutral => return None,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// File size × record size of a phase for one contender, shaded from the smallest to the largest value
/// of all contenders; `None` where the sweep has no such grid or the phase no value.
pub(crate) fn surface(
    sweep: &Sweep,
    phase: &SweptPhase,
    contender: usize,
    analysis: &Analysis,
) -> Option<String> {
    let (sizes, blocks) = (sweep.axes.get(&Axis::Size)?, sweep.axes.get(&Axis::Block)?);
    if sizes.len() < 2 || blocks.len() < 2 {
        return None;
    }
    let figures = |row: usize| &analysis.rows[row].figures;
    let all: Vec<f64> = phase
        .points
        .iter()
        .flat_map(|p| {
            figures(p.row)
                .iter()
                .filter_map(|f| Some(f.estimate?.median))
        })
        .filter(|median| *median > 0.0)
        .collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = analysis.rows.get(phase.points.first()?.row)?;
    let scale = Scale::for_metric(first.metric, all.iter().copied());
    let cell = |size: &u64, block: &u64| -> Cell {
        let at = |axis: Axis, value: &u64, p: &analyse::SweptRow| p.at.get(&axis) == Some(value);
        let mut points = phase.points.iter();
        let point = points.find(|p| at(Axis::Size, size, p) && at(Axis::Block, block, p));
        let Some(figure) = point.map(|p| &figures(p.row)[contender]) else {
            return Cell {
                text: String::new(),
                shade: None,
            };
        };
        let median = figure.estimate.map(|e| e.median);
        Cell {
            text: median.map_or_else(|| status_words(figure), |m| scale.number(m)),
            shade: median
                .filter(|m| *m > 0.0)
                .map(|m| step((m / least).ln() / (most / least).ln())),
        }
    };
    let rows = sizes.iter().map(|size| {
        let cells = blocks.iter().map(|block| cell(size, block)).collect();
        (Axis::Size.show(*size), cells)
    });
    Some(draw(&HeatChart {
        description: format!(
            "Heat map: {} of {} in {}, by file size and record size.",
            clean(&phase.phase),
            clean(&analysis.contenders[contender]),
            scale.axis()
        ),
        unit: scale.axis(),
        columns: blocks
            .iter()
            .map(|block| Axis::Block.show(*block))
            .collect(),
        rows: rows.collect(),
    }))
}

/// The shade of a share of the way from light to dark.
fn step(share: f64) -> usize {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

fn draw(chart: &HeatChart) -> String {
    let width = LEFT + COLUMN * chart.columns.len() as f64 + RIGHT;
    let height = TOP + ROW * chart.rows.len() as f64 + 4.0;
    let mut out = format!(
        r#"<svg class="chart heat" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
        number(width),
        number(height),
        escape(&chart.description)
    );
    let _ = write!(
        out,
        r#"<text class="unit" x="{}" y="{}">{}</text>"#,
        number(LEFT - 8.0),
        number(TOP - 6.0),
        escape(chart.unit)
    );
    for (index, name) in chart.columns.iter().enumerate() {
        let x = number(LEFT + COLUMN * (index as f64 + 0.5));
        let y = number(TOP - 6.0);
        let name = escape(&shorten(name, HEAD_COLUMNS));
        let _ = write!(
            out,
            r#"<text class="head" x="{x}" y="{y}" transform="rotate(-40 {x} {y})">{name}</text>"#
        );
    }
    for (index, (name, cells)) in chart.rows.iter().enumerate() {
        let top = TOP + ROW * index as f64;
        let _ = write!(
            out,
            r#"<text class="name" x="{}" y="{}">{}</text>"#,
            number(LEFT - 8.0),
            number(top + 14.0),
            escape(&shorten(name, ROW_COLUMNS))
        );
        for (column, cell) in cells.iter().enumerate() {
            draw_cell(&mut out, LEFT + COLUMN * column as f64, top, cell);
        }
    }
    out.push_str("</svg>");
    out
}

fn draw_cell(out: &mut String, x: f64, y: f64, cell: &Cell) {
    let class = cell
        .shade
        .map_or_else(|| "none".to_owned(), |shade| format!("h{shade}"));
    let _ = write!(
        out,
        r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
        number(x),
        number(y),
        number(COLUMN - 1.0),
        number(ROW - 1.0)
    );
    if !cell.text.is_empty() {
        let dark = cell.shade.is_some_and(|shade| shade >= SHADES - 2);
        let _ = write!(
            out,
            r#"<text class="{}" x="{}" y="{}">{}</text>"#,
            if dark { "cell light" } else { "cell" },
            number(x + COLUMN / 2.0),
            number(y + 14.0),
            escape(&shorten(&cell.text, 9))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn a_heat_map_in_full() {
        let analysis = analyse(&fixture::plain());
        let drawn = overview(&analysis).unwrap();
        insta::assert_snapshot!(drawn.replace("><", ">\n<"));
    }

    #[test]
    fn every_phase_and_contender_has_a_cell_with_a_number_or_a_word() {
        let analysis = analyse(&fixture::hostile());
        let drawn = overview(&analysis).unwrap();
        let phases = drawn.matches("class=\"name\"").count();
        let cells = drawn.matches("<text class=\"cell").count();
        assert_eq!(cells, phases * analysis.contenders.len());
    }

    #[test]
    fn a_surface_is_darker_where_the_value_is_larger() {
        let analysis = analyse(&fixture::swept());
        let grid = &analysis.sweeps[0];
        let read = grid.phases.iter().find(|p| p.phase == "read").unwrap();
        let drawn = surface(grid, read, 0, &analysis).unwrap();
        // 4 GB/s from the processor's cache, 100 MB/s from the device; half of it is the other's least.
        assert!(
            drawn.contains("class=\"h6\"") && drawn.contains("class=\"h1\""),
            "{drawn}"
        );
        let other = surface(grid, read, 1, &analysis).unwrap();
        assert!(
            other.contains("class=\"h0\"") && !other.contains("class=\"h6\""),
            "{other}"
        );
        let threads = &analysis.sweeps[1];
        assert_eq!(surface(threads, &threads.phases[0], 0, &analysis), None);
    }

    #[test]
    fn shades_go_from_the_first_to_the_last() {
        assert_eq!(
            (step(0.0), step(1.0), step(9.0)),
            (0, SHADES - 1, SHADES - 1)
        );
        assert_eq!((step(-1.0), step(f64::NAN)), (0, 0));
    }
}
