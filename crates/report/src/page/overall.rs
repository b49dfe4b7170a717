//! Overall view of the page: scores over categories and over all tests.

use stats::{Analysis, CategoryScore, GroupMean, WinCounts};

use super::heat_map;
use crate::tables::scores;
use crate::text::answer::excess_bound;
use crate::text::conclusions::{ConclusionText, category_conclusions_by_disk, describe_rank};
use crate::text::labels::pluralize;
use crate::text::sanitize::{sanitize_line, shorten};
use crate::text::scale::three_digits;

/// Maximum width of a contender's name in a sentence.
const NAME_COLUMNS: usize = 40;

/// A category, or all categories together.
pub(super) struct OverallGroupView {
    pub title: String,
    /// Number of results in the mean.
    pub results: usize,
    pub scores: Vec<ScoreView>,
}

/// The score of a contender.
pub(super) struct ScoreView {
    /// Estimated cost as a multiple of the lowest, or a status if it is missing.
    pub text: String,
    pub class: String,
    /// The most that it costs and the place, or the missing results.
    pub notes: Vec<String>,
}

/// Returns the result by test category, for each disk if there are several.
pub(super) fn sentences(analysis: &Analysis) -> Vec<ConclusionText> {
    category_conclusions_by_disk(analysis).into_iter().flatten().collect()
}

/// Counts the phases in which each contender is, or may be, the best on its disk.
pub(super) fn counts(analysis: &Analysis) -> Vec<WinCounts> {
    let of = |(contender, whole): (usize, &WinCounts)| match analysis.for_disk_of(contender) {
        Some((part, place)) => {
            WinCounts { contender: whole.contender.clone(), ..part.phase_counts[place].clone() }
        }
        None => whole.clone(),
    };
    analysis.phase_counts.iter().enumerate().map(of).collect()
}

/// Returns the score of each contender among those on its disk.
fn scores<'a>(
    analysis: &'a Analysis,
    of: impl Fn(&'a Analysis) -> Option<&'a [CategoryScore]>,
) -> Vec<ScoreView> {
    let view = |contender| {
        let Some((part, place)) = analysis.for_disk_of(contender) else {
            return absent(Some("no other contender is on its disk".to_owned()));
        };
        let score_there = of(part).and_then(|scores| scores.get(place));
        score_there.map_or_else(|| absent(None), score)
    };
    (0..analysis.contenders.len()).map(view).collect()
}

/// Returns the categories, followed by all of them together.
pub(super) fn groups(analysis: &Analysis) -> Vec<OverallGroupView> {
    let overall = &analysis.overall;
    let mut views: Vec<OverallGroupView> = overall
        .groups
        .iter()
        .map(|group| OverallGroupView {
            title: group.group.title().to_owned(),
            results: group.shares.len(),
            scores: scores(analysis, |part| {
                let groups = part.overall.groups.iter();
                let same = { groups }.find(|other| other.group == group.group);
                same.map(|group| &group.scores[..])
            }),
        })
        .collect();
    if views.len() > 1 {
        views.push(OverallGroupView {
            title: "all groups, each weighing the same".to_owned(),
            results: overall.groups.iter().map(|g| g.shares.len()).sum(),
            scores: scores(analysis, |part| Some(&part.overall.total[..])),
        });
    }
    views
}

/// A contender group defined by the campaign.
pub(super) struct ContenderGroupView {
    pub name: String,
    pub members: Vec<String>,
    /// Mean of the group in each test category, and over all of them.
    pub means: Vec<ScoreView>,
}

/// Returns the titles of the columns of means.
pub(super) fn titles(analysis: &Analysis) -> Vec<&'static str> {
    let groups = analysis.overall.groups.iter().map(|g| g.group.title());
    groups.chain(["all groups, each weighing the same"]).collect()
}

/// Returns the contender groups with their means.
pub(super) fn contender_groups(analysis: &Analysis) -> Vec<ContenderGroupView> {
    let groups = analysis.contender_groups.iter().map(|group| {
        let members = group.members.iter();
        let means = group.groups.iter().map(|g| &g.mean).chain([&group.total]);
        ContenderGroupView {
            name: sanitize_line(&group.name),
            members: members.map(|m| name(&analysis.contenders[*m])).collect(),
            means: means.map(mean).collect(),
        }
    });
    groups.collect()
}

fn mean(mean: &GroupMean) -> ScoreView {
    let left_out = (mean.excluded > 0).then(|| {
        let who = pluralize(mean.excluded, "member");
        format!("without {who} that lack results")
    });
    ScoreView {
        text: scores::mean(mean),
        class: match &mean.ratio {
            Some(ratio) => format!("plain {}", heat_map::class(*ratio)),
            None => "absent".to_owned(),
        },
        notes: left_out.into_iter().collect(),
    }
}

fn score(score: &CategoryScore) -> ScoreView {
    let missing = (score.missing > 0).then(|| "not ranked".to_owned());
    let Some(place) = &score.place else {
        return absent(missing);
    };
    let most = place.at_most.map(|most| format!("at most {}", excess_bound(most)));
    ScoreView {
        text: format!("{}×", three_digits(place.ratio)),
        class: format!("plain {}", heat_map::class(place.ratio)),
        notes: [most, Some(describe_rank(place))].into_iter().flatten().collect(),
    }
}

fn absent(why: Option<String>) -> ScoreView {
    ScoreView {
        text: "none".to_owned(),
        class: "absent".to_owned(),
        notes: why.into_iter().collect(),
    }
}

fn name(name: &str) -> String {
    shorten(&sanitize_line(name), NAME_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn score_has_a_bound_and_a_place() {
        let analysis = analyse(&fixture::plain());
        let views = groups(&analysis);
        let titles: Vec<&str> = views.iter().map(|v| v.title.as_str()).collect();
        assert_eq!(
            titles,
            ["large files written", "large files read", "all groups, each weighing the same"]
        );
        let slow = &views[0].scores[2];
        assert_eq!(slow.text, "4.00×");
        assert!(slow.class.ends_with("h4"), "{}", slow.class);
        assert!(slow.notes[0].starts_with("at most +3"), "{:?}", slow.notes);
        assert!(slow.notes[1].starts_with("costs at least "), "{:?}", slow.notes);
    }
}
