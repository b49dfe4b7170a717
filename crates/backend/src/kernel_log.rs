//! Selects the events of the machine-wide kernel log that concern a cell, and limits the number of
//! lines.

pub mod call_trace;
pub mod console;
pub mod hung_tasks;
pub mod kernel_crash;

use std::path::Path;

use model::result::kernel_log::{self, LogLine, strip_level};
use model::wire::{CellJob, WorkTarget};
use model::{Attribution, KernelEvent, Op};

/// Maximum number of lines stored for a cell: from the start of its log, which has the cause, and
/// from the end, which has the consequences.
const KEPT: (usize, usize) = (350, 150);
/// Process name of fsarena itself.
const AGENT: &str = "fsarena";
/// Maximum length of a process name in the kernel, in bytes (`TASK_COMM_LEN` without the
/// terminating zero).
const MAX_NAME: usize = 15;

/// Names by which the kernel log identifies a cell.
pub struct CellIdentifiers {
    /// Kernel names of its block devices.
    devices: Vec<String>,
    /// Words of its command lines, including its programs.
    words: Vec<String>,
    /// Control group relative to the top, if the cell has one with a memory limit.
    group: Option<String>,
}

impl CellIdentifiers {
    /// Returns the names of a job. `limited_by` is the path of the control group with its memory
    /// limit.
    pub fn of(job: &CellJob, limited_by: Option<&Path>) -> Self {
        let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        let (mut devices, mut words) = (Vec::new(), Vec::new());
        if let WorkTarget::Volume(volume) = &job.target {
            let members = volume.span.iter().flat_map(model::wire::MultiDevice::members);
            devices.extend(volume.device.iter().chain(members).filter_map(|d| name(d)));
            let commands = &volume.commands;
            for line in [
                &commands.mkfs,
                &commands.mount,
                &commands.umount,
                &commands.fsck,
                &commands.repair,
            ] {
                words.extend(line.iter().flat_map(|word| names_in(word)));
            }
            let tasks = commands.maintenance.values().flat_map(|task| &task.command);
            words.extend(tasks.flat_map(|word| names_in(word)));
        }
        for phase in &job.test.phases {
            if let Op::Exec(exec) = &phase.op {
                words.extend(names_in(&exec.command));
            }
        }
        Self { devices, words, group: limited_by.and_then(name) }
    }

    /// Returns true if a block device belongs to the cell or contains one of its partitions: `sda`
    /// for `sda1`, `nvme0n1` for `nvme0n1p1`.
    fn has_device(&self, name: &str) -> bool {
        let sign = match name.ends_with(|c: char| c.is_ascii_digit()) {
            true => "p",
            false => "",
        };
        let is_partition = |rest: &str| rest.strip_prefix(sign).is_some_and(is_number);
        let is_it = |own: &String| {
            own.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_partition(rest))
        };
        self.devices.iter().any(is_it)
    }

    /// Returns true if a process of this name may belong to the cell. Process numbers are useless
    /// by the time the log is read.
    fn has_program(&self, name: &str) -> bool {
        let name = name.strip_prefix("mount.").unwrap_or(name);
        let cut = name.len() >= MAX_NAME;
        let is_it = |word: &String| word == name || (cut && word.starts_with(name));
        !name.is_empty() && (name == AGENT || self.words.iter().any(is_it))
    }
}

/// Returns the words of a command line that may be program names, without their directories.
fn names_in(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"._-+".contains(c));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.strip_prefix("mount.").unwrap_or(word).to_owned())
}

/// Subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventSubject {
    /// A process or device of the cell.
    Cell,
    /// An unrelated process or device.
    OtherProcess,
    /// The event names no subject.
    Unattributed,
}

/// Returns the events that may concern a cell. Omits events that name a device, process or control
/// group of others, and events unrelated to filesystems.
pub fn events_for_cell(lines: Vec<LogLine>, own: &CellIdentifiers) -> Vec<KernelEvent> {
    let ours = |line: &LogLine| !is_of_the_attachment(&line.text) && !is_a_count(&line.text);
    let events = kernel_log::events(lines.into_iter().filter(ours));
    let kept = events.into_iter().filter_map(|event| {
        let concern = match about(&event, own) {
            EventSubject::Cell => Attribution::Cell,
            EventSubject::Unattributed => Attribution::Unknown,
            EventSubject::OtherProcess => return None,
        };
        Some(KernelEvent { concern, ..event })
    });
    kept.collect()
}

/// Returns the events of a guest, which all belong to its cell.
pub fn events_for_guest(lines: Vec<LogLine>) -> Vec<KernelEvent> {
    let concern = Attribution::Cell;
    let events = kernel_log::events(lines).into_iter();
    events.map(|event| KernelEvent { concern, ..event }).collect()
}

fn about(event: &KernelEvent, own: &CellIdentifiers) -> EventSubject {
    if let Some(killed) = OomKill::find(event) {
        return killed.about(own);
    }
    if event.devices().any(|device| own.has_device(device)) {
        return EventSubject::Cell;
    }
    // Other disks may contain the image.
    if event.devices().any(is_loop_device) {
        return EventSubject::OtherProcess;
    }
    match process(event) {
        Some((name, _)) if own.has_program(name) => EventSubject::Cell,
        Some((_, Culprit::Own)) => EventSubject::OtherProcess,
        Some((_, Culprit::Kernel)) | None => EventSubject::Unattributed,
    }
}

/// A process that was killed because memory ran out.
///
/// Source of the lines: `mm/oom_kill.c` (`dump_oom_summary`, `__oom_kill_process`) of the kernel.
struct OomKill<'a> {
    /// Whether the limit of a control group was reached. If not, the machine ran out of memory.
    at_a_limit: bool,
    /// Control group, if the kernel names it.
    group: Option<&'a str>,
    name: &'a str,
}

impl<'a> OomKill<'a> {
    fn find(event: &'a KernelEvent) -> Option<Self> {
        let texts = || event.lines.iter().map(|line| strip_level(line));
        let (before, killed) = texts().find_map(|text| text.split_once("Killed process "))?;
        let name = killed.split_once('(')?.1.split_once(')')?.0;
        let summary = texts().find_map(|text| text.strip_prefix("oom-kill:"));
        let group = summary.and_then(|summary| {
            let mut values = summary.split(',');
            values.find_map(|value| value.strip_prefix("task_memcg="))
        });
        Some(Self { at_a_limit: before.starts_with("Memory cgroup out of memory"), group, name })
    }

    /// Returns the subject of the event. All processes of a cell with a limit are in the limit's
    /// control group. The kernel names groups relative to its own root, which may differ from the
    /// root of a container.
    fn about(&self, own: &CellIdentifiers) -> EventSubject {
        let is_own = match (&own.group, self.group) {
            (Some(own), Some(group)) => group.split('/').any(|part| part == own),
            _ => own.has_program(self.name),
        };
        match (is_own, self.at_a_limit) {
            (true, _) => EventSubject::Cell,
            (false, true) => EventSubject::OtherProcess,
            (false, false) => EventSubject::Unattributed,
        }
    }
}

/// Cause of an event in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Culprit {
    /// The process itself, because it accessed invalid memory.
    Own,
    /// The kernel, working for the process or in general.
    Kernel,
}

/// Returns the process named by an event.
///
/// Source of the lines: `arch/x86/mm/fault.c` (`show_signal_msg`), `arch/x86/kernel/traps.c`
/// (`show_signal`), `kernel/hung_task.c` (`check_hung_task`), `lib/dump_stack.c`
/// (`dump_stack_print_info`).
fn process(event: &KernelEvent) -> Option<(&str, Culprit)> {
    event.lines.iter().find_map(|line| {
        let text = strip_level(line);
        let text = text.strip_prefix("traps: ").unwrap_or(text);
        if let Some((name, what)) = text.split_once('[')
            && let Some((pid, what)) = what.split_once(']')
            && is_number(pid)
            && (what.contains(": segfault at ") || what.contains(" ip:"))
        {
            return Some((name, Culprit::Own));
        }
        let task = text
            .strip_prefix("INFO: task ")
            .and_then(|rest| rest.split_once(" blocked for more than "))
            .and_then(|(task, _)| task.rsplit_once(':'))
            .map(|(name, _)| name);
        let comm = || {
            let (_, rest) = text.split_once(" Comm: ")?;
            rest.split_whitespace().next()
        };
        Some((task.or_else(comm)?, Culprit::Kernel))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_loop_device(name: &str) -> bool {
    name.strip_prefix("loop").is_some_and(is_number)
}

/// Shortens the log for storage. Must not run before the log was searched.
pub fn limit_size(events: Vec<KernelEvent>) -> Vec<KernelEvent> {
    let (first, last) = KEPT;
    let lines: usize = events.iter().map(|event| event.lines.len()).sum();
    if lines <= first + last {
        return events;
    }
    let (mut kept, mut at) = (Vec::new(), 0);
    let mut note = Some(lines - first - last);
    for event in events {
        let begin = at;
        at += event.lines.len();
        let is_kept = |n: usize| n < first || n >= lines - last;
        let numbered = (begin..).zip(event.lines);
        let left: Vec<String> =
            numbered.filter(|(n, _)| is_kept(*n)).map(|(_, line)| line).collect();
        if !left.is_empty() {
            kept.push(KernelEvent { lines: left, ..event });
        }
        if at > first
            && let Some(left_out) = note.take()
        {
            let text = format!("<4> … {left_out} lines omitted …");
            kept.push(KernelEvent::from_line(text));
        }
    }
    kept
}

/// Returns true for messages caused by the attachment of images, not by a filesystem: a loop device
/// without discard refuses WRITE_ZEROES, so the kernel writes zeros itself and logs an error.
fn is_of_the_attachment(line: &str) -> bool {
    line.contains("operation not supported error") && line.contains("op 0x9:(WRITE_ZEROES)")
}

/// Returns true for a count of suppressed messages. The first messages of the kind are logged.
fn is_a_count(line: &str) -> bool {
    line.ends_with(" callbacks suppressed")
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::*;

    /// Returns the identifiers of a cell on this device that runs ntfs-3g.
    fn own(device: &str, group: Option<&str>) -> CellIdentifiers {
        CellIdentifiers {
            devices: vec![device.to_owned()],
            words: ["mkntfs", "-f", "ntfs-3g", "umount"].map(str::to_owned).into(),
            group: group.map(str::to_owned),
        }
    }

    /// Returns the subject of one event.
    fn whom(lines: &[&str], own: &CellIdentifiers) -> EventSubject {
        let at = Some(Nanos(0));
        let line = |line: &&str| LogLine { at, text: (*line).to_owned() };
        let events = kernel_log::events(lines.iter().map(line));
        assert_eq!(events.len(), 1, "{events:?}");
        about(&events[0], own)
    }

    /// Returns the lines that Linux 6.1 writes for a kill at the limit of a control group.
    fn killed(group: &str, name: &str) -> [String; 3] {
        [
            format!(
                "<4> {name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
            ),
            format!(
                "<6> oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={group},task_memcg={group},task={name},pid=9001,uid=0"
            ),
            format!(
                "<3> Memory cgroup out of memory: Killed process 9001 ({name}) total-vm:81920kB, anon-rss:60416kB"
            ),
        ]
    }

    fn whom_killed(group: &str, name: &str, own: &CellIdentifiers) -> EventSubject {
        let lines = killed(group, name);
        whom(&lines.each_ref().map(String::as_str), own)
    }

    #[test]
    fn refused_write_zeroes_is_ignored_and_io_error_is_not() {
        let refused = "<3> operation not supported error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800";
        assert!(is_of_the_attachment(refused));
        assert!(is_a_count("<4> blk_print_req_error: 84 callbacks suppressed"));
        assert!(!is_of_the_attachment(
            "<3> I/O error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800"
        ));
        assert!(!is_of_the_attachment(
            "<3> I/O error, dev loop0, sector 8 op 0x1:(WRITE) flags 0x800"
        ));
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_kept() {
        let flood = |lines| -> Vec<KernelEvent> {
            let line = |n| KernelEvent::from_line(format!("<4> line {n}"));
            (0..lines).map(line).collect()
        };
        let lines = |events: Vec<KernelEvent>| -> Vec<String> {
            limit_size(events).into_iter().flat_map(|e| e.lines).collect()
        };
        let kept = lines(flood(2000));
        assert_eq!(kept.len(), 501);
        assert_eq!((kept[0].as_str(), kept[500].as_str()), ("<4> line 0", "<4> line 1999"));
        assert_eq!(kept[350], "<4> … 1500 lines omitted …");
        assert_eq!(limit_size(flood(500)), flood(500));
        let endless = KernelEvent {
            lines: (0..2000).map(|n| format!("<4> line {n}")).collect(),
            ..KernelEvent::from_line("<4> line 0")
        };
        assert_eq!(lines(vec![endless]).len(), 501);
    }

    #[test]
    fn device_decides_which_cell_an_event_concerns() {
        let ours = |line, device| whom(&[line], &own(device, None));
        for line in ["<3> I/O error, dev loop1, sector 0", "<3> EXT4-fs (loop10): error"] {
            assert_eq!(ours(line, "loop0"), EventSubject::OtherProcess, "{line}");
        }
        assert_eq!(ours("<3> EXT4-fs (loop1): error", "loop10"), EventSubject::OtherProcess);
        assert_eq!(ours("<3> EXT4-fs (loop1): error", "loop1"), EventSubject::Cell);
        assert_eq!(ours("<4> loop1 lies above loop2", "loop2"), EventSubject::Cell);
        assert_eq!(ours("<3> Aborting journal on device loop2-8.", "loop2"), EventSubject::Cell);
        assert_eq!(ours("<3> I/O error, dev sdb, sector 0", "sdb1"), EventSubject::Cell);
        assert_eq!(ours("<3> I/O error, dev nvme0n1, sector 0", "nvme0n1p2"), EventSubject::Cell);
        assert_eq!(
            ours("<3> I/O error, dev sda, sector 0", "loop0"),
            EventSubject::Unattributed,
            "the image may be located on it"
        );
        assert_eq!(
            ours("<1> BUG: unable to handle page fault in loop_queue_work", "loop0"),
            EventSubject::Unattributed
        );
    }

    /// Kills of unrelated processes were once attributed to the running cell.
    #[test]
    fn a_kill_at_the_limit_of_another_group_is_anothers() {
        let unlimited = own("loop0", None);
        assert_eq!(whom_killed("/build", "rustc", &unlimited), EventSubject::OtherProcess);
        assert_eq!(whom_killed("/build", "ntfs-3g", &unlimited), EventSubject::Cell);
        let limited = own("loop0", Some("fsarena-812"));
        assert_eq!(whom_killed("/docker/ab/fsarena-812", "rustc", &limited), EventSubject::Cell);
        assert_eq!(
            whom_killed("/docker/ab/fsarena-81", "ntfs-3g", &limited),
            EventSubject::OtherProcess
        );
        let text = "<3> Out of memory: Killed process 9001 (chromium) total-vm:1kB, anon-rss:1kB";
        assert_eq!(
            whom(&[text], &unlimited),
            EventSubject::Unattributed,
            "the machine's memory is the cell's, too"
        );
    }

    #[test]
    fn process_decides_which_cell_an_event_concerns() {
        let whom = |line| whom(&[line], &own("loop0", None));
        assert_eq!(
            whom("<6> ntfs-3g[812]: segfault at 18 ip 00005581 sp 00007ffd error 4 in ntfs-3g"),
            EventSubject::Cell
        );
        assert_eq!(
            whom("<6> traps: mount.ntfs-3g[812] general protection fault ip:55 sp:7f error:0"),
            EventSubject::Cell
        );
        assert_eq!(
            whom("<6> chromium[9]: segfault at 18 ip 00005581 sp 00007ffd error 4"),
            EventSubject::OtherProcess
        );
        assert_eq!(
            whom("<3> INFO: task fsarena:812 blocked for more than 120 seconds."),
            EventSubject::Cell
        );
        assert_eq!(
            whom("<3> INFO: task kworker/0:1:12 blocked for more than 120 seconds."),
            EventSubject::Unattributed
        );
    }

    #[test]
    fn unrelated_events_are_omitted_and_others_are_marked() {
        let line = |text: &str| LogLine { at: None, text: text.to_owned() };
        let lines = [
            "<3> EXT4-fs error (device loop1): oh",
            "<3> EXT4-fs error (device loop0): oh",
            "<4> clocksource: oh",
        ];
        let kept = events_for_cell(lines.map(line).into(), &own("loop0", None));
        let kept: Vec<_> = kept.iter().map(|e| (e.title.as_str(), e.concern)).collect();
        assert_eq!(kept, [(lines[1], Attribution::Cell), (lines[2], Attribution::Unknown)]);
        let in_guest = events_for_guest(lines.map(line).into());
        assert!(in_guest.iter().all(|e| e.concern == Attribution::Cell));
    }
}
