//! Tests real work against a baseline, with values computed by hand.

use model::{Bytes, CacheState, DriverKind, ListTree, Nanos, Op, SyncAtEnd};
use stats::{analyse, fixture};

use super::*;

/// Creates two contenders and a baseline, which takes 10 s for `compile` and 1 s for `unpack`.
/// `slow` takes 0.2 s and 3 s more, and a little longer in some rounds.
fn campaign() -> CampaignResults {
    let step = |name: &str| {
        let op = Op::ListTree(ListTree { tree: name.into() });
        fixture::phase(name, op, CacheState::Warm, SyncAtEnd::Call)
    };
    let contenders = ["fast", "slow", "memory"];
    let mut contenders = contenders.map(|n| fixture::contender(n, DriverKind::Kernel));
    fixture::make_baseline(&mut contenders[2]);
    let test = fixture::test("work", "Work", vec![step("unpack"), step("compile")]);
    let times = |cell: &model::Cell| {
        let wave = 10 * u64::from(cell.round);
        match cell.contender.as_str() {
            "fast" => [1_100 + wave, 10_100],
            "slow" => [4_000 + wave, 10_200],
            _ => [1_000, 10_000],
        }
    };
    let mut results = fixture::campaign("real", contenders.into(), vec![test], 3, |cell, test| {
        let phases = test.phases.iter().zip(times(cell));
        let phases = phases.map(|(phase, time)| {
            fixture::phase_result(phase, Nanos(time * 1_000_000), 1, Bytes(0))
        });
        Some(fixture::cell_result(phases.collect()))
    });
    let baseline = results.campaign.contenders[2].filesystem.name.clone();
    results.campaign.suites[0].baseline = Some(baseline);
    results
}

#[test]
fn each_step_is_shown_above_the_baseline_with_its_interval() {
    let results = campaign();
    let analysis = analyse(&results);
    let blocks = blocks(&results, &analysis);
    let [block] = &blocks[..] else { panic!("one test") };
    let shown = |line: usize| -> Vec<&str> {
        let entries = block.lines[line].entries.iter();
        entries.map(|entry| entry.text.split(", CPU").next().unwrap()).collect()
    };
    let labels: Vec<&str> = block.lines.iter().map(|l| l.label.as_str()).collect();
    assert_eq!(labels, ["unpack", "compile", "total"]);
    assert_eq!(shown(0), ["+0.120 (+0.110…+0.130) 11 %", "+3.02 (+3.01…+3.03) 75 %", "1.00"]);
    assert_eq!(shown(1), ["+0.100 1 %", "+0.200 2 %", "10.0"]);
    assert_eq!(shown(2)[0], "+0.220 (+0.210…+0.230) 2 %");
}

#[test]
fn dominant_step_is_reported() {
    let analysis = analyse(&campaign());
    let said = sentences(&analysis);
    assert_eq!(said.len(), 2);
    assert_eq!(
        said[1],
        "work: compile takes 91 % of the total on memory, so the total depends little on the other steps."
    );
    assert_eq!(
        said[0],
        "work: nine tenths of the time and more are the work itself, which takes as long on memory, in \
         compile (everywhere): these tell little of filesystems."
    );
}

#[test]
fn baseline_is_not_ranked() {
    let analysis = analyse(&campaign());
    let row = analysis.rows.iter().find(|row| row.phase == "unpack" && row.primary);
    let places = row.unwrap().results.iter().map(|result| result.place.is_some());
    assert_eq!(places.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn a_campaign_without_a_baseline_has_no_such_table() {
    let mut results = campaign();
    results.campaign.suites[0].baseline = None;
    assert!(blocks(&results, &analyse(&results)).is_empty());
}

/// The baseline cannot start with cold caches, since it has no disk.
#[test]
fn a_step_that_begins_cold_is_marked() {
    let mut results = campaign();
    results.campaign.suites[0].tests[0].phases[0].cache = CacheState::Cold;
    let analysis = analyse(&results);
    let blocks = blocks(&results, &analysis);
    let labels: Vec<&str> = blocks[0].lines.iter().map(|l| l.label.as_str()).collect();
    assert_eq!(labels, ["unpack, cold", "compile", "total"]);
}

#[test]
fn note_states_the_confidence_of_intervals() {
    let mut results = campaign();
    assert!(note(&analyse(&results)).contains("its interval of 75 %"));
    results.campaign.rounds = 2;
    results.cells.retain(|stored| stored.cell.round <= 2);
    assert!(note(&analyse(&results)).contains("its interval of 50 %"));
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    assert!(!note(&analyse(&results)).contains("interval"));
}
