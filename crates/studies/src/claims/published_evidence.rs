//! The figures of a study as evidence: single values as printed, compared without statistics.

use model::Direction;
use stats::RoundOutcome;

use crate::claims::evidence::{
    Comparison, Evidence, FigureRef, MeasuredNumber, ObservedValue, Ranking, Unknown,
};
use crate::figures::{FigureStatus, FigureTable, FigureValue};

/// The printed figures of a study.
#[derive(Clone, Copy, Debug)]
pub struct PublishedEvidence<'a>(pub &'a FigureTable);

impl Evidence for PublishedEvidence<'_> {
    fn value(&self, place: FigureRef<'_>) -> ObservedValue {
        match place.figures {
            [figure] => self.one(place.contender, figure),
            figures => self.mean(place.contender, figures),
        }
    }

    fn compare(&self, one: FigureRef<'_>, other: FigureRef<'_>) -> Option<Comparison> {
        let (ObservedValue::Number(a), ObservedValue::Number(b)) =
            (self.value(one), self.value(other))
        else {
            return None;
        };
        if a.unit != b.unit {
            return None;
        }
        // Means are shares of the best, so higher is better.
        let is_mean = one.figures.len() != 1;
        let higher = is_mean || self.is_higher_better(&one.figures[0]);
        Some(compare(&a, &b, higher))
    }

    fn is_higher_better(&self, figure: &str) -> bool {
        let place = self.0.index_of(figure);
        place.is_some_and(|place| self.0.figures[place].direction == Direction::Higher)
    }

    fn is_other_machine(&self, _: FigureRef<'_>) -> bool {
        false
    }

    fn is_measured(&self) -> bool {
        false
    }
}

impl PublishedEvidence<'_> {
    fn one(&self, contender: &str, path: &str) -> ObservedValue {
        let Some((_, cell)) = self.0.value(contender, path) else {
            return ObservedValue::Unknown(Unknown::NoFigure);
        };
        match (self.range(cell, path), cell.status) {
            (Some((low, high)), _) => ObservedValue::Number(MeasuredNumber {
                low,
                high,
                shown: display_value(cell),
                unit: cell.unit.clone(),
            }),
            (None, status) => {
                let outcome = match status {
                    FigureStatus::Failed => RoundOutcome::Failed,
                    FigureStatus::Crashed => RoundOutcome::Crashed,
                    FigureStatus::Invalid => RoundOutcome::Invalid,
                    FigureStatus::Ok | FigureStatus::NotRun | FigureStatus::Missing => {
                        let why = match cell.note.is_empty() {
                            true => status.name(),
                            false => &cell.note,
                        };
                        return ObservedValue::Unknown(Unknown::Text(why.to_owned()));
                    }
                };
                ObservedValue::Outcome(outcome, cell.note.clone())
            }
        }
    }

    /// Returns the bounds of a number; a number printed as a lower bound has no upper bound. A rate
    /// too fast to be timed is above all timed rates: a phase with as many operations took longer
    /// there.
    fn range(&self, cell: &FigureValue, path: &str) -> Option<(f64, f64)> {
        if let Some(number) = cell.value {
            return Some(match cell.censored {
                true => (number.next_up(), f64::INFINITY),
                false => (number, number),
            });
        }
        if cell.range.is_some() {
            return cell.range;
        }
        let figure = self.0.index_of(path).filter(|_| cell.censored)?;
        let contenders = 0..self.0.contenders.len();
        let timed = contenders.filter_map(|one| {
            let cell = self.0.cell(one, figure)?;
            let end = cell.value.or(cell.range.map(|(_, high)| high))?;
            end.is_finite().then_some(end)
        });
        Some((timed.fold(0.0, f64::max).next_up(), f64::INFINITY))
    }

    /// Returns the geometric mean of the contender's shares of the best in each figure. A contender
    /// that lacks a figure has no mean.
    fn mean(&self, contender: &str, figures: &[String]) -> ObservedValue {
        let (mut low, mut high) = (0.0, 0.0);
        for path in figures {
            let number = match self.one(contender, path) {
                ObservedValue::Number(number) => number,
                other => return other,
            };
            let [worst, best] = self.share_of_best(&number, path);
            low += worst.ln();
            high += best.ln();
        }
        let count = figures.len().max(1) as f64;
        let [low, high] = [low, high].map(|sum: f64| (sum / count).exp());
        ObservedValue::Number(MeasuredNumber {
            low,
            high,
            shown: format!("{low:.3}"),
            unit: "of the best".to_owned(),
        })
    }

    /// Returns the minimum and the maximum of a number as a share of the best of its figure.
    fn share_of_best(&self, number: &MeasuredNumber, path: &str) -> [f64; 2] {
        let all = self.0.contenders.iter();
        let numbers = all.filter_map(|c| match self.one(&c.name, path) {
            ObservedValue::Number(number) => Some(number),
            _ => None,
        });
        if self.is_higher_better(path) {
            let best = numbers.map(|n| n.low).fold(0.0, f64::max);
            [number.low / best, number.high / best]
        } else {
            let best = numbers.map(|n| n.high).fold(f64::INFINITY, f64::min);
            [best / number.high, best / number.low]
        }
    }
}

/// Formats a cell for tables: its number, or the reason for its absence.
pub(crate) fn display_value(cell: &FigureValue) -> String {
    match (cell.value, cell.range) {
        (Some(_), _) if cell.censored => format!("above {}", cell.printed),
        _ if cell.censored => "too fast to time".to_owned(),
        (_, Some((low, high))) => format!("{low} to {high}"),
        (Some(_), None) => cell.printed.clone(),
        (None, None) => cell.status.name().to_owned(),
    }
}

/// Compares two numbers that are known only by their bounds.
fn compare(a: &MeasuredNumber, b: &MeasuredNumber, higher_is_better: bool) -> Comparison {
    let order = match () {
        () if a.low == a.high && (a.low, a.high) == (b.low, b.high) => Ranking::Same,
        () if a.low > b.high => above(higher_is_better),
        () if a.high < b.low => above(!higher_is_better),
        // A range may begin at another number: they may be equal, and only one of them may be
        // better.
        () if a.low == b.high => not_below(higher_is_better),
        () if a.high == b.low => not_below(!higher_is_better),
        () => Ranking::Undecided,
    };
    Comparison { low: quotient(a.low, b.high), high: quotient(a.high, b.low), order }
}

const fn above(is_better: bool) -> Ranking {
    match is_better {
        true => Ranking::Better,
        false => Ranking::Worse,
    }
}

const fn not_below(is_better: bool) -> Ranking {
    match is_better {
        true => Ranking::NotWorse,
        false => Ranking::NotBetter,
    }
}

/// Divides two numbers; equal numbers give 1, even if both are zero.
fn quotient(a: f64, b: f64) -> f64 {
    match a == b {
        true => 1.0,
        false => a / b,
    }
}
