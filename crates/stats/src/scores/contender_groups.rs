//! Groups of contenders that the user has named, with the means of their members.
//!
//! The mean of a group in a round is the geometric mean of its members' scores in that round (see
//! [`crate::Overall`]), as a multiple of the best contender of the campaign. As everywhere, the
//! rounds are the replicate. A member that lacks results is excluded, and counted.

use model::CampaignResults;
use serde::{Deserialize, Serialize};

use crate::{CategoryScore, Overall, RobustEstimate, WorkloadCategory};

/// Means of a contender group of the campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderGroupMeans {
    /// Its name.
    pub name: String,
    /// Indexes of the members in the campaign's order.
    pub members: Vec<usize>,
    /// The mean in each category, in the order of [`Overall::groups`].
    pub groups: Vec<TestGroupMean>,
    /// The mean over all categories, with equal weights.
    pub total: GroupMean,
}

/// The mean of a contender group in one category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestGroupMean {
    /// The group of tests.
    pub group: WorkloadCategory,
    /// The mean.
    pub mean: GroupMean,
}

/// The mean of some contenders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupMean {
    /// The geometric mean of the members' scores in each round, or `None` if no member has all
    /// results.
    pub rounds: Vec<Option<f64>>,
    /// The median over rounds, with its interval; 1 is as good as the best contender in every
    /// result.
    pub ratio: Option<RobustEstimate>,
    /// Number of members in the mean.
    pub counted: u32,
    /// Number of members excluded because they lack results.
    #[serde(rename = "left_out")]
    pub excluded: u32,
}

/// Returns the contender groups of a campaign, in their order.
pub(crate) fn groups(results: &CampaignResults, overall: &Overall) -> Vec<ContenderGroupMeans> {
    let campaign = &results.campaign;
    let groups = campaign.groups.iter().map(|group| {
        let contenders = campaign.contenders.iter().enumerate();
        let members: Vec<usize> = contenders
            .filter(|(_, contender)| group.members.contains(&contender.name))
            .map(|(place, _)| place)
            .collect();
        let of_tests = overall
            .groups
            .iter()
            .map(|tests| TestGroupMean { group: tests.group, mean: mean(&tests.scores, &members) });
        ContenderGroupMeans {
            name: group.name.clone(),
            groups: of_tests.collect(),
            total: mean(&overall.total, &members),
            members,
        }
    });
    groups.collect()
}

fn mean(scores: &[CategoryScore], members: &[usize]) -> GroupMean {
    let whole: Vec<&CategoryScore> = members
        .iter()
        .filter_map(|member| scores.get(*member))
        .filter(|score| score.counted > 0 && score.missing == 0)
        .collect();
    let planned = whole.iter().map(|s| s.rounds.len()).max().unwrap_or(0);
    let of_round = |round: usize| -> Option<f64> {
        let logs = whole.iter().map(|score| Some((*score.rounds.get(round)?)?.ln()));
        let sum: f64 = logs.sum::<Option<f64>>()?;
        Some((sum / whole.len() as f64).exp())
    };
    let rounds: Vec<Option<f64>> = (0..planned).map(of_round).collect();
    let values: Vec<f64> = rounds.iter().filter_map(|round| *round).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    GroupMean {
        ratio: RobustEstimate::from_values(&values),
        rounds,
        counted: count(whole.len()),
        excluded: count(members.len() - whole.len()),
    }
}

#[cfg(test)]
mod tests {
    use model::{ContenderGroup, Status};

    use crate::{analyse, fixture};

    fn group(name: &str, members: &[&str]) -> ContenderGroup {
        ContenderGroup {
            name: name.to_owned(),
            members: members.iter().map(|m| (*m).to_owned()).collect(),
        }
    }

    #[test]
    fn a_group_has_the_geometric_mean_of_its_members() {
        let mut results = fixture::plain();
        results.campaign.groups =
            vec![group("others", &["slow", "middle"]), group("all", &["fast", "middle", "slow"])];
        let groups = analyse(&results).contender_groups;
        assert_eq!(groups[0].members, [1, 2], "in the campaign's order");
        // Write takes 1, 2 and 4 times as long; read takes equally long.
        let median = |group: usize, tests: usize| {
            let mean = &groups[group].groups[tests].mean;
            mean.ratio.unwrap().median
        };
        assert!((median(0, 0) - 8f64.sqrt()).abs() < 1e-9);
        assert!((median(1, 0) - 2.0).abs() < 1e-9);
        assert!((median(1, 1) - 1.0).abs() < 1e-9);
        let total = groups[1].total.ratio.unwrap();
        assert!((total.median - 2f64.sqrt()).abs() < 1e-9);
        assert_eq!(total.rounds, 3);
    }

    #[test]
    fn members_without_results_are_excluded_and_counted() {
        let mut results = fixture::plain();
        results.campaign.groups = vec![group("two", &["middle", "slow"]), group("one", &["slow"])];
        for stored in &mut results.cells {
            if stored.cell.contender == "slow" {
                let result = stored.result.as_mut().unwrap();
                result.phases[0].status = Status::Failed;
            }
        }
        let groups = analyse(&results).contender_groups;
        let mean = &groups[0].groups[0].mean;
        assert_eq!((mean.counted, mean.excluded), (1, 1));
        assert!((mean.ratio.unwrap().median - 2.0).abs() < 1e-9);
        let nobody = &groups[1].groups[0].mean;
        assert_eq!((nobody.ratio, nobody.excluded), (None, 1));
    }
}
