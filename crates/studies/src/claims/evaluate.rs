//! Judges statements by evidence and returns verdicts with the deciding values.
//!
//! The truth of a statement depends only on the statement and the numbers. It is partly true if it
//! holds for some of its contenders, or if a ratio has the right direction but another size.

mod places;
mod sizes;

use crate::claims::evidence::{Comparison, Evidence, FigureRef, ObservedValue, Ranking, Unknown};
use crate::claims::truth::{StatementResult, Truth, collect, combine};
use crate::claims::verdict::{
    ClaimVerdict, DecidingValues, DisplayValue, HoldsInCount, UnknownReason, Verdict, label,
};
use crate::language::{OutcomePredicate, Predicate, Quantifier, Statement, Subject};
use stats::RoundOutcome;

pub(crate) use sizes::range;

use sizes::{digits, ends};

/// Maximum number of contenders shown for one place of an order; of more, only the first and the
/// last are shown.
const MAX_SHOWN_TIES: usize = 4;
/// Maximum number of figures for which values are shown.
const SHOWN_FIGURES: usize = 3;

/// Judges a claim. All of its statements must hold.
pub fn evaluate(statements: &[Statement], evidence: &dyn Evidence) -> ClaimVerdict {
    if let Some(why) = out_of_scale(statements, evidence) {
        return ClaimVerdict::undecidable(&why);
    }
    let judge = Judge { evidence, figures: contenders_in(statements) };
    let findings: Vec<(StatementResult, Option<HoldsInCount>)> =
        statements.iter().map(|s| judge.statement(s)).collect();
    let holds_in = findings.iter().find_map(|(_, holds_in)| *holds_in);
    // A claim of two statements holds only if the measurements have numbers for both.
    let is_lacking = |finding: &StatementResult| {
        let of_its_machine = |why: &UnknownReason| why.reason == Unknown::OtherMachine;
        finding.truth == Truth::Unknown && !finding.reasons.iter().any(of_its_machine)
    };
    let lacks_one =
        evidence.is_measured() && findings.iter().any(|(finding, _)| is_lacking(finding));
    let mut all = combine(findings.into_iter().map(|(finding, _)| finding).collect());
    // A reason that applies to every figure is shown without their names.
    for why in &mut all.reasons {
        if why.figures.len() == judge.figures.len() {
            why.figures.clear();
        }
    }
    let (nothing, open) = match evidence.is_measured() {
        true => (Verdict::NotMeasured, Verdict::NotEnoughRounds),
        false => (Verdict::Undecidable, Verdict::Undecidable),
    };
    ClaimVerdict {
        verdict: match all.truth {
            Truth::Holds if lacks_one => nothing,
            Truth::Holds => Verdict::Supported,
            Truth::Partly => Verdict::Partly,
            Truth::Fails => Verdict::Contradicted,
            Truth::Open => open,
            Truth::Unknown => nothing,
        },
        off: all.off,
        holds_in,
        reasons: all.reasons,
        values: all.values,
    }
}

/// Returns the reason why no verdict is possible, if all figures of the statements depend on the
/// volume size and the sizes differ.
fn out_of_scale(statements: &[Statement], evidence: &dyn Evidence) -> Option<String> {
    let mut why = None;
    for figure in statements.iter().flat_map(figures) {
        why = Some(evidence.out_of_scale(figure)?);
    }
    why
}

/// Returns the figures that a statement uses.
fn figures(statement: &Statement) -> Vec<&String> {
    if statement.subjects == Subject::Contenders {
        return statement.scope.names.iter().collect();
    }
    match &statement.predicate {
        Predicate::Order { places, .. } => places.iter().flat_map(|place| &place.members).collect(),
        Predicate::Ratio { who, than, .. } => who.iter().chain(than).collect(),
        Predicate::Rank { who, .. }
        | Predicate::Bound { who, .. }
        | Predicate::Outcome { who, .. } => who.iter().collect(),
        Predicate::NoneOf(_) => Vec::new(),
    }
}

/// Returns the figures that are used to compare contenders, without duplicates.
fn contenders_in(statements: &[Statement]) -> Vec<String> {
    let of = |statement: &&Statement| statement.subjects == Subject::Contenders;
    let all = statements.iter().filter(of);
    let mut figures: Vec<String> = Vec::new();
    for figure in all.flat_map(|statement| &statement.scope.names) {
        if !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    figures
}

struct Judge<'a> {
    evidence: &'a dyn Evidence,
    /// The figures in which statements of the claim compare contenders.
    figures: Vec<String>,
}

/// Scope of a comparison between subjects of a statement.
#[derive(Clone, Copy)]
struct Comparand<'a> {
    subjects: Subject,
    /// Figures if contenders are compared, else a single contender.
    scope: &'a [String],
    /// Whether higher numbers are better.
    higher: bool,
}

impl<'a> Comparand<'a> {
    /// Returns the value reference of a subject.
    fn place(self, subject: &'a String) -> FigureRef<'a> {
        match self.subjects {
            Subject::Contenders => FigureRef { contender: subject, figures: self.scope },
            Subject::Figures => {
                FigureRef { contender: &self.scope[0], figures: std::slice::from_ref(subject) }
            }
        }
    }
}

impl Judge<'_> {
    /// Judges a statement. If it has many figures, also returns the number of figures in which it
    /// holds.
    fn statement(&self, statement: &Statement) -> (StatementResult, Option<HoldsInCount>) {
        let of = &statement.scope.names;
        if let Predicate::NoneOf(rank) = &statement.predicate {
            return (self.nobody(rank, of), None);
        }
        if statement.scope.quantifier == Quantifier::Mean {
            return (self.at(statement, of), None);
        }
        let findings = of.iter().map(|one| {
            let mut finding = self.at(statement, std::slice::from_ref(one));
            if statement.subjects == Subject::Contenders {
                self.name_figure(&mut finding.reasons, one);
            }
            let label = label(one, of);
            if !label.is_empty() {
                let named = |off: &String| format!("{off} in {label}");
                finding.off = finding.off.iter().map(named).collect();
                for why in finding.reasons.iter_mut().filter(|why| why.contenders.is_empty()) {
                    why.reason = Unknown::Text(format!("{} in {label}", why.reason));
                }
            }
            finding
        });
        in_scope(findings.collect(), statement.scope.quantifier)
    }

    /// Adds the name of the figure to reasons, if the claim has several figures.
    fn name_figure(&self, why: &mut [UnknownReason], figure: &str) {
        let label = label(figure, &self.figures);
        // A contender missing from the campaign is missing in every figure.
        let depends = |why: &&mut UnknownReason| {
            !why.contenders.is_empty() && why.reason != Unknown::NotInCampaign
        };
        for why in why.iter_mut().filter(depends) {
            why.figures.extend((!label.is_empty()).then(|| label.clone()));
        }
    }

    /// Evaluates a statement in its scope: figures, or a single contender.
    fn at(&self, statement: &Statement, scope: &[String]) -> StatementResult {
        let of = match (statement.subjects, scope) {
            (Subject::Contenders, [only]) => Some(only),
            // Means are shares of the best, so higher is better.
            (Subject::Contenders, _) => None,
            (Subject::Figures, _) => first_subject(&statement.predicate),
        };
        let at = Comparand {
            subjects: statement.subjects,
            scope,
            higher: of.is_none_or(|figure| self.evidence.is_higher_better(figure)),
        };
        match &statement.predicate {
            Predicate::Order { places, by } => {
                let alike = places.iter().filter_map(|place| {
                    let within = place.tolerance?;
                    Some(self.alike(at, &place.members, within))
                });
                let mut findings: Vec<StatementResult> = alike.collect();
                for pair in places.windows(2) {
                    findings.push(self.before(at, &pair[0].members, &pair[1].members, *by));
                }
                let mut all = combine(findings);
                let members = places.iter().map(|place| self.ends(at, &place.members));
                all.values = self.values(at, &members.flatten().collect::<Vec<_>>(), None);
                all
            }
            Predicate::Rank { who, rank } => self.rank(at, who, rank),
            Predicate::NoneOf(_) => StatementResult::new(Truth::Unknown),
            Predicate::Ratio { who, times, than } => self.ratio(at, who, times, than),
            Predicate::Bound { who, amount } => self.bound(at, who, amount),
            Predicate::Outcome { who, outcome } => self.outcome(at, who, *outcome),
        }
    }

    /// Judges whether every contender of the first group is better than every contender of the
    /// second.
    fn before(
        &self,
        at: Comparand<'_>,
        first: &[String],
        second: &[String],
        by: f64,
    ) -> StatementResult {
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
        let mut too_little: Vec<(f64, f64)> = Vec::new();
        let findings = pairs.filter(|(a, b)| a != b).map(|(a, b)| {
            let Some(found) = self.evidence.compare(at.place(a), at.place(b)) else {
                return self.unknown(at, &[a, b]);
            };
            let better = Self::times_better(at, found);
            match found.order {
                Ranking::Better if better.0 >= by => StatementResult::new(Truth::Holds),
                Ranking::Better if better.1 < by => {
                    too_little.push(better);
                    StatementResult::new(Truth::Partly)
                }
                Ranking::Better | Ranking::NotWorse | Ranking::Undecided => self.open(at, a, b),
                Ranking::Worse => StatementResult::deviating(
                    Truth::Fails,
                    self.set_against(at, b, a, "is ahead of"),
                ),
                Ranking::Same => StatementResult::deviating(
                    Truth::Fails,
                    self.set_against(at, a, b, "is as good as"),
                ),
                Ranking::NotBetter => StatementResult::deviating(
                    Truth::Fails,
                    self.set_against(at, a, b, "is not ahead of"),
                ),
            }
        });
        let mut all = combine(findings.collect());
        if !too_little.is_empty() {
            let is = range(ends(&too_little));
            all.off.push(format!("taken as at least {} times better, is {is}", digits(by)));
        }
        all
    }

    /// Returns the minimum and maximum ratio by which the first is better.
    const fn times_better(at: Comparand<'_>, found: Comparison) -> (f64, f64) {
        match at.higher {
            true => (found.low, found.high),
            false => (1.0 / found.high, 1.0 / found.low),
        }
    }

    /// Returns the comparison of all contenders in one figure.
    fn in_figure<'a>(&self, figure: &'a String) -> Comparand<'a> {
        Comparand {
            subjects: Subject::Contenders,
            scope: std::slice::from_ref(figure),
            higher: self.evidence.is_higher_better(figure),
        }
    }

    fn set_against(&self, at: Comparand<'_>, a: &String, b: &String, how: &str) -> String {
        format!("{} {how} {}", self.with_value(at, a), self.with_value(at, b))
    }

    fn with_value(&self, at: Comparand<'_>, subject: &String) -> String {
        match self.evidence.value(at.place(subject)) {
            ObservedValue::Number(number) => format!("{subject} ({})", number.shown),
            _ => subject.clone(),
        }
    }

    /// Judges whether no two members differ by more than a share.
    fn alike(&self, at: Comparand<'_>, members: &[String], within: f64) -> StatementResult {
        let most = 1.0 + within;
        let mut findings = Vec::new();
        for (number, a) in members.iter().enumerate() {
            for b in &members[number + 1..] {
                let Some(found) = self.evidence.compare(at.place(a), at.place(b)) else {
                    findings.push(self.unknown(at, &[a, b]));
                    continue;
                };
                let truth = match () {
                    () if found.low >= 1.0 / most && found.high <= most => Truth::Holds,
                    () if found.high < 1.0 / most || found.low > most => Truth::Fails,
                    () => {
                        findings.push(self.open(at, a, b));
                        continue;
                    }
                };
                let mut finding = StatementResult::new(truth);
                if truth == Truth::Fails {
                    let (low, high) = match found.low > 1.0 {
                        true => (found.low, found.high),
                        false => (1.0 / found.high, 1.0 / found.low),
                    };
                    let off = format!("{a} and {b} are {} times apart", range((low, high)));
                    finding.off.push(off);
                }
                findings.push(finding);
            }
        }
        combine(findings)
    }

    fn outcome(
        &self,
        at: Comparand<'_>,
        who: &[String],
        outcome: OutcomePredicate,
    ) -> StatementResult {
        let findings = who.iter().map(|one| {
            let known = self.evidence.value(at.place(one));
            let is_so = match (&known, outcome) {
                (ObservedValue::Unknown(_), _) => return self.unknown(at, &[one]),
                (ObservedValue::Number(_), outcome) => outcome == OutcomePredicate::Completes,
                (ObservedValue::Outcome(..), OutcomePredicate::Completes) => false,
                (ObservedValue::Outcome(ended, _), OutcomePredicate::Crashes) => {
                    *ended == RoundOutcome::Crashed
                }
                (ObservedValue::Outcome(ended, _), OutcomePredicate::Invalid) => {
                    *ended == RoundOutcome::Invalid
                }
                (ObservedValue::Outcome(ended, _), OutcomePredicate::Fails) => {
                    *ended != RoundOutcome::Invalid
                }
            };
            match is_so {
                true => StatementResult::new(Truth::Holds),
                false => {
                    StatementResult::deviating(Truth::Fails, format!("{one} {}", came_to(&known)))
                }
            }
        });
        let mut all = combine(findings.collect());
        all.values = self.values(at, &who.iter().collect::<Vec<_>>(), None);
        all
    }

    fn unknown(&self, at: Comparand<'_>, subjects: &[&String]) -> StatementResult {
        let why = subjects.iter().filter_map(|one| {
            let reason = match self.evidence.value(at.place(one)) {
                ObservedValue::Number(_) => return None,
                ObservedValue::Outcome(outcome, why) => Unknown::Outcome(outcome, why),
                ObservedValue::Unknown(why) => why,
            };
            let who = vec![(*one).clone()];
            let figures = Vec::new();
            Some(UnknownReason { contenders: who, figures, reason })
        });
        StatementResult { reasons: why.collect(), ..StatementResult::new(Truth::Unknown) }
    }

    fn open(&self, at: Comparand<'_>, a: &String, b: &String) -> StatementResult {
        StatementResult::open(self.set_against(at, a, b, "beside"))
    }

    /// Returns the subjects that are shown for a rank: all of a few, or the first and the last of
    /// many.
    fn ends<'a>(&self, at: Comparand<'_>, members: &'a [String]) -> Vec<&'a String> {
        if members.len() <= MAX_SHOWN_TIES {
            return members.iter().collect();
        }
        let ends = [false, true].map(|worst| self.foremost(at, members, worst));
        ends.into_iter().flatten().collect()
    }

    /// Returns the first subject by the numbers, or the last.
    fn foremost<'a>(
        &self,
        at: Comparand<'_>,
        members: &'a [String],
        worst: bool,
    ) -> Option<&'a String> {
        let number = |one: &&String| match self.evidence.value(at.place(one)) {
            ObservedValue::Number(number) => Some(number.low),
            _ => None,
        };
        let known = members.iter().filter_map(|one| Some((number(&one)?, one)));
        let lowest = at.higher == worst;
        let found = known.min_by(|a, b| match lowest {
            true => a.0.total_cmp(&b.0),
            false => b.0.total_cmp(&a.0),
        });
        found.map(|(_, one)| one)
    }

    /// Returns the numbers of the subjects; may be empty.
    fn values(
        &self,
        at: Comparand<'_>,
        subjects: &[&String],
        times: Option<String>,
    ) -> Vec<DecidingValues> {
        let mut values = DecidingValues {
            figure: match at.scope {
                [only] => only.clone(),
                several => several.join(", "),
            },
            numbers: Vec::new(),
            unit: String::new(),
            times,
            higher: at.higher,
        };
        for one in subjects.iter().copied() {
            let (value, shown) = match self.evidence.value(at.place(one)) {
                ObservedValue::Number(number) => {
                    values.unit = match number.unit.as_str() {
                        "count" => String::new(),
                        _ => number.unit,
                    };
                    (Some(number.low), number.shown)
                }
                ObservedValue::Outcome(outcome, _) => (None, outcome.name().to_owned()),
                ObservedValue::Unknown(_) => continue,
            };
            let who = one.clone();
            if !values.numbers.iter().any(|number| number.contender == who) {
                values.numbers.push(DisplayValue { contender: who, value, shown });
            }
        }
        values.sort();
        match values.numbers.is_empty() {
            true => Vec::new(),
            false => vec![values],
        }
    }
}

/// Returns the first subject that a statement compares.
fn first_subject(what: &Predicate) -> Option<&String> {
    match what {
        Predicate::Order { places, .. } => places.first()?.members.first(),
        Predicate::Ratio { who, .. }
        | Predicate::Rank { who, .. }
        | Predicate::Bound { who, .. }
        | Predicate::Outcome { who, .. } => who.first(),
        Predicate::NoneOf(_) => None,
    }
}

/// Combines the findings of all figures of a scope.
fn in_scope(
    mut findings: Vec<StatementResult>,
    how: Quantifier,
) -> (StatementResult, Option<HoldsInCount>) {
    let count = |truth| findings.iter().filter(|f| f.truth == truth).count();
    let [holds, partly, fails, open] =
        [Truth::Holds, Truth::Partly, Truth::Fails, Truth::Open].map(count);
    let decided = holds + partly + fails + open;
    let truth = match how {
        Quantifier::Every | Quantifier::Mean => None,
        _ if decided == 0 => None,
        Quantifier::Most if 2 * holds > decided => Some(Truth::Holds),
        Quantifier::Most if 2 * (holds + open) > decided => Some(Truth::Open),
        Quantifier::AtLeast(number) if holds >= number => Some(Truth::Holds),
        Quantifier::AtLeast(number) if holds + open >= number => Some(Truth::Open),
        Quantifier::Most | Quantifier::AtLeast(_) => Some(Truth::Fails),
    };
    if findings.len() > 1 {
        shorten(&mut findings);
    }
    let counted =
        (decided > SHOWN_FIGURES).then_some(HoldsInCount { holds, partly, fails, undecided: open });
    let all = match truth {
        Some(truth) => collect(truth, findings),
        None => combine(findings),
    };
    (all, counted)
}

/// Keeps the values of only a few figures, preferably those in which the statement does not hold.
fn shorten(findings: &mut [StatementResult]) {
    let holds: Vec<bool> = findings.iter().map(|f| f.truth == Truth::Holds).collect();
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|number| holds[*number]);
    for number in order.into_iter().skip(SHOWN_FIGURES) {
        findings[number].values.clear();
    }
}

fn came_to(known: &ObservedValue) -> String {
    match known {
        ObservedValue::Number(number) => {
            format!("completes with {} {}", number.shown, number.unit).trim_end().to_owned()
        }
        ObservedValue::Outcome(outcome, _) => format!("is {outcome}"),
        ObservedValue::Unknown(why) => why.to_string(),
    }
}
