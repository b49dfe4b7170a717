//! Every chart of a report as a picture of its own: SVG that carries its style and its caption, and needs
//! no page around it.
//!
//! Bars for each metric of each phase, curves for each slice of a sweep, a heat map of everything that is
//! judged, and one for each operation over file sizes and record sizes; the steps of each test, percentiles
//! of latency, processor time against speed. Where the picture goes and what
//! file it becomes is the caller's business; names hold nothing but lower-case letters, digits and `-`.

use std::collections::BTreeSet;

use analyse::{Analysis, Row, Sweep, SweptPhase};

use crate::drawing::{bars, curves};
use crate::overview::scale_of;
use crate::svg::{escape, number};
use crate::sweeps::over;
use crate::text::{clean, shorten, width};
use crate::{heat_chart, plots, words};

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// A name for its file, without an ending; unique among the charts of a report.
    pub name: String,
    /// The picture: SVG 1.1, XML 1.0.
    pub svg: String,
}

/// Height of the caption above a chart.
const CAPTION: f64 = 26.0;
/// The margin around it.
const MARGIN: f64 = 8.0;
/// Columns of a caption for each unit of width.
const COLUMNS_PER_UNIT: f64 = 0.165;

/// The style of the page, light, with its colours spelt out; the font is the one that is built in.
const STYLE: &str = r#"
svg { font-family: "DejaVu Sans Condensed", "DejaVu Sans", system-ui, sans-serif; font-size: 12px; }
.paper { fill: #ffffff; }
.caption { font-size: 13px; fill: #1c2026; }
.chart text { fill: #1c2026; }
.chart path { fill: none; }
.chart .name, .chart .value, .chart .unit, .chart .level { text-anchor: end; }
.chart .tick, .chart text.border { text-anchor: middle; }
.chart .tick, .chart .unit, .chart .level, .chart text.border { fill: #5d6673; font-size: 10.5px; }
.chart .grid { stroke: #e9e6df; }
.chart .zero { stroke: #5d6673; }
.chart .bar { fill: #8fa6c4; }
.chart .bar.best { fill: #4fa873; }
.chart .bar.worst { fill: #dc8368; }
.chart .value.best { fill: #1d7a46; }
.chart .value.worst { fill: #b23a1e; }
.chart .word.failed { fill: #8a5a00; }
.chart .word.absent { fill: #5d6673; }
.chart .whisker { stroke: #22344f; stroke-width: 1.2; }
.chart .dot { stroke: #22344f; stroke-width: 4; stroke-linecap: round; opacity: .75; }
.chart path.border { stroke: #5d6673; stroke-dasharray: 2 3; }
.chart .line { stroke-width: 1.8; }
.chart path.line-0 { stroke: #1f5199; }
.chart path.line-1 { stroke: #b23a1e; stroke-dasharray: 7 3; }
.chart path.line-2 { stroke: #1d7a46; stroke-dasharray: 2 3; }
.chart path.line-3 { stroke: #8a5a00; stroke-dasharray: 9 3 2 3; }
.chart path.line-4 { stroke: #22344f; stroke-dasharray: 12 4; }
.chart path.line-5 { stroke: #8fa6c4; }
.chart path.dots { stroke-width: 5; stroke-linecap: round; stroke-dasharray: none; }
.chart .cell { text-anchor: middle; font-size: 10.5px; }
.chart .light { fill: #ffffff; }
.chart .head, .chart .key { font-size: 10.5px; }
.chart .k0 { fill: #1f5199; }
.chart .k1 { fill: #d9822b; }
.chart .k2 { fill: #1d7a46; }
.chart .k3 { fill: #b23a1e; }
.chart .k4 { fill: #7a5fa8; }
.chart .k5 { fill: #8a6d3b; }
.chart .k6 { fill: #c2588f; }
.chart .k7 { fill: #5d6673; }
.chart .k8 { fill: #a3a12d; }
.chart .k9 { fill: #2f9fb0; }
.chart .none { fill: #f4f2ec; }
.chart .h0 { fill: #eef3f9; }
.chart .h1 { fill: #d7e3f1; }
.chart .h2 { fill: #b9cfe6; }
.chart .h3 { fill: #97b6d8; }
.chart .h4 { fill: #7199c6; }
.chart .h5 { fill: #4a78ab; }
.chart .h6 { fill: #27558a; }
"#;

/// Every chart of a report, in the order of the suites.
pub fn charts(analysis: &Analysis) -> Vec<ChartFile> {
    let mut files = Files::default();
    if let Some(drawn) = heat_chart::overview(analysis) {
        let caption = "How many times the cost of the best: 1 is the best, 2 takes twice as long";
        files.add("overview", caption, &drawn);
    }
    let swept: BTreeSet<(&str, &str)> = analysis
        .sweeps
        .iter()
        .flat_map(|sweep| {
            sweep
                .tests
                .iter()
                .map(|t| (sweep.suite.as_str(), t.as_str()))
        })
        .collect();
    for row in &analysis.rows {
        // The points of a sweep are shown together.
        if !swept.contains(&(row.suite.as_str(), row.test.as_str())) {
            let name = format!("{}-{}-{}", row.test, row.phase, row.metric);
            files.add(&name, &caption(row), &bars(row));
        }
    }
    let plain = analysis
        .rows
        .iter()
        .filter(|row| !swept.contains(&(row.suite.as_str(), row.test.as_str())));
    let plain: Vec<&Row> = plain.collect();
    for rows in plain.chunk_by(|a, b| (&a.suite, &a.test) == (&b.suite, &b.test)) {
        of_test(&mut files, rows, analysis);
    }
    for sweep in &analysis.sweeps {
        of_sweep(&mut files, sweep, analysis);
    }
    files.all
}

/// What takes several metrics or phases of a test: steps, percentiles, processor against speed.
fn of_test(files: &mut Files, rows: &[&Row], analysis: &Analysis) {
    let Some(first) = rows.first() else { return };
    let test = clean(&first.test);
    if let Some(drawn) = plots::steps(rows, analysis) {
        let caption = format!("{test}: its steps, one after the other");
        files.add(&format!("{}-steps", first.test), &caption, &drawn);
    }
    for phase in rows.chunk_by(|a, b| a.phase == b.phase) {
        let name = &phase[0].phase;
        if let Some(drawn) = plots::latency(phase, name, analysis) {
            let caption = format!("{test}/{}: latency, percentiles", clean(name));
            files.add(
                &format!("{}-{name}-percentiles", first.test),
                &caption,
                &drawn,
            );
        }
        if let Some(drawn) = plots::processor(phase, name, analysis) {
            let caption = format!(
                "{test}/{}: processor time (up) against speed (across)",
                clean(name)
            );
            files.add(
                &format!("{}-{name}-processor", first.test),
                &caption,
                &drawn,
            );
        }
    }
}

fn caption(row: &Row) -> String {
    format!(
        "{}/{}: {}, {} ({})",
        clean(&row.test),
        clean(&row.phase),
        words::title(row.metric),
        scale_of(row).axis(),
        words::direction(row.direction)
    )
}

fn of_sweep(files: &mut Files, sweep: &Sweep, analysis: &Analysis) {
    for phase in &sweep.phases {
        for slice in sweep.slices(phase) {
            let Some(drawn) = curves(sweep, phase, &slice, analysis) else {
                continue;
            };
            let Some((_, point)) = slice.points.first() else {
                continue;
            };
            let row = &analysis.rows[point.row];
            let name = format!("{}-by-{}", swept_name(sweep, phase, analysis), slice.axis);
            let caption = format!(
                "{}/{}: {} {} ({})",
                clean(&sweep.name),
                clean(&phase.phase),
                words::title(row.metric),
                over(&slice),
                words::direction(row.direction)
            );
            files.add(&name, &caption, &drawn);
        }
        surfaces(files, sweep, phase, analysis);
    }
}

/// What a picture of a swept phase is called: a metric that does not judge it is named.
fn swept_name(sweep: &Sweep, phase: &SweptPhase, analysis: &Analysis) -> String {
    let name = format!("{}-{}", sweep.name, phase.phase);
    let mut points = phase.points.iter();
    match points.all(|point| analysis.rows[point.row].headline) {
        true => name,
        false => format!("{name}-{}", phase.metric),
    }
}

/// File size × record size, a picture for each contender.
fn surfaces(files: &mut Files, sweep: &Sweep, phase: &SweptPhase, analysis: &Analysis) {
    for (index, contender) in analysis.contenders.iter().enumerate() {
        let Some(drawn) = heat_chart::surface(sweep, phase, index, analysis) else {
            continue;
        };
        let name = swept_name(sweep, phase, analysis);
        let name = format!("{name}-surface-{contender}");
        let caption = format!(
            "{}/{}, {}: {} by file size (down) and record size (across)",
            clean(&sweep.name),
            clean(&phase.phase),
            clean(contender),
            words::title(phase.metric)
        );
        files.add(&name, &caption, &drawn);
    }
}

/// Charts with their names, each once.
#[derive(Default)]
struct Files {
    names: BTreeSet<String>,
    all: Vec<ChartFile>,
}

impl Files {
    fn add(&mut self, name: &str, caption: &str, drawn: &str) {
        let plain = file_name(name);
        let mut name = plain.clone();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        let svg = alone(drawn, caption);
        self.all.push(ChartFile { name, svg });
    }
}

/// A name without anything that a filesystem or a shell could take amiss.
fn file_name(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    let name: String = name.chars().map(plain).take(120).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => "chart".to_owned(),
        false => parts.join("-"),
    }
}

/// A chart of the page as a document: with its size, its style and its caption.
fn alone(drawn: &str, caption: &str) -> String {
    let (tag, content) = drawn.split_once('>').unwrap_or(("", ""));
    let content = content.strip_suffix("</svg>").unwrap_or(content);
    let (wide, high) = size(tag);
    let (wide, high) = (wide + 2.0 * MARGIN, high + CAPTION + MARGIN);
    let label = attribute(tag, "aria-label").unwrap_or_default();
    let (width_text, height_text) = (number(wide), number(high));
    let columns = (wide * COLUMNS_PER_UNIT) as usize;
    format!(
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" "#,
            r#"viewBox="0 0 {w} {h}" role="img" aria-label="{label}"><style>{style}</style>"#,
            r#"<rect class="paper" width="{w}" height="{h}"/>"#,
            r#"<text class="caption" x="{margin}" y="17">{caption}</text>"#,
            r#"<g class="chart" transform="translate({margin} {top})">{content}</g></svg>"#,
            "\n"
        ),
        w = width_text,
        h = height_text,
        label = label,
        style = STYLE,
        margin = number(MARGIN),
        caption = escape(&fitting(caption, columns)),
        top = number(CAPTION),
        content = content
    )
}

fn fitting(caption: &str, columns: usize) -> String {
    match width(caption) <= columns {
        true => caption.to_owned(),
        false => shorten(caption, columns),
    }
}

/// Width and height, from the attribute `viewBox`.
fn size(tag: &str) -> (f64, f64) {
    let numbers = attribute(tag, "viewBox").unwrap_or_default();
    let mut numbers = numbers.split(' ').skip(2).map(|n| n.parse().unwrap_or(0.0));
    let mut next = || numbers.next().unwrap_or(0.0);
    (next(), next())
}

/// The value of an attribute, as it is written.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn every_metric_of_every_phase_and_every_slice_has_a_picture() {
        let analysis = analyse(&fixture::plain());
        // And the heat map, the steps, and percentiles and processor of two phases.
        assert_eq!(charts(&analysis).len(), 1 + analysis.rows.len() + 1 + 2 + 2);
        let analysis = analyse(&fixture::swept());
        let slices: usize = analysis
            .sweeps
            .iter()
            .flat_map(|s| s.phases.iter().map(|phase| s.slices(phase).len()))
            .sum();
        let charts = charts(&analysis);
        let surfaces = charts
            .iter()
            .filter(|c| c.name.contains("-surface-"))
            .count();
        assert_eq!(charts.len(), slices + surfaces);
        assert_eq!(surfaces, 2 * analysis.sweeps[0].phases.len(), "the grid's");
    }

    /// The text of a chart that says what its numbers are.
    fn unit(svg: &str) -> Option<&str> {
        let text = svg.split(r#"<text class="unit""#).nth(1)?;
        let text = text.split_once('>')?.1.split_once('<')?.0;
        (!text.is_empty()).then_some(text)
    }

    /// An upright axis whose numbers have their unit behind each: `12.0 ms`.
    fn every_level_has_a_unit(svg: &str) -> bool {
        let mut levels = svg.split(r#"<text class="level""#).skip(1).peekable();
        let number = |text: &str| {
            text.split_once('>')?
                .1
                .split_once('<')
                .map(|(n, _)| n.contains(' '))
        };
        levels.peek().is_some() && levels.all(|text| number(text) == Some(true))
    }

    #[test]
    fn no_chart_is_without_a_unit() {
        let mut row = analyse(&fixture::plain()).rows.swap_remove(0);
        for metric in model::Metric::ALL {
            (row.metric, row.unit) = (metric, metric.unit());
            assert!(unit(&bars(&row)).is_some(), "{metric}");
            let caption = caption(&row);
            assert!(!caption.contains(",  ("), "{caption}");
        }
        let campaigns = [
            fixture::plain(),
            fixture::realistic(),
            fixture::swept(),
            fixture::over_disks(),
            fixture::hostile(),
        ];
        for chart in campaigns
            .iter()
            .flat_map(|results| charts(&analyse(results)))
        {
            let said = unit(&chart.svg).is_some() || every_level_has_a_unit(&chart.svg);
            assert!(said, "{}: {}", chart.name, chart.svg);
        }
    }

    /// An axis that ends at 1000 and means thousands has to say so.
    #[test]
    fn curves_over_thousands_of_operations_say_so() {
        let all = charts(&analyse(&fixture::swept()));
        let of = |name: &str| all.iter().find(|c| c.name == name).map(|c| unit(&c.svg));
        assert_eq!(
            of("threads-random-read-by-threads"),
            Some(Some("thousands/s"))
        );
        // And the same in bytes.
        assert_eq!(
            of("threads-random-read-throughput-by-threads"),
            Some(Some("MB/s"))
        );
    }

    #[test]
    fn what_is_spread_over_disks_is_a_line_over_their_number() {
        let results = fixture::over_disks();
        let analysis = analyse(&results);
        let files = charts(&analysis);
        let [file] = &files[..] else {
            panic!("one slice of one phase: {}", files.len());
        };
        assert_eq!(file.name, "spread-write-by-disks");
        assert!(file.svg.contains("by disks"), "{}", file.svg);
        for text in [">1<", ">2<", ">4<", ">8<", ">striped<", ">mirrored<"] {
            assert!(file.svg.contains(text), "{text} in {}", file.svg);
        }
        let blocks = crate::sweeps::blocks(&results, &analysis);
        assert_eq!(blocks[0].title, "One file over disks, by disks");
        let shown: Vec<Vec<&str>> = blocks[0]
            .lines
            .iter()
            .map(|line| line.entries.iter().map(|e| e.text.as_str()).collect())
            .collect();
        let wanted = [
            ["100", "100"],
            ["200", "100"],
            ["400", "100"],
            ["800", "100"],
        ];
        assert_eq!(shown, wanted, "MB/s");
    }

    #[test]
    fn a_picture_in_full() {
        let analysis = analyse(&fixture::plain());
        let picture = &charts(&analysis)[1];
        assert_eq!(picture.name, "file-write-throughput");
        let svg = picture.svg.replace(STYLE, "…").replace("><", ">\n<");
        insta::assert_snapshot!(svg);
    }

    #[test]
    fn names_are_plain_and_unique() {
        let analysis = analyse(&fixture::hostile());
        let files = charts(&analysis);
        let names: BTreeSet<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names.len(), files.len());
        for name in names {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(plain) && !name.starts_with('-'), "{name}");
        }
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("\u{202e}"), "chart");
    }

    #[test]
    fn a_picture_loads_nothing_and_names_stay_text() {
        for file in charts(&analyse(&fixture::hostile())) {
            let svg = file.svg.replace("http://www.w3.org/2000/svg", "");
            for forbidden in ["http", "href", "url(", "@import", "<script", "<image", "<!"] {
                assert!(!svg.contains(forbidden), "{forbidden} in {}", file.name);
            }
        }
    }
}
