//! Claims of published comparisons on pages: each with its verdicts and the deciding figures, and a
//! summary of all.

use studies::{Claim, ClaimVerdict, ReplicatedClaim, Study, Verdict, abbreviate};

use crate::text::conclusions::listed;
use crate::text::sanitize::sanitize_line;

/// Maximum number of failed claims shown at the top; the table has all.
const MAX_LISTED_CLAIMS: usize = 3;

/// A claim with its verdicts: by the published figures, and by the new measurements if there are
/// any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimView {
    pub id: String,
    pub text: String,
    /// Sizes and tolerances that affect the verdict; may be empty.
    pub taken_as: String,
    pub sides: Vec<VerdictView>,
}

/// A verdict with the deciding figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerdictView {
    pub label: &'static str,
    pub class: &'static str,
    pub lines: Vec<String>,
}

impl ClaimView {
    fn of(claim: &Claim, sides: &[&ClaimVerdict]) -> Self {
        Self {
            id: sanitize_line(&claim.id),
            text: sanitize_line(&claim.text),
            taken_as: sanitize_line(&claim.interpretation()),
            sides: sides.iter().map(|side| verdict(side)).collect(),
        }
    }

    /// Returns every claim of a study, evaluated by the study's figures.
    pub fn of_study(study: &Study) -> Vec<Self> {
        let judged = study.evaluate_claims();
        let views = judged.iter().map(|(claim, how)| Self::of(claim, &[how]));
        views.collect()
    }

    /// Returns claims evaluated by the published and by the measured figures.
    pub fn twice(claims: &[ReplicatedClaim]) -> Vec<Self> {
        let views = claims.iter();
        let views = views.map(|one| Self::of(&one.claim, &[&one.by_published, &one.by_measured]));
        views.collect()
    }
}

fn verdict(judgement: &ClaimVerdict) -> VerdictView {
    let mut lines = judgement.lines();
    if !judgement.off.is_empty() {
        lines.insert(0, abbreviate(&judgement.off));
    }
    let known = !lines.is_empty();
    let why = judgement.reasons.iter().take(2).map(|why| match known {
        true => format!("unknown: {why}"),
        false => why.to_string(),
    });
    lines.extend(why);
    VerdictView {
        label: judgement.verdict.name(),
        class: match judgement.verdict {
            Verdict::Supported => "better",
            Verdict::Contradicted => "worse",
            _ => "",
        },
        lines: lines.iter().map(|line| sanitize_line(line)).collect(),
    }
}

/// Returns a summary such as `22 claims, judged by its own figures: 12 supported, 5 partly, 1
/// contradicted and 4 undecidable.`
pub(crate) fn summary(study: &Study) -> String {
    let judged = study.evaluate_claims();
    let count = |verdict: Verdict| {
        let of = judged.iter().filter(|(_, how)| how.verdict == verdict);
        let count = of.count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    };
    let counts: Vec<String> = Verdict::ALL.into_iter().filter_map(count).collect();
    match study.claims.len() {
        0 => "The study makes no claims that can be judged.".to_owned(),
        1 => format!("1 claim, judged by its own figures: {}.", counts[0]),
        claims => {
            format!("{claims} claims, judged by its own figures: {}.", listed(&counts, "and"))
        }
    }
}

/// Returns a note on the figures of a study that a report omits, or `None` if all are numbers.
pub(crate) fn excluded_figures(study: &Study) -> Option<String> {
    let ranges = study.figures.cells();
    let ranges = ranges.filter(|(_, _, cell)| cell.range.is_some()).count();
    let are = match ranges {
        0 => return None,
        1 => "One figure is printed as a range, and is".to_owned(),
        many => format!("{many} figures are printed as ranges, and are"),
    };
    let name = sanitize_line(&study.name);
    Some(format!("{are} not here: `fsarena study show {name}` has them."))
}

/// Returns the claims that the study's own figures do not support, each with its largest deviation:
/// first the contradicted ones, then, up to the maximum, those that hold in part.
pub(crate) fn contradicted_by_own_figures(study: &Study) -> Vec<(&'static str, String)> {
    let judged = study.evaluate_claims();
    let of = |verdict: Verdict| judged.iter().filter(move |(_, how)| how.verdict == verdict);
    let all = of(Verdict::Contradicted).chain(of(Verdict::Partly));
    let told = all.take(MAX_LISTED_CLAIMS).map(|(claim, how)| {
        let off = how.off.first().map_or_else(String::new, |off| format!(" ({off})"));
        (how.verdict.name(), sanitize_line(&format!("{}{off}", claim.text)))
    });
    told.collect()
}
