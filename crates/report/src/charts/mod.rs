//! Renders every chart of a report as a separate SVG picture, which contains its style and its
//! caption and needs no page.
//!
//! The script of the page draws the charts in a built-in JavaScript engine, so charts and page look
//! the same. The engine has no clock, no files and no network; its input is the data of the page,
//! its output is text. The caller decides where pictures are stored; names contain only lower-case
//! letters, digits and `-`.

pub(crate) mod flame_graph;
pub(crate) mod png;

use model::{CampaignResults, Metric, ResultSelector};
use rquickjs::context::intrinsic::{Eval, Json, MapSet, RegExp, RegExpCompiler};
use rquickjs::{CatchResultExt, Context, Ctx, Runtime};
use serde::Deserialize;
use stats::Analysis;

use crate::page::data;
use crate::page::disk::DiskMaps;
use crate::page::script::{PICTURES, chart_style};

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// File name without an extension, unique among the charts of a report.
    pub name: String,
    /// Picture as SVG 1.1, XML 1.0.
    pub svg: String,
}

/// A chart that could not be drawn, which is a bug of its script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw {chart}: {reason}; please report this bug")]
pub struct ChartError {
    /// Name of the chart, or `the charts` if the script failed before the first.
    pub chart: String,
    /// Error of the script.
    pub reason: String,
}

/// Output of the script for a chart: the picture or an error.
#[derive(Deserialize)]
struct DrawnChart {
    name: String,
    /// The test or sweep, the phase and the metric, if the chart belongs to one.
    words: Vec<String>,
    #[serde(default)]
    svg: String,
    error: Option<String>,
}

/// Styles of the picture around the chart; the font is the built-in one.
const STYLE: &str = r#"
svg { font-family: "DejaVu Sans Condensed", "DejaVu Sans", system-ui, sans-serif; font-size: 12px; }
.paper { fill: #ffffff; }
.caption { font-size: 13px; fill: #1c2026; }
.source { font-size: 11px; fill: #5b6470; }
"#;

/// Draws the charts of a report, in the order of the suites: those of the selected results, or
/// without a selection all but those of secondary metrics. `analysis` must be the analysis of
/// `results`. A chart that cannot be drawn is an error and does not affect the others.
pub fn charts(
    results: &CampaignResults,
    analysis: &Analysis,
    only: &[ResultSelector],
) -> Vec<Result<ChartFile, ChartError>> {
    let (campaign, _) = data::block(results, analysis, &DiskMaps::default());
    draw(&campaign, &|words| is_selected(words, analysis, only))
}

/// Whether a chart belongs to a selected result.
fn is_selected(words: &[String], analysis: &Analysis, only: &[ResultSelector]) -> bool {
    let metric: Option<Metric> = words.get(2).and_then(|word| word.parse().ok());
    let [test, phase, ..] = words else { return only.is_empty() };
    let rows = || analysis.rows.iter().filter(|row| row.test == *test && row.phase == *phase);
    let is_shown = metric.is_none_or(|m| !rows().any(|row| row.metric == m && !row.shown));
    match only {
        [] => is_shown,
        only => only.iter().any(|one| {
            let of_metric = one.metric().map_or(is_shown, |wanted| metric == Some(wanted));
            one.matches_phase(test, None, phase) && of_metric
        }),
    }
}

/// Draws the wanted charts of the data of a page. Charts are identified by their words.
fn draw(
    campaign: &str,
    is_wanted: &dyn Fn(&[String]) -> bool,
) -> Vec<Result<ChartFile, ChartError>> {
    let drawn = run(|context| {
        context.globals().set("campaign", campaign)?;
        context.eval::<String, _>(PICTURES)
    });
    let drawn: Result<Vec<DrawnChart>, String> =
        drawn.and_then(|drawn| serde_json::from_str(&drawn).map_err(|error| error.to_string()));
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(reason) => return vec![Err(ChartError { chart: "the charts".to_owned(), reason })],
    };
    let style = format!("<style>{STYLE}{}</style>", chart_style());
    let drawn = drawn.into_iter().filter(|chart| is_wanted(&chart.words));
    let chart = |DrawnChart { name, svg, error, .. }| match error {
        Some(reason) => Err(ChartError { chart: format!("the chart {name}"), reason }),
        None => Ok(ChartFile { name, svg: svg.replacen("<style></style>", &style, 1) }),
    };
    drawn.map(chart).collect()
}

/// Runs a script in a new engine without a clock and returns its result.
fn run(script: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<String>) -> Result<String, String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let context = Context::custom::<(Eval, Json, MapSet, RegExp, RegExpCompiler)>(&runtime);
    let context = context.map_err(|error| error.to_string())?;
    context.with(|context| script(&context).catch(&context).map_err(|e| e.to_string()))
}

/// Selects every result of every metric.
#[cfg(test)]
pub(crate) fn everything() -> Vec<ResultSelector> {
    let names = Metric::ALL.iter().map(|metric| format!("*/*:{metric}"));
    names.chain(["*/*".to_owned()]).map(|name| name.parse().unwrap()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::text::scale::three_digits;
    use stats::{analyse, fixture};

    fn of(results: &CampaignResults) -> Vec<ChartFile> {
        drawn(charts(results, &analyse(results), &everything()))
    }

    #[test]
    fn charts_are_those_of_primary_metrics_or_of_selected_results_and_name_their_source() {
        let mut results = fixture::plain();
        results.started = model::Nanos::from_secs(1_795_312_800);
        results.environments.last_mut().unwrap().cpu = "A Chip".to_owned();
        let analysis = analyse(&results);
        let of = |only: &[&str]| {
            let only: Vec<ResultSelector> = only.iter().map(|one| one.parse().unwrap()).collect();
            drawn(charts(&results, &analysis, &only))
        };
        let names = |charts: Vec<ChartFile>| -> Vec<String> {
            charts.into_iter().map(|chart| chart.name).collect()
        };
        let usual = names(of(&[]));
        assert!(usual.iter().any(|name| name == "overview"), "{usual:?}");
        assert!(usual.iter().any(|name| name == "file-write-throughput"), "{usual:?}");
        assert!(!usual.iter().any(|name| name.ends_with("-elapsed")), "{usual:?}");
        assert_eq!(names(of(&["file/write:elapsed"])), ["file-write-elapsed"]);
        for chart in of(&[]) {
            assert!(chart.svg.contains("22 Nov 2026"), "{}", chart.svg);
            assert!(chart.svg.contains("A Chip"), "{}", chart.svg);
        }
    }

    fn drawn(charts: Vec<Result<ChartFile, ChartError>>) -> Vec<ChartFile> {
        charts.into_iter().map(Result::unwrap).collect()
    }

    /// A row without results is not drawn; all other charts are.
    #[test]
    fn an_error_names_its_chart_and_leaves_the_others() {
        let results = fixture::plain();
        let (data, _) = data::block(&results, &analyse(&results), &DiskMaps::default());
        let all = draw(&data, &|_| true);
        let mut data: serde_json::Value = serde_json::from_str(&data).unwrap();
        data["phases"][0]["rows"][0]["f"] = serde_json::Value::Null;
        let damaged = draw(&data.to_string(), &|_| true);
        let failed: Vec<&str> =
            damaged.iter().filter_map(|c| Some(c.as_ref().err()?.chart.as_str())).collect();
        assert!(failed.contains(&"the chart file-write-throughput"), "{failed:?}");
        assert!(failed.iter().all(|chart| chart.starts_with("the chart file-write")), "{failed:?}");
        let other = |c: &ChartFile| c.name.starts_with("file-read");
        let others = |charts: &[Result<ChartFile, ChartError>]| -> Vec<ChartFile> {
            charts.iter().flatten().filter(|c| other(c)).cloned().collect()
        };
        assert!(!others(&all).is_empty() && others(&damaged) == others(&all));
        // A phase whose charts cannot even be listed: its metric is unknown.
        data["phases"][0]["rows"][0]["m"] = 999.into();
        let damaged = draw(&data.to_string(), &|_| true);
        assert!(damaged.iter().any(|c| {
            c.as_ref().is_err_and(|error| {
                error.to_string().starts_with("cannot draw the chart file-write: ")
            })
        }));
        assert_eq!(others(&damaged), others(&all));
    }

    #[test]
    fn unreadable_data_is_an_error_of_all_charts() {
        let [Err(error)] = &draw("{", &|_| true)[..] else { panic!("one error") };
        assert!(error.to_string().starts_with("cannot draw the charts: "), "{error}");
    }

    #[test]
    fn every_metric_of_every_phase_and_every_slice_has_a_picture() {
        let results = fixture::plain();
        // One chart per row, and percentiles and processor of two phases.
        let rows = analyse(&results).rows.len();
        assert_eq!(of(&results).len(), rows + 2 + 2);
        let results = fixture::swept();
        let analysis = analyse(&results);
        let slices: usize = analysis
            .sweeps
            .iter()
            .flat_map(|s| s.phases.iter().map(|phase| s.slices(phase).len()))
            .sum();
        let charts = of(&results);
        let surfaces = charts.iter().filter(|c| c.name.contains("-surface-")).count();
        let largest = charts.iter().filter(|c| c.name.ends_with("-largest"));
        let by_size =
            analysis.sweeps.iter().filter(|s| s.axes.contains_key(&model::SweepAxis::Size));
        assert_eq!(largest.clone().count(), by_size.map(|s| s.phases.len()).sum::<usize>());
        assert_eq!(charts.len(), slices + surfaces + largest.count());
        assert_eq!(surfaces, 2 * analysis.sweeps[0].phases.len(), "the grid's");
    }

    #[test]
    fn surfaces_have_the_borders_of_the_caches_and_whole_titles() {
        for chart in of(&fixture::swept()) {
            let is_surface = chart.name.contains("-surface-");
            assert!(!is_surface || chart.svg.contains("memory ends"), "{}", chart.svg);
            let captions = chart.svg.split(r#"<text class="caption""#).skip(1);
            let captions: Vec<&str> =
                captions.filter_map(|rest| rest.split("</text>").next()).collect();
            assert!(!captions.is_empty() && !captions.concat().contains('…'), "{captions:?}");
        }
    }

    /// Returns the text that explains the numbers of a chart.
    fn unit(svg: &str) -> Option<&str> {
        let classes = ["unit", "unit-above", "level"];
        let mut texts = classes
            .iter()
            .filter_map(|class| svg.split(&format!(r#"<text class="{class}""#)).nth(1));
        let text = texts.next()?.split_once('>')?.1.split_once('<')?.0;
        (!text.is_empty()).then_some(text)
    }

    #[test]
    fn no_chart_is_without_a_unit() {
        let results = fixture::plain();
        let mut analysis = analyse(&results);
        for metric in Metric::ALL {
            for row in &mut analysis.rows {
                (row.metric, row.unit) = (metric, metric.unit());
            }
            for chart in drawn(charts(&results, &analysis, &everything())) {
                assert!(unit(&chart.svg).is_some(), "{metric}: {}", chart.name);
                assert!(!chart.svg.contains(",  ("), "{metric}: {}", chart.name);
            }
        }
        let campaigns =
            [fixture::realistic(), fixture::swept(), fixture::over_disks(), fixture::hostile()];
        for chart in campaigns.iter().flat_map(of) {
            assert!(unit(&chart.svg).is_some(), "{}: {}", chart.name, chart.svg);
        }
    }

    /// The axis of values in thousands, which ends at 1000, must show the unit.
    #[test]
    fn curves_over_thousands_of_operations_name_that_unit() {
        let all = of(&fixture::swept());
        let unit_of = |name: &str| {
            let chart = all.iter().find(|c| c.name == name);
            chart.and_then(|c| unit(&c.svg)?.split_once(',')).map(|u| u.0)
        };
        assert_eq!(unit_of("threads-random-read-by-threads"), Some("thousands/s"));
        // Likewise for bytes.
        assert_eq!(unit_of("threads-random-read-throughput-by-threads"), Some("MB/s"));
    }

    /// The script rounds the numbers that the page itself computes (costs, totals).
    #[test]
    fn the_script_rounds_as_the_tables_do() {
        const DATA: &str = include_str!("../../../../web/script/data.js");
        let powers = (-9..12).map(|power| 10f64.powi(power));
        let values: Vec<f64> = powers
            .flat_map(|power| [1.0, 1.234_56, 9.994, 9.996, 5.067].map(|value| value * power))
            .chain([0.0])
            .collect();
        let rounded = run(|context| {
            context.globals().set("campaign", "{}")?;
            let document =
                "const document = { getElementById: () => ({ textContent: campaign }) };";
            let values = format!("{values:?}.map(threeDigits).join()");
            context.eval::<String, _>(format!("{document}{DATA}{values}"))
        })
        .unwrap();
        let shown = values.iter().map(|value| three_digits(*value));
        assert_eq!(rounded, shown.collect::<Vec<_>>().join(","));
    }

    #[test]
    fn a_surface_has_the_colours_of_the_results_the_best_of_all_contenders_first() {
        let all = of(&fixture::swept());
        let surfaces = all.iter().filter(|c| c.name.contains("-read-surface-"));
        let [one, other] = surfaces.collect::<Vec<_>>()[..] else {
            panic!("one for each contender");
        };
        // The first reaches 4 GB/s from the processor's cache. Its lowest rate, 100 MB/s from the
        // device, is twice the other's.
        for (surface, best) in [(one, true), (other, false)] {
            assert_eq!(surface.svg.contains("class=\"h0\""), best);
            assert!(surface.svg.contains("class=\"h6\""));
        }
    }

    #[test]
    fn total_over_a_failed_step_is_invalid() {
        let steps = of(&fixture::realistic());
        let steps = steps.iter().find(|c| c.name == "bonnie-files-steps");
        let steps = &steps.expect("a test of several steps").svg;
        assert!(steps.contains(">no total: stat-seq unsupported</text>"), "{steps}");
        assert_eq!(steps.matches("class=\"total\"").count(), 8);
    }

    #[test]
    fn a_step_of_several_phases_has_a_chart_of_its_own() {
        let mut results = fixture::realistic();
        let mut tests = results.campaign.suites.iter_mut().flat_map(|suite| &mut suite.tests);
        let tree = tests.find(|test| test.name == "tree").unwrap();
        let parts: Vec<String> = tree.phases.iter().take(2).map(|p| p.name.clone()).collect();
        for phase in tree.phases.iter_mut().take(2) {
            phase.step = Some("both".to_owned());
        }
        let charts = of(&results);
        let chart = charts.iter().find(|chart| chart.name == "tree-both-steps").unwrap();
        assert!(parts.iter().all(|part| chart.svg.contains(part)), "{}", chart.svg);
        assert!(charts.iter().any(|chart| chart.name == "tree-steps"));
    }

    #[test]
    fn results_over_disks_are_drawn_over_the_number_of_disks() {
        let results = fixture::over_disks();
        let analysis = analyse(&results);
        let files = drawn(charts(&results, &analysis, &everything()));
        let [file] = &files[..] else {
            panic!("one slice of one phase: {}", files.len());
        };
        assert_eq!(file.name, "spread-write-by-disks");
        assert!(file.svg.contains("by disks"), "{}", file.svg);
        for text in [">1<", ">2<", ">4<", ">8<", ">striped<", ">mirrored<"] {
            assert!(file.svg.contains(text), "{text} in {}", file.svg);
        }
        let blocks = crate::tables::sweeps::blocks(&results, &analysis);
        assert_eq!(blocks[0].title, "One file over disks, by disks");
        let shown: Vec<Vec<&str>> = blocks[0]
            .lines
            .iter()
            .map(|line| line.entries.iter().map(|e| e.text.as_str()).collect())
            .collect();
        let wanted = [["100", "100"], ["200", "100"], ["400", "100"], ["800", "100"]];
        assert_eq!(shown, wanted, "MB/s");
    }

    #[test]
    fn a_picture_in_full() {
        let pictures = of(&fixture::plain());
        let picture = pictures.iter().find(|one| one.name == "file-write-throughput").unwrap();
        let svg = picture.svg.replace("><", ">\n<");
        insta::assert_snapshot!(svg);
    }

    #[test]
    fn names_are_plain_and_unique() {
        let files = of(&fixture::hostile());
        let names: BTreeSet<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names.len(), files.len());
        for name in names {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(plain) && !name.starts_with('-'), "{name}");
        }
    }

    #[test]
    fn pictures_load_nothing_and_escape_names() {
        for file in of(&fixture::hostile()) {
            let svg = file.svg.replace("http://www.w3.org/2000/svg", "");
            for forbidden in ["http", "href", "url(", "@import", "<script", "<image", "<!"] {
                assert!(!svg.contains(forbidden), "{forbidden} in {}", file.name);
            }
        }
    }
}
