//! What is concluded of a claim: the verdict, what is off, and the numbers that decide.

use std::fmt;

use serde::Serialize;

/// What is off is named so often, and then counted.
const MAX_NAMED_DEVIATIONS: usize = 3;

/// Of more figures of which nothing is known, their number is told.
const NAMED_FIGURES: usize = 3;

/// What follows for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures say the same.
    Supported,
    /// They do for a part, or say it with another size.
    Partly,
    /// They say otherwise.
    Contradicted,
    /// More rounds could say.
    NotEnoughRounds,
    /// What it speaks of was not measured.
    NotMeasured,
    /// No figure of the study says.
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

    /// The words in reports.
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

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownReason {
    /// Of whom; nobody where the claim as a whole is meant.
    #[serde(rename = "who")]
    pub contenders: Vec<String>,
    /// In which figures, without the parts of their names that all figures of the claim have alike; none where it is so in all.
    pub figures: Vec<String>,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.contenders.is_empty() {
            true => f.write_str(&self.reason),
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

/// Numbers that decide about a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecidingValues {
    /// The figure; the figures of a mean; of figures that are compared, whose they are.
    #[serde(rename = "of")]
    pub figure: String,
    /// Whose they are (or which figures), the best first.
    pub numbers: Vec<DisplayValue>,
    /// Their unit.
    pub unit: String,
    /// How many times one is the other, where that decides.
    pub times: Option<String>,
    /// Whether a higher one is better.
    #[serde(skip)]
    pub(crate) higher: bool,
}

/// A number, or the word for its absence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisplayValue {
    /// Whose.
    #[serde(rename = "who")]
    pub contender: String,
    /// The number; nothing where a word stands for it.
    pub value: Option<f64>,
    /// As it is shown.
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

/// In how many figures something that is said of many is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HoldsInCount {
    /// In so many it holds.
    pub holds: usize,
    /// In so many it holds for some, or with another size.
    pub partly: usize,
    /// In so many it does not.
    pub fails: usize,
    /// In so many the numbers do not say.
    pub undecided: usize,
}

impl HoldsInCount {
    /// Whether it holds in every one.
    pub const fn is_all(self) -> bool {
        self.partly + self.fails + self.undecided == 0
    }
}

impl fmt::Display for HoldsInCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "holds in {}", self.holds)?;
        for (word, count) in [
            ("in part in", self.partly),
            ("not in", self.fails),
            ("undecided in", self.undecided),
        ] {
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
    /// What is not as the claim says, most telling first.
    pub off: Vec<String>,
    /// In how many of the figures that it speaks of it holds, where they are many.
    pub holds_in: Option<HoldsInCount>,
    /// Why there is no verdict, or what of the claim has no numbers.
    #[serde(rename = "why")]
    pub reasons: Vec<UnknownReason>,
    /// The numbers that decide, figure by figure.
    pub values: Vec<DecidingValues>,
}

impl ClaimVerdict {
    /// That no figure decides a claim, for a reason that its study gives.
    pub fn undecidable(reason: &str) -> Self {
        Self {
            verdict: Verdict::Undecidable,
            off: Vec::new(),
            holds_in: None,
            reasons: vec![UnknownReason {
                contenders: Vec::new(),
                figures: Vec::new(),
                reason: reason.to_owned(),
            }],
            values: Vec::new(),
        }
    }

    /// The numbers that decide, a line for each figure, without the parts of its name that all have alike.
    pub fn lines(&self) -> Vec<String> {
        let all: Vec<String> = self
            .values
            .iter()
            .map(|values| values.figure.clone())
            .collect();
        let line = |values: &DecidingValues| match label(&values.figure, &all) {
            label if label.is_empty() => values.to_string(),
            label => format!("{label}: {values}"),
        };
        self.values.iter().map(line).collect()
    }
}

/// A figure, without the parts of its path that all figures have alike; nothing where it is the only one. A contender as it
/// is, and several figures as their mean.
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
        all.iter()
            .any(|path| of(path).as_deref() != Some(parts[number]))
    };
    let kept = (0..3).filter(|number| differs(*number));
    kept.map(|number| parts[number])
        .collect::<Vec<_>>()
        .join("/")
}

/// What is off in few words: the first of them, and how many more there are.
pub fn abbreviate(all: &[String]) -> String {
    let mut few: Vec<String> = all.iter().take(MAX_NAMED_DEVIATIONS).cloned().collect();
    if all.len() > MAX_NAMED_DEVIATIONS {
        few.push(format!("{} more", all.len() - MAX_NAMED_DEVIATIONS));
    }
    few.join("; ")
}
