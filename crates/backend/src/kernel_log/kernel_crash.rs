//! Finds the death or hang of a kernel in its log: oops, panic and out of memory. Pure.

use crate::kernel_log::call_trace::{CallTrace, strip_level};

/// Kernel messages of an oops. Source: `arch/x86/kernel/dumpstack.c`, `arch/x86/mm/fault.c`,
/// `arch/x86/kernel/traps.c`, `lib/bug.c`.
const OOPS: [&str; 6] = [
    "Oops: ",
    "BUG: unable to handle",
    "BUG: kernel NULL pointer",
    "kernel BUG at ",
    "general protection fault",
    "double fault: ",
];
/// Last kernel message of a panic. Source: `kernel/panic.c`.
const PANIC: &str = "Kernel panic";
/// Reasons of a panic when a guest has no memory left. Source: `mm/oom_kill.c`.
const NO_MEMORY: [&str; 2] = ["Out of memory", "System is deadlocked on memory"];
/// Kernel message that names the program whose allocation failed.
const OOM_KILLER_PATTERN: &str = " invoked oom-killer";
/// Kernel messages about a task or processor that is stuck. Source: `kernel/hung_task.c`,
/// `kernel/watchdog.c`, `kernel/rcu/tree_stall.h`.
const STUCK: [&str; 4] = [
    " blocked for more than ",
    "soft lockup - CPU",
    "self-detected stall",
    "detected stalls on CPUs",
];

/// Cause of a kernel's death or hang, found in its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFinding {
    /// One human-readable line.
    pub reason: String,
    /// Functions of the trace, one per line. Empty if the log names none.
    pub trace: String,
}

/// Returns the cause of the kernel's death, if any. Uses the first sign, because later ones are
/// often its consequences.
pub fn find(log: &[String]) -> Option<KernelFinding> {
    let is_sign = |line: &&String| is_oops(line) || line.contains(PANIC);
    let first = log.iter().position(|line| is_sign(&line))?;
    let line = strip_level(&log[first]);
    if !is_oops(line) && NO_MEMORY.iter().any(|words| line.contains(words)) {
        return Some(want_of_memory(log, line));
    }
    let how = if is_oops(line) { "oopsed" } else { "panicked" };
    let reason = format!("the kernel {how}: {line}");
    Some(traced(reason, &log[first..]))
}

/// Returns the location where the kernel reports a hang, if any.
pub fn find_hung_task(log: &[String]) -> Option<KernelFinding> {
    let is_sign = |line: &String| STUCK.iter().any(|sign| line.contains(sign));
    let first = log.iter().position(is_sign)?;
    let reason = format!("the kernel says: {}", strip_level(&log[first]));
    Some(traced(reason, &log[first..]))
}

fn is_oops(line: &str) -> bool {
    OOPS.iter().any(|sign| line.contains(sign))
}

fn want_of_memory(log: &[String], line: &str) -> KernelFinding {
    let asked = log.iter().find_map(|line| strip_level(line).split_once(OOM_KILLER_PATTERN));
    let who = asked.map_or("something", |(who, _)| who);
    KernelFinding {
        reason: format!("out of memory: {who} requested more than was available ({line})"),
        trace: String::new(),
    }
}

fn traced(reason: String, log: &[String]) -> KernelFinding {
    match CallTrace::find(log.iter().map(String::as_str)) {
        None => KernelFinding { reason, trace: String::new() },
        Some(trace) => {
            KernelFinding { reason: format!("{reason}; in {trace}"), trace: trace.lines() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| format!("<4> {line}")).collect()
    }

    #[test]
    fn oops_is_found_and_a_warning_is_not() {
        for sign in [
            "BUG: kernel NULL pointer dereference, address: 08",
            "Oops: 0000 [#1] PREEMPT SMP",
            "kernel BUG at fs/hpfs/alloc.c:12!",
        ] {
            let found = find(&log(&["loop0: detected", sign])).unwrap();
            assert_eq!(found.reason, format!("the kernel oopsed: {sign}"));
        }
        let complaint = log(&["EXT4-fs error (device loop0): ext4_lookup"]);
        assert_eq!((find(&complaint), find_hung_task(&complaint)), (None, None));
    }

    #[test]
    fn oops_names_its_functions_and_outranks_the_later_panic() {
        let found = find(&log(&[
            "kernel BUG at fs/affs/file.c:120!",
            "RIP: 0010:affs_grab_extblock+0x4c/0x1d0 [affs]",
            "Call Trace:",
            " affs_get_block+0x12a/0x350 [affs]",
            "Kernel panic - not syncing: Fatal exception",
        ]));
        let found = found.unwrap();
        assert_eq!(
            found.reason,
            "the kernel oopsed: kernel BUG at fs/affs/file.c:120!; \
             in affs_grab_extblock+0x4c ← affs_get_block+0x12a"
        );
        assert_eq!(found.trace.lines().count(), 2);
    }

    #[test]
    fn a_panic_alone_is_no_oops() {
        let line = "Kernel panic - not syncing: (device vda): panic forced after error";
        let found = find(&log(&[line])).unwrap();
        assert_eq!(found.reason, format!("the kernel panicked: {line}"));
    }

    #[test]
    fn out_of_memory_is_recognized_and_names_the_program() {
        let found = find(&log(&[
            "ntfs-3g invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=0",
            "Call Trace:",
            " dump_header+0x4a/0x200",
            "Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled",
        ]));
        let reason = found.unwrap().reason;
        assert!(
            reason.starts_with("out of memory: ntfs-3g requested more than was available ("),
            "{reason}"
        );
    }

    #[test]
    fn hang_is_reported_with_the_function_that_waits() {
        let found = find_hung_task(&log(&[
            "INFO: task init:70 blocked for more than 120 seconds.",
            "Call Trace:",
            " <TASK>",
            " __schedule+0x34d/0x9e0",
            " jfs_flush_journal+0x11a/0x2f0 [jfs]",
        ]));
        let reason = found.unwrap().reason;
        assert!(reason.contains("init:70 blocked"), "{reason}");
        assert!(reason.ends_with("in __schedule+0x34d ← jfs_flush_journal+0x11a"), "{reason}");
    }
}
