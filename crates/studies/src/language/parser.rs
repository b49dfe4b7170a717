//! Parser of statements, by recursive descent over their words.

use super::tokens::tokens;
use super::{
    DEFAULT_TOLERANCE, NumberRange, OutcomePredicate, Predicate, Quantifier, RankClaim,
    RankPosition, Scope, Statement, Subject, Vocabulary,
};

/// Parses a statement. `figures` is the scope of a statement without figures.
///
/// # Errors
/// Returns an error in one line, with the unknown word and the expected input.
pub fn parse(
    text: &str,
    vocabulary: &Vocabulary,
    figures: Option<&str>,
) -> Result<Statement, String> {
    let mut parser = Parser::new(text, vocabulary);
    let (subjects, what) = parser.what()?;
    let scope = parser.scope(subjects, figures)?;
    match parser.peek() {
        None => {}
        Some(_) => return Err(parser.expected("the end of the statement, `in` or `for`")),
    }
    check_unit(&what, &scope, vocabulary)?;
    let is_ranking = matches!(
        what.0,
        Predicate::Order { .. } | Predicate::Rank { .. } | Predicate::Ratio { .. }
    );
    if scope.quantifier == Quantifier::Mean && !is_ranking {
        return Err(format!("`{text}`: a mean has an order and ratios, and no more"));
    }
    Ok(Statement { text: text.to_owned(), subjects, predicate: what.0, scope })
}

/// The assertion, with the unit of its number if one is written.
type Unitful<'a> = (Predicate, Option<&'a str>);

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
    vocabulary: &'a Vocabulary,
    /// Contenders that the statement names. All other contenders are `others`.
    named: Vec<String>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, vocabulary: &'a Vocabulary) -> Self {
        let words = tokens(text);
        let before = words.iter().take_while(|word| !matches!(**word, "in" | "for"));
        let named = before.flat_map(|word| vocabulary.contenders(word).unwrap_or_default());
        Self { named: named.collect(), words, at: 0, vocabulary }
    }

    /// Parses the rest as figures.
    fn rest_as_figures(&mut self) -> Result<Vec<String>, String> {
        let figures = self.list(Subject::Figures)?;
        match self.peek() {
            None => Ok(figures),
            Some(_) => Err(self.expected("the end")),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    /// Consumes the next word if it equals `word`.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn expects(&mut self, word: &str) -> Result<(), String> {
        match self.takes(word) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{word}`"))),
        }
    }

    /// Returns the error that another word was expected here.
    fn expected(&self, what: &str) -> String {
        match self.peek() {
            Some(word) => format!("`{word}` in `{}`: expected {what}", self.words.join(" ")),
            None => format!("`{}` ends too early: expected {what}", self.words.join(" ")),
        }
    }

    fn what(&mut self) -> Result<(Subject, Unitful<'a>), String> {
        if self.takes("nobody") {
            self.expects("is")?;
            return Ok((Subject::Contenders, (Predicate::NoneOf(self.rank()?), None)));
        }
        let subjects = match self.peek() {
            Some(word) if word.contains('/') => Subject::Figures,
            _ => Subject::Contenders,
        };
        let first = self.place(subjects)?;
        let what = match self.peek() {
            Some("is" | "are") => {
                self.at += 1;
                self.state(subjects, first.members)?
            }
            Some(verb) if outcome(verb).is_some() && subjects == Subject::Contenders => {
                self.at += 1;
                let who = first.members;
                let outcome = outcome(verb).unwrap_or(OutcomePredicate::Fails);
                (Predicate::Outcome { who, outcome }, None)
            }
            _ => (self.order(subjects, first)?, None),
        };
        Ok((subjects, what))
    }

    /// Parses `a < b = c < d, e`, the tolerance of equal members, and the ratio by which the first
    /// are better.
    fn order(&mut self, subjects: Subject, first: RankPosition) -> Result<Predicate, String> {
        let mut places = vec![first];
        while self.takes("<") {
            places.push(self.place(subjects)?);
        }
        if let [only] = &places[..]
            && only.tolerance.is_none()
        {
            return Err(self.expected("`<`, `=`, `is`, `fails`, `crashes` or `completes`"));
        }
        let (mut by, mut within) = (1.0, DEFAULT_TOLERANCE);
        loop {
            if self.takes("by") {
                self.expects("at")?;
                self.expects("least")?;
                let number = self.number()?;
                by = match self.takes("%") {
                    true => 1.0 + number / 100.0,
                    false => {
                        self.expects("times")?;
                        number
                    }
                };
                if by < 1.0 {
                    return Err(self.expected("at least 1 times before it"));
                }
            } else if self.takes("within") {
                within = self.share()?;
            } else {
                break;
            }
        }
        for place in &mut places {
            place.tolerance = place.tolerance.map(|_| within);
        }
        Ok(Predicate::Order { places, by })
    }

    /// Parses the assertion after `is`.
    fn state(&mut self, subjects: Subject, who: Vec<String>) -> Result<Unitful<'a>, String> {
        match self.peek() {
            Some("invalid") if subjects == Subject::Contenders => {
                self.at += 1;
                let outcome = OutcomePredicate::Invalid;
                Ok((Predicate::Outcome { who, outcome }, None))
            }
            Some("the" | "among" | "best" | "worst") => {
                if subjects == Subject::Figures {
                    return Err(self.expected("a number: figures are not ranked"));
                }
                let rank = self.rank()?;
                Ok((Predicate::Rank { who, rank }, None))
            }
            Some(word) if place_number(word).is_some() && subjects == Subject::Contenders => {
                let rank = self.rank()?;
                Ok((Predicate::Rank { who, rank }, None))
            }
            _ => self.amount_of(subjects, who),
        }
    }

    fn amount_of(&mut self, subjects: Subject, who: Vec<String>) -> Result<Unitful<'a>, String> {
        let times = self.amount()?;
        if self.takes("times") {
            let than = self.list(subjects)?;
            return Ok((Predicate::Ratio { who, times, than }, None));
        }
        let unit = match self.peek() {
            None | Some("in" | "for") => None,
            Some(_) => self.next(),
        };
        let amount = times;
        Ok((Predicate::Bound { who, amount }, unit))
    }

    /// Parses `best`, `the worst`, `the best 3 of group`, `among the worst 5`, `2nd of group`.
    fn rank(&mut self) -> Result<RankClaim, String> {
        let among = self.takes("among");
        self.takes("the");
        let mut rank = RankClaim { from_worst: false, first: 1, last: 1, among: Vec::new() };
        match self.next() {
            Some("best") => {}
            Some("worst") => rank.from_worst = true,
            Some(word) if place_number(word).is_some() && !among => {
                let place = place_number(word).unwrap_or(1);
                (rank.first, rank.last) = (place, place);
            }
            _ => {
                self.at = self.at.saturating_sub(1);
                return Err(self.expected("`best`, `worst` or a place such as `2nd`"));
            }
        }
        if rank.first == 1 {
            let count = self.peek().and_then(|word| word.parse().ok());
            if let Some(count) = count.filter(|count| *count > 0) {
                self.at += 1;
                rank.last = count;
            } else if among {
                return Err(self.expected("how many are meant, as in `among the best 3`"));
            }
        }
        rank.among = match self.takes("of") {
            true => self.list(Subject::Contenders)?,
            false => self.vocabulary.contenders.clone(),
        };
        Ok(rank)
    }

    /// Parses `about 2`, `about 2 within 3%`, `at least 2`, `at most 2`, `above 2`, `below 2`, `2
    /// to 3`.
    fn amount(&mut self) -> Result<NumberRange, String> {
        let begins = self.at;
        let mut ends = None;
        let (low, high) = match self.peek() {
            Some("about") => {
                self.at += 1;
                let number = self.number()?;
                ends = Some(self.at);
                let behind = self.words.get(self.at + 2..).unwrap_or_default();
                let states_share = self.peek() == Some("within") && behind.first() == Some(&"%");
                let within = match states_share {
                    true => {
                        self.at += 1;
                        self.share()?
                    }
                    false => DEFAULT_TOLERANCE,
                };
                (number * (1.0 - within), number * (1.0 + within))
            }
            Some("at") => {
                self.at += 1;
                match self.next() {
                    Some("least") => (self.number()?, f64::INFINITY),
                    Some("most") => (0.0, self.number()?),
                    _ => {
                        self.at = self.at.saturating_sub(1);
                        return Err(self.expected("`least` or `most`"));
                    }
                }
            }
            Some("above") => {
                self.at += 1;
                (self.number()?.next_up(), f64::INFINITY)
            }
            Some("below") => {
                self.at += 1;
                (0.0, self.number()?.next_down())
            }
            _ => {
                let low = self.number()?;
                if !self.takes("to") {
                    return Err(self.expected(
                        "`to`: a number is a range (`2 to 3`), or follows `about`, `at least`, `at most`, `above` or `below`",
                    ));
                }
                (low, self.number()?)
            }
        };
        if low > high {
            return Err(self.expected("the lower number first, before it"));
        }
        let ends = ends.unwrap_or(self.at);
        Ok(NumberRange { text: self.words[begins..ends].join(" "), low, high })
    }

    fn number(&mut self) -> Result<f64, String> {
        let number = self.peek().and_then(|word| word.replace('_', "").parse().ok());
        let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let number = number.ok_or_else(|| self.expected("a number"))?;
        self.at += 1;
        Ok(number)
    }

    /// `5%` as 0.05.
    fn share(&mut self) -> Result<f64, String> {
        let number = self.number()?;
        self.expects("%")?;
        Ok(number / 100.0)
    }

    /// Parses the members of a rank: `a, b` in any order, or `a = b` for equal values.
    fn place(&mut self, subjects: Subject) -> Result<RankPosition, String> {
        let mut members = self.item(subjects)?;
        let alike = self.peek() == Some("=");
        while alike && self.takes("=") || !alike && self.takes(",") {
            members.extend(self.item(subjects)?);
        }
        self.leave_out(subjects, &mut members)?;
        Ok(RankPosition { members, tolerance: alike.then_some(DEFAULT_TOLERANCE) })
    }

    fn list(&mut self, subjects: Subject) -> Result<Vec<String>, String> {
        let mut members = self.item(subjects)?;
        while self.takes(",") {
            members.extend(self.item(subjects)?);
        }
        self.leave_out(subjects, &mut members)?;
        Ok(members)
    }

    /// Removes the names after `but`, and duplicates.
    fn leave_out(&mut self, subjects: Subject, members: &mut Vec<String>) -> Result<(), String> {
        let mut but = Vec::new();
        if self.takes("but") {
            but = self.item(subjects)?;
            while self.takes(",") {
                but.extend(self.item(subjects)?);
            }
        }
        let mut kept: Vec<String> = Vec::new();
        for member in members.drain(..) {
            if !but.contains(&member) && !kept.contains(&member) {
                kept.push(member);
            }
        }
        *members = kept;
        match members.is_empty() {
            true => Err(self.expected("a name that `but` does not exclude, before it")),
            false => Ok(()),
        }
    }

    fn item(&mut self, subjects: Subject) -> Result<Vec<String>, String> {
        let what = match subjects {
            Subject::Contenders => "a filesystem or a group",
            Subject::Figures => "a figure as TEST/PHASE/METRIC",
        };
        let Some(word) = self.peek().filter(|word| !matches!(*word, "<" | "=" | "," | "%")) else {
            return Err(self.expected(what));
        };
        let means = match (word, subjects) {
            ("all", Subject::Contenders) => Ok(self.vocabulary.contenders.clone()),
            ("others", Subject::Contenders) => {
                let all = self.vocabulary.contenders.iter();
                Ok(all.filter(|c| !self.named.contains(c)).cloned().collect())
            }
            (word, Subject::Contenders) => self.vocabulary.contenders(word),
            (word, Subject::Figures) => self.vocabulary.paths(word),
        }?;
        self.at += 1;
        Ok(means)
    }

    /// Parses the scope: figures after `in`, contenders after `for`.
    fn scope(&mut self, subjects: Subject, figures: Option<&'a str>) -> Result<Scope, String> {
        if subjects == Subject::Figures {
            let (how, of) = match self.takes("for") {
                true => (self.how()?, self.list(Subject::Contenders)?),
                false => (Quantifier::Every, self.vocabulary.contenders.clone()),
            };
            return match how {
                Quantifier::Mean => {
                    Err(self.expected("contenders one by one, and no mean of them"))
                }
                how => Ok(Scope { names: of, quantifier: how }),
            };
        }
        if self.takes("in") {
            let how = self.how()?;
            let of = self.list(Subject::Figures)?;
            return Ok(Scope { names: of, quantifier: how });
        }
        if self.peek().is_some() {
            return Err(self.expected("the end of the statement or `in`"));
        }
        let figures = figures.ok_or_else(|| {
            self.expected("`in` with figures, here or as the key `in` of the claim")
        })?;
        let mut own = Parser::new(figures, self.vocabulary);
        let how = own.how()?;
        let of = own.rest_as_figures()?;
        Ok(Scope { names: of, quantifier: how })
    }

    fn how(&mut self) -> Result<Quantifier, String> {
        if self.takes("every") {
            return Ok(Quantifier::Every);
        }
        if self.takes("most") {
            self.expects("of")?;
            return Ok(Quantifier::Most);
        }
        if self.takes("the") {
            self.expects("mean")?;
            self.expects("of")?;
            return Ok(Quantifier::Mean);
        }
        if self.takes("at") {
            self.expects("least")?;
            let number = self.peek().and_then(|word| word.parse().ok());
            let number = number.ok_or_else(|| self.expected("a number of figures"))?;
            self.at += 1;
            self.expects("of")?;
            return Ok(Quantifier::AtLeast(number));
        }
        Ok(Quantifier::Every)
    }
}

fn outcome(verb: &str) -> Option<OutcomePredicate> {
    match verb {
        "fails" | "fail" => Some(OutcomePredicate::Fails),
        "crashes" | "crash" => Some(OutcomePredicate::Crashes),
        "completes" | "complete" => Some(OutcomePredicate::Completes),
        _ => None,
    }
}

/// Parses the number of `1st`, `2nd`, `3rd`, `4th`.
fn place_number(word: &str) -> Option<usize> {
    let ends = ["st", "nd", "rd", "th"];
    let digits = ends.iter().find_map(|end| word.strip_suffix(end))?;
    digits.parse().ok().filter(|place| *place > 0)
}

/// Returns an error if a written unit differs from the unit of a figure. Figures without a unit
/// accept any unit.
fn check_unit(
    (what, unit): &Unitful<'_>,
    scope: &Scope,
    vocabulary: &Vocabulary,
) -> Result<(), String> {
    let Some(unit) = unit else {
        return Ok(());
    };
    let Predicate::Bound { who, .. } = what else {
        return Ok(());
    };
    for path in scope.names.iter().chain(who) {
        let known = vocabulary.unit(path);
        if !known.is_empty() && known != *unit {
            return Err(format!("`{unit}` is not the unit of {path}, which is {known}"));
        }
    }
    Ok(())
}

/// Parses contenders and figures of the form `ext4, xfs in TEST/PHASE/METRIC`.
///
/// # Errors
/// Returns an error in one line, with the unknown word and the expected input.
pub fn parse_cells(
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<(Vec<String>, Vec<String>), String> {
    let mut parser = Parser::new(text, vocabulary);
    let contenders = parser.list(Subject::Contenders)?;
    parser.expects("in")?;
    Ok((contenders, parser.rest_as_figures()?))
}

/// Parses figures such as `TEST/PHASE/METRIC, TEST/*/METRIC but TEST/OTHER/METRIC`.
///
/// # Errors
/// Returns an error if the text is invalid or a figure is unknown.
pub fn parse_paths(text: &str, vocabulary: &Vocabulary) -> Result<Vec<String>, String> {
    Parser::new(text, vocabulary).rest_as_figures()
}
