//! The order of the cells, and the seed of each cell.

use std::collections::BTreeSet;

use model::{Campaign, Cell, CellId, SeededRng, Test};

/// Returns the cells of a campaign in execution order.
///
/// Randomised complete blocks: a round is a replicate that contains every contender × test once,
/// and rounds run one after another. Tests are shuffled within a round, and contenders within a
/// test. Compared contenders therefore run close together in a new order each time, and a drift of
/// the machine affects all of them alike. Every choice depends on the campaign's seed.
pub fn plan(campaign: &Campaign) -> Vec<Cell> {
    let rounds = 1..=campaign.rounds;
    let cells = rounds.flat_map(|r| all_cells_of_round(campaign, r)).collect();
    numbered(cells, 0)
}

/// Maximum number of cells of a campaign. At half a second each they take a week; the plan of many
/// more cells does not fit into the memory of a small machine.
pub const MAX_CELLS: u64 = 1_000_000;

/// Maximum number of rounds within a budget; more rounds rarely settle an answer.
const MAX_ROUNDS_OF_A_BUDGET: u32 = 100;

/// Returns the maximum number of rounds, including rounds added later.
pub fn max_rounds(campaign: &Campaign) -> u32 {
    let added = match (campaign.stopping_rule, campaign.budget) {
        (Some(until), _) => until.max_rounds,
        (None, Some(_)) => MAX_ROUNDS_OF_A_BUDGET,
        (None, None) => 0,
    };
    campaign.rounds.max(added)
}

/// Returns the maximum number of cells, including rounds added later, or `None` on overflow.
pub fn max_cells(campaign: &Campaign) -> Option<u64> {
    let tests: usize = campaign.suites.iter().map(|s| s.tests.len()).sum();
    let rounds = u64::from(max_rounds(campaign));
    let pairs = u64::try_from(campaign.contenders.len().checked_mul(tests)?).ok()?;
    pairs.checked_mul(rounds)
}

/// Returns the cells of one more round, numbered after `planned` cells.
///
/// Order and seeds depend only on the campaign's seed and the round number. A campaign with added
/// rounds therefore has the same plan as one that had all rounds from the beginning.
pub fn further_round(campaign: &Campaign, round: u32, planned: u32) -> Vec<Cell> {
    numbered(all_cells_of_round(campaign, round), planned)
}

/// Returns the wanted cells of one more round, in the order of execution.
pub fn cells_of_round(
    campaign: &Campaign,
    round: u32,
    is_wanted: impl Fn(&Cell) -> bool,
) -> Vec<Cell> {
    let mut cells = all_cells_of_round(campaign, round);
    cells.retain(is_wanted);
    cells
}

/// Numbers the cells after a plan of `planned` cells.
pub fn renumber_after(planned: u32, cells: Vec<Cell>) -> Vec<Cell> {
    numbered(cells, planned)
}

fn numbered(mut cells: Vec<Cell>, first: u32) -> Vec<Cell> {
    for (id, cell) in (first..).zip(&mut cells) {
        cell.id = CellId(id);
    }
    cells
}

/// Returns the unfinished cells, in the order of the plan.
pub fn remaining(cells: &[Cell], done: &BTreeSet<CellId>) -> Vec<Cell> {
    cells.iter().filter(|cell| !done.contains(&cell.id)).cloned().collect()
}

/// Returns the cells of one round, all with the number 0.
fn all_cells_of_round(campaign: &Campaign, round: u32) -> Vec<Cell> {
    let mut order = SeededRng::substream(campaign.seed, &format!("order of round {round}"));
    let mut tests: Vec<&Test> = campaign.suites.iter().flat_map(|s| &s.tests).collect();
    order.shuffle(&mut tests);
    let mut cells = Vec::with_capacity(tests.len() * campaign.contenders.len());
    for test in tests {
        let mut contenders: Vec<&str> =
            campaign.contenders.iter().map(|c| c.name.as_str()).collect();
        order.shuffle(&mut contenders);
        let seed = cell_seed(campaign.seed, round, test);
        cells.extend(contenders.into_iter().map(|contender| Cell {
            id: CellId(0),
            contender: contender.to_owned(),
            suite: test.suite.clone(),
            test: test.name.clone(),
            round,
            seed,
        }));
    }
    cells
}

/// Returns the seed of a cell, which does not depend on the contender. All contenders get the same
/// names, sizes and order.
fn cell_seed(seed: u64, round: u32, test: &Test) -> u64 {
    let purpose = format!("round {round} of {}/{}", test.suite, test.name);
    SeededRng::substream(seed, &purpose).next_u64()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::StoppingRule;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixture::campaign;

    fn combinations(cells: &[Cell]) -> BTreeMap<(String, String, u32), usize> {
        let mut seen = BTreeMap::new();
        for c in cells {
            *seen.entry((c.contender.clone(), c.test.clone(), c.round)).or_insert(0) += 1;
        }
        seen
    }

    proptest! {
        #[test]
        fn every_combination_exactly_once(
            seed: u64, contenders in 0usize..6, tests in 0usize..5, rounds in 0u32..5,
        ) {
            let cells = plan(&campaign(contenders, tests, rounds, seed));
            let seen = combinations(&cells);
            prop_assert_eq!(seen.len(), contenders * tests * rounds as usize);
            prop_assert!(seen.values().all(|&times| times == 1));
        }

        #[test]
        fn numbers_count_up_and_rounds_follow_each_other(seed: u64) {
            let cells = plan(&campaign(4, 3, 3, seed));
            prop_assert!(cells.iter().zip(0..).all(|(c, id)| c.id == CellId(id)));
            prop_assert!(cells.is_sorted_by_key(|c| c.round));
        }

        #[test]
        fn the_contenders_of_a_test_run_next_to_each_other(seed: u64) {
            for block in plan(&campaign(4, 3, 2, seed)).chunks(4) {
                prop_assert!(block.iter().all(|c| c.test == block[0].test));
            }
        }

        #[test]
        fn a_seed_is_shared_by_contenders_and_unique_per_test_and_round(seed: u64) {
            let mut seeds: BTreeMap<u64, BTreeSet<(String, u32)>> = BTreeMap::new();
            for cell in plan(&campaign(4, 3, 3, seed)) {
                seeds.entry(cell.seed).or_default().insert((cell.test, cell.round));
            }
            prop_assert_eq!(seeds.len(), 9);
            prop_assert!(seeds.values().all(|uses| uses.len() == 1));
        }

        #[test]
        fn the_same_seed_gives_the_same_plan(seed: u64) {
            prop_assert_eq!(plan(&campaign(5, 3, 2, seed)), plan(&campaign(5, 3, 2, seed)));
        }

        #[test]
        fn cells_are_counted_without_a_plan(
            contenders in 0usize..6, tests in 0usize..5, rounds in 1u32..5, added in 0u32..5,
        ) {
            let mut campaign = campaign(contenders, tests, rounds, 1);
            prop_assert_eq!(max_cells(&campaign), Some(plan(&campaign).len() as u64));
            let max_rounds = rounds + added;
            campaign.stopping_rule = Some(StoppingRule { width: 0.05, share: 1.0, max_rounds, max_time: None });
            let counted = max_cells(&campaign);
            campaign.rounds = max_rounds;
            prop_assert_eq!(counted, Some(plan(&campaign).len() as u64));
        }

        #[test]
        fn rounds_that_are_added_are_those_of_a_longer_campaign(seed: u64, rounds in 1u32..5) {
            let mut short = campaign(3, 2, rounds, seed);
            let mut cells = plan(&short);
            cells.extend(further_round(&short, rounds + 1, cells.len() as u32));
            short.rounds += 1;
            prop_assert_eq!(cells, plan(&short));
        }

        #[test]
        fn remaining_and_finished_cells_make_up_the_plan(seed: u64, done: [bool; 12]) {
            let cells = plan(&campaign(2, 3, 2, seed));
            let done: BTreeSet<CellId> =
                cells.iter().zip(done).filter(|(_, d)| *d).map(|(c, _)| c.id).collect();
            let rest = remaining(&cells, &done);
            prop_assert_eq!(rest.len() + done.len(), cells.len());
            prop_assert!(rest.iter().all(|c| !done.contains(&c.id)));
            prop_assert!(rest.is_sorted_by_key(|c| c.id));
        }
    }

    #[test]
    fn rounds_do_not_repeat_one_order() {
        let cells = plan(&campaign(8, 1, 4, 1));
        let orders: BTreeSet<Vec<&str>> = cells
            .chunks(8)
            .map(|round| round.iter().map(|c| c.contender.as_str()).collect())
            .collect();
        assert_eq!(orders.len(), 4);
    }

    /// If the order changed silently, campaigns of two versions would not be comparable.
    #[test]
    fn the_order_of_a_known_campaign() {
        let lines: Vec<String> = plan(&campaign(3, 2, 2, 2026))
            .iter()
            .map(|c| {
                format!(
                    "{} round {} {}/{} {} seed {:016x}",
                    c.id.0, c.round, c.suite, c.test, c.contender, c.seed
                )
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
