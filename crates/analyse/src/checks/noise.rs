//! The noise floor: contenders that are the same in everything but their name.
//!
//! Whoever enters a contender twice (`-c ext4 -c again=ext4`) sees how far two results lie apart when
//! nothing differs, and how often the tests call that a difference.

use model::{CampaignResults, Contender, Metric};
use serde::{Deserialize, Serialize};

use crate::statistics::interval::median;
use crate::{Ranking, Row};

/// Two contenders that are the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    /// The first, by its place in the campaign's order.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// Results that were compared: those of primary metrics.
    pub compared: u32,
    /// Of these, how many had rounds enough for a test to show a difference.
    pub testable: u32,
    /// Rows, by their number, in which the tests call the two different; each of them is an error.
    pub significant: Vec<usize>,
    /// Rows in which the two have different ranks; each of them is an error, too.
    pub ranked_apart: Vec<usize>,
    /// How far the medians lie apart in the middle one of the rows, as a share of the smaller.
    pub typical: f64,
    /// The same in the row where they lie farthest apart.
    pub largest: f64,
}

/// The noise floors of a campaign: one for each pair of contenders that are the same.
pub(crate) fn floors(results: &CampaignResults, rows: &[Row]) -> Vec<NoiseFloor> {
    let contenders = &results.campaign.contenders;
    let pairs = (0..contenders.len()).flat_map(|a| (a + 1..contenders.len()).map(move |b| (a, b)));
    let same: Vec<(usize, usize)> = pairs
        .filter(|(a, b)| are_the_same(&contenders[*a], &contenders[*b]))
        .collect();
    if same.is_empty() {
        return Vec::new();
    }
    let ranked: Vec<_> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| {
            row.primary && row.ranking == Ranking::Ranked && row.metric != Metric::Supported
        })
        .map(|(number, row)| (number, row, row.comparisons()))
        .collect();
    same.into_iter()
        .map(|(a, b)| {
            let mut floor = NoiseFloor {
                a,
                b,
                compared: 0,
                testable: 0,
                significant: Vec::new(),
                ranked_apart: Vec::new(),
                typical: 0.0,
                largest: 0.0,
            };
            let mut apart = Vec::new();
            for (number, row, comparisons) in &ranked {
                let medians = [a, b].map(|c| row.results[c].estimate.map(|e| e.median));
                let found = comparisons.iter().find(|c| (c.a, c.b) == (a, b));
                let ([Some(x), Some(y)], Some(found)) = (medians, found) else {
                    continue;
                };
                if found.effect.is_none() {
                    continue;
                }
                floor.compared += 1;
                floor.testable += u32::from(!matches!(
                    found.significance,
                    crate::Significance::TooFewRounds { .. }
                ));
                if found.significance.is_difference() {
                    floor.significant.push(*number);
                }
                let ranks = [a, b].map(|c| row.results[c].place.map(|p| p.rank));
                if ranks[0] != ranks[1] {
                    floor.ranked_apart.push(*number);
                }
                apart.push(x.max(y) / x.min(y) - 1.0);
            }
            floor.typical = median(&apart).unwrap_or(0.0);
            floor.largest = apart.iter().copied().fold(0.0, f64::max);
            floor
        })
        .collect()
}

/// Whether two contenders are the same in everything but their name.
fn are_the_same(a: &Contender, b: &Contender) -> bool {
    let named = Contender {
        name: b.name.clone(),
        ..a.clone()
    };
    named == *b
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn a_contender_entered_twice_is_a_noise_floor_and_others_are_none() {
        let mut results = fixture::rising(7, 0.01);
        assert_eq!(analyse(&results).noise, []);
        results.campaign.contenders[1].filesystem =
            results.campaign.contenders[0].filesystem.clone();
        let noise = analyse(&results).noise;
        assert_eq!(noise.len(), 1);
        let floor = &noise[0];
        assert_eq!(
            (floor.a, floor.b, floor.compared, floor.testable),
            (0, 1, 2, 2)
        );
        // `middle` takes twice as long to write, whatever it is called.
        assert_eq!(floor.significant, [0]);
        assert_eq!(floor.ranked_apart, [0]);
        assert!((floor.largest - 1.0).abs() < 1e-9);
    }
}
