//! A random permutation of a range of numbers, computed item by item without storing a list; pure.
//!
//! A Feistel network is a permutation of all numbers of a given bit width, for any round function.
//! An item beyond the end goes through the network again until it is below the end (cycle walking),
//! so the numbers below the end are permuted among themselves. The network covers less than twice
//! the requested range, so that fewer than two passes are needed on average.
//!
//! Source: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.

use model::SeededRng;

/// Rounds of the network; each half is changed twice.
const ROUNDS: usize = 4;

/// An order of the numbers `0..length`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    length: u64,
    /// Number of bits in the lower half; the upper half has as many or one more.
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Creates the order for a seed and a named purpose.
    pub fn new(seed: u64, purpose: &str, length: u64) -> Self {
        let bits = (u64::BITS - length.saturating_sub(1).leading_zeros()).max(2);
        let low_bits = bits / 2;
        let mut rng = SeededRng::substream(seed, purpose);
        Self {
            length,
            low_bits,
            low_mask: mask(low_bits),
            high_mask: mask(bits - low_bits),
            keys: std::array::from_fn(|_| rng.next_u64()),
        }
    }

    /// Returns the item at a position of the order.
    ///
    /// # Panics
    /// Panics if the position is not below the length, because the walk would never end.
    pub fn item(&self, place: u64) -> u64 {
        assert!(place < self.length, "the place is in the order");
        let mut item = self.forward(place);
        while item >= self.length {
            item = self.forward(item);
        }
        item
    }

    /// Returns the position of an item: the inverse of [`Permutation::item`].
    ///
    /// # Panics
    /// Panics if the item is not below the length.
    pub fn place(&self, item: u64) -> u64 {
        assert!(item < self.length, "the item is in the order");
        let mut place = self.backward(item);
        while place >= self.length {
            place = self.backward(place);
        }
        place
    }

    fn forward(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.halves(number);
        for pair in self.keys.chunks_exact(2) {
            high ^= round(low, pair[0]) & self.high_mask;
            low ^= round(high, pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }

    fn backward(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.halves(number);
        for pair in self.keys.chunks_exact(2).rev() {
            low ^= round(high, pair[1]) & self.low_mask;
            high ^= round(low, pair[0]) & self.high_mask;
        }
        high << self.low_bits | low
    }

    const fn halves(&self, number: u64) -> (u64, u64) {
        (number >> self.low_bits, number & self.low_mask)
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Combines both halves of a long product, so that one multiplication mixes all bits.
const fn round(half: u64, key: u64) -> u64 {
    let product = (half ^ key) as u128 * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_item_appears_once_and_can_be_inverted(seed: u64, length in 0u64..3_000) {
            let order = Permutation::new(seed, "test", length);
            let mut seen = vec![false; length as usize];
            for place in 0..length {
                let item = order.item(place);
                prop_assert!(!std::mem::replace(&mut seen[item as usize], true));
                prop_assert_eq!(order.place(item), place);
            }
            prop_assert!(seen.into_iter().all(|s| s));
        }

        #[test]
        fn large_orders_are_inverted_and_made_again(
            seed: u64, length in 1u64..=u64::MAX / 2, share in 0.0f64..1.0,
        ) {
            let order = Permutation::new(seed, "test", length);
            let place = ((length as f64 * share) as u64).min(length - 1);
            let item = order.item(place);
            prop_assert!(item < length);
            prop_assert_eq!(order.place(item), place);
            prop_assert_eq!(Permutation::new(seed, "test", length).item(place), item);
        }
    }

    #[test]
    fn an_order_is_not_the_natural_one_and_depends_on_seed_and_purpose() {
        let items = |seed, purpose| {
            let order = Permutation::new(seed, purpose, 1000);
            (0..1000).map(|p| order.item(p)).collect::<Vec<_>>()
        };
        let one = items(1, "a");
        let in_place = one.iter().enumerate().filter(|&(p, &i)| p as u64 == i);
        assert!(in_place.count() < 20, "few items keep their place");
        let follow = one.windows(2).filter(|w| w[0].abs_diff(w[1]) == 1).count();
        assert!(follow < 30, "neighbours are torn apart: {follow}");
        assert_ne!(one, items(2, "a"));
        assert_ne!(one, items(1, "b"));
    }
}
