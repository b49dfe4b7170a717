//! What each block of tests comes to: who is first, who is last, and by how much. A block is a group of tests
//! ([`Group`]), and behind them all groups together.
//!
//! Nothing is tested here anew: who is ahead of whom follows from the places that scores have
//! ([`crate::Score::place`]), and how far from the same rounds, as the ratio of two costs with its interval.

use model::Group;
use serde::{Deserialize, Serialize};

use crate::statistics::pairwise::in_both;
use crate::statistics::separation::expected_cuts;
use crate::{Effect, FALSE_MARK_LIMIT, Overall, Score, rounds_needed};

/// What a block of tests comes to. Contenders are given by their places in the campaign's order, the best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conclusion {
    /// The block; absent for all groups together, each weighing the same.
    pub group: Option<Group>,
    /// Who shares the first place; several where no significant difference is among them.
    pub first: Vec<usize>,
    /// How far the last of these is ahead of the next; absent where nobody is behind them.
    pub lead: Option<Distance>,
    /// Who shares the last place; empty where nobody is behind the first.
    pub last: Vec<usize>,
    /// How far the last one is behind the first.
    pub behind: Option<Distance>,
    /// Who lacks metrics of the block, and is not ranked.
    pub unranked: Vec<usize>,
    /// Rounds from which on a difference between all that are ranked can be significant, where there are fewer.
    pub rounds_needed: Option<u32>,
}

/// How far two contenders of a block are apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distance {
    /// The better one.
    pub better: usize,
    /// The other one.
    pub worse: usize,
    /// The cost of the other as a multiple of that of the better one, over the rounds that both have: the
    /// Hodges–Lehmann estimate.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
    /// The confidence that the interval reaches, 0 … 1: below 95 % with few rounds.
    pub confidence: f64,
}

/// A conclusion for each group of tests, and one for all of them where there are several; none where nobody
/// competes with anybody.
pub(crate) fn conclusions(overall: &Overall) -> Vec<Conclusion> {
    if overall.total.len() < 2 {
        return Vec::new();
    }
    let groups = overall.groups.iter();
    let mut all: Vec<Conclusion> = groups.map(|g| of(Some(g.group), &g.scores)).collect();
    if all.len() > 1 {
        all.push(of(None, &overall.total));
    }
    all
}

fn of(group: Option<Group>, scores: &[Score]) -> Conclusion {
    let mut order: Vec<(usize, f64)> = scores
        .iter()
        .enumerate()
        .filter_map(|(index, score)| {
            score.place?;
            Some((index, score.ratio?.median))
        })
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let order: Vec<usize> = order.into_iter().map(|(index, _)| index).collect();
    let rank = |index: &usize| scores[*index].place.map_or(0, |place| place.rank);
    let lowest = order.iter().map(rank).max().unwrap_or_default();
    let (first, behind): (Vec<usize>, Vec<usize>) = order.iter().partition(|i| rank(i) == 1);
    let last: Vec<usize> = behind
        .iter()
        .copied()
        .filter(|i| rank(i) == lowest)
        .collect();
    let apart = |pair: (Option<&usize>, Option<&usize>)| distance(*pair.0?, *pair.1?, scores);
    Conclusion {
        group,
        lead: apart((first.last(), behind.first())),
        behind: apart((first.first(), last.last())),
        last,
        unranked: (0..scores.len()).filter(|i| !order.contains(i)).collect(),
        rounds_needed: rounds_for(&order, scores),
        first,
    }
}

/// How far the second is behind the first; nothing where they have no round in common.
fn distance(better: usize, worse: usize, scores: &[Score]) -> Option<Distance> {
    let both = in_both(&scores[worse].rounds, &scores[better].rounds);
    let effect = Effect::paired(&both)?;
    Some(Distance {
        better,
        worse,
        ratio: effect.ratio,
        low: effect.interval.low,
        high: effect.interval.high,
        confidence: effect.interval.confidence,
    })
}

/// How many rounds it takes until either rule can show a difference, where there are fewer.
fn rounds_for(ranked: &[usize], scores: &[Score]) -> Option<u32> {
    let rounds = |i: &usize| scores[*i].ratio.map_or(0, |ratio| ratio.rounds);
    let least = ranked.iter().map(rounds).min()?;
    let pairs = ranked.len() * ranked.len().saturating_sub(1) / 2;
    let shows = |rounds: &u32| expected_cuts(&vec![*rounds; ranked.len()]) <= FALSE_MARK_LIMIT;
    let needed = (1..rounds_needed(pairs)).find(shows);
    let needed = needed.unwrap_or_else(|| rounds_needed(pairs));
    (ranked.len() > 1 && least < needed).then_some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn who_is_first_and_last_and_by_how_much_follows_from_the_places() {
        let analysis = analyse(&fixture::plain());
        let written = &analysis.conclusions[0];
        assert_eq!(written.group, Some(Group::StreamWrite));
        assert_eq!(
            (&written.first[..], &written.last[..]),
            (&[0][..], &[2][..])
        );
        let behind = written.behind.unwrap();
        assert_eq!((behind.better, behind.worse), (0, 2));
        assert!((behind.ratio - 4.0).abs() < 0.05, "{behind:?}");
        assert!(behind.low <= behind.ratio && behind.ratio <= behind.high);
        let lead = written.lead.unwrap();
        assert_eq!((lead.better, lead.worse), (0, 1));
        assert!(lead.ratio < behind.ratio);
        let groups: Vec<_> = analysis.conclusions.iter().map(|c| c.group).collect();
        assert_eq!(groups.len(), analysis.overall.groups.len() + 1);
        assert_eq!(groups.last(), Some(&None), "all groups come last");
    }

    #[test]
    fn with_one_round_nobody_is_behind_anybody_and_it_says_how_many_it_takes() {
        let mut results = fixture::plain();
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        for conclusion in analyse(&results).conclusions {
            assert_eq!(conclusion.first.len(), 3);
            assert!(conclusion.last.is_empty() && conclusion.lead.is_none());
            assert!(conclusion.rounds_needed.unwrap() > 1);
        }
    }

    #[test]
    fn who_lacks_results_is_named_and_who_is_alone_competes_with_nobody() {
        let analysis = analyse(&fixture::realistic());
        let all = analysis.conclusions.last().unwrap();
        assert!(!all.unranked.is_empty());
        for index in &all.unranked {
            assert!(analysis.overall.total[*index].place.is_none());
        }
        let mut results = fixture::plain();
        results.campaign.contenders.truncate(1);
        let name = results.campaign.contenders[0].name.clone();
        results.cells.retain(|stored| stored.cell.contender == name);
        assert!(analyse(&results).conclusions.is_empty());
    }
}
