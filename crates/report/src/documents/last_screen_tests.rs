//! Tests of the last screen of a run: it fits the terminal for campaigns of every shape.

use std::path::{Path, PathBuf};

use model::{CampaignResults, Clock, Nanos, Status, UseCase};
use proptest::prelude::*;
use stats::{SuitesByGroup, analyse, fixture};

use super::*;
use crate::text::conclusions::{category_conclusions, use_case_conclusions};

const PAGE: &str = "/root/.local/share/fsarena/reports/campaign-7.html";

fn uses() -> Vec<UseCase> {
    config::Catalog::builtin().unwrap().uses().cloned().collect()
}

/// Returns uses without needs: fixtures tried few features.
fn uses_without_needs() -> Vec<UseCase> {
    uses().into_iter().map(|one| UseCase { needs: Vec::new(), ..one }).collect()
}

fn analysed(results: &CampaignResults, uses: &[UseCase]) -> Analysis {
    let mut analysis = analyse(results);
    analysis.score_use_cases(uses, &SuitesByGroup::new());
    analysis
}

fn command(verb: &str) -> String {
    format!("fsarena {verb} 7")
}

fn shown(results: &CampaignResults, analysis: &Analysis) -> String {
    let screen = last_screen(results, analysis, Some(Path::new(PAGE)), &command);
    terminal(&screen, &DocumentOptions::terminal(COLUMNS))
}

/// Returns a campaign with this share of failed runs, in per cent.
fn failing(mut results: CampaignResults, per_cent: u64) -> CampaignResults {
    for (number, stored) in (0_u64..).zip(&mut results.cells) {
        if number * 37 % 100 < per_cent
            && let Some(result) = &mut stored.result
        {
            result.status = Status::Failed;
            let why = fixture::failure("write", "no space left on device", None);
            result.failure = Some(why.clone());
            for phase in &mut result.phases {
                phase.status = Status::Failed;
                phase.failure = Some(why.clone());
            }
        }
    }
    results
}

/// Renames every contender to a name of this length.
fn renamed(mut results: CampaignResults, length: usize) -> CampaignResults {
    let names = results.campaign.contenders.iter().enumerate();
    let names: Vec<(String, String)> = names
        .map(|(number, one)| (one.name.clone(), format!("{number}{}", "x".repeat(length))))
        .collect();
    let new = |name: &mut String| {
        if let Some((_, long)) = names.iter().find(|(old, _)| old == name) {
            name.clone_from(long);
        }
    };
    results.campaign.contenders.iter_mut().for_each(|one| new(&mut one.name));
    results.cells.iter_mut().for_each(|stored| new(&mut stored.cell.contender));
    results
}

#[test]
fn a_shootout_with_failures() {
    let results = fixture::realistic();
    insta::assert_snapshot!(shown(&results, &analysed(&results, &uses_without_needs())));
}

#[test]
fn open_answers_name_the_command_that_brings_closer_ones() {
    let spec = fixture::Simulated { contenders: 6, tests: 2, rounds: 2, slower: 0.3, drift: 0.0 };
    let mut results = fixture::simulated(3, spec);
    results.campaign.budget = Some(Nanos::from_secs(600));
    insta::assert_snapshot!(shown(&results, &analysed(&results, &uses_without_needs())));
}

#[test]
fn virtual_time_is_named() {
    let mut results = fixture::simulated(
        4,
        fixture::Simulated { contenders: 3, tests: 2, rounds: 1, slower: 0.3, drift: 0.0 },
    );
    results.campaign.clock = Clock::Virtual;
    results.campaign.guest =
        Some(fixture::guest(model::GuestDisk::Model { model: model::DiskModel::ideal() }));
    insta::assert_snapshot!(shown(&results, &analysed(&results, &uses_without_needs())));
}

/// Whatever more tests run, no use has a candidate.
#[test]
fn uses_without_candidate_are_not_offered() {
    let mut results = fixture::plain();
    results.campaign.contenders.iter_mut().for_each(fixture::make_baseline);
    let text = shown(&results, &analysed(&results, &uses()));
    assert!(text.contains("No advice by use: every filesystem is ruled out."), "{text}");
    assert!(!text.contains("run also") && text.contains("By group of tests"), "{text}");
}

#[test]
fn a_group_without_rival_is_answered_by_results() {
    let mut results = fixture::plain();
    results.cells.retain(|stored| stored.cell.contender == "fast");
    let text = shown(&results, &analysed(&results, &[]));
    assert!(text.contains("Results, the best first:\n  file write: fast "), "{text}");
}

#[test]
fn losses_in_power_cuts_stay_for_uses_that_must_not_lose_files() {
    let results = fixture::realistic();
    let mut analysis = analysed(&results, &uses_without_needs());
    for features in &mut analysis.features {
        let record =
            stats::PowerCutRecord { cuts: 360, lost: 0, worst: String::new(), shipped: None };
        features.power_cuts = Some(record);
    }
    let text = shown(&results, &analysis);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let losses = analysis.uses.iter().filter(|one| {
        let is_shown = is_common(one) && is_answered(one);
        is_shown && one.needs.iter().any(|need| need.need == NeedKind::PowerCuts)
    });
    let shown = whole.matches("lost no synced file in 360 simulated power cuts").count();
    assert!(losses.count() <= shown && shown > 0, "{text}");
}

#[test]
fn one_filesystem_and_no_answer_by_use() {
    let mut results = fixture::plain();
    results.campaign.contenders.truncate(1);
    results.cells.retain(|stored| stored.cell.contender == "fast");
    insta::assert_snapshot!(shown(&results, &analysed(&results, &uses())));
}

/// Commands and traces belong to no group of tests, so the answer is their results.
#[test]
fn a_command_is_answered_by_its_results() {
    let mut results = fixture::plain();
    for test in results.campaign.suites.iter_mut().flat_map(|suite| &mut suite.tests) {
        for phase in &mut test.phases {
            phase.op = model::Op::Exec(model::Exec::new("make"));
        }
    }
    let text = shown(&results, &analysed(&results, &uses()));
    assert!(text.contains("Results, the best first:\n  file write: fast "), "{text}");
    assert!(text.contains("are equal.") && text.lines().count() <= LINES, "{text}");
}

#[test]
fn every_run_failed() {
    let results = failing(fixture::plain(), 100);
    insta::assert_snapshot!(shown(&results, &analysed(&results, &uses())));
}

#[test]
fn a_device_keeps_its_last_filesystem() {
    let mut results = fixture::plain();
    results.campaign.device = Some(PathBuf::from("/dev/sdx"));
    let text = shown(&results, &analysed(&results, &[]));
    assert!(text.contains("/dev/sdx holds the last filesystem that was made there."), "{text}");
}

#[test]
fn every_use_has_its_bound_on_a_full_screen() {
    let mut results = fixture::realistic();
    results.campaign.device = Some(PathBuf::from("/dev/sdx"));
    results.campaign.budget = Some(Nanos::from_secs(600));
    for stored in &mut results.cells {
        stored.result.as_mut().unwrap().disturbance = Some(model::HostNoise {
            processors: 1,
            elapsed: Nanos::from_secs(10),
            other_cpu_time: Nanos::from_secs(9),
            ..Default::default()
        });
    }
    let uses: Vec<UseCase> = uses_without_needs()
        .into_iter()
        .map(|one| UseCase { title: format!("{}, or another long title", one.title), ..one })
        .collect();
    let analysis = analysed(&results, &uses);
    let text = shown(&results, &analysis);
    insta::assert_snapshot!(text);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for one in use_case_conclusions(&analysis) {
        assert!(whole.contains(promise(&one.answer)), "{}: {text}", one.question);
    }
}

/// Checks that an answer on the screen is the beginning of the answer in other reports.
fn assert_same_answers(screen: &Document, analysis: &Analysis) {
    let full = |part: &Analysis| {
        // Uses without advice share a sentence, and the screen has the common uses only.
        let mut common = part.clone();
        common.uses.retain(is_common);
        let uses = [use_case_conclusions(part), use_case_conclusions(&common)].concat();
        [uses, category_conclusions(part), results_of(part, |row| row.primary).collect()].concat()
    };
    let parts = split_by_disk(analysis);
    let full: Vec<ConclusionText> = parts.iter().flat_map(|(_, part)| full(part)).collect();
    for block in &screen.blocks {
        let Block::List(items) = block else { continue };
        for item in items.iter().filter(|item| !item.label.is_empty()) {
            // The cut of a sentence ends with an ellipsis or a full stop.
            let text = item.text.trim_end_matches(['…', '.', ' ']);
            let is_cut = full.iter().any(|one| one.answer.starts_with(text));
            assert!(is_cut, "{}: {}", item.label, item.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_last_screen_fits_24_lines_of_80_columns(
        seed in any::<u64>(),
        contenders in 1_u32..13,
        rounds in 1_u32..5,
        kind in 0..4,
        failures in prop::sample::select(vec![0_u64, 0, 20, 70, 100]),
        length in prop::sample::select(vec![0_usize, 0, 30, 200]),
        copies in 0_usize..3,
        is_virtual in any::<bool>(),
        budget in prop::option::of(1_u64..10_000),
        disks in any::<bool>(),
        page in "(/[a-z]{1,12}){1,12}",
    ) {
        let mut results = match kind {
            0 => fixture::realistic(),
            1 => fixture::hostile(),
            _ => fixture::simulated(seed, fixture::Simulated { contenders, tests: 2, rounds, slower: 0.3, drift: 0.1 }),
        };
        results = failing(results, failures);
        if length > 0 {
            results = renamed(results, length);
        }
        if disks {
            let names = results.campaign.contenders.iter().enumerate();
            let names: Vec<&str> = names.map(|(at, _)| ["hdd", "sata-ssd", "nvme"][at % 3]).collect();
            results = fixture::on_disks(results, &names);
        }
        if is_virtual {
            results.campaign.clock = Clock::Virtual;
            results.campaign.guest = Some(fixture::guest(model::GuestDisk::Model { model: model::DiskModel::ideal() }));
        }
        results.campaign.budget = budget.map(Nanos::from_secs);
        let uses = match kind % 2 {
            0 => uses_without_needs(),
            _ => uses(),
        };
        let uses: Vec<UseCase> = (0..copies).flat_map(|copy| {
            uses.iter().cloned().map(move |one| UseCase { title: format!("{} {copy}", one.title), ..one })
        }).collect();
        let analysis = analysed(&results, &uses);
        let screen = last_screen(&results, &analysis, Some(Path::new(&page)), &command);
        let text = terminal(&screen, &DocumentOptions::terminal(COLUMNS));
        let is_page = |line: &&str| line.contains(&page);
        prop_assert!(text.lines().filter(|line| !is_page(line)).all(|line| width(line) <= COLUMNS), "{text}");
        let lines: usize = text.lines().map(|line| width(line).div_ceil(COLUMNS).max(1)).sum();
        prop_assert!(lines <= 23, "{lines} lines:\n{text}");
        prop_assert_eq!(text.lines().filter(is_page).count(), 1, "{}", text);
        assert_same_answers(&screen, &analysis);
    }
}
