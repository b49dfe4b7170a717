//! Steps of ageing: a fast fill, then churn, then the exact requested fill.

use model::{
    AgeingResult, AgeingSpec, AgeingStopReason, Bytes, Churn, Nanos, PerMille, SeededRng,
    SpaceUsage,
};
use nix::libc::{EDQUOT, ENOSPC};

use crate::age::population::Population;
use crate::age::sampler::AgeSampler;
use crate::age::target::{AgedFile, AgeingTarget};
use crate::error::OpError;
use crate::measure::thread_stats::Progress;

/// Permitted deviation from the wanted fill, as a share of the capacity: half of
/// [`model::AgeingSpec::TOLERANCE`].
const FILL_TOLERANCE: PerMille = PerMille(5);
/// Maximum number of attempts to reach the fill.
const MAX_APPROACHES: u32 = 100;
/// Maximum number of consecutive attempts without effect.
const MAX_FAILED_ATTEMPTS: u32 = 4;
/// Estimated space of a file in addition to its blocks, in bytes: an inode and a name.
const OVERHEAD: u64 = 512;
/// Number of files sampled for the layout score.
const SAMPLE: u64 = 4096;
/// Number of batches between two measurements of the layout score.
const LOOK: u64 = 8;
/// Divisor for the maximum size change of a rewritten file: 1/20 in either direction.
const CHANGE: u64 = 20;

/// Space usage of the filesystem.
#[derive(Clone, Copy, Debug)]
struct Level {
    used: u64,
    /// Total bytes available to files.
    usable: u64,
}

impl Level {
    fn of(space: SpaceUsage) -> Self {
        let used = space.total.0.saturating_sub(space.free.0);
        Self { used, usable: (used + space.available.0).max(1) }
    }
}

/// Ages a filesystem.
pub struct Ager<'a, G> {
    age: &'a AgeingSpec,
    ground: &'a mut G,
    progress: &'a Progress,
    begin: &'a mut dyn FnMut(),
    rng: SeededRng,
    draw: AgeSampler,
    files: Population,
    block: u64,
    level: Level,
    record: AgeingResult,
    /// Number of consecutive attempts to free space without success.
    in_vain: u32,
}

impl<'a, G: AgeingTarget> Ager<'a, G> {
    /// Creates an ager for this target and seed.
    pub fn new(
        age: &'a AgeingSpec,
        seed: u64,
        ground: &'a mut G,
        progress: &'a Progress,
        begin: &'a mut dyn FnMut(),
    ) -> Self {
        Self {
            draw: AgeSampler::new(&age.profile, 0),
            files: Population::new(&age.profile.ages),
            rng: SeededRng::substream(seed, "age"),
            age,
            ground,
            progress,
            begin,
            block: OVERHEAD,
            level: Level { used: 0, usable: 1 },
            in_vain: 0,
            record: AgeingResult {
                wanted_fill: age.fill,
                wanted_layout: age.layout,
                fill: PerMille(0),
                files: 0,
                directories: 0,
                bytes: Bytes(0),
                operations: 0,
                written: Bytes(0),
                no_space: 0,
                ages_apart: PerMille(0),
                layout_filled: None,
                layout_aged: None,
                stopped: AgeingStopReason::OperationLimit,
                elapsed: Nanos(0),
                image_hash: None,
            },
        }
    }

    /// Fills the filesystem, replaces files, and adjusts the fill to the wanted value.
    ///
    /// # Errors
    /// Returns errors of the filesystem, except a lack of space.
    pub fn run(mut self) -> Result<AgeingResult, OpError> {
        self.block = self.ground.block()?;
        self.settle()?;
        self.draw = AgeSampler::new(&self.age.profile, self.level.usable);
        let parents = self.draw.parents(&mut self.rng);
        self.ground.make_directories(&parents)?;
        self.approach()?;
        self.record.layout_filled = self.layout();
        if !self.has_layout() {
            self.churn()?;
        }
        self.approach()?;
        self.record.layout_aged = self.layout();
        self.settle()?;
        Ok(AgeingResult {
            fill: PerMille::from_ratio(self.level.used, self.level.usable),
            files: self.files.len(),
            directories: parents.len() as u64,
            bytes: Bytes(self.files.bytes()),
            ages_apart: self.files.distance_to_target(),
            ..self.record
        })
    }

    /// Writes all data to the device and updates the fill level.
    fn settle(&mut self) -> Result<(), OpError> {
        self.level = Level::of(self.ground.sync()?);
        Ok(())
    }

    fn wanted(&self) -> u64 {
        self.age.fill.apply_to(self.level.usable)
    }

    /// Estimates the space that a file needs, in bytes.
    const fn charge(&self, size: u64) -> u64 {
        size.div_ceil(self.block) * self.block + OVERHEAD
    }

    /// Creates or removes files until the wanted fill is almost reached. Each iteration covers half
    /// of the difference, because the actual space of a file is known only after it is written.
    fn approach(&mut self) -> Result<(), OpError> {
        let mut in_vain = 0;
        for _ in 0..MAX_APPROACHES {
            self.settle()?;
            let before = self.level.used;
            let (wanted, near) = (self.wanted(), FILL_TOLERANCE.apply_to(self.level.usable));
            let is_enough = if before > wanted {
                before - wanted <= near || !self.reduce(before - wanted)?
            } else {
                wanted - before <= near / 2 || !self.add((wanted - before).div_ceil(2))?
            };
            if is_enough {
                return Ok(());
            }
            self.settle()?;
            in_vain = if self.level.used == before { in_vain + 1 } else { 0 };
            if in_vain > MAX_FAILED_ATTEMPTS {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Creates files of about `room` bytes in total. Returns false if the filesystem is full.
    fn add(&mut self, room: u64) -> Result<bool, OpError> {
        let mut left = room;
        while left > 0 {
            let size = self.draw.size(&mut self.rng);
            // The last file is not larger than the remaining space.
            let size = if self.charge(size) > left { size.min(left) } else { size };
            if !self.make(size)? {
                return Ok(false);
            }
            left = left.saturating_sub(self.charge(size));
        }
        Ok(true)
    }

    /// Removes files of about half of `room` bytes in total. Returns false if no file exists.
    fn reduce(&mut self, room: u64) -> Result<bool, OpError> {
        let mut left = room.div_ceil(2);
        let mut any = false;
        while left > 0 {
            let Some(number) = self.files.pick_surplus(&mut self.rng) else {
                break;
            };
            left = left.saturating_sub(self.charge(self.files.file(number).size));
            self.remove(number)?;
            any = true;
        }
        Ok(any)
    }

    /// Creates and removes files until the requested number of operations is reached.
    fn churn(&mut self) -> Result<(), OpError> {
        let once = 2 * self.files.len().max(1);
        let wanted = self.age.operations;
        let wanted =
            wanted.unwrap_or_else(|| once.saturating_mul(self.age.profile.turnover.into()));
        let begun = self.record.operations;
        let (mut next_batch, mut next_part, mut batches) = (0, 0, 0);
        loop {
            let done = self.record.operations - begun;
            if done >= wanted || self.files.len() == 0 {
                return Ok(());
            }
            if done >= next_part {
                (self.begin)();
                next_part = done + once;
            }
            if done >= next_batch {
                self.settle()?;
                next_batch = done + u64::from(self.age.profile.batch);
                batches += 1;
                if batches % LOOK == 0 && self.has_layout() {
                    return Ok(());
                }
            }
            if !self.change()? {
                self.record.stopped = AgeingStopReason::NoSpace;
                return Ok(());
            }
        }
    }

    /// Creates, removes or rewrites one file. Returns false if space cannot be freed.
    fn change(&mut self) -> Result<bool, OpError> {
        let too_full = self.level.used > self.wanted();
        let rewrites = self.age.profile.churn == Churn::Rewrite;
        let apart = self.level.used.abs_diff(self.wanted());
        if rewrites && apart <= FILL_TOLERANCE.apply_to(self.level.usable) {
            return self.rewrite();
        }
        if !too_full {
            let size = self.draw.size(&mut self.rng);
            return self.make(size);
        }
        match self.files.pick_surplus(&mut self.rng) {
            Some(number) => self.remove(number).map(|()| true),
            None => Ok(false),
        }
    }

    /// Creates a file. Returns false if space cannot be freed.
    fn make(&mut self, size: u64) -> Result<bool, OpError> {
        let directory = self.draw.directory(&mut self.rng);
        let name = self.files.next();
        let file = AgedFile { name, directory, size };
        let made = self.ground.create(file);
        if !self.has_room(made, size)? {
            return Ok(self.in_vain <= MAX_FAILED_ATTEMPTS);
        }
        self.files.add(file);
        self.count(1);
        self.record.written.0 += size;
        self.level.used += self.charge(size);
        Ok(true)
    }

    /// Rewrites a file with about its previous size. Returns false if space cannot be freed.
    fn rewrite(&mut self) -> Result<bool, OpError> {
        let Some(number) = self.files.pick_surplus(&mut self.rng) else {
            return Ok(false);
        };
        let old = self.files.file(number);
        let least = old.size - old.size / CHANGE;
        let size = least + self.rng.below(2 * (old.size / CHANGE) + 1);
        let file = AgedFile { size, ..old };
        let written = self.ground.rewrite(file);
        if !self.has_room(written, size)? {
            return Ok(self.in_vain <= MAX_FAILED_ATTEMPTS);
        }
        self.files.take(number);
        self.files.add(file);
        self.count(2);
        self.record.written.0 += size;
        self.level.used =
            (self.level.used + self.charge(size)).saturating_sub(self.charge(old.size));
        Ok(true)
    }

    fn remove(&mut self, number: u32) -> Result<(), OpError> {
        let file = self.files.file(number);
        match self.ground.remove(file) {
            // A copy-on-write filesystem may first have to release reserved space.
            Err(error) if is_full(&error) => {
                self.settle()?;
                self.ground.remove(file)?;
            }
            removed => removed?,
        }
        self.files.take(number);
        self.count(1);
        self.level.used = self.level.used.saturating_sub(self.charge(file.size));
        Ok(())
    }

    /// Returns true if the file was written. If the filesystem was full, removes other files to
    /// free space.
    fn has_room(&mut self, made: Result<(), OpError>, size: u64) -> Result<bool, OpError> {
        match made {
            Ok(()) => {
                self.in_vain = 0;
                return Ok(true);
            }
            Err(error) if is_full(&error) => {}
            Err(error) => return Err(error),
        }
        self.record.no_space += 1;
        self.in_vain += 1;
        self.reduce(4 * self.charge(size))?;
        self.settle()?;
        Ok(false)
    }

    fn count(&mut self, operations: u64) {
        self.record.operations += operations;
        self.progress.add(operations);
    }

    /// Measures the layout score of files that are spread evenly over all ages.
    fn layout(&mut self) -> Option<PerMille> {
        let every = (self.files.len() / SAMPLE).max(1);
        let every = usize::try_from(every).unwrap_or(usize::MAX);
        let mut sample = self.files.files().step_by(every);
        self.ground.layout(&mut sample)
    }

    /// Returns true if the requested layout score is reached, and records this as the reason to
    /// stop.
    fn has_layout(&mut self) -> bool {
        let Some(wanted) = self.age.layout else {
            return false;
        };
        let reached = self.layout().is_some_and(|score| score <= wanted);
        if reached {
            self.record.stopped = AgeingStopReason::LayoutConverged;
        }
        reached
    }
}

/// Returns true if an operation failed because of a lack of space.
fn is_full(error: &OpError) -> bool {
    error.errno().is_some_and(|errno| [ENOSPC, EDQUOT].contains(&errno))
}
