//! Prints the stacks of a blocked guest on its console before the orchestrator, which cannot look
//! inside, times out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::thread;

use model::Nanos;
use sys::io::clock;
use sys::process;

use crate::observe::event_writer::EventWriter;

/// Device that adds a line to the kernel log, in order with the kernel's messages.
const LOG: &str = "/dev/kmsg";
/// Setting for messages of programs to the kernel log: all, rate-limited or none.
const LOG_SETTING: &str = "/proc/sys/kernel/printk_devkmsg";
const COMMANDS: &str = "/proc/sysrq-trigger";
/// Commands of Documentation/admin-guide/sysrq.rst: show all messages on the console; list
/// uninterruptible tasks; show the stacks of the processors; show only warnings and worse again.
const SHOW: [&str; 4] = ["9", "w", "l", "5"];

/// Closes the kernel log to programs until a report is written: on the console, their lines would
/// look like kernel messages, and one of them could fail a cell. A kernel without this setting has
/// no such log.
pub fn close_log() {
    let _ = fs::write(LOG_SETTING, "off\n");
}

/// Monitors an event writer and prints stacks whenever no event was sent for `silence`.
///
/// # Errors
/// Returns an error if its thread cannot be started.
pub fn watch(events: EventWriter, silence: Nanos) -> io::Result<()> {
    let watch = move || {
        let mut told = None;
        loop {
            let spoke = events.last_sent();
            let until = spoke.0 + silence.0;
            match until.saturating_sub(clock::now().0) {
                0 if told == Some(spoke) => thread::sleep(silence.to_duration()),
                0 => {
                    told = Some(spoke);
                    // If this fails, the orchestrator only reports a timeout without stacks.
                    let _ = tell();
                }
                rest => thread::sleep(Nanos(rest).to_duration()),
            }
        }
    };
    thread::Builder::new().spawn(watch).map(drop)
}

/// Writes the kernel stacks of all threads here, in the format of kernel traces, and requests the
/// stacks that the kernel prints itself.
fn tell() -> io::Result<()> {
    fs::write(LOG_SETTING, "on\n")?;
    let mut log = OpenOptions::new().write(true).open(LOG)?;
    line(&mut log, model::wire::STACKS_BEGIN)?;
    for stack in process::all().iter().flat_map(process::kernel_stacks) {
        let (head, frames) = stack.split_once('\n').unwrap_or((&stack, ""));
        line(&mut log, head)?;
        line(&mut log, "Call Trace:")?;
        let mut frames = frames.lines().map(|frame| frame.trim_start_matches("[<0>] "));
        frames.try_for_each(|frame| line(&mut log, frame))?;
    }
    SHOW.iter().try_for_each(|command| fs::write(COMMANDS, command))?;
    line(&mut log, model::wire::STACKS_END)
}

/// Writes one line of the log. Each write call creates one log record.
fn line(log: &mut File, text: &str) -> io::Result<()> {
    log.write_all(format!("{text}\n").as_bytes())
}
