//! Sizes of the files of a set: equal, or drawn from a distribution by the seed; pure.
//!
//! Each draw picks one of `QUANTILES` equally probable quantiles. This costs little during timed
//! parts, gives the requested mean and bounds the size of every file.

use std::sync::{Arc, LazyLock};

use model::SeededRng;
use model::op::SizeDistribution;
use statrs::distribution::{ContinuousCDF, Gamma, LogNormal};

/// Quantiles of a distribution.
const QUANTILES: usize = 1024;

/// Default shape of filebench's gamma distribution of a file set (`gamma=1500`, in thousandths).
const GAMMA_SHAPE: f64 = 1.5;
/// The standard deviation of the logarithm of sizes.
const SIGMA: f64 = 1.0;

/// Quantiles of a distribution whose mean is one.
type Quantiles = Vec<f64>;

static GAMMA: LazyLock<Quantiles> = LazyLock::new(|| {
    let gamma = Gamma::new(GAMMA_SHAPE, GAMMA_SHAPE).expect("shape and rate are above zero");
    quantiles(&gamma)
});

static LOG_NORMAL: LazyLock<Quantiles> = LazyLock::new(|| {
    let log_normal = LogNormal::new(0.0, SIGMA).expect("the deviation is above zero");
    quantiles(&log_normal)
});

/// Returns the midpoints of `QUANTILES` equally probable parts, scaled to a mean of one.
fn quantiles(of: &impl ContinuousCDF<f64, f64>) -> Quantiles {
    let middle = |number: usize| (number as f64 + 0.5) / QUANTILES as f64;
    let quantiles: Quantiles = (0..QUANTILES).map(|n| of.inverse_cdf(middle(n))).collect();
    let mean = quantiles.iter().sum::<f64>() / QUANTILES as f64;
    quantiles.into_iter().map(|q| q / mean).collect()
}

/// The sizes of the files of a set.
#[derive(Clone, Debug)]
pub struct SizeSampler {
    mean: u64,
    /// `None` if all files have the same size.
    drawn: Option<Arc<[u64]>>,
    salt: u64,
}

impl SizeSampler {
    /// Creates the sizes of a set with this name.
    pub fn new(spread: SizeDistribution, mean: u64, seed: u64, set: &str) -> Self {
        let scaled = |quantiles: &Quantiles| -> Arc<[u64]> {
            let sizes = quantiles.iter().map(|q| (q * mean as f64).round() as u64);
            sizes.map(|size| size.max(mean.min(1))).collect()
        };
        Self {
            mean,
            drawn: match spread {
                SizeDistribution::Fixed => None,
                SizeDistribution::Gamma => Some(scaled(&GAMMA)),
                SizeDistribution::LogNormal => Some(scaled(&LOG_NORMAL)),
            },
            salt: SeededRng::substream(seed, &format!("sizes-{set}")).next_u64(),
        }
    }

    /// The size of a file, by its number in the set and how often one was made there.
    pub fn size_of(&self, index: u64, generation: u32) -> u64 {
        let Some(drawn) = &self.drawn else {
            return self.mean;
        };
        let place = index.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ u64::from(generation) << 32;
        let mut rng = SeededRng::new(self.salt ^ place);
        drawn[rng.below(drawn.len() as u64) as usize]
    }

    /// The largest that there can be.
    pub fn largest(&self) -> u64 {
        let largest = self.drawn.as_ref().and_then(|drawn| drawn.last());
        largest.copied().unwrap_or(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: u64 = 16 << 10;

    fn drawn(spread: SizeDistribution) -> Vec<u64> {
        let sizes = SizeSampler::new(spread, MEAN, 7, "set");
        (0..20_000).map(|index| sizes.size_of(index, 1)).collect()
    }

    #[test]
    fn sizes_have_the_requested_mean_and_distribution() {
        assert!(drawn(SizeDistribution::Fixed).iter().all(|size| *size == MEAN));
        // The share of files below the mean: of a gamma of shape 1.5, P(1.5, 1.5) = 0.608; of a log-normal, Φ(1/2).
        for (spread, below) in
            [(SizeDistribution::Gamma, 0.608), (SizeDistribution::LogNormal, 0.691)]
        {
            let sizes = drawn(spread);
            let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
            assert!((mean / MEAN as f64 - 1.0).abs() < 0.02, "{spread:?}: {mean}");
            let share = sizes.iter().filter(|size| **size < MEAN).count() as f64;
            let share = share / sizes.len() as f64;
            assert!((share - below).abs() < 0.015, "{spread:?}: {share}");
            let largest = SizeSampler::new(spread, MEAN, 7, "set").largest();
            assert!(sizes.iter().all(|size| (1..=largest).contains(size)));
        }
    }

    #[test]
    fn sizes_are_reproducible_and_differ_between_sets() {
        let of = |seed, set| {
            let sizes = SizeSampler::new(SizeDistribution::Gamma, MEAN, seed, set);
            (0..50).map(|i| sizes.size_of(i, 1)).collect::<Vec<_>>()
        };
        assert_eq!(of(7, "set"), of(7, "set"));
        assert_ne!(of(7, "set"), of(7, "other"));
        assert_ne!(of(7, "set"), of(8, "set"));
        let empty = SizeSampler::new(SizeDistribution::Gamma, 0, 7, "set");
        assert_eq!((empty.size_of(3, 1), empty.largest()), (0, 0));
    }
}
