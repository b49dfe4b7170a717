//! Post-processing of an import: sorts by time, removes unnecessary ordering events, and
//! renumbers without gaps.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::trace::{SyncEvent, Syscall, TraceRecord};

/// Sorts operations by their start, removes ordering events without effect, and numbers processes,
/// threads and messages in the order of their first appearance.
pub fn tidy(mut operations: Vec<TraceRecord>) -> Vec<TraceRecord> {
    operations.sort_by_key(|operation| operation.began);
    drop_idle(&mut operations);
    renumber(&mut operations);
    operations
}

/// Removes messages without receiver, and the starts and ends of idle threads. A thread without
/// any other operation is idle, too.
fn drop_idle(operations: &mut Vec<TraceRecord>) {
    let received: HashSet<u32> = operations
        .iter()
        .filter_map(|operation| match operation.call {
            Syscall::Order(SyncEvent::Receive { message }) => Some(message),
            _ => None,
        })
        .collect();
    operations.retain(|operation| match operation.call {
        Syscall::Order(SyncEvent::Send { message }) => received.contains(&message),
        _ => true,
    });
    let mut active: HashMap<u32, usize> = HashMap::new();
    let mut naming: HashMap<u32, Vec<u32>> = HashMap::new();
    for operation in &*operations {
        *active.entry(operation.thread).or_default() += 1;
        if let Some(thread) = named_thread(operation) {
            naming.entry(thread).or_default().push(operation.thread);
        }
    }
    let mut idle: Vec<u32> =
        naming.keys().filter(|thread| !active.contains_key(thread)).copied().collect();
    while let Some(thread) = idle.pop() {
        for by in naming.remove(&thread).into_iter().flatten() {
            let left = active.entry(by).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                active.remove(&by);
                idle.push(by);
            }
        }
    }
    operations.retain(|operation| {
        named_thread(operation).is_none_or(|thread| active.contains_key(&thread))
    });
}

/// Returns the thread whose start or end an operation is.
fn named_thread(operation: &TraceRecord) -> Option<u32> {
    match operation.call {
        Syscall::Order(SyncEvent::Spawn { thread } | SyncEvent::Join { thread }) => Some(thread),
        _ => None,
    }
}

/// Assigns new numbers in the order of the requests.
#[derive(Default)]
struct Numbers(BTreeMap<u32, u32>);

impl Numbers {
    fn of(&mut self, old: u32) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(old).or_insert(next)
    }
}

fn renumber(operations: &mut [TraceRecord]) {
    let mut processes = Numbers::default();
    let mut threads = Numbers::default();
    let mut messages = Numbers::default();
    for operation in operations {
        operation.process = processes.of(operation.process);
        operation.thread = threads.of(operation.thread);
        if let Syscall::Order(order) = &mut operation.call {
            match order {
                SyncEvent::Spawn { thread } | SyncEvent::Join { thread } => {
                    *thread = threads.of(*thread);
                }
                SyncEvent::Send { message } | SyncEvent::Receive { message } => {
                    *message = messages.of(*message);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::SyscallResult;
    use model::Nanos;

    use super::*;

    fn at(began: u64, thread: u32, call: Syscall) -> TraceRecord {
        TraceRecord {
            process: thread,
            thread,
            began: Nanos(began),
            duration: Nanos(0),
            call,
            outcome: SyscallResult::Ok(0),
        }
    }

    #[test]
    fn removes_order_without_effect_and_renumbers_without_gaps() {
        let order = Syscall::Order;
        let operations = vec![
            at(9, 7, Syscall::SyncAll),
            at(1, 5, order(SyncEvent::Spawn { thread: 6 })),
            at(2, 5, order(SyncEvent::Spawn { thread: 7 })),
            at(3, 6, order(SyncEvent::Spawn { thread: 8 })),
            at(4, 6, order(SyncEvent::Send { message: 1 })),
            at(5, 5, order(SyncEvent::Send { message: 3 })),
            at(6, 7, order(SyncEvent::Receive { message: 3 })),
            at(10, 5, order(SyncEvent::Join { thread: 6 })),
        ];
        let expected = [
            at(2, 0, order(SyncEvent::Spawn { thread: 1 })),
            at(5, 0, order(SyncEvent::Send { message: 0 })),
            at(6, 1, order(SyncEvent::Receive { message: 0 })),
            at(9, 1, Syscall::SyncAll),
        ];
        assert_eq!(tidy(operations), expected);
    }
    #[test]
    fn a_long_chain_of_idle_threads_is_removed() {
        const THREADS: u32 = 300_000;
        let chain = (0..THREADS).map(|thread| {
            let next = SyncEvent::Spawn { thread: thread + 1 };
            at(thread.into(), thread, Syscall::Order(next))
        });
        assert_eq!(tidy(chain.collect()), []);
    }
}
