//! Draws sizes and directories from the distributions of a profile.

use model::{AgeProfile, SeededRng};

/// Inverse of the maximum share of a device in one file. A larger file would dominate a small
/// device.
pub const MAX_SHARE: u64 = 64;

/// Draws the number of a bin in proportion to its weight.
#[derive(Debug)]
struct Weights {
    /// Cumulative weights of the bins.
    sums: Vec<u64>,
}

impl Weights {
    fn new(weights: impl Iterator<Item = u32>) -> Self {
        let mut sum = 0;
        let sums = weights.map(|weight| {
            sum += u64::from(weight);
            sum
        });
        Self { sums: sums.collect() }
    }

    fn draw(&self, rng: &mut SeededRng) -> usize {
        let all = self.sums.last().copied().unwrap_or(0);
        let at = rng.below(all.max(1));
        self.sums.partition_point(|sum| *sum <= at)
    }
}

/// Distributions from which files are drawn.
#[derive(Debug)]
pub struct AgeSampler {
    sizes: Weights,
    /// Smallest and largest size of each bin.
    bounds: Vec<(u64, u64)>,
    depths: Weights,
    /// First directory and number of directories of each depth.
    directories: Vec<(u32, u32)>,
}

impl AgeSampler {
    /// Creates the distributions of a profile for a filesystem with `usable` bytes for files. Bins
    /// of files that are too large for it are excluded, except the first.
    pub fn new(profile: &AgeProfile, usable: u64) -> Self {
        let mut bounds = Vec::new();
        let mut least = 0;
        for bin in &profile.sizes {
            if !bounds.is_empty() && bin.up_to.0 > usable / MAX_SHARE {
                break;
            }
            bounds.push((least.min(bin.up_to.0), bin.up_to.0));
            least = bin.up_to.0 + 1;
        }
        let mut first = 0;
        let directories = profile.depths.iter().map(|bin| {
            let range = (first, bin.directories);
            first += bin.directories;
            range
        });
        Self {
            sizes: Weights::new(profile.sizes[..bounds.len()].iter().map(|bin| bin.weight)),
            bounds,
            directories: directories.collect(),
            depths: Weights::new(profile.depths.iter().map(|bin| bin.weight)),
        }
    }

    /// Draws a size: a bin by its weight, then a uniformly distributed size of the bin.
    pub fn size(&self, rng: &mut SeededRng) -> u64 {
        let bin = self.sizes.draw(rng).min(self.bounds.len() - 1);
        let (least, most) = self.bounds[bin];
        least + rng.below(most - least + 1)
    }

    /// Draws a directory: a depth by its weight, then any directory of this depth with equal
    /// probability.
    pub fn directory(&self, rng: &mut SeededRng) -> u32 {
        let (first, count) = self.directories[self.depths.draw(rng)];
        first + rng.below(u64::from(count)) as u32
    }

    /// Draws the parent of each directory, with equal probability for all directories one level
    /// above.
    pub fn parents(&self, rng: &mut SeededRng) -> Vec<u32> {
        let mut parents = vec![0];
        for depths in self.directories.windows(2) {
            let ((above, many), (_, count)) = (depths[0], depths[1]);
            let draw = |_| above + rng.below(u64::from(many)) as u32;
            parents.extend((0..count).map(draw));
        }
        parents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::age::simulated::profile;
    use model::{Bytes, Churn};

    /// Returns the limit of chi-squared that correct draws exceed with probability 0.001, for the
    /// given degrees of freedom (Wilson and Hilferty, PNAS 17, 1931).
    fn limit(freedom: usize) -> f64 {
        let freedom = freedom as f64;
        let spread = 2.0 / (9.0 * freedom);
        freedom * (1.0 - spread + 3.09 * spread.sqrt()).powi(3)
    }

    fn chi_squared(seen: &[u64], weights: &[u32]) -> f64 {
        let draws: u64 = seen.iter().sum();
        let all: u32 = weights.iter().sum();
        let each = seen.iter().zip(weights).filter(|(_, weight)| **weight > 0);
        each.map(|(seen, weight)| {
            let expected = draws as f64 * f64::from(*weight) / f64::from(all);
            (*seen as f64 - expected).powi(2) / expected
        })
        .sum()
    }

    #[test]
    fn draws_follow_the_size_and_depth_distributions_of_the_profile() {
        let profile = profile(Churn::DeleteAndCreate);
        let draw = AgeSampler::new(&profile, 1 << 40);
        let mut rng = SeededRng::new(7);
        let mut sizes = vec![0; profile.sizes.len()];
        let mut depths = vec![0; profile.depths.len()];
        for _ in 0..100_000 {
            let size = Bytes(draw.size(&mut rng));
            sizes[profile.sizes.partition_point(|bin| bin.up_to < size)] += 1;
            let directory = draw.directory(&mut rng);
            depths[draw.directories.partition_point(|(first, _)| *first <= directory) - 1] += 1;
        }
        let of_sizes: Vec<u32> = profile.sizes.iter().map(|bin| bin.weight).collect();
        let of_depths: Vec<u32> = profile.depths.iter().map(|bin| bin.weight).collect();
        for (seen, weights) in [(&sizes, &of_sizes), (&depths, &of_depths)] {
            let found = chi_squared(seen, weights);
            assert!(found < limit(weights.len() - 1), "{found}: {seen:?} {weights:?}");
        }
        // The test also rejects a wrong distribution.
        assert!(chi_squared(&sizes, &vec![1; sizes.len()]) > limit(sizes.len() - 1));
    }

    #[test]
    fn files_are_small_relative_to_a_small_filesystem() {
        let profile = profile(Churn::DeleteAndCreate);
        let usable = 1 << 20;
        let draw = AgeSampler::new(&profile, usable);
        let mut rng = SeededRng::new(7);
        assert!((0..10_000).all(|_| draw.size(&mut rng) <= usable / MAX_SHARE));
        let tiny = AgeSampler::new(&profile, 1);
        assert!((0..1000).all(|_| tiny.size(&mut rng) <= profile.sizes[0].up_to.0));
    }

    #[test]
    fn each_directory_has_a_parent_one_level_above() {
        let profile = profile(Churn::DeleteAndCreate);
        let draw = AgeSampler::new(&profile, 1 << 40);
        let parents = draw.parents(&mut SeededRng::new(1));
        let count: u32 = profile.depths.iter().map(|bin| bin.directories).sum();
        assert_eq!(parents.len(), count as usize);
        let depth =
            |directory: u32| draw.directories.partition_point(|(first, _)| *first <= directory);
        for (directory, parent) in (0..).zip(&parents).skip(1) {
            assert_eq!(depth(*parent) + 1, depth(directory));
        }
        assert_eq!(parents[0], 0);
    }
}
