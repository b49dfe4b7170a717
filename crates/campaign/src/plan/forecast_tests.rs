//! Small campaigns with known durations.

use model::CellId;
use proptest::prelude::*;

use super::*;
use crate::plan::fixture::campaign;
use crate::plan::plan;

/// Returns a model with this overhead per cell. Tests of the fixture have no phases.
fn pace(seconds: u64) -> ThroughputModel {
    ThroughputModel { cell: Nanos::from_secs(seconds), ..ThroughputModel::default() }
}

fn result(seconds: u64, status: Status) -> CellResult {
    CellResult { elapsed: Nanos::from_secs(seconds), ..CellResult::with_status(status) }
}

/// Returns a forecast with ten seconds assumed per cell, and the plan of its campaign.
fn forecast(contenders: usize, tests: usize, rounds: u32) -> (Forecast, Vec<Cell>) {
    let campaign = campaign(contenders, tests, rounds, 1);
    let cells = plan(&campaign);
    let mut forecast = Forecast::new(&campaign, pace(10), &PastDurations::default());
    forecast.plan(&cells);
    (forecast, cells)
}

fn left(forecast: &Forecast) -> f64 {
    forecast.time_left(&[], 1).0.as_secs_f64()
}

/// Returns the duration of a cell: ten seconds in the first test, one hundred in the others.
fn seconds(cell: &Cell) -> u64 {
    if cell.test == "test0" { 10 } else { 100 }
}

#[test]
fn starts_with_the_assumed_time_and_ends_with_zero() {
    let (mut forecast, cells) = forecast(3, 2, 2);
    assert_eq!(left(&forecast), 120.0);
    for cell in &cells {
        forecast.record_result(cell, &result(seconds(cell), Status::Ok));
    }
    assert_eq!(left(&forecast), 0.0);
}

#[test]
fn a_finished_round_predicts_the_next() {
    let (mut forecast, cells) = forecast(3, 2, 2);
    for cell in cells.iter().filter(|cell| cell.round == 1) {
        forecast.record_result(cell, &result(seconds(cell), Status::Ok));
    }
    assert_eq!(left(&forecast), 3.0 * 10.0 + 3.0 * 100.0);
}

/// Regression test: with a million cells, the forecast was recomputed after each of them.
#[test]
fn every_cell_counts_at_first_and_of_very_many_one_in_a_hundred_more() {
    let (mut forecast, cells) = forecast(1, 1, 2000);
    let mut looks = Vec::new();
    for (finished, cell) in (1..).zip(&cells) {
        forecast.record_result(cell, &result(seconds(cell), Status::Ok));
        left(&forecast);
        if forecast.known.borrow().as_ref().is_some_and(|known| known.0 == finished) {
            looks.push(finished);
        }
    }
    assert!(looks[..100].iter().copied().eq(1..=100));
    assert!(looks.len() < 500, "{}", looks.len());
    assert!(looks.windows(2).all(|two| two[1] - two[0] <= two[0] / 100 + 1));
}

#[test]
fn other_tests_correct_the_assumed_time_of_a_test() {
    let (mut forecast, cells) = forecast(4, 6, 1);
    for cell in cells.iter().filter(|cell| cell.test != "test5") {
        forecast.record_result(cell, &result(20, Status::Ok));
    }
    let left = left(&forecast);
    assert!((70.0..85.0).contains(&left), "4 cells of 20 s: {left} s");
}

#[test]
fn a_contender_that_is_slow_in_some_tests_is_expected_to_be_slow_in_others() {
    let (mut forecast, cells) = forecast(4, 6, 1);
    let took = |cell: &Cell| if cell.contender == "fs0" { 70 } else { 10 };
    for cell in cells.iter().filter(|cell| cell.test != "test5") {
        forecast.record_result(cell, &result(took(cell), Status::Ok));
    }
    let all = forecast.cells();
    let slow = all[&("fs0", "test5")].as_secs_f64();
    let fast = all[&("fs1", "test5")].as_secs_f64();
    assert!((45.0..75.0).contains(&slow), "{slow}");
    assert!((9.0..12.0).contains(&fast), "{fast}");
}

#[test]
fn early_failures_do_not_affect_other_tests() {
    let (mut forecast, cells) = forecast(1, 2, 2);
    let failed = cells.iter().find(|cell| cell.test == "test0").unwrap();
    forecast.record_result(failed, &result(1, Status::Failed));
    assert_eq!(left(&forecast), 1.0 + 2.0 * 10.0);
}

#[test]
fn elapsed_time_is_subtracted_and_overdue_cells_take_longer() {
    let (forecast, cells) = forecast(1, 2, 1);
    let after = |seconds| {
        let elapsed = Nanos::from_secs(seconds);
        let cell = &cells[0];
        let (left, next) = forecast.time_left(&[ActiveCell { cell, elapsed }], 1);
        (left.as_secs_f64(), next.as_secs_f64())
    };
    assert_eq!(after(0), (20.0, 10.0));
    assert_eq!(after(4), (16.0, 6.0));
    assert_eq!(after(100), (25.0, 15.0));
}

#[test]
fn cells_side_by_side_share_the_time_and_the_last_ones_wait_for_each_other() {
    let (mut forecast, cells) = forecast(4, 2, 1);
    let abreast = |forecast: &Forecast| forecast.time_left(&[], 4).0.as_secs_f64();
    assert_eq!(abreast(&forecast), (80.0 + 15.0) / 4.0);
    for cell in &cells[..6] {
        forecast.record_result(cell, &result(10, Status::Ok));
    }
    let going = |cell, seconds| ActiveCell { cell, elapsed: Nanos::from_secs(seconds) };
    let last = [going(&cells[6], 3), going(&cells[7], 8)];
    let (left, next) = forecast.time_left(&last, 4);
    assert_eq!((left, next), (Nanos::from_secs(7), Nanos::from_secs(2)));
}

#[test]
fn observed_times_override_earlier_campaigns_and_assumptions() {
    let campaign = campaign(1, 2, 2, 1);
    let name = ("fs0".to_owned(), "test0".to_owned());
    let experience = PastDurations {
        cells: BTreeMap::from([(name, Nanos::from_secs(30))]),
        campaigns: vec![CampaignId(3)],
    };
    let mut forecast = Forecast::new(&campaign, pace(10), &experience);
    assert_eq!((forecast.basis().pairs, forecast.basis().remembered), (2, 1));
    let time = |forecast: &Forecast| forecast.cells()[&("fs0", "test0")];
    assert_eq!(time(&forecast), Nanos::from_secs(30));
    let cells = plan(&campaign);
    forecast.plan(&cells);
    let cell = cells.iter().find(|cell| cell.test == "test0").unwrap();
    forecast.record_result(cell, &result(40, Status::Ok));
    assert_eq!(time(&forecast), Nanos::from_secs(40));
}

#[test]
fn cached_results_take_no_time() {
    let (mut forecast, cells) = forecast(2, 5, 2);
    for cell in &cells[..10] {
        let served = CellResult { from_cache: true, ..result(10, Status::Ok) };
        forecast.record_result(cell, &served);
    }
    let left = left(&forecast);
    assert!(left < 10.0, "ten cells that are likely served, too: {left}");
}

#[test]
fn ignores_cells_outside_the_plan() {
    let (mut forecast, cells) = forecast(1, 1, 1);
    let other = Cell { id: CellId(7), contender: "another".into(), ..cells[0].clone() };
    forecast.record_result(&other, &result(99, Status::Ok));
    assert_eq!(left(&forecast), 10.0);
}

#[test]
fn median_of_odd_even_and_empty_lists() {
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    assert_eq!(median(&[4.0, 2.0]), Some(3.0));
    assert_eq!(median(&[]), None);
}

proptest! {
    #[test]
    fn forecast_is_between_the_extremes_once_each_pair_was_observed(
        times in prop::collection::vec(1u64..1 << 20, 6),
    ) {
        let (mut forecast, cells) = forecast(3, 2, 4);
        for (cell, time) in cells.iter().zip(&times) {
            forecast.record_result(cell, &result(*time, Status::Ok));
        }
        let left = left(&forecast);
        let unfinished = (cells.len() - times.len()) as f64;
        prop_assert!(left >= unfinished * *times.iter().min().unwrap() as f64 - 1e-3);
        prop_assert!(left <= unfinished * *times.iter().max().unwrap() as f64 + 1e-3);
    }
}
