//! Behaviour of each contender on disks with faults, by kind of fault.

use model::{CampaignResults, Contender, DiskFaultKind, DiskFaults, Op, Phase, Status};
use serde::Serialize;

/// Faults of one kind for one contender, summed over rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSummary {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The kind.
    pub fault: DiskFaultKind,
    /// The sum over rounds; empty if the contender has no result.
    pub faults: DiskFaults,
    /// The reason that it has no result, if any.
    pub reason: Option<String>,
}

/// Faults of one contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContenderFaults {
    /// Name of the contender.
    pub contender: String,
    /// The phases, in the order of the suite.
    pub kinds: Vec<FaultSummary>,
}

/// Behaviour of a filesystem after a bit of a file was flipped on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlippedBitRecord {
    /// Number of flipped bits in contents of files.
    pub flipped: u32,
    /// Number of flipped bits that a program read without an error.
    pub undetected: u32,
}

/// Returns the faults of each contender. Empty if no phase damaged the disk.
pub fn disk_faults(results: &CampaignResults) -> Vec<ContenderFaults> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let phases = tests.flat_map(|test| test.phases.iter().map(move |phase| (&test.name, phase)));
    let phases: Vec<(&String, &Phase, DiskFaultKind)> = phases
        .filter_map(|(test, phase)| match &phase.op {
            Op::DiskFault(op) => Some((test, phase, op.fault)),
            _ => None,
        })
        .collect();
    if phases.is_empty() {
        return Vec::new();
    }
    let summary = |contender: &Contender, test: &str, phase: &Phase, fault: DiskFaultKind| {
        let mut sum = FaultSummary {
            test: test.to_owned(),
            phase: phase.name.clone(),
            fault,
            faults: DiskFaults::default(),
            reason: None,
        };
        let cells = results.cells.iter();
        let cells =
            cells.filter(|one| one.cell.contender == contender.name && one.cell.test == test);
        for cell in cells.filter_map(|stored| stored.result.as_ref()) {
            let result = cell.phases.iter().find(|result| result.phase == phase.name);
            match result.and_then(|result| Some((result, result.disk_faults.as_ref()?))) {
                Some((result, faults)) if result.status == Status::Ok => sum.faults.add(faults),
                _ => {
                    let of_phase = result.and_then(|result| result.failure.as_ref());
                    let failure = of_phase.or(cell.failure.as_ref());
                    let reason = failure.map(|failure| failure.reason.clone());
                    sum.reason = sum.reason.take().or(reason);
                }
            }
        }
        sum
    };
    let of_contender = |contender: &Contender| {
        let kinds =
            phases.iter().map(|(test, phase, fault)| summary(contender, test, phase, *fault));
        ContenderFaults { contender: contender.name.clone(), kinds: kinds.collect() }
    };
    results.campaign.contenders.iter().map(of_contender).collect()
}

impl ContenderFaults {
    /// Returns the record of flipped bits in contents of files, if any was tried.
    pub fn flipped_bits(&self) -> Option<FlippedBitRecord> {
        let flips = self.kinds.iter().filter(|one| one.fault == DiskFaultKind::BitFlip);
        let sum = flips.fold(FlippedBitRecord { flipped: 0, undetected: 0 }, |sum, one| {
            FlippedBitRecord {
                flipped: sum.flipped.saturating_add(one.faults.data.faults),
                undetected: sum.undetected.saturating_add(one.faults.data.wrong),
            }
        });
        (sum.flipped > 0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockContent, FaultVerdict};

    #[test]
    fn only_flipped_bits_in_data_show_whether_data_have_checksums() {
        let kind = |fault, block, verdict| {
            let mut faults = DiskFaults::default();
            faults.of(block).count(verdict);
            FaultSummary { test: "t".into(), phase: "p".into(), fault, faults, reason: None }
        };
        let other = vec![
            kind(DiskFaultKind::BitFlip, BlockContent::Other, FaultVerdict::Wrong),
            kind(DiskFaultKind::LostWrite, BlockContent::Data, FaultVerdict::Wrong),
        ];
        let mut one = ContenderFaults { contender: "x".into(), kinds: other };
        assert_eq!(one.flipped_bits(), None);
        one.kinds.push(kind(DiskFaultKind::BitFlip, BlockContent::Data, FaultVerdict::Reported));
        one.kinds.push(kind(DiskFaultKind::BitFlip, BlockContent::Data, FaultVerdict::Wrong));
        assert_eq!(one.flipped_bits(), Some(FlippedBitRecord { flipped: 2, undetected: 1 }));
    }
}
