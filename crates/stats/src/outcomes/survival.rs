//! Losses of each contender in power cuts: by sequence of file operations, and in total.

use model::{
    CampaignResults, CellResult, Contender, Expectation, Op, Phase, Status, Survival, Test,
};
use serde::Serialize;

/// Power cuts of one contender in one phase, summed over rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceSurvival {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The expectation.
    pub expect: Expectation,
    /// The document that promises it, if any; otherwise it is an assumption of programs.
    pub promised_by: Option<String>,
    /// Whether the disk ignored flushes, so that losses do not count against the filesystem.
    pub ignores_flushes: bool,
    /// The sum over rounds; empty if the contender has no result.
    pub survival: Survival,
    /// The reason that it has no result, if any.
    pub reason: Option<String>,
}

/// Power cuts of one contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContenderSurvival {
    /// Name of the contender.
    pub contender: String,
    /// The phases, in the order of the suite.
    pub sequences: Vec<SequenceSurvival>,
}

/// Losses of synced files in power cuts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerCutRecord {
    /// Number of cuts.
    pub cuts: u32,
    /// Cuts that lost data or names of a completed sync.
    pub lost: u32,
    /// An example of a loss; empty without losses.
    pub worst: String,
    /// Source of a measurement that came with the program. `None` if this campaign measured it.
    pub shipped: Option<String>,
}

/// A phase that cuts the power.
struct PowerCutPhase<'a> {
    test: &'a Test,
    phase: &'a Phase,
    expect: Expectation,
    ignores_flushes: bool,
}

/// Returns the power cuts of each contender, or nothing if no phase cut the power.
pub fn survival(results: &CampaignResults) -> Vec<ContenderSurvival> {
    let tests = || results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let phases = || {
        tests().flat_map(|test| test.phases.iter().map(move |phase| (test, phase))).filter_map(
            |(test, phase)| match &phase.op {
                Op::PowerCut(op) => Some(PowerCutPhase {
                    test,
                    phase,
                    expect: op.expect,
                    ignores_flushes: op.ignores_flushes,
                }),
                Op::PowerCutSet(_) => {
                    let expect = Expectation::Promise;
                    Some(PowerCutPhase { test, phase, expect, ignores_flushes: false })
                }
                _ => None,
            },
        )
    };
    if phases().next().is_none() {
        return Vec::new();
    }
    let of_contender = |contender: &Contender| {
        let sequence = |one: PowerCutPhase<'_>| {
            let cells = results.cells.iter().filter(|stored| {
                stored.cell.contender == contender.name && stored.cell.test == one.test.name
            });
            SequenceSurvival {
                promised_by: contender.promise(one.expect).map(str::to_owned),
                ..sum(&one, cells.filter_map(|stored| stored.result.as_ref()))
            }
        };
        ContenderSurvival {
            contender: contender.name.clone(),
            sequences: phases().map(sequence).collect(),
        }
    };
    results.campaign.contenders.iter().map(of_contender).collect()
}

fn sum<'a>(
    one: &PowerCutPhase<'_>,
    cells: impl Iterator<Item = &'a CellResult>,
) -> SequenceSurvival {
    let phase = &one.phase.name;
    let mut sum = Survival::default();
    let mut reason = None;
    for cell in cells {
        let Some(result) = cell.phases.iter().find(|result| result.phase == *phase) else {
            continue;
        };
        if let (Status::Ok, Some(survival)) = (result.status, &result.survival) {
            sum.add(survival);
        } else {
            let failure = result.failure.as_ref().or(cell.failure.as_ref());
            reason = reason.or_else(|| failure.map(|failure| failure.reason.clone()));
        }
    }
    SequenceSurvival {
        test: one.test.name.clone(),
        phase: phase.clone(),
        expect: one.expect,
        promised_by: None,
        ignores_flushes: one.ignores_flushes,
        survival: sum,
        reason,
    }
}

impl ContenderSurvival {
    /// Returns the sum of the phases with this expectation, with an example of a loss. Phases on a
    /// disk that ignores flushes do not count.
    pub fn total(&self, expect: Expectation) -> Option<PowerCutRecord> {
        let counted =
            self.sequences.iter().filter(|one| one.expect == expect && !one.ignores_flushes);
        let mut record = PowerCutRecord { cuts: 0, lost: 0, worst: String::new(), shipped: None };
        for SequenceSurvival { phase, survival, .. } in counted {
            record.cuts = record.cuts.saturating_add(survival.cuts);
            record.lost = record.lost.saturating_add(survival.lost());
            if let (true, Some(broken)) = (record.worst.is_empty(), survival.broken.first()) {
                record.worst = format!("{phase}, after `{}`: {}", broken.after, broken.lost);
            }
        }
        (record.cuts > 0).then_some(record)
    }

    /// Returns cuts, and cuts with a loss, of the phases that a document promises, or else of the
    /// others, which programs assume. Phases on a disk that ignores flushes do not count.
    pub fn by_promise(&self, is_promised: bool) -> [u32; 2] {
        let counted = self
            .sequences
            .iter()
            .filter(|one| one.promised_by.is_some() == is_promised && !one.ignores_flushes);
        counted.fold([0_u32; 2], |[cuts, lost], one| {
            let survival = &one.survival;
            [cuts.saturating_add(survival.cuts), lost.saturating_add(survival.lost())]
        })
    }

    /// Returns cuts, cuts with a loss, and cuts without a mount on a disk that ignores flushes.
    /// Returns `None` without such cuts.
    pub fn without_flushes(&self) -> Option<[u32; 3]> {
        let each = self.sequences.iter().filter(|one| one.ignores_flushes);
        let sum = each.fold([0_u32; 3], |[cuts, lost, unmountable], one| {
            let survival = &one.survival;
            [
                cuts.saturating_add(survival.cuts),
                lost.saturating_add(survival.lost()),
                unmountable.saturating_add(survival.unmountable),
            ]
        });
        (sum[0] > 0).then_some(sum)
    }
}

/// Returns the losses of a contender, if known: from this campaign, or else from the
/// catalog if the contender has the options that were measured, the default ones.
pub(crate) fn record(all: &[ContenderSurvival], contender: &Contender) -> Option<PowerCutRecord> {
    let own = all.iter().find(|one| one.contender == contender.name);
    own.and_then(|one| one.total(Expectation::Promise)).or_else(|| {
        let is_default = contender.mkfs_options.is_empty() && contender.mount_options.is_empty();
        let known = contender.filesystem.facts.power_cuts.as_ref().filter(|_| is_default)?;
        Some(PowerCutRecord {
            cuts: known.cuts,
            lost: known.lost,
            worst: known.worst.clone(),
            shipped: Some(known.source.clone()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(expect: Expectation, cuts: u32, held: u32) -> SequenceSurvival {
        let survival = Survival { cuts, held, ..Survival::default() };
        let [test, phase] = ["t", "p"].map(str::to_owned);
        let (promised_by, reason) = (None, None);
        SequenceSurvival {
            test,
            phase,
            expect,
            promised_by,
            ignores_flushes: false,
            survival,
            reason,
        }
    }

    #[test]
    fn losses_of_synced_files_are_added_up_and_others_are_not() {
        use Expectation::{Order, Promise};
        let sequences = vec![
            sequence(Promise, 10, 8),
            sequence(Order, 10, 1),
            sequence(Promise, 5, 5),
            sequence(Promise, 0, 0),
        ];
        let one = ContenderSurvival { contender: "x".into(), sequences };
        let total = one.total(Promise).unwrap();
        assert_eq!((total.cuts, total.lost), (15, 2));
        let untested = ContenderSurvival { sequences: vec![sequence(Order, 1, 1)], ..one };
        assert_eq!(untested.total(Promise), None, "without cuts the result is unknown");
    }

    #[test]
    fn a_loss_of_a_disk_that_ignores_flushes_is_none_of_the_filesystem() {
        use Expectation::Promise;
        let mut ignored = sequence(Promise, 10, 0);
        ignored.ignores_flushes = true;
        ignored.survival.unmountable = 3;
        let sequences = vec![sequence(Promise, 10, 10), ignored];
        let one = ContenderSurvival { contender: "x".into(), sequences };
        let total = one.total(Promise).unwrap();
        assert_eq!((total.cuts, total.lost), (10, 0));
        assert_eq!(one.without_flushes(), Some([10, 10, 3]));
    }

    #[test]
    fn broken_promises_and_broken_assumptions_are_counted_apart() {
        use Expectation::{Order, Promise, Replacement};
        let promised = |sequence: SequenceSurvival| {
            let promised_by = Some("a manual page".to_owned());
            SequenceSurvival { promised_by, ..sequence }
        };
        let sequences = vec![
            promised(sequence(Promise, 10, 9)),
            promised(sequence(Replacement, 10, 8)),
            sequence(Order, 10, 3),
        ];
        let one = ContenderSurvival { contender: "x".into(), sequences };
        assert_eq!(one.by_promise(true), [20, 3]);
        assert_eq!(one.by_promise(false), [10, 7]);
    }

    #[test]
    fn counts_of_imported_reports_do_not_overflow() {
        let most = sequence(Expectation::Promise, u32::MAX, 0);
        let wrong = sequence(Expectation::Promise, 1, u32::MAX);
        let sequences = vec![most.clone(), most, wrong];
        let one = ContenderSurvival { contender: "x".into(), sequences };
        let total = one.total(Expectation::Promise).unwrap();
        assert_eq!((total.cuts, total.lost), (u32::MAX, u32::MAX));
    }
}
