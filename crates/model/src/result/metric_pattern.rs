//! Patterns for results, as written by users and scripts: `bonnie-block/write`, `tree/*:cpu`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Metric, Phase, Test};

/// Pattern for results: `TEST/PHASE` or `TEST/PHASE:METRIC`; `*` matches any characters.
///
/// A sweep point matches both the name of the sweep and its own name. Without a metric, the pattern
/// matches the primary metric of the phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResultSelector {
    test: String,
    phase: String,
    metric: Option<Metric>,
}

impl ResultSelector {
    /// Returns true if a phase of a test matches.
    pub fn matches(&self, test: &Test, phase: &Phase) -> bool {
        let sweep = test.sweep.as_ref().map(|point| point.sweep.as_str());
        self.matches_phase(&test.name, sweep, &phase.name)
    }

    /// Returns true if a phase matches. The test part is compared with the names of the test and of
    /// its sweep, if any.
    pub fn matches_phase(&self, test: &str, sweep: Option<&str>, phase: &str) -> bool {
        let of_test = matches(&self.test, test) || sweep.is_some_and(|s| matches(&self.test, s));
        of_test && matches(&self.phase, phase)
    }

    /// Returns the metric, or `None` if the pattern has none.
    pub const fn metric(&self) -> Option<Metric> {
        self.metric
    }

    /// Returns true if a metric matches. `primary_metric` specifies whether it is the primary
    /// metric of the phase.
    pub fn matches_metric(&self, metric: Metric, primary_metric: bool) -> bool {
        match self.metric {
            Some(named) => named == metric,
            None => primary_metric,
        }
    }
}

impl FromStr for ResultSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` names no result: TEST/PHASE or TEST/PHASE:METRIC");
        let (test, rest) = text.split_once('/').ok_or_else(expected)?;
        let (phase, metric) = match rest.split_once(':') {
            Some((phase, metric)) => (phase, Some(metric.parse::<Metric>()?)),
            None => (rest, None),
        };
        let is_name = |part: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
            !part.is_empty() && part.chars().all(known)
        };
        if !is_name(test) || !is_name(phase) {
            return Err(expected());
        }
        Ok(Self { test: test.to_owned(), phase: phase.to_owned(), metric })
    }
}

impl fmt::Display for ResultSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.test, self.phase)?;
        match self.metric {
            Some(metric) => write!(f, ":{metric}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for ResultSelector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ResultSelector> for String {
    fn from(pattern: ResultSelector) -> Self {
        pattern.to_string()
    }
}

/// Returns true if the pattern matches a name; `*` matches any characters, or none.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The earliest match keeps the longest rest for the parts that follow.
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pattern_survives_a_round_trip() {
        for text in ["tree/list", "bonnie-files/create-*", "mixed/*:latency-p99"] {
            let pattern: ResultSelector = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
            let json = serde_json::to_string(&pattern).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<ResultSelector>(&json).unwrap(), pattern);
        }
        for text in ["", "tree", "tree/", "/list", "tree/list:", "tree/list:speed", "a b/c"] {
            let error = text.parse::<ResultSelector>().unwrap_err();
            assert_eq!(error.lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn points_go_by_the_name_of_their_sweep() {
        let pattern: ResultSelector = "iozone/read".parse().unwrap();
        assert!(pattern.matches_phase("iozone-1m-8k", Some("iozone"), "read"));
        assert!(!pattern.matches_phase("iozone-1m-8k", None, "read"));
        assert!(!pattern.matches_phase("iozone-1m-8k", Some("iozone"), "reread"));
    }

    #[test]
    fn without_a_metric_the_one_that_judges_is_meant() {
        let plain: ResultSelector = "tree/list".parse().unwrap();
        assert!(
            plain.matches_metric(Metric::Elapsed, true)
                && !plain.matches_metric(Metric::Cpu, false)
        );
        let named: ResultSelector = "tree/list:cpu".parse().unwrap();
        assert!(
            !named.matches_metric(Metric::Elapsed, true)
                && named.matches_metric(Metric::Cpu, false)
        );
    }

    /// Matches by trying every length of each `*`.
    fn by_trying(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=name.len()).any(|n| by_trying(rest, &name[n..])),
            ([p, pattern @ ..], [n, name @ ..]) if p == n => by_trying(pattern, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn star_matches_like_exhaustive_search(pattern in "[ab*]{0,6}", name in "[ab]{0,7}") {
            let found = matches(&pattern, &name);
            prop_assert_eq!(found, by_trying(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn any_text_is_a_pattern_or_an_error_of_one_line(text in ".{0,30}") {
            if let Ok(pattern) = text.parse::<ResultSelector>() {
                prop_assert_eq!(pattern.to_string(), text);
            }
        }
    }
}
