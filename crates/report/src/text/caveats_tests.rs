//! Tests of the notes on noise, drift and the rule that added rounds.

use super::*;
use crate::render::markdown;
use crate::tables::overall::overall;
use model::{CampaignResults, StoppingRule};
use stats::{analyse, fixture};

fn said(analysis: &Analysis) -> Vec<String> {
    caveats(analysis).iter().map(ToString::to_string).collect()
}

fn shown(results: &CampaignResults) -> String {
    let analysis = analyse(results);
    let mut text = String::new();
    for line in overall(results, &analysis, None).map(|b| b.lines).unwrap_or_default() {
        let entries: Vec<String> =
            line.entries.iter().map(|e| format!("{}{}", e.text, e.signs)).collect();
        text += &format!("{} | {}\n", line.label, entries.join(" | "));
    }
    text + &said(&analysis).join("\n")
}

#[test]
fn a_small_campaign() {
    insta::assert_snapshot!(shown(&fixture::plain()));
}

/// A campaign without results reports that no cell has run, and does not report that it had no failure.
#[test]
fn no_cell_is_reported_as_passed_before_a_run() {
    let mut results = fixture::plain();
    results.cells.iter_mut().for_each(|cell| cell.result = None);
    let all = said(&analyse(&results));
    let said: Vec<_> = all.iter().filter(|one| one.contains("resume")).collect();
    assert_eq!(said, ["No test has run yet: start with `fsarena resume`."]);
    assert!(!all.iter().any(|one| one.contains("No failure")), "{all:?}");
}

#[test]
fn several_disks_have_their_tables_and_sentences_each() {
    let four = fixture::simulated(
        7,
        fixture::Simulated { contenders: 4, tests: 2, rounds: 3, slower: 0.5, drift: 0.0 },
    );
    let results = fixture::on_disks(four, &["ssd", "hdd", "ssd", "hdd"]);
    let mut analysis = analyse(&results);
    let options = crate::DocumentOptions::default();
    let shown = |format, analysis: &Analysis| crate::render(format, &results, analysis, &options);
    let table = shown(crate::ReportFormat::Table, &analysis);
    let markdown = shown(crate::ReportFormat::Markdown, &analysis);
    let page = shown(crate::ReportFormat::Html, &analysis);
    for disk in ["ssd", "hdd"] {
        assert!(table.contains(&format!("overall, on {disk}: cost as a multiple")));
        assert!(markdown.contains(&format!("## Standings, on {disk}")));
        assert!(page.contains(&format!("<b>On {disk}, ")), "{page}");
    }
    assert!(!table.contains("overall: cost as a multiple"));
    assert!(page.contains("as a multiple of the lowest on the same disk"));
    assert!(!said(&analysis).join(" ").contains("depends"));
    analysis.by_disk[1].analysis.overall.crossovers = vec![stats::Crossover {
        group: stats::WorkloadCategory::StreamWrite,
        from: 0,
        leader_above: 1,
        share: 0.5,
    }];
    let told = "On hdd, it depends on the weights: fs1 leads if all groups have the same weight. It costs more than fs3 if";
    assert!(said(&analysis).join(" ").contains(told));
}

#[test]
fn noise_floor_drift_and_stopping_rule_are_reported() {
    let mut results = fixture::rising(8, 0.02);
    results.campaign.contenders[1].filesystem = results.campaign.contenders[0].filesystem.clone();
    results.campaign.stopping_rule =
        Some(StoppingRule { width: 0.01, share: 1.0, max_rounds: 8, max_time: None });
    insta::assert_snapshot!(shown(&results));
}

#[test]
fn cells_that_began_with_a_kept_image_are_counted() {
    let mut results = fixture::aged();
    assert!(!shown(&results).contains("kept image"));
    let records = results.cells.iter_mut().filter_map(|c| c.result.as_mut()?.age.as_mut());
    for (record, hash) in records.zip(["a", "b", "a"]) {
        record.image_hash = Some(hash.into());
    }
    let text = shown(&results);
    assert!(text.contains("3 test runs began with an aged state out of 2 kept images"), "{text}");
}

#[test]
fn results_that_are_warm_by_name_only_are_named() {
    let mut results = fixture::plain();
    let before = shown(&results);
    assert!(!before.contains("To be served from memory"), "{before}");
    let test = &mut results.campaign.suites[0].tests[0];
    let file = "f".to_owned();
    let unit = model::StreamUnit::Char;
    test.phases[0].op = model::Op::ReadStream(model::ReadStream { file, unit });
    let (test, phase) = (test.name.clone(), test.phases[0].name.clone());
    let cells = results.cells.iter_mut().filter(|c| c.cell.test == test);
    let first = cells.filter(|c| c.cell.contender == "fast").take(2);
    for (cell, read) in first.zip([5, 3]) {
        let result = cell.result.as_mut().unwrap();
        let phase = result.phases.iter_mut().find(|p| p.phase == phase);
        let phase = phase.unwrap();
        phase.cache = model::CacheState::Warm;
        phase.bytes = model::Bytes::mib(64);
        phase.device = Some(model::DeviceCounters {
            read_bytes: model::Bytes::mib(read),
            ..Default::default()
        });
    }
    let named = format!("fast: {test}, {phase} (up to 5 MiB, in 2 rounds).");
    let text = shown(&results);
    assert!(text.contains(&named), "{text}");
}

#[test]
fn disturbed_cells_are_named_and_those_that_ran_again_counted() {
    let mut results = fixture::plain();
    let disturbance = |others| model::HostNoise {
        processors: 2,
        elapsed: model::Nanos::from_secs(10),
        other_cpu_time: model::Nanos::from_secs(others),
        ..Default::default()
    };
    for cell in &mut results.cells {
        cell.result.as_mut().unwrap().disturbance = Some(disturbance(1));
    }
    assert!(!shown(&results).contains("busy"));
    results.cells[1].result.as_mut().unwrap().disturbance = Some(disturbance(8));
    let again = results.cells[2].result.as_mut().unwrap();
    let mut first = again.clone();
    first.disturbance = Some(disturbance(9));
    again.first = Some(Box::new(first));
    let text = shown(&results);
    let cell = &results.cells[1].cell;
    let named = format!(
        "The machine was busy during 2 of {} test runs; 1 of them ran again, and only the second run counts. Busy \
         means more than 10 % of the processors, or 5 % taken by the host. Busy in the run that counts: {}: {} (round {}: \
         other processes 40 % of the processors, stolen 0 %).",
        results.cells.len(),
        cell.contender,
        cell.test,
        cell.round
    );
    assert!(text.contains(&named), "{text}");
}

#[test]
fn virtual_time_results_have_no_noise() {
    let mut results = fixture::plain();
    results.campaign.clock = Clock::Virtual;
    let analysis = analyse(&results);
    assert!(
        overall(&results, &analysis, None)
            .unwrap()
            .title
            .ends_with(", 3 rounds of different seeds")
    );
    assert!(said(&analysis)[0].contains("In virtual time there is no noise"));
}

#[test]
fn many_outliers_are_counted_and_not_listed() {
    let all: Vec<String> = (0..7).map(|i| i.to_string()).collect();
    assert_eq!(some_of(&all), "0; 1; 2; 3; 4; and 2 more");
    assert_eq!(some_of(&all[..2]), "0; 1");
}

#[test]
fn hostile_names_are_cleaned() {
    let text = shown(&fixture::hostile());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn images_on_one_disk_are_reported_as_such() {
    let mut results = fixture::over_disks();
    let said = |results: &CampaignResults| {
        let remarks = said(&analyse(results));
        remarks.iter().any(|remark| remark.starts_with("All disks are images"))
    };
    assert!(!said(&results), "no contender has a disk");
    let commands = &mut results.campaign.contenders[0].filesystem.commands;
    commands.mkfs = vec!["mkfs".into(), "{device}".into()];
    assert!(said(&results));
    results.campaign.backend = model::BackendKind::Vm;
    assert!(!said(&results));
}

#[test]
fn contender_that_never_flushes_is_not_durable() {
    let mut analysis = analyse(&fixture::plain());
    analysis.unflushed =
        vec![stats::UnflushedSync { contender: "jfs".to_owned(), operations: 2048 }];
    let said = said(&analysis).join("\n");
    let told = "jfs (2048 synced writes) never flushed the disk's cache: a power cut may";
    assert!(said.contains(told), "{said}");
}

#[test]
fn phases_excluded_in_virtual_time_have_a_reason() {
    let mut results = fixture::plain();
    results.campaign.clock = model::Clock::Virtual;
    let withheld = |phase: &str, reason: &str| model::ExcludedPhase {
        phase: phase.parse().unwrap(),
        reason: reason.to_owned(),
        same_order: 1,
        pairs: 3,
    };
    let all = [withheld("file/write", "nothing waits"), withheld("other/*", "it is not here")];
    let analysis = stats::analyse_with_margin(&results, stats::Margin::default(), &all);
    let sentence =
        "Not counted in virtual time: file/write, because nothing waits (docs/virtual-time.md).";
    assert!(said(&analysis).contains(&sentence.to_owned()));
    let answers = crate::answers_report(&analysis, &results, &|_| None, true);
    assert!(markdown(&answers).contains("file/write, because"));
    let counted = analyse(&results);
    assert!(!said(&counted).iter().any(|said| said.starts_with("Not counted")));
}

#[test]
fn directories_that_share_storage_and_layers_below_them_are_reported() {
    let mut results = fixture::plain();
    let conditions = &mut results.environments.last_mut().unwrap().conditions;
    *conditions = vec![
        HostSetting::new("directory fast", "/srv on ext4"),
        HostSetting::new(HostSetting::ONE_FILESYSTEM, "fast, slow (ext4 on /dev/sda1)"),
        HostSetting::new(HostSetting::ONE_DEVICE, "fast, middle (sda)"),
        HostSetting::new("layers below fast", "encryption (dm-crypt, home)\u{1b}[2J"),
    ];
    let said = said(&analyse(&results)).join("\n");
    assert!(said.contains("On one filesystem: fast, slow (ext4 on /dev/sda1). "), "{said}");
    assert!(said.contains("On one device: fast, middle (sda). "), "{said}");
    assert!(said.contains("Below fast: encryption (dm-crypt, home)"), "{said}");
    assert!(!said.contains("/srv") && !said.contains('\u{1b}'), "{said}");
}
