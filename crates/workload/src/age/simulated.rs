//! Simulated ageing target of any capacity and a profile, for tests.

use std::collections::BTreeMap;
use std::io;

use model::{
    AgeBin, AgeProfile, AgeingResult, AgeingSpec, AgeingStopReason, Bytes, Churn, DepthBin,
    PerMille, SizeBin, SpaceUsage,
};
use nix::libc::{EIO, ENOSPC};
use proptest::prelude::*;

use crate::age::ager::Ager;
use crate::age::target::{AgedFile, AgeingTarget};
use crate::error::OpError;
use crate::measure::thread_stats::Progress;

/// Returns a profile with sizes from 0 to 1 MiB and more young files than old ones.
pub fn profile(churn: Churn) -> AgeProfile {
    let size = |(up_to, weight)| SizeBin { up_to: Bytes(up_to), weight };
    let age = |(up_to, weight)| AgeBin { up_to, weight };
    let depth = |(depth, directories, weight)| DepthBin { depth, directories, weight };
    AgeProfile {
        name: "of-tests".into(),
        title: "Of tests".into(),
        source: "a test".into(),
        churn,
        turnover: 2,
        batch: 16,
        sizes: [(0, 5), (4096, 20), (20_000, 40), (100_000, 30), (1 << 20, 5)].map(size).into(),
        ages: [(1, 30), (4, 40), (16, 25), (64, 5)].map(age).into(),
        depths: [(1, 1, 0), (2, 3, 2), (3, 9, 5)].map(depth).into(),
    }
}

/// Simulates a filesystem with a given block size, space overhead and errors on demand.
#[derive(Clone, Debug, Default)]
struct SimulatedTarget {
    capacity: u64,
    block: u64,
    /// Overhead of each file in addition to its blocks, in bytes.
    each: u64,
    /// Whether removed files do not free their space.
    keeps: bool,
    /// Number of operations until a disk error.
    breaks_after: Option<u64>,
    lost: u64,
    files: BTreeMap<(u32, u32), u64>,
    directories: u32,
    /// All operations in order.
    log: Vec<(&'static str, AgedFile)>,
}

impl SimulatedTarget {
    fn taken(&self, size: u64) -> u64 {
        size.div_ceil(self.block) * self.block + self.each
    }

    fn used(&self) -> u64 {
        self.lost + self.files.values().map(|size| self.taken(*size)).sum::<u64>()
    }

    fn error(call: &'static str, errno: i32) -> OpError {
        OpError::System {
            call,
            path: "file".into(),
            offset: None,
            error: io::Error::from_raw_os_error(errno),
        }
    }

    fn step(&mut self, call: &'static str, file: AgedFile) -> Result<(), OpError> {
        self.log.push((call, file));
        assert!(file.directory < self.directories);
        match self.breaks_after {
            Some(after) if self.log.len() as u64 > after => Err(Self::error(call, EIO)),
            _ => Ok(()),
        }
    }

    fn require(&self, size: u64) -> Result<(), OpError> {
        match self.used() + self.taken(size) > self.capacity {
            true => Err(Self::error("write", ENOSPC)),
            false => Ok(()),
        }
    }

    fn forget(&mut self, file: AgedFile) {
        let size = self.files.remove(&(file.directory, file.name));
        let size = size.expect("only what is there is removed");
        if self.keeps {
            self.lost += self.taken(size);
        }
    }
}

impl AgeingTarget for SimulatedTarget {
    fn make_directories(&mut self, parents: &[u32]) -> Result<(), OpError> {
        self.directories = u32::try_from(parents.len()).unwrap();
        Ok(())
    }

    fn create(&mut self, file: AgedFile) -> Result<(), OpError> {
        self.step("create", file)?;
        self.require(file.size)?;
        let there = self.files.insert((file.directory, file.name), file.size);
        assert_eq!(there, None, "names differ");
        Ok(())
    }

    fn rewrite(&mut self, file: AgedFile) -> Result<(), OpError> {
        self.step("rewrite", file)?;
        self.require(file.size)?;
        self.forget(file);
        self.files.insert((file.directory, file.name), file.size);
        Ok(())
    }

    fn remove(&mut self, file: AgedFile) -> Result<(), OpError> {
        self.step("remove", file)?;
        self.forget(file);
        Ok(())
    }

    fn sync(&mut self) -> Result<SpaceUsage, OpError> {
        let free = Bytes(self.capacity.saturating_sub(self.used()));
        Ok(SpaceUsage {
            total: Bytes(self.capacity),
            free,
            available: free,
            ..SpaceUsage::default()
        })
    }

    fn block(&mut self) -> Result<u64, OpError> {
        Ok(self.block)
    }

    /// Returns a score that falls with every removal.
    fn layout(&mut self, files: &mut dyn Iterator<Item = AgedFile>) -> Option<PerMille> {
        for file in files {
            assert_eq!(self.files[&(file.directory, file.name)], file.size);
        }
        let removed = self.log.iter().filter(|(call, _)| *call != "create");
        let score = 1000u32.saturating_sub(u32::try_from(removed.count()).unwrap());
        Some(PerMille(score))
    }
}

fn disk(capacity: u64) -> SimulatedTarget {
    SimulatedTarget { capacity, block: 4096, each: 256, ..SimulatedTarget::default() }
}

fn age_of(churn: Churn, fill: u32) -> AgeingSpec {
    AgeingSpec { profile: profile(churn), fill: PerMille(fill), operations: None, layout: None }
}

fn aged(
    ground: &mut SimulatedTarget,
    age: &AgeingSpec,
    seed: u64,
) -> Result<AgeingResult, OpError> {
    Ager::new(age, seed, ground, &Progress::default(), &mut || ()).run()
}

#[test]
fn the_same_seed_does_the_same_and_another_one_does_not() {
    for churn in [Churn::DeleteAndCreate, Churn::Rewrite] {
        let age = age_of(churn, 800);
        let log = |seed| {
            let mut ground = disk(64 << 20);
            let record = aged(&mut ground, &age, seed).unwrap();
            (ground.log, record)
        };
        assert_eq!(log(1), log(1));
        assert_ne!(log(1).0, log(2).0);
    }
}

#[test]
fn ageing_ends_after_operations_or_at_a_layout_score() {
    let mut age = age_of(Churn::DeleteAndCreate, 800);
    let mut ground = disk(64 << 20);
    let all = aged(&mut ground, &age, 1).unwrap();
    assert_eq!(all.stopped, AgeingStopReason::OperationLimit);
    let replaced = 2 * u64::from(age.profile.turnover) * all.files;
    assert!(all.operations.abs_diff(replaced + all.files) < replaced / 5, "{all:?}");
    age.operations = Some(0);
    let filled = aged(&mut disk(64 << 20), &age, 1).unwrap();
    assert!(filled.operations < all.operations / 3, "{filled:?}");
    assert!(all.ages_apart < filled.ages_apart, "{all:?} {filled:?}");
    age.operations = None;
    age.layout = Some(PerMille(900));
    let scored = aged(&mut disk(64 << 20), &age, 1).unwrap();
    assert_eq!(scored.stopped, AgeingStopReason::LayoutConverged);
    assert!(scored.layout_aged.unwrap() <= PerMille(900));
    assert!(filled.operations < scored.operations && scored.operations < all.operations);
}

#[test]
fn each_part_is_announced() {
    let mut parts = 0;
    let (age, mut ground) = (age_of(Churn::DeleteAndCreate, 800), disk(64 << 20));
    let progress = Progress::default();
    let record = Ager::new(&age, 1, &mut ground, &progress, &mut || parts += 1).run();
    assert_eq!(parts, age.profile.turnover);
    assert_eq!(progress.done(), record.unwrap().operations);
}

#[test]
fn stops_and_reports_when_removal_frees_no_space() {
    let mut ground = SimulatedTarget { keeps: true, ..disk(64 << 20) };
    let age = age_of(Churn::DeleteAndCreate, 800);
    let record = aged(&mut ground, &age, 1).unwrap();
    assert!(record.fill > PerMille(810), "{record:?}");
    assert_eq!(record.warnings().len(), 1);
}

#[test]
fn an_error_of_the_disk_is_one_of_ageing() {
    let mut ground = SimulatedTarget { breaks_after: Some(1000), ..disk(64 << 20) };
    let age = age_of(Churn::DeleteAndCreate, 800);
    let error = aged(&mut ground, &age, 1).unwrap_err();
    assert_eq!(error.errno(), Some(EIO));
    assert_eq!(ground.log.len(), 1001, "no operation follows the error");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reaches_the_fill_at_any_capacity_despite_full_filesystem(
        capacity in 8u64 << 20..256 << 20,
        block in prop::sample::select(vec![512u64, 1024, 4096, 16_384]),
        each in 0u64..4096,
        fill in AgeingSpec::MIN_FILL.0..=AgeingSpec::MAX_FILL.0,
        rewrites: bool,
        seed: u64,
    ) {
        let mut ground = SimulatedTarget { block, each, ..disk(capacity) };
        let churn = if rewrites { Churn::Rewrite } else { Churn::DeleteAndCreate };
        let mut age = age_of(churn, fill);
        age.operations = Some(500);
        let record = aged(&mut ground, &age, seed).unwrap();
        prop_assert!(record.fill.0.abs_diff(fill) <= AgeingSpec::TOLERANCE.0, "{:?}", record);
        prop_assert_eq!(record.files, ground.files.len() as u64);
        prop_assert_eq!(record.bytes.0, ground.files.values().sum::<u64>());
        prop_assert_eq!(PerMille::from_ratio(ground.used(), capacity), record.fill);
    }
}
