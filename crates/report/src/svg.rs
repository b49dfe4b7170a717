//! Bar charts as SVG: a small writer of our own, so that the same figures always give the same bytes.
//!
//! One bar for each contender, whiskers for the interval, a dot for each round, the number beside
//! it; a word where there is no number. Colours are classes, which the page's style sheet fills.
//! Everything of one kind is one path, which keeps a page of hundreds of charts small.

use std::fmt::Write;

use crate::axis::{Axis, tick_label};
use crate::overview::Tone;
use crate::text::width;

/// What a bar stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A figure, in the numbers of the axis.
    Figure {
        /// The length of the bar.
        median: f64,
        /// Where the whiskers end; absent where one round gives no interval.
        interval: Option<(f64, f64)>,
        /// The single rounds.
        rounds: Vec<f64>,
    },
    /// There is no figure.
    Word,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// The contender, short enough for the margin.
    pub label: String,
    /// The number with its signs, or the word in its place.
    pub text: String,
    /// How it is meant to look.
    pub tone: Tone,
    /// What is drawn.
    pub value: Value,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// The unit of the axis.
    pub unit: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// The longest label that fits the margin, in columns of text.
pub(crate) const LABEL_COLUMNS: usize = 16;

const WIDTH: f64 = 420.0;
const PLOT_LEFT: f64 = 124.0;
const PLOT_RIGHT: f64 = 338.0;
const ROW: f64 = 21.0;
const BAR: f64 = 11.0;
const TOP: f64 = 4.0;
const AXIS: f64 = 20.0;

/// Draws a chart.
pub(crate) fn draw(chart: &Chart) -> String {
    let axis = Axis::for_values(chart.bars.iter().flat_map(extent));
    let bottom = TOP + ROW * chart.bars.len() as f64;
    let mut out = String::with_capacity(2048);
    let _ = write!(
        out,
        r#"<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
        number(WIDTH),
        number(bottom + AXIS),
        escape(&chart.description)
    );
    draw_axis(&mut out, &axis, bottom, &chart.unit);
    draw_bars(&mut out, &axis, &chart.bars);
    draw_rounds(&mut out, &axis, &chart.bars);
    draw_texts(&mut out, &chart.bars);
    out.push_str("</svg>");
    out
}

/// Every number that has to fit on the axis.
fn extent(bar: &Bar) -> Vec<f64> {
    match &bar.value {
        Value::Word => Vec::new(),
        Value::Figure {
            median,
            interval,
            rounds,
        } => {
            let ends = interval.iter().flat_map(|(low, high)| [*low, *high]);
            rounds
                .iter()
                .copied()
                .chain(ends)
                .chain([*median])
                .collect()
        }
    }
}

fn x(axis: &Axis, value: f64) -> f64 {
    PLOT_LEFT + axis.share(value) * (PLOT_RIGHT - PLOT_LEFT)
}

/// The middle of a line.
fn y(index: usize) -> f64 {
    TOP + ROW * (index as f64 + 0.5)
}

fn draw_axis(out: &mut String, axis: &Axis, bottom: f64, unit: &str) {
    let mut grid = String::new();
    for tick in &axis.ticks {
        let _ = write!(
            grid,
            "M{} {}V{}",
            number(x(axis, *tick)),
            number(TOP),
            number(bottom)
        );
    }
    let _ = write!(out, r#"<path class="grid" d="{grid}"/>"#);
    let _ = write!(
        out,
        r#"<path class="zero" d="M{} {}V{}"/>"#,
        number(x(axis, 0.0)),
        number(TOP),
        number(bottom)
    );
    let at = number(bottom + 13.0);
    for tick in readable(&axis.ticks) {
        let _ = write!(
            out,
            r#"<text class="tick" x="{}" y="{at}">{}</text>"#,
            number(x(axis, tick)),
            tick_label(tick)
        );
    }
    let _ = write!(
        out,
        r#"<text class="unit" x="{}" y="{at}">{}</text>"#,
        number(WIDTH - 2.0),
        escape(unit)
    );
}

/// Every tick, or every other one where the labels would run into each other.
fn readable(ticks: &[f64]) -> Vec<f64> {
    let letters: usize = ticks.iter().map(|t| width(&tick_label(*t)) + 2).sum();
    let step = if letters > 36 { 2 } else { 1 };
    ticks.iter().copied().step_by(step).collect()
}

fn draw_bars(out: &mut String, axis: &Axis, bars: &[Bar]) {
    for (tone, class) in [
        (Tone::Plain, "bar"),
        (Tone::Best, "bar best"),
        (Tone::Worst, "bar worst"),
    ] {
        let mut path = String::new();
        for (index, bar) in bars.iter().enumerate() {
            if let (Value::Figure { median, .. }, true) = (&bar.value, bar.tone == tone) {
                let (zero, end) = (x(axis, 0.0), x(axis, *median));
                let top = y(index) - BAR / 2.0;
                let _ = write!(
                    path,
                    "M{} {}H{}v{}H{}z",
                    number(zero),
                    number(top),
                    number(end),
                    number(BAR),
                    number(zero)
                );
            }
        }
        if !path.is_empty() {
            let _ = write!(out, r#"<path class="{class}" d="{path}"/>"#);
        }
    }
}

fn draw_rounds(out: &mut String, axis: &Axis, bars: &[Bar]) {
    let (mut whiskers, mut dots) = (String::new(), String::new());
    for (index, bar) in bars.iter().enumerate() {
        let Value::Figure {
            interval, rounds, ..
        } = &bar.value
        else {
            continue;
        };
        let middle = number(y(index));
        if let Some((low, high)) = interval {
            let (low, high) = (number(x(axis, *low)), number(x(axis, *high)));
            let cap = number(y(index) - 3.5);
            let _ = write!(
                whiskers,
                "M{low} {cap}v7M{low} {middle}H{high}M{high} {cap}v7"
            );
        }
        for value in rounds {
            // A line of no length with round ends is a dot.
            let _ = write!(dots, "M{} {middle}h0", number(x(axis, *value)));
        }
    }
    if !whiskers.is_empty() {
        let _ = write!(out, r#"<path class="whisker" d="{whiskers}"/>"#);
    }
    if !dots.is_empty() {
        let _ = write!(out, r#"<path class="dot" d="{dots}"/>"#);
    }
}

fn draw_texts(out: &mut String, bars: &[Bar]) {
    for (index, bar) in bars.iter().enumerate() {
        let at = number(y(index) + 4.0);
        let _ = write!(
            out,
            r#"<text class="name" x="{}" y="{at}">{}</text>"#,
            number(PLOT_LEFT - 6.0),
            escape(&bar.label)
        );
        let (class, x) = match (&bar.value, bar.tone) {
            (Value::Word, Tone::Failed) => ("word failed", PLOT_LEFT + 5.0),
            (Value::Word, _) => ("word absent", PLOT_LEFT + 5.0),
            (_, Tone::Best) => ("value best", WIDTH - 2.0),
            (_, Tone::Worst) => ("value worst", WIDTH - 2.0),
            _ => ("value", WIDTH - 2.0),
        };
        let _ = write!(
            out,
            r#"<text class="{class}" x="{}" y="{at}">{}</text>"#,
            number(x),
            escape(&bar.text)
        );
    }
}

/// A coordinate, to a tenth, as short as it gets.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Text and attribute values of XML 1.0.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let bar = |label: &str, tone, text: &str, value| Bar {
            label: label.to_owned(),
            text: text.to_owned(),
            tone,
            value,
        };
        let figure = |median: f64| Value::Figure {
            median,
            interval: Some((median - 5.0, median + 5.0)),
            rounds: vec![median - 5.0, median, median + 5.0],
        };
        Chart {
            description: "write & <read>".to_owned(),
            unit: "MB/s".to_owned(),
            bars: vec![
                bar("ext4", Tone::Best, "90.0▲", figure(90.0)),
                bar("<b>", Tone::Plain, "50.0", figure(50.0)),
                bar("xfs", Tone::Worst, "10.0▼", figure(10.0)),
                bar("hfs", Tone::Failed, "failed in 3 of 3 rounds", Value::Word),
            ],
        }
    }

    #[test]
    fn a_chart_in_full() {
        insta::assert_snapshot!(draw(&chart()).replace("><", ">\n<"));
    }

    #[test]
    fn the_same_figures_give_the_same_bytes() {
        assert_eq!(draw(&chart()), draw(&chart()));
    }

    #[test]
    fn bars_begin_at_zero_even_where_some_are_negative() {
        let mut chart = chart();
        chart.bars[2].value = Value::Figure {
            median: -40.0,
            interval: None,
            rounds: vec![-40.0],
        };
        let svg = draw(&chart);
        let zero = svg.split("class=\"zero\" d=\"M").nth(1).unwrap();
        let zero = zero.split(' ').next().unwrap();
        for path in ["bar best", "bar", "bar worst"] {
            let start = format!("class=\"{path}\" d=\"M{zero} ");
            assert!(svg.contains(&start), "{path} from {zero}: {svg}");
        }
    }

    #[test]
    fn nobody_with_a_figure_is_still_a_chart_of_words() {
        let mut chart = chart();
        for bar in &mut chart.bars {
            bar.value = Value::Word;
        }
        let svg = draw(&chart);
        assert!(!svg.contains("NaN") && !svg.contains("class=\"bar"));
        assert!(svg.contains("failed in 3 of 3 rounds"));
    }
}
