//! Recognizes lines of a kernel log. Pure.
//!
//! Sources, all of the kernel: `kernel/panic.c` and `lib/bug.c` (warnings and bugs),
//! `arch/x86/kernel/dumpstack.c` and `arch/x86/mm/fault.c` (oopses), `mm/oom_kill.c`,
//! `mm/memcontrol.c` and `mm/page_alloc.c` (memory), `kernel/hung_task.c`, `kernel/watchdog.c` and
//! `kernel/rcu/tree_stall.h` (hangs).

/// Start mark of a warning or a bug.
const CUT_HERE: &str = "------------[ cut here ]";
/// End mark of a warning or a bug.
const END_TRACE: &str = "---[ end trace";
/// Message about a program that ran out of memory.
const OUT_OF_MEMORY: &str = " invoked oom-killer";
/// Message about a killed process.
const KILLED: &str = "Killed process ";

/// First lines of multi-line reports without marks.
const HEADS: [&str; 10] = [
    "BUG: ",
    "WARNING: ",
    "kernel BUG at ",
    "Oops: ",
    "general protection fault",
    "double fault: ",
    " blocked for more than ",
    "self-detected stall",
    "detected stalls on CPUs",
    "page allocation failure: ",
];

/// Texts that are part of a report, at any position.
const PARTS: [&str; 50] = [
    "Call Trace:",
    "<TASK>",
    "</TASK>",
    "<IRQ>",
    "</IRQ>",
    "<NMI>",
    "</NMI>",
    "<SOFTIRQ>",
    "</SOFTIRQ>",
    "CPU: ",
    "Hardware name: ",
    "Workqueue: ",
    "Modules linked in: ",
    "Unloaded tainted modules: ",
    "last unloaded: ",
    "Tainted: ",
    "Not tainted ",
    "RIP: ",
    "Code: ",
    "RSP: ",
    "RAX: ",
    "RDX: ",
    "RBP: ",
    "R10: ",
    "R13: ",
    "FS: ",
    "CS: ",
    "CR2: ",
    "DR0: ",
    "DR3: ",
    "PKRU: ",
    "#PF: ",
    "PGD ",
    "task:",
    "\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\"",
    "INFO: lockdep is turned off",
    "irq event stamp: ",
    "hardirqs last ",
    "softirqs last ",
    "Sending NMI from CPU",
    "NMI backtrace for cpu ",
    "rcu: \t",
    "rcu: rcu_",
    "(detected by ",
    "(t=",
    "Mem-Info:",
    "---[ end ",
    "note: ",
    "Kernel Offset: ",
    "Rebooting in ",
];

/// Consequences of a report.
const CONSEQUENCES: [&str; 3] = ["Oops: ", "Kernel panic", "Shutting down cpus"];

/// Prefixes of block device names that end with a number.
const NUMBERED: [&str; 8] = ["loop", "nvme", "dm-", "nullb", "fsd", "zram", "mmcblk", "sr"];
/// Prefixes of block device names that continue with a letter.
const LETTERED: [&str; 3] = ["sd", "vd", "xvd"];

/// Removes the level from `<level> text`, and surrounding blanks.
pub fn strip_level(line: &str) -> &str {
    split(line).map_or(line, |(_, text)| text).trim()
}

/// Returns the level of `<level> text`.
pub(super) fn level(line: &str) -> Option<u8> {
    split(line).map(|(level, _)| level)
}

fn split(line: &str) -> Option<(u8, &str)> {
    let (level, text) = line.strip_prefix('<')?.split_once('>')?;
    Some((level.parse().ok()?, text))
}

/// Returns the most informative line: the first of the most severe lines, without marks, traces and
/// consequences.
pub(super) fn title(lines: &[String]) -> &str {
    let telling = lines.iter().filter(|line| {
        let text = strip_level(line);
        !starts_warning(text) && !is_part(text) && !is_consequence(text)
    });
    let gravest = telling.min_by_key(|line| level(line).unwrap_or(u8::MAX));
    gravest.or(lines.first()).map_or("", String::as_str)
}

/// Returns the line without words that contain a digit, because they differ between occurrences.
pub(super) fn kind(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let differs = word.contains(|c: char| c.is_ascii_digit());
        if differs { "#" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn starts_warning(text: &str) -> bool {
    text.starts_with(CUT_HERE)
}

pub(super) fn ends_warning(text: &str) -> bool {
    text.starts_with(END_TRACE)
}

pub(super) fn starts_oom(text: &str) -> bool {
    text.contains(OUT_OF_MEMORY)
}

/// Returns true if a memory shortage ends, because a process was killed.
pub(super) fn ends_oom(text: &str) -> bool {
    text.contains(KILLED)
}

/// Returns true for messages that follow the killing of a process.
pub(super) fn continues_oom(text: &str) -> bool {
    text.starts_with("oom_reaper: ")
        || text.starts_with("Tasks in ")
        || (text.starts_with("Memory cgroup out of memory: ") && text.contains(KILLED))
}

pub(super) fn starts_report(text: &str) -> bool {
    HEADS.iter().any(|head| text.contains(head))
}

pub(super) fn is_consequence(text: &str) -> bool {
    CONSEQUENCES.iter().any(|sign| text.starts_with(sign))
}

/// Returns true if a line can only belong to a preceding report.
pub(super) fn is_part(text: &str) -> bool {
    PARTS.iter().any(|part| text.starts_with(part)) || is_frame(text) || is_dump(text)
}

/// Returns true for a frame of a stack trace: `? ext4_lookup+0x1a/0x2c0 [ext4]`.
fn is_frame(text: &str) -> bool {
    let place = text.strip_prefix("? ").unwrap_or(text);
    let function = place.split_whitespace().next().unwrap_or_default();
    let offset = function.split_once("+0x").map(|(_, rest)| rest);
    offset.is_some_and(|rest| rest.contains("/0x"))
}

/// Returns true for a line of a hex dump: `00000010: 58 41 47 46`.
fn is_dump(text: &str) -> bool {
    let offset = text.split_once(": ").map(|(offset, _)| offset);
    offset.is_some_and(|o| o.len() == 8 && o.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns the words of a line, which include the names of block devices. The number of a journal
/// on a device (`loop0-8`) is excluded.
pub(super) fn split_words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.map(|word| match word.starts_with("dm-") {
        true => word,
        false => word.split('-').next().unwrap_or(word),
    })
}

/// Returns true if a word is a kernel name of a block device: `loop0`, `sda1`, `nvme0n1p2`, `dm-0`.
pub(super) fn is_block_device(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let numbered = NUMBERED.iter().any(|name| {
        let rest = word.strip_prefix(name).unwrap_or_default();
        let mut parts = rest.split(['n', 'p']);
        rest.starts_with(|c: char| c.is_ascii_digit()) && parts.all(digits)
    });
    let lettered = LETTERED.iter().any(|name| {
        let rest = word.strip_prefix(name).unwrap_or_default();
        let number = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
        rest.len() == number.len() + 1 && digits(number)
    });
    numbered || lettered
}
