//! One line for each round of each result: tidy data for spreadsheets and statistics programs.
//!
//! Format: RFC 4180, UTF-8. Values are in the unit of their line and are not rounded. A result
//! without a value has its status and, if recorded, the reason. A cell that died outside its phases
//! (mkfs, mount) has a line for that step, without a metric. Text from outside is never a formula
//! in a spreadsheet ([`escape_formula`]).

use std::collections::BTreeMap;

use model::{CampaignResults, HostSetting, SweepAxis, SweepPoint};
use stats::{
    Analysis, CellFailure, MetricResult, PhaseFailure, ResultRow, RoundOutcome, RoundValue,
};

use crate::text::command::options_text;
use crate::text::labels::moment;
use crate::text::sanitize::{escape_formula, escape_invisible};

const HEADER: [&str; 16] = [
    "campaign",
    "campaign_name",
    "contender",
    "suite",
    "test",
    "phase",
    "round",
    "metric",
    "unit",
    "direction",
    "value",
    "cache",
    "status",
    "reason",
    "raw_device_share",
    "overhead_share",
];

/// Columns of the setting, equal in all lines of a contender.
const SETTING: [&str; 5] = ["filesystem", "options", "kernel", "host", "date"];

/// Fields with text from outside. The others are numbers and fixed words.
const FROM_OUTSIDE: [&str; 11] = [
    "campaign_name",
    "contender",
    "suite",
    "test",
    "phase",
    "reason",
    "sweep",
    "filesystem",
    "options",
    "kernel",
    "host",
];

/// Returns the names of all fields: the fixed columns, the number of passes, the sweep and its
/// axes, the setting.
pub(crate) fn header() -> Vec<String> {
    let axes = SweepAxis::ALL.map(SweepAxis::name);
    let names = HEADER.into_iter().chain(["passes", "sweep"]).chain(axes).chain(SETTING);
    names.map(str::to_owned).collect()
}

/// Returns the setting of each contender, by name.
fn settings(results: &CampaignResults) -> BTreeMap<&str, [String; 5]> {
    let machine = results.environments.last();
    let kernel = match &results.campaign.guest {
        Some(guest) => guest.kernel.clone(),
        None => machine.map_or_else(String::new, |machine| machine.kernel.clone()),
    };
    let host = machine.and_then(|machine| machine.condition(HostSetting::HOST));
    let host = results.campaign.host.as_deref().or(host).unwrap_or_default();
    let date = match results.started.0 {
        0 => String::new(),
        _ => moment(results.started),
    };
    let contenders = results.campaign.contenders.iter();
    let settings = contenders.map(|contender| {
        let found = machine.and_then(|machine| machine.directory(&contender.name));
        let options = found.map_or_else(|| options_text(contender), str::to_owned);
        let filesystem = contender.filesystem.name.as_str();
        let shown = [filesystem, &options, &kernel, host, &date];
        (contender.name.as_str(), shown.map(escape_invisible))
    });
    settings.collect()
}

/// The sweep point of each test that belongs to a sweep, by suite and name.
type Points<'a> = BTreeMap<(&'a str, &'a str), &'a SweepPoint>;

fn points(results: &CampaignResults) -> Points<'_> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    tests.filter_map(|t| Some(((t.suite.as_str(), t.name.as_str()), t.sweep.as_ref()?))).collect()
}

/// Failures by suite, test, contender and round. Searching a list of all failures for each line
/// would be too slow in a large campaign.
type Failures<'a> = BTreeMap<(&'a str, &'a str, &'a str, u32), &'a CellFailure>;

fn failures(analysis: &Analysis) -> Failures<'_> {
    let failures = analysis.failures.iter();
    failures
        .map(|f| {
            let key = (f.suite.as_str(), f.test.as_str(), f.contender.as_str(), f.round);
            (key, f)
        })
        .collect()
}

/// Returns the sweep of a test and its value on each axis; all empty if the test belongs to no
/// sweep.
fn place(points: &Points<'_>, suite: &str, test: &str) -> Vec<String> {
    let point = points.get(&(suite, test));
    let sweep = point.map(|point| escape_invisible(&point.sweep)).unwrap_or_default();
    let value = |axis: SweepAxis| point.and_then(|point| point.at.get(&axis));
    let axes = SweepAxis::ALL.map(|axis| value(axis).map(u64::to_string).unwrap_or_default());
    std::iter::once(sweep).chain(axes).collect()
}

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    let mut out = String::new();
    let header = header();
    line(&mut out, &header);
    each_record(results, analysis, &mut |fields| {
        let cells = header.iter().zip(fields).map(|(name, field)| {
            match FROM_OUTSIDE.contains(&name.as_str()) {
                true => escape_formula(field),
                false => field.clone(),
            }
        });
        line(&mut out, &cells.collect::<Vec<_>>());
    });
    out
}

/// Calls `take` with the fields of each record, in the order of [`header`].
pub(crate) fn each_record(
    results: &CampaignResults,
    analysis: &Analysis,
    take: &mut dyn FnMut(&[String]),
) {
    let points = points(results);
    let failures = failures(analysis);
    let settings = settings(results);
    let setting = |contender: &str| settings.get(contender).cloned().unwrap_or_default();
    for row in &analysis.rows {
        for result in &row.results {
            for round in &result.rounds {
                let mut all = fields(results, &failures, row, result, round);
                all.extend(place(&points, &row.suite, &row.test));
                all.extend(setting(&result.contender));
                take(&all);
            }
        }
    }
    for failure in analysis.failures.iter().filter(|f| is_outside_phases(f)) {
        let mut all = outside_phases(results, failure);
        all.extend(place(&points, &failure.suite, &failure.test));
        all.extend(setting(&failure.contender));
        take(&all);
    }
}

/// Returns true if a cell died in a step outside its phases: mkfs, mount, umount, fsck.
fn is_outside_phases(failure: &CellFailure) -> bool {
    let died_in_phase = |p: &PhaseFailure| p.phase == failure.step || p.status == failure.status;
    !failure.phases.iter().any(died_in_phase)
}

/// Returns a line for a step outside the phases, with status and reason but without metric or
/// value.
fn outside_phases(results: &CampaignResults, failure: &CellFailure) -> Vec<String> {
    let absent = String::new;
    vec![
        results.id.to_string(),
        escape_invisible(&results.campaign.name),
        escape_invisible(&failure.contender),
        escape_invisible(&failure.suite),
        escape_invisible(&failure.test),
        escape_invisible(&failure.step),
        failure.round.to_string(),
        absent(),
        absent(),
        absent(),
        absent(),
        absent(),
        failure.status.to_string(),
        escape_invisible(&failure.reason),
        absent(),
        absent(),
        absent(),
    ]
}

fn fields(
    results: &CampaignResults,
    failures: &Failures<'_>,
    row: &ResultRow,
    result: &MetricResult,
    round: &RoundValue,
) -> Vec<String> {
    let cache = round.cache.unwrap_or(row.cache);
    vec![
        results.id.to_string(),
        escape_invisible(&results.campaign.name),
        escape_invisible(&result.contender),
        escape_invisible(&row.suite),
        escape_invisible(&row.test),
        escape_invisible(&row.phase),
        round.round.to_string(),
        row.metric.to_string(),
        row.unit.name().to_owned(),
        row.direction.name().to_owned(),
        number(round.value),
        cache.to_string(),
        round.outcome.to_string(),
        reason(failures, row, result, round),
        number(round.raw_device_share),
        number(round.overhead_share),
        round.passes.to_string(),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// Returns the reason for a missing value: the phase's reason, or else the cell's.
fn reason(
    failures: &Failures<'_>,
    row: &ResultRow,
    result: &MetricResult,
    round: &RoundValue,
) -> String {
    if !round.outcome.is_failure() {
        return String::new();
    }
    let of_phase = |failure: &CellFailure| {
        let phase = failure.phases.iter().find(|p| p.phase == row.phase);
        phase.and_then(|p| p.reason.clone())
    };
    let key = (row.suite.as_str(), row.test.as_str(), result.contender.as_str(), round.round);
    failures
        .get(&key)
        .map(|failure| of_phase(failure).unwrap_or_else(|| of_cell(failure, round.outcome)))
        .map(|reason| escape_invisible(&reason))
        .unwrap_or_default()
}

fn of_cell(failure: &CellFailure, outcome: RoundOutcome) -> String {
    match outcome {
        RoundOutcome::Skipped | RoundOutcome::Invalid => {
            format!("after {}: {}", failure.step, failure.reason)
        }
        _ => failure.reason.clone(),
    }
}

fn line(out: &mut String, fields: &[String]) {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    out.push_str(&quoted.join(","));
    out.push_str("\r\n");
}

/// Quotes a field as required by RFC 4180 §2: if it contains a comma, a quote or a line break.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Failure, Status};
    use stats::{analyse, fixture};

    /// Parses CSV (RFC 4180) for the tests.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let mut records = vec![vec![String::new()]];
        let mut quoted = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let record = records.last_mut().unwrap();
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    record.last_mut().unwrap().push('"');
                    chars.next();
                }
                '"' => quoted = !quoted,
                ',' if !quoted => record.push(String::new()),
                '\r' if !quoted => {}
                '\n' if !quoted => records.push(vec![String::new()]),
                c => record.last_mut().unwrap().push(c),
            }
        }
        records.pop();
        records
    }

    #[test]
    fn every_round_of_every_result_has_a_line_with_every_field() {
        for results in [fixture::hostile(), fixture::realistic()] {
            let analysis = analyse(&results);
            let records = parse(&render(&results, &analysis));
            let rounds: usize = analysis
                .rows
                .iter()
                .flat_map(|row| &row.results)
                .map(|result| result.rounds.len())
                .sum();
            assert_eq!(records.len(), 1 + rounds);
            assert!(records.iter().all(|fields| fields.len() == header().len()));
            for fields in &records[1..] {
                assert_eq!(fields[10].is_empty(), fields[12] != "ok", "{fields:?}");
            }
        }
    }

    /// Applies to all names and reasons, and to negative values.
    #[test]
    fn no_cell_is_a_formula_and_every_one_can_be_read_back() {
        const FORMULA: &str = "=cmd|' /C calc'!A1";
        let mut results = fixture::realistic();
        results.campaign.name = "@SUM(1+1)*cmd".into();
        let old = std::mem::replace(&mut results.campaign.contenders[0].name, FORMULA.into());
        for stored in &mut results.cells {
            if stored.cell.contender == old {
                stored.cell.contender = FORMULA.into();
            }
            let failures = stored.result.iter_mut().flat_map(|result| {
                let of_phases = result.phases.iter_mut().map(|phase| &mut phase.failure);
                of_phases.chain([&mut result.failure])
            });
            failures.flatten().for_each(|f| f.reason = format!("-{}", f.reason));
        }
        let analysis = analyse(&results);
        let records = parse(&render(&results, &analysis));
        let mut reasons = 0;
        for record in &records[1..] {
            for (name, cell) in records[0].iter().zip(record) {
                let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(!formula || cell.parse::<f64>().is_ok(), "{name}: {cell}");
            }
            assert_eq!(record[1], "'@SUM(1+1)*cmd");
            reasons += u32::from(record[13].starts_with("'-"));
        }
        assert!(reasons > 0);
        let named = format!("'{FORMULA}");
        assert!(records.iter().any(|record| record[2] == named));
        assert_eq!(number(Some(-0.5)), "-0.5", "numbers stay numbers");
    }

    #[test]
    fn sweep_points_have_their_axis_values() {
        let results = fixture::swept();
        let records = parse(&render(&results, &analyse(&results)));
        let column = |name: &str| records[0].iter().position(|field| field == name).unwrap();
        let at = |test: &str, name: &str| {
            let record = records.iter().find(|r| r[4] == test).unwrap();
            record[column(name)].clone()
        };
        assert_eq!(at("grid-1g-64k", "sweep"), "grid");
        assert_eq!(at("grid-1g-64k", "size"), "1073741824");
        assert_eq!(at("grid-1g-64k", "block"), "65536");
        assert_eq!(at("grid-1g-64k", "threads"), "");
        assert_eq!(at("threads-8t", "threads"), "8");
        let plain = fixture::plain();
        let records = parse(&render(&plain, &analyse(&plain)));
        let axes = column("sweep")..column("filesystem");
        assert!(records[1..].iter().all(|r| r[axes.clone()].iter().all(String::is_empty)));
    }

    #[test]
    fn every_line_has_its_filesystem_options_kernel_host_and_date() {
        let mut results = fixture::plain();
        results.started = model::Nanos::from_secs(1_760_000_000);
        results.campaign.contenders[0].mount_options = vec!["noatime".into()];
        results.campaign.contenders[0].mkfs_options = vec!["-O".into(), "bigalloc".into()];
        let machine = results.environments.last_mut().unwrap();
        machine.kernel = "Linux 6.18".into();
        machine.conditions = vec![HostSetting::new(HostSetting::HOST, "box")];
        let records = parse(&render(&results, &analyse(&results)));
        let contender = &results.campaign.contenders[0];
        let lines = || records[1..].iter().filter(|r| r[2] == contender.name);
        let setting = |line: &Vec<String>| line[line.len() - SETTING.len()..].to_vec();
        let filesystem = contender.filesystem.name.as_str();
        let options = "mkfs -O bigalloc; mount noatime";
        let wanted = [filesystem, options, "Linux 6.18", "box", "2025-10-09 08:53 UTC"];
        assert!(lines().count() > 0 && lines().all(|line| setting(line) == wanted));
    }

    #[test]
    fn values_are_not_rounded() {
        let results = fixture::realistic();
        let analysis = analyse(&results);
        let records = parse(&render(&results, &analysis));
        let want = analysis.rows[0].results[0].rounds[0].value.unwrap();
        assert_eq!(records[1][10].parse::<f64>().unwrap(), want);
    }

    #[test]
    fn results_without_a_reason_get_the_reason_of_their_cell() {
        let results = fixture::realistic();
        let analysis = analyse(&results);
        let records = parse(&render(&results, &analysis));
        let find = |contender: &str, phase: &str, status: &str| {
            records.iter().find(|f| f[2] == contender && f[5] == phase && f[12] == status).unwrap()
                [13]
            .clone()
        };
        assert!(find("ntfs-3g", "copy-again", "failed").starts_with("pwrite of 1 MiB"));
        assert!(find("ntfs-3g", "remove", "skipped").starts_with("after copy-again: pwrite"));
    }

    #[test]
    fn cell_that_died_before_its_phases_has_a_line() {
        let mut results = fixture::plain();
        let cell = results.cells[0].result.as_mut().unwrap();
        cell.status = Status::Failed;
        cell.failure = Some(Failure {
            step: "mkfs".into(),
            reason: "`mkfs` ended with 1".into(),
            ..Failure::default()
        });
        for phase in &mut cell.phases {
            phase.status = Status::Skipped;
        }
        let records = parse(&render(&results, &analyse(&results)));
        let dead: Vec<_> = records.iter().filter(|r| r[5] == "mkfs").collect();
        assert_eq!(dead.len(), 1);
        assert_eq!(dead[0][12..14], ["failed", "`mkfs` ended with 1"]);
        assert!(dead[0][7..12].iter().all(String::is_empty));
    }

    #[test]
    fn a_small_campaign_in_full() {
        let mut results = fixture::plain();
        results.campaign.contenders.truncate(1);
        let analysis = analyse(&results);
        insta::assert_snapshot!(render(&results, &analysis).replace("\r\n", "\n"));
    }
}
