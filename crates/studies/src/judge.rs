//! The judge: from a statement and evidence to a verdict, with the values that decide it.
//!
//! Whether a statement holds is a matter of what it says and of the numbers, and of nothing else. It is partly true where it
//! holds for some of those it speaks of, or where a ratio goes the right way and has another size.

use crate::evidence::{Comparison, Evidence, Known, NOT_IN_CAMPAIGN, Order, Place};
use crate::finding::{Finding, Truth, gathered, together};
use crate::judgement::{HoldsIn, Judgement, Shown, Values, Verdict, Why, label};
use crate::language::{Amount, How, Outcome, Rank, Statement, Subjects, What};

/// Of more than so many who share a place of an order, the first and the last are shown.
const SHOWN_OF_A_PLACE: usize = 4;
/// Figures of which values are shown, where a statement holds in many.
const SHOWN_FIGURES: usize = 3;

/// Judges a claim, of which all statements must hold.
pub fn judge(statements: &[Statement], evidence: &dyn Evidence) -> Judgement {
    if let Some(why) = out_of_scale(statements, evidence) {
        return Judgement::undecidable(&why);
    }
    let judge = Judge {
        evidence,
        figures: contenders_in(statements),
    };
    let findings: Vec<(Finding, Option<HoldsIn>)> =
        statements.iter().map(|s| judge.statement(s)).collect();
    let holds_in = findings.iter().find_map(|(_, holds_in)| *holds_in);
    // What is said in two statements holds now only where both have numbers that say something now.
    let is_lacking = |finding: &Finding| {
        let of_its_machine = |why: &Why| why.reason == OF_ITS_MACHINE;
        finding.truth == Truth::Unknown && !finding.why.iter().any(of_its_machine)
    };
    let lacks_one =
        evidence.is_measured() && findings.iter().any(|(finding, _)| is_lacking(finding));
    let mut all = together(findings.into_iter().map(|(finding, _)| finding).collect());
    // What is so in every figure has no need of their names.
    for why in &mut all.why {
        if why.figures.len() == judge.figures.len() {
            why.figures.clear();
        }
    }
    let (nothing, open) = match evidence.is_measured() {
        true => (Verdict::NotMeasured, Verdict::NotEnoughRounds),
        false => (Verdict::Undecidable, Verdict::Undecidable),
    };
    Judgement {
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
        why: all.why,
        values: all.values,
    }
}

/// Why nothing can be said at all, where every figure that is spoken of is another one on a volume of another size.
fn out_of_scale(statements: &[Statement], evidence: &dyn Evidence) -> Option<String> {
    let mut why = None;
    for figure in statements.iter().flat_map(figures) {
        why = Some(evidence.out_of_scale(figure)?);
    }
    why
}

/// The figures that a statement speaks of.
fn figures(statement: &Statement) -> Vec<&String> {
    if statement.subjects == Subjects::Contenders {
        return statement.scope.of.iter().collect();
    }
    match &statement.what {
        What::Order { places, .. } => places.iter().flat_map(|place| &place.members).collect(),
        What::Ratio { who, than, .. } => who.iter().chain(than).collect(),
        What::Rank { who, .. } | What::Bound { who, .. } | What::Outcome { who, .. } => {
            who.iter().collect()
        }
        What::Nobody(_) => Vec::new(),
    }
}

/// The figures in which statements set contenders against each other, each once.
fn contenders_in(statements: &[Statement]) -> Vec<String> {
    let of = |statement: &&Statement| statement.subjects == Subjects::Contenders;
    let all = statements.iter().filter(of);
    let mut figures: Vec<String> = Vec::new();
    for figure in all.flat_map(|statement| &statement.scope.of) {
        if !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    figures
}

/// Why a number that is said says nothing of what was measured since.
const OF_ITS_MACHINE: &str = "a number of the study's own machine says nothing of another";

struct Judge<'a> {
    evidence: &'a dyn Evidence,
    /// The figures in which the statements of the claim set contenders against each other.
    figures: Vec<String>,
}

/// One of those that a statement sets against each other, and where.
#[derive(Clone, Copy)]
struct At<'a> {
    subjects: Subjects,
    /// Figures if contenders are compared, else one contender.
    scope: &'a [String],
    /// Whether a higher number is the better one.
    higher: bool,
}

impl<'a> At<'a> {
    /// The place of a subject.
    fn place(self, subject: &'a String) -> Place<'a> {
        match self.subjects {
            Subjects::Contenders => Place {
                contender: subject,
                figures: self.scope,
            },
            Subjects::Figures => Place {
                contender: &self.scope[0],
                figures: std::slice::from_ref(subject),
            },
        }
    }
}

impl Judge<'_> {
    /// What comes of a statement, and in how many of its figures it holds where these are many.
    fn statement(&self, statement: &Statement) -> (Finding, Option<HoldsIn>) {
        let of = &statement.scope.of;
        if let What::Nobody(rank) = &statement.what {
            return (self.nobody(rank, of), None);
        }
        if statement.scope.how == How::Mean {
            return (self.at(statement, of), None);
        }
        let findings = of.iter().map(|one| {
            let mut finding = self.at(statement, std::slice::from_ref(one));
            if statement.subjects == Subjects::Contenders {
                self.name_figure(&mut finding.why, one);
            }
            let label = label(one, of);
            if !label.is_empty() {
                let named = |off: &String| format!("{off} in {label}");
                finding.off = finding.off.iter().map(named).collect();
                for why in finding.why.iter_mut().filter(|why| why.who.is_empty()) {
                    why.reason += &format!(" in {label}");
                }
            }
            finding
        });
        in_scope(findings.collect(), statement.scope.how)
    }

    /// Says in which figure nothing is known, where the claim speaks of several.
    fn name_figure(&self, why: &mut [Why], figure: &str) {
        let label = label(figure, &self.figures);
        // Who is not there at all is so in every figure.
        let depends = |why: &&mut Why| !why.who.is_empty() && why.reason != NOT_IN_CAMPAIGN;
        for why in why.iter_mut().filter(depends) {
            why.figures
                .extend((!label.is_empty()).then(|| label.clone()));
        }
    }

    /// A statement in one figure, or for one contender.
    fn at(&self, statement: &Statement, scope: &[String]) -> Finding {
        let of = match (statement.subjects, scope) {
            (Subjects::Contenders, [only]) => Some(only),
            // Means are shares of the best.
            (Subjects::Contenders, _) => None,
            (Subjects::Figures, _) => first_subject(&statement.what),
        };
        let at = At {
            subjects: statement.subjects,
            scope,
            higher: of.is_none_or(|figure| self.evidence.is_higher_better(figure)),
        };
        match &statement.what {
            What::Order { places, by } => {
                let alike = places.iter().filter_map(|place| {
                    let within = place.alike?;
                    Some(self.alike(at, &place.members, within))
                });
                let mut findings: Vec<Finding> = alike.collect();
                for pair in places.windows(2) {
                    findings.push(self.before(at, &pair[0].members, &pair[1].members, *by));
                }
                let mut all = together(findings);
                let members = places.iter().map(|place| self.ends(at, &place.members));
                all.values = self.values(at, &members.flatten().collect::<Vec<_>>(), None);
                all
            }
            What::Rank { who, rank } => self.rank(at, who, rank),
            What::Nobody(_) => Finding::new(Truth::Unknown),
            What::Ratio { who, times, than } => self.ratio(at, who, times, than),
            What::Bound { who, amount } => self.bound(at, who, amount),
            What::Outcome { who, outcome } => self.outcome(at, who, *outcome),
        }
    }

    /// Everybody of some before everybody of others.
    fn before(&self, at: At<'_>, first: &[String], second: &[String], by: f64) -> Finding {
        let pairs = first
            .iter()
            .flat_map(|a| second.iter().map(move |b| (a, b)));
        let mut too_little: Vec<(f64, f64)> = Vec::new();
        let findings = pairs.filter(|(a, b)| a != b).map(|(a, b)| {
            let Some(found) = self.evidence.compare(at.place(a), at.place(b)) else {
                return self.unknown(at, &[a, b]);
            };
            let better = Self::times_better(at, found);
            match found.order {
                Order::Better if better.0 >= by => Finding::new(Truth::Holds),
                Order::Better if better.1 < by => {
                    too_little.push(better);
                    Finding::new(Truth::Partly)
                }
                Order::Better | Order::NotWorse | Order::Open => self.open(at, a, b),
                Order::Worse => {
                    Finding::off(Truth::Fails, self.set_against(at, b, a, "is ahead of"))
                }
                Order::Same => {
                    Finding::off(Truth::Fails, self.set_against(at, a, b, "is as good as"))
                }
                Order::NotBetter => {
                    Finding::off(Truth::Fails, self.set_against(at, a, b, "is not ahead of"))
                }
            }
        });
        let mut all = together(findings.collect());
        if !too_little.is_empty() {
            let is = range(ends(&too_little));
            all.off.push(format!(
                "taken as at least {} times better, is {is}",
                digits(by)
            ));
        }
        all
    }

    /// How many times the first is better: at the least, at the most.
    const fn times_better(at: At<'_>, found: Comparison) -> (f64, f64) {
        match at.higher {
            true => (found.low, found.high),
            false => (1.0 / found.high, 1.0 / found.low),
        }
    }

    /// All contenders in one figure.
    fn in_figure<'a>(&self, figure: &'a String) -> At<'a> {
        At {
            subjects: Subjects::Contenders,
            scope: std::slice::from_ref(figure),
            higher: self.evidence.is_higher_better(figure),
        }
    }

    fn set_against(&self, at: At<'_>, a: &String, b: &String, how: &str) -> String {
        format!(
            "{} {how} {}",
            self.with_value(at, a),
            self.with_value(at, b)
        )
    }

    fn with_value(&self, at: At<'_>, subject: &String) -> String {
        match self.evidence.known(at.place(subject)) {
            Known::Number(number) => format!("{subject} ({})", number.shown),
            _ => subject.clone(),
        }
    }

    /// Nobody of some differs from any other by more than a share.
    fn alike(&self, at: At<'_>, members: &[String], within: f64) -> Finding {
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
                let mut finding = Finding::new(truth);
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
        together(findings)
    }

    fn rank(&self, at: At<'_>, who: &[String], rank: &Rank) -> Finding {
        let ranked = |one: &&String| {
            let place = at.place(one);
            matches!(self.evidence.known(place), Known::Number(_))
        };
        let field: Vec<&String> = rank.of.iter().filter(ranked).collect();
        let findings = who.iter().map(|one| match self.says_little(&field, rank) {
            Some(why) => Finding::unknown(one, &why),
            None => self.rank_of(at, one, &field, rank),
        });
        let mut all = together(findings.collect());
        let rivals = field.into_iter().filter(|one| !who.contains(one));
        let mut shown: Vec<&String> = who.iter().collect();
        let rivals: Vec<String> = rivals.cloned().collect();
        if let Some(rival) = self.foremost(at, &rivals, rank.from_worst) {
            shown.push(rival);
        }
        all.values = self.values(at, &shown, None);
        all
    }

    /// Why a place among the first few, or the last, says little where others of the study are missing: of two somebody is
    /// always among the worst two.
    fn says_little(&self, field: &[&String], rank: &Rank) -> Option<String> {
        let several = rank.first == 1 && rank.last > 1;
        let is_most = 2 * rank.last > field.len();
        (several && is_most && field.len() < rank.of.len()).then(|| {
            let all = rank.of.len();
            let have = match field.len() {
                0 => format!("none of {all} has a result"),
                1 => format!("only 1 of {all} has a result"),
                some => format!("only {some} of {all} have a result"),
            };
            format!(
                "{have}, and it is said of the {} {}",
                if rank.from_worst { "worst" } else { "best" },
                rank.last
            )
        })
    }

    fn rank_of(&self, at: At<'_>, one: &String, field: &[&String], rank: &Rank) -> Finding {
        if !field.contains(&one) {
            return self.unknown(at, &[one]);
        }
        let (mut before, mut not_behind) = (Vec::new(), 0);
        for other in field.iter().copied().filter(|other| *other != one) {
            let order = self.evidence.compare(at.place(other), at.place(one));
            let order = order.map_or(Order::Open, |found| found.order);
            let order = match rank.from_worst {
                true => order.reversed(),
                false => order,
            };
            if order == Order::Better {
                before.push(other.as_str());
            }
            not_behind += usize::from(order.may_be_better());
        }
        let (least, most) = (before.len() + 1, not_behind + 1);
        if least >= rank.first && most <= rank.last {
            return Finding::new(Truth::Holds);
        }
        let (first, last) = match rank.from_worst {
            true => (field.len() + 1 - most, field.len() + 1 - least),
            false => (least, most),
        };
        let is = match first == last {
            true => format!("{one} is {} of {}", ordinal(first), field.len()),
            false => format!(
                "{one} is {} to {} of {}",
                ordinal(first),
                ordinal(last),
                field.len()
            ),
        };
        if most < rank.first || least > rank.last {
            let behind = match (&before[..], rank.from_worst) {
                ([only], false) => format!(", behind {only}"),
                _ => String::new(),
            };
            return Finding::off(Truth::Fails, is + &behind);
        }
        Finding::open(is)
    }

    /// That nobody has a rank in every figure.
    fn nobody(&self, rank: &Rank, figures: &[String]) -> Finding {
        let mut findings = Vec::new();
        for one in &rank.of {
            let whos = std::slice::from_ref(one);
            let everywhere = figures.iter().map(|figure| {
                let at = self.in_figure(figure);
                self.rank(at, whos, rank)
            });
            let everywhere = together(everywhere.collect());
            findings.push(match everywhere.truth {
                Truth::Holds => Finding::off(Truth::Fails, format!("{one} is, everywhere")),
                Truth::Partly | Truth::Fails => Finding::new(Truth::Holds),
                Truth::Open | Truth::Unknown => everywhere,
            });
        }
        let mut all = together(findings);
        if all.truth == Truth::Partly {
            all.truth = Truth::Fails;
        }
        let values = figures.iter().flat_map(|figure| {
            let at = self.in_figure(figure);
            self.values(at, &rank.of.iter().collect::<Vec<_>>(), None)
        });
        all.values = values.collect();
        all
    }

    fn ratio(&self, at: At<'_>, who: &[String], times: &Amount, than: &[String]) -> Finding {
        let mut sizes: Vec<(f64, f64)> = Vec::new();
        let mut findings = Vec::new();
        for a in who {
            for b in than.iter().filter(|b| *b != a) {
                let Some(found) = self.evidence.compare(at.place(a), at.place(b)) else {
                    findings.push(self.unknown(at, &[a, b]));
                    continue;
                };
                let truth = size(found, times);
                if truth == Truth::Open {
                    findings.push(self.open(at, a, b));
                    continue;
                }
                sizes.push((found.low, found.high));
                findings.push(Finding::new(truth));
            }
        }
        let mut all = together(findings);
        let (least, most) = ends(&sizes);
        if matches!(all.truth, Truth::Partly | Truth::Fails) {
            all.off = vec![format!(
                "said {} times, is {}",
                times.said,
                range((least, most))
            )];
        }
        let mut shown: Vec<&String> = self.ends(at, who);
        shown.extend(self.ends(at, than));
        let is_as_said = all.off.is_empty() && !sizes.is_empty();
        let times = is_as_said.then(|| range((least, most)));
        all.values = self.values(at, &shown, times);
        all
    }

    fn bound(&self, at: At<'_>, who: &[String], amount: &Amount) -> Finding {
        let findings = who.iter().map(|one| {
            let Known::Number(number) = self.evidence.known(at.place(one)) else {
                return self.unknown(at, &[one]);
            };
            let (low, high) = (number.low, number.high);
            match () {
                () if self.evidence.is_of_another_machine(at.place(one)) => {
                    Finding::unknown(one, OF_ITS_MACHINE)
                }
                () if low >= amount.low && high <= amount.high => Finding::new(Truth::Holds),
                () if high < amount.low || low > amount.high => Finding::off(
                    Truth::Fails,
                    format!("said {}, {one} is {}", amount.said, number.shown),
                ),
                () => Finding::open(format!("{one} is {}", number.shown)),
            }
        });
        let mut all = together(findings.collect());
        all.values = self.values(at, &self.ends(at, who), None);
        all
    }

    fn outcome(&self, at: At<'_>, who: &[String], outcome: Outcome) -> Finding {
        let findings = who.iter().map(|one| {
            let known = self.evidence.known(at.place(one));
            let is_so = match (&known, outcome) {
                (Known::Nothing(_), _) => return self.unknown(at, &[one]),
                (Known::Number(_), outcome) => outcome == Outcome::Completes,
                (Known::Outcome(..), Outcome::Completes) => false,
                (Known::Outcome(word, _), Outcome::Crashes) => word == "crashed",
                (Known::Outcome(word, _), Outcome::Invalid) => word == "invalid",
                (Known::Outcome(word, _), Outcome::Fails) => word != "invalid",
            };
            match is_so {
                true => Finding::new(Truth::Holds),
                false => Finding::off(Truth::Fails, format!("{one} {}", came_to(&known))),
            }
        });
        let mut all = together(findings.collect());
        all.values = self.values(at, &who.iter().collect::<Vec<_>>(), None);
        all
    }

    fn unknown(&self, at: At<'_>, subjects: &[&String]) -> Finding {
        let why = subjects.iter().filter_map(|one| {
            let reason = match self.evidence.known(at.place(one)) {
                Known::Number(_) => return None,
                Known::Outcome(word, why) if why.is_empty() => word,
                Known::Outcome(word, why) => format!("{word}: {why}"),
                Known::Nothing(why) => why,
            };
            let who = vec![(*one).clone()];
            let figures = Vec::new();
            Some(Why {
                who,
                figures,
                reason,
            })
        });
        Finding {
            why: why.collect(),
            ..Finding::new(Truth::Unknown)
        }
    }

    fn open(&self, at: At<'_>, a: &String, b: &String) -> Finding {
        Finding::open(self.set_against(at, a, b, "beside"))
    }

    /// The subjects that are shown of a place: all of few, of many the first and the last.
    fn ends<'a>(&self, at: At<'_>, members: &'a [String]) -> Vec<&'a String> {
        if members.len() <= SHOWN_OF_A_PLACE {
            return members.iter().collect();
        }
        let ends = [false, true].map(|worst| self.foremost(at, members, worst));
        ends.into_iter().flatten().collect()
    }

    /// Who is the first by the numbers, or the last.
    fn foremost<'a>(&self, at: At<'_>, members: &'a [String], worst: bool) -> Option<&'a String> {
        let number = |one: &&String| match self.evidence.known(at.place(one)) {
            Known::Number(number) => Some(number.low),
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

    /// The numbers of some; nothing where there are none.
    fn values(&self, at: At<'_>, subjects: &[&String], times: Option<String>) -> Vec<Values> {
        let mut values = Values {
            of: match at.scope {
                [only] => only.clone(),
                several => several.join(", "),
            },
            numbers: Vec::new(),
            unit: String::new(),
            times,
            higher: at.higher,
        };
        for one in subjects.iter().copied() {
            let (value, shown) = match self.evidence.known(at.place(one)) {
                Known::Number(number) => {
                    values.unit = match number.unit.as_str() {
                        "count" => String::new(),
                        _ => number.unit,
                    };
                    (Some(number.low), number.shown)
                }
                Known::Outcome(word, _) => (None, word),
                Known::Nothing(_) => continue,
            };
            let who = one.clone();
            if !values.numbers.iter().any(|number| number.who == who) {
                values.numbers.push(Shown { who, value, shown });
            }
        }
        values.sort();
        match values.numbers.is_empty() {
            true => Vec::new(),
            false => vec![values],
        }
    }
}

/// The first of those that a statement sets against each other.
fn first_subject(what: &What) -> Option<&String> {
    match what {
        What::Order { places, .. } => places.first()?.members.first(),
        What::Ratio { who, .. }
        | What::Rank { who, .. }
        | What::Bound { who, .. }
        | What::Outcome { who, .. } => who.first(),
        What::Nobody(_) => None,
    }
}

/// What a finding in each figure of a scope comes to.
fn in_scope(mut findings: Vec<Finding>, how: How) -> (Finding, Option<HoldsIn>) {
    let count = |truth| findings.iter().filter(|f| f.truth == truth).count();
    let [holds, partly, fails, open] =
        [Truth::Holds, Truth::Partly, Truth::Fails, Truth::Open].map(count);
    let decided = holds + partly + fails + open;
    let truth = match how {
        How::Every | How::Mean => None,
        _ if decided == 0 => None,
        How::Most if 2 * holds > decided => Some(Truth::Holds),
        How::Most if 2 * (holds + open) > decided => Some(Truth::Open),
        How::AtLeast(number) if holds >= number => Some(Truth::Holds),
        How::AtLeast(number) if holds + open >= number => Some(Truth::Open),
        How::Most | How::AtLeast(_) => Some(Truth::Fails),
    };
    if findings.len() > 1 {
        shorten(&mut findings);
    }
    let counted = (decided > SHOWN_FIGURES).then_some(HoldsIn {
        holds,
        partly,
        fails,
        undecided: open,
    });
    let all = match truth {
        Some(truth) => gathered(truth, findings),
        None => together(findings),
    };
    (all, counted)
}

/// Keeps the values of a few figures, first of those where it is not as said.
fn shorten(findings: &mut [Finding]) {
    let holds: Vec<bool> = findings.iter().map(|f| f.truth == Truth::Holds).collect();
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|number| holds[*number]);
    for number in order.into_iter().skip(SHOWN_FIGURES) {
        findings[number].values.clear();
    }
}

/// Whether a ratio has the size that is said; another one is partly true where it goes the same way and is, as a
/// logarithm, at least half and at most twice what is said.
fn size(found: Comparison, said: &Amount) -> Truth {
    if found.low >= said.low && found.high <= said.high {
        return Truth::Holds;
    }
    let (missed, is) = match () {
        () if found.high < said.low => (said.low, found.high),
        () if found.low > said.high => (said.high, found.low),
        () => return Truth::Open,
    };
    let share = is.ln() / missed.ln();
    match (0.5..=2.0).contains(&share) {
        // It may be any larger one just as well, which would not be true in part.
        true if found.high.is_infinite() => Truth::Open,
        true => Truth::Partly,
        false => Truth::Fails,
    }
}

fn ends(sizes: &[(f64, f64)]) -> (f64, f64) {
    let least = sizes
        .iter()
        .map(|size| size.0)
        .fold(f64::INFINITY, f64::min);
    let most = sizes.iter().map(|size| size.1).fold(0.0, f64::max);
    (least, most)
}

/// A range in few digits; one number where both ends look the same.
pub(crate) fn range((low, high): (f64, f64)) -> String {
    let is_bound = high.is_infinite();
    let [low, high] = [low, high].map(digits);
    match low == high {
        _ if is_bound => format!("at least {low}"),
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// A ratio in three digits.
fn digits(value: f64) -> String {
    match value {
        value if !value.is_finite() => "any number of".to_owned(),
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.0995 => format!("{value:.2}"),
        value => format!("{value:.3}"),
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

fn came_to(known: &Known) -> String {
    match known {
        Known::Number(number) => format!("completes with {} {}", number.shown, number.unit)
            .trim_end()
            .to_owned(),
        Known::Outcome(word, _) => format!("is {word}"),
        Known::Nothing(why) => why.clone(),
    }
}
