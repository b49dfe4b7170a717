//! A campaign with a budget: one round of all tests, followed by the tests that narrow answers most
//! while they fit.

use std::collections::BTreeMap;
use std::sync::Mutex;

use campaign::run::in_memory::{self, FakeBackend, MemorySink};
use campaign::run::{CampaignEnd, MoreWork, Observer, RunLimits, StopFlag};
use config::Catalog;
use model::{Campaign, CampaignResults, Cell, CellResult, Nanos, Test};

/// Collects the messages of a campaign.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

fn campaign(budget: Nanos) -> Campaign {
    let catalog = Catalog::builtin().unwrap();
    let contenders = ["ext4", "xfs", "btrfs"].map(|name| catalog.contender(name).unwrap());
    Campaign { budget: Some(budget), ..in_memory::campaign(contenders.into(), 1) }
}

/// Returns a result with noise of ten per cent. One contender takes six times as long as the
/// others.
fn noisy(cell: &Cell, test: &Test) -> CellResult {
    noisy_and_slower(cell, test, 6.0)
}

fn noisy_and_slower(cell: &Cell, test: &Test, factor: f64) -> CellResult {
    let mut rng = model::SeededRng::substream(cell.seed, &cell.contender);
    let factor = if cell.contender == "btrfs" { factor } else { 1.0 };
    let mut result = in_memory::ok_result(test);
    for phase in &mut result.phases {
        let noise = 0.9 + rng.below(1000) as f64 / 5000.0;
        phase.elapsed = Nanos((1e9 * factor * noise) as u64);
    }
    result
}

fn run(
    campaign: &Campaign,
    of: impl FnMut(&Cell, &Test) -> CellResult,
) -> (CampaignResults, Vec<String>) {
    let mut results = MemorySink::new(campaign);
    let notes = Notes::default();
    let (limits, stop) = (RunLimits::default(), StopFlag::default());
    let mut cells = FakeBackend::new(of);
    let ended = campaign::run::run(&mut results, &mut cells, &limits, &notes, &stop);
    assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    (results.read().clone(), notes.0.into_inner().unwrap())
}

fn rounds(results: &CampaignResults) -> BTreeMap<&str, usize> {
    let mut rounds = BTreeMap::new();
    for stored in &results.cells {
        assert!(stored.result.is_some(), "what was planned has run");
        *rounds.entry(stored.cell.contender.as_str()).or_insert(0) += 1;
    }
    rounds
}

#[test]
fn a_contender_far_behind_runs_twice_and_one_very_far_behind_once() {
    for (factor, times) in [(6.0, 2), (20.0, 1)] {
        let (results, _) = run(&campaign(Nanos::from_secs(3600)), |cell, test| {
            noisy_and_slower(cell, test, factor)
        });
        let rounds = rounds(&results);
        assert!(rounds["ext4"] > 2 && rounds["ext4"] == rounds["xfs"], "{rounds:?}");
        assert_eq!(rounds["btrfs"], times, "{rounds:?}");
    }
}

/// The second test has no noise and takes a hundredth of the time; the third is as noisy as the
/// first and takes ten times as long.
#[test]
fn runs_the_test_that_narrows_answers_most_per_second() {
    let mut campaign = campaign(Nanos::from_secs(3600));
    campaign.contenders.truncate(2);
    let tests = &mut campaign.suites[0].tests;
    let first = tests[0].name.clone();
    for name in ["steady", "slow"] {
        tests.push(Test { name: name.to_owned(), ..tests[0].clone() });
    }
    let (results, _) = run(&campaign, |cell, test| {
        let mut result = noisy(cell, test);
        let factor = if cell.test == "slow" { 10 } else { 1 };
        for phase in &mut result.phases {
            phase.elapsed = match cell.test == "steady" {
                true => Nanos(10_000_000),
                false => Nanos(phase.elapsed.0 * factor),
            };
        }
        result.elapsed = Nanos(result.phases.iter().map(|phase| phase.elapsed.0).sum());
        result
    });
    let ran = |name: &str| results.cells.iter().filter(|stored| stored.cell.test == name).count();
    let [first, steady, slow] = [&*first, "steady", "slow"].map(ran);
    assert!(first > 2 * slow && slow >= 2 && steady <= 4, "{first} {steady} {slow}");
}

/// A budget of a nanosecond is enough for the first test. With more time the others follow, in further
/// rounds.
#[test]
fn more_time_continues_a_campaign_whose_budget_is_spent() {
    let mut campaign = campaign(Nanos(1));
    let tests = &mut campaign.suites[0].tests;
    tests.push(Test { name: "second".to_owned(), ..tests[0].clone() });
    let mut results = MemorySink::new(&campaign);
    let mut cells = FakeBackend::new(noisy);
    for (more_time, rounds) in [(None, 1), (Some(Nanos(1)), 1), (Some(Nanos::from_secs(3600)), 3)] {
        let limits = RunLimits { more: more_time.map(MoreWork::Time), ..RunLimits::default() };
        let ended =
            campaign::run::run(&mut results, &mut cells, &limits, &(), &StopFlag::default());
        assert_eq!(ended.unwrap(), CampaignEnd::Complete);
        let ran = results.read().cells.iter().filter(|cell| cell.result.is_some());
        let of_second = ran.clone().filter(|one| one.cell.test == "second").count();
        assert!(ran.map(|one| one.cell.round).max() >= Some(rounds));
        assert_eq!(of_second > 0, rounds > 1, "{of_second}");
    }
    assert_eq!(results.read().campaign.budget, Some(Nanos(1)));
}

/// Rounds that were added are as if the campaign had had them from the start.
#[test]
fn more_rounds_continue_a_campaign_without_a_budget() {
    let defined = |rounds| Campaign { budget: None, rounds, ..campaign(Nanos(1)) };
    let go = |results: &mut MemorySink, more| {
        let limits = RunLimits { more, ..RunLimits::default() };
        let mut cells = FakeBackend::new(noisy);
        let ended = campaign::run::run(results, &mut cells, &limits, &(), &StopFlag::default());
        assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    };
    let (mut results, mut whole) = (MemorySink::new(&defined(2)), MemorySink::new(&defined(5)));
    for more in [None, Some(5), Some(5), Some(1), None] {
        go(&mut results, more.map(MoreWork::Rounds));
    }
    go(&mut whole, None);
    assert_eq!(results.read().campaign.rounds, 5);
    assert_eq!(results.read().cells, whole.read().cells);
}

#[test]
fn ends_early_when_every_answer_is_settled() {
    let steady = |cell: &Cell, test: &Test| {
        let mut result = noisy(cell, test);
        let cost = 1 + u64::from(cell.contender != "ext4") + cell.seed % 1000 / 999;
        result.phases.iter_mut().for_each(|phase| phase.elapsed = Nanos::from_secs(cost));
        result
    };
    let (results, notes) = run(&campaign(Nanos::from_secs(3600)), steady);
    assert!(results.campaign.rounds <= 3, "{}", results.campaign.rounds);
    assert!(notes.last().unwrap().contains("each answer is close enough"), "{notes:?}");
}

/// The first test runs regardless of its duration. Any other test that does not fit is skipped
/// completely.
#[test]
fn skips_whole_tests_that_do_not_fit_into_the_budget() {
    let mut campaign = campaign(Nanos(1));
    let tests = &mut campaign.suites[0].tests;
    for name in ["second", "third"] {
        tests.push(Test { name: name.to_owned(), ..tests[0].clone() });
    }
    let mut results = MemorySink::new(&campaign);
    for session in 1..=2 {
        let notes = Notes::default();
        let (limits, stop) = (RunLimits::default(), StopFlag::default());
        let mut cells = FakeBackend::new(noisy);
        let ended = campaign::run::run(&mut results, &mut cells, &limits, &notes, &stop);
        assert_eq!(ended.unwrap(), CampaignEnd::Complete);
        let ran = results.read().cells.iter().filter(|c| c.result.is_some());
        let ran: Vec<&Cell> = ran.map(|c| &c.cell).collect();
        assert_eq!(ran.len(), 3, "session {session}: {ran:?}");
        assert!(ran.iter().all(|cell| cell.test == ran[0].test));
        let notes = notes.0.into_inner().unwrap();
        let left_out = notes.iter().filter(|note| note.ends_with("is skipped"));
        assert_eq!(left_out.count(), 2, "each is reported once: {notes:?}");
    }
}

#[test]
fn resumes_with_the_remaining_budget() {
    let campaign = campaign(Nanos::from_secs(3600));
    let stop = StopFlag::default();
    let mut results = MemorySink::new(&campaign);
    let mut done = 0;
    let mut cells = FakeBackend::new(|cell: &Cell, test: &Test| {
        done += 1;
        if done == 4 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        noisy(cell, test)
    });
    let limits = RunLimits::default();
    let ended = campaign::run::run(&mut results, &mut cells, &limits, &(), &stop);
    assert_eq!(ended.unwrap(), CampaignEnd::Interrupted);
    let mut cells = FakeBackend::new(noisy);
    let ended = campaign::run::run(&mut results, &mut cells, &limits, &(), &StopFlag::default());
    assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    let (whole, _) = run(&campaign, noisy);
    let plan = |results: &CampaignResults| -> Vec<Cell> {
        results.cells.iter().map(|stored| stored.cell.clone()).collect()
    };
    assert_eq!(plan(results.read()), plan(&whole), "it makes the same decisions");
    assert!(whole.campaign.rounds > 2);
}
