//! Comparison of a study with a campaign that replicates it: each figure as a multiple of the best
//! of the same side, the ranks on both sides, and every claim judged twice.
//!
//! Published seconds are never compared with measured seconds: machines differ by more than
//! filesystems do. Only contenders with a number on both sides are ranked, so both rankings have
//! the same contenders.

use model::{Bytes, Campaign, CampaignResults, Clock, Direction, SizeProfile};
use serde::Serialize;
use stats::{Analysis, tau_b};

use crate::claims::evidence::{Evidence, FigureRef, ObservedValue};
use crate::figures::imported::parse_size_prefix;
use crate::{CampaignEvidence, Claim, ClaimVerdict, FigureSpec, PublishedEvidence, Study};

/// Comparison of a study with a campaign that replicates it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replication {
    /// Figures with at least two contenders on both sides, in the order of the study.
    pub figures: Vec<ReplicatedFigure>,
    /// Agreement of the two orders of contenders, over all pairs within a figure: Kendall's tau-b,
    /// from −1 to 1.
    pub tau_b: Option<f64>,
    /// Verdicts on every claim of the study.
    pub claims: Vec<ReplicatedClaim>,
    /// Number of finished cells of the campaign, and number of all its cells.
    pub cells: (usize, usize),
    /// Differences from the study: machine, system, sizes.
    pub differences: Vec<SetupDifference>,
}

/// A figure of the study with its counterpart in the campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplicatedFigure {
    /// `TEST/PHASE/METRIC`, the name in the study.
    pub path: String,
    /// Contenders with a number on at least one side, in the order of the study.
    pub contenders: Vec<ReplicatedContender>,
    /// Kendall's tau-b of the two orders, or `None` if one of them is not an order.
    pub tau_b: Option<f64>,
    /// Contender that was ahead of all of these in the study, but was not measured.
    pub best_then: Option<Leader>,
    /// Contender that is ahead of all of these in the campaign, but has no published number.
    pub best_now: Option<Leader>,
}

/// Name in the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leader {
    /// Name of the contender in the study.
    pub name: String,
    /// Cost as a multiple of the cost of the best other contender.
    pub times: f64,
}

/// A contender in a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplicatedContender {
    /// Name of the contender in the study.
    pub name: String,
    /// The published value.
    #[serde(rename = "then")]
    pub published: ReplicatedValue,
    /// The measured value.
    #[serde(rename = "now")]
    pub measured: ReplicatedValue,
}

/// The value on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicatedValue {
    /// Cost as a multiple of the best cost, and the rank, among contenders with numbers on both
    /// sides.
    Ratio {
        /// The multiple.
        times: f64,
        /// From 1.
        rank: usize,
    },
    /// A number without a number on the other side.
    #[serde(rename = "alone")]
    Single,
    /// Reason why there is no number.
    #[serde(rename = "word")]
    Label(String),
}

/// A claim, judged by the published and by the measured figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplicatedClaim {
    /// The claim.
    pub claim: Claim,
    /// Verdict by the published figures.
    #[serde(rename = "then")]
    pub by_published: ClaimVerdict,
    /// Verdict by the measured figures.
    #[serde(rename = "now")]
    pub by_measured: ClaimVerdict,
}

/// A setting that differs from the study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupDifference {
    /// What.
    #[serde(rename = "what")]
    pub aspect: &'static str,
    /// Setup of the study.
    #[serde(rename = "then")]
    pub published: String,
    /// Setup of the campaign.
    #[serde(rename = "now")]
    pub measured: String,
}

impl Replication {
    /// Compares a study with the campaign that replicates it.
    pub fn new(study: &Study, results: &CampaignResults, analysis: &Analysis) -> Self {
        let published = PublishedEvidence(&study.figures);
        let measured = CampaignEvidence::new(study, results, analysis);
        let directed = study.figures.figures.iter();
        let directed = directed.filter(|figure| figure.direction != Direction::Neutral);
        let figures: Vec<ReplicatedFigure> = directed
            .filter_map(|figure| figure_twice(study, figure, &published, &measured))
            .collect();
        let taus = figures.iter().map(ReplicatedFigure::logs);
        let done = results.cells.iter().filter(|cell| cell.result.is_some());
        Self {
            cells: (done.count(), results.cells.len()),
            tau_b: tau_b(taus),
            figures,
            claims: study
                .claims
                .iter()
                .map(|claim| ReplicatedClaim {
                    claim: claim.clone(),
                    by_published: claim.judge(&published),
                    by_measured: claim.judge(&measured),
                })
                .collect(),
            differences: differences(study, results),
        }
    }
}

impl ReplicatedFigure {
    /// Returns the logarithms of the published and measured costs of contenders with numbers on
    /// both sides.
    fn logs(&self) -> Vec<(f64, f64)> {
        let both = |one: &ReplicatedContender| match (&one.published, &one.measured) {
            (
                ReplicatedValue::Ratio { times: then, .. },
                ReplicatedValue::Ratio { times: now, .. },
            ) => Some((then.ln(), now.ln())),
            _ => None,
        };
        self.contenders.iter().filter_map(both).collect()
    }
}

fn figure_twice(
    study: &Study,
    figure: &FigureSpec,
    published: &PublishedEvidence<'_>,
    measured: &CampaignEvidence,
) -> Option<ReplicatedFigure> {
    let paths = [figure.path()];
    let known = |evidence: &dyn Evidence| -> Vec<ObservedValue> {
        let all = study.figures.contenders.iter();
        let place = |contender| FigureRef { contender, figures: &paths };
        all.map(|c| evidence.value(place(&c.name))).collect()
    };
    let (then, now) = (known(published), known(measured));
    let both: Vec<bool> =
        then.iter().zip(&now).map(|(a, b)| middle(a).is_some() && middle(b).is_some()).collect();
    if both.iter().filter(|both| **both).count() < 2 {
        return None;
    }
    let higher = figure.direction == Direction::Higher;
    let [best_then, best_now] = [&then, &now].map(|known| {
        let (place, times) = ahead(known, &both, higher)?;
        let name = study.figures.contenders[place].name.clone();
        Some(Leader { name, times })
    });
    let [then, now] = [then, now].map(|known| sides(&known, &both, higher));
    let names = study.figures.contenders.iter().map(|c| c.name.clone());
    let contenders = names.zip(then.into_iter().zip(now));
    let contenders = contenders
        .filter(|(_, (then, now))| {
            !matches!((then, now), (ReplicatedValue::Label(_), ReplicatedValue::Label(_)))
        })
        .map(|(name, (then, now))| ReplicatedContender { name, published: then, measured: now });
    let mut twice = ReplicatedFigure {
        path: figure.path(),
        contenders: contenders.collect(),
        tau_b: None,
        best_then,
        best_now,
    };
    twice.tau_b = tau_b([twice.logs()]);
    Some(twice)
}

/// Returns a single number for a known value: the geometric mean of its bounds.
fn middle(known: &ObservedValue) -> Option<f64> {
    match known {
        ObservedValue::Number(number) if number.low > 0.0 && number.high.is_finite() => {
            Some((number.low * number.high).sqrt())
        }
        _ => None,
    }
}

/// Returns the cost of each contender: less is better.
fn costs(known: &[ObservedValue], higher: bool) -> Vec<Option<f64>> {
    let cost = |known: &ObservedValue| {
        let middle = middle(known)?;
        Some(if higher { 1.0 / middle } else { middle })
    };
    known.iter().map(cost).collect()
}

/// Returns the contender that is ahead of all contenders with numbers on both sides, and the ratio
/// of its cost to the best of these.
fn ahead(known: &[ObservedValue], both: &[bool], higher: bool) -> Option<(usize, f64)> {
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

fn sides(known: &[ObservedValue], both: &[bool], higher: bool) -> Vec<ReplicatedValue> {
    let costs = costs(known, higher);
    let ranked = || costs.iter().zip(both).filter(|(_, both)| **both);
    let ranked = || ranked().filter_map(|(cost, _)| *cost);
    let best = ranked().fold(f64::INFINITY, f64::min);
    let side = |place: usize| match (costs[place], &known[place]) {
        (Some(cost), _) if both[place] => ReplicatedValue::Ratio {
            times: cost / best,
            rank: 1 + ranked().filter(|other| *other < cost).count(),
        },
        (_, ObservedValue::Number(_)) => ReplicatedValue::Single,
        (_, ObservedValue::Outcome(word, _)) => ReplicatedValue::Label(word.name().to_owned()),
        (_, ObservedValue::Unknown(_)) => ReplicatedValue::Label("no number".to_owned()),
    };
    (0..known.len()).map(side).collect()
}

/// Returns the settings that affect speed and differ from the study, or are not stated by it.
fn differences(study: &Study, results: &CampaignResults) -> Vec<SetupDifference> {
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

/// Returns the facts that the study states about its machine under the first matching name.
fn stated(study: &Study, words: &[&str]) -> Option<String> {
    let all = study.hardware.iter();
    let facts = all.filter(|(name, _)| words.iter().any(|word| name.starts_with(word)));
    let facts: Vec<&str> = facts.map(|(_, value)| value.as_str()).take(2).collect();
    (!facts.is_empty()).then(|| facts.join("; "))
}

/// Returns a difference, or `None` if both sides are equal. An unknown side is described as not
/// stated.
fn difference(
    what: &'static str,
    then: Option<String>,
    now: String,
    is_same: bool,
) -> Option<SetupDifference> {
    let or_open = |text: String| match text.is_empty() {
        true => "not stated".to_owned(),
        false => text,
    };
    let (then, now) = (or_open(then.unwrap_or_default()), or_open(now));
    (!is_same && then != now).then_some(SetupDifference {
        aspect: what,
        published: then,
        measured: now,
    })
}

/// Compares the amount of memory, regardless of its kind.
fn difference_of_memory(study: &Study, now: Bytes) -> Option<SetupDifference> {
    let then = stated(study, &["machine ram"]);
    let is_amount = |text: &String| parse_size_prefix(text) == now || study.memory == Some(now);
    let is_same = now.0 > 0 && then.as_ref().is_some_and(is_amount);
    let now = match now.0 {
        0 => String::new(),
        _ => now.to_string(),
    };
    difference("Memory", then, now, is_same)
}

/// Compares the sizes of volume and tests.
fn difference_of_scale(study: &Study, campaign: &Campaign) -> Option<SetupDifference> {
    let then = stated(study, &["volume size", "partition"]);
    let then = then.unwrap_or_else(|| format!("{} of volume", study.size));
    let is_same_volume = campaign.size == study.size;
    let volume = match is_same_volume {
        true => "as large a volume".to_owned(),
        false => format!("{} of volume", campaign.size),
    };
    let (now, is_same) = match campaign.profile {
        _ if campaign.measured_by.is_some() => (String::new(), false),
        SizeProfile::Study => (format!("the sizes of the study, {volume}"), is_same_volume),
        profile => (format!("tests in small: profile {profile}, {volume}"), false),
    };
    difference("Scale", Some(then), now, is_same)
}

fn difference_of_rounds(study: &Study, campaign: &Campaign) -> Option<SetupDifference> {
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
    use crate::MeasuredNumber;

    fn number(value: f64) -> ObservedValue {
        ObservedValue::Number(MeasuredNumber {
            low: value,
            high: value,
            shown: value.to_string(),
            unit: "s".to_owned(),
        })
    }

    #[test]
    fn contenders_with_numbers_on_both_sides_are_ranked() {
        let known = [
            number(4.0),
            number(1.0),
            ObservedValue::Outcome(stats::RoundOutcome::Failed, String::new()),
            number(2.0),
        ];
        let both = [true, false, false, true];
        let ratio = |times, rank| ReplicatedValue::Ratio { times, rank };
        let failed = || ReplicatedValue::Label("failed".to_owned());
        assert_eq!(
            sides(&known, &both, false),
            [ratio(2.0, 2), ReplicatedValue::Single, failed(), ratio(1.0, 1)]
        );
        assert_eq!(
            sides(&known, &both, true),
            [ratio(1.0, 1), ReplicatedValue::Single, failed(), ratio(2.0, 2)]
        );
        // The best of all has no number on the other side. If higher values are better, it is the
        // last.
        assert_eq!(ahead(&known, &both, false), Some((1, 2.0)));
        assert_eq!(ahead(&known, &both, true), None);
    }
}
