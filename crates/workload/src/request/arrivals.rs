//! When requests of an open loop should begin: at fixed times, whether the filesystem keeps up or not.
//! Pure; who waits, and on which clock, is the caller's business.

use model::Nanos;

const SECOND: u64 = 1_000_000_000;

/// The intended starts of one thread's requests.
///
/// Over all threads they are 1/rate seconds apart: the k-th of thread i of n is at (k n + i) / rate, so
/// that threads take turns. Fractions of a nanosecond are carried along, so that nothing drifts.
#[derive(Clone, Debug)]
pub struct ArrivalProcess {
    begun: Nanos,
    /// Since `begun`, in whole nanoseconds and in parts of 1/rate.
    next: (u64, u64),
    step: (u64, u64),
    rate: u64,
}

impl ArrivalProcess {
    /// Arrivals of one thread out of several that together make `rate` a second, from a time on.
    ///
    /// # Panics
    /// When the rate is zero.
    pub const fn new(rate: u64, thread: u32, threads: u32, begun: Nanos) -> Self {
        Self {
            begun,
            next: after(thread as u64, rate),
            step: after(threads as u64, rate),
            rate,
        }
    }

    /// The intended start of the next request.
    pub const fn peek(&self) -> Nanos {
        Nanos(self.begun.0 + self.next.0)
    }

    /// The intended start of the next request, which is taken.
    #[inline]
    pub const fn next_arrival(&mut self) -> Nanos {
        let at = self.peek();
        self.next.0 += self.step.0;
        self.next.1 += self.step.1;
        if self.next.1 >= self.rate {
            self.next.0 += 1;
            self.next.1 -= self.rate;
        }
        at
    }
}

/// Time of a number of arrivals at a rate, as whole nanoseconds and the remainder in units of
/// 1/rate.
const fn after(arrivals: u64, rate: u64) -> (u64, u64) {
    let wide = arrivals as u128 * SECOND as u128;
    ((wide / rate as u128) as u64, (wide % rate as u128) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arrivals_of_all_threads_are_the_rate_and_do_not_drift(
            rate in 1u64..10_000_000, threads in 1u32..20, begun in 0u64..1 << 60,
        ) {
            let mut each: Vec<ArrivalProcess> = (0..threads)
                .map(|t| ArrivalProcess::new(rate, t, threads, Nanos(begun)))
                .collect();
            for n in 0..2_000u64 {
                let exact = u128::from(n) * u128::from(SECOND) / u128::from(rate);
                let thread = (n % u64::from(threads)) as usize;
                prop_assert_eq!(each[thread].peek().0 - begun, exact as u64);
                prop_assert_eq!(each[thread].next_arrival().0 - begun, exact as u64);
            }
        }
    }
}
