//! Conclusion on a claim: the verdict, the deviations, and the deciding numbers.

use std::fmt;

use serde::Serialize;

use crate::claims::evidence::Unknown;

/// Maximum number of deviations that are named.
const MAX_NAMED_DEVIATIONS: usize = 3;

/// Maximum number of figures without values that are named.
const NAMED_FIGURES: usize = 3;

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures support the claim.
    Supported,
    /// The figures support a part of the claim, or a different size.
    Partly,
    /// The figures contradict the claim.
    Contradicted,
    /// More rounds could decide the claim.
    NotEnoughRounds,
    /// The subject of the claim was not measured.
    NotMeasured,
    /// No figure of the study decides it.
    Undecidable,
}

impl Verdict {
    /// Every verdict, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Supported,
        Self::Partly,
        Self::Contradicted,
        Self::NotEnoughRounds,
        Self::NotMeasured,
        Self::Undecidable,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Partly => "partly",
            Self::Contradicted => "contradicted",
            Self::NotEnoughRounds => "not enough rounds",
            Self::NotMeasured => "not measured",
            Self::Undecidable => "undecidable",
        }
    }
}

/// Reason why a result is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownReason {
    /// The contenders concerned; empty if it applies to the whole claim.
    #[serde(rename = "who")]
    pub contenders: Vec<String>,
    /// The figures concerned, without the parts of their names common to all figures of the claim;
    /// empty if it applies to all of them.
    pub figures: Vec<String>,
    /// The reason.
    pub reason: Unknown,
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.contenders.is_empty() {
            true => self.reason.fmt(f),
            false => {
                let who = self.contenders.join(", ");
                let place = match &self.figures[..] {
                    [] => String::new(),
                    few if few.len() <= NAMED_FIGURES => format!(" in {}", few.join(", ")),
                    many => format!(" in {} figures", many.len()),
                };
                write!(f, "{who}{place}: {}", self.reason)
            }
        }
    }
}

/// Numbers that decide a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecidingValues {
    /// Name of the figure, or of the figures of a mean. If figures are compared, name of the
    /// contender.
    #[serde(rename = "of")]
    pub figure: String,
    /// The contenders (or figures) with their numbers, the best first.
    pub numbers: Vec<DisplayValue>,
    /// Their unit.
    pub unit: String,
    /// Ratio of the numbers, if it decides.
    pub times: Option<String>,
    /// Whether higher numbers are better.
    #[serde(skip)]
    pub(crate) higher: bool,
}

/// A number, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisplayValue {
    /// Whose.
    #[serde(rename = "who")]
    pub contender: String,
    /// The number, or `None` if it is replaced by a reason.
    pub value: Option<f64>,
    /// Displayed text.
    pub shown: String,
}

impl DecidingValues {
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.figure == other.figure
    }

    pub(crate) fn join(&mut self, other: Self) {
        for number in other.numbers {
            if !self.numbers.contains(&number) {
                self.numbers.push(number);
            }
        }
        self.times = self.times.take().or(other.times);
        self.sort();
    }

    pub(crate) fn sort(&mut self) {
        let higher = self.higher;
        self.numbers.sort_by(|a, b| match (a.value, b.value) {
            (Some(a), Some(b)) if higher => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }
}

impl fmt::Display for DecidingValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_number = |shown: &&DisplayValue| shown.value.is_some();
        let last = self.numbers.iter().filter(is_number).count();
        for (place, number) in self.numbers.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", number.contender, number.shown)?;
            if place + 1 == last && !self.unit.is_empty() {
                write!(f, " {}", self.unit)?;
            }
        }
        match &self.times {
            Some(times) => write!(f, ": {times} times"),
            None => Ok(()),
        }
    }
}

/// Number of figures in which a statement about many figures holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HoldsInCount {
    /// Figures in which it holds.
    pub holds: usize,
    /// Figures in which it holds for some contenders, or with another size.
    pub partly: usize,
    /// Figures in which it does not hold.
    pub fails: usize,
    /// Figures in which the numbers do not decide.
    pub undecided: usize,
}

impl HoldsInCount {
    /// Returns true if the statement holds in every case.
    pub const fn is_all(self) -> bool {
        self.partly + self.fails + self.undecided == 0
    }
}

impl fmt::Display for HoldsInCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "holds in {}", self.holds)?;
        for (word, count) in
            [("in part in", self.partly), ("not in", self.fails), ("undecided in", self.undecided)]
        {
            if count > 0 {
                write!(f, ", {word} {count}")?;
            }
        }
        Ok(())
    }
}

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Deviations from the claim, the most significant first.
    pub off: Vec<String>,
    /// Number of figures in which the claim holds, if it has many figures.
    pub holds_in: Option<HoldsInCount>,
    /// Reasons for a missing verdict, or for parts of the claim without numbers.
    #[serde(rename = "why")]
    pub reasons: Vec<UnknownReason>,
    /// The deciding numbers, by figure.
    pub values: Vec<DecidingValues>,
}

impl ClaimVerdict {
    /// Creates the verdict that no figure decides a claim, for a reason given by the study.
    pub fn undecidable(reason: &str) -> Self {
        Self {
            verdict: Verdict::Undecidable,
            off: Vec::new(),
            holds_in: None,
            reasons: vec![UnknownReason {
                contenders: Vec::new(),
                figures: Vec::new(),
                reason: Unknown::Text(reason.to_owned()),
            }],
            values: Vec::new(),
        }
    }

    /// Returns the deciding numbers, one line for each figure, without the common parts of the
    /// names.
    pub fn lines(&self) -> Vec<String> {
        let all: Vec<String> = self.values.iter().map(|values| values.figure.clone()).collect();
        let line = |values: &DecidingValues| match label(&values.figure, &all) {
            label if label.is_empty() => values.to_string(),
            label => format!("{label}: {values}"),
        };
        self.values.iter().map(line).collect()
    }
}

/// Returns the name of a figure without the parts of its path common to all figures; empty if it is
/// the only figure. Names of contenders are returned unchanged, and several figures are called
/// "mean".
pub(crate) fn label(one: &str, all: &[String]) -> String {
    if one.contains(", ") {
        return "mean".to_owned();
    }
    let parts: Vec<&str> = one.split('/').collect();
    if parts.len() != 3 {
        return one.to_owned();
    }
    let differs = |number: usize| {
        let of = |path: &String| path.split('/').nth(number).map(str::to_owned);
        all.iter().any(|path| of(path).as_deref() != Some(parts[number]))
    };
    let kept = (0..3).filter(|number| differs(*number));
    kept.map(|number| parts[number]).collect::<Vec<_>>().join("/")
}

/// Lists the first few deviations and the number of the others.
pub fn abbreviate(all: &[String]) -> String {
    let mut few: Vec<String> = all.iter().take(MAX_NAMED_DEVIATIONS).cloned().collect();
    if all.len() > MAX_NAMED_DEVIATIONS {
        few.push(format!("{} more", all.len() - MAX_NAMED_DEVIATIONS));
    }
    few.join("; ")
}
