//! Result of a replicated study in sentences, the same in the terminal and on the page.

use studies::{
    Leader, ReplicatedContender, ReplicatedFigure, ReplicatedValue, Replication, Verdict,
};

/// Returns how well the published claims and orders hold today.
pub fn summary(twice: &Replication) -> Vec<String> {
    let decided = |verdict: Verdict| {
        !matches!(verdict, Verdict::Undecidable | Verdict::NotMeasured | Verdict::NotEnoughRounds)
    };
    let claims = twice.claims.iter();
    let both: Vec<_> = claims.filter(|one| decided(one.by_measured.verdict)).collect();
    let count = |verdict| both.iter().filter(|one| one.by_measured.verdict == verdict).count();
    let all = twice.claims.len();
    let then = |verdict| both.iter().filter(|one| one.by_published.verdict == verdict).count();
    let mut sentences = Vec::new();
    if let (done, planned) = twice.cells
        && done < planned
    {
        sentences
            .push(format!("The campaign is not finished: {done} of {planned} test runs are done."));
    }
    sentences.push(match both.len() {
        0 => format!("None of the {all} claims can be judged by the measured results."),
        some => format!(
            "Of {all} claims {some} can be judged by the measured results: {}, {} in part, {}. By the published figures {} of these, {} in part.",
            counted(count(Verdict::Supported), "holds", "hold"),
            counted(count(Verdict::Partly), "holds", "hold"),
            counted(count(Verdict::Contradicted), "does not", "do not"),
            counted(then(Verdict::Supported), "holds", "hold"),
            then(Verdict::Partly),
        ),
    });
    let few = twice.claims.iter();
    let few = few.filter(|one| one.by_measured.verdict == Verdict::NotEnoughRounds);
    match few.count() {
        0 => {}
        1 => sentences.push("For one, more rounds are needed.".to_owned()),
        open => sentences.push(format!("For {open}, more rounds are needed.")),
    }
    sentences.push(match twice.tau_b {
        Some(tau) => format!(
            "Then and now filesystems stand in {}: rank correlation {tau:.2}, pooled over the pairs within {}.",
            likeness(tau),
            counted(twice.figures.len(), "figure", "figures")
        ),
        None => "No figure has numbers of two filesystems on both sides.".to_owned(),
    });
    sentences
}

/// `1 holds`, `2 hold`.
fn counted(number: usize, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {several}"),
    }
}

/// Returns the leaders, then and now, among contenders with a number on both sides: `best then of
/// all: reiser4 (reiserfs 1.35×)`.
pub fn ahead(figure: &ReplicatedFigure) -> Vec<String> {
    let then = ahead_on("then", figure, figure.best_then.as_ref(), |one| &one.published);
    let now = ahead_on("now", figure, figure.best_now.as_ref(), |one| &one.measured);
    then.into_iter().chain(now).collect()
}

fn ahead_on(
    when: &str,
    figure: &ReplicatedFigure,
    best: Option<&Leader>,
    side: fn(&ReplicatedContender) -> &ReplicatedValue,
) -> Option<String> {
    let best = best?;
    let is_first =
        |one: &&ReplicatedContender| matches!(side(one), ReplicatedValue::Ratio { rank: 1, .. });
    let first = figure.contenders.iter().find(is_first)?;
    let by = times(best.times);
    Some(format!("best {when} of all: {} ({} {by})", best.name, first.name))
}

/// Describes a rank correlation as text.
fn likeness(tau: f64) -> &'static str {
    match tau {
        0.8.. => "nearly the same order",
        0.5.. => "much the same order",
        0.2.. => "a somewhat similar order",
        -0.2.. => "orders that have little in common",
        _ => "rather the reverse order",
    }
}

/// Formats a ratio as `1.00×`, with two decimals below 10, one below 100, and none above.
pub fn times(by: f64) -> String {
    match by {
        ..10.0 => format!("{by:.2}×"),
        ..100.0 => format!("{by:.1}×"),
        _ => format!("{by:.0}×"),
    }
}
