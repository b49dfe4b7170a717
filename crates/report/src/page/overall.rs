//! The overall view of the page: scores over groups of tests and over all of them, and where the order
//! depends on what weighs how much.

use analyse::{Analysis, Crossover, GroupMean, Score};

use super::heat;
use crate::tables::standing_tables;
use crate::wording::scale::three_digits;
use crate::wording::text::{clean, shorten};
use crate::wording::words::counted;

/// The widest a contender's name may be in a sentence.
const NAME_COLUMNS: usize = 40;

/// The most contenders that a sentence names one by one.
const MOST_NAMES: usize = 4;

/// A group, or all of them.
pub(super) struct GroupView {
    pub title: String,
    /// How many results it is made of.
    pub results: usize,
    pub scores: Vec<ScoreView>,
}

/// The score of a contender.
pub(super) struct ScoreView {
    /// How many times what the best of each result takes; or why there is none.
    pub text: String,
    pub class: String,
    /// The interval and the rank, or what is missing.
    pub notes: Vec<String>,
}

/// The groups, and below them all together.
pub(super) fn groups(analysis: &Analysis) -> Vec<GroupView> {
    let overall = &analysis.overall;
    let mut views: Vec<GroupView> = overall
        .groups
        .iter()
        .map(|group| GroupView {
            title: group.group.title().to_owned(),
            results: group.shares.len(),
            scores: group.scores.iter().map(score).collect(),
        })
        .collect();
    if views.len() > 1 {
        views.push(GroupView {
            title: "all groups, each weighing the same".to_owned(),
            results: overall.groups.iter().map(|g| g.shares.len()).sum(),
            scores: overall.total.iter().map(score).collect(),
        });
    }
    views
}

/// A group of contenders that the campaign names.
pub(super) struct ContenderGroupView {
    pub name: String,
    pub members: Vec<String>,
    /// Its mean in each group of tests, and over all of them.
    pub means: Vec<ScoreView>,
}

/// What stands above their means.
pub(super) fn titles(analysis: &Analysis) -> Vec<&'static str> {
    let groups = analysis.overall.groups.iter().map(|g| g.group.title());
    groups
        .chain(["all groups, each weighing the same"])
        .collect()
}

/// The groups of contenders with their means.
pub(super) fn contender_groups(analysis: &Analysis) -> Vec<ContenderGroupView> {
    let groups = analysis.contender_groups.iter().map(|group| {
        let members = group.members.iter();
        let means = group.groups.iter().map(|g| &g.mean).chain([&group.total]);
        ContenderGroupView {
            name: clean(&group.name),
            members: members.map(|m| name(&analysis.contenders[*m])).collect(),
            means: means.map(mean).collect(),
        }
    });
    groups.collect()
}

fn mean(mean: &GroupMean) -> ScoreView {
    let left_out = (mean.left_out > 0).then(|| {
        let who = counted(mean.left_out, "member");
        format!("without {who} that lack results")
    });
    ScoreView {
        text: standing_tables::mean(mean),
        class: match &mean.ratio {
            Some(ratio) => format!("plain {}", heat::class(ratio.median)),
            None => "absent".to_owned(),
        },
        notes: left_out.into_iter().collect(),
    }
}

fn score(score: &Score) -> ScoreView {
    let missing =
        (score.missing > 0).then(|| format!("lacks {}", counted(score.missing, "result")));
    let Some(ratio) = &score.ratio else {
        return ScoreView {
            text: "none".to_owned(),
            class: "absent".to_owned(),
            notes: missing.into_iter().collect(),
        };
    };
    let interval = (ratio.rounds > 1).then(|| {
        let (low, high) = (ratio.interval.low, ratio.interval.high);
        format!("{} … {}", three_digits(low), three_digits(high))
    });
    let rank = score.place.map(|place| {
        let tied = if place.tied_with > 0 { "=" } else { "" };
        format!("rank {}{tied}", place.rank)
    });
    ScoreView {
        text: format!("{}×", three_digits(ratio.median)),
        class: format!("plain {}", heat::class(ratio.median)),
        notes: [interval, rank, missing].into_iter().flatten().collect(),
    }
}

/// Who comes first over all groups, as a sentence; nothing where nobody has all results.
pub(super) fn verdict(analysis: &Analysis) -> Option<String> {
    let overall = &analysis.overall;
    let groups = overall.groups.len();
    let mut placed: Vec<(&String, f64, u32)> = analysis
        .contenders
        .iter()
        .zip(&overall.total)
        .filter_map(|(name, score)| Some((name, score.ratio?.median, score.place?.rank)))
        .collect();
    placed.sort_by(|a, b| a.1.total_cmp(&b.1));
    let first: Vec<String> = placed
        .iter()
        .filter(|(_, _, rank)| *rank == 1)
        .map(|(contender, ratio, _)| format!("{} ({}×)", name(contender), three_digits(*ratio)))
        .collect();
    let over = match groups {
        1 => "In the one group of tests".to_owned(),
        groups => format!("Over {groups} groups of tests, each weighing the same,"),
    };
    let place = match &first[..] {
        [] => return None,
        [one] => format!("{over} {one} comes first"),
        [some @ .., last] if first.len() <= MOST_NAMES => {
            format!(
                "{over} {} and {last} share the first place",
                some.join(", ")
            )
        }
        [best, .., last] => format!(
            "{over} {} share the first place, from {best} to {last}",
            counted(first.len() as u64, "contender")
        ),
    };
    let crossovers = match (overall.crossovers.len(), first.len()) {
        (0, 1) if groups > 1 => "; no single group’s weight changes that",
        (1.., _) => "; it depends on what weighs how much",
        _ => "",
    };
    Some(format!("{place}{crossovers}."))
}

/// Where the order depends on the weights, a sentence for each group.
pub(super) fn crossovers(analysis: &Analysis) -> Vec<String> {
    let sentence = |crossover: &Crossover| {
        let of = |place: usize| analysis.contenders.get(place).map(|c| name(c));
        Some(format!(
            "{} leads instead of {} where {} weigh more than {}\u{a0}% of all.",
            of(crossover.to)?,
            of(crossover.from)?,
            crossover.group.title(),
            three_digits(100.0 * crossover.share)
        ))
    };
    analysis
        .overall
        .crossovers
        .iter()
        .filter_map(sentence)
        .collect()
}

fn name(name: &str) -> String {
    shorten(&clean(name), NAME_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn a_score_stands_with_its_interval_and_its_rank() {
        let analysis = analyse(&fixture::plain());
        let views = groups(&analysis);
        let titles: Vec<&str> = views.iter().map(|v| v.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "large files written",
                "large files read",
                "all groups, each weighing the same"
            ]
        );
        let slow = &views[0].scores[2];
        assert_eq!(slow.text, "4.00×");
        assert!(slow.class.ends_with("h4"), "{}", slow.class);
        assert_eq!(slow.notes, ["3.96 … 4.04", "rank 3"]);
    }

    #[test]
    fn the_first_is_named_with_its_score() {
        let verdict = verdict(&analyse(&fixture::plain())).unwrap();
        assert!(verdict.starts_with(
            "Over 2 groups of tests, each weighing the same, fast (1.00×) comes first"
        ));
    }
}
