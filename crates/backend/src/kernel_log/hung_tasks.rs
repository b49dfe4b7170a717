//! Reads the stacks that an agent without progress printed on its guest's console. Pure.

use model::wire::{STACKS_BEGIN, STACKS_END};

use crate::kernel_log::call_trace::CallTrace;
use crate::kernel_log::console::strip_timestamp;

/// Functions that print the stacks; frames of their callees belong to the printing itself.
const SYSRQ_FUNCTIONS: [&str; 2] = ["write_sysrq_trigger", "proc_pid_stack"];

/// Returns the last printed stack of each thread: its name and its functions. Returns an empty list
/// if none was printed.
pub fn hung_task_stacks(console: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(console);
    let Some((_, told)) = text.rsplit_once(STACKS_BEGIN) else {
        return Vec::new();
    };
    let told = told.split_once(STACKS_END).map_or(told, |(told, _)| told);
    let lines: Vec<&str> = told.lines().map(strip_timestamp).collect();
    let heads = (0..lines.len()).filter(|&n| is_head(lines[n]));
    let heads: Vec<usize> = heads.collect();
    let ends = heads.iter().skip(1).copied().chain([lines.len()]);
    let threads = heads.iter().zip(ends);
    let found = threads.filter_map(|(&head, end)| stack(&lines[head..end]));
    found.collect()
}

/// Removes the printed stacks from the console. They are not a complaint if the guest continued.
pub fn strip_hung_tasks(console: &str) -> String {
    let mut kept = String::new();
    let mut rest = console;
    while let Some((before, told)) = rest.split_once(STACKS_BEGIN) {
        let Some((_, after)) = told.split_once(STACKS_END) else {
            break;
        };
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

/// Returns true for the first line of a thread. The line comes from `kernel_stacks` of fsarena, or
/// from the kernel for a task (`kernel/sched/core.c`, `sched_show_task`) or a processor
/// (`lib/dump_stack.c`).
fn is_head(line: &str) -> bool {
    line.contains(" (thread ") || line.starts_with("task:") || line.starts_with("CPU: ")
}

fn stack(lines: &[&str]) -> Option<String> {
    let trace = CallTrace::find(lines.iter().copied())?;
    let asks = |function: &str| SYSRQ_FUNCTIONS.contains(&function);
    if trace.0.iter().any(|place| asks(&place.function)) {
        return None;
    }
    let words: Vec<&str> = lines[0].split_whitespace().collect();
    Some(format!("{}\n{}", words.join(" "), trace.lines()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened output of a guest with Linux 6.1.
    const CONSOLE: &str = "\
[    3.1] minix: oh\r
[   12.0] fsarena: nothing moves; everything is here\r
[   12.1] agent (thread 1, state S):\r
[   12.1] Call Trace:\r
[   12.1] request_wait_answer+0x10e/0x210 [fuse]\r
[   12.1] fuse_simple_request+0x1ac/0x2d0 [fuse]\r
[   12.1] agent (thread 9, state S):\r
[   12.1] Call Trace:\r
[   12.1] proc_pid_stack+0xa0/0x100\r
[   12.2] sysrq: Show Blocked State\r
[   12.2] task:jfsCommit       state:D stack:    0 pid:   81 ppid:     2 flags:0x00004000\r
[   12.2] Call Trace:\r
[   12.2]  <TASK>\r
[   12.2]  __schedule+0x34d/0x9e0\r
[   12.2]  ? jfs_lazycommit+0x1/0x2 [jfs]\r
[   12.2]  </TASK>\r
[   12.3] sysrq: Show backtrace of all active CPUs\r
[   12.3] NMI backtrace for cpu 0\r
[   12.3] CPU: 0 PID: 71 Comm: init Not tainted 6.1.0-41-amd64 #1\r
[   12.3] Call Trace:\r
[   12.3]  <TASK>\r
[   12.3]  nmi_cpu_backtrace+0x1/0x2\r
[   12.3]  write_sysrq_trigger+0x1/0x2\r
[   12.3]  </TASK>\r
[   12.4] fsarena: nothing moves; that was all\r
[   19.0] minix: late\r
";

    #[test]
    fn stacks_are_read_for_each_thread_except_the_printing_one() {
        assert_eq!(
            hung_task_stacks(CONSOLE.as_bytes()),
            [
                "agent (thread 1, state S):\n\
                 request_wait_answer+0x10e [fuse]\nfuse_simple_request+0x1ac [fuse]\n",
                "task:jfsCommit state:D stack: 0 pid: 81 ppid: 2 flags:0x00004000\n\
                 __schedule+0x34d\n",
            ]
        );
        assert!(hung_task_stacks(b"[ 1.0] minix: oh\n").is_empty());
    }

    #[test]
    fn last_stacks_count_and_may_be_truncated() {
        let again = CONSOLE.replace("request_wait_answer", "again");
        let twice = format!("{CONSOLE}{again}");
        assert!(hung_task_stacks(twice.as_bytes())[0].contains("again"));
        let cut = CONSOLE.split("[   12.2]").next().unwrap();
        assert_eq!(hung_task_stacks(cut.as_bytes()).len(), 1);
    }

    #[test]
    fn stacks_of_a_guest_that_continued_are_removed() {
        let kept = strip_hung_tasks(&format!("{CONSOLE}{CONSOLE}"));
        assert!(kept.contains("minix: late") && kept.contains("minix: oh"));
        assert!(!kept.contains("Call Trace") && !kept.contains("sysrq"), "{kept}");
        let cut = CONSOLE.split("[   12.4]").next().unwrap();
        assert_eq!(strip_hung_tasks(cut), cut, "what is not whole may hold an end");
    }
}
