//! Tests that a result has the same value in every format.

use model::{CampaignResults, Metric};
use stats::{Analysis, MetricResult, ResultRow, analyse, fixture};

use crate::tables::overview::{entry, row_scale};
use crate::{DocumentOptions, ReportFormat, render};

fn shown(format: ReportFormat, results: &CampaignResults, analysis: &Analysis) -> String {
    let options = DocumentOptions::terminal(400);
    render(format, results, analysis, &options)
}

/// Returns the rows of primary metrics with the text of each result in the tables: number and
/// signs.
fn ranked(analysis: &Analysis) -> Vec<(&ResultRow, Vec<String>)> {
    let texts = |row: &ResultRow| {
        let scale = row_scale(row);
        let text = |result: &MetricResult| {
            let entry = entry(row, result, &scale);
            format!("{}{}", entry.text, entry.signs)
        };
        row.results.iter().map(text).collect()
    };
    let rows = analysis.rows.iter().filter(|row| row.primary);
    rows.map(|row| (row, texts(row))).collect()
}

/// Splits the report lines of a phase into words.
fn phase_lines(report: &str, phase: &str, bar: bool) -> Vec<Vec<String>> {
    report
        .lines()
        .map(
            |line| {
                if bar { line.replace(['|', '*'], " ").replace('\\', "") } else { line.to_owned() }
            },
        )
        .map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|words| words.first().is_some_and(|first| first == phase))
        .collect()
}

/// Space left by mkfs on a partition, as published for four filesystems. With fewer digits, the row
/// would show 99.8, 99.8, 100 and 92.8.
#[test]
fn a_capacity_that_differs_by_two_hundredths_of_a_percent_differs_everywhere() {
    const SIZE: u64 = 20_000_000_000;
    let mut results = fixture::plain();
    let mut capacity = results.campaign.suites[0].tests[0].phases.remove(0);
    capacity.op = model::Op::Capacity(model::Capacity);
    results.campaign.suites[0].tests[0].phases = vec![capacity];
    for stored in &mut results.cells {
        let share = match stored.cell.contender.as_str() {
            "fast" => 9995,
            "middle" => 9993,
            _ => 9277,
        };
        if let Some(result) = &mut stored.result {
            result.phases.truncate(1);
            let phase = &mut result.phases[0];
            phase.primary_metric = model::Metric::Capacity;
            phase.device_size = Some(model::Bytes(SIZE));
            phase.space_after = Some(model::SpaceUsage {
                available: model::Bytes(SIZE / 10_000 * share),
                ..model::SpaceUsage::default()
            });
        }
    }
    let analysis = analyse(&results);
    for format in [ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Html] {
        let report = shown(format, &results, &analysis);
        for value in ["99.95", "99.93", "92.77"] {
            assert!(report.contains(value), "{format}: {value}");
        }
        assert!(report.contains("middle, at most 1 % more"), "{format}");
    }
    let page = shown(ReportFormat::Html, &results, &analysis);
    assert!(page.contains("\"digits\":2"), "the script shows as many");
}

#[test]
fn terminal_and_markdown_give_processor_time_and_page_faults() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let blocks = crate::tables::cost::blocks(&results, &analysis);
    let cells: Vec<&String> = blocks
        .iter()
        .flat_map(|block| &block.lines)
        .flat_map(|line| line.entries.iter().map(|entry| &entry.text))
        .collect();
    assert!(cells.len() > 100, "{}", cells.len());
    for format in [ReportFormat::Table, ReportFormat::Markdown] {
        let report = shown(format, &results, &analysis);
        assert!(report.contains(crate::tables::cost::TITLE), "{format}");
        for cell in &cells {
            assert!(report.contains(cell.as_str()), "{format}: {cell}");
        }
    }
}

#[test]
fn terminal_markdown_and_page_show_the_same_results() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let table = shown(ReportFormat::Table, &results, &analysis);
    let markdown = shown(ReportFormat::Markdown, &results, &analysis);
    let html = shown(ReportFormat::Html, &results, &analysis);
    for (row, texts) in ranked(&analysis) {
        for (report, bar) in [(&table, false), (&markdown, true)] {
            let lines = phase_lines(report, &row.phase, bar);
            assert!(lines.iter().any(|words| words.ends_with(&texts)), "{} {texts:?}", row.phase);
        }
        for (result, text) in row.results.iter().zip(&texts) {
            if result.estimate.is_some() {
                assert!(html.contains(&format!(">{text}</td>")), "{text}");
            }
        }
    }
}

#[test]
fn csv_and_json_contain_the_unrounded_table_values() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let csv = shown(ReportFormat::Csv, &results, &analysis);
    let json: serde_json::Value =
        serde_json::from_str(&shown(ReportFormat::Json, &results, &analysis)).unwrap();
    let mut checked = 0;
    for (row_number, row) in analysis.rows.iter().enumerate() {
        for (i, result) in row.results.iter().enumerate() {
            let Some(estimate) = result.estimate else {
                continue;
            };
            let begin = format!(
                "7,shootout,{},{},{},{},",
                result.contender, row.suite, row.test, row.phase
            );
            let metric = row.metric.name();
            let mut values: Vec<f64> = csv
                .lines()
                .filter(|line| row.primary && line.starts_with(&begin))
                .map(|line| line.split(',').collect::<Vec<_>>())
                .filter(|fields| fields[7] == metric)
                .filter_map(|fields| fields[10].parse().ok())
                .collect();
            let in_json = &json["analysis"]["rows"][row_number]["results"][i]["estimate"]["median"];
            assert_eq!(in_json.as_f64(), Some(estimate.median));
            if row.primary {
                values.sort_by(f64::total_cmp);
                assert_eq!(stats::median(&values), Some(estimate.median), "{begin}");
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn the_lines_for_bonnie_hold_the_same_rates() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let report = shown(ReportFormat::BonnieCsv, &results, &analysis);
    let row = analysis.rows.iter().find(|r| r.phase == "create-seq" && r.primary).unwrap();
    for (line, result) in report.lines().zip(&row.results) {
        let rate: f64 = line.split(',').nth(26).unwrap().parse().unwrap();
        assert!((rate - result.estimate.unwrap().median).abs() <= 0.5);
    }
}

#[test]
fn shares_of_the_raw_device_are_the_same_everywhere() {
    let results = fixture::calibrated();
    let analysis = analyse(&results);
    let [table, markdown, html, csv] =
        [ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Html, ReportFormat::Csv]
            .map(|format| shown(format, &results, &analysis));
    let json: serde_json::Value =
        serde_json::from_str(&shown(ReportFormat::Json, &results, &analysis)).unwrap();
    let blocks = crate::tables::calibration::shares(&results, &analysis);
    let mut checked = 0;
    for line in blocks.iter().flat_map(|block| &block.lines) {
        let texts: Vec<String> = line.entries.iter().map(|e| e.text.clone()).collect();
        let of = line.row.unwrap();
        let in_table = phase_lines(&table, &of.phase, false);
        assert!(in_table.iter().any(|words| words.ends_with(&texts)));
        let in_markdown = phase_lines(&markdown, "file:", true);
        assert!(in_markdown.iter().any(|words| words.ends_with(&texts)));
        let row = analysis.rows.iter().position(|row| row == of).unwrap();
        for (i, (result, text)) in of.results.iter().zip(&texts).enumerate() {
            assert!(html.contains(&format!("\">{text}</td>")));
            let in_json = &json["analysis"]["rows"][row]["results"][i]["raw_device_share"];
            assert_eq!(in_json.as_f64(), result.raw_device_share);
            let begin = format!("7,plain,{},made,file,{},", result.contender, of.phase);
            let in_csv: Vec<f64> = csv
                .lines()
                .filter(|l| l.starts_with(&begin) && l.contains(",throughput,"))
                .map(|l| l.split(',').nth(14).unwrap().parse().unwrap())
                .collect();
            assert_eq!(stats::median(&in_csv), result.raw_device_share);
            checked += 1;
        }
    }
    assert_eq!(checked, 6);
}

#[test]
fn every_chart_shows_the_values_of_the_tables() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let charts = crate::charts(&results, &analysis, &crate::charts::everything());
    let measured = analysis.rows.iter().filter(|row| row.metric != Metric::Supported);
    for row in measured {
        let name = format!("{}-{}-{}", row.test, row.phase, row.metric);
        let chart = charts.iter().flatten().find(|chart| chart.name == name);
        let chart = chart.unwrap_or_else(|| panic!("{name}"));
        let scale = row_scale(row);
        for result in row.results.iter().filter(|f| f.estimate.is_some()) {
            let shown = entry(row, result, &scale);
            let text = format!("\">{}{}</text>", shown.text, shown.signs);
            assert!(chart.svg.contains(&text), "{text} in {name}");
        }
    }
}

#[test]
fn comparison_and_history_hold_the_results_of_their_campaigns() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let side = stats::AnalysedCampaign::new(&results, &analysis);
    let own = |contender: &str, test: &str, phase: &str, metric| {
        let mut rows = analysis.rows.iter();
        let row = rows.find(|r| r.test == test && r.phase == phase && r.metric == metric);
        let result = row.unwrap().results.iter().find(|f| f.contender == contender);
        result.unwrap().estimate
    };
    let found = stats::compare_campaigns(side, side, &stats::CompareFilter::default()).unwrap();
    assert!(found.changes.len() > 100, "{}", found.changes.len());
    for change in &found.changes {
        let own = own(&change.contender, &change.test, &change.phase, change.metric);
        assert_eq!((Some(change.before), Some(change.after)), (own, own));
        assert!((change.compared.ratio - 1.0).abs() < 1e-12);
    }
    let pattern = "bonnie-*/*".parse().unwrap();
    let mut collector = stats::history(&pattern, &[]);
    collector.add(side);
    let history = collector.finish();
    let text = crate::render::markdown(&crate::history_report(&history));
    let mut checked = 0;
    for series in &history.series {
        let own = own(&series.contender, &series.test, &series.phase, series.metric);
        let Some(estimate) = series.points[0].estimate else {
            continue;
        };
        assert_eq!(Some(estimate), own);
        let scale = crate::UnitScale::for_metric(series.metric, [estimate.median]);
        assert!(text.contains(&scale.number(estimate.median)));
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn page_and_advice_rank_by_the_same_costs() {
    let weights = [model::WorkloadCategory::Trees, model::WorkloadCategory::StreamWrite]
        .map(|group| (group, 50.0));
    let one = fixture::use_of(&weights);
    let results = fixture::realistic();
    let mut analysis = analyse(&results);
    analysis.score_use_cases([&one], &stats::SuitesByGroup::new());
    let advice = stats::advise(&analysis.uses[0]);
    assert_eq!(advice.scores, analysis.uses[0]);
    let json: serde_json::Value =
        serde_json::from_str(&shown(ReportFormat::Json, &results, &analysis)).unwrap();
    let groups = json["analysis"]["uses"][0]["groups"].as_array().unwrap();
    let cost = |contender: usize| {
        let log = |group: &serde_json::Value| group["ratios"][contender].as_f64().unwrap().ln();
        (groups.iter().map(log).sum::<f64>() / groups.len() as f64).exp()
    };
    let lowest = advice.ranking.iter().map(|ranked| cost(ranked.index)).reduce(f64::min).unwrap();
    for ranked in &advice.ranking {
        let (cost, place) = (cost(ranked.index) / lowest, ranked.place.unwrap());
        assert!((cost - place.ratio).abs() < 1e-9 * cost);
    }
    assert_eq!(advice.ranking.len(), 7);
}

/// Probed features and facts of the catalog, with origin and sources.
#[test]
fn every_report_has_class_limits_and_facts_of_the_contenders() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    for (format, words) in [
        (
            ReportFormat::Table,
            [
                "ext4: native, POSIX semantics; files here up to 16 TiB - 4 KiB; comes from Linux <2.6> (2008)",
                "read by Linux, FreeBSD (read only); boots with GRUB",
                "largest file 16 TiB; largest volume 1 EiB; licence GPL-2.0-only (free)",
                "exfat-fuse: foreign, POSIX semantics in part",
            ],
        ),
        (
            ReportFormat::Markdown,
            [
                "| Largest file here | 16 TiB - 4 KiB |",
                "| Linux, FreeBSD (read only) |",
                "- **Boots with, ext4:** another manual",
                "| Largest volume | not said | not said | 1 EiB |",
            ],
        ),
        (
            ReportFormat::Html,
            [
                "Linux &#60;2.6&#62; (2008) <small class=\"source\">a|kernel</small>",
                ">foreign, POSIX semantics in part</td>",
                ">16 TiB - 4 KiB</td>",
                ">not said</td>",
            ],
        ),
        (ReportFormat::Json, ["\"partial-posix\"", "\"another manual\"", "\"1 EiB\"", "\"up-to\""]),
    ] {
        let report = shown(format, &results, &analysis);
        for words in words {
            assert!(report.contains(words), "{format:?}: {words}\n{report}");
        }
    }
}
