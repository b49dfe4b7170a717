//! Tells of a guest in which nothing moves any more where everything is: on its console, before the
//! orchestrator, who cannot look inside, gives it up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::thread;

use model::Nanos;
use sys::{clock, process};

use crate::event_writer::EventWriter;

/// Where a line that is written becomes one of the kernel's log, in order with the kernel's own.
const LOG: &str = "/dev/kmsg";
/// Whether what programs write there is taken: all of it, some lines, or nothing.
const LOG_SETTING: &str = "/proc/sys/kernel/printk_devkmsg";
const COMMANDS: &str = "/proc/sysrq-trigger";
/// As Documentation/admin-guide/sysrq.rst has them: all of the log to the console; tasks that cannot be
/// interrupted; what the processors are at; warnings and worse to the console, as it was.
const SHOW: [&str; 4] = ["9", "w", "l", "5"];

/// Closes the kernel's log to programs until something is told: on the console, their lines would look like the kernel's
/// own, and a cell would die of what one of them says. A kernel without this switch has no such log.
pub fn close_log() {
    let _ = fs::write(LOG_SETTING, "off\n");
}

/// Watches an event writer, and tells whenever nothing was sent for so long.
///
/// # Errors
/// When its thread cannot be started.
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
                    // Where it cannot be told, the orchestrator says that nothing moved, and no more.
                    let _ = tell();
                }
                rest => thread::sleep(Nanos(rest).to_duration()),
            }
        }
    };
    thread::Builder::new().spawn(watch).map(drop)
}

/// Writes where the threads of all processes here are, in the form in which the kernel writes traces, and has the
/// kernel write where its own are.
fn tell() -> io::Result<()> {
    fs::write(LOG_SETTING, "on\n")?;
    let mut log = OpenOptions::new().write(true).open(LOG)?;
    line(&mut log, wire::STACKS_BEGIN)?;
    for stack in process::all().iter().flat_map(process::kernel_stacks) {
        let (head, frames) = stack.split_once('\n').unwrap_or((&stack, ""));
        line(&mut log, head)?;
        line(&mut log, "Call Trace:")?;
        let mut frames = frames
            .lines()
            .map(|frame| frame.trim_start_matches("[<0>] "));
        frames.try_for_each(|frame| line(&mut log, frame))?;
    }
    SHOW.iter()
        .try_for_each(|command| fs::write(COMMANDS, command))?;
    line(&mut log, wire::STACKS_END)
}

/// One line of the log for each call: the kernel takes what is written at once as one.
fn line(log: &mut File, text: &str) -> io::Result<()> {
    log.write_all(format!("{text}\n").as_bytes())
}
