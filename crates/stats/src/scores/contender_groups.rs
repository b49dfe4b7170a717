//! Groups of contenders that the user has named, with the means of their members.
//!
//! The mean of a group is the geometric mean of its members' costs (see [`crate::Overall`]), as a
//! multiple of the lowest cost of the campaign. A member that lacks results is excluded, and counted.

use model::CampaignResults;
use serde::Serialize;

use crate::{CategoryScore, Overall, WorkloadCategory};

/// Means of a contender group of the campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestGroupMean {
    /// The group of tests.
    pub group: WorkloadCategory,
    /// The mean.
    pub mean: GroupMean,
}

/// The mean of some contenders.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupMean {
    /// The geometric mean of the members' estimated costs, as a multiple of the lowest cost. `None`
    /// if no member has all results.
    pub ratio: Option<f64>,
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
    let places = members.iter().filter_map(|member| scores.get(*member)?.place);
    let logs: Vec<f64> = places.map(|place| place.ratio.ln()).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    GroupMean {
        ratio: (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp()),
        counted: count(logs.len()),
        excluded: count(members.len() - logs.len()),
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
        let mean = |group: usize, tests: usize| groups[group].groups[tests].mean.ratio.unwrap();
        assert!((mean(0, 0) - 8f64.sqrt()).abs() < 1e-9);
        assert!((mean(1, 0) - 2.0).abs() < 1e-9);
        assert!((mean(1, 1) - 1.0).abs() < 1e-9);
        assert!((groups[1].total.ratio.unwrap() - 2f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn members_without_results_are_excluded_and_counted() {
        let mut results = fixture::plain();
        results.campaign.groups =
            vec![group("two", &["middle", "slow"]), group("one", &["middle"])];
        for stored in &mut results.cells {
            if stored.cell.contender == "middle" {
                let result = stored.result.as_mut().unwrap();
                result.phases[0].status = Status::Failed;
            }
        }
        let groups = analyse(&results).contender_groups;
        let mean = &groups[0].groups[0].mean;
        assert_eq!((mean.counted, mean.excluded), (1, 1));
        assert!((mean.ratio.unwrap() - 4.0).abs() < 1e-9);
        let nobody = &groups[1].groups[0].mean;
        assert_eq!((nobody.ratio, nobody.excluded), (None, 1));
    }
}
