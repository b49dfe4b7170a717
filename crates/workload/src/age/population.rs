//! Files of an aged filesystem by creation order, and the age group that has the largest surplus.

use model::{AgeBin, PerMille, SeededRng};
use roaring::RoaringBitmap;

use crate::age::target::AgedFile;

/// All files created so far and the subset that still exists.
///
/// The age of a file is the number of files created after it, as a share of all files created. Ages
/// have no other unit, as in Geriatrix (USENIX ATC 2018).
#[derive(Debug)]
pub struct Population {
    made: Vec<AgedFile>,
    there: RoaringBitmap,
    bytes: u64,
    /// Upper limit of each age group, and the sum of the weights.
    ages: Vec<AgeBin>,
    weights: u64,
}

impl Population {
    /// Creates an empty population with a target distribution of ages.
    pub fn new(ages: &[AgeBin]) -> Self {
        Self {
            made: Vec::new(),
            there: RoaringBitmap::new(),
            bytes: 0,
            weights: ages.iter().map(|bin| u64::from(bin.weight)).sum(),
            ages: ages.to_vec(),
        }
    }

    /// Returns the number of existing files.
    pub fn len(&self) -> u64 {
        self.there.len()
    }

    /// Returns the total size of the files, in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of the next file, which is the number of files created so far.
    pub fn next(&self) -> u32 {
        u32::try_from(self.made.len()).unwrap_or(u32::MAX)
    }

    /// Adds a created file.
    pub fn add(&mut self, file: AgedFile) {
        self.there.insert(self.next());
        self.bytes += file.size;
        self.made.push(file);
    }

    /// Returns the existing files, oldest first.
    pub fn files(&self) -> impl Iterator<Item = AgedFile> + '_ {
        self.there.iter().map(|number| self.made[number as usize])
    }

    /// Picks a random file of the age group with the largest surplus, without removing it. Returns
    /// `None` if no file exists.
    pub fn pick_surplus(&self, rng: &mut SeededRng) -> Option<u32> {
        let numbers = self.bins().max_by_key(|(numbers, weight)| {
            let excess = self.excess(numbers, *weight);
            (self.count(numbers) > 0, excess)
        });
        let (numbers, _) = numbers?;
        let count = self.count(&numbers);
        let before = self.there.range_cardinality(0..numbers.start);
        let chosen = u32::try_from(before + rng.below(count.max(1))).ok()?;
        self.there.select(chosen)
    }

    /// Returns the file with this number.
    pub fn file(&self, number: u32) -> AgedFile {
        self.made[number as usize]
    }

    /// Removes a file from the existing ones.
    pub fn take(&mut self, number: u32) {
        if self.there.remove(number) {
            self.bytes -= self.made[number as usize].size;
        }
    }

    /// Returns the distance of the ages from their target distribution: the share of files in the
    /// wrong age group (total variation distance).
    pub fn distance_to_target(&self) -> PerMille {
        let excess = self.bins().map(|(numbers, weight)| {
            let excess = self.excess(&numbers, weight);
            u64::try_from(excess).unwrap_or(0)
        });
        PerMille::from_ratio(excess.sum(), self.weights.saturating_mul(self.len()))
    }

    /// Returns the file numbers of each age, oldest first, with the weight of the age.
    fn bins(&self) -> impl Iterator<Item = (std::ops::Range<u32>, u32)> + '_ {
        let oldest = self.ages.last().map_or(1, |bin| bin.up_to);
        let made = self.next();
        let born = move |age: u64| {
            let since = u128::from(made) * u128::from(age) / u128::from(oldest);
            made - u32::try_from(since).unwrap_or(made).min(made)
        };
        let ends = self.ages.iter().enumerate().rev();
        ends.map(move |(number, bin)| {
            let younger = number.checked_sub(1).map_or(0, |before| self.ages[before].up_to);
            (born(bin.up_to)..born(younger), bin.weight)
        })
    }

    fn count(&self, numbers: &std::ops::Range<u32>) -> u64 {
        self.there.range_cardinality(numbers.clone())
    }

    /// Surplus of files in an age group, multiplied by the sum of the weights.
    fn excess(&self, numbers: &std::ops::Range<u32>, weight: u32) -> i128 {
        let there = i128::from(self.count(numbers)) * i128::from(self.weights);
        there - i128::from(self.len()) * i128::from(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::age::simulated::profile;
    use model::Churn;

    fn file(name: u32) -> AgedFile {
        AgedFile { name, directory: 0, size: 10 }
    }

    #[test]
    fn ages_converge_to_the_distribution_of_the_profile() {
        let ages = profile(Churn::DeleteAndCreate).ages;
        let mut files = Population::new(&ages);
        let mut rng = SeededRng::new(3);
        for _ in 0..500 {
            files.add(file(files.next()));
        }
        let at_first = files.distance_to_target();
        for _ in 0..20_000 {
            let surplus = files.pick_surplus(&mut rng).unwrap();
            files.take(surplus);
            files.add(file(files.next()));
        }
        assert_eq!((files.len(), files.bytes()), (500, 5000));
        assert!(at_first > PerMille(400), "{at_first}");
        assert!(files.distance_to_target() < PerMille(30), "{}", files.distance_to_target());
    }

    #[test]
    fn every_file_has_one_age() {
        let mut files = Population::new(&profile(Churn::DeleteAndCreate).ages);
        assert_eq!(files.pick_surplus(&mut SeededRng::new(1)), None);
        for number in 0..1000 {
            files.add(file(number));
            let bins: Vec<_> = files.bins().map(|(numbers, _)| numbers).collect();
            assert_eq!(bins[0].start, 0);
            assert_eq!(bins.last().unwrap().end, number + 1);
            assert!(bins.windows(2).all(|two| two[0].end == two[1].start));
        }
        let all: Vec<u32> = (0..1000).collect();
        for number in all {
            files.take(number);
            files.take(number);
        }
        assert_eq!((files.len(), files.bytes()), (0, 0));
    }
}
