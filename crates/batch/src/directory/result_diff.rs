//! Exact comparison of two results of the same cell, with the first difference. Pure.

use model::CellResult;
use serde_json::Value;

/// A named value of a cell's result, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// The phase or step and the metric: `tree-in.latency.3.0`.
    pub name: String,
    /// The value.
    pub value: String,
}

/// The difference between two results of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultDiff {
    /// Number of results that differ.
    pub results: usize,
    /// The first difference: name, first value and second value.
    pub first: (String, String, String),
}

/// Returns every value that the guest determined: status, phases, steps and features. Excludes
/// start and elapsed time on the host and the kernel log.
pub fn values(result: &CellResult) -> Vec<NamedValue> {
    let mut values = Vec::new();
    let value = |part: Result<Value, _>| part.expect("results hold only what JSON can say");
    walk("status", &value(serde_json::to_value(result.status)), &mut values);
    walk("", &value(serde_json::to_value(&result.phases)), &mut values);
    walk("", &value(serde_json::to_value(&result.steps)), &mut values);
    walk("features", &value(serde_json::to_value(&result.features)), &mut values);
    values
}

/// Returns the difference, or `None` if all values are equal.
pub fn difference(one: &[NamedValue], other: &[NamedValue]) -> Option<ResultDiff> {
    let nothing = NamedValue { name: String::new(), value: "nothing".to_owned() };
    let length = one.len().max(other.len());
    let pair = |n: usize| (one.get(n).unwrap_or(&nothing), other.get(n).unwrap_or(&nothing));
    let differing: Vec<_> = (0..length).map(pair).filter(|(a, b)| a != b).collect();
    let (a, b) = differing.first()?;
    let name = if a.name.is_empty() { &b.name } else { &a.name };
    Some(ResultDiff {
        results: differing.len(),
        first: (name.clone(), a.value.clone(), b.value.clone()),
    })
}

/// Names each value by its path; phases and steps use their names instead of their position.
fn walk(path: &str, value: &Value, into: &mut Vec<NamedValue>) {
    match value {
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                let own = ["phase", "step"].iter().find_map(|key| value.get(key)?.as_str());
                let name = own.map_or_else(|| number.to_string(), str::to_owned);
                walk(&joined(path, &name), value, into);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                walk(&joined(path, name), value, into);
            }
        }
        value => into.push(NamedValue { name: path.to_owned(), value: value.to_string() }),
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::Nanos;

    fn result() -> CellResult {
        fixture::result()
    }

    #[test]
    fn every_result_of_phases_and_steps_has_its_name_once() {
        let results = values(&result());
        let names: Vec<&str> = results.iter().map(|f| f.name.as_str()).collect();
        for name in ["write.wall", "rewrite.wall", "mkfs.elapsed"] {
            assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
        }
        assert!(!names.contains(&"started"));
    }

    #[test]
    fn a_nanosecond_is_a_difference_and_is_named() {
        let one = result();
        let mut other = one.clone();
        (other.started, other.elapsed) = (Nanos(1), Nanos(2));
        assert_eq!(difference(&values(&one), &values(&other)), None);
        other.phases[1].elapsed.0 += 1;
        let found = difference(&values(&one), &values(&other)).unwrap();
        let wall = one.phases[1].elapsed.0;
        assert_eq!(
            found.first,
            ("rewrite.wall".to_owned(), wall.to_string(), (wall + 1).to_string())
        );
        assert_eq!(found.results, 1);
        other.phases[1].operations += 1;
        let found = difference(&values(&one), &values(&other)).unwrap();
        assert_eq!(found.results, 2);
    }

    #[test]
    fn missing_values_are_a_difference() {
        let one = result();
        let mut other = one.clone();
        other.steps.clear();
        assert!(difference(&values(&one), &values(&other)).is_some());
        assert!(difference(&[], &values(&other)).is_some());
    }

    #[test]
    fn another_end_is_a_difference() {
        let one = result();
        let mut other = one.clone();
        other.status = model::Status::Crashed;
        let found = difference(&values(&one), &values(&other)).unwrap();
        assert_eq!(found.first.0, "status");
    }
}
