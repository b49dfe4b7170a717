//! Bytes that cells write to their devices: estimated before and counted after each cell. Pure.

use std::collections::BTreeMap;

use model::op::OpUnit;
use model::{BackendKind, Bytes, Campaign, Cell, Contender, MkfsWriteEstimate, PhaseResult, Test};

use crate::plan::work;

/// Factor of the bytes counted on a loop device. With discards off, the device cannot zero blocks
/// itself, so the kernel writes the zeros and counts them twice.
const COUNTED_ON_LOOP: u64 = 2;

/// Estimates the bytes that one `mkfs` of a contender writes, as counted by the device.
pub fn mkfs_estimate(campaign: &Campaign, contender: &Contender) -> Bytes {
    let commands = &contender.filesystem.commands;
    if campaign.backend == BackendKind::Dir || commands.mkfs.is_empty() || !commands.need_device() {
        return Bytes(0);
    }
    let once = commands.mkfs_writes.unwrap_or(MkfsWriteEstimate::LITTLE);
    let once = once.estimate_for(campaign.size).0;
    match campaign.backend {
        BackendKind::Loop if campaign.device.is_none() => {
            Bytes(once.saturating_mul(COUNTED_ON_LOOP))
        }
        _ => Bytes(once),
    }
}

/// Estimates the bytes written by ageing a contender before a test that does not create the
/// filesystem itself. If aged states are kept, one test per round ages a blank image, and every
/// other test restores it.
pub fn ageing_estimate(campaign: &Campaign, contender: &Contender) -> Bytes {
    let Some(age) = &contender.own.age else {
        return Bytes(0);
    };
    let once = age.write_estimate(campaign.size);
    if !campaign.keep_aged {
        return once;
    }
    let tests: usize = campaign.suites.iter().map(|suite| suite.tests.len()).sum();
    let each = once.0.div_ceil(tests.max(1) as u64);
    Bytes(each.saturating_add(campaign.size.0))
}

/// Returns the number of times a cell of this test creates the filesystem: once before the first
/// phase, unless phases do.
pub fn mkfs_count(test: &Test) -> u64 {
    let phases = test.phases.iter().filter(|phase| phase.op.creates_filesystem());
    (phases.count() as u64).max(1)
}

/// Returns the bytes a test writes to files without repetitions.
pub fn test_estimate(test: &Test) -> Bytes {
    let works = work::estimate_phases(test).into_iter();
    Bytes(works.fold(0, |sum, work| sum.saturating_add(work.written.0)))
}

/// Upper estimates of the metadata and journals that ext4, XFS and btrfs write for an fsync and for
/// an operation on a name: btrfs, which writes the most, needed 75 KiB and 3 KiB in suites durable
/// and metadata.
const PER_SYNC: u64 = 128 << 10;
const PER_NAME: u64 = 4 << 10;

/// Returns the bytes of metadata and journals that a cell of a test may write in addition to its
/// data, without repetitions.
pub fn metadata_estimate(test: &Test) -> Bytes {
    let works = test.phases.iter().zip(work::estimate_phases(test));
    Bytes(works.fold(0, |sum: u64, (phase, work)| {
        let names = match phase.op.info().each() {
            OpUnit::Name => work.operations,
            _ => 0,
        };
        let names = names.saturating_mul(PER_NAME);
        sum.saturating_add(work.syncs.saturating_mul(PER_SYNC)).saturating_add(names)
    }))
}

/// Estimates the bytes written by each cell of a campaign.
#[derive(Clone, Debug)]
pub struct WriteEstimates {
    /// Bytes written by `mkfs` of each contender.
    mkfs: BTreeMap<String, u64>,
    /// Bytes written by ageing each contender.
    ages: BTreeMap<String, u64>,
    /// Writes by suite and test.
    tests: BTreeMap<String, BTreeMap<String, TestWrites>>,
}

#[derive(Clone, Copy, Debug)]
struct TestWrites {
    /// Bytes written to files without repetitions.
    once: u64,
    /// Bytes of metadata and journals without repetitions, at most.
    metadata: u64,
    /// Number of times the filesystem is created.
    made: u64,
    /// Whether the filesystem is created before the first phase, outside the measured phases.
    before: bool,
}

impl WriteEstimates {
    /// Creates the estimates for a campaign.
    pub fn from_campaign(campaign: &Campaign) -> Self {
        let contenders = campaign.contenders.iter();
        let mkfs = contenders.map(|c| (c.name.clone(), mkfs_estimate(campaign, c).0));
        let contenders = campaign.contenders.iter();
        let ages = contenders.map(|c| (c.name.clone(), ageing_estimate(campaign, c).0));
        let of = |test: &Test| TestWrites {
            once: test_estimate(test).0,
            metadata: metadata_estimate(test).0,
            made: mkfs_count(test),
            before: !test.makes_filesystem(),
        };
        let mut tests: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        for test in campaign.suites.iter().flat_map(|suite| &suite.tests) {
            let suite = tests.entry(test.suite.clone()).or_default();
            suite.insert(test.name.clone(), of(test));
        }
        Self { mkfs: mkfs.collect(), ages: ages.collect(), tests }
    }

    /// Returns the bytes a cell writes without repetitions.
    pub fn expected(&self, cell: &Cell) -> Bytes {
        let Some(test) = self.test(cell) else {
            return Bytes(0);
        };
        let made = self.mkfs(cell).saturating_mul(test.made);
        let before = made.saturating_add(self.age(cell, test));
        Bytes(test.once.saturating_add(before))
    }

    /// Returns the bytes of metadata and journals that a cell may write in addition.
    pub fn metadata(&self, cell: &Cell) -> Bytes {
        Bytes(self.test(cell).map_or(0, |test| test.metadata))
    }

    /// Returns the bytes several cells write without repetitions.
    pub fn total<'c>(&self, cells: impl IntoIterator<Item = &'c Cell>) -> Bytes {
        let each = cells.into_iter().map(|cell| self.expected(cell).0);
        Bytes(each.fold(0, u64::saturating_add))
    }

    /// Returns the bytes a cell wrote: as counted by its device, or else by the agent. Adds the
    /// estimates for ageing and for a `mkfs` before the first phase, which are not counted.
    pub fn actual(&self, cell: &Cell, phases: &[PhaseResult]) -> Bytes {
        let before = match self.test(cell) {
            Some(test) if test.before => self.mkfs(cell).saturating_add(self.age(cell, test)),
            _ => 0,
        };
        let each =
            phases.iter().map(|phase| phase.device.map_or(phase.bytes_written, |d| d.write_bytes));
        Bytes(each.fold(before, |sum, bytes| sum.saturating_add(bytes.0)))
    }

    fn test(&self, cell: &Cell) -> Option<TestWrites> {
        self.tests.get(&cell.suite)?.get(&cell.test).copied()
    }

    fn age(&self, cell: &Cell, test: TestWrites) -> u64 {
        let age = self.ages.get(&cell.contender).filter(|_| test.before);
        age.copied().unwrap_or(0)
    }

    fn mkfs(&self, cell: &Cell) -> u64 {
        self.mkfs.get(&cell.contender).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use model::{
        AccessPattern, AgeProfile, AgeingSpec, CacheState, Churn, DeviceCounters, Io, Mkfs, Op,
        PerMille, Phase, SyncAtEnd,
    };

    use super::*;
    use crate::plan::{fixture, plan};

    fn phase(op: Op) -> Phase {
        Phase {
            name: "phase".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op,
        }
    }

    /// Returns a campaign of one contender on an image of 64 MiB. Its test writes a million bytes
    /// and has these additional phases.
    fn campaign(more: Vec<Op>) -> Campaign {
        let mut campaign = fixture::campaign(1, 1, 1, 1);
        let commands = &mut campaign.contenders[0].filesystem.commands;
        commands.mkfs = vec!["mkfs.x".into(), "{device}".into()];
        commands.mkfs_writes =
            Some(MkfsWriteEstimate { bytes: Bytes(1000), one_in: 64.try_into().unwrap() });
        let write = Op::Io(Io {
            size: Some(Bytes(1_000_000)),
            ..Io::new("f", AccessPattern::Write, Bytes(1000))
        });
        let phases = more.into_iter().chain([write]).map(phase);
        campaign.suites[0].tests[0].phases = phases.collect();
        campaign
    }

    #[test]
    fn counts_each_mkfs_of_a_test_and_at_least_one() {
        let once = 1000 + Bytes::mib(1).0;
        for (more, times) in
            [(vec![], 1), (vec![Op::Mkfs(Mkfs)], 1), (vec![Op::Mkfs(Mkfs), Op::Mkfs(Mkfs)], 2)]
        {
            let on_image = campaign(more);
            let expected = |campaign: &Campaign| {
                WriteEstimates::from_campaign(campaign).total(&plan(campaign)).0
            };
            assert_eq!(expected(&on_image), 1_000_000 + 2 * once * times);
            let on_device = Campaign { device: Some("/dev/sdx".into()), ..on_image.clone() };
            assert_eq!(expected(&on_device), 1_000_000 + once * times);
            let in_directory = Campaign { backend: BackendKind::Dir, ..on_image };
            assert_eq!(expected(&in_directory), 1_000_000);
        }
    }

    #[test]
    fn ageing_counts_before_a_test_that_does_not_make_its_filesystem() {
        let age = AgeingSpec {
            profile: AgeProfile {
                name: "even".into(),
                title: "Even".into(),
                source: "a test".into(),
                churn: Churn::DeleteAndCreate,
                turnover: 3,
                batch: 1,
                sizes: Vec::new(),
                ages: Vec::new(),
                depths: Vec::new(),
            },
            fill: PerMille(500),
            operations: None,
            layout: None,
        };
        for (more, times) in [(vec![], 4), (vec![Op::Mkfs(Mkfs)], 0)] {
            let fresh = campaign(more);
            let mut aged = fresh.clone();
            aged.contenders[0].own.age = Some(age.clone());
            let cell = &plan(&fresh)[0];
            let written = times * aged.size.0 / 2;
            let of = |campaign: &Campaign| {
                let writes = WriteEstimates::from_campaign(campaign);
                let conditions = crate::plan::cost::CostInputs::from_campaign(campaign);
                [
                    writes.expected(cell).0,
                    writes.actual(cell, &[]).0,
                    if times > 0 { conditions.age.0 } else { 0 },
                ]
            };
            assert_eq!(of(&aged), of(&fresh).map(|bytes| bytes + written));
        }
    }

    #[test]
    fn adds_the_estimate_before_the_phases_to_device_counts() {
        for (more, before) in [(vec![], 2 * (1000 + Bytes::mib(1).0)), (vec![Op::Mkfs(Mkfs)], 0)] {
            let campaign = campaign(more);
            let cell = &plan(&campaign)[0];
            let phases = &campaign.suites[0].tests[0].phases;
            let results = phases.iter().map(|phase| PhaseResult {
                device: Some(DeviceCounters { write_bytes: Bytes(7), ..DeviceCounters::default() }),
                ..PhaseResult::not_run(phase)
            });
            let results: Vec<_> = results.collect();
            let counted = WriteEstimates::from_campaign(&campaign).actual(cell, &results);
            assert_eq!(counted.0, before + 7 * phases.len() as u64);
        }
    }
}
