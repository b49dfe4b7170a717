//! A study beside a campaign that repeats it: each figure as a multiple of the best of its own time, who came before whom,
//! and every claim judged twice.
//!
//! Seconds of then are never set against seconds of now: machines differ by more than filesystems do. Only contenders
//! that have a number on both sides are ranked, on both sides among the same.

use analyse::{Analysis, tau_b};
use model::{Bytes, Campaign, CampaignResults, Clock, Direction, Profile};
use serde::Serialize;

use crate::evidence::{Evidence, Known, Place};
use crate::reported::size_in;
use crate::{Claim, Figure, Judgement, Measured, Published, Study};

/// A study and a campaign, side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThenAndNow {
    /// The figures that two contenders or more have on both sides, in the order of the study.
    pub figures: Vec<FigureTwice>,
    /// How far both put contenders in the same order, over all pairs within a figure: Kendall's tau-b, from −1 to 1.
    pub tau_b: Option<f64>,
    /// Every claim of the study.
    pub claims: Vec<ClaimTwice>,
    /// How many cells of the campaign have run, and how many it has.
    pub cells: (usize, usize),
    /// What is not as it was: machine, system, sizes.
    pub differences: Vec<Difference>,
}

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureTwice {
    /// `TEST/PHASE/METRIC`, as the study calls it.
    pub path: String,
    /// Everybody who has a number on one side at least, in the order of the study.
    pub contenders: Vec<ContenderTwice>,
    /// Kendall's tau-b of the two orders; absent where one of them orders nothing.
    pub tau_b: Option<f64>,
    /// Who was ahead of all of these, and has no number now.
    pub best_then: Option<Ahead>,
    /// Who is ahead of all of these, and had no number then.
    pub best_now: Option<Ahead>,
}

/// Who is ahead of all that have a number on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ahead {
    /// As the study calls it.
    pub name: String,
    /// As many times its cost is that of the best of the others.
    pub times: f64,
}

/// A contender in a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContenderTwice {
    /// As the study calls it.
    pub name: String,
    /// What was published.
    pub then: Side,
    /// What was measured.
    pub now: Side,
}

/// What is known on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// As many times the best takes, of those with numbers on both sides; 1 is the best. And the rank among them.
    Ratio {
        /// The multiple.
        times: f64,
        /// From 1.
        rank: usize,
    },
    /// A number, where there is none on the other side to go with it.
    Alone,
    /// Why there is no number.
    Word(String),
}

/// A claim, judged by what was published and by what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimTwice {
    /// The claim.
    pub claim: Claim,
    /// By what was published.
    pub then: Judgement,
    /// By what was measured.
    pub now: Judgement,
}

/// Something that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub what: &'static str,
    /// How it was.
    pub then: String,
    /// How it is.
    pub now: String,
}

impl ThenAndNow {
    /// Sets a campaign beside the study that it repeats.
    pub fn of(study: &Study, results: &CampaignResults, analysis: &Analysis) -> Self {
        let published = Published(&study.figures);
        let measured = Measured::of(study, results, analysis);
        let directed = study.figures.figures.iter();
        let directed = directed.filter(|figure| figure.direction != Direction::Neutral);
        let figures: Vec<FigureTwice> = directed
            .filter_map(|figure| figure_twice(study, figure, &published, &measured))
            .collect();
        let taus = figures.iter().map(FigureTwice::logs);
        let done = results.cells.iter().filter(|cell| cell.result.is_some());
        Self {
            cells: (done.count(), results.cells.len()),
            tau_b: tau_b(taus),
            figures,
            claims: study
                .claims
                .iter()
                .map(|claim| ClaimTwice {
                    claim: claim.clone(),
                    then: claim.judge(&published),
                    now: claim.judge(&measured),
                })
                .collect(),
            differences: differences(study, results),
        }
    }
}

impl FigureTwice {
    /// Logarithms of what contenders cost then and now, of those with numbers on both sides.
    fn logs(&self) -> Vec<(f64, f64)> {
        let both = |one: &ContenderTwice| match (&one.then, &one.now) {
            (Side::Ratio { times: then, .. }, Side::Ratio { times: now, .. }) => {
                Some((then.ln(), now.ln()))
            }
            _ => None,
        };
        self.contenders.iter().filter_map(both).collect()
    }
}

fn figure_twice(
    study: &Study,
    figure: &Figure,
    published: &Published<'_>,
    measured: &Measured,
) -> Option<FigureTwice> {
    let paths = [figure.path()];
    let known = |evidence: &dyn Evidence| -> Vec<Known> {
        let all = study.figures.contenders.iter();
        let place = |contender| Place {
            contender,
            figures: &paths,
        };
        all.map(|c| evidence.known(place(&c.name))).collect()
    };
    let (then, now) = (known(published), known(measured));
    let both: Vec<bool> = then
        .iter()
        .zip(&now)
        .map(|(a, b)| middle(a).is_some() && middle(b).is_some())
        .collect();
    if both.iter().filter(|both| **both).count() < 2 {
        return None;
    }
    let higher = figure.direction == Direction::Higher;
    let [best_then, best_now] = [&then, &now].map(|known| {
        let (place, times) = ahead(known, &both, higher)?;
        let name = study.figures.contenders[place].name.clone();
        Some(Ahead { name, times })
    });
    let [then, now] = [then, now].map(|known| sides(&known, &both, higher));
    let names = study.figures.contenders.iter().map(|c| c.name.clone());
    let contenders = names.zip(then.into_iter().zip(now));
    let contenders = contenders
        .filter(|(_, (then, now))| !matches!((then, now), (Side::Word(_), Side::Word(_))))
        .map(|(name, (then, now))| ContenderTwice { name, then, now });
    let mut twice = FigureTwice {
        path: figure.path(),
        contenders: contenders.collect(),
        tau_b: None,
        best_then,
        best_now,
    };
    twice.tau_b = tau_b([twice.logs()]);
    Some(twice)
}

/// The number that stands for what is known: in the middle of its bounds, by ratio.
fn middle(known: &Known) -> Option<f64> {
    match known {
        Known::Number(number) if number.low > 0.0 && number.high.is_finite() => {
            Some((number.low * number.high).sqrt())
        }
        _ => None,
    }
}

/// What each costs: less is better.
fn costs(known: &[Known], higher: bool) -> Vec<Option<f64>> {
    let cost = |known: &Known| {
        let middle = middle(known)?;
        Some(if higher { 1.0 / middle } else { middle })
    };
    known.iter().map(cost).collect()
}

/// Who is ahead of everybody with numbers on both sides, and how many times its cost is that of the best of these.
fn ahead(known: &[Known], both: &[bool], higher: bool) -> Option<(usize, f64)> {
    let costs = costs(known, higher);
    let best = |is_of_both: bool| {
        let places = costs.iter().enumerate();
        let places = places.filter(|(place, _)| both[*place] == is_of_both);
        let known = places.filter_map(|(place, cost)| Some((place, (*cost)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (place, least) = best(false)?;
    let (_, other) = best(true)?;
    (least < other).then(|| (place, other / least))
}

fn sides(known: &[Known], both: &[bool], higher: bool) -> Vec<Side> {
    let costs = costs(known, higher);
    let ranked = || costs.iter().zip(both).filter(|(_, both)| **both);
    let ranked = || ranked().filter_map(|(cost, _)| *cost);
    let best = ranked().fold(f64::INFINITY, f64::min);
    let side = |place: usize| match (costs[place], &known[place]) {
        (Some(cost), _) if both[place] => Side::Ratio {
            times: cost / best,
            rank: 1 + ranked().filter(|other| *other < cost).count(),
        },
        (_, Known::Number(_)) => Side::Alone,
        (_, Known::Outcome(word, _)) => Side::Word(word.clone()),
        (_, Known::Nothing(_)) => Side::Word("no number".to_owned()),
    };
    (0..known.len()).map(side).collect()
}

/// What decides about speed and is not as it was; also where the study does not say how it was.
fn differences(study: &Study, results: &CampaignResults) -> Vec<Difference> {
    let campaign = &results.campaign;
    let environment = results.environments.last().cloned().unwrap_or_default();
    let guest = campaign.guest.as_ref();
    let kernel = match guest {
        Some(guest) => format!("Linux {}, in a guest", guest.kernel),
        None => environment.kernel,
    };
    let processor = match guest {
        Some(guest) => format!("{}, emulated", guest.cpu),
        None => environment.cpu,
    };
    let disks: Vec<String> = campaign.disks().iter().map(ToString::to_string).collect();
    let disk = match (guest, disks.is_empty()) {
        (Some(_), false) => disks.join(", or "),
        _ => environment.device,
    };
    let clock = match campaign.clock {
        Clock::Virtual => "virtual time: that of a model machine".to_owned(),
        Clock::Real => "real time".to_owned(),
    };
    let same_clock = campaign.clock == Clock::Real;
    let stated = |words: &[&str]| stated(study, words);
    let memory = campaign.memory.unwrap_or(environment.memory);
    let all = [
        difference("System", stated(&["kernel", "os"]), kernel, false),
        difference("Processor", stated(&["machine cpu"]), processor, false),
        difference_of_memory(study, memory),
        difference("Disk", stated(&["disk test", "disk", "array"]), disk, false),
        difference("Clock", Some("real time".to_owned()), clock, same_clock),
        difference_of_scale(study, campaign),
        difference_of_rounds(study, campaign),
    ];
    all.into_iter().flatten().collect()
}

/// What the study says of its machine under the first of such names.
fn stated(study: &Study, words: &[&str]) -> Option<String> {
    let all = study.hardware.iter();
    let facts = all.filter(|(name, _)| words.iter().any(|word| name.starts_with(word)));
    let facts: Vec<&str> = facts.map(|(_, value)| value.as_str()).take(2).collect();
    (!facts.is_empty()).then(|| facts.join("; "))
}

/// A difference, unless both are the same; what is not known on a side is not stated.
fn difference(
    what: &'static str,
    then: Option<String>,
    now: String,
    is_same: bool,
) -> Option<Difference> {
    let or_open = |text: String| match text.is_empty() {
        true => "not stated".to_owned(),
        false => text,
    };
    let (then, now) = (or_open(then.unwrap_or_default()), or_open(now));
    (!is_same && then != now).then_some(Difference { what, then, now })
}

/// Memory counts by its amount, whatever its kind.
fn difference_of_memory(study: &Study, now: Bytes) -> Option<Difference> {
    let then = stated(study, &["machine ram"]);
    let is_amount = |text: &String| size_in(text) == now || study.memory == Some(now);
    let is_same = now.0 > 0 && then.as_ref().is_some_and(is_amount);
    let now = match now.0 {
        0 => String::new(),
        _ => now.to_string(),
    };
    difference("Memory", then, now, is_same)
}

/// The sizes of volume and tests.
fn difference_of_scale(study: &Study, campaign: &Campaign) -> Option<Difference> {
    let then = stated(study, &["volume size", "partition"]);
    let then = then.unwrap_or_else(|| format!("{} of volume", study.size));
    let is_same_volume = campaign.size == study.size;
    let volume = match is_same_volume {
        true => "as large a volume".to_owned(),
        false => format!("{} of volume", campaign.size),
    };
    let (now, is_same) = match campaign.profile {
        _ if campaign.measured_by.is_some() => (String::new(), false),
        Profile::Study => (format!("the sizes of the study, {volume}"), is_same_volume),
        profile => (
            format!("tests in small: profile {profile}, {volume}"),
            false,
        ),
    };
    difference("Scale", Some(then), now, is_same)
}

fn difference_of_rounds(study: &Study, campaign: &Campaign) -> Option<Difference> {
    let then = stated(study, &["repeats"]);
    let is_same = then.is_some() && study.rounds == Some(campaign.rounds);
    let now = match campaign.rounds {
        1 => "once".to_owned(),
        rounds => format!("{rounds} times"),
    };
    difference("Each test", then, now, is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    fn number(value: f64) -> Known {
        Known::Number(Number {
            low: value,
            high: value,
            shown: value.to_string(),
            unit: "s".to_owned(),
        })
    }

    #[test]
    fn who_has_numbers_on_both_sides_is_ranked_among_them() {
        let known = [
            number(4.0),
            number(1.0),
            Known::Outcome("failed".to_owned(), String::new()),
            number(2.0),
        ];
        let both = [true, false, false, true];
        let ratio = |times, rank| Side::Ratio { times, rank };
        let failed = || Side::Word("failed".to_owned());
        assert_eq!(
            sides(&known, &both, false),
            [ratio(2.0, 2), Side::Alone, failed(), ratio(1.0, 1)]
        );
        assert_eq!(
            sides(&known, &both, true),
            [ratio(1.0, 1), Side::Alone, failed(), ratio(2.0, 2)]
        );
        // The best of all has no number on the other side; where less is worse it is the last.
        assert_eq!(ahead(&known, &both, false), Some((1, 2.0)));
        assert_eq!(ahead(&known, &both, true), None);
    }
}
