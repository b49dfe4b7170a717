//! Makes the lanes of a replay wait for each other.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use trace::Dependency;

/// Number of polls before a lane sleeps: a few microseconds, about the duration of most calls.
const SPINS_BEFORE_SLEEP: u32 = 2000;

/// Progress of each lane.
#[derive(Debug)]
pub struct ReplayProgress {
    lanes: Vec<ReplayWait>,
    stopped: AtomicBool,
    looks: u32,
}

/// Padded to a separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct ReplayWait {
    steps: AtomicU32,
    waiting: AtomicU32,
    lock: Mutex<()>,
    went_on: Condvar,
}

impl ReplayProgress {
    /// Creates the state of lanes that have not started.
    pub fn new(lanes: usize) -> Self {
        let alone = thread::available_parallelism().is_ok_and(|n| n.get() == 1);
        Self {
            lanes: (0..lanes).map(|_| ReplayWait::default()).collect(),
            stopped: AtomicBool::new(false),
            // Polling is useless with a single processor.
            looks: if alone { 0 } else { SPINS_BEFORE_SLEEP },
        }
    }

    /// Records that a lane has finished `steps` steps.
    #[inline]
    pub fn done(&self, lane: usize, steps: u32) {
        let lane = &self.lanes[lane];
        // Sequential consistency: either this thread sees the waiter, or the waiter sees the new
        // count.
        lane.steps.store(steps, Ordering::SeqCst);
        if lane.waiting.load(Ordering::SeqCst) > 0 {
            drop(lane.lock.lock().unwrap_or_else(PoisonError::into_inner));
            lane.went_on.notify_all();
        }
    }

    /// Waits until a lane has finished the given number of steps. Returns false if the replay was
    /// stopped before.
    #[inline]
    pub fn wait(&self, wait: Dependency) -> bool {
        let lane = &self.lanes[wait.lane as usize];
        lane.steps.load(Ordering::Acquire) >= wait.steps || self.wait_long(lane, wait.steps)
    }

    #[cold]
    fn wait_long(&self, lane: &ReplayWait, steps: u32) -> bool {
        for _ in 0..self.looks {
            if lane.steps.load(Ordering::Acquire) >= steps {
                return true;
            }
            hint::spin_loop();
        }
        let mut guard = lane.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lane.waiting.fetch_add(1, Ordering::SeqCst);
        let came = loop {
            if lane.steps.load(Ordering::SeqCst) >= steps {
                break true;
            }
            if self.is_stopped() {
                break false;
            }
            guard = lane.went_on.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        lane.waiting.fetch_sub(1, Ordering::SeqCst);
        came
    }

    /// Returns true if all lanes must stop.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Stops all lanes.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for lane in &self.lanes {
            drop(lane.lock.lock().unwrap_or_else(PoisonError::into_inner));
            lane.went_on.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: u32 = 2000;

    /// Two lanes alternate step by step; a third waits for a step that never finishes.
    #[test]
    fn lanes_alternate_and_stopping_wakes_all_waiters() {
        let turns = ReplayProgress::new(3);
        let counted = AtomicU32::new(0);
        let lane = |me: u32, other: u32| {
            for step in 0..STEPS {
                assert!(turns.wait(Dependency { lane: other, steps: step + me }));
                assert_eq!(counted.fetch_add(1, Ordering::SeqCst), 2 * step + me);
                turns.done(me as usize, step + 1);
            }
        };
        thread::scope(|scope| {
            let waits = scope.spawn(|| turns.wait(Dependency { lane: 2, steps: 1 }));
            let first = scope.spawn(|| lane(0, 1));
            lane(1, 0);
            first.join().unwrap();
            turns.stop();
            assert!(!waits.join().unwrap());
        });
    }
}
