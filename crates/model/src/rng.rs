//! The only source of randomness. It is seeded, so that every choice is reproducible.

/// SplitMix64: small, fast, and the same on every machine and in every version of fsarena.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014; constants as in its reference implementation.
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates a stream that depends only on the seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a separate stream for a named purpose, so that the draws of one consumer do not
    /// affect another.
    pub fn substream(seed: u64, purpose: &str) -> Self {
        let mut rng = Self(seed);
        for byte in purpose.bytes() {
            rng.0 = rng.next_u64() ^ u64::from(byte);
        }
        Self(rng.next_u64())
    }

    /// Returns the next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, without bias (Lemire's multiply-and-reject).
    ///
    /// # Panics
    /// Panics if `bound` is zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "bound must be above zero");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let wide = self.next_u64() as u128 * bound as u128;
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub const fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles the items (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn matches_the_reference_implementation() {
        // First three outputs of splitmix64.c for x = 1234567.
        let mut rng = SeededRng::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(rng.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn purposes_are_independent_streams() {
        let mut names = SeededRng::substream(7, "names");
        let mut order = SeededRng::substream(7, "order");
        assert_ne!(names.next_u64(), order.next_u64());
    }

    proptest! {
        #[test]
        fn stays_below_its_bound(seed: u64, bound in 1u64..) {
            prop_assert!(SeededRng::new(seed).below(bound) < bound);
            let unit = SeededRng::new(seed).next_f64();
            prop_assert!((0.0..1.0).contains(&unit));
        }

        #[test]
        fn a_shuffle_is_a_permutation(seed: u64, n in 0usize..200) {
            let mut items: Vec<usize> = (0..n).collect();
            SeededRng::new(seed).shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..n).collect::<Vec<_>>());
        }
    }
}
