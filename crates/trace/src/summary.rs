//! Summary of a trace in a few numbers.

use std::collections::{BTreeMap, BTreeSet};

use model::{Bytes, Nanos};
use serde::Serialize;

use crate::plan::ReplayPlan;
use crate::trace::{Syscall, SyscallResult, Trace, TracedKind, TreeEntry};

/// Summary of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceSummary {
    /// Number of calls that touch the directory.
    pub operations: u64,
    /// Number of calls by name of the system call.
    pub calls: BTreeMap<&'static str, u64>,
    /// Number of failed calls.
    pub failed: u64,
    /// Number of calls that wait for a device, such as fsync.
    pub syncs: u64,
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Number of names before the first operation.
    pub before: u64,
    /// Bytes in files before the first operation.
    pub bytes_before: Bytes,
    /// Number of names after the last operation.
    pub after: u64,
    /// Bytes in files after the last operation.
    pub bytes_after: Bytes,
    /// Processes.
    pub processes: u64,
    /// Number of threads of all processes.
    pub threads: u64,
    /// Maximum number of concurrent threads; the replay uses as many.
    pub side_by_side: u64,
    /// Time from the start of the first operation to the end of the last.
    pub elapsed: Nanos,
    /// Time in operations, summed over all threads.
    pub in_operations: Nanos,
    /// Time between operations, summed over all threads.
    pub thinking: Nanos,
}

impl TraceSummary {
    /// Summarises a trace.
    pub fn from_trace(trace: &Trace) -> Self {
        let mut summary = Self {
            before: trace.before.len() as u64,
            bytes_before: bytes(&trace.before),
            after: trace.after.len() as u64,
            bytes_after: bytes(&trace.after),
            side_by_side: ReplayPlan::build(trace).lanes.len() as u64,
            ..Self::default()
        };
        let (mut processes, mut ends) = (BTreeSet::new(), BTreeMap::new());
        let (mut first, mut last) = (u64::MAX, 0);
        for operation in &trace.operations {
            let began = operation.began.0;
            let ended = began.saturating_add(operation.duration.0);
            processes.insert(operation.process);
            let before = ends.insert(operation.thread, ended);
            let thought = before.map_or(0, |before: u64| began.saturating_sub(before));
            summary.thinking.0 = summary.thinking.0.saturating_add(thought);
            if matches!(operation.call, Syscall::Order(_)) {
                continue;
            }
            (first, last) = (first.min(began), last.max(ended));
            summary.in_operations.0 = summary.in_operations.0.saturating_add(operation.duration.0);
            summary.operations += 1;
            *summary.calls.entry(operation.call.name()).or_default() += 1;
            summary.count(&operation.call, operation.outcome);
        }
        summary.processes = processes.len() as u64;
        summary.threads = ends.len() as u64;
        summary.elapsed = Nanos(last.saturating_sub(first));
        summary
    }

    fn count(&mut self, call: &Syscall, outcome: SyscallResult) {
        let SyscallResult::Ok(count) = outcome else {
            self.failed += 1;
            return;
        };
        match call {
            Syscall::Read { .. } | Syscall::MappedRead { .. } => {
                self.read.0 = self.read.0.saturating_add(count);
            }
            Syscall::Write { .. }
            | Syscall::MappedWrite { .. }
            | Syscall::CopyRange { clone: false, .. } => {
                self.written.0 = self.written.0.saturating_add(count);
            }
            Syscall::Sync { .. } | Syscall::SyncAll | Syscall::MappedSync { .. } => self.syncs += 1,
            _ => {}
        }
    }
}

fn bytes(entries: &[TreeEntry]) -> Bytes {
    let sizes = entries.iter().map(|entry| match entry.kind {
        TracedKind::File { size } => size,
        _ => 0,
    });
    Bytes(sizes.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Errno, HandleId, TraceRecord};

    #[test]
    fn summary_counts_calls_bytes_and_times() {
        let mut trace = Trace::default();
        let handle = HandleId(0);
        let calls = [
            (0, Syscall::Write { handle, offset: 0, length: 100 }, SyscallResult::Ok(60)),
            (1, Syscall::Read { handle, offset: 0, length: 100 }, SyscallResult::Ok(40)),
            (0, Syscall::Sync { handle, data_only: true }, SyscallResult::Ok(0)),
            (1, Syscall::SyncAll, SyscallResult::Err(Errno(5))),
        ];
        for (at, (thread, call, outcome)) in (1..).zip(calls) {
            let (began, took) = (Nanos(at * 100), Nanos(30));
            trace.operations.push(TraceRecord {
                process: 0,
                thread,
                began,
                duration: took,
                call,
                outcome,
            });
        }
        let summary = TraceSummary::from_trace(&trace);
        assert_eq!((summary.read, summary.written), (Bytes(40), Bytes(60)));
        assert_eq!((summary.operations, summary.failed, summary.syncs), (4, 1, 1));
        assert_eq!((summary.processes, summary.threads, summary.side_by_side), (1, 2, 2));
        assert_eq!((summary.elapsed, summary.thinking), (Nanos(330), Nanos(340)));
        assert_eq!(summary.calls["fdatasync"], 1);
    }
}
