//! Interference between the roles of a mix: compares each role by itself with the same role in the
//! mix.

use std::collections::BTreeMap;

use model::{CampaignResults, Direction, Mix, Op, Phase, Test};
use serde::Serialize;

use crate::ResultRow;
use model::Metric;

/// A role of a mix, compared with the same role alone in the same test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interference {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// The phase of the mix.
    pub phase: String,
    /// The role.
    pub role: String,
    /// The other roles of the mix.
    pub others: Vec<String>,
    /// Compared metric.
    pub metric: Metric,
    /// A pair for each contender, in the campaign's order.
    pub contenders: Vec<InterferenceValues>,
}

/// Medians of one contender over rounds, in the metric's unit. `None` if it has no value, or if a
/// round failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterferenceValues {
    /// Median of the role by itself.
    pub alone: Option<f64>,
    /// Median of the role in the mix.
    #[serde(rename = "beside")]
    pub mixed: Option<f64>,
}

impl InterferenceValues {
    /// Returns the factor by which the role is worse in the mix than by itself; below one if it is
    /// better.
    pub fn times_worse(&self, direction: Direction) -> Option<f64> {
        let (alone, beside) = self.alone.zip(self.mixed)?;
        let ratio = match direction {
            Direction::Higher => alone / beside,
            Direction::Lower | Direction::Neutral => beside / alone,
        };
        ratio.is_finite().then_some(ratio)
    }
}

/// Returns every role that ran both alone and in a mix, in the order of the tests.
pub(crate) fn interference(results: &CampaignResults, rows: &[ResultRow]) -> Vec<Interference> {
    let key =
        |row: &ResultRow| (row.suite.clone(), row.test.clone(), row.phase.clone(), row.metric);
    let rows: BTreeMap<_, &ResultRow> = rows.iter().map(|row| (key(row), row)).collect();
    let row = |test: &Test, phase: &Phase, metric| {
        let key = (test.suite.clone(), test.name.clone(), phase.name.clone(), metric);
        rows.get(&key).copied()
    };
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let mut all = Vec::new();
    for test in tests {
        for phase in &test.phases {
            let Op::RoleResult(part) = &phase.op else {
                continue;
            };
            let Some((metric, before)) = alone(test, &part.mix, &part.role) else {
                continue;
            };
            let Some((before, beside)) = row(test, before, metric).zip(row(test, phase, metric))
            else {
                continue;
            };
            let others = part.mix.roles.iter().map(|role| &role.name);
            all.push(Interference {
                suite: test.suite.clone(),
                test: test.name.clone(),
                phase: part.mix_phase.clone(),
                role: part.role.clone(),
                others: others.filter(|name| **name != part.role).cloned().collect(),
                metric,
                contenders: pairs(before, beside),
            });
        }
    }
    all
}

/// Returns the phase in which a role of a mix runs by itself, and the compared metric.
fn alone<'a>(test: &'a Test, mix: &Mix, role: &str) -> Option<(Metric, &'a Phase)> {
    let role = mix.role(role)?;
    let is_alone =
        |phase: &&Phase| matches!(&phase.op, Op::Mix(other) if other.roles[..] == [role.clone()]);
    let phase = test.phases.iter().find(is_alone)?;
    Some((role.interference_metric(), phase))
}

fn pairs(before: &ResultRow, beside: &ResultRow) -> Vec<InterferenceValues> {
    let median = |row: &ResultRow, contender: usize| {
        let result = &row.results[contender];
        let sound = result.estimate.filter(|_| !result.has_failed_rounds());
        sound.map(|estimate| estimate.median)
    };
    let contenders = 0..before.results.len();
    let pair = |contender| InterferenceValues {
        alone: median(before, contender),
        mixed: median(beside, contender),
    };
    contenders.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};
    use model::{Direction, Metric};

    #[test]
    fn compares_each_role_in_the_mix_with_itself() {
        let analysis = analyse(&fixture::mixed());
        let [deliver, backup] = &analysis.interference[..] else {
            panic!("{:?}", analysis.interference)
        };
        assert_eq!((deliver.role.as_str(), deliver.metric), ("deliver", Metric::SyncP99));
        assert_eq!(deliver.others, ["backup"]);
        assert_eq!((backup.role.as_str(), backup.metric), ("backup", Metric::Throughput));
        let worse = |one: &super::Interference, contender: usize| {
            let direction = one.metric.direction();
            let times = one.contenders[contender].times_worse(direction)?;
            Some((times * 10.0).round() / 10.0)
        };
        assert_eq!(worse(deliver, 0), Some(10.0));
        assert_eq!(worse(backup, 0), Some(2.0));
        // A contender that failed in a round has no value, and so no comparison.
        assert_eq!(worse(deliver, 2), None);
        assert!(deliver.contenders[2].alone.is_some());
    }

    #[test]
    fn a_missing_or_zero_value_has_no_comparison() {
        let of = |alone, beside| super::InterferenceValues { alone, mixed: beside };
        assert_eq!(of(Some(0.0), Some(1.0)).times_worse(Direction::Lower), None);
        assert_eq!(of(None, Some(1.0)).times_worse(Direction::Lower), None);
        assert_eq!(of(Some(4.0), Some(2.0)).times_worse(Direction::Higher), Some(2.0));
    }
}
