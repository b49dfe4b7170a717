//! Start times of requests in an open loop: fixed times, independent of the speed of the
//! filesystem. The module is pure; the caller chooses a clock and waits.

use model::Nanos;

const SECOND: u64 = 1_000_000_000;

/// Intended start times of one thread's requests.
///
/// Over all threads, requests are 1/rate seconds apart: request k of thread i of n starts at (k n +
/// i) / rate, so that threads take turns. Fractions of a nanosecond are carried over, so that the
/// times do not drift.
#[derive(Clone, Debug)]
pub struct ArrivalProcess {
    begun: Nanos,
    /// Next start after `begun`: whole nanoseconds, and the remainder in units of 1/rate.
    next: (u64, u64),
    step: (u64, u64),
    rate: u64,
}

impl ArrivalProcess {
    /// Creates the arrivals of one thread. All threads together issue `rate` requests per second
    /// from `begun` on.
    ///
    /// # Panics
    /// Panics if the rate is zero.
    pub const fn new(rate: u64, thread: u32, threads: u32, begun: Nanos) -> Self {
        Self { begun, next: after(thread as u64, rate), step: after(threads as u64, rate), rate }
    }

    /// Returns the intended start of the next request.
    pub const fn peek(&self) -> Nanos {
        Nanos(self.begun.0 + self.next.0)
    }

    /// Returns the intended start of the next request and advances to the following one.
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
