//! bonnie++'s programs read the exported lines and show the expected results.

use std::io::Write;
use std::process::{Command, Stdio};

use stats::{analyse, fixture};

use super::*;

fn shown(results: &CampaignResults) -> String {
    render(results, &analyse(results))
}

/// Runs one of bonnie++'s programs (package bonnie++) and returns its stdout and stderr.
fn read_by(program: &str, csv: &str) -> (String, String) {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}; install the Debian package bonnie++"));
    child.stdin.take().unwrap().write_all(csv.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {}", output.status);
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Returns the cells of the HTML row of a name, without tags.
fn html_row(html: &str, name: &str) -> Vec<String> {
    html.lines()
        .find(|line| line.contains(&format!(">{name}</td>")))
        .unwrap_or_else(|| panic!("no row {name} in {html}"))
        .split("</td>")
        .filter_map(|cell| cell.rsplit_once('>'))
        .map(|(_, text)| text.to_owned())
        .collect()
}

#[test]
fn writes_fifty_columns_in_the_order_of_the_manual() {
    let results = fixture::realistic();
    let csv = shown(&results);
    for line in csv.lines() {
        assert_eq!(line.split(',').count(), 50, "{line}");
        assert!(line.len() < 1023);
    }
    let first: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(first[..10], ["1.98", "2.00", "ext2", "1", "42", "256M", "8192", "8192", "5", ""]);
    assert_eq!(first[21..26], ["4", "", "", "4", ""]);
}

#[test]
fn bon_csv2html_shows_the_medians() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let (html, complaints) = read_by("bon_csv2html", &render(&results, &analysis));
    assert_eq!(complaints, "");
    let median = |test: &str, phase: &str| {
        let mut rows = analysis.rows.iter().filter(|r| r.primary);
        let row = rows.find(|r| r.test == test && r.phase == phase).unwrap();
        row.results[2].estimate.unwrap().median
    };
    let row = html_row(&html, "ext4");
    // Columns: name, size, chunk size, then pairs of rate and processor use, with files and
    // directories in between.
    let mebibytes = median("bonnie-block", "write") / 1_048_576.0;
    let shown: f64 = row[5].parse().unwrap();
    assert!((shown - mebibytes).abs() <= 0.51, "{shown} {mebibytes} {row:?}");
    for (cell, phase) in [(17, "create-seq"), (19, "stat-seq"), (27, "delete-random")] {
        assert_eq!(row[cell], format!("{:.0}", median("bonnie-files", phase)), "{row:?}");
    }
    assert_eq!(row[13], format!("{:.0}", median("bonnie-block", "seek")), "{row:?}");
}

#[test]
fn character_phases_fill_their_columns() {
    let mut results = fixture::plain();
    let phases = &mut results.campaign.suites[0].tests[0].phases;
    phases[0].op = Op::WriteStream(model::WriteStream {
        file: "data".to_owned(),
        size: model::Bytes(100_000_000),
        unit: StreamUnit::Char,
    });
    phases[1].op =
        Op::ReadStream(model::ReadStream { file: "data".to_owned(), unit: StreamUnit::Char });
    results.campaign.suites[0].tests[0].name = "bonnie-chars".to_owned();
    for stored in &mut results.cells {
        stored.cell.test = "bonnie-chars".to_owned();
    }
    let csv = shown(&results);
    let slow: Vec<&str> = csv.lines().nth(2).unwrap().split(',').collect();
    // 100 MB in 4 s and in 1 s, as KiB/s.
    assert_eq!((slow[9], slow[11], slow[15]), ("24414", "", "97656"));
}

#[test]
fn bon_csv2txt_shows_the_medians() {
    let results = fixture::realistic();
    let (text, complaints) = read_by("bon_csv2txt", &shown(&results));
    assert_eq!(complaints, "");
    assert!(text.contains("ext4:da") && text.contains("256M:8192:8192:5"), "{text}");
}

#[test]
fn failed_results_are_left_empty() {
    let csv = shown(&fixture::hostile());
    let lines: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    let (script, control) = (&lines[1], &lines[3]);
    assert_ne!(script[26], "", "create is ok");
    assert_eq!((script[28], script[29], script[45]), ("", "", ""), "stat is unsupported");
    assert!(control[9..21].iter().all(|field| field.is_empty()), "all crashed");
}

#[test]
fn hostile_names_stay_text_in_a_program_that_does_not_escape() {
    let csv = shown(&fixture::hostile());
    let (html, complaints) = read_by("bon_csv2html", &csv);
    assert_eq!(complaints, "");
    assert!(!html.contains("<script") && !html.contains('\u{1b}'));
    assert!(html.contains("?script?alert(1)?/script?"));
    assert_eq!(html.matches("rowheader\">").count(), 5, "{html}");
}

#[test]
fn no_name_is_a_formula() {
    for (name, cell) in [
        ("=cmd|' /C calc'!A1", "'=cmd?? /C calc??A1"),
        ("+1", "'+1"),
        (" -1", "'-1"),
        ("ext4", "ext4"),
    ] {
        assert_eq!(safe_name(name, 0), cell);
    }
}
