//! A campaign with a budget: one round of all tests, followed by cells that could settle open
//! answers while they fit.

use std::collections::BTreeMap;
use std::sync::Mutex;

use campaign::run::in_memory::{self, FakeBackend, MemorySink};
use campaign::run::{CampaignEnd, Observer, RunLimits, StopFlag};
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
    let mut rng = model::SeededRng::substream(cell.seed, &cell.contender);
    let factor = if cell.contender == "btrfs" { 6.0 } else { 1.0 };
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
fn adds_rounds_only_for_contenders_with_open_answers() {
    let (results, notes) = run(&campaign(Nanos::from_secs(3600)), noisy);
    let rounds = rounds(&results);
    assert!(rounds["ext4"] > 2 && rounds["ext4"] == rounds["xfs"], "{rounds:?}");
    assert!(rounds["btrfs"] < rounds["ext4"], "{rounds:?}");
    let looks =
        ["after 1 round answers are open between 3", "after 2 rounds answers are open between 2"];
    for (note, look) in notes.iter().zip(looks) {
        assert!(note.starts_with(look), "{notes:?}");
    }
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
    assert!(notes.last().unwrap().contains("every answer is settled"), "{notes:?}");
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
    let results = results.read();
    let rounds = rounds(results);
    assert!(rounds["ext4"] > 2 && rounds["btrfs"] < rounds["ext4"], "{rounds:?}");
}
