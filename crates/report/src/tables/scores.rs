//! Standings of contenders over all tests, as tables: counts of phases, and test categories with
//! their costs.

use stats::{Analysis, CategoryScore, GroupMean};

use crate::tables::overview::rank_symbol;
use crate::tables::table::Table;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Counts for each contender the phases in which it is the best, may be the best, or is not ok.
pub(crate) fn counts(analysis: &Analysis) -> Table {
    let mut table =
        Table::new(&["contender", ">best", ">may be the best", ">with a failed round", ">phases"]);
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

/// Returns the cost and rank of each contender in each test category and over all, or `None` if no
/// category has a result.
pub(crate) fn groups(analysis: &Analysis) -> Option<Table> {
    let overall = &analysis.overall;
    if overall.groups.is_empty() {
        return None;
    }
    let titles = overall.groups.iter().map(|g| format!(">{}", g.group.title()));
    let heading: Vec<String> = ["contender".to_owned()]
        .into_iter()
        .chain(titles)
        .chain([">all alike".to_owned()])
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = Table::new(&heading);
    for (index, contender) in analysis.contenders.iter().enumerate() {
        let scores = overall.groups.iter().map(|g| &g.scores[index]);
        let scores = scores.chain(overall.total.get(index)).map(cell);
        table.push([sanitize_line(contender)].into_iter().chain(scores).collect());
    }
    Some(table)
}

/// Formats the cost with the sign of its rank, such as `1.17`, or with the number of missing
/// results.
fn cell(score: &CategoryScore) -> String {
    let Some(ratio) = &score.ratio else {
        return "none".to_owned();
    };
    let cost = three_digits(ratio.median);
    match (rank_symbol(score.place.as_ref()).1, score.missing) {
        (Some(sign), _) => format!("{cost} {sign}"),
        (None, 0) => cost,
        (None, missing) => format!("{cost} (lacks {missing})"),
    }
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
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = Table::new(&heading);
    for group in &analysis.contender_groups {
        let means = group.groups.iter().map(|g| &g.mean).chain([&group.total]);
        let members = group.members.iter().map(|m| sanitize_line(&analysis.contenders[*m]));
        let members = members.collect::<Vec<_>>().join(", ");
        let row = [sanitize_line(&group.name)].into_iter().chain(means.map(mean));
        table.push(row.chain([members]).collect());
    }
    Some(table)
}

/// Formats a mean as `1.41`, or as `1.41 (of 2)` if other contenders of the group lack results.
pub(crate) fn mean(mean: &GroupMean) -> String {
    match &mean.ratio {
        None => "none".to_owned(),
        Some(ratio) if mean.excluded == 0 => three_digits(ratio.median),
        Some(ratio) => format!("{} (of {})", three_digits(ratio.median), mean.counted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            table.markdown(str::to_owned),
            "| group | large files written | large files read | all alike | members |\n\
             | :-- | --: | --: | --: | :-- |\n\
             | others | 2.83 | 1.00 | 1.68 | middle, slow |\n"
        );
    }
}
