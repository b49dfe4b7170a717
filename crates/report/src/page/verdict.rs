//! What the results come to, in words, for the top of the page. Every sentence is a count or a result of
//! the analysis; where the rounds do not tell contenders apart, it says so.

use analyse::{Analysis, CellFailure, Row, Standing};
use model::{Metric, Status};

use super::{overall, uses};
use crate::tables::resources;
use crate::wording::text::{clean, shorten};
use crate::wording::words::counted;

/// The widest a contender's name may be in a sentence.
const NAME_COLUMNS: usize = 40;

/// The most contenders that a sentence names.
const MOST_NAMES: usize = 3;

/// The sentences, the most important first.
pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    if analysis.counts.run == 0 {
        return vec!["Nothing has run yet: there is nothing to say.".to_owned()];
    }
    let sentences = [
        overall::verdict(analysis),
        uses::verdict(analysis),
        marked(analysis, "best", |s| s.best),
        first(analysis),
        marked(analysis, "worst", |s| s.worst),
        failures(analysis),
        unsteady(analysis),
    ];
    let sentences = sentences.into_iter().flatten();
    sentences.chain(resources::unlike(analysis)).collect()
}

fn name(name: &str) -> String {
    shorten(&clean(name), NAME_COLUMNS)
}

/// Who is marked how often: `ext4 is marked best in 7 of 26 phases, xfs in 3.`
fn marked(analysis: &Analysis, word: &str, count: impl Fn(&Standing) -> u32) -> Option<String> {
    let phases = analysis.standings.first()?.phases;
    let mut some: Vec<&Standing> = analysis.standings.iter().filter(|s| count(s) > 0).collect();
    some.sort_by_key(|standing| std::cmp::Reverse(count(standing)));
    let Some((first, rest)) = some.split_first() else {
        return Some(format!(
            "Nobody is marked {word} in any of {}: not enough rounds for such a difference.",
            counted(phases, "phase")
        ));
    };
    let mut text = format!(
        "{} is marked {word} in {} of {}",
        name(&first.contender),
        count(first),
        counted(phases, "phase")
    );
    for standing in rest.iter().take(MOST_NAMES - 1) {
        text += &format!(", {} in {}", name(&standing.contender), count(standing));
    }
    let left: u32 = rest.iter().skip(MOST_NAMES - 1).map(|s| count(s)).sum();
    if left > 0 {
        text += &format!(", others in {left}");
    }
    Some(text + ".")
}

/// In how many phases the first place is shared: there the order is a matter of luck.
fn first(analysis: &Analysis) -> Option<String> {
    let ranked: Vec<&Row> = ranked(analysis).collect();
    let shared = ranked.iter().filter(|row| shares_first(row)).count();
    let text = match (shared, ranked.len()) {
        (_, 0) => return None,
        (0, all) => format!("In none of {} is the first place shared.", phases(all)),
        (shared, all) if shared == all => {
            format!("In all of {} the first place is shared.", phases(all))
        }
        (shared, all) => format!(
            "In {shared} of {} the first place is shared: there the first are not significantly different.",
            phases(all)
        ),
    };
    Some(text)
}

fn phases(count: usize) -> String {
    counted(count as u64, "ranked phase")
}

fn ranked(analysis: &Analysis) -> impl Iterator<Item = &Row> {
    let places = |row: &&Row| row.results.iter().any(|f| f.place.is_some());
    let rows = analysis.rows.iter();
    rows.filter(|row| row.primary && row.metric != Metric::Supported)
        .filter(places)
}

fn shares_first(row: &Row) -> bool {
    let mut places = row.results.iter().filter_map(|f| f.place);
    places.any(|place| place.rank == 1 && place.tied_with > 0)
}

/// Whose cells were not ok, the most first; what a filesystem cannot do is counted for itself.
fn failures(analysis: &Analysis) -> Option<String> {
    let (cannot, failed): (Vec<&CellFailure>, Vec<&CellFailure>) = analysis
        .failures
        .iter()
        .partition(|f| f.status == Status::Unsupported);
    let also = match cannot.len() {
        0 => String::new(),
        some => format!(
            "; in {} something is unsupported",
            counted(some as u64, "cell")
        ),
    };
    let run = counted(analysis.counts.run, "cell");
    if failed.is_empty() {
        return Some(format!("Of {run} that ran none failed{also}."));
    }
    let of = |contender: &String| failed.iter().filter(|f| f.contender == *contender).count();
    let mut who: Vec<(&String, usize)> = analysis.contenders.iter().map(|c| (c, of(c))).collect();
    who.retain(|(_, count)| *count > 0);
    who.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = who
        .iter()
        .take(MOST_NAMES)
        .map(|(contender, count)| format!("{count} of {}", name(contender)))
        .collect();
    let rest: usize = who.iter().skip(MOST_NAMES).map(|(_, count)| count).sum();
    let others = match rest {
        0 => String::new(),
        rest => format!(", {rest} of others"),
    };
    Some(format!(
        "{} of {run} that ran {} not ok: {}{others}{also}.",
        failed.len(),
        if failed.len() == 1 { "was" } else { "were" },
        named.join(", ")
    ))
}

/// How many results are to be read with care.
fn unsteady(analysis: &Analysis) -> Option<String> {
    let headlines = analysis.rows.iter().filter(|row| row.primary);
    let estimates = headlines.flat_map(|row| row.results.iter().filter_map(|f| f.estimate));
    let estimates: Vec<_> = estimates.filter(|e| e.rounds > 1).collect();
    let unsteady = estimates.iter().filter(|e| e.unsteady()).count();
    (unsteady > 0).then(|| {
        format!(
            "{unsteady} of {} vary by more than {:.0}\u{a0}% between rounds and carry a ~.",
            counted(estimates.len() as u64, "result"),
            analyse::UNSTEADY_ABOVE
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn a_small_campaign_in_words() {
        assert_eq!(
            sentences(&analyse(&fixture::plain())),
            [
                "Over 2 groups of tests, each weighing the same, fast (1.00×) comes first; no single group’s weight changes that.",
                "fast is marked best in 1 of 2 phases.",
                "In 1 of 2 ranked phases the first place is shared: there the first are not significantly different.",
                "slow is marked worst in 1 of 2 phases.",
                "Of 9 cells that ran none failed.",
            ]
        );
    }

    #[test]
    fn one_round_tells_nobody_apart_and_nothing_says_nothing() {
        let mut results = fixture::plain();
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        let said = sentences(&analyse(&results));
        assert!(said[1].starts_with("Nobody is marked best"), "{said:?}");
        for stored in &mut results.cells {
            stored.result = None;
        }
        assert_eq!(sentences(&analyse(&results)).len(), 1);
    }

    #[test]
    fn whoever_failed_is_named() {
        let said = sentences(&analyse(&fixture::realistic())).join(" ");
        assert!(
            said.contains("3 of 135 cells that ran were not ok: 2 of ntfs-3g, 1 of zfs-fuse; in 3 cells something"),
            "{said}"
        );
    }
}
