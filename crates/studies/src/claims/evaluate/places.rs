//! Statements about places: the best, the worst, a contender among the first few, or no contender
//! in every figure.

use super::{Comparand, Judge};
use crate::claims::evidence::{ObservedValue, Ranking, Unknown};
use crate::claims::truth::{StatementResult, Truth, combine};
use crate::language::RankClaim;

impl Judge<'_> {
    pub(super) fn rank(
        &self,
        at: Comparand<'_>,
        who: &[String],
        rank: &RankClaim,
    ) -> StatementResult {
        let ranked = |one: &&String| {
            let place = at.place(one);
            matches!(self.evidence.value(place), ObservedValue::Number(_))
        };
        let field: Vec<&String> = rank.among.iter().filter(ranked).collect();
        let findings = who.iter().map(|one| match self.says_little(&field, rank) {
            Some(why) => StatementResult::unknown(one, Unknown::Text(why)),
            None => self.rank_of(at, one, &field, rank),
        });
        let mut all = combine(findings.collect());
        let rivals = field.into_iter().filter(|one| !who.contains(one));
        let mut shown: Vec<&String> = who.iter().collect();
        let rivals: Vec<String> = rivals.cloned().collect();
        if let Some(rival) = self.foremost(at, &rivals, rank.from_worst) {
            shown.push(rival);
        }
        all.values = self.values(at, &shown, None);
        all
    }

    /// Returns the reason why a place among the first few, or the last, means little if other
    /// contenders of the study are missing: with two contenders, each is always among the worst
    /// two.
    fn says_little(&self, field: &[&String], rank: &RankClaim) -> Option<String> {
        let several = rank.first == 1 && rank.last > 1;
        let is_most = 2 * rank.last > field.len();
        (several && is_most && field.len() < rank.among.len()).then(|| {
            let all = rank.among.len();
            let have = match field.len() {
                0 => format!("none of {all} has a result"),
                1 => format!("only 1 of {all} has a result"),
                some => format!("only {some} of {all} have a result"),
            };
            format!(
                "{have}, but the claim is about the {} {}",
                if rank.from_worst { "worst" } else { "best" },
                rank.last
            )
        })
    }

    fn rank_of(
        &self,
        at: Comparand<'_>,
        one: &String,
        field: &[&String],
        rank: &RankClaim,
    ) -> StatementResult {
        if !field.contains(&one) {
            return self.unknown(at, &[one]);
        }
        let (mut before, mut not_behind) = (Vec::new(), 0);
        for other in field.iter().copied().filter(|other| *other != one) {
            let order = self.evidence.compare(at.place(other), at.place(one));
            let order = order.map_or(Ranking::Undecided, |found| found.order);
            let order = match rank.from_worst {
                true => order.reversed(),
                false => order,
            };
            if order == Ranking::Better {
                before.push(other.as_str());
            }
            not_behind += usize::from(order.may_be_better());
        }
        let (least, most) = (before.len() + 1, not_behind + 1);
        if least >= rank.first && most <= rank.last {
            return StatementResult::new(Truth::Holds);
        }
        let (first, last) = match rank.from_worst {
            true => (field.len() + 1 - most, field.len() + 1 - least),
            false => (least, most),
        };
        let is = match first == last {
            true => format!("{one} is {} of {}", ordinal(first), field.len()),
            false => format!("{one} is {} to {} of {}", ordinal(first), ordinal(last), field.len()),
        };
        if most < rank.first || least > rank.last {
            let behind = match (&before[..], rank.from_worst) {
                ([only], false) => format!(", behind {only}"),
                _ => String::new(),
            };
            return StatementResult::deviating(Truth::Fails, is + &behind);
        }
        StatementResult::open(is)
    }

    /// Judges whether no contender has a given rank in every figure.
    pub(super) fn nobody(&self, rank: &RankClaim, figures: &[String]) -> StatementResult {
        let mut findings = Vec::new();
        let mut may_be = false;
        for one in &rank.among {
            let whos = std::slice::from_ref(one);
            let everywhere = figures.iter().map(|figure| {
                let at = self.in_figure(figure);
                self.rank(at, whos, rank)
            });
            let everywhere: Vec<StatementResult> = everywhere.collect();
            let lacks_one = everywhere.iter().any(|f| f.truth == Truth::Unknown);
            let everywhere = combine(everywhere);
            findings.push(match everywhere.truth {
                Truth::Holds if lacks_one => {
                    may_be = true;
                    StatementResult { truth: Truth::Unknown, ..everywhere }
                }
                Truth::Holds => {
                    StatementResult::deviating(Truth::Fails, format!("{one} is, in every figure"))
                }
                Truth::Partly | Truth::Fails => StatementResult::new(Truth::Holds),
                Truth::Open | Truth::Unknown => everywhere,
            });
        }
        let mut all = combine(findings);
        match all.truth {
            Truth::Partly => all.truth = Truth::Fails,
            // A contender that has the rank in all figures with numbers may also have it in those
            // without.
            Truth::Holds if may_be => all.truth = Truth::Unknown,
            _ => {}
        }
        let values = figures.iter().flat_map(|figure| {
            let at = self.in_figure(figure);
            self.values(at, &rank.among.iter().collect::<Vec<_>>(), None)
        });
        all.values = values.collect();
        all
    }
}

fn ordinal(place: usize) -> String {
    let end = match (place % 10, place % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{place}{end}")
}
