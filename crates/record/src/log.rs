//! Operations recorded so far, and the threads that performed them.

use std::collections::BTreeSet;
use std::time::Instant;

use model::Nanos;
use trace::{Errno, SyncEvent, Syscall, SyscallResult, TraceRecord};

/// A thread of the recording, with its numbers in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// Its process.
    pub process: u32,
    /// Itself.
    pub thread: u32,
}

/// Operations in the order of their ends, and the limitations of the recording.
pub struct CallLog {
    start: Instant,
    /// The operations.
    pub operations: Vec<TraceRecord>,
    /// Number of operations of each thread that other threads may depend on.
    acted: Vec<u64>,
    /// Operations elsewhere.
    pub elsewhere: u64,
    /// Limitations: activities that the recorder could not see.
    pub unseen: BTreeSet<&'static str>,
}

impl CallLog {
    /// Creates an empty log. Its time starts now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            operations: Vec::new(),
            acted: Vec::new(),
            elsewhere: 0,
            unseen: BTreeSet::new(),
        }
    }

    /// Returns the time since the start of the log.
    pub fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Records a call that started at `began` and has just returned.
    pub fn push(&mut self, who: Who, began: Nanos, call: Syscall, outcome: SyscallResult) {
        let took = Nanos(self.now().0.saturating_sub(began.0));
        self.push_timed(who, began, took, call, outcome);
    }

    /// Records a call with a known duration.
    pub fn push_timed(
        &mut self,
        who: Who,
        began: Nanos,
        took: Nanos,
        call: Syscall,
        outcome: SyscallResult,
    ) {
        let tells =
            matches!(call, Syscall::Order(SyncEvent::Send { .. } | SyncEvent::Spawn { .. }));
        if !tells {
            let thread = who.thread as usize;
            if self.acted.len() <= thread {
                self.acted.resize(thread + 1, 0);
            }
            self.acted[thread] += 1;
        }
        self.operations.push(TraceRecord {
            process: who.process,
            thread: who.thread,
            began,
            duration: took,
            call,
            outcome,
        });
    }

    /// Adds an ordering event.
    pub fn push_order(&mut self, who: Who, order: SyncEvent) {
        let now = self.now();
        self.push_timed(who, now, Nanos(0), Syscall::Order(order), SyscallResult::Ok(0));
    }

    /// Returns the number of operations of a thread that other threads may depend on.
    pub fn acted(&self, thread: u32) -> u64 {
        self.acted.get(thread as usize).copied().unwrap_or(0)
    }
}

/// Converts the return value of a system call for the trace. Keeps the number only if it is a
/// count.
pub fn outcome(returned: i64, counts: bool) -> SyscallResult {
    match u64::try_from(returned) {
        Ok(number) => SyscallResult::Ok(if counts { number } else { 0 }),
        Err(_) => {
            SyscallResult::Err(Errno(u16::try_from(returned.unsigned_abs()).unwrap_or(u16::MAX)))
        }
    }
}
