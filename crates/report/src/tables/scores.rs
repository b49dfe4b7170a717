//! Standings of contenders over all tests, as tables: counts of phases, and groups of contenders
//! with their costs.

use stats::{Analysis, GroupMean};

use crate::document::Table;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Counts for each contender the phases in which it is the best, may be the best, or is not ok.
pub(crate) fn counts(analysis: &Analysis) -> Table {
    let mut table =
        Table::new(&["filesystem", ">best", ">may be the best", ">with a failed round", ">phases"]);
    for standing in &analysis.phase_counts {
        table.push(vec![
            sanitize_line(&standing.contender),
            standing.best.to_string(),
            standing.shortlisted.to_string(),
            standing.failed.to_string(),
            standing.phases.to_string(),
        ]);
    }
    table
}

/// Returns the title of the table of contender groups.
pub(crate) fn groups_title(analysis: &Analysis) -> String {
    let over = match analysis.by_disk.is_empty() {
        true => "",
        false => ", over all disks together",
    };
    format!("Groups of filesystems, by the geometric mean of their members' costs{over}")
}

/// Returns the contender groups of the campaign, each with its mean in each test category and over
/// all, or `None` if the campaign defines no groups or no test has a result that counts.
pub(crate) fn contender_groups(analysis: &Analysis) -> Option<Table> {
    let tests = &analysis.overall.groups;
    if analysis.contender_groups.is_empty() || tests.is_empty() {
        return None;
    }
    let titles = tests.iter().map(|g| format!(">{}", g.group.title()));
    let heading = ["group".to_owned()].into_iter().chain(titles);
    let heading: Vec<String> =
        heading.chain([">all alike".to_owned(), "members".to_owned()]).collect();
    let mut table = Table::new(&heading);
    for group in &analysis.contender_groups {
        let means = group.groups.iter().map(|g| &g.mean).chain([&group.total]);
        let members = group.members.iter().map(|m| sanitize_line(&analysis.contenders[*m]));
        let members = members.collect::<Vec<_>>().join(", ");
        let row = [sanitize_line(&group.name)].into_iter().chain(means.map(mean));
        table.push(row.chain([members]));
    }
    Some(table)
}

/// Formats a mean as `1.41`, or as `1.41 (of 2)` if other contenders of the group lack results.
pub(crate) fn mean(mean: &GroupMean) -> String {
    match &mean.ratio {
        None => "none".to_owned(),
        Some(ratio) if mean.excluded == 0 => three_digits(*ratio),
        Some(ratio) => format!("{} (of {})", three_digits(*ratio), mean.counted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocumentOptions;
    use model::ContenderGroup;
    use stats::{analyse, fixture};

    #[test]
    fn groups_that_the_campaign_names_have_a_line_each() {
        let mut results = fixture::plain();
        assert!(contender_groups(&analyse(&results)).is_none());
        results.campaign.groups = vec![ContenderGroup {
            name: "others".to_owned(),
            members: vec!["middle".to_owned(), "slow".to_owned()],
        }];
        let table = contender_groups(&analyse(&results)).unwrap();
        assert_eq!(
            table.text(&DocumentOptions::FILE),
            "GROUP   LARGE FILES WRITTEN  LARGE FILES READ  ALL ALIKE  MEMBERS\n\
             others                 2.83              1.00       1.68  middle, slow\n"
        );
    }
}
