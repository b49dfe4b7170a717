//! An advice in words: what to take and why, what the runner-up costs, who was ruled out, and on how
//! much of the weight it rests.

use std::collections::BTreeMap;

use analyse::{Advice, AgainstFirst, Ranked, Recommendation, Significance};
use model::{CampaignResults, Group};

use crate::tables::plain_table::{PlainTable, all_of, chance, percent, ratio};
use crate::wording::reasons::reasons;
use crate::wording::scale::three_digits;
use crate::wording::summary;
use crate::wording::text::clean;
use crate::wording::words::counted;

/// The most results that are named where some do not count.
const MOST_LEFT_OUT: usize = 8;

/// The advice as text; `suites` says which suites have tests of a group.
pub fn advice_text(
    advice: &Advice,
    results: &CampaignResults,
    suites: &BTreeMap<Group, Vec<String>>,
) -> String {
    let scores = &advice.scores;
    let mut out = format!("{}\n{}\n\n", clean(&scores.title), summary::line(results));
    out += &format!("{}\n", wrapped(&verdict(advice)));
    out += &ranking(advice);
    out += &price(advice);
    out += &ruled_out(advice);
    out += &limits(advice, suites);
    out += &format!("\nweights: {}\n", clean(&scores.source));
    out
}

fn name(ranked: &Ranked) -> String {
    clean(&ranked.contender)
}

fn verdict(advice: &Advice) -> String {
    let first = advice.ranking.first().map(name).unwrap_or_default();
    match advice.recommendation {
        Recommendation::None => "No contender of this campaign comes into question.".to_owned(),
        Recommendation::Untested => {
            "Nothing that counts for this use was tested in a way that compares all who come into \
             question."
                .to_owned()
        }
        Recommendation::Only => format!("Take {first}: no other comes into question."),
        Recommendation::One => format!("Take {first}. {}", beside_runner_up(advice, &first)),
        Recommendation::Tie => tie(advice, &first),
    }
}

/// By how much the first is better than the second.
fn beside_runner_up(advice: &Advice, first: &str) -> String {
    let second = advice.ranking.get(1);
    let against = second.and_then(|s| Some((name(s), s.against_first.as_ref()?)));
    against.map_or_else(String::new, |(second, against)| {
        let factor = against.rounds.map_or_else(String::new, |r| ratio(&r));
        format!(
            "{second}, the runner-up, costs {factor} times as much as {first}; p {} over {} of cells.",
            chance(against.p_corrected),
            counted(against.pairs, "pair")
        )
    })
}

fn tie(advice: &Advice, first: &str) -> String {
    let tied: Vec<String> = advice.ranking[..advice.tied].iter().map(name).collect();
    let second = &advice.ranking[1];
    let mut text = format!(
        "{} are not significantly different by these results: a tie. Take any of them.",
        all_of(&tied)
    );
    if let Some(against) = &second.against_first {
        let factor = against.rounds.map_or_else(String::new, |r| ratio(&r));
        text += &format!(" {} costs {factor} times as much as {first}", name(second));
        text += &match against.significance {
            Significance::TooFewRounds { needed } => format!(
                ", but so few rounds cannot show any difference: {} can.",
                counted(needed, "round")
            ),
            _ => format!("; p {}. More rounds may tell.", chance(against.p_corrected)),
        };
    }
    text
}

fn ranking(advice: &Advice) -> String {
    if advice.ranking.is_empty() {
        return String::new();
    }
    let mut table = PlainTable::new(&["contender", ">cost", "times the first", "different"]);
    for (place, ranked) in advice.ranking.iter().enumerate() {
        let against = ranked.against_first.as_ref();
        table.push(vec![
            name(ranked),
            three_digits(ranked.cost.median),
            against
                .and_then(|a| a.rounds)
                .map_or_else(String::new, |r| ratio(&r)),
            match against {
                _ if place == 0 => String::new(),
                Some(against) => significant(against),
                None => String::new(),
            },
        ]);
    }
    let note = "Cost: the time for the same work, as a multiple of the best in each result; weighted \
                geometric mean.";
    format!("\n{}{}\n", table.text("  "), wrapped(note))
}

fn significant(against: &AgainstFirst) -> String {
    let p = chance(against.p_corrected);
    match against.significance {
        Significance::Worse | Significance::Better | Significance::Differs => format!("yes, p {p}"),
        Significance::NotSignificant => format!("no, p {p}"),
        Significance::TooFewRounds { needed } => {
            format!("no: it takes {}", counted(needed, "round"))
        }
        Significance::NotComparable => "no: no round is whole".to_owned(),
    }
}

/// What taking the runner-up costs, group by group.
fn price(advice: &Advice) -> String {
    let Some((first, second)) = advice.ranking.first().zip(advice.ranking.get(1)) else {
        return String::new();
    };
    let Some(against) = &second.against_first else {
        return String::new();
    };
    let mut table = PlainTable::new(&["group", ">weight", "times the first", "order turns"]);
    for group in &against.groups {
        let turns = group.turns_at.map_or_else(String::new, |at| {
            let way = if at > group.share { "above" } else { "below" };
            format!("{way} {} %", percent(at))
        });
        table.push(vec![
            group.group.title().to_owned(),
            format!("{} %", percent(group.share)),
            group.ratio.map_or_else(String::new, |r| ratio(&r)),
            turns,
        ]);
    }
    format!(
        "\nWhat {} costs instead of {}\n{}",
        name(second),
        name(first),
        table.text("  ")
    )
}

fn ruled_out(advice: &Advice) -> String {
    if advice.ruled_out.is_empty() {
        return String::new();
    }
    let mut out = "\nRuled out\n".to_owned();
    for candidate in &advice.ruled_out {
        let reasons = reasons(candidate);
        out += &format!(
            "  {}: {}\n",
            clean(&candidate.contender),
            reasons.join("; ")
        );
    }
    out
}

/// What the advice does not rest on.
fn limits(advice: &Advice, suites: &BTreeMap<Group, Vec<String>>) -> String {
    let mut out = String::new();
    for untested in &advice.untested {
        let by = suites
            .get(&untested.group)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let by = match by {
            [] => String::new(),
            by => format!(" ({} would test it)", either(by)),
        };
        out += &format!(
            "  {}: {} % of the weight{by}\n",
            untested.group.title(),
            percent(untested.share)
        );
    }
    if !out.is_empty() {
        let tested: f64 = 1.0 - advice.untested.iter().map(|u| u.share).sum::<f64>();
        out += &wrapped(&format!(
            "  The advice rests on {} % of the weight.{}",
            percent(tested),
            turning(advice)
        ));
        out.push('\n');
        out.insert_str(0, "\nNot tested\n");
    }
    out + &left_out(advice) + &unproven(advice)
}

fn either(suites: &[String]) -> String {
    let options: Vec<String> = suites.iter().map(|s| format!("-s {s}")).collect();
    options.join(" or ")
}

fn turning(advice: &Advice) -> String {
    let pair = advice.ranking.first().zip(advice.ranking.get(1));
    pair.zip(advice.turns_if_untested)
        .map_or_else(String::new, |((first, second), factor)| {
            format!(
                " {} would come before {} if {} cost more than {} times as much in the rest.",
                name(second),
                name(first),
                name(first),
                three_digits(factor)
            )
        })
}

fn left_out(advice: &Advice) -> String {
    if advice.left_out.is_empty() {
        return String::new();
    }
    let mut out = "\nDo not count, since not all who come into question have them\n".to_owned();
    for result in advice.left_out.iter().take(MOST_LEFT_OUT) {
        let lacking = result.lacking.iter();
        let lacking = lacking.map(|(who, word)| format!("{} {word}", clean(who)));
        out += &format!(
            "  {}/{}: {}\n",
            clean(&result.test),
            clean(&result.phase),
            lacking.collect::<Vec<_>>().join(", ")
        );
    }
    let more = advice.left_out.len().saturating_sub(MOST_LEFT_OUT);
    if more > 0 {
        out += &format!("  and {}\n", counted(more as u64, "more result"));
    }
    out
}

fn unproven(advice: &Advice) -> String {
    let lines = advice.unproven.iter().map(|candidate| {
        let features = candidate.not_probed.iter().map(ToString::to_string);
        let features = all_of(&features.collect::<Vec<_>>());
        format!("  {}: {features}\n", clean(&candidate.contender))
    });
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nNeeded, and never tried (suite lifecycle tries it)\n{lines}"),
    }
}

/// A sentence in lines of at most 100 columns, each behind the margin with which it begins.
pub(crate) fn wrapped(text: &str) -> String {
    let margin = &text[..text.len() - text.trim_start().len()];
    let mut out = margin.to_owned();
    let mut used = margin.len();
    for word in text.split_whitespace() {
        let wide = crate::wording::text::width(word);
        if used > margin.len() && used + 1 + wide > 100 {
            out.push('\n');
            out += margin;
            used = margin.len();
        } else if used > margin.len() {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += wide;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{advise, analyse, fixture};
    use model::{Feature, Need, Use, Weight};

    fn file_server() -> Use {
        let weight = |group, weight| Weight {
            group,
            weight,
            why: "so".to_owned(),
        };
        Use {
            name: "file-server".to_owned(),
            title: "File server".to_owned(),
            source: "made for a test".to_owned(),
            rationale: "Nothing".to_owned(),
            readers: None,
            needs: vec![Need {
                feature: Feature::HardLinks,
                why: "backups link what has not changed".to_owned(),
            }],
            weights: vec![
                weight(Group::Trees, 40.0),
                weight(Group::StreamWrite, 25.0),
                weight(Group::Names, 15.0),
                weight(Group::Durable, 20.0),
            ],
        }
    }

    fn shown(results: &CampaignResults) -> String {
        let advice = advise(&file_server(), &analyse(results));
        let suites = [(Group::Durable, vec!["fs-mark".to_owned()])].into();
        advice_text(&advice, results, &suites)
    }

    #[test]
    fn a_real_looking_campaign() {
        insta::assert_snapshot!(shown(&fixture::realistic()));
    }

    #[test]
    fn a_small_campaign_is_a_tie_for_want_of_rounds() {
        insta::assert_snapshot!(shown(&fixture::plain()));
    }

    #[test]
    fn hostile_names_stay_what_they_are() {
        let text = shown(&fixture::hostile());
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
        assert!(text.lines().count() > 5);
    }

    #[test]
    fn lines_are_wrapped_behind_their_margin() {
        let text = wrapped(&format!("  {}", "word ".repeat(50)));
        assert!(
            text.lines()
                .all(|l| l.starts_with("  word") && l.len() <= 100)
        );
        assert_eq!(text.split_whitespace().count(), 50);
    }
}
