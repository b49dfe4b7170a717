//! The conclusion of each block of tests in words: who is first, ahead of whom and by how much, who is last.
//! Everything is decided in the analysis ([`analyse::Conclusion`]); here it becomes sentences.

use analyse::{Analysis, Conclusion, Distance};
use model::Group;

use crate::wording::scale::three_digits;
use crate::wording::text::{clean, shorten};
use crate::wording::words::percent;

/// The widest a contender's name may be in a sentence.
const NAME_COLUMNS: usize = 40;
/// The most contenders that a sentence names.
const MOST_NAMES: usize = 5;

/// How much a sentence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The ratios.
    Short,
    /// Their intervals, too.
    Full,
}

/// A block of tests and what it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The block: `trees of files`.
    pub block: &'static str,
    /// What it comes to: `ext4 is first; …`.
    pub text: String,
}

/// A sentence for each block of tests, that on all of them last; one for all where too few rounds can show nothing in
/// any of them.
pub(crate) fn conclusions(analysis: &Analysis, detail: Detail) -> Vec<Sentence> {
    if let Some(sentence) = too_few_rounds(analysis) {
        return vec![sentence];
    }
    let sentence = |conclusion: &Conclusion| Sentence {
        block: conclusion.group.map_or("all groups together", Group::title),
        text: Words {
            analysis,
            conclusion,
            detail,
        }
        .text(),
    };
    analysis.conclusions.iter().map(sentence).collect()
}

/// What is to be said once, and not of each block again.
fn too_few_rounds(analysis: &Analysis) -> Option<Sentence> {
    let needed = |conclusion: &Conclusion| {
        let nobody_stands_out = conclusion.first.len() > 1 && conclusion.last.is_empty();
        conclusion.rounds_needed.filter(|_| nobody_stands_out)
    };
    let conclusions = &analysis.conclusions;
    let needed: Option<Vec<u32>> = conclusions.iter().map(needed).collect();
    let most = needed.filter(|all| all.len() > 1)?.into_iter().max()?;
    Some(Sentence {
        block: "all blocks of tests",
        text: format!(
            "no significant difference between any two contenders: so few rounds can show none, it takes {most} \
             (--rounds {most})."
        ),
    })
}

struct Words<'a> {
    analysis: &'a Analysis,
    conclusion: &'a Conclusion,
    detail: Detail,
}

impl Words<'_> {
    fn text(&self) -> String {
        let parts = [Some(self.first()), self.last(), self.unranked()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{}.", parts.join("; "))
    }

    fn first(&self) -> String {
        let Conclusion { first, last, .. } = self.conclusion;
        match (&first[..], last.is_empty()) {
            ([], _) => "nobody has every metric of it, so nobody is ranked".to_owned(),
            ([one], true) => format!("only {} has every metric of it", self.name(*one)),
            (all, true) => format!(
                "no significant difference between {}{}",
                self.names(all),
                self.too_few()
            ),
            ([one], false) => format!("{} is first{}", self.name(*one), self.lead()),
            (all, false) => format!(
                "no significant difference between {}, which share the first place{}",
                self.names(all),
                self.lead()
            ),
        }
    }

    /// That no difference was found says nothing where none could be.
    fn too_few(&self) -> String {
        self.conclusion
            .rounds_needed
            .map_or_else(String::new, |needed| {
                format!(": so few rounds can show none, it takes {needed} (--rounds {needed})")
            })
    }

    /// Who comes next, unless that is who is last.
    fn lead(&self) -> String {
        let lead = self.conclusion.lead.filter(|lead| {
            let last = &self.conclusion.last;
            last.len() != 1 || last[0] != lead.worse
        });
        lead.map_or_else(String::new, |lead| {
            format!(
                ", ahead of {}, which {}",
                self.name(lead.worse),
                self.costs(&lead)
            )
        })
    }

    fn last(&self) -> Option<String> {
        let behind = self.conclusion.behind?;
        let costs = self.costs(&behind);
        Some(match &self.conclusion.last[..] {
            [] => return None,
            [one] => format!("{} is last and {costs}", self.name(*one)),
            all => format!(
                "{} share the last place, of which {} {costs}",
                self.names(all),
                self.name(behind.worse)
            ),
        })
    }

    fn unranked(&self) -> Option<String> {
        let unranked = &self.conclusion.unranked[..];
        let ranked = !self.conclusion.first.is_empty();
        let lack = match unranked {
            [] => return None,
            [_] => "lacks metrics of it and is not ranked",
            _ => "lack metrics of it and are not ranked",
        };
        ranked.then(|| format!("{} {lack}", self.names(unranked)))
    }

    /// `takes 42 % longer than ext4 (38 % … 46 % at 75 %)`; of space, `leaves 0.02 % less than ext4`.
    fn costs(&self, distance: &Distance) -> String {
        let Distance {
            better,
            ratio,
            low,
            high,
            confidence,
            ..
        } = *distance;
        let better = self.name(better);
        let is_space = self.conclusion.group == Some(Group::Space);
        let of: fn(f64) -> String = match is_space {
            true => |ratio| percent(1.0 - 1.0 / ratio),
            false if ratio < 2.0 => |ratio| percent(ratio - 1.0),
            false => three_digits,
        };
        let amount = of(ratio);
        let interval = match self.detail {
            Detail::Full if confidence > 0.0 => {
                format!(" ({} … {} at {})", of(low), of(high), percent(confidence))
            }
            _ => String::new(),
        };
        match is_space {
            true => format!("leaves {amount} less than {better}{interval}"),
            false if ratio < 2.0 => format!("takes {amount} longer than {better}{interval}"),
            false => format!("takes {amount} times as long as {better}{interval}"),
        }
    }

    fn name(&self, contender: usize) -> String {
        shorten(&clean(&self.analysis.contenders[contender]), NAME_COLUMNS)
    }

    fn names(&self, contenders: &[usize]) -> String {
        let shown = &contenders[..contenders.len().min(MOST_NAMES)];
        let mut names: Vec<String> = shown.iter().map(|c| self.name(*c)).collect();
        match (contenders.len() - shown.len(), names.pop()) {
            (_, None) => String::new(),
            (0, Some(last)) if names.is_empty() => last,
            (0, Some(last)) => format!("{} and {last}", names.join(", ")),
            (more, Some(last)) => format!("{}, {last} and {more} more", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    fn said(analysis: &Analysis, detail: Detail) -> Vec<String> {
        let sentences = conclusions(analysis, detail).into_iter();
        sentences
            .map(|s| format!("{}: {}", s.block, s.text))
            .collect()
    }

    #[test]
    fn each_block_of_a_small_campaign_has_its_conclusion() {
        insta::assert_snapshot!(said(&analyse(&fixture::plain()), Detail::Full).join("\n"));
    }

    #[test]
    fn where_nothing_is_significant_it_says_so_and_what_would_show_more() {
        let mut results = fixture::plain();
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        let lines = said(&analyse(&results), Detail::Short);
        assert_eq!(lines.len(), 1, "once, and not of each block");
        for line in lines {
            assert!(line.contains("no significant difference between"), "{line}");
            assert!(line.contains("so few rounds can show none"), "{line}");
            assert!(!line.contains("first") && !line.contains("last"), "{line}");
        }
    }

    /// A block made by hand: places and distances as they may be.
    fn block(group: Group, first: &[usize], last: &[usize], ratio: f64) -> Conclusion {
        let distance = |worse: usize| Distance {
            better: first[0],
            worse,
            ratio,
            low: ratio * 0.9999,
            high: ratio * 1.0001,
            confidence: 0.75,
        };
        Conclusion {
            group: Some(group),
            first: first.to_vec(),
            lead: last.first().map(|last| distance(*last)),
            last: last.to_vec(),
            behind: last.last().map(|last| distance(*last)),
            unranked: Vec::new(),
            rounds_needed: None,
        }
    }

    #[test]
    fn space_is_left_and_time_is_taken() {
        let mut analysis = analyse(&fixture::plain());
        analysis.conclusions = vec![
            block(Group::Space, &[0], &[2], 1.0002),
            block(Group::Maintenance, &[0, 1], &[2], 1.42),
            block(Group::Trees, &[0], &[1, 2], 3.0),
            block(Group::Names, &[0, 1, 2], &[], 1.0),
        ];
        assert_eq!(
            said(&analysis, Detail::Short),
            [
                "space left: fast is first; slow is last and leaves 0.02 % less than fast.",
                "make, mount, check: no significant difference between fast and middle, which share the first place; \
                 slow is last and takes 42 % longer than fast.",
                "trees of files: fast is first, ahead of middle, which takes 3.00 times as long as fast; \
                 middle and slow share the last place, of which slow takes 3.00 times as long as fast.",
                "names and attributes: no significant difference between fast, middle and slow.",
            ]
        );
        let full = said(&analysis, Detail::Full);
        assert!(
            full[0].ends_with("less than fast (0.01 % … 0.03 % at 75 %)."),
            "{}",
            full[0]
        );
    }

    #[test]
    fn who_is_not_ranked_is_named() {
        let all = said(&analyse(&fixture::realistic()), Detail::Short);
        let whole = all.last().unwrap();
        assert!(whole.starts_with("all groups together: "), "{whole}");
        assert!(whole.contains("not ranked"), "{whole}");
    }
}
