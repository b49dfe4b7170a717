//! Processor time and page faults.

use std::fs;

use model::{CpuTime, Faults, Nanos};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::process;

/// Ticks of `/proc/stat` in a second; fixed by the kernel's interface to programs (`USER_HZ`).
const TICK: u64 = 10_000_000;

/// Processor time and faults since the program began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Processor time.
    pub cpu: CpuTime,
    /// Page faults.
    pub faults: Faults,
}

/// Reads the usage of this process, of the children it has waited for, of the machine, and, where
/// the reader is the first process of its namespace, of the drivers that live there.
pub fn read() -> Reading {
    let own = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(getrusage);
    let mut reading = Reading::default();
    for usage in own.into_iter().flatten() {
        add(&mut reading, &usage);
    }
    reading.cpu.driver = drivers();
    reading.cpu.machine = machine();
    reading
}

/// What was used between two readings.
pub const fn difference(before: &Reading, after: &Reading) -> Reading {
    const fn less(after: Nanos, before: Nanos) -> Nanos {
        Nanos(after.0.saturating_sub(before.0))
    }
    Reading {
        cpu: CpuTime {
            user: less(after.cpu.user, before.cpu.user),
            system: less(after.cpu.system, before.cpu.system),
            driver: less(after.cpu.driver, before.cpu.driver),
            machine: less(after.cpu.machine, before.cpu.machine),
        },
        faults: Faults {
            minor: after.faults.minor.saturating_sub(before.faults.minor),
            major: after.faults.major.saturating_sub(before.faults.major),
        },
    }
}

fn add(reading: &mut Reading, usage: &Usage) {
    reading.cpu.user.0 += nanos(usage.user_time());
    reading.cpu.system.0 += nanos(usage.system_time());
    reading.faults.minor += usage.minor_page_faults() as u64;
    reading.faults.major += usage.major_page_faults() as u64;
}

const fn nanos(time: TimeVal) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1_000
}

/// Processor time of every other process of a namespace of our own, to the nanosecond.
///
/// FUSE drivers put themselves into the background and become children of PID 1, that is, of the
/// agent; nobody waits for them, so `getrusage` does not count them.
fn drivers() -> Nanos {
    let me = Pid::this();
    if me.as_raw() != 1 {
        return Nanos(0);
    }
    let time_of = |pid: Pid| {
        let time = clock_gettime(ClockId::pid_cpu_clock_id(pid).ok()?).ok()?;
        Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
    };
    let others = process::all().into_iter().filter(|p| p.pid != me);
    Nanos(others.filter_map(|p| time_of(p.pid)).sum())
}

/// Busy time of all processors: everything but idle and waiting for I/O.
/// Source: proc(5), `/proc/stat`, first line.
fn machine() -> Nanos {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .map_while(|f| f.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest time is part of user already.
    let busy = [0, 1, 2, 5, 6]
        .into_iter()
        .filter_map(|i| ticks.get(i))
        .sum::<u64>();
    Nanos(busy * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen() {
        let before = read();
        let mut sum = 0u64;
        while difference(&before, &read()).cpu.user.0 < 5_000_000 {
            for i in 0..100_000u64 {
                sum = sum.wrapping_add(std::hint::black_box(i * i));
            }
        }
        assert!(sum > 0);
        let pages = vec![1u8; 64 << 20];
        let used = difference(&before, &read());
        assert!(used.faults.minor >= 1, "{used:?}, {} bytes", pages.len());
    }
}
