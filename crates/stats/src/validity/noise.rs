//! The noise floor: contenders that differ only in their names.
//!
//! A contender that is entered twice (`-c ext4 -c again=ext4`) shows how much two results differ by
//! noise, and how often that is called a difference.

use model::{CampaignResults, Contender};
use serde::Serialize;

use crate::estimate::interval::median;
use crate::results::costs::RankedCosts;
use crate::{Margin, ResultRow};

/// Two contenders that differ only in their names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    /// Index of the first contender in the campaign's order.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// Number of compared results: those of primary metrics.
    pub compared: u32,
    /// Indexes of the rows that report one of the two as worse than the other. Each is an error.
    pub called_different: Vec<usize>,
    /// Distance between the medians as a share of the smaller one, in the median row.
    pub typical: f64,
    /// Distance between the medians in the row with the largest distance.
    pub largest: f64,
}

/// Returns the noise floors of a campaign: one for each pair of contenders that differ only in
/// their names.
pub(crate) fn floors(
    results: &CampaignResults,
    rows: &[ResultRow],
    costs: &RankedCosts,
    margin: Margin,
) -> Vec<NoiseFloor> {
    let contenders = &results.campaign.contenders;
    let pairs = (0..contenders.len()).flat_map(|a| (a + 1..contenders.len()).map(move |b| (a, b)));
    let same = pairs.filter(|(a, b)| are_the_same(&contenders[*a], &contenders[*b]));
    same.map(|(a, b)| floor(a, b, costs, rows, margin)).collect()
}

fn floor(
    a: usize,
    b: usize,
    costs: &RankedCosts,
    rows: &[ResultRow],
    margin: Margin,
) -> NoiseFloor {
    let (mut called_different, mut apart) = (Vec::new(), Vec::new());
    for (row, compared) in costs.compare(a, b, margin) {
        called_different.extend(compared.verdict.is_significant().then_some(row));
        let medians = [a, b].map(|c| rows[row].results[c].estimate.map(|e| e.median));
        if let [Some(x), Some(y)] = medians {
            apart.push(x.max(y) / x.min(y) - 1.0);
        }
    }
    NoiseFloor {
        a,
        b,
        compared: u32::try_from(apart.len()).unwrap_or(u32::MAX),
        called_different,
        typical: median(&apart).unwrap_or(0.0),
        largest: apart.iter().copied().fold(0.0, f64::max),
    }
}

/// Whether two contenders differ only in their names.
fn are_the_same(a: &Contender, b: &Contender) -> bool {
    let named = Contender { name: b.name.clone(), ..a.clone() };
    named == *b
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn only_a_contender_entered_twice_is_a_noise_floor() {
        let mut results = fixture::rising(7, 0.01);
        assert_eq!(analyse(&results).noise, []);
        results.campaign.contenders[1].filesystem =
            results.campaign.contenders[0].filesystem.clone();
        let noise = analyse(&results).noise;
        assert_eq!(noise.len(), 1);
        let floor = &noise[0];
        assert_eq!((floor.a, floor.b, floor.compared), (0, 1, 2));
        // `middle` takes twice as long to write; its name does not matter.
        assert_eq!(floor.called_different, [0]);
        assert!((floor.largest - 1.0).abs() < 1e-9);
    }
}
