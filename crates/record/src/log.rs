//! What has been seen so far, and who did it.

use std::collections::BTreeSet;
use std::time::Instant;

use model::Nanos;
use trace::{Errno, SyncEvent, Syscall, SyscallResult, TraceRecord};

/// A thread of the recording, as the trace numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// Its process.
    pub process: u32,
    /// Itself.
    pub thread: u32,
}

/// Operations in the order in which they ended, and what is not among them.
pub struct Log {
    start: Instant,
    /// The operations.
    pub operations: Vec<TraceRecord>,
    /// How much each thread has done that others may have to wait for.
    acted: Vec<u64>,
    /// Operations elsewhere.
    pub elsewhere: u64,
    /// What could not be seen.
    pub unseen: BTreeSet<&'static str>,
}

impl Log {
    /// An empty one, whose time begins now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            operations: Vec::new(),
            acted: Vec::new(),
            elsewhere: 0,
            unseen: BTreeSet::new(),
        }
    }

    /// The time since the beginning.
    pub fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Keeps a call that began then and has just returned.
    pub fn push(&mut self, who: Who, began: Nanos, call: Syscall, outcome: SyscallResult) {
        let took = Nanos(self.now().0.saturating_sub(began.0));
        self.push_timed(who, began, took, call, outcome);
    }

    /// Keeps a call whose end was seen before.
    pub fn push_timed(
        &mut self,
        who: Who,
        began: Nanos,
        took: Nanos,
        call: Syscall,
        outcome: SyscallResult,
    ) {
        let tells = matches!(
            call,
            Syscall::Order(SyncEvent::Send { .. } | SyncEvent::Spawn { .. })
        );
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

    /// Keeps what says something of the order of things.
    pub fn push_order(&mut self, who: Who, order: SyncEvent) {
        let now = self.now();
        self.push_timed(
            who,
            now,
            Nanos(0),
            Syscall::Order(order),
            SyscallResult::Ok(0),
        );
    }

    /// How much a thread has done that others may have to wait for.
    pub fn acted(&self, thread: u32) -> u64 {
        self.acted.get(thread as usize).copied().unwrap_or(0)
    }
}

/// What a system call returned, as the trace has it: its number where that counts something.
pub fn outcome(returned: i64, counts: bool) -> SyscallResult {
    match u64::try_from(returned) {
        Ok(number) => SyscallResult::Ok(if counts { number } else { 0 }),
        Err(_) => SyscallResult::Err(Errno(
            u16::try_from(returned.unsigned_abs()).unwrap_or(u16::MAX),
        )),
    }
}
