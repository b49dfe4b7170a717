//! Claims of published comparisons on pages: each with its verdicts and what decides them, and how all of them fared.

use studies::{Claim, ClaimTwice, Judgement, Study, Verdict, in_few};

use crate::wording::answers::listed;
use crate::wording::text::clean;

/// So many claims that fail are told at the top; the table has all.
const TOLD: usize = 3;

/// A claim with its verdicts: by what was published, and where it was measured again, by that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimView {
    pub id: String,
    pub text: String,
    /// Which sizes and tolerances decide; empty where none does.
    pub taken_as: String,
    pub sides: Vec<VerdictView>,
}

/// A verdict, with what decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerdictView {
    pub word: &'static str,
    pub class: &'static str,
    pub lines: Vec<String>,
}

impl ClaimView {
    fn of(claim: &Claim, sides: &[&Judgement]) -> Self {
        Self {
            id: clean(&claim.id),
            text: clean(&claim.text),
            taken_as: clean(&claim.taken_as()),
            sides: sides.iter().map(|side| verdict(side)).collect(),
        }
    }

    /// Every claim of a study, judged by its own figures.
    pub fn of_study(study: &Study) -> Vec<Self> {
        let judged = study.judged();
        let views = judged.iter().map(|(claim, how)| Self::of(claim, &[how]));
        views.collect()
    }

    /// Claims that were judged twice.
    pub fn twice(claims: &[ClaimTwice]) -> Vec<Self> {
        let views = claims.iter();
        let views = views.map(|one| Self::of(&one.claim, &[&one.then, &one.now]));
        views.collect()
    }
}

fn verdict(judgement: &Judgement) -> VerdictView {
    let mut lines = judgement.lines();
    if !judgement.off.is_empty() {
        lines.insert(0, in_few(&judgement.off));
    }
    let known = !lines.is_empty();
    let why = judgement.why.iter().take(2).map(|why| match known {
        true => format!("nothing is known of {why}"),
        false => why.to_string(),
    });
    lines.extend(why);
    VerdictView {
        word: judgement.verdict.name(),
        class: match judgement.verdict {
            Verdict::Supported => "better",
            Verdict::Contradicted => "worse",
            _ => "",
        },
        lines: lines.iter().map(|line| clean(line)).collect(),
    }
}

/// `22 claims, judged by its own figures: 12 supported, 5 partly, 1 contradicted and 4 undecidable.`
pub(crate) fn summary(study: &Study) -> String {
    let judged = study.judged();
    let count = |verdict: Verdict| {
        let of = judged.iter().filter(|(_, how)| how.verdict == verdict);
        let count = of.count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    };
    let counts: Vec<String> = Verdict::ALL.into_iter().filter_map(count).collect();
    match study.claims.len() {
        0 => "It concludes nothing that could be judged.".to_owned(),
        1 => format!("1 claim, judged by its own figures: {}.", counts[0]),
        claims => format!(
            "{claims} claims, judged by its own figures: {}.",
            listed(&counts, "and")
        ),
    }
}

/// What a report leaves out of the figures that a study printed; nothing where all are numbers.
pub fn left_out(study: &Study) -> Option<String> {
    let ranges = study.figures.cells();
    let ranges = ranges.filter(|(_, _, cell)| cell.range.is_some()).count();
    let are = match ranges {
        0 => return None,
        1 => "One figure is printed as a range, and is".to_owned(),
        many => format!("{many} figures are printed as ranges, and are"),
    };
    let name = clean(&study.name);
    Some(format!(
        "{are} not here: `fsarena show study {name}` has them."
    ))
}

/// The claims that the study's own figures do not bear out, with what is off: those that are contradicted, and with the room
/// that is left, those that hold in part.
pub(crate) fn not_as_said(study: &Study) -> Vec<(&'static str, String)> {
    let judged = study.judged();
    let of = |verdict: Verdict| judged.iter().filter(move |(_, how)| how.verdict == verdict);
    let all = of(Verdict::Contradicted).chain(of(Verdict::Partly));
    let told = all.take(TOLD).map(|(claim, how)| {
        let off = how
            .off
            .first()
            .map_or_else(String::new, |off| format!(" ({off})"));
        (how.verdict.name(), clean(&format!("{}{off}", claim.text)))
    });
    told.collect()
}
